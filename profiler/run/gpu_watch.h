/* SPDX-License-Identifier: MIT */
/*
 * Watches the state of the GPUs that a run uses, through the helper: the process without
 * capabilities that loads NVML (helper.h, nvml.h).
 *
 * The helper is asked for a GPU once work has run on it. It then loads NVML, and sends a reading
 * each GPU_WATCH_MS. Where readings take long, they come less often, so that they cost 2 % of a CPU
 * at most. A run without GPU work costs nothing.
 *
 * Nothing waits for the helper: its readings are taken as they come, and a helper that hangs sends
 * none. Readings are checked. Reasons why there are none are logged with -v.
 */
#ifndef PROFILER_RUN_GPU_WATCH_H
#define PROFILER_RUN_GPU_WATCH_H

#include <pthread.h>
#include "profiler/base/log.h"
#include "profiler/join/collect.h"

#define GPU_WATCH_MS 100u
#define GPU_WATCH_GPUS 16u /* further GPUs are not watched */
#define GPU_WATCH_MESSAGE_BYTES 128u

/* Connects to the helper. Returns a socket, or -errno. */
struct gpu_watch_connector {
	int (*connect)(const void *context); /* NULL: nothing is watched */
	const void *context;
};

/* Zero-initialise, then set `connector`. */
struct gpu_watch {
	struct gpu_watch_connector connector;
	bool is_connected, is_over;
	bool has_answer; /* a reading, or the reason why there is none */
	uint32_t reasons;
	int socket;
	uint64_t look_ns;  /* not before */
	uint64_t asked_ns; /* when the first GPU was asked for */
	struct gpu_watched {
		char uuid[DEVICE_UUID_BYTES];
		const char *gpu; /* the UUID, kept by `collect` */
	} gpus[GPU_WATCH_GPUS];
	uint32_t count;
	uint32_t used; /* bytes of the message that is received */
	_Alignas(uint64_t) char message[GPU_WATCH_MESSAGE_BYTES];
};

/* Asks for GPUs that are newly used, and takes readings. Never waits. */
void gpu_watch_look(struct gpu_watch *watch, struct collect *collect, struct log *log,
		    uint64_t now_ns);

/* Takes the last readings, and ends the connection. */
void gpu_watch_end(struct gpu_watch *watch, struct collect *collect, struct log *log,
		   uint64_t now_ns);

/* Serves a connection in the helper. Holds `loading` while NVML is loaded. */
void gpu_watch_serve(int socket, pthread_mutex_t *loading);

#endif
