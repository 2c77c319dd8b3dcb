/* SPDX-License-Identifier: MIT */
/*
 * The build id of a file that this process has mapped, read from its memory: whatever happened to
 * the file since. For traces, which are read when files may have changed.
 */
#ifndef CUPTI_TRACE_CORE_BUILD_ID_H
#define CUPTI_TRACE_CORE_BUILD_ID_H

#include <stdint.h>

#define BUILD_ID_TEXT_BYTES 129 /* of the longest that is read, in hexadecimal, with its NUL */

/*
 * Reads that of the ELF file whose first bytes are mapped from `start` to `end`; its note must be
 * among them, which is where linkers put it. "": there is none, or the memory is something else.
 * Another thread may unmap it meanwhile (readable.h).
 */
void build_id_read(uint64_t start, uint64_t end, char text[BUILD_ID_TEXT_BYTES]);

#endif
