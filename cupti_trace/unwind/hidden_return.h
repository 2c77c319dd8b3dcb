/* SPDX-License-Identifier: MIT */
/*
 * Finds the return address that a return probe has hidden.
 *
 * Tracers watch the return of functions by uretprobes (bpftrace, eBPF agents, other profilers). The
 * kernel then replaces the return address on the stack by that of its trampoline, and keeps the
 * real one. It does so in each process that runs into the probe, whichever process the tracer
 * watches. So a walk meets the trampoline instead of the caller, one trampoline for all callers.
 *
 * Nothing in the process has the real address. But nothing else has changed: the stack pointer and
 * rbp are those that the hidden caller continues with. The search goes like this:
 *
 *  1. Words above the stack pointer that follow a call are tried: one of them is the caller's own
 *     return address.
 *  2. Such a call tells which function the caller is: directly, through a stub, or through a word
 *     of a table. Otherwise, words near by that are the start of a function are tried: the C
 *     library keeps `main` on its stack.
 *  3. In that function it searches for a call that leads to the function that was left. After that
 *     call, call-frame information must find just this word as the return address. The address
 *     after the call is the hidden one.
 *  4. The walk must make sense for some more frames. Otherwise the word is left over from an
 * earlier call, in a variable of a newer one.
 *
 * Tracers may watch functions of the runtime and also the driver functions that these call. Then
 * the caller's own return address is hidden as well, and the word is the kernel's address. Such a
 * caller begins with the kernel's breakpoint, and is found by the calls of its caller.
 *
 * If no such call is found, the function may call through a register, or another function that
 * jumps on. Then the address after any such call stands for it, in the first function that fits.
 *
 * Limits:
 *
 *  - Of several calls of one function in one caller the first is taken: the caller is right, its
 *    line may be another's.
 *  - A caller may have been entered by a jump from the called function. Then frames left over from
 *    an earlier call may fit, too, and are taken: nothing on the stack distinguishes them.
 *  - Not found: a caller without call-frame information, or itself called through a register,
 *    unless its address lies near by; one of three in a row with hidden return addresses; one with
 *    more on the stack than HIDDEN_RETURN_WORDS, unless by its frame pointer.
 *  - Work is bounded, whatever is on the stack: usually 4 us (tests/workloads/launches), at most
 *    half a millisecond.
 *
 * Source: Linux, kernel/events/uprobes.c: prepare_uretprobe, uprobe_get_trampoline_vaddr;
 * arch/x86/kernel/uprobes.c: arch_uretprobe_hijack_return_addr.
 */
#ifndef CUPTI_TRACE_UNWIND_HIDDEN_RETURN_H
#define CUPTI_TRACE_UNWIND_HIDDEN_RETURN_H

#include <stdint.h>
#include "symbolize/cfi.h"

#define HIDDEN_RETURN_WORDS 4096u

struct hidden_return {
	uint64_t trampoline;
	uint64_t callee;  /* an address in the function that returns there; 0: unknown */
	uint64_t sp, rbp; /* values after its return */
};

/*
 * Returns the hidden address, or 0 if it is not found. `read` reads the stack; code and tables are
 * the process's own. Allocates nothing. Takes no lock, except the loader's if glibc is older than
 * 2.35.
 */
uint64_t hidden_return_find(const struct hidden_return *hidden, cfi_reader read, void *memory);

#endif
