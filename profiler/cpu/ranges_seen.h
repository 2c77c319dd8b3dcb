/* SPDX-License-Identifier: MIT */
/*
 * Which processes entered a range that is recorded (--range), which only worked outside, and what
 * other ranges there were: counts and lists of names in the ledger. No I/O.
 */
#ifndef PROFILER_CPU_RANGES_SEEN_H
#define PROFILER_CPU_RANGES_SEEN_H

#include "profiler/cpu/processes.h"
#include "profiler/model/ledger.h"

/* Names of processes, or of ranges, that a list has at most; others are "..." at its end. */
#define RANGES_SEEN_NAMES 8u

/* The process enters a chosen range; true if it is the first time: then it is to be named. */
bool ranges_seen_enter(struct ledger_outside *ledger, struct process *process);
void ranges_seen_name(struct ledger_outside *ledger, const char *name);

/* GPU work of the process was launched outside of what it chose. */
void ranges_seen_leave_out(struct ledger_outside *ledger, struct process *process);

/* A process has a range of this name, in a domain ("": the default one), that is not chosen. */
void ranges_seen_other(struct ledger_outside *ledger, const char *domain, const char *name);

#endif
