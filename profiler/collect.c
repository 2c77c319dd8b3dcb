// SPDX-License-Identifier: MIT
#include "profiler/collect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/launch_functions.h"

#define PID_LIMIT (1u << 22) /* the kernel's PID_MAX_LIMIT */
#define TRUNCATED_FRAME "[truncated]"

static void attribute(void *context, uint32_t stack, const struct gpu_operation *operation)
{
	struct collect *c = context;

	if (profile_add_kernel(c->profile, stack, operation->name, operation->duration_ns) != 0)
		c->stats.out_of_memory++;
}

int collect_init(struct collect *c)
{
	struct correlate_output output = {.attribute = attribute, .context = c};

	memset(c, 0, sizeof(*c));
	c->symbolizer = symbolizer_new();
	c->stacks = stack_table_new();
	c->profile = profile_new();
	c->correlate = correlate_new(&output);
	c->tracked = calloc(PID_LIMIT / 8, 1);
	if (c->symbolizer && c->stacks && c->profile && c->correlate && c->tracked)
		return 0;
	collect_release(c);
	return -ENOMEM;
}

void collect_release(struct collect *c)
{
	symbolizer_free(c->symbolizer);
	stack_table_free(c->stacks);
	profile_free(c->profile);
	correlate_free(c->correlate);
	intern_release(&c->strings);
	free(c->tracked);
	memset(c, 0, sizeof(*c));
}

static bool is_tracked(const struct collect *c, uint32_t pid)
{
	return pid < PID_LIMIT && (c->tracked[pid / 8] & (1u << pid % 8));
}

static void set_tracked(struct collect *c, uint32_t pid, bool tracked)
{
	if (pid >= PID_LIMIT)
		return;
	if (tracked)
		c->tracked[pid / 8] |= (uint8_t)(1u << pid % 8);
	else
		c->tracked[pid / 8] &= (uint8_t) ~(1u << pid % 8);
}

void collect_set_root(struct collect *c, pid_t pid)
{
	c->root = (uint32_t)pid;
	c->root_runs = false;
	set_tracked(c, c->root, true);
}

/* ---- address spaces ---- */

static void on_fork(struct collect *c, const struct process_event *event)
{
	if (is_tracked(c, (uint32_t)event->parent)) {
		set_tracked(c, (uint32_t)event->pid, true);
		symbolizer_fork(c->symbolizer, event->parent, event->pid);
	} else if (is_tracked(c, (uint32_t)event->pid)) {
		/* its number went to a process that is none of ours */
		set_tracked(c, (uint32_t)event->pid, false);
		symbolizer_exit(c->symbolizer, event->pid);
	}
}

bool collect_wants(const struct collect *c, const struct process_event *event)
{
	return is_tracked(c, (uint32_t)event->pid) ||
	       (event->type == PROCESS_FORK && is_tracked(c, (uint32_t)event->parent));
}

void collect_process_event(struct collect *c, const struct process_event *event)
{
	if (event->type == PROCESS_FORK) {
		on_fork(c, event);
		return;
	}
	if (!is_tracked(c, (uint32_t)event->pid))
		return;
	switch (event->type) {
	case PROCESS_EXEC:
		if ((uint32_t)event->pid == c->root)
			c->root_runs = true;
		symbolizer_exec(c->symbolizer, event->pid);
		break;
	case PROCESS_MAP:
		if (strstr(event->mapping.path, "/libcuda.so"))
			c->stats.driver_mapped = true;
		symbolizer_map(c->symbolizer, event->pid, &event->mapping);
		break;
	case PROCESS_EXIT:
		set_tracked(c, (uint32_t)event->pid, false);
		symbolizer_exit(c->symbolizer, event->pid);
		break;
	case PROCESS_FORK:
		break;
	}
}

/* ---- stacks ---- */

struct stack_builder {
	struct frame frames[2 * STACK_EVENT_MAX_FRAMES + 3];
	uint32_t count;
};

static void push_code(struct stack_builder *b, struct code_ref code, bool is_return)
{
	b->frames[b->count++] =
		(struct frame){.kind = is_return ? FRAME_RETURN : FRAME_CODE, .code = code};
}

static void push_text(struct stack_builder *b, const char *text)
{
	struct frame *frame = &b->frames[b->count++];

	memset(frame, 0, sizeof(*frame)); /* frames are compared as bytes */
	frame->kind = FRAME_TEXT;
	frame->text = text;
}

/* Innermost first: the kernel's frames, then the user's. */
static void build_sample(struct collect *c, struct stack_builder *b, const struct stack_event *e,
			 const __u64 *frames)
{
	for (uint32_t i = 0; i < e->kernel_frames; i++)
		push_code(b, symbolizer_locate_kernel(c->symbolizer, frames[e->user_frames + i]),
			  i > 0);
	for (uint32_t i = 0; i < e->user_frames; i++)
		push_code(b, symbolizer_locate(c->symbolizer, (pid_t)e->pid, frames[i]), i > 0);
}

/* The launch function by its own name, whatever symbols its file has, then its callers. */
static void build_launch(struct collect *c, struct stack_builder *b, const struct stack_event *e,
			 const __u64 *frames)
{
	uint32_t i = e->user_frames > 0 && frames[0] == 0 ? 1 : 0;

	push_text(b, launch_function_name(e->launch_function));
	for (i++; i < e->user_frames; i++)
		push_code(b, symbolizer_locate(c->symbolizer, (pid_t)e->pid, frames[i]), true);
}

void collect_stack(struct collect *c, const struct stack_event *event, const __u64 *frames)
{
	struct stack_builder b = {.count = 0};
	bool is_launch = event->kind == STACK_EVENT_LAUNCH;
	uint32_t stack;
	int err;

	if (event->user_frames > STACK_EVENT_MAX_FRAMES + 1 ||
	    event->kernel_frames > STACK_EVENT_MAX_FRAMES)
		return;
	if (event->pid == c->root && !c->root_runs)
		return; /* still our own code, on its way to exec */
	if (is_launch)
		build_launch(c, &b, event, frames);
	else
		build_sample(c, &b, event, frames);
	if (event->flags & STACK_EVENT_TRUNCATED) {
		c->stats.truncated++;
		push_text(&b, TRUNCATED_FRAME);
	}
	err = stack_table_add(c->stacks, b.frames, b.count, &stack);
	if (!err && is_launch) {
		bool driver = (event->launch_function & 0xff) >= LAUNCH_FIRST_DRIVER;

		err = correlate_probe(c->correlate, event->pid, event->tid, event->time_ns,
				      driver ? FAMILY_DRIVER : FAMILY_RUNTIME, stack);
	} else if (!err) {
		err = profile_add_sample(c->profile, stack);
		c->stats.cpu_samples += err == 0;
	}
	if (err)
		c->stats.out_of_memory++;
}

/* ---- the GPU side ---- */

void collect_gpu_event(struct collect *c, uint32_t pid, const struct gpu_event *event,
		       const char *kernel)
{
	int err = 0;

	if (event->type == GPU_EVENT_HELLO) {
		correlate_restart_process(c->correlate, pid);
	} else if (event->type == GPU_EVENT_LAUNCH) {
		const struct gpu_event_launch *e = &event->launch;

		err = correlate_launch(c->correlate, pid, e->tid, e->time_ns, e->correlation_id,
				       e->family == GPU_LAUNCH_DRIVER ? FAMILY_DRIVER
								      : FAMILY_RUNTIME,
				       e->flags & GPU_LAUNCH_IS_GRAPH);
	} else if (event->type == GPU_EVENT_KERNEL) {
		struct gpu_operation operation = {
			.correlation_id = event->kernel.correlation_id,
			.duration_ns = event->kernel.duration_ns,
			.name = kernel,
		};

		err = correlate_operation(c->correlate, pid, &operation);
	}
	if (err)
		c->stats.out_of_memory++;
}
