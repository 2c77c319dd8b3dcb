/* SPDX-License-Identifier: MIT */
/*
 * Shows a written file in the user's browser: --open. Executes the first command in $BROWSER, or
 * xdg-open.
 *
 * A separate process, the opener, starts before the profiler changes its privileges, and becomes
 * the user. A child of later profiler processes could not execute a program that gains privilege,
 * such as a browser in a snap. The opener keeps only one socket open. It has its own session, so
 * that the browser survives the terminal and gets no Ctrl-C. The opener ends with the profiler.
 */
#ifndef PROFILER_COMMANDS_OPENER_H
#define PROFILER_COMMANDS_OPENER_H

#include "profiler/base/log.h"
#include "profiler/run/identity.h"
#include "profiler/run/inherited.h"

/* Time in which a browser's start may fail. */
#define OPENER_TIMEOUT_MS 1000

struct opener {
	int socket; /* -1 if not started */
};

/* Starts the opener. Returns 0 or -errno. The other functions may be called after an error. */
int opener_start(struct opener *opener, const struct identity *identity,
		 const struct inherited *inherited);

/*
 * Becomes the user who called sudo, for good, so that the user owns the files. Starts an opener
 * first if `is_wanted`. Returns 0 or -errno.
 */
int opener_become_user(struct opener *opener, bool is_wanted, const struct identity *identity,
		       const struct inherited *inherited);

/*
 * Shows the file, or logs why not. Returns after OPENER_TIMEOUT_MS at the latest; a browser that
 * still runs shows the file.
 */
void opener_show(struct opener *opener, struct log *log, const char *path);

/* Closes the socket, which ends the opener. */
void opener_release(struct opener *opener);

#endif
