/* SPDX-License-Identifier: MIT */
/*
 * One process that serves what needs libraries which profile is not linked with, while profile has
 * capabilities: the user, and apart (isolated_child.h). HTTP is the service that there is
 * (http_channel.h).
 *
 * It is started before anything privileged is open, gets data alone, and ends with who started it.
 * The interface: a connection to a service is a stream socket, and each connection has a thread in
 * the helper. What is spoken on it is the service's. Requests may take for ever, and the helper may
 * be killed (it is the user's): whoever asks has a deadline, and takes the end of the stream for an
 * answer. Data that comes from it is the user's, and no more trusted.
 *
 * It is a child that nobody waits for until helper_end, so its time is not the command's.
 */
#ifndef PROFILER_RUN_HELPER_H
#define PROFILER_RUN_HELPER_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>
#include "profiler/run/identity.h"

#define HELPER_CONNECTIONS 64 /* at once; further ones end at once */

/*
 * Serves a connection until it ends, in a thread of the helper; the caller closes it. `loading` is
 * held while a library is loaded and set up.
 */
typedef void helper_service(int socket, pthread_mutex_t *loading);

struct helper {
	pid_t pid; /* 0: there is none */
	int socket;
};

/* In a process of one thread. `services`: by their numbers. 0 or -errno. */
int helper_start(struct helper *helper, const struct identity *identity,
		 helper_service *const *services, uint32_t count);

/* The socket of a new connection, close-on-exec; never waits. -errno; -EPIPE: the helper has ended,
 * or was never started. */
int helper_connect(const struct helper *helper, uint32_t service);

/* Ends it, whatever it does. Does nothing for one that was not started (zero-initialised). */
void helper_end(struct helper *helper);

#endif
