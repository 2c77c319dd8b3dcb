/* SPDX-License-Identifier: MIT */
/*
 * Changes the calling thread's capabilities. privilege.h lists which capabilities profile has when.
 */
#ifndef PROFILER_RUN_CAPABILITIES_H
#define PROFILER_RUN_CAPABILITIES_H

#include <linux/capability.h>
#include <stdint.h>

/* Linux 5.8; missing from older headers. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif

#define CAPABILITY(n) (UINT64_C(1) << (n))

/*
 * Limits the permitted and effective sets to `kept`, and clears the inheritable set. Returns 0 or
 * -errno.
 */
int capabilities_keep(uint64_t kept);

uint64_t capabilities_effective(void);

/*
 * Gives up all capabilities for good, also as root: programs executed later gain none, and other
 * processes cannot inspect this one. The process must be single-threaded. Returns 0 or -errno.
 */
int capabilities_renounce(void);

#endif
