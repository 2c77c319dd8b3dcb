/* SPDX-License-Identifier: MIT */
/* Paths as texts: nothing is looked up, for they may be of another machine. */
#ifndef PROFILER_SHAPE_PLAIN_PATH_H
#define PROFILER_SHAPE_PLAIN_PATH_H

/*
 * The absolute path, without "." and "..", as if nothing were a link, and without a slash at its
 * end: "/" is "". To be freed. NULL: out of memory, or relative without a folder.
 */
char *plain_path(const char *folder, const char *path);

#endif
