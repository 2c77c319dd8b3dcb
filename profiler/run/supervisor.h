/* SPDX-License-Identifier: MIT */
/*
 * Two processes: the one that the user's shell starts, which only supervises, and the worker, which
 * does everything.
 *
 * The worker reads files and memory that the target's user controls, through libraries that were
 * not made for hostile input, and may sit in a read that no signal ends (a file on a FUSE mount).
 * The supervisor reads nothing but signals and the worker's reports, so that Ctrl-C ends the
 * command within two seconds whatever the worker is doing. It gives up privilege when the worker
 * does, before there is a target, and needs none.
 *
 * Signals that would end the supervisor (except those that faults raise, and except those that we
 * were started with ignored) are collected there and sent to the worker, which blocks them and
 * obeys the supervisor alone: so a signal to the whole process group counts once. Stopping and
 * continuing (Ctrl-Z) is left to the kernel: both are in the same process group. Only with a
 * display the supervisor stops a little later, when the terminal is as it was: the shell waits for
 * that.
 *
 * SIGINT: the first is the target's. A second one while the target lives kills the target, and the
 * worker has SUPERVISOR_TIMEOUT_MS from then on to write the profile. While the profile is being
 * written the first one logs that another gives up, and the second one gives up at once. Giving up
 * kills the target, if it still lives, and the worker, or leaves it where it is stuck; the exit
 * status is 130.
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
#define SUPERVISOR_BURY_MS 500 /* for a worker that has reported its end, to be gone */
#define SUPERVISOR_TASK_MS                                                    \
	200 /* for what the user's files or terminal may block; twice at most \
	     */

/* The worker's connection with the supervisor. */
struct supervisor_link {
	int signals; /* readable when there are signals, or when the supervisor has gone */
	int reports;
	int is_user; /* eventfd: the supervisor has given up privilege */
};

struct supervisor_signal {
	int32_t number;
	int32_t from_terminal; /* the terminal's whole process group got it */
};

/*
 * A process of ours that shows the run on the terminal (--live), started before the supervisor, and
 * ended by the worker's end of `data`. Before the job stops for Ctrl-Z, a byte through `control`
 * asks it to leave the terminal; it returns the byte. Another one lets it go on. Should it be
 * killed, the supervisor leaves the terminal for it.
 */
struct supervisor_display {
	pid_t pid;
	int control;
	int data; /* the worker's; closed in the supervisor */
	struct terminal *terminal;
};
#define SUPERVISOR_SUSPENDS 's'
#define SUPERVISOR_CONTINUES 'c'

/* Waits until the display, which was asked to end, has left the terminal; not forever. */
void supervisor_await_display(const struct supervisor_display *display, int64_t timeout_ms);

/* What the worker does; returns the exit status to pass on. */
typedef int (*supervisor_work)(const struct supervisor_link *link, void *context);

/*
 * Starts the worker, supervises it, and returns the exit status: of `work`, or one of our own. It
 * returns in both processes: in the worker with what `work` returned, when that has been reported.
 * The supervisor becomes `identity` when the worker does. `display` may be NULL.
 */
int supervisor_run(struct log *log, const struct identity *identity,
		   const struct supervisor_display *display, supervisor_work work, void *context);

/* ---- in the worker ---- */

/* 1 and the next signal; 0: there is none now; -EPIPE: the supervisor has gone. */
int supervisor_next_signal(const struct supervisor_link *link, struct supervisor_signal *signal);

/*
 * Reports: we are the user now (returns when the supervisor is, too, or has been killed); this is
 * the private folder, to be removed if we cannot ("": it is gone); this is the target, a child that
 * has not been waited for; it has ended; names are looked up and outputs are written from now on;
 * that is done, and what follows ends at a signal, which we take.
 */
void supervisor_report_user(const struct supervisor_link *link);
void supervisor_report_target(const struct supervisor_link *link, pid_t pid);
void supervisor_report_folder(const struct supervisor_link *link, const char *path);
void supervisor_report_ended(const struct supervisor_link *link);
void supervisor_report_writing(const struct supervisor_link *link);
void supervisor_report_written(const struct supervisor_link *link);

#endif
