/* SPDX-License-Identifier: MIT */
/*
 * The kernels that page faults held up (unified memory). Pure: no I/O, no clock, no names.
 *
 * While a GPU's page faults are served, the threads that caused them stand still inside kernels
 * that go on: their durations have the time already. So it is a stall of these kernels, and no
 * work besides them. CUPTI reports it as intervals of a device, without the kernel.
 *
 * The input, in any order: stalls, each an interval of a process's device, and kernels that have
 * ended. The output: each stall in pieces that add up to it exactly, each with the kernel that ran
 * then, or without one. Of several kernels that ran at once the piece belongs to the one that began
 * first: CUPTI does not say which one faulted.
 *
 * Kernels are reported when they have ended, before or after their stalls. So both are kept, and
 * compared when many are new and at the end of the run. Memory is bounded: the last
 * WARP_STALLS_KERNELS kernels and WARP_STALLS_PENDING stalls over all processes, 29 MiB. Beyond
 * that the oldest stalls are decided with what is known; time is bounded by WARP_STALLS_STEPS
 * comparisons for each one kept. Pieces whose kernel is not known have none.
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

/* An interval on a device; `process` and `device` select, the origin is only passed through. */
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

/* Receives the pieces; `origin` is NULL if no kernel is known. `ns` is not 0. */
struct warp_stalls_output {
	void (*piece)(void *context, const struct warp_stalls_stall *stall,
		      const struct gpu_work_origin *origin, uint64_t ns);
	void *context;
};

struct warp_stalls;

/* `memory`: what is kept is taken from it; borrowed, may be NULL. Beyond it, less is kept. */
struct warp_stalls *warp_stalls_new(const struct warp_stalls_output *output);
void warp_stalls_limit(struct warp_stalls *s, struct quota *memory);
void warp_stalls_free(struct warp_stalls *s);

/*
 * Intervals that do not end after their start are ignored. 0 or -ENOMEM: then the kernel is lost,
 * but the stall is output without one.
 */
int warp_stalls_add_kernel(struct warp_stalls *s, const struct warp_stalls_kernel *kernel);
int warp_stalls_add(struct warp_stalls *s, const struct warp_stalls_stall *stall);

/* Shows the numbers in use. */
void warp_stalls_visit(struct warp_stalls *s, const struct id_visitor *visitor);

/* The input has ended: outputs all that is left. */
void warp_stalls_finish(struct warp_stalls *s);

/* For tests: other limits, at least 4 and 2, before any input. */
void warp_stalls_remember(struct warp_stalls *s, uint32_t kernels, uint32_t pending);

#endif
