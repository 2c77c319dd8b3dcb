// SPDX-License-Identifier: MIT
#include "profiler/report/accounts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/profile/work_names.h"

/* A duration that belongs to a launch: what matching is about. */
static bool is_launched_span(unsigned int work)
{
	return !gpu_work_has_no_launch(work) && !gpu_work_is_instant(work);
}

static bool is_equal(const struct work_sum *told, const struct work_sum *counted)
{
	return counted && told->count == counted->count && told->ns == counted->ns &&
	       told->bytes == counted->bytes;
}

static bool has_told(const struct work_tally *told, uint32_t process)
{
	const struct work_sum *sum;
	uint32_t at = 0;

	while ((sum = work_tally_next(told, &at)))
		if (sum->key.process == process)
			return true;
	return false;
}

struct accounts accounts_of(const struct work_tally *counted, const struct work_tally *told)
{
	struct accounts a = {0};
	const struct work_sum *sum;
	uint32_t at = 0;

	while ((sum = work_tally_next(counted, &at))) {
		a.bad_times += sum->bad_times;
		if (is_launched_span(sum->key.work)) {
			a.matched += sum->count - sum->unmatched;
			a.unmatched += sum->unmatched;
			a.unmatched_ns += sum->unmatched_ns;
		}
		/* a key that no process told of: fine if its process told nothing at all */
		if (work_tally_find(told, &sum->key))
			continue;
		if (!has_told(told, sum->key.process)) {
			a.untold++;
			continue;
		}
		if (a.equal == a.sums++)
			a.first_difference = (struct work_sum){.key = sum->key};
	}
	at = 0;
	while ((sum = work_tally_next(told, &at))) {
		if (is_equal(sum, work_tally_find(counted, &sum->key)))
			a.equal++;
		else if (a.first_difference.count == 0)
			a.first_difference = *sum;
		a.sums++;
	}
	return a;
}

/* ---- the table ---- */

struct row {
	uint32_t device;
	uint32_t work;
	struct work_sum sum;
};

static int by_device_and_work(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->work < y->work ? -1 : x->work > y->work;
}

/* The sums of all processes, contexts and streams, by device and kind. */
static uint32_t make_rows(const struct work_tally *counted, struct row *rows, uint32_t max)
{
	const struct work_sum *sum;
	uint32_t at = 0, n = 0, i;

	while ((sum = work_tally_next(counted, &at))) {
		for (i = 0; i < n; i++)
			if (rows[i].device == sum->key.device && rows[i].work == sum->key.work)
				break;
		if (i == max)
			continue;
		if (i == n)
			rows[n++] = (struct row){.device = sum->key.device, .work = sum->key.work};
		rows[i].sum.count += sum->count;
		rows[i].sum.ns += sum->ns;
		rows[i].sum.bytes += sum->bytes;
		rows[i].sum.unmatched += sum->unmatched;
		rows[i].sum.unmatched_ns += sum->unmatched_ns;
		rows[i].sum.bad_times += sum->bad_times;
		rows[i].sum.staged += sum->staged;
		rows[i].sum.before += sum->before;
		rows[i].sum.before_ns += sum->before_ns;
		rows[i].sum.after += sum->after;
		rows[i].sum.after_ns += sum->after_ns;
	}
	qsort(rows, n, sizeof(*rows), by_device_and_work);
	return n;
}

static void put_bytes(char *out, size_t size, uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	int unit = 0;

	while (value >= 1024 && unit < 6) {
		value /= 1024;
		unit++;
	}
	snprintf(out, size, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

struct notes {
	char text[400]; /* five, of at most 80 bytes each */
	size_t used;
};

/* "  3 unmatched (1.500 ms)" */
static void add_note(struct notes *notes, uint64_t count, const char *what, const uint64_t *ns)
{
	char time[40] = "";
	int n;

	if (count == 0)
		return;
	if (ns)
		snprintf(time, sizeof(time), " (%.3f ms)", (double)*ns / 1e6);
	n = snprintf(notes->text + notes->used, sizeof(notes->text) - notes->used,
		     "  %" PRIu64 " %s%s", count, what, time);
	if (n > 0 && (size_t)n < sizeof(notes->text) - notes->used)
		notes->used += (size_t)n;
	else
		notes->text[notes->used] = '\0';
}

static void report_row(struct log *log, const struct row *row)
{
	char time[32] = "", bytes[32] = "", line[600];
	const struct work_sum *sum = &row->sum;
	bool has_time = !gpu_work_is_instant(row->work);
	struct notes notes = {.used = 0};
	int n;

	if (row->work == GPU_WORK_UVM_GPU_FAULTS)
		snprintf(bytes, sizeof(bytes), "%" PRIu64 " faults", row->sum.bytes);
	else if (row->sum.bytes)
		put_bytes(bytes, sizeof(bytes), row->sum.bytes);
	if (is_launched_span(row->work))
		add_note(&notes, sum->unmatched, "unmatched", &sum->unmatched_ns);
	add_note(&notes, sum->bad_times, "without times", NULL);
	add_note(&notes, sum->staged, "between GPUs, through host memory", NULL);
	add_note(&notes, sum->before, "before tracing", has_time ? &sum->before_ns : NULL);
	add_note(&notes, sum->after, "after tracing", has_time ? &sum->after_ns : NULL);
	if (has_time)
		snprintf(time, sizeof(time), "%.3f ms", (double)row->sum.ns / 1e6);
	n = snprintf(line, sizeof(line), "  GPU %u  %-15s %9" PRIu64 " %15s  %12s%s", row->device,
		     work_word(row->work), row->sum.count, time, bytes, notes.text);
	while (n > 0 && n < (int)sizeof(line) && line[n - 1] == ' ')
		line[--n] = '\0';
	log_line(log, "%s", line);
}

static void report_check(struct log *log, const struct accounts *a,
			 const struct work_tally *counted)
{
	const struct work_sum none = {0}, *told = &a->first_difference, *ours;

	if (a->sums && a->equal == a->sums)
		log_line(log, "  the same as CUPTI's own sums, in all %" PRIu64 " of them%s",
			 a->sums, a->untold ? " that were told" : "");
	if (a->equal == a->sums)
		return;
	ours = work_tally_find(counted, &told->key);
	if (!ours)
		ours = &none;
	log_line(log,
		 "  not the same as CUPTI's own sums in %" PRIu64 " of %" PRIu64
		 "; the first: process %u GPU %u context %u stream %u %s: CUPTI %" PRIu64
		 " (%" PRIu64 " ns, %" PRIu64 " bytes), here %" PRIu64 " (%" PRIu64 " ns, %" PRIu64
		 " bytes)",
		 a->sums - a->equal, a->sums, told->key.process, told->key.device,
		 told->key.context, told->key.stream, work_word(told->key.work), told->count,
		 told->ns, told->bytes, ours->count, ours->ns, ours->bytes);
}

void accounts_report(struct log *log, const struct accounts *accounts,
		     const struct work_tally *counted)
{
	static struct row rows[1024];
	uint32_t count = make_rows(counted, rows, sizeof(rows) / sizeof(rows[0]));

	if (count == 0 && accounts->sums == 0)
		return;
	log_line(log, "GPU work:");
	for (uint32_t i = 0; i < count; i++)
		report_row(log, &rows[i]);
	report_check(log, accounts, counted);
}

/* ---- --strict ---- */

struct verdict {
	struct log *log;
	bool exact;
};

static void object(struct verdict *v, uint64_t count, const char *what)
{
	if (count == 0)
		return;
	log_warn(v->log, "--strict: %" PRIu64 " %s", count, what);
	v->exact = false;
}

bool accounts_are_exact(struct log *log, const struct accounts *a, const struct session_stats *s)
{
	struct verdict v = {log, true};

	object(&v, a->unmatched, "GPU operations are not matched with a launch");
	object(&v, a->bad_times, "GPU operations have no usable timestamps");
	object(&v, a->sums - a->equal, "of CUPTI's own sums are not the same here");
	object(&v, s->gpu.dropped_kernels, "GPU operations were dropped");
	object(&v, s->gpu.missing_kernels, "GPU operations were sent but did not arrive");
	object(&v, s->gpu.unended_launches, "kernel launches have no record of their kernel");
	object(&v, s->gpu.dropped_launches + s->bpf.dropped_launches, "launches were dropped");
	object(&v, s->bpf.dropped_samples, "CPU samples were dropped");
	object(&v, s->gpu.wrong_totals, "processes told another sum of GPU time than arrived");
	object(&v, s->gpu.without_goodbye, "traced processes ended without a goodbye");
	object(&v, s->gpu.lost_batches, "writes of traced processes were lost");
	object(&v, s->gpu.malformed, "lines in the pipe were not ours");
	object(&v, s->gpu.foreign_versions, "processes spoke another protocol version");
	object(&v, s->gpu.unknown_records, "CUPTI records were of an unknown kind");
	object(&v,
	       s->timed_processes > s->gpu.without_cupti ? s->timed_processes
							 : s->gpu.without_cupti,
	       "processes have no GPU time");
	object(&v, s->collect.out_of_memory, "events were lost for want of memory");
	return v.exact;
}
