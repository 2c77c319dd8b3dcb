/* SPDX-License-Identifier: MIT */
/*
 * Sums up collectives of NCCL by operation and size, with their bandwidths, from the stacks of GPU
 * work (--nvtx).
 *
 * Work belongs to the innermost range of NCCL that tells a size (nccl_text.h), else to the
 * innermost one. An entry is one operation, reduction, size and number of ranks, of all
 * communicators. Roots and peers make no difference. A group of one call counts as that call.
 *
 * NCCL starts one kernel for a call, and the launches of a CUDA graph repeat it. So executions are
 * counted by kernels, and other work, such as copies of arguments, adds nothing. Without kernels, a
 * communicator of one rank executes by copies. Bandwidths are of the time without waits for other
 * ranks, where those are known (merged ranks). Groups that may start several kernels at once have
 * neither executions nor bandwidths (nccl_text.h).
 */
#ifndef PROFILER_TABLES_COLLECTIVE_CALLS_H
#define PROFILER_TABLES_COLLECTIVE_CALLS_H

#include "profiler/model/result.h"
#include "profiler/tables/report_table.h"
#include "symbolize/util/intern.h"
#include "symbolize/util/record_set.h"

struct collective_call {
	const char *key, *operation, *reduction; /* `key` has all that makes an entry */
	const char *frame; /* start of the names of its frames, for patterns */
	bool has_bytes, is_group;
	uint64_t bytes, ranks; /* as in struct nccl_text */
	uint64_t executions;   /* 0: unknown */
	uint64_t ns;           /* GPU time, with waits */
	uint64_t waited_ns;    /* waits for other ranks, part of it */
	double algorithm, bus; /* GB/s, 10^9 bytes; negative: unknown */
	/* while rows are added */
	uint64_t moved, other_count, other_ns;
	double factor;
	const struct frame_info *kernel;
	bool kernels_differ;
};

struct collective_calls {
	RECORD_SET(struct collective_call);
	struct intern strings;
	uint64_t whole_ns; /* time of all entries */
};

/* Makes the entries, the longest time first. Returns NULL if out of memory. */
struct collective_calls *collective_calls_new(const struct result *result);
void collective_calls_free(struct collective_calls *calls);

/* Makes the table. Returns NULL with errno set. */
struct report_table *collective_calls_report_table(const struct result *result);

#endif
