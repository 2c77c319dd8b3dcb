/* SPDX-License-Identifier: MIT */
/*
 * Defines the phases of a run, and which may follow which. A run never returns to an earlier one.
 *
 * The recorded time range has stages of its own (recorded_time_range.h). It may begin or end while
 * the run waits for processes that outlive the command.
 */
#ifndef PROFILER_RUN_RUN_PHASE_H
#define PROFILER_RUN_RUN_PHASE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

enum run_phase {
	RUN_SETTING_UP,         /* the command waits at its gate; running processes: --delay */
	RUN_GOING,              /* the command runs; running processes are followed */
	RUN_COMMAND_ENDED,      /* a moment for processes that end when their parent has ended */
	RUN_AWAITING_SURVIVORS, /* they are counted; those that use the GPU are waited for */
	RUN_LEAVING,            /* libraries in running processes send their data and leave */
	RUN_OVER,               /* all data is collected; the command may go on (-d, `stop`) */
	RUN_COPIED, /* a copy in a forked child, which ends at a moment (session_complete_copy) */
	RUN_FAILED, /* no result: the reason is logged, or the supervisor is gone */
	RUN_PHASES
};

/*
 * Transitions: the set of next phases, one bit each. A run that is going ends with the command or
 * before it (-d, `stop`). With running processes it ends with them, with its duration, or by a
 * signal.
 */
static const uint32_t run_phase_next[RUN_PHASES] = {
	[RUN_SETTING_UP] = 1u << RUN_GOING | 1u << RUN_FAILED,
	[RUN_GOING] = 1u << RUN_COMMAND_ENDED | 1u << RUN_LEAVING | 1u << RUN_OVER |
		      1u << RUN_COPIED | 1u << RUN_FAILED,
	[RUN_COMMAND_ENDED] =
		1u << RUN_AWAITING_SURVIVORS | 1u << RUN_OVER | 1u << RUN_COPIED | 1u << RUN_FAILED,
	[RUN_AWAITING_SURVIVORS] = 1u << RUN_OVER | 1u << RUN_COPIED | 1u << RUN_FAILED,
	[RUN_LEAVING] = 1u << RUN_OVER | 1u << RUN_COPIED | 1u << RUN_FAILED,
	[RUN_OVER] = 1u << RUN_COPIED | 1u << RUN_FAILED,
	[RUN_COPIED] = 1u << RUN_FAILED,
};

static inline bool run_phase_may_follow(enum run_phase from, enum run_phase to)
{
	return run_phase_next[from] >> to & 1;
}

/* Enters the next phase. Developer builds assert that the transition is allowed. */
static inline void run_phase_enter(enum run_phase *phase, enum run_phase next)
{
	assert(run_phase_may_follow(*phase, next));
	*phase = next;
}

#endif
