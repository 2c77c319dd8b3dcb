/* SPDX-License-Identifier: MIT */
/*
 * The rows that lead from a pc to its caller, packed into a word each: one table of the process,
 * that all threads share without locks.
 *
 * A slot holds a row and a check word made of the row and its pc. They are stored one after the
 * other, so two threads may leave the row of one pc with the check of another: such a slot is
 * nobody's. So a row that is found is always the one that was put under this pc, whoever else
 * writes, forgets or takes the slot over meanwhile.
 */
#ifndef CUPTI_TRACE_UNWIND_ROW_CACHE_H
#define CUPTI_TRACE_UNWIND_ROW_CACHE_H

#include <stdint.h>

#define ROW_CACHE_SLOTS 65536u /* a power of two; 1 MiB */

/* The row of `pc`; 0: it is not there. */
uint64_t row_cache_get(uint64_t pc);

/* Keeps a row, not 0, as long as there is room. Threads that put the same pc put the same row. */
void row_cache_put(uint64_t pc, uint64_t row);

/* Forgets all. */
void row_cache_forget(void);

#endif
