// SPDX-License-Identifier: MIT
#include "profiler/web/timeline_sums.h"

#include <errno.h>
#include <stdlib.h>
#include "symbolize/util/saturate.h"
#include "symbolize/util/sorted.h"

#define FIRST_BINS_SHIFT 20

/* Adds to a sum, or makes one. Returns 0, or -ENOMEM. */
static int add(struct timeline_sums *s, const struct timeline_sum *sum)
{
	const uint32_t key[] = {sum->place, sum->stack, sum->kind, sum->bin};
	uint32_t at = record_find(&s->all, &key);
	struct timeline_sum *all = at != RECORD_NONE ? &s->all.list[at] : NULL;

	if (!all)
		return record_add(&s->all, &key, sum) != RECORD_NONE ? 0 : -ENOMEM;
	if (sum->first_ns < all->first_ns)
		all->first_ns = sum->first_ns;
	all->ns = saturated_sum(all->ns, sum->ns);
	all->bytes = saturated_sum(all->bytes, sum->bytes);
	all->count += sum->count;
	return 0;
}

/* Halves the number of bins. Returns 0, or -ENOMEM. */
static int coarsen(struct timeline_sums *s)
{
	struct timeline_sum *old = s->all.list;
	uint32_t count = s->all.count;
	int err = 0;

	s->all.list = NULL;
	record_set_release(&s->all.set);
	s->bin_shift++;
	for (uint32_t i = 0; i < count && !err; i++) {
		old[i].bin >>= 1;
		err = add(s, &old[i]);
	}
	free(old);
	return err;
}

int timeline_sums_add(struct timeline_sums *s, struct timeline_sum record)
{
	uint64_t run_ns = s->last_ns - s->first_ns;
	int err;

	while (run_ns >> s->bin_shift >> FIRST_BINS_SHIFT)
		s->bin_shift++;
	record.bin = (uint32_t)((record.first_ns - s->first_ns) >> s->bin_shift);
	err = add(s, &record);
	s->records++;
	while (!err && s->all.count > s->most && run_ns >> s->bin_shift > 0)
		err = coarsen(s);
	return err;
}

static int compare(const void *a, const void *b)
{
	const struct timeline_sum *x = a, *y = b;
	int order = compare_numbers(x->kind, y->kind);

	order = order ? order : compare_numbers(x->place, y->place);
	order = order ? order : compare_numbers(x->bin, y->bin);
	order = order ? order : compare_numbers(x->first_ns, y->first_ns);
	return order ? order : compare_numbers(x->stack, y->stack);
}

void timeline_sums_order(struct timeline_sums *s)
{
	if (s->all.count > 0)
		qsort(s->all.list, s->all.count, sizeof(*s->all.list), compare);
	for (uint32_t i = 1; i < s->all.count; i++) {
		struct timeline_sum *sum = &s->all.list[i], *last = sum - 1;
		uint64_t end_ns = saturated_sum(last->first_ns, last->ns);

		if (last->kind == sum->kind && last->place == sum->place && end_ns > sum->first_ns)
			sum->first_ns = end_ns;
	}
}

void timeline_sums_release(struct timeline_sums *s)
{
	record_set_release(&s->all.set);
}
