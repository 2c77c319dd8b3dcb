/* SPDX-License-Identifier: MIT */
/*
 * Supervises the worker: splits profile into a process that the user's shell starts and a worker
 * that does everything.
 *
 * The worker reads files and memory that the target's user controls, through libraries not made for
 * hostile input. It may block in a read that no signal ends (a file on a FUSE mount). The
 * supervisor reads only signals and the worker's reports. So Ctrl-C ends the command within two
 * seconds whatever the worker does. The supervisor gives up privilege with the worker, before there
 * is a target, and needs none.
 *
 * The supervisor receives all signals that would end it, except faults and signals that were
 * ignored at the start. It sends them to the worker. The worker blocks them and reads only the
 * supervisor's, so a signal to the whole process group counts once. Stopping and continuing
 * (Ctrl-Z) is left to the kernel, as both are in one process group. With a display, the supervisor
 * stops a little later, once the terminal is restored: the shell waits for that.
 *
 * The first SIGINT goes to the target. A second one while the target lives kills the target; the
 * worker then has SUPERVISOR_TIMEOUT_MS to write the profile. While the profile is being written,
 * the first SIGINT logs that another gives up, and the second gives up. Giving up kills the target
 * and the worker, or leaves a stuck worker behind; the exit status is 130.
 *
 * When the supervisor is killed with SIGKILL, the worker notices and ends quietly; while it writes,
 * the kernel ends it. When the worker is killed, the supervisor logs that and removes the private
 * folder.
 */
#ifndef PROFILER_RUN_SUPERVISOR_H
#define PROFILER_RUN_SUPERVISOR_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>
#include "profiler/base/log.h"
#include "profiler/base/terminal.h"
#include "profiler/run/identity.h"

#define SUPERVISOR_TIMEOUT_MS 1500
#define SUPERVISOR_REAP_MS 500 /* timeout for a worker that reported its end */
#define SUPERVISOR_TASK_MS 200 /* timeout for files or a terminal that block; twice at most */

/* The worker's connection to the supervisor. */
struct supervisor_link {
	int signals; /* readable when there are signals, or the supervisor is gone */
	int reports;
	int is_user; /* eventfd: the supervisor has given up privilege */
};

struct supervisor_signal {
	int32_t number;
	int32_t from_terminal; /* sent to the terminal's whole process group */
};

/*
 * A process of ours that shows the run on the terminal (--live). It starts before the supervisor,
 * and ends when the worker closes `data`. Before the job stops for Ctrl-Z, SUPERVISOR_SUSPENDS on
 * `control` asks it to leave the terminal; it echoes the byte. SUPERVISOR_CONTINUES resumes it. If
 * it is killed, the supervisor restores the terminal.
 */
struct supervisor_display {
	pid_t pid;
	int control;
	int data; /* the worker's end; closed in the supervisor */
	struct terminal *terminal;
};
#define SUPERVISOR_SUSPENDS 's'
#define SUPERVISOR_CONTINUES 'c'

/* Waits until a display that was asked to end has left the terminal. */
void supervisor_await_display(const struct supervisor_display *display, int64_t timeout_ms);

/* Runs in the worker. Returns the exit status to pass on. */
typedef int (*supervisor_work)(const struct supervisor_link *link, void *context);

/*
 * Starts the worker and supervises it. Returns in both processes. In the
 * supervisor, the result is the exit status of `work`, or one of our own. The worker first reports
 * the result of `work`. The
 * supervisor becomes `identity` when the worker does. `display` may be NULL.
 */
int supervisor_run(struct log *log, const struct identity *identity,
		   const struct supervisor_display *display, supervisor_work work, void *context);

/* ---- in the worker ---- */

/* Reads the next signal. Returns 1, 0 if there is none now, or -EPIPE without a supervisor. */
int supervisor_next_signal(const struct supervisor_link *link, struct supervisor_signal *signal);

/*
 * Report to the supervisor:
 * - user: the worker became the user; returns when the supervisor has, or was killed
 * - target: pid of the target, a child that has not been waited for
 * - folder: path of the private folder, to be removed if the worker cannot; "": removed
 * - ended: the target has ended
 * - writing: names are looked up and outputs written from now on
 * - written: outputs are written; what follows ends at a signal, which the worker handles
 */
void supervisor_report_user(const struct supervisor_link *link);
void supervisor_report_target(const struct supervisor_link *link, pid_t pid);
void supervisor_report_folder(const struct supervisor_link *link, const char *path);
void supervisor_report_ended(const struct supervisor_link *link);
void supervisor_report_writing(const struct supervisor_link *link);
void supervisor_report_written(const struct supervisor_link *link);

#endif
