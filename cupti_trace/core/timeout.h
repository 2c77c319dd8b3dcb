/* SPDX-License-Identifier: MIT */
/*
 * Waiting at exit for a thread that may sit inside CUPTI, or wait for room in the pipe: exit must
 * not hang on it, so after TIMEOUT_MS it goes on without.
 *
 * It tries again and again: ThreadSanitizer knows no function that waits for a lock or a thread by
 * a clock that cannot be set.
 */
#ifndef CUPTI_TRACE_CORE_TIMEOUT_H
#define CUPTI_TRACE_CORE_TIMEOUT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define TIMEOUT_MS 2000

/* Takes the lock. False: another thread still has it. */
bool timeout_lock(pthread_mutex_t *lock);

/* Does the same with another limit, not at exit. */
bool timeout_lock_for(pthread_mutex_t *lock, uint32_t ms);

/* Joins the thread. False: it still runs. */
bool timeout_join(pthread_t thread);

/* Joins it within another limit. */
bool timeout_join_for(pthread_t thread, uint32_t ms);

#endif
