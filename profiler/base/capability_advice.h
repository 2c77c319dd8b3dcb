/* SPDX-License-Identifier: MIT */
/*
 * Names the file capabilities that let profile run without sudo.
 *
 * Messages advise them. docs/security.md quotes CAPABILITY_SETCAP and explains it; a test compares
 * both.
 */
#ifndef PROFILER_BASE_CAPABILITY_ADVICE_H
#define PROFILER_BASE_CAPABILITY_ADVICE_H

#define CAPABILITY_SETCAP "setcap cap_bpf,cap_perfmon,cap_syslog=ep profile"
#define CAPABILITY_ADVICE "run with sudo, or give the file capabilities: " CAPABILITY_SETCAP

#endif
