/* SPDX-License-Identifier: MIT */
/*
 * The settings that the profiler gives the library: from variables of the environment, or, in a
 * process that already ran, from the same variables as lines of a text that was handed in.
 */
#ifndef CUPTI_TRACE_CORE_SETTINGS_H
#define CUPTI_TRACE_CORE_SETTINGS_H

#include "cupti_trace/wire/trace_config.h"

/*
 * From now on settings come from a copy of this text, lines of NAME=VALUE. To be called once,
 * before any is asked for. 0 or -ENOMEM.
 */
int settings_use(const char *text);

/* From now on this is the configuration. Its texts are kept by the caller. */
void settings_configure(const struct trace_config *config);

/* Returns the configuration; all is off where none was given. */
const struct trace_config *settings_config(void);

/* Returns another variable; NULL: it is not set. Valid as long as the environment is. */
const char *setting(const char *name);

#endif
