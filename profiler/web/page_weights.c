// SPDX-License-Identifier: MIT
#include "profiler/web/page_weights.h"

#include <stdbool.h>
#include <string.h>
#include "profiler/model/counters.h"
#include "profiler/model/memory_use.h"

static bool has_stacks_of(const struct result *result, const struct result *whole)
{
	return !whole || (whole->stacks == result->stacks && whole->frames == result->frames);
}

/* Keeps the weight that was made last, unless it is empty or `err` is set. Returns `err`. */
static int keep(struct page_weights *w, const char *title, int err)
{
	struct page_weight *weight = &w->list[w->count];

	weight->title = title;
	if (err || weight->result.row_count == 0) {
		weighed_release(&weight->weighed);
		memset(weight, 0, sizeof(*weight));
	} else {
		w->count++;
	}
	return err;
}

static int add_memory(struct page_weights *w, const struct result *r)
{
	static const struct {
		enum stack_weight weight;
		const char *title;
	} kinds[] = {{WEIGHT_PEAK, "memory at the peak"}, {WEIGHT_LEFT, "memory never freed"}};
	int err = 0;

	for (int i = 0; i < 2 && !err && w->count < PAGE_WEIGHTS_MAX; i++) {
		struct page_weight *weight = &w->list[w->count];

		weight->result = *r;
		err = weighed_by_memory(&weight->weighed, &weight->result, kinds[i].weight);
		err = keep(w, kinds[i].title, err);
	}
	return err;
}

static int add_counters(struct page_weights *w, const struct result *r)
{
	int err = 0;

	for (uint32_t i = 0; i < r->counters->metric_count && !err; i++) {
		struct page_weight *weight = &w->list[w->count];
		const char *metric = r->counters->metrics[i].name;

		if (!counters_is_additive(metric))
			continue;
		if (w->count == PAGE_WEIGHTS_MAX)
			break;
		weight->result = *r;
		err = weighed_by_metric(&weight->weighed, &weight->result, metric);
		err = keep(w, metric, err);
	}
	return err;
}

int page_weights_make(struct page_weights *w, const struct result *r)
{
	int err = 0;

	if (r->weight)
		return 0;
	if (result_tables_find(r->tables, &memory_rows_table) && has_stacks_of(r, result_whole(r)))
		err = add_memory(w, r);
	if (!err && r->counters && has_stacks_of(r, r->counters_result))
		err = add_counters(w, r);
	return err;
}

const struct result *page_weights_placed(const struct page_weights *w, const struct result *r)
{
	for (uint32_t i = 0; i < w->count; i++)
		if (w->list[i].result.place_count > r->place_count)
			return &w->list[i].result;
	return r;
}

void page_weights_release(struct page_weights *w)
{
	for (uint32_t i = 0; i < w->count; i++)
		weighed_release(&w->list[i].weighed);
	w->count = 0;
}
