/* SPDX-License-Identifier: MIT */
/*
 * One run: owns every part, starts and stops them in order, and runs the one loop.
 *
 *   session_open, which may need privilege: what the kernel reports
 *   session_run, as the user: private folder and pipe -> start the target, at its gate -> follow it
 * -> open the gate -> take in what the sources have until the target, and the traced processes it
 * left behind, are done -> decide what is pending.
 *
 * Or, in place of a command, processes that run already (attach.h) are followed, and the library is
 * brought into those that use CUDA (inject_queue.h), until a time is over, a signal ends it, or
 * they have all ended.
 *
 * Whatever ends the target, what was collected until then is kept. Where a part of the run is
 * recorded (cupti_trace/wire/time_range.h), session_run returns at its end, and the target may go
 * on.
 */
#ifndef PROFILER_RUN_SESSION_H
#define PROFILER_RUN_SESSION_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include "profiler/attach/attach.h"
#include "profiler/base/log.h"
#include "profiler/base/measure.h"
#include "profiler/join/collect.h"
#include "profiler/model/result.h"
#include "profiler/run/inherited.h"
#include "profiler/run/supervisor.h"

/*
 * Asks for a snapshot, where the last seconds are kept or processes that run already are followed.
 * Elsewhere it is passed on to the command, like all signals.
 */
#define SESSION_SNAPSHOT_SIGNAL SIGUSR2

/* What a watcher sees of a run that goes on. */
struct session_view {
	struct collected collected; /* so far */
	uint64_t start_ns, now_ns;
	uint64_t sample_ns;    /* weight of a CPU sample */
	uint64_t lost_samples; /* and launches, in the kernel */
	uint64_t waiting;      /* gpu_pipe_waiting */
	bool asks_snapshot;    /* SESSION_SNAPSHOT_SIGNAL has come since the last look */
	bool has_read_all;     /* that the programs had sent, in this round */
	bool is_over;          /* all input is there: this is the last look */
	pid_t pid;             /* of the command */
};

/*
 * Watches the run (--live, --prometheus, --otlp): called in each round of the loop, at least every
 * 50 ms. Input waits meanwhile, so it should take a few milliseconds at most. While processes that
 * run already are not looked at yet (--delay), with a view of NULL: it may begin that.
 */
struct session_watcher {
	void (*look)(void *context, const struct session_view *view); /* NULL: nobody does */
	void *context;
};

/* What to run, and what to look at. Strings and lists outlive the session. */
struct session_options {
	char **command;                      /* NULL-terminated; NULL with `attach` */
	const struct attach_request *attach; /* processes that run already; NULL: a command */
	struct measure measure;
	struct counter_request counters;
	const char *injection_lib;    /* NULL: the built-in one */
	const char *const *cuda_libs; /* further runtimes to probe */
	uint32_t cuda_lib_count;
	const char *record;  /* prefix of files to keep the raw input in; NULL: none */
	uint32_t place_mask; /* places.h */
	/* collect.h; may be set up to session_run. NULL: launches are sent without their durations
	 */
	struct timeline *timeline;
	struct timeline *idle_store; /* collect.h; likewise */
	struct session_watcher watcher;
	bool watches_load, keeps_metrics; /* collect.h */
	bool is_controlled;               /* the watcher may change what is recorded */
};

struct session;

/* Makes a session. What the arguments point to must outlive it. NULL: out of memory. */
struct session *session_new(const struct session_options *options,
			    const struct inherited *inherited,
			    const struct supervisor_link *supervisor, struct log *log);
void session_free(struct session *session);

/* Opens what needs privilege (privilege.h). 0, or an exit status after logging the reason. */
int session_open(struct session *session);

/*
 * The rest; with `stdout_is_taken` the target's stdout goes to stderr. 0 when the command ran; then
 * *exit_status is the status to pass on. Otherwise the exit status of our own to use (125, 126,
 * 127, or 128 and a signal's number), after logging the reason, unless it is a signal or the
 * supervisor's death.
 */
int session_run(struct session *session, bool stdout_is_taken, int *exit_status);

/*
 * After session_run returned 0: whether the command goes on, for the time that was to be recorded
 * is over (-d); then its exit status is not known. And waits for its end, passing signals on: the
 * status to pass on. What was collected is gone then.
 */
bool session_goes_on(const struct session *session);
int session_await(struct session *session);

/*
 * After session_run returned 0, when all outputs are written and something is being sent: whether a
 * signal has asked since session_begin_sending to end that. Signals reach a command that goes on.
 */
void session_begin_sending(struct session *session);
bool session_ends_sending(struct session *session);

/* After session_run returned 0: what was collected, and how it went. */
/*
 * From a watcher, in a child of fork(2): completes the child's copy of what was collected, as if
 * the run ended at `until_ns`, which is not later than now. The run itself goes on in the parent.
 * What is on its way then is not in the copy. Where the last seconds are kept, what began from
 * `until_ns` on is not, either.
 */
void session_complete_copy(struct session *session, uint64_t until_ns);

/*
 * From a watcher: what is recorded begins TIME_RANGE_NOTICE_NS from now, by which time programs
 * know it, or earlier, and lasts as long as `measure` says. -EALREADY: it has begun. -ESHUTDOWN: it
 * has ended.
 */
int session_begin_time_range(struct session *session);

/*
 * From a watcher: what begins later is not recorded. session_run returns when what began before is
 * complete, after five seconds at the latest, and the command goes on.
 */
void session_stop(struct session *session);

/* CPU time of children that were waited for and are not the command's. */
void session_discount_child(struct session *session, uint64_t cpu_ns);

struct collect *session_collect(struct session *session);
struct totals session_totals(const struct session *session);

/* Sets what this process has used up to now: `own_cpu_ns`, `own_memory_bytes`. */
void session_note_cost(struct totals *totals);

#endif
