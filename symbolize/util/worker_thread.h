/* SPDX-License-Identifier: MIT */
/*
 * Starts threads that receive no signals: other threads handle them.
 */
#ifndef SYMBOLIZE_UTIL_WORKER_THREAD_H
#define SYMBOLIZE_UTIL_WORKER_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

/*
 * Starts a thread with all signals blocked. `stack_bytes` 0: a stack of the usual size. Returns 0,
 * or -errno.
 */
static inline int worker_thread_start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *),
				      void *context)
{
	pthread_attr_t attributes;
	sigset_t all, previous;
	int err = pthread_attr_init(&attributes);

	if (err)
		return -err;
	if (stack_bytes)
		err = pthread_attr_setstacksize(&attributes, stack_bytes);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &previous);
	if (!err)
		err = pthread_create(thread, &attributes, run, context);
	pthread_sigmask(SIG_SETMASK, &previous, NULL);
	pthread_attr_destroy(&attributes);
	return -err;
}

#endif
