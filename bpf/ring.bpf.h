/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
/*
 * Defines the ring buffer to the reader: heads of records, and counts of losses. The loader sets
 * the ring's size.
 */
#ifndef BPF_RING_BPF_H
#define BPF_RING_BPF_H

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "stack_event.h"

#define MAX_PROCESSES 65536 /* followed at a time; also the limit of other maps here */

/* Depth of the profiler's pid namespace: ids are reported as seen from there. */
unsigned int pidns_level;

/*
 * Bytes of new data after which the reader is woken, a power of two. Smaller amounts wait for the
 * reader's timer.
 */
#define WAKEUP_BYTES (4ul << 20)

/*
 * Bytes in the ring above which stacks of launches and calls are dropped: returns of calls are
 * small and must not be lost.
 */
const volatile unsigned long calls_bytes = 24 << 20;

struct stack_counters counters;

#define COUNT(field) __sync_fetch_and_add(&counters.field, 1)

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20); /* the loader sets the real size */
} events SEC(".maps");

/*
 * Kernel pointers are read with the helper (26 ns), except at each launch. For each direct load the
 * verifier searches all of the kernel's types by name, which takes a millisecond or two.
 */

/* Returns the pid as the profiler's namespace has it; 0: not in it. */
static __always_inline __u32 pid_in_profiler_ns(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	unsigned int level = pidns_level & 31;
	int nr = 0;

	if (BPF_CORE_READ(pid, level) < level)
		return 0;
	/* numbers[level]: the array is longer than declared */
	bpf_core_read(&nr, sizeof(nr),
		      (void *)&pid->numbers[0].nr + level * bpf_core_type_size(struct upid));
	return nr;
}

static __always_inline __u32 process_of(struct task_struct *task)
{
	return pid_in_profiler_ns(BPF_CORE_READ(task, group_leader));
}

/* Returns the current thread's id; cheap unless the profiler is in a pid namespace. */
static __always_inline __u32 current_tid(struct task_struct *task)
{
	return pidns_level == 0 ? (__u32)bpf_get_current_pid_tgid() : pid_in_profiler_ns(task);
}

static __always_inline __u32 current_process(struct task_struct *task)
{
	return pidns_level == 0 ? bpf_get_current_pid_tgid() >> 32 : process_of(task);
}

/* Returns flags to send a record of `size` bytes. A wakeup costs as much as the record. */
static __always_inline unsigned long wakeup_flags(unsigned long size)
{
	unsigned long waiting = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA);

	return (waiting ^ (waiting - size)) >= WAKEUP_BYTES ? BPF_RB_FORCE_WAKEUP
							    : BPF_RB_NO_WAKEUP;
}

/* Fills the head of a record of the current thread. */
static __always_inline void describe(struct stack_event *event, __u64 time_ns, __u32 pid, __u32 tid,
				     __u16 kind, __u16 function, __u32 size)
{
	event->time_ns = time_ns;
	event->pid = pid;
	event->tid = tid;
	event->kind = kind;
	event->launch_function = function;
	event->user_frames = 0;
	event->kernel_frames = 0;
	event->flags = 0;
	event->size = size;
	bpf_get_current_comm(event->comm, sizeof(event->comm));
}

/* Sends the CPU time that the process has used until `time_ns`. */
static __always_inline void send_used(struct task_struct *task, __u32 pid, __u64 time_ns,
				      __u32 flags, __u64 value)
{
	struct stack_value record;

	describe(&record.event, time_ns, pid, pid, STACK_EVENT_CPU_USED, 0, sizeof(record));
	record.event.flags = flags;
	record.value = value;
	bpf_ringbuf_output(&events, &record, sizeof(record), BPF_RB_NO_WAKEUP);
}

static __always_inline void send_value(struct task_struct *task, __u32 pid, __u16 kind,
				       __u16 function, __u64 value)
{
	struct stack_value record;

	describe(&record.event, bpf_ktime_get_ns(), pid, current_tid(task), kind, function,
		 sizeof(record));
	record.value = value;
	bpf_ringbuf_output(&events, &record, sizeof(record), BPF_RB_NO_WAKEUP);
}

#endif
