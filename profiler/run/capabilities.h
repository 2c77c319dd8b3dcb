/* SPDX-License-Identifier: MIT */
/*
 * The calling thread's capabilities. privilege.h says when profile has which.
 */
#ifndef PROFILER_RUN_CAPABILITIES_H
#define PROFILER_RUN_CAPABILITIES_H

#include <linux/capability.h>
#include <stdint.h>

/* Linux 5.8; not in the headers of older systems. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif

#define CAPABILITY(n) (UINT64_C(1) << (n))

/*
 * Keeps only these of the permitted ones, and are in effect; nothing can be inherited. 0 or -errno.
 */
int capabilities_keep(uint64_t kept);

uint64_t capabilities_effective(void);

/*
 * Gives up all for good, also as root: programs executed later gain none, and other processes may
 * not look into this one. For a process of one thread. 0 or -errno.
 */
int capabilities_renounce(void);

#endif
