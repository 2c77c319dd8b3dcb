/* SPDX-License-Identifier: MIT */
/*
 * Finds the injection library for programs that run without the profiler. CUDA_INJECTION64_PATH
 * names it there, so that tracers can attach to its probes.
 *
 * Prefers the installed file, ../lib/profile-injection next to this program's folder, if identical
 * to the library in this program. Otherwise copies the library to profile's folder in the user's
 * cache ($XDG_CACHE_HOME, or .cache in $HOME). The copy is named by a hash of its content, because
 * programs may have another version mapped. An existing copy is used only if its content matches.
 * injection_cache.h removes copies of other builds.
 */
#ifndef PROFILER_ATTACH_INJECTION_H
#define PROFILER_ATTACH_INJECTION_H

#define INJECTION_PATH_MAX 4096

/*
 * Writes the library's absolute path. Returns 0 or -errno. On error `path` is the file that could
 * not be made, or "" without a home folder.
 */
int injection_find(char path[INJECTION_PATH_MAX]);

#endif
