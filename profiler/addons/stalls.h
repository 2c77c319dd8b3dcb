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
 * compared when many are new and at the end of the run. Memory is bounded: the last STALLS_KERNELS
 * kernels and STALLS_PENDING stalls over all processes, 29 MiB. Beyond that the oldest stalls are
 * decided with what is known; time is bounded by STALLS_STEPS comparisons for each one kept. Pieces
 * whose kernel is not known have none.
 */
#ifndef PROFILER_ADDONS_STALLS_H
#define PROFILER_ADDONS_STALLS_H

#include <stdint.h>
#include "profiler/base/allowance.h"
#include "profiler/model/compose.h"
#include "profiler/model/numbers.h"

#define STALLS_KERNELS (1u << 18)
#define STALLS_PENDING (1u << 17)
#define STALLS_STEPS 64u

/* An interval on a device; `process` and `device` select, the origin is only passed through. */
struct stalls_kernel {
	uint64_t start_ns, end_ns;
	uint32_t process, device;
	struct gpu_work_origin origin;
};

struct stalls_stall {
	uint64_t start_ns, end_ns;
	uint32_t process, device;
	struct place_id place; /* only passed through */
};

/* Receives the pieces; `origin` is NULL if no kernel is known. `ns` is not 0. */
struct stalls_output {
	void (*piece)(void *context, const struct stalls_stall *stall,
		      const struct gpu_work_origin *origin, uint64_t ns);
	void *context;
};

struct stalls;

/* `memory`: what is kept is taken from it; borrowed, may be NULL. Beyond it, less is kept. */
struct stalls *stalls_new(const struct stalls_output *output);
void stalls_limit(struct stalls *s, struct allowance *memory);
void stalls_free(struct stalls *s);

/*
 * Intervals that do not end after their start are ignored. 0 or -ENOMEM: then the kernel is lost,
 * but the stall is output without one.
 */
int stalls_add_kernel(struct stalls *s, const struct stalls_kernel *kernel);
int stalls_add(struct stalls *s, const struct stalls_stall *stall);

/* Shows the numbers in use. */
void stalls_visit(struct stalls *s, const struct number_visitor *visitor);

/* The input has ended: outputs all that is left. */
void stalls_finish(struct stalls *s);

/* For tests: other limits, at least 4 and 2, before any input. */
void stalls_remember(struct stalls *s, uint32_t kernels, uint32_t pending);

#endif
