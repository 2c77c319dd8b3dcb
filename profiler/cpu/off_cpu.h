/* SPDX-License-Identifier: MIT */
/*
 * Which stacks threads were off the CPU with (--wall), to spread over them what was only summed.
 *
 * A thread that leaves the CPU with its stack taken is open until it is back. The time goes to that
 * stack, which is then known for the thread, the kind (what it waited for) and the site
 * (bpf/stack_event.h). A sum of times without stacks goes to the thread's known stacks of its kind
 * and site, else of its kind, else, where it was blocked, to those of its process, in proportion to
 * the time that is known of each; sums are exact.
 *
 * The BPF side tells waits for Python's global lock from other futexes once it knows the process's
 * interpreter. Until then they are futexes to it; what a stack's registers say of one counts for
 * all of the thread's at that site.
 *
 * Bounded: a thread has OFF_CPU_STACKS_MAX known stacks, as has a process; both take from the
 * quota. Time that is not known of goes to others in the spreading, and is in the profile all
 * the same. No I/O. Times are in ns, CLOCK_MONOTONIC. Errors: 0 or -errno.
 */
#ifndef PROFILER_CPU_OFF_CPU_H
#define PROFILER_CPU_OFF_CPU_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/quota.h"
#include "profiler/model/id_remap.h"
#include "symbolize/util/hash_index.h"

#define OFF_CPU_STACKS_MAX 256u

struct off_cpu_thread {
	uint32_t process, tid;
};

/* Times of one kind, at one site. */
struct off_cpu_times {
	uint32_t kind, site; /* as in struct stack_off_cpu_sum */
	uint64_t blocked_ns, runnable_ns;
	uint32_t file_type; /* what it reads or writes, S_IFMT; 0: not known, as of sums */
};

/* How a thread left the CPU. */
struct off_cpu_departure {
	uint64_t left_ns;
	struct stack_id stack;
	uint32_t file_type; /* of what its call reads or writes, S_IFMT; 0: nothing */
	bool is_apart;      /* its stack is not the program's: no times of others go to it */
	bool is_at_gil;     /* if it waits for a futex, that is Python's global lock */
};

/* A stack of one kind and site, and what is known of it. */
struct off_cpu_stack {
	struct off_cpu_times times;
	struct stack_id stack;
};

/*
 * A thread, or with OFF_CPU_ANY_THREAD its process. Those of a process are a ring: of positions,
 * for entries move.
 */
#define OFF_CPU_ANY_THREAD 0u /* no thread has this id */
struct off_cpu_entry {
	struct off_cpu_thread thread;
	uint32_t next, previous;
	struct off_cpu_departure departure; /* at 0: it is on the CPU, or nothing is known */
	uint32_t count, capacity;
	struct off_cpu_stack *known;
};

struct off_cpu {
	struct quota *quota; /* borrowed */
	struct off_cpu_entry *threads;
	uint32_t count, capacity;
	struct hash_index index;
};

/* Zero-initialise, then set the quota. */
void off_cpu_release(struct off_cpu *off_cpu);

int off_cpu_leave(struct off_cpu *off_cpu, struct off_cpu_thread thread,
		  const struct off_cpu_departure *departure);

/*
 * The thread that left the CPU then is back: its stack, which is known from now on. Completes what
 * it was with. False: its stack did not arrive, or could not be kept.
 */
bool off_cpu_return(struct off_cpu *off_cpu, struct off_cpu_thread thread, uint64_t left_ns,
		    struct off_cpu_times *times, struct stack_id *stack);

/* Gets a stack's part of a sum. */
typedef void (*off_cpu_output)(void *context, struct stack_id stack,
			       const struct off_cpu_times *part);

/* Spreads a sum; false: no stack of this kind is known of the process. */
bool off_cpu_spread(const struct off_cpu *off_cpu, struct off_cpu_thread thread,
		    const struct off_cpu_times *sum, off_cpu_output output, void *context);

/* The thread has ended; the process, and whatever is left of its threads. */
void off_cpu_forget(struct off_cpu *off_cpu, struct off_cpu_thread thread);
void off_cpu_forget_process(struct off_cpu *off_cpu, uint32_t process);

#endif
