// SPDX-License-Identifier: MIT
#include "profiler/model/losses.h"

#include <stddef.h>
#include "profiler/model/ledger_counts.h"
#include "symbolize/util/number.h"
#include "symbolize/util/saturate.h"

enum severity { NO_LOSS, INCOMPLETE, LOSS };
enum summary { TOLD, LISTED };

struct named_count {
	uint16_t offset; /* in struct ledger */
	uint8_t size;
	enum severity severity;
	enum summary summary;
	const char *key, *what;
};

static const struct named_count named[] = {
#define NAMED(number, member, severity, summary, key, words) \
	{offsetof(struct ledger, member),                    \
	 sizeof(((struct ledger *)0)->member),               \
	 severity,                                           \
	 summary,                                            \
	 key,                                                \
	 words},
#define UNNAMED(number, member)
	LEDGER_COUNTS(NAMED, UNNAMED, UNNAMED)};

#define COUNT (sizeof(named) / sizeof(named[0]))

static uint64_t count_of(const struct ledger *l, const struct named_count *c, uint64_t not_kept)
{
	uint64_t count = number_load(l, c->offset, c->size);

	return c->offset == offsetof(struct ledger, bounds.stacks) ? saturated_sum(count, not_kept)
								   : count;
}

static void visit_count(const struct loss *loss, loss_visitor visit, void *context)
{
	if (loss->count)
		visit(context, loss);
}

static void visit_named(const struct ledger *l, uint64_t not_kept, enum severity severity,
			loss_visitor visit, void *context)
{
	for (const struct named_count *c = named; c < named + COUNT; c++)
		if (c->severity == severity)
			visit_count(&(struct loss){.what = c->what,
						   .count = count_of(l, c, not_kept),
						   .is_incomplete = severity == INCOMPLETE,
						   .is_listed = c->summary == LISTED},
				    visit, context);
}

static uint64_t without_gpu_time(const struct ledger *l)
{
	return l->calls.processes > l->pipe.without_cupti ? l->calls.processes
							  : l->pipe.without_cupti;
}

/*
 * Returns the processes that ended in an unknown way. A process that ended by _exit lacks only
 * launches without a record, which are counted elsewhere.
 */
static uint64_t unknown_ends(const struct ledger *l)
{
	uint64_t known = (uint64_t)l->pipe.killed + l->pipe.exited;

	return l->pipe.without_goodbye > known ? l->pipe.without_goodbye - known : 0;
}

/* Visits losses that derive from several counts, and those of the timeline. */
static void visit_derived(const struct ledger *l, loss_visitor visit, void *context)
{
	const struct loss losses[] = {
		{.what = "CUPTI's own sums that differ from the profile's",
		 .count = l->gpu.sums - l->gpu.equal},
		{.what = "traced processes that ended without a goodbye", .count = unknown_ends(l)},
		{.what = "processes without GPU time", .count = without_gpu_time(l)},
		{.what = "events missing from the timeline", .count = l->timeline.lost},
		{.what = "kernels in the timeline without grid and block",
		 .count = l->timeline.lost_shapes},
	};

	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		visit_count(&losses[i], visit, context);
}

void losses_visit(const struct ledger *l, uint64_t not_kept, loss_visitor visit, void *context)
{
	visit_named(l, not_kept, LOSS, visit, context);
	visit_derived(l, visit, context);
	visit_named(l, not_kept, INCOMPLETE, visit, context);
}

void losses_visit_keys(const struct ledger *l, uint64_t not_kept, fact_visitor visit, void *context)
{
	for (const struct named_count *c = named; c < named + COUNT; c++)
		if (c->key)
			visit(context, c->key, NULL, count_of(l, c, not_kept));
}
