/* SPDX-License-Identifier: MIT */
/*
 * Lists the output formats, and finds them by name or by the extension of a path.
 */
#ifndef PROFILER_OUTPUT_WRITERS_H
#define PROFILER_OUTPUT_WRITERS_H

#include "profiler/formats/writer.h"

/* All formats, then NULL. The first one is the format of paths without an extension. */
extern const struct writer *const writers[];

/* Returns the format with this name, or NULL. */
const struct writer *writer_with_name(const char *name);

/*
 * Returns the format for the extension of a path, or NULL if no format has the extension: the
 * user expects something else. A name like ".x" has no extension.
 */
const struct writer *writer_for_path(const char *path);

/* Returns the format that writes a comparison in this one's place, or NULL if there is none. */
const struct writer *writer_of_difference(const struct writer *writer);

#endif
