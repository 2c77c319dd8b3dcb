// SPDX-License-Identifier: MIT
/* The part of collect that has to do with timed calls of CUDA. */
#include <errno.h>
#include "profiler/collect/stack_builder.h"

static void add_call(struct collect *c, const struct open_call *call, uint64_t end_ns)
{
	uint64_t ns = end_ns > call->start_ns ? end_ns - call->start_ns : 0;
	struct profile_key key = {.stack = call->stack,
				  .capture = call->kernel,
				  .group = call->group,
				  .work = PROFILE_CALL};

	c->stats.calls += !call->taken_ns; /* else it has been counted */
	c->stats.call_ns += ns;
	if (profile_add_work(c->profile, &key, ns, 0) != 0)
		c->stats.out_of_memory++;
}

static uint32_t group_of(struct collect *c, const struct stack_event *event)
{
	return by_group(&c->by, &(struct by_place){.pid = event->pid, .tid = event->tid});
}

/* The kernel's function on the host, as a stack of one frame: it is named when all else is. */
static uint32_t kernel_of(struct collect *c, const struct stack_snapshot *snapshot, int reg)
{
	struct stack_builder b = {.count = 0};
	struct code_ref code;
	uint32_t stack;

	if (reg < 0)
		return PROFILE_NO_CAPTURE;
	code = symbolizer_locate(c->symbolizer, (pid_t)snapshot->event.pid,
				 snapshot->registers[reg]);
	if (code.module <= MODULE_JIT)
		return PROFILE_NO_CAPTURE;
	stack_builder_code(&b, code, false);
	return stack_table_add(c->stacks, b.frames, b.count, &stack) == 0 ? stack
									  : PROFILE_NO_CAPTURE;
}

void collect_call(struct collect *c, const struct stack_snapshot *snapshot, const char *function,
		  int kernel_register)
{
	const struct stack_event *event = &snapshot->event;
	struct stack_builder b = {.count = 0};
	struct open_call call = {.start_ns = event->time_ns,
				 .pid = event->pid,
				 .tid = event->tid,
				 .group = group_of(c, event),
				 .kernel = kernel_of(c, snapshot, kernel_register)};
	bool lost = false;
	int err;

	if (event->kernel_frames || snapshot->stack_bytes > STACK_CALL_BYTES)
		return;
	if (!stack_builder_snapshot(&b, c, snapshot))
		stack_builder_cut(&b, c);
	/* the innermost is the function itself, whatever symbols its file has */
	stack_builder_name(&b, function);
	err = stack_table_add(c->stacks, b.frames, b.count, &call.stack);
	if (!err)
		err = open_calls_enter(&c->open_calls, &call, &lost);
	c->stats.replaced_calls += lost;
	c->stats.out_of_memory += err != 0;
}

void collect_call_end(struct collect *c, const struct stack_event *event, uint64_t start_ns,
		      const char *function)
{
	struct open_call call = {
		.start_ns = start_ns, .pid = event->pid, .kernel = PROFILE_NO_CAPTURE};
	struct stack_builder b = {.count = 0};

	if (!open_calls_leave(&c->open_calls, event->tid, start_ns, &call)) {
		/* its entry was dropped: the time counts, under the function alone */
		c->stats.calls_without_stack++;
		call.group = group_of(c, event);
		stack_builder_text(&b, function);
		if (stack_table_add(c->stacks, b.frames, b.count, &call.stack) != 0) {
			c->stats.out_of_memory++;
			return;
		}
	}
	add_call(c, &call, event->time_ns);
}

void collect_end_calls(struct collect *c, uint32_t pid, uint64_t now_ns)
{
	struct open_call call;
	uint32_t position = 0;

	while (open_calls_take(&c->open_calls, pid, now_ns, &position, &call)) {
		c->stats.unfinished_calls++;
		add_call(c, &call, now_ns);
	}
}
