/* SPDX-License-Identifier: MIT */
/*
 * Counts and lists, in the ledger, the processes and ranges seen with --range.
 *
 * A process either entered a recorded range, or only worked outside. Other ranges are listed by
 * name. No I/O.
 */
#ifndef PROFILER_CPU_RANGES_SEEN_H
#define PROFILER_CPU_RANGES_SEEN_H

#include "profiler/cpu/processes.h"
#include "profiler/model/ledger.h"

/* Maximum number of names in a list; "..." stands for further ones. */
#define RANGES_SEEN_NAMES 8u

/*
 * Notes that the process enters a recorded range. Returns true the first time: then the caller
 * names the process.
 */
bool ranges_seen_enter(struct ledger_outside *ledger, struct process *process);
void ranges_seen_name(struct ledger_outside *ledger, const char *name);

/* Notes GPU work of the process that was launched outside recorded ranges. */
void ranges_seen_leave_out(struct ledger_outside *ledger, struct process *process);

/* Notes a range that is not recorded. `domain` is "" for the default one. */
void ranges_seen_other(struct ledger_outside *ledger, const char *domain, const char *name);

#endif
