// SPDX-License-Identifier: MIT
#include "profiler/run/target_environment.h"

#include <stdint.h>
#include <stdio.h>
#include "cupti_trace/wire/gpu_wire.h"

static uint32_t add_counters(struct target_environment *e, uint32_t n,
			     const struct counter_request *c)
{
	snprintf(e->metrics, sizeof(e->metrics), GPU_WIRE_METRICS_ENV "=%s", c->metrics);
	snprintf(e->launches, sizeof(e->launches), GPU_WIRE_METRICS_LAUNCHES_ENV "=%u",
		 c->launches);
	e->variables[n++] = e->metrics;
	e->variables[n++] = e->launches;
	if (!c->kernels)
		return n;
	snprintf(e->kernels, sizeof(e->kernels), GPU_WIRE_METRICS_KERNELS_ENV "=%s", c->kernels);
	e->variables[n++] = e->kernels;
	return n;
}

_Static_assert(sizeof(MEASURE_RANGES_SEPARATOR) == sizeof(GPU_WIRE_RANGES_SEPARATOR),
	       "the library gets names as the options have them");

void target_environment_make(struct target_environment *e,
			     const struct target_environment_options *o)
{
	const struct measure *m = &o->measure;
	const struct {
		bool is_wanted;
		const char *variable;
	} switches[] = {
		{!m->probes_launches, GPU_WIRE_STACKS_ENV "=1"},
		{m->python_lines, GPU_WIRE_PYTHON_LINES_ENV "=1"},
		{m->native_python, GPU_WIRE_NATIVE_PYTHON_ENV "=1"},
		{m->kernels_only, GPU_WIRE_KERNELS_ONLY_ENV "=1"},
		{m->unified_memory, GPU_WIRE_UNIFIED_MEMORY_ENV "=1"},
		{m->whole_graphs, GPU_WIRE_GRAPHS_ENV "=1"},
		{m->device_graphs, GPU_WIRE_DEVICE_GRAPHS_ENV "=1"},
		{m->devices, GPU_WIRE_DEVICES_ENV "=1"},
		{m->errors, GPU_WIRE_ERRORS_ENV "=1"},
		{m->waits, GPU_WIRE_WAITS_ENV "=1"},
		{m->launch_shapes, GPU_WIRE_WAITED_ENV "=1"},
		{m->api, GPU_WIRE_CALLS_ENV "=1"},
		{m->memory, GPU_WIRE_MEMORY_ENV "=1"},
		{o->timeline, GPU_WIRE_TIMELINE_ENV "=1"},
		{m->exact_stalls, GPU_WIRE_EXACT_STALLS_ENV "=1"},
		{m->nvtx, GPU_WIRE_NVTX_ENV "=1"},
		{o->verbose, GPU_WIRE_VERBOSE_ENV "=1"},
	};
	uint32_t n = 0;

	_Static_assert(sizeof(switches) / sizeof(switches[0]) + 10 <= TARGET_ENVIRONMENT_MAX,
		       "room for all, and the end");
	snprintf(e->library, sizeof(e->library), TARGET_ENVIRONMENT_CUDA "=%s", o->library);
	snprintf(e->pipe, sizeof(e->pipe), GPU_WIRE_PIPE_ENV "=%s", o->pipe);
	snprintf(e->nvtx, sizeof(e->nvtx), TARGET_ENVIRONMENT_NVTX "=%s", o->library);
	snprintf(e->overhead, sizeof(e->overhead), GPU_WIRE_OVERHEAD_ENV "=%u", m->max_overhead);
	snprintf(e->stalls, sizeof(e->stalls), GPU_WIRE_STALLS_ENV "=%u", m->stall_period);
	e->variables[n++] = e->library;
	e->variables[n++] = e->pipe;
	if (m->ranges)
		snprintf(e->ranges, sizeof(e->ranges), GPU_WIRE_RANGES_ENV "=%s", m->ranges);
	if (m->nvtx || (m->ranges && !o->leaves_nvtx))
		e->variables[n++] = e->nvtx;
	if (m->ranges)
		e->variables[n++] = e->ranges;
	if (m->max_overhead)
		e->variables[n++] = e->overhead;
	if (m->stall_period)
		e->variables[n++] = e->stalls;
	if (m->counters)
		n = add_counters(e, n, &o->counters);
	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
		if (switches[i].is_wanted)
			e->variables[n++] = switches[i].variable;
	e->variables[n] = NULL;
}

bool target_environment_text(const struct target_environment *e, char *text, size_t size)
{
	size_t used = 0;

	for (const char *const *v = e->variables; *v; v++) {
		int n = snprintf(text + used, size - used, "%s\n", *v);

		if (n < 0 || (size_t)n >= size - used)
			return false;
		used += (size_t)n;
	}
	return true;
}
