// SPDX-License-Identifier: MIT
#include "profiler/cpu/off_cpu.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include "bpf/stack_event.h"
#include "symbolize/util/array.h"

#define THREAD_BYTES (sizeof(struct off_cpu_entry) + HASH_INDEX_ENTRY_BYTES)
#define STACK_BYTES (2 * sizeof(struct off_cpu_stack)) /* growing arrays double */

static struct off_cpu_entry *find(const struct off_cpu *o, struct off_cpu_thread thread)
{
	uint32_t at = record_find(&o->threads, &thread);

	return at == RECORD_NONE ? NULL : &o->threads.list[at];
}

static void release(const struct off_cpu *o, const struct off_cpu_entry *entry)
{
	quota_return(o->quota, THREAD_BYTES + entry->count * STACK_BYTES);
	free(entry->known);
}

void off_cpu_release(struct off_cpu *o)
{
	for (uint32_t i = 0; i < o->threads.count; i++)
		release(o, &o->threads.list[i]);
	record_set_release(&o->threads.set);
}

/* Adds an entry, alone in its ring. Returns 0, or -errno. */
static int make(struct off_cpu *o, struct off_cpu_thread thread)
{
	const struct off_cpu_entry alone = {
		.thread = thread, .next = o->threads.count, .previous = o->threads.count};

	if (!quota_take(o->quota, THREAD_BYTES))
		return -ENOSPC;
	if (record_add(&o->threads, &thread, &alone) != RECORD_NONE)
		return 0;
	quota_return(o->quota, THREAD_BYTES);
	return -ENOMEM;
}

static void join_ring(struct off_cpu *o, uint32_t at, uint32_t after)
{
	uint32_t next = o->threads.list[after].next;

	o->threads.list[at].previous = after;
	o->threads.list[at].next = next;
	o->threads.list[after].next = at;
	o->threads.list[next].previous = at;
}

/* Finds or adds the thread's entry, and the entry of its process. Returns 0, or -errno. */
static int get(struct off_cpu *o, struct off_cpu_thread thread, struct off_cpu_entry **entry)
{
	const struct off_cpu_thread all = {thread.process, OFF_CPU_ANY_THREAD};
	int err = 0;

	*entry = find(o, thread);
	if (*entry)
		return 0;
	if (!find(o, all))
		err = make(o, all);
	if (!err)
		err = make(o, thread);
	if (err)
		return err;
	join_ring(o, o->threads.count - 1, (uint32_t)(find(o, all) - o->threads.list));
	*entry = &o->threads.list[o->threads.count - 1];
	return 0;
}

int off_cpu_leave(struct off_cpu *o, struct off_cpu_thread thread,
		  const struct off_cpu_departure *departure)
{
	struct off_cpu_entry *entry;
	int err = get(o, thread, &entry);

	if (!err)
		entry->departure = *departure;
	return err;
}

static void remember_stack(const struct off_cpu *o, struct off_cpu_entry *entry,
			   struct stack_id stack, const struct off_cpu_times *times)
{
	for (uint32_t i = 0; i < entry->count; i++) {
		struct off_cpu_stack *known = &entry->known[i];

		if (same_id(known->stack, stack) && known->times.kind == times->kind &&
		    known->times.site == times->site &&
		    known->times.file_type == times->file_type) {
			known->times.blocked_ns += times->blocked_ns;
			known->times.runnable_ns += times->runnable_ns;
			return;
		}
	}
	if (entry->count == OFF_CPU_STACKS_MAX || !quota_take(o->quota, STACK_BYTES))
		return;
	if (array_make_room(&entry->known, entry->count, &entry->capacity, sizeof(*entry->known)))
		entry->known[entry->count++] = (struct off_cpu_stack){*times, stack};
	else
		quota_return(o->quota, STACK_BYTES);
}

bool off_cpu_return(struct off_cpu *o, struct off_cpu_thread thread, uint64_t left_ns,
		    struct off_cpu_times *times, struct stack_id *stack)
{
	const struct off_cpu_thread all = {thread.process, OFF_CPU_ANY_THREAD};
	struct off_cpu_entry *entry = find(o, thread);
	struct off_cpu_times of_all;

	if (!entry || left_ns == 0 || entry->departure.left_ns != left_ns)
		return false;
	entry->departure.left_ns = 0;
	*stack = entry->departure.stack;
	times->file_type = entry->departure.file_type;
	if (times->kind == SYS_futex && entry->departure.is_at_gil)
		times->kind = STACK_OFF_CPU_GIL;
	remember_stack(o, entry, *stack, times);
	of_all = *times;
	of_all.site = 0; /* sites belong to one thread */
	if (!entry->departure.is_internal)
		remember_stack(o, find(o, all), *stack, &of_all);
	return true;
}

/* Returns true if the thread waits for Python's global lock at this site. */
static bool is_gil_at(const struct off_cpu_entry *entry, uint32_t site)
{
	for (uint32_t i = 0; i < entry->count; i++) {
		const struct off_cpu_times *known = &entry->known[i].times;

		if (known->kind == STACK_OFF_CPU_GIL && known->site == site)
			return true;
	}
	return false;
}

static bool matches(const struct off_cpu_stack *known, const struct off_cpu_times *sum,
		    bool of_any_site)
{
	return known->times.kind == sum->kind && (of_any_site || known->times.site == sum->site);
}

/* Returns the weight of a stack: its time off the CPU in ns, plus 1, so that no weight is 0. */
static uint64_t share_of(const struct off_cpu_stack *known)
{
	return known->times.blocked_ns + known->times.runnable_ns + 1;
}

/* Distributes `sum` over the matching stacks. Returns false if there are none. */
static bool spread(const struct off_cpu_entry *entry, bool of_any_site,
		   const struct off_cpu_times *sum, off_cpu_output output, void *context)
{
	unsigned __int128 whole = 0, up_to = 0;
	uint64_t blocked_ns = 0, runnable_ns = 0;

	for (uint32_t i = 0; i < entry->count; i++)
		if (matches(&entry->known[i], sum, of_any_site))
			whole += share_of(&entry->known[i]);
	for (uint32_t i = 0; whole > 0 && i < entry->count; i++) {
		const struct off_cpu_stack *known = &entry->known[i];
		struct off_cpu_times part = *sum;

		if (!matches(known, sum, of_any_site))
			continue;
		part.file_type = known->times.file_type;
		up_to += share_of(known);
		part.blocked_ns = (uint64_t)(up_to * sum->blocked_ns / whole) - blocked_ns;
		part.runnable_ns = (uint64_t)(up_to * sum->runnable_ns / whole) - runnable_ns;
		blocked_ns += part.blocked_ns;
		runnable_ns += part.runnable_ns;
		output(context, known->stack, &part);
	}
	return whole > 0;
}

bool off_cpu_spread(const struct off_cpu *o, struct off_cpu_thread thread,
		    const struct off_cpu_times *times, off_cpu_output output, void *context)
{
	const struct off_cpu_thread all = {thread.process, OFF_CPU_ANY_THREAD};
	const struct off_cpu_entry *own = find(o, thread), *process = find(o, all);
	struct off_cpu_times sum = *times;

	if (own && sum.kind == SYS_futex && is_gil_at(own, sum.site))
		sum.kind = STACK_OFF_CPU_GIL;
	if (own &&
	    (spread(own, false, &sum, output, context) || spread(own, true, &sum, output, context)))
		return true;
	/* threads of a pool block at similar stacks, but are preempted anywhere */
	return process && sum.kind != STACK_OFF_CPU_RUNNABLE &&
	       spread(process, true, &sum, output, context);
}

static void forget(struct off_cpu *o, uint32_t at)
{
	uint32_t last = o->threads.count - 1;

	release(o, &o->threads.list[at]);
	o->threads.list[o->threads.list[at].next].previous = o->threads.list[at].previous;
	o->threads.list[o->threads.list[at].previous].next = o->threads.list[at].next;
	record_remove(&o->threads, struct off_cpu_thread, at);
	if (at == last)
		return;
	if (o->threads.list[at].next == last) { /* the entry is alone in its ring */
		o->threads.list[at].next = o->threads.list[at].previous = at;
		return;
	}
	o->threads.list[o->threads.list[at].next].previous = at;
	o->threads.list[o->threads.list[at].previous].next = at;
}

void off_cpu_forget(struct off_cpu *o, struct off_cpu_thread thread)
{
	const struct off_cpu_entry *entry = find(o, thread);

	if (entry)
		forget(o, (uint32_t)(entry - o->threads.list));
}

void off_cpu_forget_process(struct off_cpu *o, uint32_t process)
{
	const struct off_cpu_thread all = {process, OFF_CPU_ANY_THREAD};
	const struct off_cpu_entry *entry = find(o, all);

	while (entry && &o->threads.list[entry->next] != entry) {
		forget(o, entry->next);
		entry = find(o, all);
	}
	if (entry)
		forget(o, (uint32_t)(entry - o->threads.list));
}
