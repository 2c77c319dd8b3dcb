// SPDX-License-Identifier: MIT
/* The part of collect that has to do with waits for the GPU. */
#include <errno.h>
#include <string.h>
#include "profiler/collect/collect.h"

static uint32_t no_stack(struct collect *c)
{
	const struct frame none = {0};
	uint32_t stack;

	return stack_table_add(c->stacks, &none, 0, &stack) == 0 ? stack : TARGET_STACKS_NONE;
}

/* A part of a wait goes into the profile, with what ran then. */
static void take_piece(void *context, const struct waits_wait *wait,
		       const struct waits_operation *operation, uint64_t ns)
{
	struct collect *c = context;
	struct profile_key key = {.stack = STACK_NONE,
				  .capture = PROFILE_NO_CAPTURE,
				  .group = wait->group,
				  .waiter = wait->stack + 1};

	if (operation) {
		key.stack = operation->stack;
		key.capture = operation->capture;
		key.work = operation->work;
		key.name = operation->name;
	}
	if (profile_add_work(c->profile, &key, ns, 0) != 0)
		c->stats.out_of_memory++;
}

int collect_follow_waits(struct collect *c)
{
	c->waits = waits_new(&(struct waits_output){take_piece, c});
	return c->waits ? 0 : -ENOMEM;
}

int collect_wait(struct collect *c, uint32_t pid, const struct gpu_event_wait *e)
{
	struct waits_wait wait = {.start_ns = e->start_ns,
				  .end_ns = e->start_ns + e->duration_ns,
				  .process = pid,
				  .has_stream = e->has_stream != 0,
				  .context = e->context_id,
				  .stream = e->stream_id};

	if (!c->waits)
		return 0; /* nobody asked */
	c->stats.waits++;
	c->stats.wait_ns += e->duration_ns;
	wait.stack = target_stacks_get(&c->target_stacks, pid, e->stack_id);
	if (wait.stack == TARGET_STACKS_NONE)
		wait.stack = no_stack(c);
	if (wait.stack == TARGET_STACKS_NONE)
		return -ENOMEM;
	/* now: the thread has a name while it lives */
	wait.group = by_group(&c->by, &(struct by_place){.pid = pid, .tid = e->tid});
	return waits_add(c->waits, &wait);
}

void collect_waited_for(struct collect *c, const struct profile_key *key,
			const struct gpu_operation *o)
{
	struct waits_operation operation;

	if (!c->waits || o->bad_time)
		return;
	operation = (struct waits_operation){.start_ns = o->start_ns,
					     .end_ns = o->start_ns + o->duration_ns,
					     .process = o->process,
					     .context = o->context,
					     .stream = o->stream,
					     .stack = key->stack,
					     .capture = key->capture,
					     .work = key->work,
					     .name = key->name};
	if (waits_add_operation(c->waits, &operation) != 0)
		c->stats.out_of_memory++;
}

void collect_advance(struct collect *c, uint64_t probes_until_ns)
{
	join_advance(c->join, probes_until_ns);
	if (c->waits)
		waits_advance(c->waits, probes_until_ns);
}

void collect_finish(struct collect *c, uint64_t now_ns)
{
	collect_end_calls(c, 0, now_ns);
	join_finish(c->join);
	if (c->waits)
		waits_finish(c->waits);
}
