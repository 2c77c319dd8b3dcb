/* SPDX-License-Identifier: MIT */
/*
 * Tells whether an address is in executable memory, including a JIT's. Stack walks need this: a
 * word in the place of a return address may be anything.
 *
 * Known ranges are looked up without a lock. An unknown address causes a new read of the mappings
 * (but see code_map.h), because code may be new. Any thread may call.
 */
#ifndef CUPTI_TRACE_UNWIND_CODE_RANGES_H
#define CUPTI_TRACE_UNWIND_CODE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

bool code_ranges_hold(uint64_t pc);

/* Returns whether `pc` is in a known range; false for new code. Never reads the mappings. */
bool code_ranges_have(uint64_t pc);

/*
 * Returns whether `pc` is the return address of functions watched by a kernel return probe: the
 * start of the mapping "[uprobes]", which a process has from its first probe on.
 */
bool code_ranges_begin_uprobes(uint64_t pc);

/* Has the next unknown address read the mappings again: code was mapped or unmapped. */
void code_ranges_expire(void);

#endif
