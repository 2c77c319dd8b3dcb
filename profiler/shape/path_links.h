/* SPDX-License-Identifier: MIT */
/*
 * Paths of the user's code that lead over symbolic links: a script may be started as /link/x.py
 * while its modules are /data/me/x.py and so on, or the other way round. Only those are kept that
 * lead to what the command names, with its working directory; so a result tells of no other links.
 *
 * A list of links is a text: a path, "//", where it leads to, "//", and so on. Paths are absolute,
 * and a path below one of the list leads to the same below the other.
 */
#ifndef PROFILER_SHAPE_PATH_LINKS_H
#define PROFILER_SHAPE_PATH_LINKS_H

#include <stdbool.h>
#include "profiler/model/result.h"

#define PATH_LINKS_BYTES 65536u /* of a list, at most; more is not read */
#define PATH_LINKS_MAX 512u     /* entries of a list, at most */

/*
 * Returns the links on the way to the words of the command, to programs that it found in
 * `search_path` (as $PATH, or NULL), and to the folders of the code that ran: to be freed; NULL:
 * none, no memory, or no answer in time. They are looked up by one call with a deadline, without
 * capabilities (bounded_call.h).
 */
char *path_links_find(const struct result *result, const char *search_path);

/*
 * Returns where a path leads to by the longest entry of a list that it is below, to be freed.
 * NULL: nowhere else, or out of memory. `links` may be NULL, and any text.
 */
char *path_links_follow(const char *links, const char *path);

/*
 * Returns whether the list has an entry for a program of this name, found in the search path, that
 * leads to `path`.
 */
bool path_links_has_program(const char *links, const char *name, const char *path);

#endif
