/* SPDX-License-Identifier: MIT */
/*
 * Shows a written file in the user's browser (--open): with the first command in $BROWSER, or
 * xdg-open.
 *
 * A process of its own does it, the opener. It starts before the profiler takes or gives up any
 * privilege, becomes the user, and waits: what it executes could not be a program that gains
 * privilege (a browser in a snap) if it were a child of the profiler's later processes. It has no
 * descriptors but one socket, and is in a session of its own, so that the browser outlives the
 * terminal and gets no Ctrl-C from it. It ends when the profiler ends.
 */
#ifndef PROFILER_COMMANDS_OPENER_H
#define PROFILER_COMMANDS_OPENER_H

#include "profiler/base/log.h"
#include "profiler/run/identity.h"
#include "profiler/run/inherited.h"

/* How long a browser's start may take to fail. */
#define OPENER_TIMEOUT_MS 1000

struct opener {
	int socket; /* -1: it has not been started */
};

/* 0 or -errno. The other functions may be called after an error, too. */
int opener_start(struct opener *opener, const struct identity *identity,
		 const struct inherited *inherited);

/*
 * Becomes, for good, the user that called sudo: the files are the user's. If it is wanted, an
 * opener is started before. 0 or -errno.
 */
int opener_become_user(struct opener *opener, bool is_wanted, const struct identity *identity,
		       const struct inherited *inherited);

/*
 * Shows the file, or logs why it is not shown. Returns as soon as that is known, and after
 * OPENER_TIMEOUT_MS at the latest: a browser that still runs then shows it.
 */
void opener_show(struct opener *opener, struct log *log, const char *path);

/* In the process that has started it. */
void opener_release(struct opener *opener);

#endif
