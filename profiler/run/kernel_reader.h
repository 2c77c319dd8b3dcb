/* SPDX-License-Identifier: MIT */
/*
 * Reads what the kernel reports: processes, stacks, times of threads, timed calls.
 */
#ifndef PROFILER_RUN_KERNEL_READER_H
#define PROFILER_RUN_KERNEL_READER_H

#include "profiler/run/run_parts.h"

/*
 * Processes all available events, or BATCHES batches at most, so that other sources are not
 * delayed. `catches_up`: processes all process events up to now, even past unread stacks
 * (kernel_events.h).
 */
void kernel_reader_drain(struct run_parts *run, bool catches_up);

/* Passes the layout of each process's Python frames to the BPF side. */
void kernel_reader_pass_on_pythons(struct run_parts *run);

/*
 * Reads the rest at the end, and the times of threads that outlive the command. A thread that is
 * about to end is no longer listed, such as one of a library that just left. Its times arrive when
 * it leaves its CPU.
 */
void kernel_reader_finish(struct run_parts *run);

/* Copies the kernel's counters to the ledger, at the end. */
void kernel_reader_take_counters(struct run_parts *run);

#endif
