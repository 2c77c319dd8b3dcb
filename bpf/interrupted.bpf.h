/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
/*
 * Finds the stack that a signal interrupted whose handler runs on an alternate stack (sigaltstack).
 *
 * The kernel stores the floating-point state at the alternate stack's end, aligned to 64 bytes.
 * Below the state lies a struct rt_sigframe (get_sigframe in arch/x86/kernel/signal.c, struct
 * rt_sigframe in arch/x86/include/asm/sigframe.h). The state's size depends on processor and
 * thread, so the frame is searched for. It points at the state, and holds the alternate stack's
 * address and size. Nested handlers have their frames further down; their interrupted stack
 * pointers are in the alternate stack.
 *
 * All of this is untrusted memory of the program. It is read only by helpers that refuse kernel
 * addresses.
 */
#ifndef BPF_INTERRUPTED_BPF_H
#define BPF_INTERRUPTED_BPF_H

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include "stack_event.h"

/* Bytes from a struct rt_sigframe to the state above it. */
#define SIGNAL_FRAME_STATE 456
#define SIGNAL_FRAME_STACK 24     /* its stack_t */
#define SIGNAL_FRAME_SP 168       /* the interrupted stack pointer */
#define SIGNAL_FRAME_STATE_AT 232 /* the pointer to the state */

#define SIGNAL_STATE_ALIGNMENT 64
#define SIGNAL_STATE_STEPS 16 /* squared: 16 KiB in all; with AMX the state has 11 KiB */

struct interrupted {
	/* the thread, set by the caller */
	__u64 sp;
	__u64 low, bytes; /* its alternate stack */
	/* the interrupted stack, as in struct stack_snapshot */
	__u64 start; /* 0: none found */
	__u64 above; /* set by the caller */
	/* bytes of the copies */
	__u32 handler_copied, copied;
	/* state of the search */
	__u64 state;
	__u64 interrupted_sp;
};

static __always_inline bool is_on_alternate_stack(const struct interrupted *i)
{
	return i->sp - i->low < i->bytes;
}

/* Checks the next address. Returns 1 if the frame may be further down. */
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
	/* in the restorer, the frame's first word is already popped */
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

/* Checks several addresses. Two levels, because the verifier unrolls each loop. */
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
 * Finds an interrupted stack. Returns 1 and sets `start` to the first readable address: the stack
 * may have overflowed.
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
