// SPDX-License-Identifier: MIT
#include "profiler/join/open_calls.h"

#include <errno.h>

static struct open_call *find(const struct open_calls *o, uint32_t tid)
{
	uint32_t at = record_find(&o->calls, &tid);

	return at == RECORD_NONE ? NULL : &o->calls.list[at];
}

int open_calls_enter(struct open_calls *o, const struct open_call *call)
{
	uint32_t at = record_get(&o->calls, &call->tid, call);

	if (at == RECORD_NONE)
		return -ENOMEM;
	o->calls.list[at] = *call;
	return 0;
}

bool open_calls_leave(struct open_calls *o, uint32_t tid, uint64_t start_ns, struct open_call *call)
{
	struct open_call *thread = find(o, tid);

	if (!thread || thread->start_ns != start_ns)
		return false;
	*call = *thread;
	record_remove(&o->calls, uint32_t, (uint32_t)(thread - o->calls.list));
	if (call->taken_ns)
		call->start_ns = call->taken_ns;
	return true;
}

bool open_calls_take(struct open_calls *o, uint32_t process, uint64_t now_ns, uint32_t *position,
		     struct open_call *call)
{
	while (*position < o->calls.count) {
		struct open_call *thread = &o->calls.list[(*position)++];

		if (thread->taken_ns || (process && thread->process != process))
			continue;
		*call = *thread;
		thread->taken_ns = now_ns ? now_ns : 1;
		return true;
	}
	return false;
}

void open_calls_visit(struct open_calls *o, const struct id_visitor *v)
{
	for (uint32_t i = 0; i < o->calls.count; i++) {
		visit_stack(v, &o->calls.list[i].stack);
		visit_place(v, &o->calls.list[i].place);
	}
}

void open_calls_release(struct open_calls *o)
{
	record_set_release(&o->calls.set);
}

void open_calls_forget(struct open_calls *o, uint32_t process)
{
	for (uint32_t i = o->calls.count; i-- > 0;)
		if (o->calls.list[i].process == process)
			record_remove(&o->calls, uint32_t, i);
}
