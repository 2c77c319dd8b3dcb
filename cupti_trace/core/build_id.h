/* SPDX-License-Identifier: MIT */
/*
 * Reads the build id of a mapped file from the mapping, so changes of the file since do not matter.
 * For traces, which are read when files may have changed.
 */
#ifndef CUPTI_TRACE_CORE_BUILD_ID_H
#define CUPTI_TRACE_CORE_BUILD_ID_H

#include <stdint.h>

#define BUILD_ID_TEXT_BYTES 129 /* longest build id that is read, in hexadecimal, with its NUL */

/*
 * Reads the build id of the ELF file whose first bytes are mapped from `start` to `end`. Its note
 * must be among them, where linkers put it. Sets "" if there is none, or the memory is something
 * else. Another thread may unmap the memory meanwhile (readable.h).
 */
void build_id_read(uint64_t start, uint64_t end, char text[BUILD_ID_TEXT_BYTES]);

#endif
