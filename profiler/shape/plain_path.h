/* SPDX-License-Identifier: MIT */
/*
 * Makes paths absolute as texts.
 *
 * Nothing is looked up, for paths may be of another machine.
 */
#ifndef PROFILER_SHAPE_PLAIN_PATH_H
#define PROFILER_SHAPE_PLAIN_PATH_H

/*
 * Returns the absolute path without ".", "..", and a slash at its end, as if nothing were a link.
 * "/" becomes "". The caller frees it. Returns NULL if out of memory, or relative without `folder`.
 */
char *plain_path(const char *folder, const char *path);

#endif
