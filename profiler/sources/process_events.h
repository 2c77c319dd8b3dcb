/* SPDX-License-Identifier: MIT */
/*
 * Mappings, forks, execs and exits of processes, as recorded by the kernel, in order.
 *
 * /proc/PID/maps of a short process is gone before we can read it, and it is wrong if it has
 * changed since the sample. So the kernel records every executable mapping as it happens
 * (perf_event_open(2), a software "dummy" event on each CPU with mmap2, comm and task records).
 * Times are CLOCK_MONOTONIC, the clock of the stack events, so that each stack is located in the
 * address space it was taken in.
 */
#ifndef PROFILER_SOURCES_PROCESS_EVENTS_H
#define PROFILER_SOURCES_PROCESS_EVENTS_H

#include <stdint.h>
#include <sys/types.h>
#include "profiler/cpu/process_event.h"

struct process_events;

/*
 * All processes of the machine (needs CAP_PERFMON); a ring has 1 MiB, with more than 24 CPUs
 * less: 24 MiB in all, or 256 KiB a CPU. Without CAP_IPC_LOCK it is what the user may lock, see
 * below, but at least 32 KiB: all profilers of the user on this machine share it. NULL with errno
 * set on failure; ENOBUFS: the user may not lock so much.
 */
struct process_events *process_events_open(void);

/*
 * Only `pid`, from its exec on, and its descendants, with CPU samples of user code at `sample_hz`:
 * allowed for users without privileges if kernel.perf_event_paranoid is 2 or lower. Such clocks
 * belong to threads, and each starts anew. So they tick 500 times a second, or once for each
 * sample, and most ticks are thrown away here: a process of three milliseconds has its part of the
 * samples, and no cycle of a program is in step with them.
 *
 * A sample's stack is in its ring whether it is thrown away or not. Rings have up to 4 MiB a CPU,
 * 48 MiB in all (or 256 KiB a CPU, if that is more), or what the user may lock: the kernel lets
 * everybody lock 516 KiB a CPU (perf_event_mlock_kb), and RLIMIT_MEMLOCK besides. A sample has as
 * much stack, from 8 to 60 KiB, as lets a ring hold the ticks of 100 ms.
 */
struct process_events *process_events_open_target(pid_t pid, uint32_t sample_hz);
void process_events_close(struct process_events *events);

/*
 * Has `epoll` report `tag` (data.u32) when a ring is half full: any process of the machine may map
 * a lot at once. 0 or -errno.
 */
int process_events_watch(struct process_events *events, int epoll, uint32_t tag);

/* Reads what the kernel has recorded so far. 0 or -ENOMEM. */
int process_events_read(struct process_events *events);

/* The earliest event read that is not later than `until_ns`, or NULL. Valid until the next call. */
const struct process_event *process_events_next(struct process_events *events, uint64_t until_ns);

/* Records that the kernel dropped; with samples, as many samples as they would have been. */
uint64_t process_events_lost(const struct process_events *events);

#endif
