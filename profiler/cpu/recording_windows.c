// SPDX-License-Identifier: MIT
#include "profiler/cpu/recording_windows.h"

void recording_windows_add(struct recording_windows *w, const struct gpu_event_window *e)
{
	uint32_t at = w->count++ % RECORDING_WINDOWS_MAX;

	w->list[at].from_ns = e->from_ns;
	w->list[at].represents = e->represents;
}

uint32_t recording_windows_represents(const struct recording_windows *w, uint64_t time_ns)
{
	uint32_t kept = w->count < RECORDING_WINDOWS_MAX ? w->count : RECORDING_WINDOWS_MAX;

	for (uint32_t i = 1; i <= kept; i++) {
		uint32_t at = (w->count - i) % RECORDING_WINDOWS_MAX;

		if (w->list[at].from_ns <= time_ns)
			return w->list[at].represents;
	}
	return 1;
}
