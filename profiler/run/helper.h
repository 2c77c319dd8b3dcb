/* SPDX-License-Identifier: MIT */
/*
 * Runs services in one child process for libraries that profile does not link, while profile has
 * capabilities. The helper runs as the user, as an isolated child (isolated_child.h). Its services
 * are HTTP (http_channel.h) and the state of GPUs (gpu_watch.h).
 *
 * The helper starts before anything privileged is opened, receives only data, and ends with its
 * parent. Each connection to a service is a stream socket, served by a thread of the helper; the
 * service defines the protocol. The helper belongs to the user: requests may block forever and the
 * helper may be killed. Clients set a timeout and treat end of stream as an answer. Data from the
 * helper is untrusted.
 *
 * The helper is not waited for before helper_end, so its CPU time is not counted as the command's.
 */
#ifndef PROFILER_RUN_HELPER_H
#define PROFILER_RUN_HELPER_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>
#include "profiler/run/identity.h"

#define HELPER_CONNECTIONS 64 /* at a time; more are closed at once */

/*
 * Serves a connection until it ends, in a thread of the helper. The caller closes the socket.
 * Services hold `loading` while they load and set up a library.
 */
typedef void helper_service(int socket, pthread_mutex_t *loading);

struct helper {
	pid_t pid; /* 0: not started */
	int socket;
};

/*
 * Starts the helper; the process must be single-threaded. `services` is indexed by service number.
 * Returns 0 or -errno.
 */
int helper_start(struct helper *helper, const struct identity *identity,
		 helper_service *const *services, uint32_t count);

/*
 * Opens a connection without blocking. Returns a close-on-exec socket or -errno; -EPIPE if the
 * helper has ended or was never started.
 */
int helper_connect(const struct helper *helper, uint32_t service);

/* Kills the helper. Does nothing if the struct is zero-initialised. */
void helper_end(struct helper *helper);

#endif
