/* SPDX-License-Identifier: MIT */
/*
 * The calling thread's PyThreadState, which a launch needs before it can read Python's frames.
 *
 * PyGILState_GetThisThreadState gives it, and Py_IsFinalizing says whether it may still be read:
 * an interpreter that shuts down frees the states of daemon threads that still run. Between two
 * launches of a PyTorch program the processor forgets the interpreter's code and tables for these
 * two calls, so there they take a sixth of the callback. So what they read is read here: up to
 * Python 3.13 a key of POSIX thread-specific data in _PyRuntime. Later versions keep the state in
 * a variable of their own, and the function is called.
 */
#ifndef CUPTI_TRACE_PYTHON_PYTHON_THREAD_H
#define CUPTI_TRACE_PYTHON_PYTHON_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include "symbolize/util/likely.h"

/*
 * Py_tss_t (Include/cpython/pythread.h). It changes, so it is read each time: after a fork there is
 * another key, after the interpreter has ended none until it begins again.
 */
struct python_thread_key {
	int is_created;
	pthread_key_t key;
};

/* Of one interpreter's library. */
struct python_thread {
	void *(*this_thread)(void); /* PyGILState_GetThisThreadState */
	/* in _PyRuntime; there NULL, but from when it shuts down until it begins again */
	void *const volatile *finalizing;
	_Atomic(const volatile struct python_thread_key *) key; /* NULL: not known */
};

/*
 * The key by which `thread`, the caller's PyThreadState, is found, in _PyRuntime of this version
 * (0x030b is 3.11). NULL: the version has none, or this build has something else in its place.
 */
const volatile struct python_thread_key *python_thread_find_key(uint64_t runtime, uint16_t version,
								uint64_t thread);

/* The calling thread's PyThreadState; 0: it has none that may be read. */
static inline uint64_t python_thread_own(const struct python_thread *python)
{
	const volatile struct python_thread_key *key =
		atomic_load_explicit(&python->key, memory_order_relaxed);
	void *thread = NULL;

	if (unlikely(!key))
		thread = python->this_thread();
	else if (likely(key->is_created))
		thread = pthread_getspecific(key->key);
	/* read last: from then on the states of other threads are freed */
	return likely(!*python->finalizing) ? (uint64_t)(uintptr_t)thread : 0;
}

#endif
