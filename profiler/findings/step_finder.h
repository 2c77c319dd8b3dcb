/* SPDX-License-Identifier: MIT */
/*
 * Finds the steps of a program: the work that it does again and again, such as training steps,
 * tokens or requests.
 *
 * The input is the order of launches. Each launch has a token, which is equal for launches of the
 * same work from the same stack. Steps are the outermost level of repetition that fulfils all of
 * these:
 *  - it repeats at least STEPS_MIN times;
 *  - the steps are alike: in most of them most launches are those of a typical step, and their wall
 *    times do not scatter like those of random arrivals;
 *  - the steps have at least STEPS_COVERED_MIN percent of the launches from the first step to the
 *    last one's end, and of all launches of the thread after its start-up.
 * A step may have a few launches of its own, a varying number of repetitions inside, and other work
 * between steps, such as an evaluation after an epoch. Random orders have no steps.
 *
 * A step begins with the first launch of its loop's body, not at an arbitrary point of the cycle.
 *
 * Each thread is examined by itself. Threads of a process that step together, one step of one in
 * each step of the other, are one series: that of the thread which begins each step. So the threads
 * on which PyTorch runs the backward pass belong to the series of the main thread. Independent
 * loops of several threads are several series.
 *
 * Pure: no I/O, no clock, no names. Times are in ns, of one clock.
 */
#ifndef PROFILER_FINDINGS_STEP_FINDER_H
#define PROFILER_FINDINGS_STEP_FINDER_H

#include <stdint.h>

#define STEPS_MIN 8u
#define STEPS_COVERED_MIN 80u /* percent */

struct step_launch {
	uint64_t start_ns;
	uint32_t token;  /* any number */
	uint32_t thread; /* index into the threads */
};

/* The steps of one loop. Step i is from starts_ns[i] to starts_ns[i + 1]. */
struct step_series {
	uint32_t thread; /* the thread that begins the steps */
	uint32_t count;
	/*
	 * `count` + 1 times: the first launch of each step, and the end of the last step. That end
	 * is just after the last launch of the step. If there is other work between two steps, the
	 * earlier step has it.
	 */
	uint64_t *starts_ns;
	uint32_t warm_up;  /* leading steps that took much longer than those that follow */
	uint64_t launches; /* in the steps, by all threads of the series */
	uint64_t of;       /* all launches of these threads */
};

struct step_list {
	struct step_series *list; /* the series with most launches first */
	uint32_t count;
};

/*
 * Finds the steps. `launches` are in order of time. `process_of` has the process of each of
 * `thread_count` threads. Takes time proportional to the number of launches. Returns 0, or -ENOMEM
 * with an empty list. The caller calls step_list_release().
 */
int steps_find(const struct step_launch *launches, uint64_t count, const uint32_t *process_of,
	       uint32_t thread_count, struct step_list *steps);
void step_list_release(struct step_list *steps);

#endif
