/* SPDX-License-Identifier: MIT */
/*
 * Reads what a collective of NCCL moves from the name of its range's frame, as the library writes
 * it (cupti_trace/launch/nccl_calls.h): "nvtx:NCCL:ncclAllReduce 64 MiB sum, 8 ranks, comm
 * 3f2a91c0".
 *
 * Bandwidths are those of NCCL's own tests (nccl-tests, doc/PERFORMANCE.md): the algorithm
 * bandwidth is a size divided by the time. The bus bandwidth is that times a factor, so that it
 * compares with the speed of links, whatever the number n of ranks.
 *
 *	AllReduce                         the message              2 (n - 1) / n
 *	AllGather, ReduceScatter,         n messages               (n - 1) / n
 *	AlltoAll, Gather, Scatter         n messages               (n - 1) / n
 *	Broadcast, Reduce, Send, Recv     the message              1
 *
 * For a group of one operation the sizes are added up. For sends and receives together the larger
 * sum of the two counts. Groups of other mixtures, of several communicators, or of several ranks in
 * one process have no such size. Neither has one of more than NCCL_TEXT_CALLS_MAX calls: NCCL may
 * start several kernels for it, and their number would not be that of its executions.
 */
#ifndef PROFILER_TABLES_NCCL_TEXT_H
#define PROFILER_TABLES_NCCL_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#define NCCL_TEXT_BYTES 512
#define NCCL_TEXT_CALLS_MAX 16

struct nccl_text {
	char operation[NCCL_TEXT_BYTES]; /* "AllReduce", or a group's calls: "Send 4 MiB + ..." */
	char reduction[16];              /* "sum"; "": none, or unknown */
	bool has_bytes;
	uint64_t bytes; /* message; of a group the size that counts; 0: unknown */
	uint64_t ranks; /* ranks of the communicator; 0: unknown */
	uint64_t moved; /* bytes that the algorithm bandwidth is of; 0: unknown */
	double factor;  /* bus bandwidth / algorithm bandwidth; negative: unknown */
};

/*
 * Returns false for a frame that is no range of NCCL, or one that moves no messages: of a
 * communicator or of memory.
 */
bool nccl_text_read(const char *frame, struct nccl_text *text);

/* Returns the communicator of a frame, the first half of NCCL's hash; 0: unknown. */
uint32_t nccl_text_comm(const char *frame);

#endif
