// SPDX-License-Identifier: MIT
#include "profiler/findings/findings_private.h"

#include <inttypes.h>
#include <string.h>

#define SHARE_MIN 10.0     /* percent that a kernel or a launch site needs to be named */
#define TINY_NS 10000.0    /* mean duration of tiny kernels */
#define TINY_LOSS 15.0     /* percent lost around tiny kernels that is worth a finding */
#define AUTOTUNING_MIN 5.0 /* percent of the GPU time */

/* ---- kernels and launch sites ---- */

static bool is_same(const struct frame_info *a, const struct frame_info *b)
{
	return a && b && (a == b || (a->class == b->class && strcmp(a->name, b->name) == 0));
}

static const struct frame_info *kernel_of(const struct result *r, const struct computing_site *c)
{
	return c->frame == SCHEDULE_NO_FRAME ? NULL : &r->frames[c->frame];
}

static const struct frame_info *launcher_of(const struct result *r, const struct computing_site *c)
{
	return hot_spots_site(r, c->stack);
}

/* Sums up the computing time whose frame, by `frame_of`, is this one. */
static uint64_t computing_ns(const struct findings *f, const struct frame_info *frame,
			     const struct frame_info *(*frame_of)(const struct result *r,
								  const struct computing_site *c))
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < f->steady.computing.count; i++)
		if (is_same(frame_of(f->result, &f->steady.computing.list[i]), frame))
			ns += f->steady.computing.list[i].ns;
	return ns;
}

uint64_t findings_kernel_computes(const struct findings *f, const struct frame_info *kernel)
{
	return computing_ns(f, kernel, kernel_of);
}

uint64_t findings_site_computes(const struct findings *f, const struct frame_info *site)
{
	return computing_ns(f, site, launcher_of);
}

/* Returns the percentage of the steady part. */
static double of_steady(const struct findings *f, uint64_t ns)
{
	return percent_of(ns, device_times_whole(&f->steady));
}

/* Returns the first entry of a table, or NULL if its share is small. */
static const struct hot_spot *hottest(const struct making *m, const struct hot_spot_table *table)
{
	return table->count && percent_of(table->list[0].ns, findings_gpu_ns(m)) >= SHARE_MIN
		       ? &table->list[0]
		       : NULL;
}

void findings_add_hottest_kernel(struct making *m)
{
	const struct hot_spot *first = hottest(m, &m->spots->kernels);
	char name[FINDING_NAME_BYTES], total[QUANTITY_BYTES];
	const char *claim;

	if (!first)
		return;
	claim = finding_text(
		m,
		"%.1f %% of the GPU time (%s, %" PRIu64
		" executions) is spent in %s; it explains %.1f %% "
		"of the steady part",
		percent_of(first->ns, findings_gpu_ns(m)), time_text(total, (double)first->ns),
		first->count, finding_name(name, first->frame),
		of_steady(m->findings, findings_kernel_computes(m->findings, first->frame)));
	finding_add(m, (struct finding){.kind = FINDING_KERNEL,
					.claim = claim,
					.certainty = "measured",
					.next = "--counters default: what limits a kernel",
					.from_ns = m->from_ns,
					.to_ns = m->to_ns});
}

void findings_add_hottest_site(struct making *m)
{
	const struct hot_spot *first = hottest(m, &m->spots->sites);
	char name[FINDING_NAME_BYTES], total[QUANTITY_BYTES];
	const char *claim;

	if (!first)
		return;
	claim = finding_text(
		m,
		"%.1f %% of the GPU time (%s) is of work launched by %s, whose kernels explain "
		"%.1f %% of "
		"the steady part",
		percent_of(first->ns, findings_gpu_ns(m)), time_text(total, (double)first->ns),
		finding_name(name, first->frame),
		of_steady(m->findings, findings_site_computes(m->findings, first->frame)));
	finding_add(m, (struct finding){.kind = FINDING_SITE,
					.claim = claim,
					.certainty = "measured",
					.from_ns = m->from_ns,
					.to_ns = m->to_ns});
}

void findings_add_tiny(struct making *m)
{
	const struct findings *f = m->findings;
	const struct hot_spot *all = &m->spots->kernels.whole;
	uint64_t lost_ns = device_times_sum(&f->steady, USE_LAUNCHING) +
			   device_times_sum(&f->steady, USE_QUEUED);
	double lost = percent_of(lost_ns, device_times_whole(&f->steady));
	char mean[QUANTITY_BYTES];

	if (all->count < 100 || (double)all->ns / (double)all->count > TINY_NS || lost < TINY_LOSS)
		return;
	finding_add(m, (struct finding){
			       .kind = FINDING_TINY,
			       .claim = finding_text(
				       m,
				       "%" PRIu64 " kernels of %s on average, and %.1f %% of the "
				       "steady part is lost between them",
				       all->count,
				       time_text(mean, (double)all->ns / (double)all->count), lost),
			       .certainty = "measured",
			       .next = "fewer, larger kernels, or CUDA graphs"});
}

/* ---- autotuning ---- */

/* Returns whether a frame is, or calls, trials. Names of Python files do not count. */
static bool is_trial(const struct frame_info *frame)
{
	static const char *const names[] = {"autotune", "do_bench", "benchmark_all_configs",
					    "cudnnFind", "AlgoGetHeuristic"};
	const char *name = frame->class == CLASS_PYTHON ? frame->short_name : frame->name;

	if (frame->class == CLASS_PHASE)
		return strcmp(name, PSEUDO_AUTOTUNING) == 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strstr(name, names[i]))
			return true;
	return false;
}

static bool is_autotuning(const struct result *r, uint32_t stack)
{
	for (; stack != RESULT_ROOT; stack = r->stacks[stack].outer)
		if (is_trial(&r->frames[r->stacks[stack].frame]))
			return true;
	return false;
}

void findings_add_autotuning(struct making *m)
{
	const struct result *r = m->result;
	uint64_t ns = 0, all_ns = 0, count = 0;
	char total[QUANTITY_BYTES];

	for (uint32_t i = 0; i < r->row_count; i++) {
		if (r->rows[i].kind != ROW_GPU)
			continue;
		saturated_add(&all_ns, r->rows[i].ns);
		if (!is_autotuning(r, r->rows[i].stack))
			continue;
		saturated_add(&ns, r->rows[i].ns);
		saturated_add(&count, r->rows[i].count);
	}
	if (percent_of(ns, all_ns) < AUTOTUNING_MIN)
		return;
	finding_add(m,
		    (struct finding){
			    .kind = FINDING_AUTOTUNING,
			    .claim = finding_text(m,
						  "%.1f %% of the GPU time (%s, %" PRIu64
						  " operations) is autotuning",
						  percent_of(ns, all_ns),
						  time_text(total, (double)ns), count),
			    .certainty =
				    "measured; by functions called autotune, do_bench and the like",
			    .next = FINDING_FROM "--steady -o steps.html: the steps without it",
			    .from_ns = m->from_ns,
			    .to_ns = m->to_ns});
}
