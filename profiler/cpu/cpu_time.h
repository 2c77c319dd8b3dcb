/* SPDX-License-Identifier: MIT */
/*
 * The CPU time that the kernel charged to the tree, beside the time that samples stand for: by
 * program, that is by the name of what a process executed, for one process of a few milliseconds
 * has no sample or one that stands for four of its kind.
 *
 * What was charged comes from three places. With BPF the kernel reports each process's time when
 * it has ended, to the nanosecond. A process that runs, or has ended and is not yet waited for, has
 * a clock that any user may read. The rest is known as a sum, once the command has been waited
 * for: the time of processes that ended unread. Programs share it in proportion to how long their
 * processes had been unread, which for short processes is all their life.
 *
 * What was charged and not sampled is a sum over all programs, the rest. It is 0 if it may
 * be chance: within three times the standard deviation of what samples stand for (clocks that
 * tick 2.6 times for each sample meet a program that shares its CPU by chance), or below 1 %.
 * Otherwise programs share it in proportion to what each of them lacks; some have more samples than
 * time, by chance. So samples and rest add up to what was charged.
 *
 * Bounded: programs beyond CPU_TIME_PROGRAMS_MAX count as one, without a name. Times are in ns.
 */
#ifndef PROFILER_CPU_CPU_TIME_H
#define PROFILER_CPU_CPU_TIME_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/cpu/processes.h"
#include "symbolize/util/hash_index.h"

#define CPU_TIME_PROGRAMS_MAX 4096u

struct program_time {
	const char *name; /* interned; NULL: none is known */
	uint64_t charged_ns, sampled_ns;
	double unread_ns; /* that processes lived after their clock was read last */
	uint64_t rest_ns; /* not sampled */
	uint32_t process; /* the only one that was charged or sampled; 0: none, or several */
	bool has_several;
};

/* Zero-initialise. */
struct cpu_time {
	struct program_time *programs; /* the first one is for those that are not kept */
	uint32_t count, capacity;
	struct hash_index index;
	uint64_t charged_ns, sampled_ns; /* of all */
	uint64_t running_ns;             /* charged to processes that have not ended */
};

void cpu_time_release(struct cpu_time *t);

/* A sample of the process stands for `ns`. */
void cpu_time_sampled(struct cpu_time *t, struct process *process, uint64_t ns);

/*
 * `process` executes another program, as `now`. What its clock shows from here on, not having been
 * read since, is charged to that.
 */
void cpu_time_exec(struct cpu_time *t, struct process *process, struct process *now);

/*
 * The kernel has charged `total_ns` to the process's pid until `now_ns`; CPU_TIME_END: until all
 * of it was released. `is_before`: until it executed its present program. A total below the last
 * one changes nothing.
 */
#define CPU_TIME_END UINT64_MAX
void cpu_time_charge(struct cpu_time *t, struct process *process, uint64_t now_ns,
		     uint64_t total_ns, bool is_before);

/*
 * Reads the process's clock, unless it has been waited for. `is_last`: nothing is charged to the
 * process from here on.
 */
void cpu_time_read(struct cpu_time *t, struct process *process, uint64_t now_ns, bool is_last);

/* Restarts: what was charged until now does not count, and what is recorded begins here. */
void cpu_time_restart(struct cpu_time *t);

/* The process is forgotten. */
void cpu_time_settle(struct cpu_time *t, struct process *process);

/*
 * At the end: shares out what no clock has shown, and then what was not sampled, as `rest_ns`.
 * `waited_ns` is what was charged to all that was waited for, `elsewhere_ns` what was seen
 * otherwise than by samples; a sample stands for `sample_ns`. Returns the sum of all `rest_ns`.
 */
uint64_t cpu_time_finish(struct cpu_time *t, uint64_t waited_ns, uint64_t elsewhere_ns,
			 uint64_t sample_ns);

#endif
