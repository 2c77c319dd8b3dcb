/* SPDX-License-Identifier: MIT */
/*
 * The virtual GPU: contexts, streams and their timelines, inside the fake driver.
 *
 * A stream is a line of time. A kernel put on it starts at max(now + launch latency, end of what
 * is before it) and ends a duration later; both instants are known at once, so no thread plays the
 * GPU, and waiting is a sleep until an instant. As on the real device, at most GPU_QUEUE_DEPTH
 * kernels wait on a stream (the launching thread sleeps while it is full), streams run beside each
 * other, and the legacy default stream waits for, and holds up, all streams that were not created
 * as non-blocking.
 *
 * Objects are never freed before the process ends, so a stale handle is detected instead of being
 * undefined. One lock guards all state; no function is called back with it held.
 */
#ifndef TESTS_FAKE_CUDA_TIMELINE_H
#define TESTS_FAKE_CUDA_TIMELINE_H

#include "fake_cuda.h"

enum { GPU_QUEUE_DEPTH = 1024, GPU_MAX_DEVICES = 8 };

enum gpu_duration {
	GPU_DURATION_FIXED,
	GPU_DURATION_FIRST_ARGUMENT, /* uint64_t ns */
};

struct fake_cuda_function {
	uint32_t magic;
	char *name;
	enum gpu_duration source;
	uint64_t duration; /* GPU_DURATION_FIXED, ns */
	/* Totals over kernels that have ended; ns in CUPTI's clock. */
	uint64_t kernels, ns;
	struct fake_cuda_function *next; /* all functions of the process */
};

struct gpu_launch {
	struct fake_cuda_function *function;
	uint64_t duration;
	uint32_t grid[3], block[3];
	uint32_t shared_memory;
};

/* Settings, read from the environment once (README.md lists the variables). */
struct gpu_config {
	uint64_t clock_offset;
	int64_t drift_ppm;
	uint64_t latency;
	uint64_t default_duration;
	uint64_t kill_after, crash_after;
	const char *totals; /* file name or NULL */
	int devices;
	bool internal_driver_calls;
};

const struct gpu_config *gpu_config(void);

uint64_t gpu_now(void);
uint64_t gpu_cupti_time(uint64_t monotonic);
void gpu_sleep_until(uint64_t monotonic);

/* The calling thread's current device and context; the context is created when first needed. */
int gpu_set_device(int device);
int gpu_get_device(void);
struct fake_cuda_context *gpu_context(int device);
struct fake_cuda_context *gpu_current(void); /* may be NULL */
void gpu_set_current(struct fake_cuda_context *context);
uint32_t gpu_context_id(const struct fake_cuda_context *context);
int gpu_device_reset(void);

/*
 * A handle as the API takes it: NULL is the legacy default stream, or the thread's own with
 * `per_thread`; 1 and 2 are the two by name. NULL if there is no context or the handle is stale.
 */
struct fake_cuda_stream *gpu_stream(struct fake_cuda_stream *handle, bool per_thread);
int gpu_stream_create(struct fake_cuda_stream **stream, unsigned int flags);
int gpu_stream_destroy(struct fake_cuda_stream *stream);
int gpu_stream_synchronize(struct fake_cuda_stream *handle);
int gpu_stream_end(struct fake_cuda_stream *handle, uint64_t *end);
int gpu_device_synchronize(void);
/* The stream's capture in progress: what launches add to instead of running. */
struct fake_cuda_graph **gpu_stream_capture(struct fake_cuda_stream *stream);
bool gpu_stream_is_legacy(const struct fake_cuda_stream *stream);

/* Put a kernel on a stream; fills `kernel` but for its correlation and graph ids. */
void gpu_enqueue(struct fake_cuda_stream *stream, const struct gpu_launch *launch,
		 struct fake_cuda_kernel *kernel);

/* Count an accepted launch call; ends the process if the environment asks for that here. */
void gpu_count_launch(void);
void gpu_counts(uint64_t *launches, uint64_t *kernels);
void gpu_register_function(struct fake_cuda_function *function);
/*
 * Bring the functions' totals up to now and hold them still until gpu_totals_end. Returns the list
 * of all functions; `pending` is the number of kernels that have not ended.
 */
const struct fake_cuda_function *gpu_totals_begin(uint64_t *pending);
void gpu_totals_end(void);
/* Append the totals to the file of FAKE_CUDA_TOTALS, once. */
void gpu_write_totals(void);

#endif
