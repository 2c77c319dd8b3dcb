/* SPDX-License-Identifier: MIT */
/*
 * Keeps the stacks that threads were off the CPU with (--wall), and distributes summed times over
 * them.
 *
 * A thread that leaves the CPU with its stack taken is open until it returns. The time goes to that
 * stack, which is then known for the thread, the kind (of wait) and the site (bpf/stack_event.h). A
 * sum of times without stacks is distributed in proportion to the time known of each stack; sums
 * are exact. The candidates are, in this order:
 *
 * - stacks of the thread with this kind and site,
 * - stacks of the thread with this kind,
 * - if the thread was blocked, stacks of the process with this kind.
 *
 * The BPF side tells waits for Python's global lock from other futexes once it knows the process's
 * interpreter. Until then all are futexes. The registers of one stack decide for all waits of its
 * thread at that site.
 *
 * Each thread and each process has at most OFF_CPU_STACKS_MAX known stacks, charged to the quota.
 * Time at further stacks is distributed over the known ones, so no time is lost. No I/O. Times are
 * in ns, CLOCK_MONOTONIC. Errors are -errno.
 */
#ifndef PROFILER_CPU_OFF_CPU_H
#define PROFILER_CPU_OFF_CPU_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/quota.h"
#include "profiler/model/id_remap.h"
#include "symbolize/util/record_set.h"

#define OFF_CPU_STACKS_MAX 256u

struct off_cpu_thread {
	uint32_t process, tid;
};

/* Times of one kind, at one site. */
struct off_cpu_times {
	uint32_t kind, site; /* see struct stack_off_cpu_sum */
	uint64_t blocked_ns, runnable_ns;
	uint32_t
		file_type; /* type of the file read or written (S_IFMT); 0 if unknown, as in sums */
};

/* State of a thread that leaves the CPU. */
struct off_cpu_departure {
	uint64_t left_ns;
	struct stack_id stack;
	uint32_t file_type; /* type of the file read or written (S_IFMT); 0 if there is none */
	bool is_internal;   /* thread of the profiler or the driver, with a stack of its own */
	bool is_at_gil;     /* a futex that it waits for is Python's global lock */
};

/* Known time of one stack, kind and site. */
struct off_cpu_stack {
	struct off_cpu_times times;
	struct stack_id stack;
};

/*
 * A thread, or its whole process (OFF_CPU_ANY_THREAD). The threads of a process form a ring, linked
 * by position because entries move.
 */
#define OFF_CPU_ANY_THREAD 0u /* no thread has this id */
struct off_cpu_entry {
	struct off_cpu_thread thread;
	uint32_t next, previous;
	struct off_cpu_departure departure; /* left_ns 0: on the CPU, or unknown */
	uint32_t count, capacity;
	struct off_cpu_stack *known;
};

struct off_cpu {
	struct quota *quota; /* borrowed */
	RECORD_SET(struct off_cpu_entry) threads;
};

/* Zero-initialise, then set the quota. */
void off_cpu_release(struct off_cpu *off_cpu);

int off_cpu_leave(struct off_cpu *off_cpu, struct off_cpu_thread thread,
		  const struct off_cpu_departure *departure);

/*
 * Ends the thread's time off the CPU that began at `left_ns`. Sets `*stack`, which is known from
 * now on, and completes `*times`. Returns false if the stack did not arrive or could not be kept.
 */
bool off_cpu_return(struct off_cpu *off_cpu, struct off_cpu_thread thread, uint64_t left_ns,
		    struct off_cpu_times *times, struct stack_id *stack);

/* Receives a stack's part of a sum. */
typedef void (*off_cpu_output)(void *context, struct stack_id stack,
			       const struct off_cpu_times *part);

/* Distributes a sum. Returns false if no stack of this kind is known of the process. */
bool off_cpu_spread(const struct off_cpu *off_cpu, struct off_cpu_thread thread,
		    const struct off_cpu_times *sum, off_cpu_output output, void *context);

/* Forget a thread that has ended, or a process with all its threads. */
void off_cpu_forget(struct off_cpu *off_cpu, struct off_cpu_thread thread);
void off_cpu_forget_process(struct off_cpu *off_cpu, uint32_t process);

#endif
