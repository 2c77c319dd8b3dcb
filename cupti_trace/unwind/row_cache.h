/* SPDX-License-Identifier: MIT */
/*
 * Caches the unwind rows that lead from a pc to its caller, packed into a word each. All threads
 * share one table without locks.
 *
 * A slot holds a row and a check word, made of the row and its pc. They are stored one after the
 * other, so two threads may mix row and check of two pcs. Such a slot matches no pc. So a row that
 * is found was put under this pc, whatever other threads do meanwhile.
 */
#ifndef CUPTI_TRACE_UNWIND_ROW_CACHE_H
#define CUPTI_TRACE_UNWIND_ROW_CACHE_H

#include <stdint.h>

#define ROW_CACHE_SLOTS 65536u /* a power of two; 1 MiB */

/* Returns the row of `pc`; 0: not cached. */
uint64_t row_cache_get(uint64_t pc);

/* Caches a row, not 0, if there is room. Threads that put one pc put equal rows. */
void row_cache_put(uint64_t pc, uint64_t row);

/* Forgets all rows. */
void row_cache_forget(void);

#endif
