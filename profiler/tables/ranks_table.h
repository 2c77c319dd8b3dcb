/* SPDX-License-Identifier: MIT */
/*
 * Makes the tables of the ranks of merged runs (ranks.h), and sums up their rows.
 */
#ifndef PROFILER_TABLES_RANKS_TABLE_H
#define PROFILER_TABLES_RANKS_TABLE_H

#include <stdint.h>

struct report_table;
struct rank_info;
/* Sums of a rank's rows by kind. */
struct rank_time {
	uint64_t cpu_ns, gpu_ns, wait_ns, call_ns;
	uint64_t collective_ns; /* part of gpu_ns: kernels of NCCL */
	uint64_t waited_ns;     /* part of collective_ns: waits for later ranks */
	uint64_t kept_ns;       /* waits of other ranks for this one */
};

/* Returns the sums by rank of the result, which the caller frees. Returns NULL if out of memory. */
struct result;
struct rank_time *rank_times(const struct result *result);

/* Makes the table of ranks. Returns NULL with errno set. */
struct report_table *ranks_report_table(const struct result *result);

/* Makes the table of waits in collectives, for ranks with collectives. Returns NULL with errno set.
 */
struct report_table *ranks_collectives_report_table(const struct result *result);

/* Makes the table of clocks aligned by collectives. Returns NULL with errno set. */
struct report_table *ranks_clocks_report_table(const struct result *result);

/*
 * Returns the first rank of each clock, or NULL in its place; the caller frees the array. Returns
 * NULL if out of memory.
 */
const struct rank_info **ranks_of_clocks(const struct result *result);

#endif
