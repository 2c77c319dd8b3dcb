/* SPDX-License-Identifier: MIT */
/*
 * Sends a cubin's information about source lines (nvcc -lineinfo; Triton and numba write it, too):
 * section headers, symbols and line tables. The profiler reads them; here only section names are
 * read.
 *
 * Format: ELF, as in the System V ABI; line tables in .debug_line, names of inlined functions in
 * .debug_str, and relocations of addresses in .rela.debug_line (or .rel.debug_line).
 */
#ifndef CUPTI_TRACE_HW_CUBIN_LINES_H
#define CUPTI_TRACE_HW_CUBIN_LINES_H

#include <stddef.h>
#include <stdint.h>
#include "cupti_trace/core/sink.h"

/* Limit of the bytes sent of a cubin: its sections together. */
#define CUBIN_LINES_MAX (16u << 20)

/* Returns the number of bytes to send; 0: no line table, or no cubin. */
size_t cubin_lines_size(const char *cubin, size_t size);

/* Sends the sections. */
void cubin_lines_send(const char *cubin, size_t size, uint64_t crc, struct sink *sink);

#endif
