// SPDX-License-Identifier: MIT
#include "profiler/findings/idle_causes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/sorted.h"

struct cause_key {
	uint64_t site; /* address of the frame */
	uint64_t use;
};

struct keyed_cause {
	struct cause_key key; /* first */
	struct idle_cause cause;
};

static void add(struct idle_cause *cause, const struct idle_site *site)
{
	cause->ns += site->ns;
	if (site->is_sampled)
		cause->sampled_ns += site->ns;
	else
		cause->gaps += site->count;
	if (site->longest_ns > cause->longest_ns) {
		cause->longest_ns = site->longest_ns;
		cause->longest_from_ns = site->longest_from_ns;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct idle_cause *x = a, *y = b;
	int order = compare_numbers(y->ns, x->ns);

	order = order ? order : compare_numbers(x->use, y->use);
	return order ? order : strcmp(x->site ? x->site->name : "", y->site ? y->site->name : "");
}

int idle_causes_of(struct idle_causes *causes, const struct device_times *times,
		   const struct frame_info *(*site_of)(const void *context, uint32_t stack),
		   const void *context)
{
	RECORD_SET(struct keyed_cause) all = {.count = 0};
	int err = 0;

	memset(causes, 0, sizeof(*causes));
	for (uint32_t i = 0; i < times->sites.count && !err; i++) {
		const struct idle_site *site = &times->sites.list[i];
		struct keyed_cause cause = {.cause.use = (enum device_use)site->use,
					    .cause.site = site_of(context, site->stack)};
		uint32_t at;

		cause.key = (struct cause_key){(uintptr_t)cause.cause.site, site->use};
		at = record_get(&all, &cause.key, &cause);
		if (at == RECORD_NONE)
			err = -ENOMEM;
		else
			add(&all.list[at].cause, site);
	}
	causes->list = err ? NULL : calloc(all.count + (size_t)1, sizeof(*causes->list));
	if (!causes->list)
		err = -ENOMEM;
	for (; !err && causes->count < all.count; causes->count++)
		causes->list[causes->count] = all.list[causes->count].cause;
	if (causes->count > 1)
		qsort(causes->list, causes->count, sizeof(*causes->list), by_time);
	record_set_release(&all.set);
	return err;
}
