// SPDX-License-Identifier: MIT
#include "profiler/formats/query.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/findings/findings.h"
#include "profiler/formats/query_private.h"
#include "profiler/formats/writer.h"
#include "profiler/model/losses.h"
#include "profiler/model/quantity.h"
#include "profiler/model/work_names.h"
#include "profiler/tables/hot_spots.h"
#include "profiler/tables/kernel_class.h"
#include "profiler/tables/kernel_facts.h"
#include "profiler/tables/memory_table.h"
#include "profiler/tables/report_table.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/sorted.h"
#include "symbolize/util/text.h"

/* A question, and the questions that lead on from it. */
struct question {
	const char *word, *argument, *help;
	bool needs_findings, compares;
	query_function *answer;
	const char *next[ANSWER_NEXT_MAX]; /* NULL ends the list */
};

/* ---- findings ---- */

void query_look_at_time(struct answer *a, const struct result *r, uint64_t from_ns, uint64_t to_ns,
			const char *output)
{
	char time[64];

	if (from_ns < r->totals.start_ns || to_ns <= from_ns)
		return;
	snprintf(time, sizeof(time), "%" PRIu64 "ns..%" PRIu64 "ns", from_ns - r->totals.start_ns,
		 to_ns - r->totals.start_ns);
	answer_look(a, "--time", time, true, output);
}

/* Writes a moment as the time since the command's start. */
static void put_moment(struct json *j, const char *key, const struct result *r, uint64_t ns)
{
	json_uint(j, key, ns > r->totals.start_ns ? ns - r->totals.start_ns : 0);
}

/* Writes what a finding advises. If that is options for a capture, they make a command. */
static void put_finding_next(struct answer *a, const char *next)
{
	size_t from = strlen(FINDING_FROM);
	char words[ANSWER_TEXT_BYTES];
	const char *end;

	answer_text(a, "next", next);
	if (!next || !starts_with(next, FINDING_FROM))
		return;
	end = strstr(next, ": ");
	snprintf(words, sizeof(words), "%.*s", end ? (int)(end - next - (ptrdiff_t)from) : 1000,
		 next + from);
	answer_look_with(a, words);
}

static int answer_verdict(struct answer *a, const struct query_input *in, const char *argument)
{
	const struct result *r = in->result;
	const struct findings *f = r->findings;
	const struct finding *verdict = f ? findings_find(f, FINDING_VERDICT) : NULL;
	const char *unknown = findings_unknown(r);
	struct json *j;

	(void)argument;
	if (verdict)
		answer_say(a, "%s", verdict->claim);
	else
		answer_say(a, "No verdict: %s.", unknown ? unknown : "nothing limits the run");
	json_uint(answer_sums(a), "elapsed_ns", r->totals.elapsed_ns);
	json_uint(answer_sums(a), "exit_status", r->totals.exit_status);
	if (f && !f->unknown) {
		json_text(answer_sums(a), "limit", verdict_word(&f->verdict));
		json_uint(answer_sums(a), "ns", f->verdict.ns);
		json_uint(answer_sums(a), "of_ns", f->verdict.of_ns);
	}
	if (f && f->steady_to_ns > f->steady_from_ns) {
		put_moment(answer_sums(a), "steady_from_ns", r, f->steady_from_ns);
		json_uint(answer_sums(a), "steady_ns", f->steady_to_ns - f->steady_from_ns);
	}
	for (uint32_t i = 0; f && i < f->count; i++) {
		const struct finding *e = &f->list[i];

		if (!(j = answer_row(a))) {
			answer_leave_out(a, f->count - i);
			break;
		}
		json_text(j, "kind", finding_word(e->kind));
		answer_short_text(a, "claim", e->claim, ANSWER_CLAIM_BYTES);
		answer_text(a, "certainty", e->certainty);
		if (e->to_ns > e->from_ns) {
			put_moment(j, "from_ns", r, e->from_ns);
			json_uint(j, "ns", e->to_ns - e->from_ns);
		}
		put_finding_next(a, e->next);
		answer_end_row(a);
	}
	return 0;
}

/* ---- steps ---- */

/* A step, for sorting by its length. */
struct step_row {
	uint64_t ns;
	uint32_t number;
};

static int by_length(const void *a, const void *b)
{
	const struct step_row *x = a, *y = b;
	int order = compare_numbers(y->ns, x->ns);

	return order ? order : compare_numbers(x->number, y->number);
}

static void sum_up_steps(struct answer *a, const struct findings *f, const struct step_series *s)
{
	const struct step_times *t = &f->step_times;
	char median[QUANTITY_BYTES], p10[QUANTITY_BYTES], p90[QUANTITY_BYTES],
		slowest[QUANTITY_BYTES];
	struct json *j = answer_sums(a);

	answer_say(a,
		   "%u steps, %u of them warm-up. A step takes %s (median), %s to %s from the 10th "
		   "to the 90th percentile; the slowest, number %u, %s. Step times changed by "
		   "%+.1f %% from the first tenth to the last.",
		   s->count, s->warm_up, time_text(median, (double)t->median_ns),
		   time_text(p10, (double)t->p10_ns), time_text(p90, (double)t->p90_ns), t->slowest,
		   time_text(slowest, (double)t->slowest_ns), t->drift * 100);
	json_uint(j, "steps", s->count);
	json_uint(j, "warm_up", s->warm_up);
	json_uint(j, "median_ns", t->median_ns);
	json_uint(j, "p10_ns", t->p10_ns);
	json_uint(j, "p90_ns", t->p90_ns);
	json_uint(j, "fastest_ns", t->fastest_ns);
	json_uint(j, "slowest_ns", t->slowest_ns);
	json_uint(j, "slowest_step", t->slowest);
	json_real(j, "drift", t->drift);
	json_uint(j, "launches", s->launches);
	json_uint(j, "of_launches", s->of);
	json_uint(j, "series", f->steps.count);
}

/* Writes the steps of the first series, by when the GPU worked on them, as the other times are. */
static int put_steps(struct answer *a, const struct result *r, const struct findings *f)
{
	const struct step_series *s = f->steps.list;
	const uint64_t *starts_ns = f->step_work_ns;
	struct step_row *rows = calloc((size_t)s->count + 1, sizeof(*rows));
	struct json *j;

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->count; i++)
		rows[i] = (struct step_row){starts_ns[i + 1] - starts_ns[i], i};
	qsort(rows, s->count, sizeof(*rows), by_length);
	for (uint32_t i = 0; i < s->count; i++) {
		uint64_t from_ns = starts_ns[rows[i].number];

		if (!(j = answer_row(a))) {
			answer_leave_out(a, s->count - i);
			break;
		}
		json_uint(j, "step", rows[i].number);
		put_moment(j, "from_ns", r, from_ns);
		json_uint(j, "ns", rows[i].ns);
		if (rows[i].number < s->warm_up)
			json_bool(j, "warm_up", true);
		query_look_at_time(a, r, from_ns, from_ns + rows[i].ns, "step.html");
		answer_end_row(a);
	}
	free(rows);
	return 0;
}

static int answer_steps(struct answer *a, const struct query_input *in, const char *argument)
{
	const struct findings *f = in->result->findings;
	const char *unknown = findings_unknown(in->result);

	(void)argument;
	if (!unknown && f->steps.count > 0 && f->steps.list[0].count > 0) {
		sum_up_steps(a, f, &f->steps.list[0]);
		return put_steps(a, in->result, f);
	}
	if (!unknown)
		unknown = f->no_steps ? f->no_steps : "nothing repeats";
	answer_say(a, "No steps: %s.", unknown);
	json_uint(answer_sums(a), "steps", 0);
	return 0;
}

/* ---- sums by name ---- */

static void put_part(struct json *j, const char *key, uint64_t part, uint64_t whole)
{
	json_thousandths(j, key, whole ? (uint64_t)llround(1e3 * (double)part / (double)whole) : 0);
}

void query_put_share(struct json *j, uint64_t part, uint64_t whole)
{
	put_part(j, "share", part, whole);
}

void query_put_frame(struct answer *a, const struct frame_info *frame)
{
	answer_text(a, "name", frame->name);
	/* a kernel's name is "[GPU_Kernel]" and, often, its short one */
	if (!ends_with(frame->name, frame->short_name))
		answer_text(a, "short_name", frame->short_name);
	answer_text(a, "file", frame->file ? frame->file : frame->module);
}

/* Rows of a table of hot_spots.h. */
/* Returns the computing time of the steady part that a frame explains. */
typedef uint64_t computing_function(const struct findings *findings,
				    const struct frame_info *frame);

struct spot_rows {
	const char *count; /* key of the count; NULL: none */
	bool is_kernels;
	bool is_sampled;                  /* counts are of samples */
	const struct kernel_facts *facts; /* NULL: rows have none */
	computing_function *computes;     /* NULL: rows explain no computing time */
};

/* Writes the bound within which 19 of 20 sampled times lie, for a Poisson count. */
static void put_sampling_error(struct json *j, uint64_t count, uint64_t sample_ns)
{
	json_uint(j, "error_ns", (uint64_t)llround(1.96 * sqrt((double)count) * (double)sample_ns));
}

/* Adds the command that shows what a function launches, or where it waits. */
static void look_at_function(struct answer *a, const struct frame_info *frame, const char *output)
{
	char *pattern = query_pattern(frame->name);

	if (pattern)
		answer_look(a, "--trim-to", pattern, false, output);
	free(pattern);
}

static void look_at_kernel(struct answer *a, const struct frame_info *frame, uint32_t number)
{
	const char *prefix = work_frame(GPU_WORK_KERNEL), *name = frame->name;
	char question[ANSWER_TEXT_BYTES + 8];

	if (starts_with(name, prefix) && name[strlen(prefix)])
		name += strlen(prefix);
	if (query_is_plain(name) && name[0] != '#')
		snprintf(question, sizeof(question), "stack %s", name);
	else /* no other name is sure to mean this one */
		snprintf(question, sizeof(question), "stack #%u", number + 1);
	answer_look(a, "--query", question, false, NULL);
}

/* Writes the part of the steady time that a kernel or a launch site explains. */
static void put_computing(struct json *j, const struct result *r, computing_function *computes,
			  const struct frame_info *frame)
{
	uint64_t ns;

	if (findings_unknown(r))
		return;
	ns = computes(r->findings, frame);
	json_uint(j, "explains_ns", ns);
	put_part(j, "explains_share", ns, device_times_whole(&r->findings->steady));
}

static void put_facts(struct answer *a, const struct kernel_facts *facts,
		      const struct frame_info *frame)
{
	struct kernel_fact list[KERNEL_FACTS_MAX];
	uint32_t count = kernel_facts_of(facts, frame, list);

	for (uint32_t i = 0; i < count; i++)
		answer_text(a, list[i].key, list[i].text);
}

static void put_spots(struct answer *a, const struct result *r, const struct hot_spot_table *t,
		      const struct spot_rows *rows)
{
	struct json *j;

	for (uint32_t i = 0; i < t->count; i++) {
		const struct hot_spot *e = &t->list[i];

		if (!(j = answer_row(a))) {
			answer_leave_out(a, t->count - i);
			break;
		}
		query_put_frame(a, e->frame);
		if (rows->is_kernels)
			json_text(j, "class", kernel_class_of(r->kernel_classes, e->frame));
		if (rows->count)
			json_uint(j, rows->count, e->count);
		json_uint(j, "ns", e->ns);
		query_put_share(j, e->ns, t->whole.ns);
		if (rows->is_sampled) {
			json_uint(j, "total_ns", e->total_ns);
			put_sampling_error(j, e->count, r->totals.sample_ns);
		} else if (rows->count && e->count) {
			json_uint(j, "mean_ns", e->ns / e->count);
		}
		if (rows->facts)
			put_facts(a, rows->facts, e->frame);
		if (rows->computes)
			put_computing(j, r, rows->computes, e->frame);
		if (rows->is_kernels)
			look_at_kernel(a, e->frame, i);
		else
			look_at_function(a, e->frame, "function.html");
		answer_end_row(a);
	}
}

/* Says which entry of a table has most of its time. */
static void say_first(struct answer *a, const char *what, const struct hot_spot_table *t,
		      const char *none)
{
	const struct hot_spot *first = t->count ? &t->list[0] : NULL;
	char all[QUANTITY_BYTES], most[QUANTITY_BYTES];

	if (!first) {
		answer_say(a, "%s", none);
		return;
	}
	answer_say(a, "%s: %s. Most, %s (%.1f %%), is of %.*s.", what,
		   time_text(all, (double)t->whole.ns), time_text(most, (double)first->ns),
		   percent_of(first->ns, t->whole.ns), (int)ANSWER_TEXT_BYTES,
		   frame_report_name(first->frame));
}

static int answer_kernels(struct answer *a, const struct query_input *in, const char *argument)
{
	struct hot_spots *d = hot_spots_new(in->result);
	struct kernel_facts *facts = kernel_facts_new(in->result);
	const struct spot_rows rows = {.count = "calls",
				       .is_kernels = true,
				       .facts = facts,
				       .computes = findings_kernel_computes};

	(void)argument;
	if (!d || !facts) {
		hot_spots_free(d);
		kernel_facts_free(facts);
		return -ENOMEM;
	}
	say_first(a, "GPU kernels", &d->kernels, "No kernel ran on a GPU, or none was recorded.");
	json_uint(answer_sums(a), "kernels", d->kernels.count);
	json_uint(answer_sums(a), "calls", d->kernels.whole.count);
	json_uint(answer_sums(a), "ns", d->kernels.whole.ns);
	json_uint(answer_sums(a), "gpu_ns", d->kernels.whole.ns + d->copies.whole.ns);
	put_spots(a, in->result, &d->kernels, &rows);
	kernel_facts_free(facts);
	hot_spots_free(d);
	return 0;
}

static int answer_sites(struct answer *a, const struct query_input *in, const char *argument)
{
	const struct spot_rows rows = {.count = "operations", .computes = findings_site_computes};
	struct hot_spots *d = hot_spots_new(in->result);

	(void)argument;
	if (!d)
		return -ENOMEM;
	say_first(a, "GPU work by who launched it", &d->sites,
		  "Nothing was launched on a GPU, or none of it was recorded.");
	json_uint(answer_sums(a), "sites", d->sites.count);
	json_uint(answer_sums(a), "operations", d->sites.whole.count);
	json_uint(answer_sums(a), "ns", d->sites.whole.ns);
	put_spots(a, in->result, &d->sites, &rows);
	hot_spots_free(d);
	return 0;
}

static int answer_functions(struct answer *a, const struct query_input *in, const char *argument)
{
	const struct spot_rows rows = {.count = "samples", .is_sampled = true};
	struct hot_spots *d = hot_spots_new(in->result);

	(void)argument;
	if (!d)
		return -ENOMEM;
	say_first(a, "CPU time by function, sampled", &d->functions,
		  "No CPU samples: the run took none, or used too little CPU time.");
	json_uint(answer_sums(a), "samples", d->functions.whole.count);
	json_uint(answer_sums(a), "ns", d->functions.whole.ns);
	json_uint(answer_sums(a), "sample_ns", in->result->totals.sample_ns);
	put_spots(a, in->result, &d->functions, &rows);
	hot_spots_free(d);
	return 0;
}

static int answer_waits(struct answer *a, const struct query_input *in, const char *argument)
{
	const struct measure *m = &in->result->totals.measure;
	const struct spot_rows rows = {.count = NULL};
	struct hot_spots *d = hot_spots_new(in->result);

	(void)argument;
	if (!d)
		return -ENOMEM;
	say_first(a, "Waiting, by the function that waits", &d->waits,
		  m->waits || m->wall ? "No waits were recorded."
				      : "Waits were not measured: run with --waits or --wall.");
	json_uint(answer_sums(a), "functions", d->waits.count);
	json_uint(answer_sums(a), "ns", d->waits.whole.ns);
	put_spots(a, in->result, &d->waits, &rows);
	hot_spots_free(d);
	return 0;
}

/* ---- idle GPUs ---- */

static void put_uses(struct json *j, const char *key, const struct device_times *times)
{
	json_open_object(j, key);
	for (int use = 0; use < DEVICE_USES; use++)
		json_uint(j, device_use_word((enum device_use)use),
			  device_times_sum(times, (enum device_use)use));
	json_close_object(j);
}

static void put_causes(struct answer *a, const struct result *r, const struct idle_causes *causes,
		       uint64_t whole_ns)
{
	struct json *j;

	for (uint32_t i = 0; i < causes->count; i++) {
		const struct idle_cause *e = &causes->list[i];

		if (!(j = answer_row(a))) {
			answer_leave_out(a, causes->count - i);
			break;
		}
		json_text(j, "cause", device_use_word(e->use));
		if (e->site)
			query_put_frame(a, e->site);
		json_uint(j, "ns", e->ns);
		query_put_share(j, e->ns, whole_ns);
		json_uint(j, "sampled_ns", e->sampled_ns);
		json_uint(j, "gaps", e->gaps);
		if (e->longest_ns) {
			json_uint(j, "longest_ns", e->longest_ns);
			put_moment(j, "longest_at_ns", r, e->longest_from_ns);
			query_look_at_time(a, r, e->longest_from_ns,
					   e->longest_from_ns + e->longest_ns, "gap.html");
		} else if (e->site) {
			look_at_function(a, e->site, "function.html");
		}
		answer_end_row(a);
	}
}

static void say_idle(struct answer *a, const struct device_times *t)
{
	uint64_t loss_ns = 0, all_ns = device_times_whole(t), most_ns = 0;
	enum device_use most = USE_UNKNOWN;
	char loss[QUANTITY_BYTES];

	for (int i = 0; i < DEVICE_USES; i++) {
		enum device_use use = (enum device_use)i;
		uint64_t ns = device_use_is_loss(use) ? device_times_sum(t, use) : 0;

		saturated_add(&loss_ns, ns);
		if (ns > most_ns) {
			most_ns = ns;
			most = use;
		}
	}
	if (loss_ns == 0)
		answer_say(a, "GPUs computed in all of the steady part.");
	else
		answer_say(a,
			   "GPUs did not compute for %s (%.1f %% of the steady part), mostly: %s, "
			   "%.1f %%.",
			   time_text(loss, (double)loss_ns), percent_of(loss_ns, all_ns),
			   device_use_text(most), percent_of(most_ns, all_ns));
}

static int answer_idle(struct answer *a, const struct query_input *in, const char *argument)
{
	const struct findings *f = in->result->findings;
	const char *unknown = findings_unknown(in->result);

	(void)argument;
	if (unknown || f->whole.device_count == 0) {
		answer_say(a, "No idle times: %s.", unknown ? unknown : "no GPU worked");
		return 0;
	}
	say_idle(a, &f->steady);
	json_uint(answer_sums(a), "gpus", f->whole.device_count);
	put_uses(answer_sums(a), "steady", &f->steady);
	put_uses(answer_sums(a), "run", &f->whole);
	put_causes(a, in->result, &f->causes, device_times_whole(&f->steady));
	return 0;
}

/* ---- memory ---- */

/* Notes that the answer is of the whole run, if a part of it is asked about. */
static void put_is_whole(struct answer *a, const struct result *r)
{
	if (r->is_part)
		json_bool(answer_sums(a), "of_whole_run", true);
}

static void put_cell(struct answer *a, struct json *j, const struct result *r,
		     const struct report_column *column, union report_cell cell)
{
	if (column->kind == REPORT_CELL_FRAME)
		answer_text(a, column->key, r->frames[cell.number].name);
	else if (report_cell_is_text(column->kind))
		answer_text(a, column->key, cell.text && cell.text[0] ? cell.text : NULL);
	else if (column->kind == REPORT_CELL_NUMBER)
		json_real(j, column->key, cell.real);
	else
		json_uint(j, column->key, cell.number);
}

void query_put_table(struct answer *a, const struct result *r, const struct report_table *f,
		     query_look_function *look)
{
	struct json *j;

	for (uint32_t i = 0; i < f->count; i++) {
		if (!(j = answer_row(a))) {
			answer_leave_out(a, f->count - i);
			break;
		}
		json_text(j, "table", f->key);
		for (uint32_t c = 0; c < f->column_count; c++)
			put_cell(a, j, r, &f->columns[c], report_table_row(f, i)[c]);
		look(a, f, i);
		answer_end_row(a);
	}
	answer_leave_out(a, f->left_out);
}

static void look_at_memory(struct answer *a, const struct report_table *f, uint32_t row)
{
	(void)f;
	(void)row;
	answer_look(a, "--weight", "peak", false, "memory.html");
}

/* Returns the sum of a column, or 0 if there is no such column. */
static uint64_t column_sum(const struct report_table *f, const char *key)
{
	uint64_t sum = 0;

	for (uint32_t c = 0; c < f->column_count; c++)
		for (uint32_t i = 0; strcmp(f->columns[c].key, key) == 0 && i < f->count; i++)
			saturated_add(&sum, report_table_row(f, i)[c].number);
	return sum;
}

static void sum_up_memory(struct answer *a, const struct report_table *totals)
{
	uint64_t peak = column_sum(totals, "peak_bytes"), left = column_sum(totals, "left_bytes");
	char peaks[QUANTITY_BYTES], lefts[QUANTITY_BYTES];

	answer_say(a, "At %s %u kind%s of memory had %s; %s were never freed.",
		   totals->count == 1 ? "its peak" : "their peaks", totals->count,
		   totals->count == 1 ? "" : "s", bytes_text(peaks, peak), bytes_text(lefts, left));
	json_uint(answer_sums(a), "peak_bytes", peak);
	json_uint(answer_sums(a), "left_bytes", left);
	json_uint(answer_sums(a), "allocated_bytes", column_sum(totals, "allocated_bytes"));
	json_uint(answer_sums(a), "allocations", column_sum(totals, "allocations"));
}

static int answer_memory(struct answer *a, const struct query_input *in, const char *argument)
{
	const struct result *r = in->result;
	struct report_table *totals, *stacks;
	int err = 0;

	(void)argument;
	if (!r->totals.measure.memory) {
		answer_say(a, "Memory was not followed: run with --alloc.");
		return 0;
	}
	totals = memory_totals_report_table(r);
	stacks = totals ? memory_rows_report_table(r) : NULL;
	if (stacks) {
		sum_up_memory(a, totals);
		put_is_whole(a, r);
		query_put_table(a, r, totals, look_at_memory);
		query_put_table(a, r, stacks, look_at_memory);
	} else {
		err = -ENOMEM;
	}
	report_table_free(stacks);
	report_table_free(totals);
	return err;
}

/* ---- losses ---- */

#define LOSS_KEYS_MAX 40u /* in the sums */

struct loss_counts {
	struct answer *answer;
	uint32_t losses, incomplete, keys;
	bool is_incomplete; /* the kind that is shown */
};

static void count_loss(void *context, const struct loss *loss)
{
	struct loss_counts *c = context;

	if (loss->is_incomplete)
		c->incomplete++;
	else
		c->losses++;
}

static void put_loss(void *context, const struct loss *loss)
{
	struct loss_counts *c = context;
	struct json *j;

	if (!(j = answer_row(c->answer))) {
		answer_leave_out(c->answer, 1);
		return;
	}
	json_text(j, "kind", loss->is_incomplete ? "incomplete" : "lost");
	answer_text(c->answer, "what", loss->what);
	json_uint(j, "count", loss->count);
	answer_end_row(c->answer);
}

static void put_key(void *context, const char *name, const char *text, uint64_t count)
{
	struct loss_counts *c = context;

	(void)text;
	if (count && c->keys++ < LOSS_KEYS_MAX)
		json_uint(answer_sums(c->answer), name, count);
}

static void put_cost(struct json *j, const struct totals *t)
{
	json_uint(j, "library_cpu_ns", t->ledger->cost.program_ns);
	json_uint(j, "kernel_cpu_ns", t->ledger->cost.kernel_ns);
	json_uint(j, "profiler_cpu_ns", t->own_cpu_ns);
	json_uint(j, "profiler_memory_bytes", t->own_memory_bytes);
}

static int answer_losses(struct answer *a, const struct query_input *in, const char *argument)
{
	const struct result *r = in->result;
	const struct ledger *l = r->totals.ledger;
	struct loss_counts c = {.answer = a};

	(void)argument;
	losses_visit(l, r->unnamed.not_kept, count_loss, &c);
	if (c.losses == 0)
		answer_say(a, c.incomplete ? "No time was lost, and everything was matched."
					   : "Nothing was lost, and everything was matched.");
	else
		answer_say(a, "%u kinds of loss: times may be too small.", c.losses);
	put_is_whole(a, r);
	put_cost(answer_sums(a), &r->totals);
	losses_visit_keys(l, r->unnamed.not_kept, put_key, &c);
	losses_visit(l, r->unnamed.not_kept, put_loss, &c);
	return 0;
}

/* ---- all of them ---- */

static int answer_list(struct answer *a, const struct query_input *in, const char *argument);

static const struct question questions[] = {
	{.word = "verdict",
	 .help = "what limits the run, and all findings",
	 .needs_findings = true,
	 .answer = answer_verdict,
	 .next = {"steps", "idle", "kernels", "losses"}},
	{.word = "steps",
	 .help = "the steps of the program, the slowest first",
	 .needs_findings = true,
	 .answer = answer_steps,
	 .next = {"idle", "kernels"}},
	{.word = "kernels",
	 .help = "GPU kernels, the longest time first",
	 .needs_findings = true,
	 .answer = answer_kernels,
	 .next = {"classes", "sites", "idle"}},
	{.word = "classes",
	 .help = "GPU work by class: GEMM, attention, elementwise, ...",
	 .answer = query_answer_classes,
	 .next = {"kernels", "operators"}},
	{.word = "operators",
	 .help = "GPU work by operator of PyTorch, own and with inner ones",
	 .answer = query_answer_operators,
	 .next = {"classes", "layers"}},
	{.word = "layers",
	 .help = "GPU work by layer of the model, and by kind of layer",
	 .answer = query_answer_layers,
	 .next = {"operators", "classes"}},
	{.word = "sites",
	 .help = "the functions that launched GPU work",
	 .needs_findings = true,
	 .answer = answer_sites,
	 .next = {"kernels", "functions"}},
	{.word = "stack",
	 .argument = "KERNEL",
	 .help = "the stacks that launch a kernel: its name, the start or a part of it, or #N",
	 .answer = query_answer_stack,
	 .next = {"kernels", "sites"}},
	{.word = "functions",
	 .help = "CPU time by function, own and with callees",
	 .answer = answer_functions,
	 .next = {"waits", "sites"}},
	{.word = "idle",
	 .help = "why GPUs did not compute, and who launched next",
	 .needs_findings = true,
	 .answer = answer_idle,
	 .next = {"waits", "functions", "steps"}},
	{.word = "waits",
	 .help = "the functions that wait, for the GPU or off the CPU",
	 .answer = answer_waits,
	 .next = {"idle", "functions"}},
	{.word = "collectives",
	 .help = "NCCL's collectives by operation and size, with bandwidths",
	 .answer = query_answer_collectives,
	 .next = {"kernels", "sites"}},
	{.word = "memory",
	 .help = "memory by device, then by who allocated it",
	 .answer = answer_memory,
	 .next = {"sites"}},
	{.word = "losses",
	 .help = "what was lost or is incomplete, and the price of profiling",
	 .answer = answer_losses,
	 .next = {"verdict"}},
	{.word = "compare",
	 .argument = "OTHER.profile",
	 .help = "what changed since another run",
	 .compares = true,
	 .answer = query_answer_compare,
	 .next = {"verdict", "kernels"}},
	{.word = "list", .help = "these questions", .answer = answer_list, .next = {"verdict"}},
};
#define QUESTIONS (sizeof(questions) / sizeof(questions[0]))

static int answer_list(struct answer *a, const struct query_input *in, const char *argument)
{
	struct json *j;

	(void)in;
	(void)argument;
	answer_say(a, "%zu questions.", QUESTIONS);
	for (const struct question *q = questions; q < questions + QUESTIONS; q++) {
		if (!(j = answer_row(a))) {
			answer_leave_out(a, (uint64_t)(questions + QUESTIONS - q));
			break;
		}
		json_text(j, "question", q->word);
		json_text(j, "argument", q->argument);
		json_text(j, "help", q->help);
		if (!q->argument)
			answer_look(a, "--query", q->word, false, NULL);
		answer_end_row(a);
	}
	return 0;
}

bool query_read(const char *text, struct query *query)
{
	size_t length = strcspn(text, " ");
	const char *argument = text + length + strspn(text + length, " ");

	*query = (struct query){.text = text, .argument = *argument ? argument : NULL};
	for (const struct question *q = questions; q < questions + QUESTIONS; q++)
		if (strlen(q->word) == length && strncmp(q->word, text, length) == 0)
			query->question = q;
	return query->question && !query->question->argument == !query->argument;
}

void query_list(FILE *out)
{
	for (const struct question *q = questions; q < questions + QUESTIONS; q++) {
		const char *argument = q->argument ? q->argument : "";

		fprintf(out, "  %s%s%-*s  %s\n", q->word, *argument ? " " : "",
			(int)(22 - strlen(q->word) - (*argument != '\0')), argument, q->help);
	}
}

bool query_needs_findings(const struct query *query)
{
	return query->question->needs_findings;
}

const char *query_other(const struct query *query)
{
	return query->question->compares ? query->argument : NULL;
}

int query_answer(const struct query *query, const struct query_input *in, FILE *out)
{
	const struct question *q = query->question;
	struct answer *a = answer_new(query->text, &in->command);
	int err;

	if (!a)
		return -ENOMEM;
	for (int i = 0; i < (int)ANSWER_NEXT_MAX && q->next[i]; i++)
		answer_next(a, q->next[i]);
	err = q->answer(a, in, query->argument);
	if (!err)
		err = answer_write(a, out);
	answer_free(a);
	return err;
}

static int write_answer(const struct result *result, const struct writer_options *options,
			FILE *out, struct written *written)
{
	const struct query_input input = {.result = result,
					  .command = {"profile --from FILE", "", ""}};

	written->items = 1;
	return query_answer(options->query, &input, out);
}

const struct writer answer_writer = {
	.name = "answer",
	.suffix = ".json",
	.item = "answer",
	.shows_findings = true,
	.needs = USES_TIMELINE,
	.write = write_answer,
};
