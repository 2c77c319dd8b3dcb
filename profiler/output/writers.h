/* SPDX-License-Identifier: MIT */
/*
 * The formats that there are, by name and by a file's extension.
 */
#ifndef PROFILER_OUTPUT_WRITERS_H
#define PROFILER_OUTPUT_WRITERS_H

#include "profiler/formats/writer.h"

/* All formats, NULL at the end; the first one is that of a path without an extension. */
extern const struct writer *const writers[];

/* NULL: no format has this name. */
const struct writer *writer_with_name(const char *name);

/*
 * By the path's extension; NULL: no format has it, so whoever gave it expects something else. A
 * name that only begins with a dot has none.
 */
const struct writer *writer_for_path(const char *path);

#endif
