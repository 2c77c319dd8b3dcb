/* SPDX-License-Identifier: MIT */
/*
 * Calls a handler at exit(3), even if several threads call exit at once.
 *
 * Threads that hit one error often do. glibc 2.41 lets one thread at a time into exit. Before, each
 * thread took the next of the remaining exit handlers. The thread that found none ended the
 * process, wherever the others were. So guard handlers stand before the real one: each holds one
 * thread until the real handler has finished. Then only the thread that got furthest down the list
 * continues, with the remaining handlers.
 *
 * The others must not return: glibc may have freed their part of the list once that thread left it.
 * They stay until that thread ends the process. It may wait for one of them: join it, or need its
 * lock. So after EXIT_GUARD_STAY_MS they flush stdio and end the process themselves.
 *
 * Not covered:
 *
 *  - threads that race through handlers registered after this one;
 *  - more threads than EXIT_GUARD_THREADS;
 *  - a thread that arrives just when the first goes on.
 */
#ifndef CUPTI_TRACE_CORE_EXIT_GUARD_H
#define CUPTI_TRACE_CORE_EXIT_GUARD_H

#include <stdint.h>

#define EXIT_GUARD_THREADS 31       /* threads that may call exit besides the first */
#define EXIT_GUARD_TIMEOUT_MS 10000 /* for a handler that hangs: total, however many threads */
#define EXIT_GUARD_STAY_MS 2000     /* until threads that stay end the process */

/*
 * Registers `handler` to be called at exit, before all handlers that are registered already. Once
 * in a process only; children of fork do not call it. The caller's code must stay mapped. Returns 0
 * or -ENOMEM.
 */
int exit_guard_add(void (*handler)(void));

/* Replaces EXIT_GUARD_TIMEOUT_MS and EXIT_GUARD_STAY_MS. Call before exit. */
void exit_guard_set_times(uint32_t timeout_ms, uint32_t stay_ms);

/* Returns the number of threads that are held or stay. */
uint32_t exit_guard_held(void);

#endif
