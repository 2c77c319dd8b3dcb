// SPDX-License-Identifier: (MIT OR GPL-2.0)
/*
 * Takes stacks of threads of tracked processes: at ticks of sampling clocks; at the entry of CUDA
 * functions (launches, or all calls, which are timed, where CUPTI cannot be used); with
 * --thread-origin, at the creation of threads; with --wall, when threads leave the CPU. Tracks
 * processes by following fork and exec from the first one on. Sends all to one ring buffer, and
 * counts losses for lack of room.
 */
#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "ring.bpf.h"
#include "off_cpu.bpf.h"
#include "python.bpf.h"
#include "open_devices.bpf.h"
#include "sampling_clock.h"
#include "snapshot.bpf.h"
#include "stack_event.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Set by the reader: calls of some processes may be timed later (`timed`); some are now. */
const volatile unsigned int times_calls;
unsigned int times_any;

/*
 * The recorded time range, set by the reader: start of CPU samples, start of launches, end of both;
 * 0: no end.
 */
unsigned long samples_from_ns, launches_from_ns, recorded_to_ns;

static __always_inline bool is_recorded(__u64 from_ns)
{
	__u64 now = bpf_ktime_get_ns();

	return now >= from_ns && (!recorded_to_ns || now < recorded_to_ns);
}

struct ending {
	__u64 time_ns;
	__u32 pid;
	__u32 unused;
};

/*
 * Processes of `tracked` whose last thread has begun to exit. It still uses CPU time, above all to
 * free memory. Keyed by struct signal_struct, because exiting threads lose their ids.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PROCESSES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct ending);
} ending SEC(".maps");

/* Processes whose calls are timed, added by the reader. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PROCESSES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* process id */
	__type(value, __u8);
} timed SEC(".maps");

/* The CUDA functions that a thread has entered. */
struct thread_state {
	/* the outermost timed call */
	__u64 start_ns; /* 0: none */
	__u64 sp;       /* the stack pointer at its entry */
	__u64 function;
	/* the last runtime launch function */
	__u64 runtime_sp;
	__u64 runtime_return; /* return address at that time; 0: no launch pending */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_state);
} threads SEC(".maps");

static __always_inline bool is_in(void *processes, __u32 pid)
{
	return bpf_map_lookup_elem(processes, &pid) != 0;
}

/* ---- CPU samples ---- */

/* Returns true inside a timed call, including its first instruction. */
static __always_inline bool is_in_call(struct task_struct *task, __u32 pid, __u64 sp)
{
	struct thread_state *state;

	if (!times_calls || !times_any)
		return 0;
	state = bpf_task_storage_get(&threads, task, 0, 0);
	return state && state->start_ns && sp <= state->sp && is_in(&timed, pid);
}

const volatile __u64 sample_ns;
unsigned long tick_ns; /* period of ticks; changed by the loader */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sampling_clock);
} clocks SEC(".maps");

/* Counts a tick in a tracked process. Returns true if a sample is due. */
static __always_inline bool is_due(void)
{
	__u32 zero = 0;
	struct sampling_clock *c = bpf_map_lookup_elem(&clocks, &zero);

	if (!c)
		return 1;
	if (!c->period_end_ns)
		sampling_clock_begin(c, sample_ns, bpf_get_prandom_u32());
	c->run_ns += tick_ns;
	return sampling_clock_take(c, sample_ns);
}

/* The first program of the object: it is verified while the others are (background_load). */
SEC("perf_event")
int sample_cpu(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct taken taken = {.kind = STACK_EVENT_CPU_SNAPSHOT};
	__u32 pid = current_process(task);
	struct stack_times *t = 0;
	struct pt_regs regs;
	__u64 ran_ns = 0;

	taken.sight.pid = pid;
	if (!pid || !is_in(&tracked, pid) || !is_recorded(samples_from_ns) || !is_due())
		return 0;
	if (keeps_times && !times_have_begun)
		return 0; /* would stand for time before the thread's times began */
	/* the registers at the entry to the kernel, if the tick came in kernel code */
	if (bpf_probe_read_kernel(&regs, sizeof(regs), (void *)bpf_task_pt_regs(task)))
		__builtin_memset(&regs, 0, sizeof(regs));
	if (is_in_call(task, pid, regs.sp)) {
		COUNT(samples_in_calls);
		return 0;
	}
	begin_taking(&taken, task, regs.sp);
	if (keeps_times)
		t = times_of(task);
	if (t) {
		if (t->is_off && has_cpu(task))
			end_off_cpu_unseen(task, t, taken.sight.time_ns);
		ran_ns = t->ran_ns + taken.sight.time_ns - t->since_ns;
		/* switches use another clock, which may be ahead */
		if ((__s64)(ran_ns - t->sampled_ns) <= 0)
			ran_ns = t->sampled_ns + 1;
		taken.ran_ns = ran_ns - t->sampled_ns;
	}
	if (!send_snapshot(&taken, &regs, ctx, 1, STACK_SNAPSHOT_BYTES))
		COUNT(dropped_samples); /* with times, the next sample stands for it, too */
	else if (t)
		t->sampled_ns = ran_ns;
	__sync_fetch_and_add(&counters.sample_ns, bpf_ktime_get_ns() - taken.sight.time_ns);
	return 0;
}

/* ---- launches and timed calls ---- */

/*
 * Returns true if a call counts. A call inside another, deeper in the stack, does not. (A call with
 * a missed return ends when its thread is seen above it.)
 */
static __always_inline bool begin_call(struct thread_state *state, __u64 sp, __u64 function,
				       __u64 time_ns)
{
	if (state->start_ns && sp < state->sp)
		return 0;
	state->start_ns = time_ns;
	state->sp = sp;
	state->function = function;
	COUNT(calls);
	return 1;
}

/*
 * Returns true if a launch counts. A driver launch inside the last runtime launch does not: the
 * runtime's return address, or a return probe's, is then still on the stack above. A runtime launch
 * contains one driver launch, which clears the entry.
 */
static __always_inline bool begin_launch(struct task_struct *task, struct thread_state *state,
					 __u64 sp, bool is_driver)
{
	__u64 expected = state->runtime_return, value = 0;

	if (!is_driver) {
		state->runtime_sp = sp;
		bpf_probe_read_user(&state->runtime_return, sizeof(__u64), (void *)sp);
		return 1;
	}
	if (!expected || sp >= state->runtime_sp)
		return 1;
	state->runtime_return = 0;
	bpf_probe_read_user(&value, sizeof(value), (void *)state->runtime_sp);
	return value != expected && value != trampoline_of(task);
}

SEC("uprobe")
int enter_function(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 cookie = bpf_get_attach_cookie(ctx);
	bool is_launch = (cookie & STACK_PROBE_LAUNCH) != 0, has_room;
	__u32 pid = current_process(task);
	struct taken taken = {.sight.pid = pid};
	struct thread_state *state;

	taken.function = cookie & STACK_PROBE_FUNCTION;
	taken.kind = is_launch ? STACK_EVENT_LAUNCH : STACK_EVENT_CALL;
	if (!pid || is_in(&timed, pid) == is_launch || !is_in(&tracked, pid))
		return 0;
	if (is_launch && !is_recorded(launches_from_ns))
		return 0;
	begin_taking(&taken, task, ctx->sp);
	if (taken.is_hidden)
		return 0;
	state = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!state) {
		/* its return will be missing */
		if (is_launch)
			COUNT(dropped_launches);
		else
			COUNT(calls);
		return 0;
	}
	if (!(is_launch ? begin_launch(task, state, ctx->sp, (cookie & STACK_PROBE_DRIVER) != 0)
			: begin_call(state, ctx->sp, taken.function, taken.sight.time_ns)))
		return 0;
	has_room = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) <= calls_bytes &&
		   send_snapshot(&taken, ctx, ctx, 0, STACK_CALL_BYTES);
	if (!has_room && is_launch)
		COUNT(dropped_launches); /* a call's return is still reported */
	if (bpf_get_prandom_u32() % STACK_PROBE_EVERY == 0)
		__sync_fetch_and_add(&counters.probe_ns, bpf_ktime_get_ns() - taken.sight.time_ns);
	return 0;
}

SEC("uretprobe")
int leave_function(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = bpf_task_storage_get(&threads, task, 0, 0);
	__u64 start_ns;

	/* the return address is popped already */
	if (!state || !state->start_ns || ctx->sp != state->sp + sizeof(__u64))
		return 0;
	start_ns = state->start_ns;
	state->start_ns = 0;
	send_value(task, current_process(task), STACK_EVENT_CALL_END, state->function, start_ns);
	return 0;
}

#define CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED 39

/* Reports refused clients at the return of cuptiSubscribe in a traced process. */
SEC("uretprobe")
int leave_subscribe(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 pid = current_process(task);

	if ((int)ctx->ax == CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && pid && is_in(&tracked, pid))
		send_value(task, pid, STACK_EVENT_REFUSED, 0, may_look_into(task) ? ctx->ip : 0);
	return 0;
}

/* Reports the entry of a function that every user of the CUDA driver calls first. */
SEC("uprobe")
int enter_driver(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 pid = current_process(task);

	if (pid && is_in(&tracked, pid) && may_look_into(task))
		send_value(task, pid, STACK_EVENT_USES_DRIVER, 0, 0);
	return 0;
}

/* ---- time off the CPU (--wall) ---- */

static __always_inline void leave_cpu(void *ctx, struct task_struct *task, struct stack_times *t,
				      const struct pt_regs *regs, bool is_preempted, __u64 now_ns)
{
	struct stack_off_cpu_sum *sum;
	__u32 state = task->__state;

	if (t->is_off)
		end_off_cpu_unseen(task, t, now_ns);
	if (now_ns > t->since_ns) {
		t->ran_ns += now_ns - t->since_ns;
		t->since_ns = now_ns;
	}
	t->switches++;
	if (state & STATE_DEAD) {
		end_times(task, t, 0);
		return;
	}
	if (has_delays())
		t->delay_ns = task->sched_info.run_delay;
	else
		t->woken_ns = 0;
	t->is_off = 1;
	t->has_stack = 0;
	t->is_runnable = is_preempted || state == 0 || state == STATE_WAKING;
	t->kind = kind_of(task, t, state, regs);
	t->site = site_of(t, regs);
	t->is_in_call = is_in_call(task, t->pid, regs->sp);
	if (t->is_in_call)
		return;
	sum = choose_sum(t);
	if (sum->skipped > 0)
		sum->skipped--;
	else
		take_off_cpu(ctx, task, t);
}

/*
 * Accounts a switch. `casts`: registers are read at their offset in the kernel stack without a
 * helper call, as Linux 6.2 and later allow.
 */
static __always_inline int switch_threads(void *ctx, struct task_struct *from,
					  struct task_struct *to, bool is_preempted,
					  const bool casts)
{
	__u64 stack = stack_address(from, casts), now_ns, clock;
	struct stack_times *left = times_by(from, stack);
	struct stack_times *back = times_by(to, stack_address(to, casts));

	if (!left && !back)
		return 0;
	if (times_over_ns) {
		if (left && from->__state & STATE_DEAD)
			end_times(from, left, STACK_EVENT_OVER);
		return 0;
	}
	clock = clock_at_switch(from, casts);
	now_ns = time_of_switch(clock);
	if (back)
		end_off_cpu(to, back, now_ns, clock);
	if (left)
		leave_cpu(
			ctx, from, left,
			casts ? bpf_rdonly_cast((void *)(stack + registers_at), STACK_TYPE_PT_REGS)
			      : (const void *)bpf_task_pt_regs(from),
			is_preempted, now_ns);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool is_preempted, struct task_struct *from, struct task_struct *to)
{
	return switch_threads(ctx, from, to, is_preempted, 1);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch_before_casts, bool is_preempted, struct task_struct *from,
	     struct task_struct *to)
{
	return switch_threads(ctx, from, to, is_preempted, 0);
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	struct stack_times *t = times_of(task);

	if (t && t->is_off && !t->woken_ns)
		t->woken_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_new_times, struct task_struct *parent, struct task_struct *child)
{
	__u32 from = process_of(parent), to = process_of(child);

	if (from && to && is_in(&tracked, from) && follows_new_threads && !times_over_ns)
		follow_times(child, to, pid_in_profiler_ns(child), 1);
	return 0;
}

/* Follows existing threads. Run by the reader once it follows running processes. */
SEC("iter.s/task")
int follow_threads(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	__u32 pid;

	if (!task || task->flags & FLAG_EXITING)
		return 0;
	pid = process_of(task);
	if (pid && is_in(&tracked, pid) && !times_of(task))
		follow_running(task, pid);
	return 0;
}

/* Starts times at exec. The command itself begins here; one thread remains, as the first. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec_times, struct task_struct *task)
{
	__u32 pid = process_of(task);
	struct stack_times *t = times_of(task);

	if (t && !times_over_ns)
		start_times_over(task, t, pid);
	else if (!t && pid && is_in(&tracked, pid) && follows_new_threads && !times_over_ns)
		follow_times(task, pid, pid, 0);
	return 0;
}

/* Writes the times of each remaining thread, after the run's end. */
SEC("iter/task")
int list_times(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct stack_times *t = task ? times_of(task) : 0;
	__u64 now_ns = bpf_ktime_get_ns(), delay;

	/* a thread that got its CPU after the end was off it until then */
	if (t && t->is_off && has_cpu(task) && arrival_of(task, now_ns) < times_over_ns)
		end_off_cpu_unseen(task, t, now_ns);
	if (t && t->is_off && !t->woken_ns) {
		delay = delay_of(task, t, now_ns, clock_of(task));
		t->woken_ns = delay ? now_ns - delay : 0;
	}
	if (!t || bpf_seq_write(ctx->meta->seq, t, sizeof(*t)))
		return 0;
	forget_times(task, t);
	return 0;
}

/* ---- processes ---- */

static __always_inline __u64 signal_of(struct task_struct *task)
{
	return (__u64)BPF_CORE_READ(task, signal);
}

static __always_inline void forget(__u32 pid)
{
	bpf_map_delete_elem(&tracked, &pid);
	bpf_map_delete_elem(&pythons, &pid);
	bpf_map_delete_elem(&timed, &pid);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 from = process_of(parent), to = process_of(child);
	struct stack_process begun = {.program = {.began_ns = bpf_ktime_get_ns()}};
	struct stack_process *creator;
	struct stack_python python, *known;

	/* a new thread has its creator's process id */
	if (!to || from == to)
		return 0;
	creator = from ? bpf_map_lookup_elem(&tracked, &from) : 0;
	if (!creator) {
		/* may be the reused id of a process that is not released yet */
		if (is_in(&tracked, to))
			forget(to);
		return 0;
	}
	begun.self = signal_of(child);
	begun.is_open = may_look_into(child);
	begun.program.mm = (__u64)BPF_CORE_READ(child, mm);
	if (bpf_map_update_elem(&tracked, &to, &begun, BPF_ANY))
		COUNT(untracked_processes);
	known = bpf_map_lookup_elem(&pythons, &from);
	if (known && is_layout_of(known, &creator->program)) {
		python = *known;
		python.began_ns = 1; /* inherited: the program began before the fork */
		bpf_map_update_elem(&pythons, &to, &python, BPF_ANY);
	} else {
		bpf_map_delete_elem(&pythons, &to);
	}
	return 0;
}

/* Takes the creator's stack of a new thread (--thread-origin). */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_thread, struct task_struct *parent, struct task_struct *child)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct taken taken = {.kind = STACK_EVENT_THREAD};
	__u32 pid = current_process(task);
	struct pt_regs regs;

	if (!pid || pid != process_of(child) || !is_in(&tracked, pid))
		return 0;
	if (!may_look_into(task))
		return 0; /* the thread's origin stays unknown */
	taken.sight.pid = pid;
	if (bpf_probe_read_kernel(&regs, sizeof(regs), (void *)bpf_task_pt_regs(task)))
		__builtin_memset(&regs, 0, sizeof(regs));
	begin_taking(&taken, task, regs.sp);
	taken.flags = pid_in_profiler_ns(child);
	if (!send_snapshot(&taken, &regs, ctx, 0, STACK_CALL_BYTES))
		COUNT(dropped_threads);
	__sync_fetch_and_add(&counters.sample_ns, bpf_ktime_get_ns() - taken.sight.time_ns);
	return 0;
}

/* Returns the CPU time of released threads and of this one. */
static __always_inline __u64 used_ns(struct task_struct *task)
{
	return BPF_CORE_READ(task, signal, sum_sched_runtime) +
	       BPF_CORE_READ(task, se.sum_exec_runtime);
}

/* Notes an exec, and drops the previous program's layout. */
static __always_inline void begin_program(struct task_struct *task, __u32 pid, __u64 now_ns,
					  struct stack_program *program)
{
	struct stack_python *python = bpf_map_lookup_elem(&pythons, &pid);

	program->before_ns = program->began_ns;
	program->began_ns = now_ns;
	program->mm = (__u64)BPF_CORE_READ(task, mm);
	if (python && !is_layout_of(python, program))
		bpf_map_delete_elem(&pythons, &pid);
}

/* Starts a process over at exec: the new program may be able to use CUPTI. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	__u32 pid = process_of(task), flags = STACK_EVENT_EXEC;
	struct stack_process *process = pid ? bpf_map_lookup_elem(&tracked, &pid) : 0;
	__u64 now_ns = bpf_ktime_get_ns();

	bpf_task_storage_delete(&threads, task);
	if (!pid)
		return 0;
	bpf_map_delete_elem(&timed, &pid);
	if (!process)
		return 0;
	begin_program(task, pid, now_ns, &process->program);
	process->is_open = may_look_into(task);
	if (!process->is_open)
		flags |= STACK_EVENT_NO_ACCESS;
	send_used(task, pid, now_ns, flags, used_ns(task));
	return 0;
}

/* Returns the wait status of a process whose last thread ends. */
static __always_inline __u32 wait_status_of(struct task_struct *task)
{
	__u32 of_group = BPF_CORE_READ(task, signal, group_exit_code);

	return (of_group ? of_group : (__u32)BPF_CORE_READ(task, exit_code)) & 0xffff;
}

/* Reports the end of a process. Since Linux 6.16 this runs before its memory is freed, else after.
 */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	struct ending end = {.pid = process_of(task)};
	__u64 self = signal_of(task), used = used_ns(task);
	struct stack_process *process;
	__u32 flags = STACK_EVENT_ENDS;

	/* only the last thread ends the process */
	if (!end.pid || BPF_CORE_READ(task, signal, live.counter) != 0)
		return 0;
	process = bpf_map_lookup_elem(&tracked, &end.pid);
	if (!process)
		return 0;
	if (viewer.is_known && (viewer.uid == 0 || process->is_open))
		flags |= open_devices_of(task);
	if (leader != task) /* the leader has exited, and is released last */
		used += BPF_CORE_READ(leader, se.sum_exec_runtime);
	end.time_ns = bpf_ktime_get_ns();
	send_used(task, end.pid, end.time_ns, flags | wait_status_of(task) << STACK_EVENT_STATUS_AT,
		  used);
	if (bpf_map_update_elem(&ending, &self, &end, BPF_ANY))
		forget(end.pid);
	return 0;
}

/* Reports the final CPU time once the last thread is released. The pid may be reused by then. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct *task)
{
	struct stack_process *now;
	__u64 self = signal_of(task);
	struct ending *end = bpf_map_lookup_elem(&ending, &self);
	struct ending ended;

	if (!end || BPF_CORE_READ(task, signal, nr_threads) != 0)
		return 0;
	ended = *end;
	bpf_map_delete_elem(&ending, &self);
	send_used(task, ended.pid, ended.time_ns, 0,
		  BPF_CORE_READ(task, signal, sum_sched_runtime));
	now = bpf_map_lookup_elem(&tracked, &ended.pid);
	if (now && (now->self == self || now->self == 0))
		forget(ended.pid);
	return 0;
}

/* Run once by the loader, in its own process: finds its pid namespace's level, and more. */
SEC("raw_tp")
int find_pidns_level(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	pidns_level = BPF_CORE_READ(task, thread_pid, level);
	registers_at = bpf_task_pt_regs(task);
	barrier();
	registers_at -= stack_address(task, 0);
	needs_wakeups = !has_delays();
	return 0;
}

char kernel_name[STACK_KERNEL_NAME_BYTES];

/* Run by the loader: writes the name of the kernel function at an address into `kernel_name`. */
SEC("raw_tp")
int name_kernel_function(struct bpf_raw_tracepoint_args *ctx)
{
	static const char format[] = "%ps";
	__u64 address = ctx->args[0];

	bpf_snprintf(kernel_name, sizeof(kernel_name), format, &address, sizeof(address));
	return 0;
}
