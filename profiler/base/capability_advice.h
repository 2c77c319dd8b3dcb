/* SPDX-License-Identifier: MIT */
/*
 * What gives profile its privilege without sudo, and what messages advise: docs/security.md has the
 * same line, which a test compares, and says what it allows.
 */
#ifndef PROFILER_BASE_CAPABILITY_ADVICE_H
#define PROFILER_BASE_CAPABILITY_ADVICE_H

#define CAPABILITY_SETCAP "setcap cap_bpf,cap_perfmon,cap_syslog=ep profile"
#define CAPABILITY_ADVICE "run with sudo, or give the file capabilities: " CAPABILITY_SETCAP

#endif
