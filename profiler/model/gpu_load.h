/* SPDX-License-Identifier: MIT */
/*
 * How busy each device is, how much of its memory is allocated, and how long launch calls take,
 * while records come in: for --live. Nothing of it is in any output.
 *
 * A device is busy while at least one operation runs on it: the union of their times, so that work
 * on several streams at once counts once. Operations come roughly in order of their ends. The union
 * is exact as long as an operation overlaps no more than the GPU_LOAD_SPANS newest busy spans; what
 * lies before those is taken to be known.
 *
 * Devices have the keys of struct devices. Times are CLOCK_MONOTONIC in ns.
 * Bounded by GPU_LOAD_DEVICES and GPU_LOAD_OWNERS; work and memory beyond that are not shown.
 */
#ifndef PROFILER_MODEL_GPU_LOAD_H
#define PROFILER_MODEL_GPU_LOAD_H

#include <stdint.h>

#define GPU_LOAD_DEVICES 16u
#define GPU_LOAD_SPANS 4096u
#define GPU_LOAD_OWNERS 1024u /* processes that have memory on a device */
/* For gpu_load_busy: the newest GPU_LOAD_BINS * GPU_LOAD_BIN_NS are known. */
#define GPU_LOAD_BIN_NS 125000000u
#define GPU_LOAD_BINS 64u

struct gpu_load_span {
	uint64_t start_ns, end_ns;
};

struct gpu_load_device {
	uint32_t key;
	uint64_t busy_ns; /* since the run began */
	uint64_t floor_ns;
	struct gpu_load_span *spans; /* disjoint, in order of time */
	uint32_t count;
	struct {
		uint64_t number, ns;
	} bins[GPU_LOAD_BINS];
};

struct gpu_load_owner {
	uint32_t process, device;
	int64_t bytes;
};

/* Zero-initialised is empty. */
struct gpu_load {
	struct gpu_load_device devices[GPU_LOAD_DEVICES];
	uint32_t count;
	struct gpu_load_owner *owners;
	uint32_t owner_count, owner_capacity;
	uint64_t launch_ns; /* in launch calls, as far as their durations are recorded */
};

void gpu_load_release(struct gpu_load *load);

/* An operation ran on the device. */
void gpu_load_run(struct gpu_load *load, uint32_t device, uint64_t start_ns, uint64_t duration_ns);

/* A process allocated memory on the device, or freed it (below 0); it ends, and all is free. */
void gpu_load_allocate(struct gpu_load *load, uint32_t process, uint32_t device, int64_t bytes);
void gpu_load_forget(struct gpu_load *load, uint32_t process);

/* How long the device was busy from `from_ns` to `until_ns`, both rounded down to bins. */
uint64_t gpu_load_busy(const struct gpu_load_device *device, uint64_t from_ns, uint64_t until_ns);

/* Returns what is allocated on the device, in bytes. */
uint64_t gpu_load_memory(const struct gpu_load *load, uint32_t device);

#endif
