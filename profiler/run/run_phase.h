/* SPDX-License-Identifier: MIT */
/*
 * The phases of a run, and which may follow which. A run never goes back to an earlier one.
 *
 * What is recorded has stages of its own (recorded_time_range.h): it may begin or end while
 * processes that outlive the command are waited for.
 */
#ifndef PROFILER_RUN_RUN_PHASE_H
#define PROFILER_RUN_RUN_PHASE_H

#include <assert.h>
#include <stdbool.h>

enum run_phase {
	RUN_SETTING_UP,    /* the command is held at its gate; running processes: --delay */
	RUN_GOING,         /* the command runs; running processes are followed */
	RUN_COMMAND_ENDED, /* some processes end when their parent has: a moment is left to them */
	RUN_AWAITING_SURVIVORS, /* they are counted; those that use the GPU are waited for */
	RUN_LEAVING,            /* libraries in running processes send what they have, and leave */
	RUN_OVER,   /* all that is collected is there; the command may go on (-d, `stop`) */
	RUN_COPIED, /* in a child of fork: a copy that ends at a moment (session_complete_copy) */
	RUN_FAILED, /* ends without a result: the reason is logged, or the supervisor has gone */
	RUN_PHASES
};

/*
 * What may follow each phase. A run that is going ends in three ways: with the command, before it
 * (-d, `stop`), or with what running processes are followed for.
 */
static const bool run_phase_next[RUN_PHASES][RUN_PHASES] = {
	[RUN_SETTING_UP] = {[RUN_GOING] = true, [RUN_FAILED] = true},
	[RUN_GOING] = {[RUN_COMMAND_ENDED] = true,
		       [RUN_LEAVING] = true,
		       [RUN_OVER] = true,
		       [RUN_COPIED] = true,
		       [RUN_FAILED] = true},
	[RUN_COMMAND_ENDED] = {[RUN_AWAITING_SURVIVORS] = true,
			       [RUN_OVER] = true,
			       [RUN_COPIED] = true,
			       [RUN_FAILED] = true},
	[RUN_AWAITING_SURVIVORS] = {[RUN_OVER] = true, [RUN_COPIED] = true, [RUN_FAILED] = true},
	[RUN_LEAVING] = {[RUN_OVER] = true, [RUN_COPIED] = true, [RUN_FAILED] = true},
	[RUN_OVER] = {[RUN_COPIED] = true, [RUN_FAILED] = true},
	[RUN_COPIED] = {[RUN_FAILED] = true},
};

static inline bool run_phase_may_follow(enum run_phase from, enum run_phase to)
{
	return run_phase_next[from][to];
}

/* Enters the next phase, which must be one that may follow: developers' builds assert it. */
static inline void run_phase_enter(enum run_phase *phase, enum run_phase next)
{
	assert(run_phase_may_follow(*phase, next));
	*phase = next;
}

#endif
