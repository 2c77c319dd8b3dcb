/* SPDX-License-Identifier: MIT */
/*
 * Calls a handler at exit(3), even if several threads call exit at once.
 *
 * Threads that hit the same error often do. glibc before 2.41 (which lets one thread at a time
 * into exit) then has each thread take the next of the exit handlers that are left, and the one
 * that finds none left ends the process, wherever the others are. So more handlers stand before
 * this one's: each holds one thread until this one is through. Then only the thread that got
 * furthest down the list goes on, with the handlers that are left. The others, that of `handler`
 * among them, must not go back: glibc has freed the part of the list that they stand in, should
 * the one in front have left it. They stay where they are until it ends the process. Should it
 * wait for one of them (it joins it, or needs a lock that it holds), they end the process
 * themselves after a while, stdio flushed, as one of them would have done without all this.
 *
 * Not covered: threads that race through handlers registered after this one, more threads than
 * EXIT_GUARD_THREADS, and one that arrives just when the first goes on.
 */
#ifndef CUPTI_TRACE_CORE_EXIT_GUARD_H
#define CUPTI_TRACE_CORE_EXIT_GUARD_H

#include <stdint.h>

#define EXIT_GUARD_THREADS 31       /* that may call exit beside the first */
#define EXIT_GUARD_TIMEOUT_MS 10000 /* for a handler that hangs: in all, however many threads */
#define EXIT_GUARD_STAY_MS 2000     /* until those that stay end the process */

/*
 * Has `handler` called at exit, before all handlers that are registered already. Only once in a
 * process; children of fork do not call it. The caller's code must stay mapped. 0 or -ENOMEM.
 */
int exit_guard_add(void (*handler)(void));

/* Sets other times than EXIT_GUARD_TIMEOUT_MS and EXIT_GUARD_STAY_MS; before exit. */
void exit_guard_set_times(uint32_t timeout_ms, uint32_t stay_ms);

/* Returns how many threads are held now, or stay. */
uint32_t exit_guard_held(void);

#endif
