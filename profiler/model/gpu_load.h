/* SPDX-License-Identifier: MIT */
/*
 * Tracks the busy time and allocated memory of each device during a run, and the time in launch
 * calls.
 *
 * Only --live shows these numbers.
 *
 * A device is busy while at least one operation runs on it. So busy time is the union of the
 * operations' times: concurrent streams count once. Operations arrive roughly in order of their
 * ends. The union is exact unless an operation overlaps more than the GPU_LOAD_SPANS newest busy
 * spans; time before those never counts again.
 *
 * Devices are identified by devices_key(). Times are CLOCK_MONOTONIC in ns. Bounded by
 * GPU_LOAD_DEVICES and GPU_LOAD_OWNERS: excess work and memory is not shown.
 */
#ifndef PROFILER_MODEL_GPU_LOAD_H
#define PROFILER_MODEL_GPU_LOAD_H

#include <stdint.h>

#define GPU_LOAD_DEVICES 16u
#define GPU_LOAD_SPANS 4096u
#define GPU_LOAD_OWNERS 1024u /* pairs of a process and a device with memory */
/* gpu_load_busy() knows the newest GPU_LOAD_BINS * GPU_LOAD_BIN_NS. */
#define GPU_LOAD_BIN_NS 125000000u
#define GPU_LOAD_BINS 64u

struct gpu_load_span {
	uint64_t start_ns, end_ns;
};

struct gpu_load_device {
	uint32_t key;
	uint64_t busy_ns; /* since the start of the run */
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

/* Zero-initialise: empty. */
struct gpu_load {
	struct gpu_load_device devices[GPU_LOAD_DEVICES];
	uint32_t count;
	struct gpu_load_owner *owners;
	uint32_t owner_count, owner_capacity;
	uint64_t launch_ns; /* in launch calls with recorded durations */
};

void gpu_load_release(struct gpu_load *load);

/* Adds an operation on the device. */
void gpu_load_run(struct gpu_load *load, uint32_t device, uint64_t start_ns, uint64_t duration_ns);

/*
 * Adds memory that a process allocated on the device, or subtracts freed memory (`bytes` below 0).
 */
void gpu_load_allocate(struct gpu_load *load, uint32_t process, uint32_t device, int64_t bytes);

/* Drops the memory of an ended process. */
void gpu_load_forget(struct gpu_load *load, uint32_t process);

/* Returns the busy time from `from_ns` to `until_ns`, both rounded down to bins. */
uint64_t gpu_load_busy(const struct gpu_load_device *device, uint64_t from_ns, uint64_t until_ns);

/* Returns the allocated memory of the device in bytes. */
uint64_t gpu_load_memory(const struct gpu_load *load, uint32_t device);

#endif
