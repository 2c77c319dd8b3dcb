/* SPDX-License-Identifier: MIT */
/*
 * Finds the symbolic links by which paths of the user's code and of the command meet.
 *
 * A script may be started as /link/x.py while its modules are /data/me/..., or the other way round.
 * Only links to what the command names, and to its working directory, are kept. So a result reveals
 * no other links.
 *
 * A list of links is a text: a path, "//", the path that it leads to, "//", and so on. Paths are
 * absolute. A path below a listed path leads to the corresponding path below the other.
 */
#ifndef PROFILER_SHAPE_PATH_LINKS_H
#define PROFILER_SHAPE_PATH_LINKS_H

#include <stdbool.h>
#include "profiler/model/result.h"

#define PATH_LINKS_BYTES 65536u /* bytes of a list; the rest is ignored */
#define PATH_LINKS_MAX 512u     /* entries of a list */

/*
 * Returns the list of links, which the caller frees. Looks up the words of the command, the
 * programs that it found in `search_path` ($PATH, or NULL), and the folders of code that ran. The
 * lookup has a deadline and no capabilities (bounded_call.h). Returns NULL if there are no links,
 * out of memory, or at the deadline.
 */
char *path_links_find(const struct result *result, const char *search_path);

/*
 * Returns the path that `path` leads to by its longest prefix in the list. The caller frees it.
 * Returns NULL if no entry is a prefix, or out of memory. `links` may be NULL, or any text.
 */
char *path_links_follow(const char *links, const char *path);

/* Returns true if an entry of the list is a program of this name and leads to `path`. */
bool path_links_has_program(const char *links, const char *name, const char *path);

#endif
