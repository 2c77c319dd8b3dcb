// SPDX-License-Identifier: (MIT OR GPL-2.0)
/*
 * Takes stacks: of tracked processes at each tick of a sampling clock, and of their threads as they
 * enter a CUDA launch function. Which processes are tracked is kept here, by following fork and
 * exit from the first one on. Everything goes to one ring buffer; what has no room is counted.
 */
#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "stack_event.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define MAX_PROCESSES 65536

/* Depth of the profiler's own pid namespace: ids are reported as seen from there. */
unsigned int pidns_level;

/* Wake the reader when this much is waiting; below it, the reader's timer does. Bytes. */
const volatile unsigned long wakeup_bytes = 4 << 20;

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

/* DWARF's numbers: rax rdx rcx rbx rsi rdi rbp rsp r8..r15 pc. */
static __always_inline void save_registers(struct stack_snapshot *s, const struct pt_regs *regs)
{
	s->registers[0] = regs->ax;
	s->registers[1] = regs->dx;
	s->registers[2] = regs->cx;
	s->registers[3] = regs->bx;
	s->registers[4] = regs->si;
	s->registers[5] = regs->di;
	s->registers[6] = regs->bp;
	s->registers[7] = regs->sp;
	s->registers[8] = regs->r8;
	s->registers[9] = regs->r9;
	s->registers[10] = regs->r10;
	s->registers[11] = regs->r11;
	s->registers[12] = regs->r12;
	s->registers[13] = regs->r13;
	s->registers[14] = regs->r14;
	s->registers[15] = regs->r15;
	s->registers[16] = regs->ip;
}

/*
 * Copies the stack page by page up to where the memory ends: memory ends with a page. What may lie
 * above a thread's stack is other data, which does no harm.
 */
static __always_inline void copy_stack(struct stack_snapshot *s, __u64 sp)
{
	const unsigned int page = STACK_SNAPSHOT_PAGE;
	unsigned int first = page - (sp & (page - 1));

	s->stack_bytes = 0;
	if (bpf_probe_read_user(s->stack, first, (void *)sp))
		return;
	s->stack_bytes = first;
	for (unsigned int i = 0; i < STACK_SNAPSHOT_BYTES / STACK_SNAPSHOT_PAGE - 1; i++) {
		__u64 at = first + i * page;

		/* the verifier must see the very value that was compared being used */
		__asm__ volatile("" : "+r"(at));
		if (at > STACK_SNAPSHOT_BYTES - page ||
		    bpf_probe_read_user(s->stack + at, page, (void *)(sp + at)))
			return;
		s->stack_bytes = at + page;
	}
}

/* ---- Python frames ---- */

#define MAX_THREADS 512 /* looked through for the current one */

/* Processes that run CPython, put here by the reader; children inherit it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PROCESSES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* process id */
	__type(value, struct stack_python);
} pythons SEC(".maps");

/* Where a thread's state was found last. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32); /* thread id */
	__type(value, __u64);
} python_threads SEC(".maps");

static __always_inline __u64 user_word(__u64 address)
{
	__u64 value = 0;

	bpf_probe_read_user(&value, sizeof(value), (void *)address);
	return value;
}

/* The state of the thread with this thread pointer: where it was before, or from the list of all.
 */
static __always_inline __u64 find_python_thread(const struct stack_python *p, __u32 tid, __u64 self)
{
	__u64 *known = bpf_map_lookup_elem(&python_threads, &tid), interpreter, thread = 0;

	if (known && user_word(*known + p->thread_id) == self)
		return *known;
	interpreter = user_word(p->interpreters);
	for (int i = 0; i < MAX_THREADS && interpreter; i++) {
		thread = user_word(thread ? thread + p->thread_next
					  : interpreter + p->interpreter_threads);
		if (!thread) {
			interpreter = user_word(interpreter + p->interpreter_next);
			continue;
		}
		if (user_word(thread + p->thread_id) == self) {
			bpf_map_update_elem(&python_threads, &tid, &thread, BPF_ANY);
			return thread;
		}
	}
	return 0;
}

static __always_inline void read_link(const struct stack_python *p, struct stack_python_link *link,
				      __u64 frame)
{
	__u8 owner = 0;
	__u32 line = 0;
	__u64 code;

	link->code = user_word(frame + p->frame_code);
	link->place = user_word(frame + p->frame_place);
	if (p->frame_owner != STACK_PYTHON_NO_OFFSET)
		bpf_probe_read_user(&owner, sizeof(owner), (void *)(frame + p->frame_owner));
	link->owner = owner;
	code = link->code & ~7ull; /* references may be tagged */
	link->text = user_word(code + p->code_text);
	link->text_hash = user_word(link->text + p->text_hash);
	bpf_probe_read_user(&line, sizeof(line), (void *)(code + p->code_first_line));
	link->first_line = line;
}

static __always_inline void read_python(struct stack_snapshot *s, struct task_struct *task)
{
	__u32 pid = s->event.pid;
	struct stack_python *p = bpf_map_lookup_elem(&pythons, &pid);
	__u64 thread, frame;

	s->python_links = 0;
	if (!p)
		return;
	thread = find_python_thread(p, s->event.tid, BPF_CORE_READ(task, thread.fsbase));
	if (!thread)
		return;
	frame = user_word(thread + p->thread_frame);
	if (p->cframe_frame != STACK_PYTHON_NO_OFFSET)
		frame = user_word(frame + p->cframe_frame);
	for (unsigned int i = 0; i < STACK_PYTHON_MAX_LINKS; i++) {
		if (!frame) {
			s->event.flags |= STACK_EVENT_PYTHON_WHOLE;
			return;
		}
		read_link(p, &s->python[i], frame);
		s->python_links = i + 1;
		frame = user_word(frame + p->frame_previous);
	}
}

/* A CPU sample with a copy of the stack instead of a walk. */
SEC("perf_event")
int cpu_snapshot(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 pid = process_of(task), kernel;
	struct stack_snapshot *s;
	struct pt_regs regs;

	if (!pid || !bpf_map_lookup_elem(&tracked, &pid))
		return 0;
	COUNT(samples);
	s = bpf_ringbuf_reserve(&events, sizeof(*s), 0);
	if (!s) {
		COUNT(dropped_samples);
		return 0;
	}
	s->event.time_ns = bpf_ktime_get_ns();
	s->event.pid = pid;
	s->event.tid = pid_in_profiler_ns(task);
	s->event.kind = STACK_EVENT_CPU_SNAPSHOT;
	s->event.launch_function = LAUNCH_NONE;
	s->event.user_frames = 0;
	s->event.flags = 0;
	s->event.padding = 0;
	read_python(s, task);
	kernel = frames_of(bpf_get_stack(ctx, s->kernel, sizeof(s->kernel), 0));
	s->event.kernel_frames = kernel > STACK_EVENT_MAX_FRAMES ? 0 : kernel;
	/* the registers at the entry to the kernel, if the tick came inside it */
	if (bpf_probe_read_kernel(&regs, sizeof(regs), (void *)bpf_task_pt_regs(task)))
		__builtin_memset(&regs, 0, sizeof(regs));
	save_registers(s, &regs);
	copy_stack(s, regs.sp);
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

/* The same program for the two ways of attaching: one link for many places, or one for each. */
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

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	__u32 pid = process_of(task);

	/* the last thread takes the process with it; its number may be used again */
	if (pid && BPF_CORE_READ(task, signal, live.counter) == 0) {
		bpf_map_delete_elem(&tracked, &pid);
		bpf_map_delete_elem(&pythons, &pid);
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
