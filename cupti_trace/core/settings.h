/* SPDX-License-Identifier: MIT */
/*
 * What the profiler wants of the library (gpu_wire.h): variables of the environment, or, in a
 * process that already ran, lines of a text that was handed in.
 */
#ifndef CUPTI_TRACE_CORE_SETTINGS_H
#define CUPTI_TRACE_CORE_SETTINGS_H

/*
 * From now on settings come from a copy of this text, lines of NAME=VALUE. To be called once,
 * before any is asked for. 0 or -ENOMEM.
 */
int settings_use(const char *text);

/* The value of a setting; NULL: it is not set. Valid as long as the environment is. */
const char *setting(const char *name);

#endif
