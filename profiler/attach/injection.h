/* SPDX-License-Identifier: MIT */
/*
 * Where the injection library is, for programs that are run without the profiler, with
 * CUDA_INJECTION64_PATH, so that tracers can attach to its probes.
 *
 * That is where `make install` has put it, ../lib/profile-injection beside the folder of this
 * program, if it is the same library as the one in this program. Otherwise a copy is put into
 * profile's folder in the user's cache ($XDG_CACHE_HOME, or .cache in $HOME), under a name by its
 * contents: programs may have another version mapped. What is there is only used if its contents
 * are right; copies of other builds do not pile up (injection_cache.h).
 */
#ifndef PROFILER_ATTACH_INJECTION_H
#define PROFILER_ATTACH_INJECTION_H

#define INJECTION_PATH_MAX 4096

/*
 * Writes its absolute path. 0 or -errno; then `path` is the one that could not be made, or "":
 * there is no home folder.
 */
int injection_find(char path[INJECTION_PATH_MAX]);

#endif
