/* SPDX-License-Identifier: MIT */
/*
 * Finds the injection library for programs that run without the profiler. CUDA_INJECTION64_PATH
 * names it there, so that tracers can attach to its probes.
 *
 * Prefers the installed file, ../lib/profile-injection next to this program's folder, if identical
 * to the library in this program. Otherwise copies the library to profile's folder in the user's
 * cache ($XDG_CACHE_HOME, or .cache in $HOME). The copy is named by a hash of its content, because
 * programs may have another version mapped. An existing copy is used only if its content matches.
 *
 * The cache is bounded. The 8 copies that were printed or loaded last stay, and those of the last
 * day: a program may be about to load one. Others that no process has open or mapped, on any
 * machine, are removed: the kernel proves that by granting a lease. File systems without leases
 * keep their copies, since a program on another machine may have them mapped. Only regular files of
 * ours are removed. Nothing is removed unless the folder is real, owned by us and writable by
 * nobody else.
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
