/* SPDX-License-Identifier: MIT */
/*
 * The virtual GPU: contexts, streams and their timelines, inside the fake driver.
 *
 * A kernel, a copy or a set on a stream starts at max(now + launch latency, end of the work before
 * it) and ends a duration later; both instants are known at once, so no thread simulates the GPU,
 * and waiting is a sleep until an instant. As on the real device, at most GPU_QUEUE_DEPTH kernels
 * wait on a stream (the launching thread sleeps while it is full), streams run concurrently, and
 * the legacy default stream waits for, and blocks, all streams that were not created as
 * non-blocking.
 *
 * Objects are never freed before the process ends, so stale handles are detected. One lock guards
 * all state; no callback runs with it held.
 */
#ifndef TESTS_FAKE_CUDA_FAKE_TIMELINE_H
#define TESTS_FAKE_CUDA_FAKE_TIMELINE_H

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

/* A rectangle of bytes; one row if height is 1. `from` is NULL for a set. */
struct gpu_bytes {
	void *to;
	const void *from;
	size_t to_pitch, from_pitch, width, height;
	unsigned int value_size; /* size of a set's elements */
};

/* Work of a stream or a graph node. */
struct gpu_work {
	struct fake_cuda_activity activity; /* except for the fields set by gpu_enqueue */
	uint64_t duration;
	struct fake_cuda_function *function; /* a kernel's */
	struct gpu_bytes bytes;              /* a copy's or a set's */
};

struct gpu_sum {
	uint64_t count, ns, bytes; /* ns in CUPTI's clock */
};

enum { GPU_COPY_KINDS = 11, GPU_MEMORY_OPERATIONS = 3 };

/* Sums over completed work, by CUPTI_ABI_MEMCPY_* and CUPTI_ABI_MEMORY_*. */
struct gpu_sums {
	struct gpu_sum copies[GPU_COPY_KINDS], sets, memory[GPU_MEMORY_OPERATIONS];
};

/* Sums of one stream, by enum fake_cuda_activity_type. */
struct gpu_stream_sums {
	uint32_t device_id, context_id, stream_id;
	struct gpu_sum sums[FAKE_CUDA_TIMELINE_TYPES];
};

/* Settings, read from the environment once (README.md lists the variables). */
struct gpu_config {
	uint64_t clock_offset;
	int64_t drift_ppm;
	uint64_t latency, launch;
	uint64_t context; /* creating one takes so long, half of it on a CPU */
	bool spins;       /* who waits for it computes */
	uint64_t default_duration;
	uint64_t copy_duration, copy_bytes_per_us;
	uint64_t kill_after, crash_after;
	const char *totals; /* file name or NULL */
	int devices;
	bool internal_driver_calls;
	bool reuse_node_ids;
	uint32_t body_correlation;  /* for records in bodies of conditional nodes */
	const char *memory_records; /* "create", "map" or NULL: see README.md */
};

const struct gpu_config *gpu_config(void);

uint64_t gpu_now(void);
uint64_t gpu_cupti_time(uint64_t monotonic);
/* Sets CUPTI's clock forward, or back; one thread at a time, 16 times. Not in NVIDIA's library. */
void fake_cuda_set_clock(int64_t ns);
void gpu_sleep_until(uint64_t monotonic);

/* The calling thread's current device and context; the context is created on first use. */
int gpu_set_device(int device);
int gpu_get_device(void);
struct fake_cuda_context *gpu_context(int device);
struct fake_cuda_context *gpu_current(void); /* may be NULL */
void gpu_set_current(struct fake_cuda_context *context);
uint32_t gpu_context_id(const struct fake_cuda_context *context);
struct fake_cuda_place gpu_place(const struct fake_cuda_context *context);
int gpu_device_reset(void);
/* Gives the current context access to another device's memory. */
int gpu_enable_peer(int device);
bool gpu_peer_enabled(int device, int of_device);

/*
 * A handle of the API: NULL is the legacy default stream, or the thread's own with `per_thread`; 1
 * and 2 name these two explicitly. NULL if there is no context or the handle is stale.
 */
struct fake_cuda_stream *gpu_stream(struct fake_cuda_stream *handle, bool per_thread);
int gpu_stream_create(struct fake_cuda_stream **stream, unsigned int flags);
int gpu_stream_destroy(struct fake_cuda_stream *stream);
int gpu_stream_synchronize(struct fake_cuda_stream *handle);
int gpu_stream_number(struct fake_cuda_context *context, struct fake_cuda_stream *stream,
		      uint32_t *number);
/* See struct fake_cuda_driver. */
void gpu_serialize(struct fake_cuda_context *context, bool on);
int gpu_stream_end(struct fake_cuda_stream *handle, uint64_t *end);
/* Waits until the device is idle. */
int gpu_device_idle(void);
/* The API call: refused during a capture in any mode (observed on an H100). */
int gpu_device_synchronize(void);
struct fake_cuda_context *gpu_stream_context(const struct fake_cuda_stream *stream);
uint32_t gpu_stream_id(const struct fake_cuda_stream *stream);
/* The stream's capture in progress: launches are added to it instead of running. */
struct fake_cuda_graph **gpu_stream_capture(struct fake_cuda_stream *stream);
bool gpu_stream_is_legacy(const struct fake_cuda_stream *stream);
/* A stream of the device that only the driver uses. */
struct fake_cuda_stream *gpu_internal_stream(int device);
/* Future work on the stream starts at `until` or later. */
int gpu_stream_wait_until(struct fake_cuda_stream *handle, uint64_t until);
/*
 * From now on `tell` is called with all work that goes onto a timeline, on the thread that launches
 * it, with no lock held; NULL: no more. Graph and correlation ids are not set. For programs that
 * must know when their work runs; not in NVIDIA's library. `tell` must not call CUDA.
 */
void fake_cuda_follow_work(void (*tell)(const struct fake_cuda_activity *work));
/* Future work on `stream` waits for the current work on `other`. */
void gpu_stream_wait(struct fake_cuda_stream *stream, struct fake_cuda_stream *other);

/* True if work that this thread adds follows the stream's last without a gap: nodes of a graph do.
 */
void gpu_follow(bool on);
/* Adds work to a stream; fills `activity` except for its correlation and graph ids. */
void gpu_enqueue(struct fake_cuda_stream *stream, const struct gpu_work *work,
		 struct fake_cuda_activity *activity);

/* Count an accepted launch call; ends the process here if the environment requests it. */
void gpu_count_launch(void);
void gpu_counts(uint64_t *launches, uint64_t *kernels);
/* Count an allocation or a release. */
void gpu_count_memory(uint32_t operation, uint64_t bytes);
void gpu_register_function(struct fake_cuda_function *function);
/*
 * Bring the functions' totals up to now and lock them until gpu_totals_end. Returns the list of all
 * functions; `pending` is the number of kernels that have not ended.
 */
const struct fake_cuda_function *gpu_totals_begin(uint64_t *pending);
/* In between: the other sums, and those of each stream in turn, false after the last. */
const struct gpu_sums *gpu_totals_sums(void);
bool gpu_totals_stream(struct fake_cuda_stream **at, struct gpu_stream_sums *sums);
void gpu_totals_end(void);
/* Append the totals to the file of FAKE_CUDA_TOTALS, once. */
void gpu_write_totals(void);

#endif
