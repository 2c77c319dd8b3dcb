/* SPDX-License-Identifier: MIT */
/*
 * Waits, with a timeout, for a thread that may hang in CUPTI or in a write. Exit goes on without it
 * after TIMEOUT_MS.
 *
 * Polls, because ThreadSanitizer knows no function that waits by a clock that cannot be set.
 */
#ifndef CUPTI_TRACE_CORE_TIMEOUT_H
#define CUPTI_TRACE_CORE_TIMEOUT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define TIMEOUT_MS 2000 /* at exit */

/* Takes the lock. Returns false on timeout. */
bool timeout_lock(pthread_mutex_t *lock, uint32_t ms);

/* Joins the thread. Returns false if it still runs after the timeout. */
bool timeout_join(pthread_t thread, uint32_t ms);

#endif
