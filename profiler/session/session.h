/* SPDX-License-Identifier: MIT */
/*
 * One run: owns every part, knows the order in which they start and stop, and has the one loop.
 *
 *   open BPF and process events -> private folder and pipe -> start the target, at its gate ->
 *   follow it, start clocks -> open the gate -> drain until the target, and the traced processes it
 *   left behind, are done -> decide what is pending.
 *
 * Whatever ends the target, what was collected until then is in `collect`.
 */
#ifndef PROFILER_SESSION_SESSION_H
#define PROFILER_SESSION_SESSION_H

#include <stdint.h>
#include "profiler/collect/collect.h"
#include "profiler/sources/gpu_pipe.h"
#include "profiler/session/identity.h"
#include "profiler/base/log.h"
#include "profiler/commands/options.h"

struct session;

/* What a finished session counted. */
struct session_stats {
	struct collect_stats collect;
	struct join_stats join;
	struct gpu_pipe_stats gpu;
	struct stack_counters bpf;
	uint64_t lost_process_events;
	uint32_t probes;
	uint32_t timed_processes; /* whose calls were timed, for want of GPU time */
	uint64_t lost_calls;      /* of these: not in the profile */
	uint64_t elapsed_ns;
	uint64_t longest_round_ns;        /* from one wait for events to the next */
	const struct work_tally *counted; /* what the profile holds; the session's */
	const struct work_tally *told;    /* what CUPTI reported */
	const struct devices *devices;    /* where it ran */
};

struct session *session_new(const struct options *options, const struct identity *identity,
			    struct log *log);
void session_free(struct session *session);

/*
 * Runs it all. 0 when the command ran; then *exit_status is the status to pass on. Otherwise the
 * exit status of our own to use (125, 126, 127), with the reason told.
 */
int session_run(struct session *session, int *exit_status);

/* What was collected, and the counts; after session_run returned 0. */
struct collect *session_collect(struct session *session);
struct session_stats session_stats(const struct session *session);
const char *session_first_malformed(const struct session *session);

#endif
