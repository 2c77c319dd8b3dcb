/* SPDX-License-Identifier: MIT */
/*
 * Compares the CPU time that the kernel charged to the tree with the time that samples stand for.
 *
 * Time is kept by program, i.e. by the name of the executed file. A single process of a few
 * milliseconds has no sample, or one that stands for four such processes.
 *
 * Charged time comes from three sources. With BPF the kernel reports the exact time of each process
 * when it has ended. The clock of a process that has not been waited for can be read by any user.
 * The remaining time is known only as a sum, once the command has been waited for. It belongs to
 * processes that ended unread. Programs share it in proportion to how long their processes were
 * unread, for short processes their whole life.
 *
 * Charged time without samples is a sum over all programs, the rest. It is 0 if it may be chance:
 * below 1 %, or within three standard deviations of the sampled time. Clocks tick 2.6 times per
 * sample, and chance decides which of the programs on a CPU a tick meets. Otherwise programs share
 * the rest in proportion to what each lacks. Some have more samples than time by chance. So samples
 * and rest add up to the charged time.
 *
 * Programs beyond CPU_TIME_PROGRAMS_MAX count as one, without a name. Times are in ns.
 */
#ifndef PROFILER_CPU_CPU_TIME_H
#define PROFILER_CPU_CPU_TIME_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/cpu/processes.h"
#include "symbolize/util/record_set.h"

#define CPU_TIME_PROGRAMS_MAX 4096u

struct program_time {
	const char *name; /* interned; NULL if unknown */
	uint64_t charged_ns, sampled_ns;
	double unread_ns; /* time that its processes lived after their clock was last read */
	uint64_t rest_ns; /* charged time without samples */
	uint32_t process; /* the only process charged or sampled; 0: none, or several */
	bool has_several;
};

/* Zero-initialise. */
struct cpu_time {
	RECORD_SET(struct program_time)
	programs;                        /* the first entry stands for programs that are not kept */
	uint64_t charged_ns, sampled_ns; /* totals */
	uint64_t running_ns;             /* charged to processes that are still running */
};

void cpu_time_release(struct cpu_time *t);

/* Adds a sample of the process that stands for `ns`. */
void cpu_time_sampled(struct cpu_time *t, struct process *process, uint64_t ns);

/*
 * Notes that `process` executes another program, as `now`. Time that its clock has gained since the
 * last reading is charged to `now`.
 */
void cpu_time_exec(struct cpu_time *t, struct process *process, struct process *now);

/*
 * Notes that the kernel has charged `total_ns` to the process's pid until `now_ns`. CPU_TIME_END
 * stands for the time at which the process was released. `is_before`: the total ends where the pid
 * executed its present program. A total below the last one changes nothing.
 */
#define CPU_TIME_END UINT64_MAX
void cpu_time_charge(struct cpu_time *t, struct process *process, uint64_t now_ns,
		     uint64_t total_ns, bool is_before);

/*
 * Reads the process's clock, unless it has been waited for. `is_last`: time charged from here on is
 * ignored.
 */
void cpu_time_read(struct cpu_time *t, struct process *process, uint64_t now_ns, bool is_last);

/* Discards the time charged so far. The recording begins here. */
void cpu_time_restart(struct cpu_time *t);

/* Adds a process that is about to be freed to its program. */
void cpu_time_end_process(struct cpu_time *t, struct process *process);

/*
 * Distributes the time that no clock has shown, then the time without samples, as `rest_ns`.
 * `waited_ns` is the time charged to all processes waited for, `elsewhere_ns` the time seen without
 * samples. A sample stands for `sample_ns`. Returns the sum of all `rest_ns`.
 */
uint64_t cpu_time_finish(struct cpu_time *t, uint64_t waited_ns, uint64_t elsewhere_ns,
			 uint64_t sample_ns);

#endif
