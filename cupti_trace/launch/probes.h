/* SPDX-License-Identifier: MIT */
/*
 * Declares the library's USDT probes, for tracers: provider "cuda". docs/probes.md describes them
 * for users.
 *
 * The kernel counts the tracers of each probe in its semaphore. The library polls these a few times
 * a second and subscribes to CUPTI accordingly (call_probes.h, flusher.c). So a launch pays nothing
 * for untraced probes. Events that are reported for other reasons cost one load and a branch.
 *
 * Times are CLOCK_MONOTONIC in ns, which is the clock of BPF programs, too. Strings are never NULL
 * and end with a zero; they live at least until the probe has fired. Any thread; no locks, no
 * system calls.
 */
#ifndef CUPTI_TRACE_LAUNCH_PROBES_H
#define CUPTI_TRACE_LAUNCH_PROBES_H

#include <stdbool.h>
#include <stdint.h>

/* X(name, number of arguments), six at most: bpftrace has no more. */
#define PROBES(X)         \
	X(launch, 6)      \
	X(kernel_done, 6) \
	X(memcpy, 3)      \
	X(memcpy_done, 6) \
	X(memset_done, 6) \
	X(malloc, 5)      \
	X(free, 4)        \
	X(sync, 5)        \
	X(api_error, 3)   \
	X(notice, 1)

enum probe {
#define X(name, count) PROBE_##name,
	PROBES(X)
#undef X
		PROBE_COUNT
};
#define PROBE_BIT(name) (1u << PROBE_##name)

/* Probes of calls: they fire in the thread that makes the call. */
#define PROBES_OF_CALLS                                                                \
	(PROBE_BIT(launch) | PROBE_BIT(memcpy) | PROBE_BIT(malloc) | PROBE_BIT(free) | \
	 PROBE_BIT(sync) | PROBE_BIT(api_error))
/* Probes of finished GPU work: they fire when its record is read, in any thread. */
#define PROBES_OF_WORK (PROBE_BIT(kernel_done) | PROBE_BIT(memcpy_done) | PROBE_BIT(memset_done))

extern volatile uint16_t probe_semaphores[PROBE_COUNT];

static inline bool probe_is_on(enum probe probe)
{
	return __builtin_expect(probe_semaphores[probe] != 0, 0);
}

/* Returns the bits of traced probes. */
uint32_t probes_on(void);

/*
 * Fires a probe with its values, as many as PROBES has. `frame`: see USDT_PROBE; NULL: the stack
 * from here on.
 */
#define X(name, count) \
	void probe_fire_##name(const uint64_t values[static count], const void *frame);
PROBES(X)
#undef X

/*
 * Packs the extent of a grid or block: x in the lower 32 bits, y and z in 16 bits each. All that
 * CUDA accepts fits (x to 2^31 - 1, y and z to 65535); larger values are saturated.
 */
static inline uint64_t probe_extent(const uint32_t extent[3])
{
	uint64_t y = extent[1] < UINT16_MAX ? extent[1] : UINT16_MAX;
	uint64_t z = extent[2] < UINT16_MAX ? extent[2] : UINT16_MAX;

	return extent[0] | y << 32 | z << 48;
}

/* Converts a string to a value. */
static inline uint64_t probe_text(const char *text)
{
	return (uint64_t)(uintptr_t)(text ? text : "");
}

#endif
