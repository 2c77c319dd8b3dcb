/* SPDX-License-Identifier: MIT */
/*
 * The ranks of merged runs (ranks.h) as tables, and what their rows add up to.
 */
#ifndef PROFILER_TABLES_RANKS_TABLE_H
#define PROFILER_TABLES_RANKS_TABLE_H

#include <stdint.h>

struct report_table;
struct rank_info;
/* The sums of a rank's rows, by their kinds. */
struct rank_time {
	uint64_t cpu_ns, gpu_ns, wait_ns, call_ns;
	uint64_t collective_ns; /* of gpu_ns: kernels of NCCL */
	uint64_t waited_ns;     /* of collective_ns: for ranks that came later */
	uint64_t kept_ns;       /* that others waited for this one */
};

/* By the result's ranks, to be freed; NULL: out of memory. */
struct result;
struct rank_time *rank_times(const struct result *result);

/* As a table, by rank. NULL with errno. */
struct report_table *ranks_report_table(const struct result *result);

/* Who waited for whom in collectives, of the ranks that had any. NULL with errno. */
struct report_table *ranks_collectives_report_table(const struct result *result);

/* The clocks that are aligned with another machine's, by collectives. NULL with errno. */
struct report_table *ranks_clocks_report_table(const struct result *result);

/* The first rank of each clock, by its number, to be freed; NULL: none. NULL: out of memory. */
const struct rank_info **ranks_of_clocks(const struct result *result);

#endif
