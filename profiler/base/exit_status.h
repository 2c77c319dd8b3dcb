/* SPDX-License-Identifier: MIT */
/*
 * Lists profile's own exit statuses, as in env(1) and timeout(1).
 *
 * A signal that killed the command is reported by EXIT_SIGNAL_BASE. All other statuses are the
 * command's.
 */
#ifndef PROFILER_BASE_EXIT_STATUS_H
#define PROFILER_BASE_EXIT_STATUS_H

enum {
	EXIT_SLOWER = 123,    /* --fail-above */
	EXIT_NOT_EXACT = 124, /* --strict */
	EXIT_PROFILER_FAILED = 125,
	EXIT_CANNOT_RUN = 126,
	EXIT_NOT_FOUND = 127,
	EXIT_SIGNAL_BASE = 128, /* + the signal that killed the command */
};

#endif
