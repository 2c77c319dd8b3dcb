/* SPDX-License-Identifier: MIT */
/*
 * Finds the message of an NVTX range that is opened with nothing but a payload.
 *
 * A payload is a structure of the program, which a schema describes. One entry of it may be the
 * message: a pointer to text, an array of characters, or a registered string. Only the place of the
 * message is kept of each schema. A payload may also be a text itself. Nothing else in payloads is
 * read here; nccl_calls.h reads those of NCCL.
 *
 * A range has no message if schemas nest, or if the message follows something without a fixed size.
 * NVTX_SCHEMAS_MAX schemas with a message are known; those past that have none.
 *
 * One instance for the process; any thread may call. A look-up takes no lock.
 */
#ifndef CUPTI_TRACE_LAUNCH_NVTX_PAYLOAD_H
#define CUPTI_TRACE_LAUNCH_NVTX_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>
#include "cupti_trace/launch/nvtx_abi.h"

#define NVTX_SCHEMAS_MAX 256

/* Registers a schema or an enumeration. Returns the program's id of it, or else a new one. */
uint64_t nvtx_schema(uint32_t domain, const struct nvtx_abi_schema *schema);
uint64_t nvtx_enumeration(const struct nvtx_abi_enumeration *enumeration);

/* Returns the size of a value by its type, which is its alignment, too; 0: unknown. */
size_t nvtx_payload_size_of(uint64_t type);

/*
 * Returns the offset of a schema's entry that follows *end, and sets *end to its own end. SIZE_MAX:
 * unknown, for both. *end is 0 before the first entry.
 */
size_t nvtx_payload_place(const struct nvtx_abi_schema *schema, const struct nvtx_abi_entry *entry,
			  size_t *end);

/* Makes schemas usable in a child of fork, whichever thread was registering one. */
void nvtx_payload_in_child(void);

/* Returns the id (nvtx_names.h) of the message in these payloads, or that of "[unnamed]". */
uint32_t nvtx_payload_name(uint32_t domain, const struct nvtx_abi_payload *payloads, size_t count);

#endif
