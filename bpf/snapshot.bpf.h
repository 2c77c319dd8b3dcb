/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
/*
 * Sends a struct stack_snapshot (stack_event.h) of the current thread: registers, the chain of
 * Python frames, a copy of the stack, as it would be without return probes. What cannot be read
 * (paged out, unmapped, torn) is 0 or cut.
 */
#ifndef BPF_SNAPSHOT_BPF_H
#define BPF_SNAPSHOT_BPF_H

#include "access.bpf.h"
#include "interrupted.bpf.h"
#include "python.bpf.h"

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
 * Copies what fits, else page by page. Where it is not known how far the stack goes, the first page
 * that is not there ends the copy: memory ends with a page. Else such pages are zeros: large
 * buffers have them that nothing has written to.
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

		/* the verifier must see that the compared value is the one used */
		__asm__ volatile("" : "+r"(at));
		if (at > limit - page)
			break;
		/* what cannot be read becomes zeros */
		if (bpf_probe_read_user(to + at, page, (void *)(sp + at)) && !is_known)
			break;
		copied = at + page;
	}
	return is_known && copied > above ? above : copied;
}

/* ---- return addresses that return probes, of anybody, have replaced ---- */

#define RETURN_PROBES_MOST 16 /* of a thread, the last ones entered */

/* Returns where functions with a return probe return to (the kernel's "[uprobes]" mapping). */
static __always_inline __u64 trampoline_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
}

/* A walk over them. */
struct return_walk {
	__u64 task;      /* the thread's struct task_struct */
	__u64 sp, bytes; /* what was copied of its stack */
	struct return_instance *next;
	__u64 trampoline;
	__u64 at;      /* of the last one: where in the copy */
	__u64 is, was; /* what is there, and was; ~0: it is not in the copy */
};

/* False: there are none. */
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

/* The last function entered comes first. False: it was the last one. */
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
 * Puts the next one back into a copy with room for `limit` bytes, a power of two. What a jump
 * (longjmp) has left behind says nothing of what is there now: only the kernel's address is
 * replaced, by what came last. Without branches, each of which the verifier would follow.
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

/* Not inlined, so that each is verified once a program, whatever leads to it. */
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

/* The copy becomes what it would be without return probes. `limit`, its room, is constant. */
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
	__u64 above; /* the bytes that the stack has, or STACK_ABOVE_UNKNOWN */
	__u64 first; /* where the process's first stack begins; 0: it has no memory */
	struct interrupted interrupted;
	__u64 mm;     /* the thread's memory, the kernel's struct */
	__u64 ran_ns; /* as in struct stack_snapshot */
	__u32 flags;
	__u16 kind, function;
	__u8 is_hidden;  /* the user may not look into the task */
	__u8 is_in_exec; /* the task executes another program */
};

/*
 * Returns 1 if a process whose thread has given back its memory was open to the user before that.
 * One that has memory, and is not open, is remembered as such.
 */
__noinline int was_open(__u32 pid, int has_memory)
{
	__u32 key = pid; /* before Linux 6.2 keys have to lie on the stack */
	struct stack_process *process = bpf_map_lookup_elem(&tracked, &key);

	if (!process)
		return 0;
	if (has_memory)
		process->is_open = 0;
	return process->is_open;
}

/*
 * Returns the bytes from the stack pointer to where the stack begins, or STACK_ABOVE_UNKNOWN. The
 * process's first stack ends where its arguments begin (`first`), a thread's at the C library's
 * data of the thread (`self`). A stack anywhere else does not reach across either. At a process's
 * first instruction there is none: the number of arguments stands for it.
 */
static __always_inline __u64 above_of(__u64 first, __u64 self, __u64 sp)
{
	__u64 above = first > sp ? first - sp : STACK_ABOVE_UNKNOWN;

	if (first == sp)
		above = sizeof(first); /* no instruction of it has run; nothing called it */
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
	/* no branch: the verifier would go twice through all that follows */
	t->is_in_exec = BPF_CORE_READ_BITFIELD_PROBED(task, in_execve);
	t->flags |= STACK_EVENT_IN_EXEC * t->is_in_exec;
	if (!mm) {
		t->flags = STACK_EVENT_NO_MEMORY;
		t->above = 0;
	}
	t->is_hidden = !may_look_into(task) && !was_open(t->sight.pid, mm != 0);
	t->flags |= STACK_EVENT_NO_ACCESS * t->is_hidden;
}

/* Sends a snapshot of a task that the user may not look into. 0: the ring has no room. */
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
 * Room for a record with its Python frames; the stack's part serves as scratch. Records keep the
 * order of their reservation: if code objects were sent meanwhile, room is reserved again behind
 * them.
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

/* Copies a stack of the current thread as it would be without return probes; returns the bytes. */
static __always_inline __u32 copy_and_restore(void *to, const __u32 limit, __u64 sp, __u64 above)
{
	__u32 copied = copy_stack(to, limit, sp, above);

	restore_returns(bpf_get_current_task_btf(), to, limit, sp, copied);
	return copied;
}

/* Copies an alternate stack and behind it, in so much room, the interrupted one. */
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
 * `has_kernel`: with the kernel's frames, of `ctx`. `handler_bytes`: the room for an alternate
 * stack, besides `bytes` for the interrupted one; 0: for a stack that no such signal interrupted.
 * Sizes and conditions are constant.
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
	/* the thread's name is read from it while it runs, which may not be for long */
	if (python && chain->is_first)
		wakeup = BPF_RB_FORCE_WAKEUP;
	bpf_ringbuf_submit(s, wakeup);
	return 1;
}

/* In a record with enough room for the stack, or in the largest. */
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
 * Returns 1 if the layout is of the process's program. While another one is executed, its memory
 * may be there already.
 */
__noinline int has_python(const struct taken *t, const struct stack_python *python)
{
	const struct stack_program *program;
	__u32 pid;

	if (!t || !python)
		return 0;
	pid = t->sight.pid; /* before Linux 6.2 keys have to lie on the stack */
	program = program_of(pid);
	return program && is_layout_of(python, program) && (!t->is_in_exec || t->mm == program->mm);
}

/* False: the ring has no room. */
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
