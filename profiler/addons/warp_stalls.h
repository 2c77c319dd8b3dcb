/* SPDX-License-Identifier: MIT */
/*
 * Assigns stalls by page faults of unified memory to the kernels that they held up. No I/O, no
 * clock, no names.
 *
 * While a GPU's page faults are served, the faulting threads stand still inside kernels, which go
 * on. The kernels' durations include this time. So it is a stall of these kernels, and no work
 * besides them. CUPTI reports stalls as intervals of a device, without the kernel.
 *
 * The input, in any order: stalls, which are intervals of a process's device, and kernels that have
 * ended. The output: pieces of each stall that add up to it exactly, each with the kernel that ran
 * then, or without one. Among concurrent kernels, the piece belongs to the first that began: CUPTI
 * does not report which one faulted.
 *
 * Kernels are reported after their end, before or after their stalls. So both are kept, and are
 * compared when many are new, and at the end of the run. Memory is bounded: the last
 * WARP_STALLS_KERNELS kernels and WARP_STALLS_PENDING stalls over all processes, 29 MiB. Beyond
 * that, the oldest stalls are decided by the kernels known so far. Time is bounded by
 * WARP_STALLS_STEPS comparisons for each one kept. Pieces of unknown kernels have none.
 */
#ifndef PROFILER_ADDONS_WARP_STALLS_H
#define PROFILER_ADDONS_WARP_STALLS_H

#include <stdint.h>
#include "profiler/base/quota.h"
#include "profiler/model/gpu_stack.h"
#include "profiler/model/id_remap.h"

#define WARP_STALLS_KERNELS (1u << 18)
#define WARP_STALLS_PENDING (1u << 17)
#define WARP_STALLS_STEPS 64u

/*
 * An interval on a device, selected by `process` and `device`. The origin is only passed through.
 */
struct warp_stalls_kernel {
	uint64_t start_ns, end_ns;
	uint32_t process, device;
	struct gpu_work_origin origin;
};

struct warp_stalls_stall {
	uint64_t start_ns, end_ns;
	uint32_t process, device;
	struct place_id place; /* only passed through */
};

/* Receives a piece. `origin` is NULL if the kernel is unknown. `ns` is not 0. */
struct warp_stalls_output {
	void (*piece)(void *context, const struct warp_stalls_stall *stall,
		      const struct gpu_work_origin *origin, uint64_t ns);
	void *context;
};

struct warp_stalls;

/* Returns NULL if out of memory. */
struct warp_stalls *warp_stalls_new(const struct warp_stalls_output *output);
/* Sets the quota; borrowed, may be NULL. When it is exhausted, fewer are kept. */
void warp_stalls_limit(struct warp_stalls *s, struct quota *memory);
void warp_stalls_free(struct warp_stalls *s);

/*
 * Add an interval; an empty one is ignored. Return 0 or -ENOMEM: then the kernel is lost, but the
 * stall is output without one.
 */
int warp_stalls_add_kernel(struct warp_stalls *s, const struct warp_stalls_kernel *kernel);
int warp_stalls_add(struct warp_stalls *s, const struct warp_stalls_stall *stall);

/* Visits the ids in use. */
void warp_stalls_visit(struct warp_stalls *s, const struct id_visitor *visitor);

/* Outputs all remaining stalls, at the end of the input. */
void warp_stalls_finish(struct warp_stalls *s);

/* Sets other limits, at least 4 and 2, before any input. For tests. */
void warp_stalls_remember(struct warp_stalls *s, uint32_t kernels, uint32_t pending);

#endif
