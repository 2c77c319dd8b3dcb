// SPDX-License-Identifier: MIT
#include "cupti_trace/launch/probes.h"

#include "cupti_trace/launch/usdt.h"

/* Written by the kernel. In the file's data: see usdt.h. */
__attribute__((section(".probes"))) volatile uint16_t probe_semaphores[PROBE_COUNT];

uint32_t probes_on(void)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i < PROBE_COUNT; i++)
		if (probe_semaphores[i])
			bits |= 1u << i;
	return bits;
}

/*
 * Each probe fires in a function of its own: tracers show its name, and there is one place to
 * attach to.
 */
#define X(name, count)                                                                       \
	USDT_FUNCTION void probe_fire_##name(const uint64_t values[static count],            \
					     const void *frame)                              \
	{                                                                                    \
		USDT_PROBE("cuda", name, probe_semaphores,                                   \
			   PROBE_##name * sizeof(probe_semaphores[0]), USDT_##count, values, \
			   (uint64_t)(uintptr_t)frame);                                      \
	}
PROBES(X)
#undef X
