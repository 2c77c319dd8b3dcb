/* SPDX-License-Identifier: MIT */
/*
 * Names NVTX ranges of NCCL by what the call moves, from the payload of the range:
 *
 *	ncclAllReduce 64 MiB sum, 8 ranks, comm 3f2a91c0
 *	ncclBroadcast 12345 B root 0, 2 ranks, comm 3f2a91c0
 *	ncclSend 4 MiB to 1, comm 3f2a91c0
 *	ncclGroupEnd: 7 x Send 4 MiB + 7 x Recv 28345 B in all, 8 ranks, comm 3f2a91c0
 *
 * Source: NCCL 2.16 to 2.30, src/include/nvtx.h and nvtx_payload_schemas.h. Each function of NCCL
 * opens a range of domain "NCCL", named after the function. Before, it registers the schema of the
 * range's payload. Fields are found in the schema by their names, so no table of ids is needed:
 * ids and layouts differ by version. A payload of an unknown schema leaves the name as it is.
 *
 * - Size: bytes of the message as given to the call, count x size of a value. Written exactly, in
 *   the largest unit of 1024 that divides it.
 * - Communicator: the first half of NCCL's hash ("commId 0x3f2a91c0..." in its log). NCCL 2.25 and
 *   later.
 * - Ranks: of the communicator, from ranges that begin or end one. "several here": this process
 *   has more than one of them. Communicators of ncclCommSplit stay without: the payload has the
 *   ranks of the parent.
 * - A group: its calls are listed by ncclGroupEnd, which launches them. Equal operations are added
 *   up. NCCL_PARTS_MAX operations are listed; calls of others are counted ("+ 2 more").
 *
 * Payloads have neither data types nor sequence numbers.
 *
 * Names are nvtx_names.h's, with its limit and its folding. Where these leave no room, the name
 * stays as it is. --range still compares the function's name. The process has one instance; any
 * thread may call. Only registering takes a lock. Memory is fixed: of NCCL_SCHEMAS_MAX schemas and
 * NCCL_COMMS_MAX communicators; further ones are unknown.
 */
#ifndef CUPTI_TRACE_LAUNCH_NCCL_CALLS_H
#define CUPTI_TRACE_LAUNCH_NCCL_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cupti_trace/launch/nvtx_abi.h"

#define NCCL_SCHEMAS_MAX 128
#define NCCL_COMMS_MAX 1024
#define NCCL_PARTS_MAX 8

/* Notes a domain of the program by its name, which may be NULL. */
void nccl_calls_domain(const char *name, uint32_t domain);

/* Returns whether a domain is NCCL's. */
bool nccl_calls_are(uint32_t domain);

/* Notes the schema with this id, if the domain is NCCL's. */
void nccl_calls_schema(uint32_t domain, uint64_t id, const struct nvtx_abi_schema *schema);

/*
 * Returns the id (nvtx_names.h) of the name for a range that opens in NCCL's domain. `name` is its
 * message; `payloads` may be NULL. Returns `name` if nothing more is known.
 */
uint32_t nccl_calls_name(uint32_t domain, uint32_t name, const struct nvtx_abi_payload *payloads,
			 size_t count);

/* Notes what the payloads of a range that ends in NCCL's domain tell of communicators. */
void nccl_calls_end(const struct nvtx_abi_payload *payloads, size_t count);

/* Makes schemas usable in a child of fork, whichever thread was registering one. */
void nccl_calls_in_child(void);

/* Forgets schemas, communicators and the domain. No thread may use them meanwhile. For tests. */
void nccl_calls_forget(void);

#endif
