/* SPDX-License-Identifier: MIT */
/*
 * The return address that a return probe has hidden.
 *
 * Where a tracer watches the return of a function (a uretprobe: of bpftrace, of an agent with eBPF,
 * of another profiler), the kernel replaces the return address on the stack by that of its own
 * code, the trampoline, and keeps the real one for itself. It does so in each process that runs
 * into the probe, whomever the tracer watches. So a walk meets the trampoline where the caller
 * should be, which is the same for all callers.
 *
 * Nothing in the process says what the address was. But nothing else has changed: the stack pointer
 * and rbp are what the hidden caller goes on with. So
 *
 *  - words above the stack pointer are tried that are behind a call: the caller's own return
 *    address is one of them;
 *  - such a call says which function the caller is: a direct one, one through a stub or a word of
 *    a table by where that leads; else words near by that are where a function begins, as the C
 *    library keeps `main` on its stack;
 *  - in that function a call is looked for that leads to the function that was left, and behind
 *    which call-frame information finds just this word as the return address. That is the hidden
 *    address;
 *  - where the one word leads on must make sense, too, for some frames: else it is one that an
 *    earlier call has left there, maybe with all that led to it, in a newer one's variables.
 *
 * Where tracers watch functions of the runtime and those of the driver that these call, the
 * caller's own return address is hidden as well: then the kernel's address is the word. Such a
 * caller begins with the kernel's breakpoint, and is found by the calls of its caller.
 *
 * If no such call is found, the function may call through a register, or another function that
 * jumps on. Then the address behind any such call stands for it, in the first function that fits.
 *
 * Limits. Of several calls of one function in the same caller the first is taken: the caller is
 * right, its line may be another's. Where the caller was jumped to by the function that its return
 * address is behind a call of, frames that an earlier call has left may fit, too, and are taken:
 * nothing on the stack tells them from it. A caller without call-frame information, or that is
 * itself called through a register, is not found, unless its address lies near by; nor one of three
 * in a row whose return addresses are all hidden; nor one with more on the stack than
 * HIDDEN_RETURN_WORDS, unless by its frame pointer. Work is bounded, whatever is on the stack: 4 us
 * are usual (tests/workloads/launches), half a millisecond is the most.
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
	uint64_t callee;  /* an address in the function that returns there; 0: not known */
	uint64_t sp, rbp; /* once it has returned */
};

/*
 * The address that is hidden; 0: it is not found. `read` reads the stack; code and tables are the
 * process's own. Allocates nothing, takes no lock but the loader's, where glibc is older than 2.35.
 */
uint64_t hidden_return_find(const struct hidden_return *hidden, cfi_reader read, void *memory);

#endif
