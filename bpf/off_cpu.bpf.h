/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
/*
 * Accounts the time of followed threads (--wall): on a CPU, blocked, or waiting for a CPU. Exact to
 * the nanosecond, by the scheduler's switches. A thread that leaves its CPU has its stack taken, as
 * often as stack_event.h allows; the rest is summed. Sums are sent when the thread ends, or after
 * the run.
 *
 * This code runs at each switch of the machine, so it avoids helpers: one call takes as long as a
 * third of the rest. A thread's times are in a slot of one large array, found by the address of its
 * kernel stack. A thread that is not followed costs one comparison. Threads whose slot is taken use
 * task storage. Members of a thread are loaded directly.
 *
 * The wait for a CPU is taken from the scheduler's own accounting, so that nothing runs at wakeups.
 * Kernels without it (CONFIG_SCHED_INFO, CONFIG_FAIR_GROUP_SCHED) need a program there.
 *
 * A thread's times change only at its switches, by one CPU at a time. Only its waker writes
 * `woken_ns`, after the switch is over.
 */
#ifndef BPF_OFF_CPU_BPF_H
#define BPF_OFF_CPU_BPF_H

#include "snapshot.bpf.h"

#define MAX_FOLLOWED 65536 /* threads */
#define SLOT_BITS 14       /* slots: 2^14, 10 MiB in all */

/* task->__state (include/linux/sched.h) */
#define STATE_STOPPED 4u
#define STATE_TRACED 8u
#define STATE_DEAD 0x80u
#define STATE_WAKING 0x200u
#define STATE_FROZEN 0x8000u /* by a cgroup v1, since Linux 6.1 */
#define FLAG_EXITING 4u      /* task->flags, PF_EXITING */

#define JOB_FREEZE (1ul << 23) /* task->jobctl, JOBCTL_TRAP_FREEZE: frozen by a cgroup v2 */

/* task->thread_info.status, TS_COMPAT: a system call of the 32-bit ABI */
#define STATUS_COMPAT 2u

#define CALL_FUTEX 202
/* Resumes a call (a sleep, a poll) that a stop has interrupted. */
#define CALL_RESTART 219

/* Set by the loader if times are requested. */
const volatile unsigned int keeps_times;
const volatile unsigned int takes_kernel_waits; /* stacks with the kernel's frames */

/*
 * Set by the reader; 0: not yet. New threads are followed; existing threads are followed, too; time
 * of the run's end.
 */
unsigned int follows_new_threads, times_have_begun;
unsigned long times_over_ns;

/* Set by the loader if moments of times off the CPU are requested, with or without stacks. */
const volatile unsigned int keeps_moments;

/* Set at the start: the program at wakeups is needed. */
unsigned int needs_wakeups;

/* Set at the start: offset of the user's registers in each kernel stack. */
unsigned long registers_at;

/* Provided by the verifier: casts to a pointer to a kernel structure. Linux 6.2. */
static void *(*bpf_rdonly_cast)(const void *pointer, __u32 type) = (void *)STACK_CALL_RDONLY_CAST;

/* Number of threads whose times have not been sent. */
int followed_threads;

#define STACK_NONE 0u    /* free slot */
#define STACK_CLAIMED 1u /* its times are being initialised */

/* The first 64 bytes are one cache line. So is each pair of sums. */
struct slot {
	__u64 stack;     /* task->stack of the owner, or a constant above */
	__u32 is_shared; /* other threads hash to this slot, too */
	__u32 unused;
	struct stack_times times;
};

_Static_assert(sizeof(struct slot) % 64 == 0 && sizeof(struct stack_off_cpu_sum) == 32 &&
		       __builtin_offsetof(struct slot, times.sums) % 64 == 0,
	       "what a switch needs lies in few lines of the cache");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* page-aligned */
	__uint(max_entries, 1);            /* set by the loader */
	__type(key, __u32);
	__type(value, struct slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct stack_times);
} more_times SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64); /* time at which the CPU's stacks so far were due, by the pace */
} paces SEC(".maps");

static __always_inline bool has_delays(void)
{
	struct task_struct *task = 0;
	struct cfs_rq *queue = 0;

	return bpf_core_field_exists(task->sched_info) && bpf_core_field_exists(task->se.cfs_rq) &&
	       bpf_core_field_exists(queue->rq);
}

/* The scheduler's clock of a CPU, read for each switch: using it again costs nothing. */
struct switch_clock {
	__u64 read_ns;  /* its time when CLOCK_MONOTONIC was read */
	__u64 ahead_ns; /* CLOCK_MONOTONIC minus this clock, at that time */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct switch_clock);
} switch_clocks SEC(".maps");

/* In this time the two clocks drift apart by less than a switch takes. */
#define CLOCKS_AGREE_NS 4000000u
#define CLOCKS_DRIFT 2000u /* at most 1/2000: the limit of the kernel's clock adjustment */
#define CLOCK_JUMP_NS 1000000000u

/* Returns the last reading of the clock of the CPU on which the thread runs or waits. */
static __always_inline __u64 clock_of(const struct task_struct *task)
{
	return has_delays() ? BPF_CORE_READ(task, se.cfs_rq, rq, clock) : 0;
}

/*
 * Returns clock_of(task) without the three helper calls at each switch. `casts`: see
 * stack_address.
 */
static __always_inline __u64 clock_at_switch(const struct task_struct *task, const bool casts)
{
	if (!has_delays())
		return 0;
	if (casts)
		task = bpf_rdonly_cast(task, STACK_TYPE_TASK_STRUCT);
	return task->se.cfs_rq->rq->clock;
}

/* Reads CLOCK_MONOTONIC and compares the scheduler's clock with it. Returns its time. */
static __noinline __u64 compare_clocks(struct switch_clock *c, __u64 clock)
{
	__u64 ahead_ns = bpf_ktime_get_ns() - clock, most_ns;

	most_ns = c->ahead_ns + (clock - c->read_ns) / CLOCKS_DRIFT;
	/* the excess is time since the scheduler's reading: a hypervisor took the CPU */
	if (c->read_ns && ahead_ns > most_ns && ahead_ns - most_ns < CLOCK_JUMP_NS)
		ahead_ns = most_ns;
	c->read_ns = clock;
	c->ahead_ns = ahead_ns;
	return clock + ahead_ns;
}

/* Returns the time of a switch by CLOCK_MONOTONIC. `clock`: the scheduler's reading. */
static __always_inline __u64 time_of_switch(__u64 clock)
{
	__u32 zero = 0;
	struct switch_clock *c = bpf_map_lookup_elem(&switch_clocks, &zero);

	if (!has_delays() || !c)
		return bpf_ktime_get_ns();
	if (clock - c->read_ns < CLOCKS_AGREE_NS)
		return clock + c->ahead_ns;
	return compare_clocks(c, clock);
}

/* Returns the slot of a kernel stack. Kernel stacks are page-aligned. */
static __always_inline struct slot *slot_of(__u64 stack)
{
	__u32 at = (__u32)(stack >> 12) * 0x9e3779b1u >> (32 - SLOT_BITS);

	return bpf_map_lookup_elem(&slots, &at);
}

/*
 * Returns the address of a thread's kernel stack as a number. `casts`: without a helper call, which
 * Linux 6.2 and later allow.
 */
static __always_inline __u64 stack_address(struct task_struct *task, const bool casts)
{
	const struct timespec64 *at;

	if (!casts)
		return (__u64)BPF_CORE_READ(task, stack);
	at = bpf_rdonly_cast((void *)task + bpf_core_field_offset(task->stack),
			     STACK_TYPE_TIMESPEC64);
	return at->tv_sec;
}

static __always_inline struct stack_times *times_by(struct task_struct *task, __u64 stack)
{
	struct slot *slot = slot_of(stack);
	struct stack_times *t;

	if (!slot)
		return 0;
	if (slot->stack == stack && stack) /* 0: the thread has ended */
		return &slot->times;
	if (!slot->is_shared || !BPF_CORE_READ(task, bpf_storage))
		return 0;
	t = bpf_task_storage_get(&more_times, task, 0, 0);
	return t && t->pid ? t : 0;
}

static __noinline struct stack_times *times_of(struct task_struct *task)
{
	return times_by(task, stack_address(task, 0));
}

/*
 * Allocates times for a thread; not found by others before publish_times. Returns 0 if there is no
 * room. `*slot` is 0 if task storage holds the times. If two CPUs claim one slot at once, the first
 * loses it, and its thread counts as lost.
 */
static __always_inline struct stack_times *make_times(struct task_struct *task, struct slot **slot)
{
	__u64 stack = stack_address(task, 0);

	*slot = slot_of(stack);
	if (!*slot || !stack || followed_threads >= MAX_FOLLOWED)
		return 0;
	if (!(*slot)->stack) {
		(*slot)->stack = STACK_CLAIMED;
		return &(*slot)->times;
	}
	(*slot)->is_shared = 1;
	*slot = 0;
	return bpf_task_storage_get(&more_times, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* Publishes times: from here on another CPU may switch the thread and change them. */
static __always_inline void publish_times(struct task_struct *task, struct slot *slot,
					  struct stack_times *t, __u32 pid)
{
	__sync_fetch_and_add(&followed_threads, 1);
	barrier();
	t->pid = pid;
	if (slot)
		slot->stack = stack_address(task, 0);
}

static __always_inline void drop_times(struct stack_times *t, struct slot *slot)
{
	__sync_fetch_and_add(&followed_threads, -1);
	t->pid = 0;
	if (slot)
		slot->stack = STACK_NONE;
}

/* Frees a thread's times after they were sent. */
static __always_inline void forget_times(struct task_struct *task, struct stack_times *t)
{
	__u64 stack = stack_address(task, 0);
	struct slot *slot = slot_of(stack);

	drop_times(t, slot && slot->stack == stack ? slot : 0);
}

/* Caches the process's Python layout: a look-up at each futex would cost too much. */
static __always_inline void note_python(struct stack_times *t, __u32 pid)
{
	const struct stack_python *python = bpf_map_lookup_elem(&pythons, &pid);

	t->python_runtime = python ? python->runtime : 0;
	t->python_bytes = python ? python->runtime_bytes : 0;
}

/* Begins a thread's times. Old content may be an earlier program's. */
static __always_inline void begin_times(struct stack_times *t, __u32 pid, __u32 tid, bool is_new)
{
	__builtin_memset(t, 0, sizeof(*t));
	t->tid = tid;
	t->since_ns = bpf_ktime_get_ns();
	t->kind = t->sums[0].kind = STACK_OFF_CPU_NEW;
	t->sums[0].is_used = 1;
	t->is_off = t->is_runnable = is_new;
	if (is_new)
		note_python(t, pid);
}

/* Follows a thread: a new one that waits for a CPU, or the current one. */
static __always_inline void follow_times(struct task_struct *task, __u32 pid, __u32 tid,
					 bool is_new)
{
	struct slot *slot;
	struct stack_times *t = make_times(task, &slot);

	if (!t) {
		COUNT(unfollowed_times);
		return;
	}
	begin_times(t, pid, tid, is_new);
	t->is_hidden = !may_look_into(task);
	publish_times(task, slot, t, pid);
}

/* Returns 0 if the CPU exceeds its pace of stacks. */
static __always_inline bool is_within_pace(__u64 now_ns, __u32 ahead)
{
	__u32 zero = 0;
	__u64 *due_ns = bpf_map_lookup_elem(&paces, &zero);

	if (!due_ns || *due_ns > now_ns + ahead * (__u64)STACK_OFF_CPU_PACE_NS)
		return 0;
	*due_ns = (*due_ns > now_ns ? *due_ns : now_ns) + STACK_OFF_CPU_PACE_NS;
	return 1;
}

/* Returns 0 if the thread has had too many stacks at this site. */
static __always_inline bool is_seldom(struct stack_off_cpu_sum *sum, __u64 now_ns)
{
	const __s32 least = STACK_OFF_CPU_EVERY_NS >> STACK_OFF_CPU_DUE_BITS;
	__s32 every = sum->interval > STACK_OFF_CPU_OFTEN_BITS ? 4 * least : least;
	__u32 now = now_ns >> STACK_OFF_CPU_DUE_BITS;
	__s32 ahead = sum->due ? (__s32)(sum->due - now) : 0;

	if (ahead > (__s32)STACK_OFF_CPU_AHEAD * least)
		return 0;
	sum->due = now + (ahead > 0 ? ahead : 0) + every;
	return 1;
}

/* Finds or makes the thread's sum for its kind and site. */
static __noinline __u32 find_sum(struct stack_times *t)
{
	const __u32 last = STACK_OFF_CPU_SUMS - 1;
	__u32 kind = t->kind, site = t->site, same = last, next;

	/* used sums come first */
	for (next = 0; next < STACK_OFF_CPU_SUMS; next++) {
		struct stack_off_cpu_sum *s = &t->sums[next];

		if (!s->is_used)
			break;
		if (s->kind != kind)
			continue;
		if (s->site == site || s->site == STACK_OFF_CPU_ANY_SITE)
			return next;
		same = next;
	}
	if (next < (same == last ? last : STACK_OFF_CPU_SITES)) {
		t->sums[next & last].is_used = 1;
		t->sums[next & last].kind = kind;
		t->sums[next & last].site = site;
		return next;
	}
	/* no room: share a sum between sites of a kind, or between kinds */
	t->sums[same & last].is_used = 1;
	t->sums[same & last].site = STACK_OFF_CPU_ANY_SITE;
	if (same == last)
		t->sums[last].kind = STACK_OFF_CPU_MIXED;
	return same;
}

/* Returns the sum for kind and site; usually the last one used. */
static __always_inline struct stack_off_cpu_sum *choose_sum(struct stack_times *t)
{
	struct stack_off_cpu_sum *before = &t->sums[t->sum & (STACK_OFF_CPU_SUMS - 1)];

	if (before->kind == t->kind && before->site == t->site && before->is_used)
		return before;
	t->sum = find_sum(t);
	return &t->sums[t->sum & (STACK_OFF_CPU_SUMS - 1)];
}

static __always_inline __u32 kind_of(struct task_struct *task, struct stack_times *t, __u32 state,
				     const struct pt_regs *regs)
{
	__u64 number = regs->orig_ax;

	if (task->flags & FLAG_EXITING)
		return STACK_OFF_CPU_EXITING;
	if (t->is_runnable)
		return STACK_OFF_CPU_RUNNABLE;
	if (state & (STATE_STOPPED | STATE_TRACED | STATE_FROZEN) || task->jobctl & JOB_FREEZE)
		return STACK_OFF_CPU_STOPPED;
	if (t->is_hidden)
		return STACK_OFF_CPU_OTHER_CALL;
	if ((__s64)number < 0)
		return BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait) ? STACK_OFF_CPU_DISK
								      : STACK_OFF_CPU_PAGE_FAULT;
	if (number >= STACK_OFF_CPU_CALLS || task->thread_info.status & STATUS_COMPAT)
		return STACK_OFF_CPU_OTHER_CALL;
	if (number == CALL_RESTART && t->call)
		number = t->call;
	t->call = number;
	if (number == CALL_FUTEX && regs->di - t->python_runtime < t->python_bytes)
		return STACK_OFF_CPU_GIL;
	return number;
}

/* Returns true if the system call reads or writes the file in its first argument. */
static __always_inline bool has_file(__u32 number)
{
	const __u64 first = 1u << 0 | 1u << 1 |      /* read, write */
			    1u << 17 | 1u << 18 |    /* pread64, pwrite64 */
			    1u << 19 | 1u << 20;     /* readv, writev */
	const __u64 later = 1u << 0 | 1u << 1 |      /* preadv, pwritev */
			    1ull << 32 | 1ull << 33; /* preadv2, pwritev2 */

	return number < 64 ? first >> number & 1 : number - 295 < 64 && later >> (number - 295) & 1;
}

/*
 * Returns the type of the file that a blocked thread reads or writes, as in S_IFMT; 0 if none or
 * unknown. (The call holds the file, but another thread may have replaced its descriptor.)
 */
static __always_inline __u32 file_type_of(struct task_struct *task, __u32 kind,
					  const struct pt_regs *regs)
{
	__u32 descriptor = regs->di;
	struct file *file = 0;
	struct fdtable *table;

	if (!has_file(kind))
		return 0;
	table = BPF_CORE_READ(task, files, fdt);
	if (descriptor >= BPF_CORE_READ(table, max_fds) ||
	    bpf_probe_read_kernel(&file, sizeof(file), BPF_CORE_READ(table, fd) + descriptor))
		return 0;
	return BPF_CORE_READ(file, f_inode, i_mode) & STACK_EVENT_FILE_TYPE;
}

static __always_inline __u32 site_of(const struct stack_times *t, const struct pt_regs *regs)
{
	__u64 site = (regs->sp ^ (regs->ip << 20)) * 0x9e3779b97f4a7c15ull >> 32;

	return t->kind == STACK_OFF_CPU_RUNNABLE || t->is_hidden || site == 0
		       ? STACK_OFF_CPU_ANY_SITE
		       : site;
}

/* Sends the times up to since_ns. Returns 0 if the ring is full. */
static __always_inline bool send_times(const struct stack_times *t, __u32 flags)
{
	struct stack_thread_times *record = bpf_ringbuf_reserve(&events, sizeof(*record), 0);

	if (!record)
		return 0;
	describe(&record->event, t->since_ns, t->pid, t->tid, STACK_EVENT_THREAD_TIMES, 0,
		 sizeof(*record));
	record->event.flags = flags;
	bpf_probe_read_kernel(&record->times, sizeof(record->times), t);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 1;
}

/* Sends and frees the times of a thread that has ended. */
static __noinline int end_times(struct task_struct *task, struct stack_times *t, __u32 flags)
{
	if (!send_times(t, flags))
		COUNT(lost_times);
	forget_times(task, t);
	return 0;
}

/*
 * Starts times over after exec, as the new process's first thread. Sends the old program's times;
 * if the ring is full, the new program keeps them.
 */
static __always_inline void start_times_over(struct task_struct *task, struct stack_times *t,
					     __u32 pid)
{
	__u64 now_ns = bpf_ktime_get_ns();

	t->ran_ns += now_ns - t->since_ns;
	t->since_ns = now_ns;
	if (send_times(t, STACK_EVENT_EXEC)) {
		begin_times(t, pid, pid, 0);
		t->pid = pid;
	} else {
		t->tid = pid;
	}
	t->is_hidden = !may_look_into(task);
}

/*
 * Returns true if a stack is to be taken. Doubles the interval if stacks are too frequent for the
 * site or the pace, else halves it.
 */
static __always_inline bool is_stack_due(struct stack_off_cpu_sum *sum, __u64 now_ns)
{
	bool takes = is_within_pace(now_ns, sum->due ? STACK_OFF_CPU_PACE_AHEAD
						     : STACK_OFF_CPU_FIRST_AHEAD);

	if (takes && is_seldom(sum, now_ns))
		sum->interval -= sum->interval > 0;
	else
		sum->interval += sum->interval < STACK_OFF_CPU_INTERVAL_BITS;
	sum->skipped = bpf_get_prandom_u32() % ((2u << (sum->interval & 31)) - 1);
	return takes;
}

/* Takes the stack of the current thread, which leaves the CPU, if one is due. */
static __noinline int take_off_cpu(void *ctx, struct task_struct *task, struct stack_times *t)
{
	struct stack_off_cpu_sum *sum = &t->sums[t->sum & (STACK_OFF_CPU_SUMS - 1)];
	struct taken taken = {.kind = STACK_EVENT_OFF_CPU};
	struct pt_regs regs;
	__u64 began_ns;

	if (!is_stack_due(sum, t->since_ns) || !BPF_CORE_READ(task, mm))
		return 0;
	if (bpf_probe_read_kernel(&regs, sizeof(regs), (void *)bpf_task_pt_regs(task)))
		return 0;
	taken.sight.pid = t->pid;
	begin_taking(&taken, task, regs.sp);
	began_ns = taken.sight.time_ns;
	taken.sight.time_ns = t->since_ns;
	taken.sight.tid = t->tid;
	t->is_hidden = taken.is_hidden;
	if (!t->is_hidden)
		taken.flags |= file_type_of(task, t->kind, &regs);
	if (takes_kernel_waits)
		t->has_stack = send_snapshot(&taken, &regs, ctx, 1, STACK_CALL_BYTES);
	else
		t->has_stack = send_snapshot(&taken, &regs, ctx, 0, STACK_CALL_BYTES);
	note_python(t, t->pid);
	__sync_fetch_and_add(&counters.switch_ns, bpf_ktime_get_ns() - began_ns);
	return 0;
}

/*
 * Copies a stack like copy_stack (snapshot.bpf.h), but of another thread. Its pages may be swapped
 * in for this.
 */
static __always_inline __u32 copy_stack_of(struct task_struct *task, void *to,
					   const unsigned int limit, __u64 sp, __u64 above)
{
	const unsigned int page = STACK_SNAPSHOT_PAGE;
	__u32 first = page - (sp & (page - 1)), copied = 0;

	if (above > limit)
		above = limit;
	if (!bpf_copy_from_user_task(to, above, (void *)sp, task, 0))
		return above;
	if (first > above)
		first = above;
	first &= 2 * page - 1; /* shows the verifier that it is one page at most */
	if (first > page || first > limit ||
	    bpf_copy_from_user_task(to, first, (void *)sp, task, 0))
		return 0;
	copied = first;
	for (unsigned int i = 0; i + 1 < limit / page; i++) {
		__u64 at = first + i * page;

		__asm__ volatile("" : "+r"(at));
		if (at >= above || at > limit - page)
			break;
		if (bpf_copy_from_user_task(to + at, page, (void *)(sp + at), task, 0))
			break;
		copied = at + page;
	}
	return copied > above ? above : copied;
}

/* Sends the stack in a record of `bytes`, which is constant. */
static __always_inline bool send_stack_with_room(struct task_struct *task,
						 const struct stack_times *t,
						 const struct pt_regs *regs, __u64 above,
						 const __u32 bytes)
{
	const __u32 at = sizeof(struct stack_snapshot), size = at + bytes;
	struct stack_snapshot *s = bpf_ringbuf_reserve(&events, size, 0);
	__u64 since_ns = t->since_ns;

	if (!s)
		return 0;
	describe(&s->event, since_ns, t->pid, t->tid, STACK_EVENT_OFF_CPU, 0, size);
	bpf_probe_read_kernel(s->event.comm, sizeof(s->event.comm), task->comm);
	s->event.comm[sizeof(s->event.comm) - 1] = 0;
	s->event.flags = file_type_of(task, t->kind, regs);
	s->ran_ns = 0;
	save_registers(s, regs);
	s->kernel_at = s->stack_at = at;
	s->python_at = 0;
	s->stack_above = above;
	s->interrupted_start = s->interrupted_above = 0;
	s->interrupted_at = s->interrupted_bytes = 0;
	s->stack_bytes = copy_stack_of(task, (void *)s + at, bytes, regs->sp, above);
	restore_returns(task, (void *)s + at, bytes, regs->sp, s->stack_bytes);
	if (t->since_ns != since_ns || !t->is_off) { /* the thread has run meanwhile */
		bpf_ringbuf_discard(s, BPF_RB_NO_WAKEUP);
		return 0;
	}
	bpf_ringbuf_submit(s, wakeup_flags(size));
	return 1;
}

/* Sends the stack of a thread that left the CPU before it was followed. */
static __always_inline bool send_stack_of(struct task_struct *task, const struct stack_times *t,
					  const struct pt_regs *regs)
{
	struct taken taken = {0};

	begin_taking(&taken, task, regs->sp);
	if (taken.is_hidden || taken.flags & STACK_EVENT_NO_MEMORY)
		return 0;
	if (taken.above <= STACK_TINY_BYTES)
		return send_stack_with_room(task, t, regs, taken.above, STACK_TINY_BYTES);
	if (taken.above <= STACK_SMALL_BYTES)
		return send_stack_with_room(task, t, regs, taken.above, STACK_SMALL_BYTES);
	return send_stack_with_room(task, t, regs, taken.above, STACK_CALL_BYTES);
}

/*
 * Returns true if the thread has a CPU in on_switch's sense. The scheduler sets `curr` to the next
 * thread before that runs, but clears on_cpu of the previous one only afterwards.
 */
static __always_inline bool has_cpu(const struct task_struct *task)
{
	return has_delays() ? BPF_CORE_READ(task, se.cfs_rq, rq, curr) == task
			    : BPF_CORE_READ(task, on_cpu);
}

/* Begins the times of a thread that left the CPU before it was followed. */
static __always_inline void begin_off_cpu(struct task_struct *task, struct stack_times *t,
					  __u32 pid, const struct pt_regs *regs)
{
	__u32 state = task->__state;

	note_python(t, pid);
	t->is_runnable = state == 0 || state == STATE_WAKING;
	t->delay_ns = has_delays() ? task->sched_info.run_delay : 0;
	t->kind = kind_of(task, t, state, regs);
	t->site = site_of(t, regs);
	choose_sum(t);
	t->is_off = 1;
}

/*
 * Returns the system call that a stop interrupted before the thread was followed. Reads it from the
 * code "mov $NUMBER,%eax; syscall". Returns 0 if unknown.
 */
static __always_inline __u16 restarted_call(struct task_struct *task, const struct pt_regs *regs)
{
	const __u64 syscall_bytes = 2;
	struct {
		__u8 move;
		__u32 number;
	} __attribute__((packed)) code;

	if (regs->orig_ax != CALL_RESTART ||
	    bpf_copy_from_user_task(&code, sizeof(code),
				    (void *)(regs->ip - syscall_bytes - sizeof(code)), task, 0) ||
	    code.move != 0xb8 || code.number >= STACK_OFF_CPU_CALLS)
		return 0;
	return code.number;
}

/*
 * Follows an existing thread, on or off the CPU. Once its times are published, on_switch sees each
 * switch and has the last word. A thread marked as off that came unseen is detected by the
 * scheduler's state. A thread that left unseen is still marked as on.
 */
static __always_inline void follow_running(struct task_struct *task, __u32 pid)
{
	struct slot *slot;
	struct stack_times *t = make_times(task, &slot);
	struct pt_regs regs;

	if (!t) {
		COUNT(unfollowed_times);
		return;
	}
	if (bpf_probe_read_kernel(&regs, sizeof(regs), (void *)bpf_task_pt_regs(task)))
		__builtin_memset(&regs, 0, sizeof(regs));
	begin_times(t, pid, pid_in_profiler_ns(task), 0);
	t->is_hidden = !may_look_into(task);
	if (!t->is_hidden)
		t->call = restarted_call(task, &regs);
	if (!has_cpu(task))
		begin_off_cpu(task, t, pid, &regs);
	publish_times(task, slot, t, pid);
	if (!t->is_off && !has_cpu(task))
		begin_off_cpu(task, t, pid, &regs);
	if (task->__state & STATE_DEAD && t->pid) { /* no switch will do this */
		drop_times(t, slot);
		return;
	}
	if (t->is_off && !has_cpu(task))
		t->has_stack = send_stack_of(task, t, &regs);
}

static __noinline bool send_on_cpu(const struct stack_times *t, __u64 left_ns, __u64 now_ns,
				   __u64 blocked_ns)
{
	struct stack_on_cpu record = {.event = {.time_ns = now_ns,
						.pid = t->pid,
						.tid = t->tid,
						.kind = STACK_EVENT_ON_CPU,
						.size = sizeof(record)},
				      .left_ns = left_ns,
				      .blocked_ns = blocked_ns,
				      .runnable_ns = now_ns - left_ns - blocked_ns,
				      .kind = t->kind,
				      .site = t->site};

	return bpf_ringbuf_output(&events, &record, sizeof(record), BPF_RB_NO_WAKEUP) == 0;
}

/* Returns the part of its time off the CPU that a thread waited for one, by its CPU's clock. */
static __always_inline __u64 delay_of(const struct task_struct *task, const struct stack_times *t,
				      __u64 now_ns, __u64 clock)
{
	__u64 delay = 0, queued;

	if (!has_delays())
		return t->woken_ns ? now_ns - t->woken_ns : 0;
	queued = task->sched_info.last_queued;
	if (queued && clock > queued)
		delay = clock - queued;
	return delay + task->sched_info.run_delay - t->delay_ns;
}

/* Ends a thread's time off the CPU. */
static __always_inline void end_off_cpu(struct task_struct *task, struct stack_times *t,
					__u64 now_ns, __u64 clock)
{
	struct stack_off_cpu_sum *sum = &t->sums[t->sum & (STACK_OFF_CPU_SUMS - 1)];
	__u64 since = t->since_ns, blocked = 0, delay;

	if (now_ns < since) /* clocks of two CPUs differ */
		now_ns = since;
	t->since_ns = now_ns;
	if (!t->is_off)
		return;
	t->is_off = 0;
	if (!t->is_runnable) {
		delay = delay_of(task, t, now_ns, clock);
		blocked = delay < now_ns - since ? now_ns - since - delay : 0;
	}
	if (t->is_in_call) {
		t->in_calls_ns += now_ns - since;
		return;
	}
	if ((t->has_stack || (keeps_moments && now_ns - since >= STACK_OFF_CPU_MOMENT_NS)) &&
	    send_on_cpu(t, since, now_ns, blocked))
		return;
	sum->blocked_ns += blocked;
	sum->runnable_ns += now_ns - since - blocked;
}

/* Returns the time at which the running thread got its CPU, by the scheduler's accounting. */
static __always_inline __u64 arrival_of(const struct task_struct *task, __u64 now_ns)
{
	__u64 clock = clock_of(task), came = has_delays() ? task->sched_info.last_arrival : clock;

	return clock > came ? now_ns - (clock - came) : now_ns;
}

/*
 * Ends a time off the CPU of a running thread whose arrival was not seen. A kernel may hide
 * switches of a process that it protects, which also hides the next thread's arrival. (Seen with a
 * virtual machine's agent.)
 */
static __noinline int end_off_cpu_unseen(struct task_struct *task, struct stack_times *t,
					 __u64 now_ns)
{
	end_off_cpu(task, t, arrival_of(task, now_ns), clock_of(task));
	return 0;
}

#endif
