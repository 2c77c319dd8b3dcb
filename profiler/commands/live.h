/* SPDX-License-Identifier: MIT */
/*
 * Shows the load and the top entries of a run once a second: --live.
 *
 * On a terminal a separate process displays them. Looking up names, drawing and reading keys never
 * delay the run. The worker sends the display a message per second (model/live_message.h), and
 * drops a message that finds no room. The display ends when the worker's end of the socket is
 * closed for any reason, and restores the terminal. The supervisor informs the display when the
 * job is stopped and continued (Ctrl-Z). The supervisor restores the terminal if the display is
 * killed.
 *
 * The worker prints one line per second instead, also with -q, in two cases: stderr is not the
 * controlling terminal, or the terminal has no cursor addressing (TERM=dumb).
 *
 * Tables are summed in steps of at most LIVE_STEP_NS, between rounds of the session's loop. All
 * passes together take at most 1/LIVE_PASS_SHARE of the time.
 */
#ifndef PROFILER_COMMANDS_LIVE_H
#define PROFILER_COMMANDS_LIVE_H

#include "profiler/base/terminal.h"
#include "profiler/model/live_message.h"
#include "profiler/run/identity.h"
#include "profiler/run/session.h"
#include "profiler/run/supervisor.h"

#define LIVE_PERIOD_NS 1000000000u
#define LIVE_STEP_NS 2000000u
#define LIVE_PASS_SHARE 100u   /* a pass over the rows takes at most this fraction of the time */
#define LIVE_LAG_NS 500000000u /* GPU records arrive 50 ms late or more, in batches */

struct live {
	struct measure measure;
	bool has_call_times; /* durations of launches are recorded */
	struct terminal terminal;
	struct supervisor_display display; /* `pid` is 0 without a display */
	int to_display;                    /* the worker's end of the socket; -1: closed */
	uint64_t next_ns, next_pass_ns;
	bool in_pass, has_tables;
	struct live_sums sums;
	struct live_writer *writer;
	struct live_pick *picks;
	struct { /* counts at the last message */
		uint64_t time_ns, kernels, samples, call_ns;
	} last;
};

/*
 * Starts the display if there is a terminal for it, else selects plain lines. Call it before the
 * supervisor starts. `command` is the command as text, or NULL.
 */
void live_start(struct live *live, const struct measure *measure, bool has_call_times,
		const struct identity *identity, const char *command);

/* Updates the display in the worker. Call it in each round of the session's loop. */
void live_update(struct live *live, const struct session_view *view);

/* Ends the display in the worker. Waits until the terminal is restored. May be called twice. */
void live_end(struct live *live);

#endif
