/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
/*
 * Sends a struct stack_snapshot (stack_event.h) of the current thread: registers, the chain of
 * Python frames, and a copy of the stack, without the effects of return probes. Unreadable parts
 * (paged out, unmapped, torn) are 0 or cut.
 */
#ifndef BPF_SNAPSHOT_BPF_H
#define BPF_SNAPSHOT_BPF_H

#include "access.bpf.h"
#include "interrupted.bpf.h"
#include "python.bpf.h"

/* Saves registers in DWARF's order: rax rdx rcx rbx rsi rdi rbp rsp r8..r15 pc. */
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
 * Copies all that fits, else page by page. With an unknown end of the stack, the first missing page
 * ends the copy, since memory ends at a page. Otherwise missing pages become zeros: large buffers
 * have pages that were never written.
 */
static __always_inline __u32 copy_stack(void *to, const unsigned int limit, __u64 sp, __u64 above)
{
	const unsigned int page = STACK_SNAPSHOT_PAGE;
	__u64 first = page - (sp & (page - 1)), copied;
	bool is_known = above != STACK_ABOVE_UNKNOWN;

	if (above > limit)
		above = limit;
	if (!bpf_probe_read_user(to, above, (void *)sp))
		return above;
	if (first > limit)
		first = limit;
	if (bpf_probe_read_user(to, first, (void *)sp))
		return 0;
	copied = first;
	for (unsigned int i = 0; i + 1 < limit / page; i++) {
		__u64 at = first + i * page;

		/* makes the verifier see that the compared value is the one used */
		__asm__ volatile("" : "+r"(at));
		if (at > limit - page)
			break;
		/* unreadable bytes become zeros */
		if (bpf_probe_read_user(to + at, page, (void *)(sp + at)) && !is_known)
			break;
		copied = at + page;
	}
	return is_known && copied > above ? above : copied;
}

/* ---- return addresses replaced by anybody's return probes ---- */

#define RETURN_PROBES_MOST 16 /* per thread: the most recent ones */

/* Returns the address to which probed functions return (the kernel's "[uprobes]" mapping). */
static __always_inline __u64 trampoline_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
}

/* A walk over the replaced return addresses. */
struct return_walk {
	__u64 task;      /* the thread's struct task_struct */
	__u64 sp, bytes; /* the copied part of its stack */
	struct return_instance *next;
	__u64 trampoline;
	__u64 at;      /* offset of the current one in the copy */
	__u64 is, was; /* replacement and original; ~0: not in the copy */
};

/* Begins the walk. Returns 0 if there are none. */
__noinline int begin_return_walk(struct return_walk *w)
{
	struct return_instance *instance = 0;
	struct task_struct *task;

	if (!w)
		return 0;
	task = (struct task_struct *)w->task;
	if (!bpf_core_field_exists(task->utask) || !bpf_core_field_exists(instance->stack) ||
	    !bpf_core_field_exists(instance->orig_ret_vaddr) ||
	    !bpf_core_field_exists(instance->next))
		return 0;
	w->next = BPF_CORE_READ(task, utask, return_instances);
	if (!w->next)
		return 0;
	w->trampoline = trampoline_of(task);
	return 1;
}

/* Takes the most recent one. Returns 0 if it was the last. */
__noinline int step_return_walk(struct return_walk *w)
{
	struct return_instance *instance;

	if (!w)
		return 0;
	instance = w->next;
	w->at = BPF_CORE_READ(instance, stack) - w->sp;
	w->is = w->trampoline;
	w->was = BPF_CORE_READ(instance, orig_ret_vaddr);
	if (w->at >= w->bytes || w->bytes - w->at < sizeof(__u64) || w->at % sizeof(__u64))
		w->is = w->was = ~0ull;
	w->next = BPF_CORE_READ(instance, next);
	return w->next != 0;
}

/*
 * Restores the next return address in a copy of `limit` bytes, a power of two. Entries left behind
 * by longjmp no longer match the stack. So only the kernel's address is replaced, by the most
 * recent entry. No branches, each of which the verifier would follow.
 */
static __always_inline int restore_next(struct return_walk *w, void *copy, const __u32 limit)
{
	int has_more = step_return_walk(w);
	__u64 *word = copy + (w->at & (limit - sizeof(*word)));
	__u64 differs = *word ^ w->is;
	__u64 all_if_equal = ((differs | -differs) >> 63) - 1;

	*word ^= (*word ^ w->was) & all_if_equal;
	return has_more;
}

/* Not inlined: each is verified once per program, from all callers. */
#define RESTORE_RETURNS(name, limit)                                                        \
	struct name##_copy {                                                                \
		__u8 bytes[limit];                                                          \
	};                                                                                  \
	__noinline int restore_next_##name(struct return_walk *w, struct name##_copy *copy) \
	{                                                                                   \
		return w && copy ? restore_next(w, copy, limit) : 0;                        \
	}                                                                                   \
	__noinline int restore_##name(struct return_walk *w, struct name##_copy *copy)      \
	{                                                                                   \
		if (!w || !copy || !begin_return_walk(w))                                   \
			return 0;                                                           \
		for (int i = 0; i < RETURN_PROBES_MOST; i++)                                \
			if (!restore_next_##name(w, copy))                                  \
				return 0;                                                   \
		return 0;                                                                   \
	}

RESTORE_RETURNS(tiny, STACK_TINY_BYTES)
RESTORE_RETURNS(small, STACK_SMALL_BYTES)
RESTORE_RETURNS(call, STACK_CALL_BYTES)
RESTORE_RETURNS(handler, STACK_HANDLER_BYTES)
RESTORE_RETURNS(snapshot, STACK_SNAPSHOT_BYTES)

/* Removes the effects of return probes from a copy. `limit`, its size, is constant. */
static __always_inline void restore_returns(struct task_struct *task, void *copy, const __u32 limit,
					    __u64 sp, __u32 bytes)
{
	struct return_walk w = {.task = (__u64)task, .sp = sp, .bytes = bytes};

	if (limit == STACK_TINY_BYTES)
		restore_tiny(&w, copy);
	else if (limit == STACK_SMALL_BYTES)
		restore_small(&w, copy);
	else if (limit == STACK_CALL_BYTES)
		restore_call(&w, copy);
	else if (limit == STACK_HANDLER_BYTES)
		restore_handler(&w, copy);
	else
		restore_snapshot(&w, copy);
}

struct taken {
	struct python_sight sight;
	__u64 above; /* bytes of the stack, or STACK_ABOVE_UNKNOWN */
	__u64 first; /* beginning of the process's first stack; 0: no memory */
	struct interrupted interrupted;
	__u64 mm;     /* address of the thread's struct mm_struct */
	__u64 ran_ns; /* as in struct stack_snapshot */
	__u32 flags;
	__u16 kind, function;
	__u8 is_hidden;  /* the user may not look into the task */
	__u8 is_in_exec; /* the task executes another program */
};

/*
 * Returns 1 if a process without memory was open to the user before its exit. With memory, notes
 * that the process is not open.
 */
__noinline int was_open(__u32 pid, int has_memory)
{
	__u32 key = pid; /* before Linux 6.2 keys must be on the stack */
	struct stack_process *process = bpf_map_lookup_elem(&tracked, &key);

	if (!process)
		return 0;
	if (has_memory)
		process->is_open = 0;
	return process->is_open;
}

/*
 * Returns the bytes from the stack pointer to the stack's beginning, or STACK_ABOVE_UNKNOWN. The
 * process's first stack begins at its arguments (`first`), a thread's at the C library's thread
 * data
 * (`self`). Another stack does not reach across either. At a process's first instruction the stack
 * holds the number of arguments only.
 */
static __always_inline __u64 above_of(__u64 first, __u64 self, __u64 sp)
{
	__u64 above = first > sp ? first - sp : STACK_ABOVE_UNKNOWN;

	if (first == sp)
		above = sizeof(first); /* before its first instruction: no caller */
	if (self > sp && self - sp < above)
		above = self - sp;
	return above;
}

static __always_inline void begin_taking(struct taken *t, struct task_struct *task, __u64 sp)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	__u64 first = BPF_CORE_READ(mm, start_stack);
	__u64 self = task->thread.fsbase;

	t->sight.time_ns = bpf_ktime_get_ns();
	t->sight.self = self;
	t->sight.tid = current_tid(task);
	t->mm = (__u64)mm;
	t->first = first;
	t->above = above_of(first, self, sp);
	t->interrupted.sp = sp;
	t->interrupted.low = task->sas_ss_sp;
	t->interrupted.bytes = task->sas_ss_size;
	/* no branch: the verifier would process all that follows twice */
	t->is_in_exec = BPF_CORE_READ_BITFIELD_PROBED(task, in_execve);
	t->flags |= STACK_EVENT_IN_EXEC * t->is_in_exec;
	if (!mm) {
		t->flags = STACK_EVENT_NO_MEMORY;
		t->above = 0;
	}
	t->is_hidden = !may_look_into(task) && !was_open(t->sight.pid, mm != 0);
	t->flags |= STACK_EVENT_NO_ACCESS * t->is_hidden;
}

/* Sends a snapshot of a task that the user may not look into. Returns 0 if the ring is full. */
__noinline int send_hidden(const struct taken *t)
{
	const __u32 size = sizeof(struct stack_snapshot);
	struct stack_snapshot *s;

	if (!t)
		return 0;
	s = bpf_ringbuf_reserve(&events, size, 0);
	if (!s)
		return 0;
	__builtin_memset(s, 0, size);
	describe(&s->event, t->sight.time_ns, t->sight.pid, t->sight.tid, t->kind, t->function,
		 size);
	s->event.flags = t->flags;
	s->ran_ns = t->ran_ns;
	s->kernel_at = s->stack_at = size;
	bpf_ringbuf_submit(s, wakeup_flags(size));
	return 1;
}

/*
 * Reserves a record and reads its Python frames; the stack's part serves as scratch. Records keep
 * the order of reservation. So if code objects were sent meanwhile, reserves again behind them.
 */
static __always_inline void *reserve_with_python(const struct taken *t,
						 const struct stack_python *python,
						 const __u32 python_at, const __u32 stack_at,
						 const __u32 size)
{
	void *record = bpf_ringbuf_reserve(&events, size, 0), *behind;

	_Static_assert(sizeof(struct python_scratch) <= STACK_TINY_BYTES, "fits into any record");
	if (!record || !read_python(python, record + python_at, &t->sight, record + stack_at))
		return record;
	behind = bpf_ringbuf_reserve(&events, size, 0);
	if (behind)
		bpf_probe_read_kernel(behind + python_at, sizeof(struct stack_python_chain),
				      record + python_at);
	bpf_ringbuf_discard(record, BPF_RB_NO_WAKEUP);
	return behind;
}

/* Copies a stack of the current thread without effects of return probes. Returns its bytes. */
static __always_inline __u32 copy_and_restore(void *to, const __u32 limit, __u64 sp, __u64 above)
{
	__u32 copied = copy_stack(to, limit, sp, above);

	restore_returns(bpf_get_current_task_btf(), to, limit, sp, copied);
	return copied;
}

/* Copies an alternate stack and, behind it, the interrupted one. */
#define COPY_BOTH_STACKS(name, limit)                                                         \
	struct both_##name##_stacks {                                                         \
		__u8 handler[STACK_HANDLER_BYTES];                                            \
		__u8 stack[limit];                                                            \
	};                                                                                    \
	__noinline int copy_both_##name##_stacks(struct both_##name##_stacks *to,             \
						 struct interrupted *i)                       \
	{                                                                                     \
		if (!to || !i)                                                                \
			return 0;                                                             \
		i->handler_copied = copy_and_restore(to->handler, STACK_HANDLER_BYTES, i->sp, \
						     i->low + i->bytes - i->sp);              \
		i->copied = copy_and_restore(to->stack, limit, i->start, i->above);           \
		return 0;                                                                     \
	}

COPY_BOTH_STACKS(call, STACK_CALL_BYTES)
COPY_BOTH_STACKS(snapshot, STACK_SNAPSHOT_BYTES)

static __always_inline void copy_both_stacks(void *to, const __u32 limit, struct interrupted *i)
{
	if (limit == STACK_CALL_BYTES)
		copy_both_call_stacks(to, i);
	else
		copy_both_snapshot_stacks(to, i);
}

/*
 * Sends a snapshot in a record of fixed size. `has_kernel`: with kernel frames from `ctx`.
 * `handler_bytes`: room for an alternate stack, besides `bytes` for the interrupted one; 0: there
 * is only one stack. Sizes and conditions are constant.
 */
static __always_inline bool send_with_room(struct taken *t, const struct pt_regs *regs, void *ctx,
					   const bool has_kernel, const struct stack_python *python,
					   const __u32 handler_bytes, const __u32 bytes)
{
	const __u32 kernel_at = sizeof(struct stack_snapshot);
	const __u32 python_at =
		kernel_at + (has_kernel ? STACK_EVENT_MAX_FRAMES * sizeof(__u64) : 0);
	const __u32 stack_at = python_at + (python ? sizeof(struct stack_python_chain) : 0);
	const __u32 interrupted_at = stack_at + handler_bytes, size = interrupted_at + bytes;
	const struct stack_python_chain *chain;
	struct stack_snapshot *s;
	unsigned long wakeup;

	if (python)
		s = reserve_with_python(t, python, python_at, stack_at, size);
	else
		s = bpf_ringbuf_reserve(&events, size, 0);
	if (!s)
		return 0;
	describe(&s->event, t->sight.time_ns, t->sight.pid, t->sight.tid, t->kind, t->function,
		 size);
	s->event.flags = t->flags;
	s->ran_ns = t->ran_ns;
	save_registers(s, regs);
	s->kernel_at = kernel_at;
	s->python_at = python ? python_at : 0;
	s->stack_at = stack_at;
	s->stack_above = handler_bytes ? STACK_ABOVE_UNKNOWN : t->above;
	s->interrupted_start = s->interrupted_above = 0;
	s->interrupted_at = s->interrupted_bytes = 0;
	if (has_kernel) {
		long kernel = bpf_get_stack(ctx, (void *)s + kernel_at,
					    STACK_EVENT_MAX_FRAMES * sizeof(__u64), 0);

		s->event.kernel_frames = kernel > 0 ? kernel / sizeof(__u64) : 0;
	}
	if (handler_bytes) {
		copy_both_stacks((void *)s + stack_at, bytes, &t->interrupted);
		s->interrupted_start = t->interrupted.start;
		s->interrupted_above = t->interrupted.above;
		s->interrupted_at = interrupted_at;
		s->stack_bytes = t->interrupted.handler_copied;
		s->interrupted_bytes = t->interrupted.copied;
	} else {
		s->stack_bytes = copy_and_restore((void *)s + stack_at, bytes, regs->sp, t->above);
	}
	chain = (void *)s + python_at;
	wakeup = wakeup_flags(size);
	/* the reader gets the thread's name while it runs, which may not be for long */
	if (python && chain->is_first)
		wakeup = BPF_RB_FORCE_WAKEUP;
	bpf_ringbuf_submit(s, wakeup);
	return 1;
}

/* Sends a snapshot in the smallest record that fits the stack, or in the largest. */
static __always_inline bool send_fitting(struct taken *t, const struct pt_regs *regs, void *ctx,
					 const bool has_kernel, const struct stack_python *python,
					 const __u32 limit)
{
	if (t->interrupted.start)
		return send_with_room(t, regs, ctx, has_kernel, python, STACK_HANDLER_BYTES, limit);
	if (t->above <= STACK_TINY_BYTES)
		return send_with_room(t, regs, ctx, has_kernel, python, 0, STACK_TINY_BYTES);
	if (t->above <= STACK_SMALL_BYTES)
		return send_with_room(t, regs, ctx, has_kernel, python, 0, STACK_SMALL_BYTES);
	if (limit > STACK_CALL_BYTES && t->above <= STACK_CALL_BYTES)
		return send_with_room(t, regs, ctx, has_kernel, python, 0, STACK_CALL_BYTES);
	return send_with_room(t, regs, ctx, has_kernel, python, 0, limit);
}

/*
 * Returns 1 if the layout belongs to the process's program. During exec, the new memory may already
 * be in place.
 */
__noinline int has_python(const struct taken *t, const struct stack_python *python)
{
	const struct stack_program *program;
	__u32 pid;

	if (!t || !python)
		return 0;
	pid = t->sight.pid; /* before Linux 6.2 keys must be on the stack */
	program = program_of(pid);
	return program && is_layout_of(python, program) && (!t->is_in_exec || t->mm == program->mm);
}

/* Sends a snapshot. Returns 0 if the ring is full. */
static __always_inline bool send_snapshot(struct taken *t, const struct pt_regs *regs, void *ctx,
					  const bool has_kernel, const __u32 limit)
{
	const struct stack_python *python;

	if (t->is_hidden)
		return send_hidden(t);
	if (is_on_alternate_stack(&t->interrupted) && find_interrupted(&t->interrupted))
		t->interrupted.above = above_of(t->first, t->sight.self, t->interrupted.start);
	python = bpf_map_lookup_elem(&pythons, &t->sight.pid);
	if (python && has_python(t, python))
		return send_fitting(t, regs, ctx, has_kernel, python, limit);
	return send_fitting(t, regs, ctx, has_kernel, 0, limit);
}

#endif
