/* SPDX-License-Identifier: MIT */
/*
 * Reads the calling thread's PyThreadState, which a launch needs before it can read Python's
 * frames.
 *
 * PyGILState_GetThisThreadState returns it. Py_IsFinalizing tells whether it may still be read: an
 * interpreter that shuts down frees the states of running daemon threads. Between two launches of a
 * PyTorch program the interpreter's code and tables leave the processor's caches. So both calls
 * would take a sixth of the callback. Therefore this module reads their data itself: up to Python
 * 3.13 a key of POSIX thread-specific data in _PyRuntime. Later versions keep the state in a
 * variable of their own, and the function is called.
 */
#ifndef CUPTI_TRACE_PYTHON_PYTHON_THREAD_H
#define CUPTI_TRACE_PYTHON_PYTHON_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include "symbolize/util/likely.h"

/*
 * Py_tss_t (Include/cpython/pythread.h). Read each time, because it changes: fork replaces the key,
 * and there is none between an interpreter's end and its next start.
 */
struct python_thread_key {
	int is_created;
	pthread_key_t key;
};

/* Pointers into the interpreter's library. */
struct python_thread {
	void *(*this_thread)(void); /* PyGILState_GetThisThreadState */
	/* in _PyRuntime; not NULL from the interpreter's shutdown to its next start */
	void *const volatile *finalizing;
	_Atomic(const volatile struct python_thread_key *) key; /* NULL: unknown */
};

/*
 * Finds the key in _PyRuntime by which `thread`, the caller's PyThreadState, is found. `version` is
 * 0x030b for 3.11. Returns NULL if the version has no key, or this build has something else in its
 * place.
 */
const volatile struct python_thread_key *python_thread_find_key(uint64_t runtime, uint16_t version,
								uint64_t thread);

/* Returns the calling thread's PyThreadState; 0: it has none that may be read. */
static inline uint64_t python_thread_own(const struct python_thread *python)
{
	const volatile struct python_thread_key *key =
		atomic_load_explicit(&python->key, memory_order_relaxed);
	void *thread = NULL;

	if (unlikely(!key))
		thread = python->this_thread();
	else if (likely(key->is_created))
		thread = pthread_getspecific(key->key);
	/* read last: afterwards the states of other threads are freed */
	return likely(!*python->finalizing) ? (uint64_t)(uintptr_t)thread : 0;
}

#endif
