/* SPDX-License-Identifier: MIT */
/*
 * Bounds the copies of the library that injection.h leaves in the user's cache, one per build.
 *
 * Keeps the INJECTION_CACHE_KEPT copies that were printed or loaded last. Keeps those of the last
 * day, too: a program may be about to load one. Removes others that no process has open or mapped,
 * on any machine: the kernel proves that by granting a lease. File systems without leases keep
 * their copies, since a program on another machine may have them mapped.
 *
 * The folder must be a real folder, owned by us and writable by nobody else. Only regular files of
 * ours with names from injection.h are touched.
 */
#ifndef PROFILER_ATTACH_INJECTION_CACHE_H
#define PROFILER_ATTACH_INJECTION_CACHE_H

#define INJECTION_CACHE_NAME "libprofile_cupti"
#define INJECTION_CACHE_KEPT 8u

/* Removes old copies from `folder`. The file named `used` stays, whatever its age. */
void injection_cache_trim(const char *folder, const char *used);

#endif
