// SPDX-License-Identifier: MIT
#include "profiler/report/summary_private.h"

#include "profiler/model/quantity.h"
#include "symbolize/util/saturate.h"

#define USUAL_PERCENT 2.0 /* stacks that lack something in any program */
#define USUAL_COUNT 5u    /* and in short runs */

/* Returns whether more stacks than usual lack something. */
static bool is_unusual(uint64_t count, uint64_t of)
{
	return count > USUAL_COUNT && percent_of(count, of) > USUAL_PERCENT;
}

static uint64_t stacks_of(const struct ledger *l)
{
	return saturated_sum(
		l->cpu.samples,
		saturated_sum(l->launches.with_stack,
			      saturated_sum(l->launches.by_probe, l->unwound.ends[UNWIND_WHOLE])));
}

static bool has_untraced(const struct ledger *l)
{
	return l->processes.never_started || l->processes.untraced || l->calls.processes ||
	       summary_count_causes(&l->processes);
}

static bool lacks_work(const struct ledger *l)
{
	const struct ledger_gpu *gpu = &l->gpu;
	const struct ledger_launches *launches = &l->launches;

	return gpu->unmatched || gpu->dropped || gpu->missing || gpu->bad_times ||
	       gpu->unseen_nodes || gpu->uncompared || gpu->unreported || gpu->equal != gpu->sums ||
	       launches->dropped || launches->unended || launches->copies_unended ||
	       launches->graphs_unended || launches->confused || l->pipe.wrong_totals ||
	       l->pipe.lost_batches || l->pipe.malformed || l->pipe.refused || l->pipe.killed ||
	       l->pipe.exited_launches || has_untraced(l);
}

static bool lacks_samples(const struct ledger *l)
{
	return l->cpu.dropped || lacks_work(l);
}

static bool has_cut_stacks(const struct ledger *l)
{
	uint64_t taken = saturated_sum(l->launches.with_stack, l->launches.by_probe);
	uint64_t whole = l->launches.whole;

	return (l->cpu.samples > l->cpu.whole &&
		is_unusual(l->cpu.samples - l->cpu.whole, l->cpu.samples)) ||
	       (taken > whole && is_unusual(taken - whole, taken));
}

static bool has_many_guessed(const struct ledger *l)
{
	return is_unusual(l->unwound.ends[UNWIND_GUESSED], stacks_of(l));
}

static bool has_many_without_python(const struct ledger *l)
{
	return is_unusual(l->python.missing, stacks_of(l));
}

static bool has_many_without_parent(const struct ledger *l)
{
	return is_unusual(saturated_sum(l->launches.without_parent, l->cpu.without_parent),
			  saturated_sum(l->cpu.samples, l->launches.kernels));
}

/* Tells of each detail what is wrong when it is shown without -v. */
static bool (*const is_wrong[SUMMARY_DETAILS])(const struct ledger *) = {
	[SUMMARY_SAMPLES] = lacks_samples,          [SUMMARY_MATCHES] = lacks_work,
	[SUMMARY_STACKS] = has_cut_stacks,          [SUMMARY_GUESSED] = has_many_guessed,
	[SUMMARY_PYTHON] = has_many_without_python, [SUMMARY_HANDED_OVER] = has_many_without_parent,
};

bool summary_shows(const struct log *log, const struct ledger *l, enum summary_detail detail)
{
	return log->level >= LOG_VERBOSE || is_wrong[detail](l);
}
