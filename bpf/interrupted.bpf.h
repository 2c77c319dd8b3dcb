/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
/*
 * Finds the stack that a signal interrupted whose handler runs on an alternate stack (sigaltstack).
 *
 * The kernel puts the state of the floating-point unit at the alternate stack's end, aligned to 64
 * bytes, and a struct rt_sigframe below it (get_sigframe in arch/x86/kernel/signal.c, struct
 * rt_sigframe in arch/x86/include/asm/sigframe.h). How large that state is depends on the processor
 * and on the thread. So the frame is looked for: it points at that state, and has the alternate
 * stack's place and size. Handlers that interrupt handlers have their frames further down, and
 * interrupted stack pointers in the same stack.
 *
 * All of this is the program's memory: it may say anything. What is read by it is read as the
 * program's own memory, by helpers that refuse the kernel's.
 */
#ifndef BPF_INTERRUPTED_BPF_H
#define BPF_INTERRUPTED_BPF_H

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include "stack_event.h"

/* Bytes from a struct rt_sigframe, which lies this much below the state. */
#define SIGNAL_FRAME_STATE 456
#define SIGNAL_FRAME_STACK 24     /* its stack_t */
#define SIGNAL_FRAME_SP 168       /* the interrupted stack pointer */
#define SIGNAL_FRAME_STATE_AT 232 /* the pointer at the state */

#define SIGNAL_STATE_ALIGNMENT 64
#define SIGNAL_STATE_STEPS 16 /* squared: that is 16 KiB; with AMX the state has 11 KiB */

struct interrupted {
	/* of the thread, set by the caller */
	__u64 sp;
	__u64 low, bytes; /* its alternate stack */
	/* of the interrupted stack, as in struct stack_snapshot */
	__u64 start; /* 0: none was found */
	__u64 above; /* set by the caller */
	/* of the copies, in bytes */
	__u32 handler_copied, copied;
	/* of the search */
	__u64 state;
	__u64 interrupted_sp;
};

static __always_inline bool is_on_alternate_stack(const struct interrupted *i)
{
	return i->sp - i->low < i->bytes;
}

/* Looks at one place. Returns 1 if the frame may be further down. */
__noinline int step_to_signal_frame(struct interrupted *i)
{
	struct {
		__u64 sp, flags, size;
	} stack = {0};
	__u64 frame, state = 0, sp = 0;

	if (!i)
		return 0;
	i->state -= SIGNAL_STATE_ALIGNMENT;
	frame = i->state - SIGNAL_FRAME_STATE;
	/* the restorer runs when the handler has taken the frame's first word */
	if (frame - i->low >= i->bytes || frame + sizeof(frame) < i->sp ||
	    bpf_probe_read_user(&state, sizeof(state), (void *)(frame + SIGNAL_FRAME_STATE_AT)))
		return 0;
	if (state != i->state ||
	    bpf_probe_read_user(&stack, sizeof(stack), (void *)(frame + SIGNAL_FRAME_STACK)) ||
	    stack.sp != i->low || stack.size != i->bytes ||
	    bpf_probe_read_user(&sp, sizeof(sp), (void *)(frame + SIGNAL_FRAME_SP)) ||
	    sp - i->low < i->bytes)
		return 1;
	i->interrupted_sp = sp;
	return 0;
}

/* Looks at several. In two levels, for the verifier goes through each loop's iterations. */
__noinline int skip_to_signal_frame(struct interrupted *i)
{
	if (!i)
		return 0;
	for (int n = 0; n < SIGNAL_STATE_STEPS; n++)
		if (!step_to_signal_frame(i))
			return 0;
	return 1;
}

/*
 * Returns 1 if there is such a stack, and sets where its copy starts: where memory can be read, for
 * the stack may have overflowed.
 */
__noinline int find_interrupted(struct interrupted *i)
{
	__u64 word, start;

	if (!i)
		return 0;
	i->state = (i->low + i->bytes) & -(__u64)SIGNAL_STATE_ALIGNMENT;
	i->interrupted_sp = 0;
	for (int n = 0; n < SIGNAL_STATE_STEPS; n++)
		if (!skip_to_signal_frame(i))
			break;
	if (!i->interrupted_sp)
		return 0;
	start = (i->interrupted_sp - STACK_RED_ZONE) & -sizeof(word);
	for (int n = 0; n < 2; n++)
		if (bpf_probe_read_user(&word, sizeof(word), (void *)start))
			start = (start + STACK_SNAPSHOT_PAGE) & -(__u64)STACK_SNAPSHOT_PAGE;
	i->start = start;
	return start != 0;
}

#endif
