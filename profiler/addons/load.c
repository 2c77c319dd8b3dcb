// SPDX-License-Identifier: MIT
#include "profiler/addons/load.h"

#include <stdlib.h>
#include "cupti_trace/wire/gpu_work.h"
#include "profiler/model/gpu_load.h"
#include "symbolize/util/saturate.h"

struct load {
	const struct addon_parts *parts;
	struct gpu_load load;
};

static bool is_wanted(const struct addon_parts *parts)
{
	return parts->watches_load;
}

static void *begin(const struct addon_parts *parts)
{
	struct load *l = calloc(1, sizeof(*l));

	if (l)
		l->parts = parts;
	return l;
}

static void release(void *addon)
{
	struct load *l = addon;

	gpu_load_release(&l->load);
	free(l);
}

/* Adds allocations and releases of device memory. */
static void take_memory(struct load *l, uint32_t process, const struct gpu_event_work *e)
{
	int64_t bytes = e->bytes > INT64_MAX ? INT64_MAX : (int64_t)e->bytes;

	if (gpu_memory_is_device(e->destination_memory) && gpu_work_is_memory_call(e->work))
		gpu_load_allocate(&l->load, process,
				  devices_key(l->parts->devices, process, e->device_id),
				  e->work == GPU_WORK_ALLOC ? bytes : -bytes);
}

static int take_event(void *addon, uint32_t process, const struct gpu_event *event,
		      const char *kernel)
{
	struct load *l = addon;

	(void)kernel;
	if (event->type == GPU_EVENT_LAUNCH_END)
		saturated_add(&l->load.launch_ns, event->launch_end.duration_ns);
	else if (event->type == GPU_EVENT_WORK)
		take_memory(l, process, &event->work);
	return 0;
}

static void take_operation(void *addon, const struct addon_operation *operation)
{
	const struct gpu_operation *o = operation->operation;
	struct load *l = addon;

	if (!o->bad_time)
		gpu_load_run(&l->load, devices_key(l->parts->devices, o->process, o->device),
			     o->start_ns, o->duration_ns);
}

static void end_process(void *addon, uint32_t process)
{
	struct load *l = addon;

	gpu_load_forget(&l->load, process);
}

static void show(void *addon, struct collected *collected)
{
	const struct load *l = addon;

	collected->load = &l->load;
}

const struct addon addon_load = {
	.is_wanted = is_wanted,
	.begin = begin,
	.release = release,
	.event = take_event,
	.operation = take_operation,
	.end_process = end_process,
	.show = show,
};
