/* SPDX-License-Identifier: MIT */
/*
 * The message of an NVTX range that is opened with nothing but a payload.
 *
 * A payload is a structure of the program's, which a schema describes. One entry of it may be the
 * message: a pointer to text, an array of characters, or a registered string. Of each schema only
 * where that lies is kept. A payload may also be a text itself. Of everything else in payloads
 * nothing is read.
 *
 * Where schemas nest, or the message lies behind what has no fixed size, the range has no message.
 * NVTX_SCHEMAS_MAX schemas with a message are known; those past that have none.
 *
 * One instance for the process; any thread may call these. A look-up takes no lock.
 */
#ifndef CUPTI_TRACE_LAUNCH_NVTX_PAYLOAD_H
#define CUPTI_TRACE_LAUNCH_NVTX_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>
#include "cupti_trace/launch/nvtx_abi.h"

#define NVTX_SCHEMAS_MAX 256

/* Registers a schema: the program's id of it, or else a new one. The same for an enumeration. */
uint64_t nvtx_schema(uint32_t domain, const struct nvtx_abi_schema *schema);
uint64_t nvtx_enumeration(const struct nvtx_abi_enumeration *enumeration);

/* The id (nvtx_names.h) of the message in these payloads; of "[unnamed]" if they have none. */
uint32_t nvtx_payload_name(uint32_t domain, const struct nvtx_abi_payload *payloads, size_t count);

#endif
