/* SPDX-License-Identifier: MIT */
/*
 * Bounds what injection.h leaves in the user's cache: a copy of the library for each build.
 *
 * The INJECTION_CACHE_KEPT copies that were last printed or loaded stay, and any of the last day,
 * which a program may be about to load. Of the others those are removed that no process has open
 * or mapped, on any machine: the kernel says so by granting a lease. File systems without leases
 * keep their copies, for a program of another machine may have them mapped.
 *
 * The folder must be ours, a folder and no link, and nobody else's to write; in it only regular
 * files of ours are touched, under names that injection.h gives.
 */
#ifndef PROFILER_ATTACH_INJECTION_CACHE_H
#define PROFILER_ATTACH_INJECTION_CACHE_H

#define INJECTION_CACHE_NAME "libprofile_cupti"
#define INJECTION_CACHE_KEPT 8u

/* `used`: the name in the folder that stays whatever its age. */
void injection_cache_trim(const char *folder, const char *used);

#endif
