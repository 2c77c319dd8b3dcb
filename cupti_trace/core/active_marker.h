/* SPDX-License-Identifier: MIT */
/*
 * Shows other profilers that an injected copy of the library is active in this process: by a
 * mapping named GPU_WIRE_ACTIVE_MARKER in /proc/PID/maps, which children do not inherit. A thread's
 * name would not do, because CUPTI's threads inherit it. Neither would a descriptor, because
 * programs close them.
 */
#ifndef CUPTI_TRACE_CORE_ACTIVE_MARKER_H
#define CUPTI_TRACE_CORE_ACTIVE_MARKER_H

/* Makes the mapping, if the system allows it. */
void active_marker_begin(void);

/* Removes the mapping. No effect if there is none. */
void active_marker_end(void);

#endif
