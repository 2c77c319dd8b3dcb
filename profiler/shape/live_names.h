/* SPDX-License-Identifier: MIT */
/*
 * Names for --live: messages of the worker (model/live_message.h) to tables with names, like
 * those of --report.
 *
 * It has a symbolizer of its own, in a process of its own, so that looking up names neither delays
 * the run nor takes from its budgets, and the profile is the same with --live and without. It reads
 * the tables of LIVE_NAMES_TABLES bytes at most, and adds names for LIVE_NAMES_TIMEOUT_MS per
 * message: what has no name until then shows as its file, "[libfoo.so]", as does code without
 * symbols. Generated code shows as "[jit]".
 */
#ifndef PROFILER_SHAPE_LIVE_NAMES_H
#define PROFILER_SHAPE_LIVE_NAMES_H

#include "profiler/model/live_view.h"

#define LIVE_NAMES_TABLES (128u << 20)
#define LIVE_NAMES_TEXTS (32u << 20)
#define LIVE_NAMES_TIMEOUT_MS 100

struct live_names;

/* `kallsyms` as in symbolizer_set_kallsyms, which takes it. NULL: out of memory. */
struct live_names *live_names_new(int kallsyms);
void live_names_free(struct live_names *names);

/*
 * The view of a message, valid until the next call; NULL: it is not one, or out of memory. A
 * message may lack tables; then they are those of the last one.
 */
const struct live_view *live_names_read(struct live_names *names, const char *bytes, size_t size);

#endif
