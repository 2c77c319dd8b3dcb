/* SPDX-License-Identifier: MIT */
/*
 * Shows other profilers that a copy of the library that was brought in is at work in this process:
 * by a mapping of the name GPU_WIRE_ACTIVE_MARKER in /proc/PID/maps, which children do not inherit.
 * (Not by a thread's name, which CUPTI's threads inherit, nor by a descriptor, which programs
 * close.)
 */
#ifndef CUPTI_TRACE_CORE_ACTIVE_MARKER_H
#define CUPTI_TRACE_CORE_ACTIVE_MARKER_H

/* Shows it, as far as the system lets us. */
void active_marker_begin(void);

/* Without effect if it is not shown. */
void active_marker_end(void);

#endif
