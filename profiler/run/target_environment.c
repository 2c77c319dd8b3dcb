// SPDX-License-Identifier: MIT
#include "profiler/run/target_environment.h"

#include <stdint.h>
#include <stdio.h>
#include "cupti_trace/wire/gpu_wire.h"
#include "cupti_trace/wire/trace_config.h"

_Static_assert(sizeof(MEASURE_RANGES_SEPARATOR) == sizeof(GPU_WIRE_RANGES_SEPARATOR),
	       "the library gets names as the options have them");

void target_environment_make(struct target_environment *e,
			     const struct target_environment_options *o)
{
	const struct measure *m = &o->measure;
	char launches[16], config[TARGET_CONFIG_BYTES];
	uint32_t n = 0;

	snprintf(launches, sizeof(launches), "%u", o->counters.launches);
	trace_config_encode(
		&(struct trace_config){
			.stacks = !m->probes_launches,
			.timeline = o->timeline,
			.waits = m->waits,
			.waited = m->launch_shapes || o->waited,
			.api = m->api,
			.memory = m->memory,
			.errors = m->errors,
			.kernels_only = m->kernels_only,
			.unified_memory = m->unified_memory,
			.whole_graphs = m->whole_graphs,
			.device_graphs = m->device_graphs,
			.devices = m->devices,
			.nvtx = m->nvtx,
			.ops = m->ops,
			.modules = m->modules,
			.python_lines = m->python_lines,
			.native_python = m->native_python,
			.exact_stalls = m->exact_stalls,
			.verbose = o->verbose,
			.max_overhead = m->max_overhead,
			.budget = m->budget,
			.stall_period = m->stall_period,
			.ranges = m->ranges,
			.metrics = m->counters ? o->counters.metrics : NULL,
			.metrics_kernels = m->counters ? o->counters.kernels : NULL,
			.metrics_launches = m->counters ? launches : NULL,
		},
		config, sizeof(config));
	snprintf(e->library, sizeof(e->library), TARGET_ENVIRONMENT_CUDA "=%s", o->library);
	snprintf(e->pipe, sizeof(e->pipe), GPU_WIRE_PIPE_ENV "=%s", o->pipe);
	snprintf(e->config, sizeof(e->config), TRACE_CONFIG_ENV "=%s", config);
	snprintf(e->nvtx, sizeof(e->nvtx), TARGET_ENVIRONMENT_NVTX "=%s", o->library);
	e->variables[n++] = e->library;
	e->variables[n++] = e->pipe;
	e->variables[n++] = e->config;
	if (m->nvtx || (m->ranges && !o->leaves_nvtx))
		e->variables[n++] = e->nvtx;
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
