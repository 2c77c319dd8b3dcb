/* SPDX-License-Identifier: MIT */
/*
 * Names the tables of --live: turns messages of the worker (model/live_message.h) into named
 * tables.
 *
 * Names are looked up by a symbolizer of their own, in a process of its own. So --live neither
 * delays the run, nor takes from its quotas, nor changes the profile.
 *
 * The symbolizer's tables have LIVE_NAMES_TABLES bytes at most, and names are looked up for
 * LIVE_NAMES_TIMEOUT_MS per message. Code that has no name by then, or no symbols, shows as its
 * file: "[libfoo.so]". Generated code shows as "[jit]".
 */
#ifndef PROFILER_SHAPE_LIVE_NAMES_H
#define PROFILER_SHAPE_LIVE_NAMES_H

#include "profiler/model/live_view.h"

#define LIVE_NAMES_TABLES (128u << 20)
#define LIVE_NAMES_TEXTS (32u << 20)
#define LIVE_NAMES_TIMEOUT_MS 100

struct live_names;

/* Takes `kallsyms` (symbolizer_set_kallsyms). Returns NULL if out of memory. */
struct live_names *live_names_new(int kallsyms);
void live_names_free(struct live_names *names);

/*
 * Returns the view of a message, valid until the next call. A table that the message lacks is that
 * of the message before. Returns NULL for an invalid message, or if out of memory.
 */
const struct live_view *live_names_read(struct live_names *names, const char *bytes, size_t size);

#endif
