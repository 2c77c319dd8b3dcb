// SPDX-License-Identifier: MIT
#include "profiler/cpu/recording_windows.h"

#include <errno.h>
#include <stdlib.h>

struct recording_window {
	uint64_t from_ns;
	uint32_t represents;
};

int recording_windows_add(struct recording_windows *w, const struct gpu_event_window *e)
{
	if (!w->ring)
		w->ring = calloc(RECORDING_WINDOWS_MAX, sizeof(*w->ring));
	if (!w->ring)
		return -ENOMEM;
	w->ring[w->count++ % RECORDING_WINDOWS_MAX] =
		(struct recording_window){e->from_ns, e->represents};
	return 0;
}

uint32_t recording_windows_represents(const struct recording_windows *w, uint64_t time_ns)
{
	uint32_t kept = w->count < RECORDING_WINDOWS_MAX ? w->count : RECORDING_WINDOWS_MAX;

	for (uint32_t i = 1; i <= kept; i++) {
		const struct recording_window *window =
			&w->ring[(w->count - i) % RECORDING_WINDOWS_MAX];

		if (window->from_ns <= time_ns)
			return window->represents;
	}
	return 1;
}

void recording_windows_release(struct recording_windows *w)
{
	free(w->ring);
	*w = (struct recording_windows){0};
}
