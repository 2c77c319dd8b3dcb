/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
/*
 * Fills a struct stack_snapshot (stack_event.h) of the current thread: registers, a copy of the
 * stack, the chain of Python frames. Nothing here follows more than is bounded below, and what
 * cannot be read (paged out, unmapped, torn) is 0 or cut.
 */
#ifndef BPF_SNAPSHOT_BPF_H
#define BPF_SNAPSHOT_BPF_H

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "stack_event.h"

#define MAX_PROCESSES 65536 /* that are followed, or have a property, at once */

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
static __always_inline void copy_stack(struct stack_snapshot *s, __u64 sp, const unsigned int limit)
{
	const unsigned int page = STACK_SNAPSHOT_PAGE;
	unsigned int first = page - (sp & (page - 1));

	s->stack_bytes = 0;
	if (bpf_probe_read_user(s->stack, first, (void *)sp))
		return;
	s->stack_bytes = first;
	for (unsigned int i = 0; i < limit / STACK_SNAPSHOT_PAGE - 1; i++) {
		__u64 at = first + i * page;

		/* the verifier must see the very value that was compared being used */
		__asm__ volatile("" : "+r"(at));
		if (at > limit - page ||
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

#endif
