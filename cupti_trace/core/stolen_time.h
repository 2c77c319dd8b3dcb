/* SPDX-License-Identifier: MIT */
/*
 * Whether the CPU clocks of threads can be relied on.
 *
 * In a virtual machine that waits for its host's CPUs, Linux takes the time that was stolen off
 * whatever runs next, so that the CPU clock of a thread may stand still though it runs
 * (kernel/sched/core.c, update_rq_clock_task). The time stolen since the machine was started is in
 * the first line of /proc/stat (proc_stat(5)).
 */
#ifndef CUPTI_TRACE_CORE_STOLEN_TIME_H
#define CUPTI_TRACE_CORE_STOLEN_TIME_H

#include <stdbool.h>
#include <stdint.h>

#define STOLEN_TIME_EVERY_NS UINT64_C(1000000000)
#define STOLEN_TIME_LASTS_NS UINT64_C(10000000000)

/*
 * Returns whether time was stolen from this machine in the last STOLEN_TIME_LASTS_NS, or that
 * cannot be found out; before that many have gone by since the first call, whether it ever was.
 * `now_ns` is CLOCK_MONOTONIC. The file is read every STOLEN_TIME_EVERY_NS, so what is new may be
 * seen that much later; where there is no hypervisor it is not. Any thread.
 */
bool stolen_time_seen(uint64_t now_ns);

#endif
