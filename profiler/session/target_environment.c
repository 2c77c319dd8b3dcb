// SPDX-License-Identifier: MIT
#include "profiler/session/target_environment.h"

#include <stdint.h>
#include <stdio.h>
#include "cupti_trace/gpu_wire.h"

void target_environment_make(struct target_environment *e,
			     const struct target_environment_options *o)
{
	const struct {
		bool is_wanted;
		const char *variable;
	} switches[] = {
		{o->stacks, GPU_WIRE_STACKS_ENV "=1"},
		{o->python_lines, GPU_WIRE_PYTHON_LINES_ENV "=1"},
		{o->native_python, GPU_WIRE_NATIVE_PYTHON_ENV "=1"},
		{o->kernels_only, GPU_WIRE_KERNELS_ONLY_ENV "=1"},
		{o->whole_graphs, GPU_WIRE_GRAPHS_ENV "=1"},
		{o->devices, GPU_WIRE_DEVICES_ENV "=1"},
		{o->waits, GPU_WIRE_WAITS_ENV "=1"},
		{o->timeline, GPU_WIRE_TIMELINE_ENV "=1"},
		{o->nvtx, GPU_WIRE_NVTX_ENV "=1"},
		{o->verbose, GPU_WIRE_VERBOSE_ENV "=1"},
	};
	uint32_t n = 0;

	_Static_assert(sizeof(switches) / sizeof(switches[0]) + 4 <= TARGET_ENVIRONMENT_MAX,
		       "room for all, and the end");
	snprintf(e->library, sizeof(e->library), TARGET_ENVIRONMENT_CUDA "=%s", o->library);
	snprintf(e->pipe, sizeof(e->pipe), GPU_WIRE_PIPE_ENV "=%s", o->pipe);
	snprintf(e->nvtx, sizeof(e->nvtx), TARGET_ENVIRONMENT_NVTX "=%s", o->library);
	e->variables[n++] = e->library;
	e->variables[n++] = e->pipe;
	if (o->nvtx)
		e->variables[n++] = e->nvtx;
	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
		if (switches[i].is_wanted)
			e->variables[n++] = switches[i].variable;
	e->variables[n] = NULL;
}
