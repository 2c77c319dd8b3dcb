/* SPDX-License-Identifier: MIT */
/*
 * Runs one profile: owns every part, starts and stops them in order, and runs the event loop.
 *
 *   session_open, with privilege: opens the kernel's event sources
 *   session_run, as the user: private folder and pipe -> start the target, at its gate -> follow it
 * -> open the gate -> read the sources to the end of target and traced processes -> decide
 * pending events.
 *
 * Instead of a command, running processes may be followed (attach.h). The library is injected into
 * those that use CUDA (inject_queue.h). The run ends after a time, by a signal, or with the
 * processes.
 *
 * Data collected before the target's end is kept, whatever ends the target. If the time
 * range is limited (cupti_trace/wire/time_range.h), session_run returns at its end. The target may
 * go on.
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
#include "profiler/run/gpu_watch.h"
#include "profiler/run/inherited.h"
#include "profiler/run/supervisor.h"

/*
 * Requests a snapshot, with --last or with running processes. Otherwise the signal is passed on to
 * the command, like all signals.
 */
#define SESSION_SNAPSHOT_SIGNAL SIGUSR2

/* A watcher's view of the current run. */
struct session_view {
	struct collected collected; /* so far */
	uint64_t start_ns, now_ns;
	uint64_t sample_ns;    /* weight of a CPU sample */
	uint64_t lost_samples; /* samples and launches lost in the kernel */
	uint64_t waiting;      /* gpu_pipe_waiting */
	bool asks_snapshot;    /* SESSION_SNAPSHOT_SIGNAL has come since the last call */
	bool has_read_all;     /* the pipe was emptied in this round */
	bool is_over;          /* all input is read: this is the last call */
	pid_t pid;             /* the command, or the first running process */
};

/*
 * Watches the run (--live, --prometheus, --otlp). `look` is called in each round of the loop, at
 * least every 50 ms. Input waits meanwhile, so a call should take a few milliseconds at most.
 * During --delay with running processes, `view` is NULL; the watcher may end the delay then.
 */
struct session_watcher {
	void (*look)(void *context, const struct session_view *view); /* NULL: no watcher */
	void *context;
};

/* Options of a session. Strings and lists must outlive the session. */
struct session_options {
	char **command;                      /* NULL-terminated; NULL with `attach` */
	const struct attach_request *attach; /* running processes; NULL: a command */
	struct measure measure;
	struct counter_request counters;
	const char *injection_lib;    /* NULL: the built-in one */
	const char *const *cuda_libs; /* further runtimes to probe */
	uint32_t cuda_lib_count;
	const char *record;  /* prefix of the files for raw input; NULL: none */
	uint32_t place_mask; /* places.h */
	/* collect.h; may be set before session_run; NULL: launches are sent without durations */
	struct timeline *timeline;
	bool is_for_findings; /* nothing else uses the timeline: launches have no durations */
	struct timeline *idle_store; /* collect.h; may be set before session_run */
	struct session_watcher watcher;
	struct gpu_watch_connector gpu_states;           /* zeroed: not watched */
	bool watches_load, keeps_metrics, draws_off_cpu; /* collect.h */
	bool is_controlled;                              /* the watcher may change the time range */
	bool takes_turns; /* collect.h: the watcher calls session_take */
};

struct session;

/* Makes a session. The arguments' targets must outlive it. Returns NULL when out of memory. */
struct session *session_new(const struct session_options *options,
			    const struct inherited *inherited,
			    const struct supervisor_link *supervisor, struct log *log);
void session_free(struct session *session);

/*
 * Opens what needs privilege (privilege.h). Returns 0, or an exit status after logging the reason.
 */
int session_open(struct session *session);

/*
 * Runs the session as the user. `stdout_is_taken` redirects the target's stdout to stderr. Returns
 * 0 if the command ran, and sets *exit_status to the status to pass on. Otherwise returns an exit
 * status of our own: 125, 126, 127, or 128 plus a signal. Then the reason is logged, except for a
 * signal or the supervisor's death.
 */
int session_run(struct session *session, bool stdout_is_taken, int *exit_status);

/*
 * Returns true if the command goes on after session_run returned 0: its time range is over (-d).
 * Its exit status is unknown then.
 */
bool session_goes_on(const struct session *session);

/*
 * Waits for a command that goes on, passing on signals. Discards the collected data. Returns the
 * exit status to pass on.
 */
int session_await(struct session *session);

/*
 * Marks the start of sending, after session_run returned 0 and all outputs are written.
 * session_ends_sending returns true once a signal asks to stop since then. A command that goes on
 * gets signals, too.
 */
void session_begin_sending(struct session *session);
bool session_ends_sending(struct session *session);

/*
 * Completes a copy of the collected data as if the run ended at `until_ns`, which is not later than
 * now. To be called by a watcher in a child of fork(2); the run goes on in the parent. Events still
 * in transit are missing from the copy. With --last, so is what began at or after `until_ns`.
 */
void session_complete_copy(struct session *session, uint64_t until_ns);

/*
 * Notes in the parent that a child completes a result of --every, with session_complete_copy for
 * `until_ns`. session_take ends it, once it is written: the next result has what began since, and
 * what came too late. Otherwise the next one has all of it.
 */
void session_note_copy(struct session *session, uint64_t until_ns);
void session_take(struct session *session);

/*
 * Begins the time range, from a watcher: TIME_RANGE_NOTICE_NS from now, when all programs know of
 * it, or earlier if it was due. The range lasts as `measure` says. Returns 0, -EALREADY if it has
 * begun, or -ESHUTDOWN if it has ended.
 */
int session_begin_time_range(struct session *session);

/*
 * Ends the time range now, from a watcher. session_run returns when earlier work is complete, after
 * five seconds at the latest. The command goes on.
 */
void session_stop(struct session *session);

/* Excludes the CPU time of a child that was waited for and is not the command's. */
void session_discount_child(struct session *session, uint64_t cpu_ns);

/* Return the collected data and the run's totals, after session_run returned 0. */
struct collect *session_collect(struct session *session);
struct totals session_totals(const struct session *session);

/* Sets the CPU time and memory used by this process: `own_cpu_ns`, `own_memory_bytes`. */
void session_note_cost(struct totals *totals);

#endif
