/* SPDX-License-Identifier: MIT */
/*
 * Whether an address is in executable memory, a JIT's included: for walks of stacks, which must not
 * take any word that lies where a return address would be for one.
 *
 * Known ranges are asked for without a lock. At an unknown address the mappings are read again
 * (see code_map.h: not always), because code may be new. Any thread may call.
 */
#ifndef CUPTI_TRACE_UNWIND_CODE_RANGES_H
#define CUPTI_TRACE_UNWIND_CODE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

bool code_ranges_hold(uint64_t pc);

/* Does the same by what is known already; false for code that is new. */
bool code_ranges_have(uint64_t pc);

/*
 * Returns whether `pc` is where functions return to that a return probe of the kernel watches: the
 * beginning of the mapping "[uprobes]", which a process has from its first probe on.
 */
bool code_ranges_begin_uprobes(uint64_t pc);

/* Code was mapped or unmapped: the next unknown address has the mappings read. */
void code_ranges_expire(void);

#endif
