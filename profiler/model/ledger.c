// SPDX-License-Identifier: MIT
#include "profiler/model/ledger.h"

#include <stdlib.h>
#include "cupti_trace/wire/gpu_work.h"
#include "symbolize/util/array.h"
#include "symbolize/util/saturate.h"

/* Bounds claims of a program: there are few devices. Excess devices share a row. */
#define ROWS_MAX 4096u

void ledger_release(struct ledger *ledger)
{
	free(ledger->gpu.rows);
	hash_index_release(&ledger->gpu.row_index);
	api_calls_release(&ledger->api);
}

/* Returns whether the work has a duration and a launch: only such work is matched. */
static bool is_launched_span(unsigned int work)
{
	return !gpu_work_has_no_launch(work) && !gpu_work_is_instant(work);
}

static bool row_equal(const void *records, uint32_t position, const void *key)
{
	const struct gpu_row *a = (const struct gpu_row *)records + position, *b = key;

	return a->device == b->device && a->work == b->work;
}

/* Finds or adds the row of a device and kind. Returns NULL if out of memory. */
static struct gpu_row *row_of(struct ledger_gpu *gpu, uint32_t device, uint32_t work)
{
	struct gpu_row *last = gpu->last_row < gpu->row_count ? &gpu->rows[gpu->last_row] : NULL;
	struct gpu_row key;
	uint32_t hash, at;

	if (last && last->device == device && last->work == work)
		return last; /* the common case */
	key = (struct gpu_row){.device = device, .work = work};
	hash = hash_pair(device, work);
	at = hash_index_find(&gpu->row_index, hash, row_equal, gpu->rows, &key);
	if (at != HASH_INDEX_NONE) {
		gpu->last_row = at;
		return &gpu->rows[at];
	}
	if (gpu->row_count >= ROWS_MAX && device != UINT32_MAX)
		return row_of(gpu, UINT32_MAX, work);
	if (!array_make_room(&gpu->rows, gpu->row_count, &gpu->row_capacity, sizeof(key)) ||
	    hash_index_add(&gpu->row_index, hash, gpu->row_count) != 0)
		return NULL;
	gpu->rows[gpu->row_count] = key;
	return &gpu->rows[gpu->row_count++];
}

bool ledger_total_add(struct ledger_total *total, uint64_t count, uint64_t ns, uint64_t bytes)
{
	if (count > LEDGER_TOTAL_MAX - total->count || ns > LEDGER_TOTAL_MAX - total->ns ||
	    bytes > LEDGER_TOTAL_MAX - total->bytes)
		return false;
	total->count += count;
	total->ns += ns;
	total->bytes += bytes;
	return true;
}

void gpu_row_add(struct gpu_row *sum, const struct gpu_row *more)
{
	sum->count += more->count;
	sum->ns += more->ns;
	sum->bytes += more->bytes;
	sum->unmatched += more->unmatched;
	sum->unmatched_ns += more->unmatched_ns;
	sum->bad_times += more->bad_times;
	sum->staged += more->staged;
	sum->before += more->before;
	sum->before_ns += more->before_ns;
	sum->after += more->after;
	sum->after_ns += more->after_ns;
}

bool ledger_add_row(struct ledger *ledger, const struct gpu_row *work)
{
	struct gpu_row *row = row_of(&ledger->gpu, work->device, work->work);

	if (!row)
		return false;
	gpu_row_add(row, work);
	return true;
}

void ledger_add_work(struct ledger *ledger, const struct gpu_row *work)
{
	struct ledger_gpu *gpu = &ledger->gpu;

	gpu->bad_times += work->bad_times;
	if (is_launched_span(work->work)) {
		gpu->matched += work->count - work->unmatched;
		gpu->unmatched += work->unmatched;
		gpu->unmatched_ns += work->unmatched_ns;
	}
	if (!ledger_add_row(ledger, work))
		ledger->bounds.out_of_memory++;
}

static void scale(uint64_t *const *counts, size_t n, double factor)
{
	for (size_t i = 0; i < n; i++)
		*counts[i] = saturated_scale(*counts[i], factor);
}

void ledger_scale_estimates(struct ledger *ledger, double factor)
{
	struct ledger_launches *l = &ledger->launches;
	struct ledger_gpu *gpu = &ledger->gpu;
	uint64_t *const all[] = {
		&l->kernels,        &l->with_stack,     &l->whole,     &l->skipped,
		&l->handed,         &l->without_parent, &gpu->matched, &gpu->unmatched,
		&gpu->unmatched_ns, &gpu->bad_times,
	};

	scale(all, sizeof(all) / sizeof(all[0]), factor);
	for (uint32_t i = 0; i < gpu->row_count; i++) {
		struct gpu_row *r = &gpu->rows[i];
		uint64_t *const of_row[] = {&r->count,     &r->ns,           &r->bytes,
					    &r->unmatched, &r->unmatched_ns, &r->bad_times,
					    &r->staged,    &r->before,       &r->before_ns,
					    &r->after,     &r->after_ns};

		scale(of_row, sizeof(of_row) / sizeof(of_row[0]), factor);
	}
}

void ledger_settle(struct ledger *ledger, uint32_t pid, const struct work_tally *counted,
		   const struct work_tally *reported)
{
	struct ledger_gpu *gpu = &ledger->gpu;
	struct work_comparison c;

	if (reported->count == 0 && !reported->overflowed) {
		gpu->unreported += counted->count;
		return;
	}
	c = work_tally_compare(counted, reported);
	if (c.different > 0 && gpu->equal == gpu->sums) {
		gpu->difference = c.reported;
		gpu->difference_here = c.counted;
		gpu->difference_pid = pid;
	}
	gpu->sums += c.equal + c.different;
	gpu->equal += c.equal;
	/* counts sums that neither side had room for */
	gpu->uncompared +=
		c.not_compared ? c.not_compared : counted->overflowed || reported->overflowed;
}
