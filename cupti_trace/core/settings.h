/* SPDX-License-Identifier: MIT */
/*
 * Reads the settings that the profiler gives the library: variables of the environment or, in an
 * injected process, lines of a text with those variables.
 */
#ifndef CUPTI_TRACE_CORE_SETTINGS_H
#define CUPTI_TRACE_CORE_SETTINGS_H

#include "cupti_trace/wire/trace_config.h"

/*
 * Takes settings from a copy of this text from now on: lines of NAME=VALUE. Call once, before any
 * setting is read. Returns 0 or -ENOMEM.
 */
int settings_use(const char *text);

/* Replaces the configuration. The caller keeps its texts alive. */
void settings_configure(const struct trace_config *config);

/* Returns the configuration; zero if none was given. */
const struct trace_config *settings_config(void);

/* Returns another variable, or NULL if it is not set. Valid as long as the environment is. */
const char *setting(const char *name);

#endif
