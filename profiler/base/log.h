/* SPDX-License-Identifier: MIT */
/*
 * Prints the profiler's messages on stderr, one line each.
 *
 * Problems and advice are prefixed with "profile: ". On a terminal a message is wrapped at spaces
 * (wrap.h). Elsewhere it stays one line, so that scripts find it.
 *
 * Messages may quote text of the target: names, paths, messages of its libraries. Control
 * characters and invalid UTF-8 are shown as '?'.
 */
#ifndef PROFILER_BASE_LOG_H
#define PROFILER_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_ERRORS = -1, LOG_NORMAL = 0, LOG_VERBOSE = 1 };

struct log {
	enum log_level level; /* -q: LOG_ERRORS, -v: LOG_VERBOSE */
};

#define LOG_PRINTF __attribute__((format(printf, 2, 3)))

/* Logs an error, at every level. Returns false, for `return log_error(...)`. */
bool log_error(struct log *log, const char *format, ...) LOG_PRINTF;
/* Logs an error, at every level. Returns EXIT_PROFILER_FAILED. */
int log_failure(struct log *log, const char *format, ...) LOG_PRINTF;
/* Logs a warning or advice. Silent with -q. */
void log_warn(struct log *log, const char *format, ...) LOG_PRINTF;
/* Logs a result, without the prefix. Silent with -q. */
void log_line(struct log *log, const char *format, ...) LOG_PRINTF;
/* Logs a row of a table, which is never wrapped. Silent with -q. */
void log_row(struct log *log, const char *format, ...) LOG_PRINTF;
/* Logs a detail. Shown with -v only. */
void log_verbose(struct log *log, const char *format, ...) LOG_PRINTF;

/*
 * Log a message with a count, unless the count is 0. In the format # is the count, and {one|many}
 * the word that fits it:
 *
 *	log_warn_if(log, lost, "# event{ was|s were} lost");
 *
 * A format has at most 512 bytes.
 */
#define LOG_COUNT_PRINTF __attribute__((format(printf, 3, 4)))

void log_warn_if(struct log *log, uint64_t count, const char *format, ...) LOG_COUNT_PRINTF;
void log_line_if(struct log *log, uint64_t count, const char *format, ...) LOG_COUNT_PRINTF;

#endif
