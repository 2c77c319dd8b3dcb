/* SPDX-License-Identifier: MIT */
/*
 * Detects stolen time, which makes the CPU clocks of threads unreliable.
 *
 * In a virtual machine that waits for its host's CPUs, Linux subtracts the stolen time from
 * whatever runs next. So the CPU clock of a thread may stand still although it runs
 * (kernel/sched/core.c, update_rq_clock_task). The first line of /proc/stat has the time stolen
 * since boot (proc_stat(5)).
 */
#ifndef CUPTI_TRACE_CORE_STOLEN_TIME_H
#define CUPTI_TRACE_CORE_STOLEN_TIME_H

#include <stdbool.h>
#include <stdint.h>

#define STOLEN_TIME_EVERY_NS UINT64_C(1000000000)
#define STOLEN_TIME_LASTS_NS UINT64_C(10000000000)

/*
 * Returns whether time was stolen from this machine in the last STOLEN_TIME_LASTS_NS, or if that is
 * unknown. In the first STOLEN_TIME_LASTS_NS after the first call, returns whether time was ever
 * stolen. `now_ns` is CLOCK_MONOTONIC. Reads the file every STOLEN_TIME_EVERY_NS, so the answer may
 * lag as much; not without a hypervisor. Any thread.
 */
bool stolen_time_seen(uint64_t now_ns);

#endif
