// SPDX-License-Identifier: (MIT OR GPL-2.0)
/*
 * Takes stacks: of tracked processes at each tick of a sampling clock, and of their threads as they
 * enter a CUDA launch function. Where CUPTI is not to be had, times the calls of CUDA's functions.
 * Which processes are tracked is kept here, by following fork and exit from the first one on.
 * Everything goes to one ring buffer; what has no room is counted.
 */
#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "snapshot.bpf.h"
#include "stack_event.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Depth of the profiler's own pid namespace: ids are reported as seen from there. */
unsigned int pidns_level;

/* Wake the reader when this much is waiting; below it, the reader's timer does. Bytes. */
const volatile unsigned long wakeup_bytes = 4 << 20;

/*
 * The stacks of timed calls are left out when more than this is waiting: their returns are small,
 * and must not be lost. Bytes.
 */
const volatile unsigned long calls_bytes = 24 << 20;

/* Some processes' calls may come to be timed (`timed`). */
const volatile unsigned int times_calls;

struct stack_counters counters;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PROCESSES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* process id */
	__type(value, __u8);
} tracked SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20); /* the loader sets the real size */
} events SEC(".maps");

struct frames_buffer {
	struct stack_event event;
	__u64 frames[2 * STACK_EVENT_MAX_FRAMES];
};

/* Sampling interrupts do not nest on a CPU, so one buffer a CPU is enough for them. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct frames_buffer);
} sample_buffer SEC(".maps");

/*
 * A launch probe may be preempted by another thread's on the same CPU, so each thread has its own
 * buffer. It also remembers where the thread last entered the runtime, to know nested driver calls.
 */
struct launch_state {
	__u64 runtime_sp;     /* stack pointer at the entry of the runtime's function */
	__u64 runtime_return; /* the return address that was there; 0: none pending */
	struct stack_event event;
	__u64 frames[STACK_EVENT_MAX_FRAMES + 2];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct launch_state);
} launch_states SEC(".maps");

static __always_inline __u32 pid_in_profiler_ns(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	unsigned int level = pidns_level & 31;
	struct upid upid;

	if (!pid || BPF_CORE_READ(pid, level) < level)
		return 0;
	/* numbers[level]: the array is longer than declared */
	bpf_core_read(&upid.nr, sizeof(upid.nr),
		      (void *)&pid->numbers[0].nr + level * bpf_core_type_size(struct upid));
	return upid.nr;
}

static __always_inline __u32 process_of(struct task_struct *task)
{
	return pid_in_profiler_ns(BPF_CORE_READ(task, group_leader));
}

static __always_inline unsigned long wakeup_flags(void)
{
	return bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) >= wakeup_bytes ? BPF_RB_FORCE_WAKEUP
									     : BPF_RB_NO_WAKEUP;
}

#define COUNT(field) __sync_fetch_and_add(&counters.field, 1)

/* bpf_get_stack's result in bytes -> frames, 0 on error. */
static __always_inline __u32 frames_of(long bytes)
{
	return bytes > 0 ? (__u32)bytes / sizeof(__u64) : 0;
}

SEC("perf_event")
int cpu_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	const unsigned int side = STACK_EVENT_MAX_FRAMES * sizeof(__u64);
	struct frames_buffer *b;
	__u32 zero = 0, pid = process_of(task), user, kernel;
	__u64 size;

	if (!pid || !bpf_map_lookup_elem(&tracked, &pid))
		return 0;
	b = bpf_map_lookup_elem(&sample_buffer, &zero);
	if (!b)
		return 0;
	COUNT(samples);
	b->event.time_ns = bpf_ktime_get_ns();
	b->event.pid = pid;
	b->event.tid = pid_in_profiler_ns(task);
	b->event.kind = STACK_EVENT_CPU_SAMPLE;
	b->event.launch_function = LAUNCH_NONE;
	user = frames_of(bpf_get_stack(ctx, b->frames, side, BPF_F_USER_STACK));
	if (user > STACK_EVENT_MAX_FRAMES)
		return 0;
	kernel = frames_of(bpf_get_stack(ctx, &b->frames[user], side, 0));
	if (kernel > STACK_EVENT_MAX_FRAMES)
		return 0;
	b->event.user_frames = user;
	b->event.kernel_frames = kernel;
	b->event.flags = user == STACK_EVENT_MAX_FRAMES ? STACK_EVENT_TRUNCATED : 0;
	b->event.padding = 0;
	size = sizeof(b->event) + (user + kernel) * sizeof(__u64);
	if (size > sizeof(*b))
		return 0;
	if (bpf_ringbuf_output(&events, b, size, wakeup_flags()))
		COUNT(dropped_samples);
	return 0;
}

/* ---- timed calls ---- */

/* Processes whose calls are timed, put here by the reader. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PROCESSES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* process id */
	__type(value, __u8);
} timed SEC(".maps");

/* The outermost timed call that a thread is in. */
struct call_state {
	__u64 start_ns; /* 0: none */
	__u64 sp;       /* the stack pointer at its entry */
	__u64 function;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call_state);
} call_states SEC(".maps");

/*
 * True inside of a timed call: deeper in the stack than its entry. (A call whose return was missed
 * ends when its thread is seen above it.)
 */
static __always_inline bool is_inside(const struct call_state *state, __u64 sp)
{
	return state->start_ns && sp < state->sp;
}

static __always_inline void describe(struct stack_event *event, struct task_struct *task, __u32 pid,
				     __u16 kind, __u64 time_ns)
{
	event->time_ns = time_ns;
	event->pid = pid;
	event->tid = pid_in_profiler_ns(task);
	event->kind = kind;
	event->launch_function = LAUNCH_NONE;
	event->user_frames = 0;
	event->kernel_frames = 0;
	event->flags = 0;
	event->padding = 0;
}

static __always_inline int enter_call(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 pid = process_of(task);
	struct call_state *state;
	struct stack_snapshot *s;

	if (!pid || !bpf_map_lookup_elem(&timed, &pid) || !bpf_map_lookup_elem(&tracked, &pid))
		return 0;
	state = bpf_task_storage_get(&call_states, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!state) {
		COUNT(calls); /* and it will be missing */
		return 0;
	}
	if (is_inside(state, ctx->sp))
		return 0; /* what CUDA's functions call of each other */
	COUNT(calls);
	state->sp = ctx->sp;
	state->function = bpf_get_attach_cookie(ctx);
	state->start_ns = bpf_ktime_get_ns();
	if (bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > calls_bytes)
		return 0; /* its return is told all the same */
	s = bpf_ringbuf_reserve(&events, STACK_CALL_SIZE, 0);
	if (!s)
		return 0;
	describe(&s->event, task, pid, STACK_EVENT_CALL, state->start_ns);
	s->event.launch_function = state->function;
	read_python(s, task);
	save_registers(s, ctx);
	copy_stack(s, ctx->sp, STACK_CALL_BYTES);
	bpf_ringbuf_submit(s, wakeup_flags());
	return 0;
}

static __always_inline int leave_call(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct call_state *state = bpf_task_storage_get(&call_states, task, 0, 0);
	struct {
		struct stack_event event;
		__u64 start_ns;
	} end;

	/* the return address is off the stack again */
	if (!state || !state->start_ns || ctx->sp != state->sp + sizeof(__u64))
		return 0;
	describe(&end.event, task, process_of(task), STACK_EVENT_CALL_END, bpf_ktime_get_ns());
	end.event.launch_function = state->function;
	end.event.user_frames = 1;
	end.start_ns = state->start_ns;
	state->start_ns = 0;
	bpf_ringbuf_output(&events, &end, sizeof(end), wakeup_flags());
	return 0;
}

/* Each program for the two ways of attaching: one link for many places, or one for each. */
SEC("uprobe")
int call_multi(struct pt_regs *ctx)
{
	return enter_call(ctx);
}

SEC("uprobe")
int call_single(struct pt_regs *ctx)
{
	return enter_call(ctx);
}

SEC("uretprobe")
int call_end_multi(struct pt_regs *ctx)
{
	return leave_call(ctx);
}

SEC("uretprobe")
int call_end_single(struct pt_regs *ctx)
{
	return leave_call(ctx);
}

#define CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED 39

/* The return of cuptiSubscribe: whoever else asks in a process that is traced is refused. */
static __always_inline int leave_subscribe(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 pid = process_of(task);
	struct {
		struct stack_event event;
		__u64 caller;
	} refused;

	if ((int)ctx->ax != CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED || !pid ||
	    !bpf_map_lookup_elem(&tracked, &pid))
		return 0;
	describe(&refused.event, task, pid, STACK_EVENT_REFUSED, bpf_ktime_get_ns());
	refused.event.user_frames = 1;
	refused.caller = ctx->ip;
	bpf_ringbuf_output(&events, &refused, sizeof(refused), 0);
	return 0;
}

SEC("uretprobe")
int subscribe_end_multi(struct pt_regs *ctx)
{
	return leave_subscribe(ctx);
}

SEC("uretprobe")
int subscribe_end_single(struct pt_regs *ctx)
{
	return leave_subscribe(ctx);
}

/* ---- CPU samples with a copy of the stack instead of a walk ---- */

SEC("perf_event")
int cpu_snapshot(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 pid = process_of(task), kernel;
	struct stack_snapshot *s;
	struct pt_regs regs;

	if (!pid || !bpf_map_lookup_elem(&tracked, &pid))
		return 0;
	/* the registers at the entry to the kernel, if the tick came inside it */
	if (bpf_probe_read_kernel(&regs, sizeof(regs), (void *)bpf_task_pt_regs(task)))
		__builtin_memset(&regs, 0, sizeof(regs));
	if (times_calls) {
		struct call_state *call = bpf_task_storage_get(&call_states, task, 0, 0);

		/* at its first instruction the call is on, too */
		if (call && call->start_ns && regs.sp <= call->sp &&
		    bpf_map_lookup_elem(&timed, &pid)) {
			COUNT(samples_in_calls);
			return 0;
		}
	}
	COUNT(samples);
	s = bpf_ringbuf_reserve(&events, sizeof(*s), 0);
	if (!s) {
		COUNT(dropped_samples);
		return 0;
	}
	describe(&s->event, task, pid, STACK_EVENT_CPU_SNAPSHOT, bpf_ktime_get_ns());
	read_python(s, task);
	kernel = frames_of(bpf_get_stack(ctx, s->kernel, sizeof(s->kernel), 0));
	s->event.kernel_frames = kernel > STACK_EVENT_MAX_FRAMES ? 0 : kernel;
	save_registers(s, &regs);
	copy_stack(s, regs.sp, STACK_SNAPSHOT_BYTES);
	bpf_ringbuf_submit(s, wakeup_flags());
	return 0;
}

/*
 * True if this driver launch happens inside the runtime launch that the thread entered last: that
 * entry's return address is still where it was, above us on the stack. One runtime launch nests one
 * driver launch, so the memory is used up by it.
 */
static __always_inline bool is_nested(struct launch_state *state, __u64 sp)
{
	__u64 value = 0, expected = state->runtime_return;

	if (!expected || sp >= state->runtime_sp)
		return 0;
	state->runtime_return = 0;
	bpf_probe_read_user(&value, sizeof(value), (void *)state->runtime_sp);
	return value == expected;
}

/*
 * The stack at a function's first instruction: the address itself, the caller (its return address
 * is on top of the stack; the frame-pointer chain does not know it yet), and the chain from there.
 * Kernels since 6.11 repair the chain for some first instructions: then nothing is to be put in,
 * and the slot kept free for it says so with a 0.
 */
static __always_inline __u32 walk_launch_stack(struct pt_regs *ctx, struct launch_state *state,
					       __u64 caller)
{
	const unsigned int side = STACK_EVENT_MAX_FRAMES * sizeof(__u64);
	__u32 n = frames_of(bpf_get_stack(ctx, &state->frames[1], side, BPF_F_USER_STACK));

	if (n > STACK_EVENT_MAX_FRAMES)
		n = 0;
	if (n >= 2 && state->frames[2] == caller) {
		state->frames[0] = 0;
		return n + 1;
	}
	state->frames[0] = ctx->ip;
	state->frames[1] = caller;
	return n ? n + 1 : 2;
}

static __always_inline int launch(struct pt_regs *ctx, __u64 cookie)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 pid = process_of(task), n;
	__u64 sp = ctx->sp, caller = 0, size;
	struct launch_state *state;

	if (!pid || !bpf_map_lookup_elem(&tracked, &pid))
		return 0;
	state = bpf_task_storage_get(&launch_states, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!state) {
		COUNT(dropped_launches);
		return 0;
	}
	bpf_probe_read_user(&caller, sizeof(caller), (void *)sp);
	if ((cookie & 0xff) >= LAUNCH_FIRST_DRIVER) {
		if (is_nested(state, sp)) {
			COUNT(nested);
			return 0;
		}
	} else {
		state->runtime_sp = sp;
		state->runtime_return = caller;
	}
	COUNT(launches);
	n = walk_launch_stack(ctx, state, caller);
	state->event.time_ns = bpf_ktime_get_ns();
	state->event.pid = pid;
	state->event.tid = pid_in_profiler_ns(task);
	state->event.kind = STACK_EVENT_LAUNCH;
	state->event.launch_function = cookie;
	state->event.user_frames = n;
	state->event.kernel_frames = 0;
	state->event.flags = n > STACK_EVENT_MAX_FRAMES ? STACK_EVENT_TRUNCATED : 0;
	size = sizeof(state->event) + n * sizeof(__u64);
	if (size > sizeof(state->event) + sizeof(state->frames))
		return 0;
	if (bpf_ringbuf_output(&events, &state->event, size, wakeup_flags()))
		COUNT(dropped_launches);
	return 0;
}

SEC("uprobe")
int launch_multi(struct pt_regs *ctx)
{
	return launch(ctx, bpf_get_attach_cookie(ctx));
}

SEC("uprobe")
int launch_single(struct pt_regs *ctx)
{
	return launch(ctx, bpf_get_attach_cookie(ctx));
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 from = process_of(parent), to = process_of(child);
	struct stack_python *python;
	__u8 yes = 1;

	/* a new thread has its creator's process id */
	if (!from || !to || from == to || !bpf_map_lookup_elem(&tracked, &from))
		return 0;
	if (bpf_map_update_elem(&tracked, &to, &yes, BPF_ANY))
		COUNT(untracked_processes);
	python = bpf_map_lookup_elem(&pythons, &from);
	if (python)
		bpf_map_update_elem(&pythons, &to, python, BPF_ANY);
	return 0;
}

/* A new program in the process begins anew: CUPTI may well be to be had there. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	__u32 pid = process_of(task);

	bpf_task_storage_delete(&call_states, task);
	if (pid)
		bpf_map_delete_elem(&timed, &pid);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	__u32 pid = process_of(task);

	/* the last thread takes the process with it; its number may be used again */
	if (pid && BPF_CORE_READ(task, signal, live.counter) == 0) {
		bpf_map_delete_elem(&tracked, &pid);
		bpf_map_delete_elem(&pythons, &pid);
		bpf_map_delete_elem(&timed, &pid);
	}
	return 0;
}

/* Run once by the loader, in its own process: finds the level of its pid namespace. */
SEC("raw_tp")
int find_pidns_level(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	pidns_level = BPF_CORE_READ(task, thread_pid, level);
	return 0;
}
