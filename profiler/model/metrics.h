/* SPDX-License-Identifier: MIT */
/*
 * Counts a run's GPU work by process, device and kernel, with distributions, as records arrive: for
 * --prometheus.
 *
 * Each record is counted exactly, in one entry. The number of entries is limited, because a
 * monitoring system keeps each for years. The first METRICS_KERNELS kernels of a process and
 * device, and the first METRICS_PROCESSES processes, have their own entries. Later ones count for
 * METRICS_OTHER. Labels are demangled, clean (text.h) and at most METRICS_LABEL_BYTES long. A
 * longer name is cut and ends with a hash of the whole. Kernels with equal labels share an entry.
 *
 * Times in ns, sizes in bytes. Sums stop at UINT64_MAX. Memory: less than 1 MiB.
 */
#ifndef PROFILER_MODEL_METRICS_H
#define PROFILER_MODEL_METRICS_H

#include <stdint.h>
#include <sys/types.h>
#include "cupti_trace/wire/gpu_event.h"
#include "symbolize/demangle.h"
#include "symbolize/util/intern.h"

#define METRICS_PROCESSES 64u
#define METRICS_IDS 256u
#define METRICS_KERNELS 200u
#define METRICS_WORKS 1000u
#define METRICS_ERRORS 100u
#define METRICS_LABEL_BYTES 200u
#define METRICS_OTHER "[other]"
#define METRICS_NO_DEVICE UINT32_MAX /* shared entries of the rest */

/* Upper bounds, inclusive. Values above the last one are only in the histogram's count. */
#define METRICS_BOUNDS_MAX 13
struct metrics_bounds {
	uint32_t count;
	uint64_t at[METRICS_BOUNDS_MAX];
};
extern const struct metrics_bounds metrics_durations, metrics_blocks, metrics_threads,
	metrics_sizes;

struct metrics_histogram {
	uint64_t count, sum;
	uint64_t in[METRICS_BOUNDS_MAX]; /* above the previous bound, up to this one */
};

struct metrics_process {
	pid_t pid;        /* 0: METRICS_OTHER */
	const char *name; /* program name; "" if unknown */
	uint64_t launches;
};

struct metrics_kernel {
	uint32_t process, device; /* `process` is an index in the list */
	const char *name;
	struct metrics_histogram durations; /* kernels with known times */
	struct metrics_histogram blocks;    /* blocks in the grid, all kernels */
	struct metrics_histogram threads;   /* threads in a block */
	uint64_t untimed;
};

/* Work of one kind, except kernels. */
struct metrics_work {
	uint32_t process, device, work;
	uint64_t ns; /* work with known times */
	struct metrics_histogram sizes;
};

struct metrics_error {
	uint32_t process, code;
	const char *function;
	uint64_t count;
};

struct metrics {
	struct intern labels;
	struct demangler *demangler;
	struct metrics_process processes[METRICS_PROCESSES + 1]; /* the first is METRICS_OTHER */
	struct metrics_kernel kernels[METRICS_KERNELS + METRICS_PROCESSES + 2];
	struct metrics_work works[METRICS_WORKS + GPU_WORKS];
	struct metrics_error errors[METRICS_ERRORS + 1];
	uint32_t process_count, kernel_count, work_count, error_count;
	/* indexes of processes by their ids: programs with one name and pid share an entry */
	struct {
		uint32_t id, at;
	} ids[METRICS_IDS];
	uint32_t id_count, last_id; /* `last_id`: index in `ids` */
	uint64_t other_kernels;     /* launches of kernels without an entry of their own */
	struct metrics_known {
		uint32_t process, device;
		const char *kernel; /* pointer as passed in */
		uint32_t at;
	} known[METRICS_KERNELS];
	uint32_t known_count;
	struct hash_index index; /* index of `known` */
};

/* Returns NULL if out of memory. */
struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);

/*
 * Introduces a process with an id from 1 on, before its other events. `path`: its program; may be
 * "".
 */
void metrics_process(struct metrics *m, uint32_t id, pid_t pid, const char *path);

/* Counts a launch of any kind of work. */
void metrics_launch(struct metrics *m, uint32_t process);

/*
 * Count an operation or error. `name`: the mangled name, at one address while `m` is in use, or
 * NULL.
 */
void metrics_kernel(struct metrics *m, uint32_t process, const struct gpu_event_kernel *kernel,
		    const char *name);
void metrics_work(struct metrics *m, uint32_t process, const struct gpu_event_work *work);
void metrics_error(struct metrics *m, uint32_t process, const struct gpu_event_error *error);

#endif
