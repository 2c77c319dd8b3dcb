/* SPDX-License-Identifier: MIT */
/*
 * Takes in what the kernel reports: processes, stacks, times of threads, timed calls.
 */
#ifndef PROFILER_RUN_KERNEL_READER_H
#define PROFILER_RUN_KERNEL_READER_H

#include "profiler/run/run_parts.h"

/*
 * Takes in what there is, until there is no more, or something else has waited long enough.
 * `catches_up`: all process events up to now, whatever stacks are unread (kernel_events.h).
 */
void kernel_reader_drain(struct run_parts *run, bool catches_up);

/* Passes the layout of processes' Python frames to the BPF side. */
void kernel_reader_pass_on_pythons(struct run_parts *run);

/*
 * Takes in the rest at the end, and the times of threads that run on after the command. One that is
 * about to end, as those of a library that has just left, is not listed any more, and its times
 * come when it gives back its CPU.
 */
void kernel_reader_finish(struct run_parts *run);

/* Puts what the kernel has counted into the ledger, at the end. */
void kernel_reader_take_counters(struct run_parts *run);

#endif
