/* SPDX-License-Identifier: MIT */
/*
 * Reads mappings, forks, execs and exits of processes, as recorded by the kernel, in order.
 *
 * /proc/PID/maps of a short process is gone before we can read it. It is wrong if it has changed
 * since the sample. So the kernel records every executable mapping as it happens. That is a
 * software "dummy" event on each CPU with mmap2, comm and task records (perf_event_open(2)). Times
 * are CLOCK_MONOTONIC, like those of stacks, so each stack is located in the address space of its
 * time.
 */
#ifndef PROFILER_SOURCES_PROCESS_EVENTS_H
#define PROFILER_SOURCES_PROCESS_EVENTS_H

#include <stdint.h>
#include <sys/types.h>
#include "profiler/cpu/process_event.h"

struct process_events;

/*
 * Opens events of `pid` and its descendants, from its exec on, with CPU samples of user code at
 * `sample_hz`. `pid` -1 opens events of all processes of the machine, which needs CAP_PERFMON;
 * `sample_hz` is then 0: no samples. Returns NULL with errno set. ENOBUFS: the user may not lock so
 * much.
 *
 * Without samples a ring has 1 MiB. With more than 24 CPUs the rings share 24 MiB, but have at
 * least 256 KiB each. Without CAP_IPC_LOCK the user's limit of locked memory applies, but at least
 * 32 KiB. All profilers of the user on this machine share the limit. The kernel lets everybody lock
 * 516 KiB per CPU (perf_event_mlock_kb), plus RLIMIT_MEMLOCK.
 *
 * Unprivileged users may sample if kernel.perf_event_paranoid is 2 or lower. Such clocks belong to
 * threads, and restart with each thread. So they tick at least 500 times a second, and most ticks
 * are discarded here. Thus a process of three milliseconds gets its share of samples. No cycle of a
 * program is in step with them. A discarded sample's stack takes room in its ring, too. Such rings
 * have up to 4 MiB per CPU, 48 MiB in all, but at least 256 KiB per CPU. The user's limit of locked
 * memory applies. A sample has 8 to 60 KiB of stack, such that a ring holds the ticks of 100 ms.
 */
struct process_events *process_events_open(pid_t pid, uint32_t sample_hz);
void process_events_close(struct process_events *events);

/*
 * Makes `epoll` report `tag` (data.u32) when a ring is half full: any process may map a lot at
 * once. Returns 0, or -errno.
 */
int process_events_watch(struct process_events *events, int epoll, uint32_t tag);

/* Reads the records so far. Returns 0, or -ENOMEM. */
int process_events_read(struct process_events *events);

/* Returns the earliest event up to `until_ns`, or NULL. Valid until the next call. */
const struct process_event *process_events_next(struct process_events *events, uint64_t until_ns);

/*
 * Returns the number of records that the kernel dropped, converted to samples if there are samples.
 */
uint64_t process_events_lost(const struct process_events *events);

#endif
