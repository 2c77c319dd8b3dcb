/* SPDX-License-Identifier: MIT */
/*
 * Declares the parts of the summary (summary.h). A part prints nothing if it has nothing to
 * report.
 */
#ifndef PROFILER_REPORT_SUMMARY_PRIVATE_H
#define PROFILER_REPORT_SUMMARY_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/report/summary.h"

/* Returns the singular or the plural. */
static inline const char *pick(uint64_t count, const char *one, const char *many)
{
	return count == 1 ? one : many;
}

static inline const char *plural(uint64_t count)
{
	return pick(count, "", "s");
}

static inline double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

/* Returns whether any process used the GPU. */
static inline bool used_gpu(const struct ledger *l)
{
	return l->pipe.processes > 0 || l->calls.processes > 0;
}

/* Returns the name of the medium that programs wrote to. */
static inline const char *stream(const struct measure *m)
{
	return m->alone ? "trace" : "pipe";
}

/* Returns whether only a part of the run was recorded. */
static inline bool is_part_of_run(const struct measure *m)
{
	return m->delay_ns || m->duration_ns || m->last_ns;
}

/* ---- details, for -v or if they are wrong: summary_details.c ---- */

enum summary_detail {
	SUMMARY_SAMPLES,
	SUMMARY_MATCHES, /* launches and operations, GPU work by device, CUPTI's sums */
	SUMMARY_STACKS,  /* whole ones */
	SUMMARY_GUESSED,
	SUMMARY_PYTHON,
	SUMMARY_HANDED_OVER,
	SUMMARY_DETAILS
};

/* Returns whether to print a detail: with -v, and where it is wrong or worse than usual. */
bool summary_shows(const struct log *log, const struct ledger *ledger, enum summary_detail detail);

/* ---- CPU: summary_cpu.c ---- */

void summary_samples(struct log *log, const struct measure *m, const struct ledger *l);
void summary_cpu(struct log *log, const struct measure *m, const struct totals *t);
void summary_idle(struct log *log, const struct measure *m, const struct ledger *l);
void summary_wall(struct log *log, const struct measure *m, const struct ledger *l);
void summary_async_parents(struct log *log, const struct ledger *l);
void summary_stacks(struct log *log, const struct ledger *l);
void summary_spread(struct log *log, const struct measure *m, const struct ledger *l);
void summary_guessed(struct log *log, const struct ledger *l);
void summary_python(struct log *log, const struct ledger *l);

/* ---- GPU: summary_gpu.c ---- */

void summary_waits(struct log *log, const struct measure *m, const struct ledger *l);
void summary_correlation(struct log *log, const struct measure *m, const struct ledger *l);
void summary_odd_launches(struct log *log, const struct ledger *l);
void summary_stalls(struct log *log, const struct measure *m, const struct ledger *l);
void summary_calls(struct log *log, const struct measure *m, const struct ledger *l);
void summary_dropped(struct log *log, const struct measure *m, const struct ledger *l);
void summary_counters(struct log *log, const struct measure *m, const struct ledger *l);

/* ---- processes that were not traced, or not to the end: summary_processes.c ---- */

void summary_untraced(struct log *log, const struct ledger_processes *p);
uint64_t summary_count_causes(const struct ledger_processes *p);
void summary_no_gpu(struct log *log, const struct measure *m, const struct ledger *l);
void summary_losses(struct log *log, const struct totals *t);

#endif
