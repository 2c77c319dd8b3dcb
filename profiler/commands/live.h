/* SPDX-License-Identifier: MIT */
/*
 * --live: what the command does, once a second, while it runs.
 *
 * On a terminal a process of its own shows it, so that nothing it does delays the run: it looks up
 * names, draws, reads keys. The worker sends it a message a second (model/live_message.h) and
 * skips one that it has no room for. It ends when the worker's end of the socket is closed,
 * whatever closes it, and leaves the terminal as it was. The supervisor tells it when the job is
 * stopped and continued (Ctrl-Z), and restores the terminal if the process itself is killed.
 *
 * Where stderr is not the controlling terminal, or one without cursor addressing (TERM=dumb), the
 * worker prints one line per second there instead, also with -q.
 *
 * The tables are summed up in steps of at most LIVE_STEP_NS between two rounds of the session's
 * loop, and so seldom that they take at most a hundredth of the time.
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
#define LIVE_PASS_SHARE 100u   /* a pass over the rows takes at most one part of so many */
#define LIVE_LAG_NS 500000000u /* records of GPU work come 50 ms late or more, in batches */

struct live {
	struct measure measure;
	bool has_call_times; /* durations of launches are recorded */
	struct terminal terminal;
	struct supervisor_display display; /* its pid 0: none, plain lines */
	int to_display;                    /* the worker's end; -1: closed */
	uint64_t next_ns, next_pass_ns;
	bool in_pass, has_tables;
	struct live_sums sums;
	struct live_writer *writer;
	struct live_pick *picks;
	struct { /* the counts of a second ago */
		uint64_t time_ns, kernels, samples, call_ns;
	} last;
};

/*
 * Before the supervisor starts: starts the display, if there is a terminal for it. `command`: the
 * command as text, or NULL. On failure there are plain lines.
 */
void live_start(struct live *live, const struct measure *measure, bool has_call_times,
		const struct identity *identity, const char *command);

/* In the worker: a round of the session's loop. */
void live_look(struct live *live, const struct session_view *view);

/* In the worker: the run is over. Waits until the terminal is as it was. May be called again. */
void live_end(struct live *live);

#endif
