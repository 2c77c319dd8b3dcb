/* SPDX-License-Identifier: MIT */
/*
 * The profiler's messages: on stderr only, one line each, prefixed with "profile: "
 * where they tell of trouble or of what to do.
 *
 * Where stderr is a terminal, a message that is wider is broken at its words (wrap.h). Elsewhere it
 * is one line, so that scripts find it.
 *
 * Lines may quote text that the target chose: names, paths, messages of its libraries. What could
 * control a terminal (control characters, invalid UTF-8) is shown as '?'.
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

/* Logs what is always shown. Returns false, for `return log_error(...)`. */
bool log_error(struct log *log, const char *format, ...) LOG_PRINTF;
/* Does the same and returns EXIT_PROFILER_FAILED. */
int log_failure(struct log *log, const char *format, ...) LOG_PRINTF;
/* Logs what the user should know, or do. Not with -q. */
void log_warn(struct log *log, const char *format, ...) LOG_PRINTF;
/* Without the prefix: what was done, measured and written. Not with -q. */
void log_line(struct log *log, const char *format, ...) LOG_PRINTF;
/* Logs a row of a table, which is never broken. */
void log_row(struct log *log, const char *format, ...) LOG_PRINTF;
/* With -v only. */
void log_verbose(struct log *log, const char *format, ...) LOG_PRINTF;

/*
 * Do the same about a count, and nothing if the count is 0. In the format, # stands for the count,
 * and {one|many} for the word that fits the count:
 *
 *	log_warn_if(log, lost, "# event{ was|s were} lost");
 *
 * A format has at most 512 bytes.
 */
#define LOG_COUNT_PRINTF __attribute__((format(printf, 3, 4)))

void log_warn_if(struct log *log, uint64_t count, const char *format, ...) LOG_COUNT_PRINTF;
void log_line_if(struct log *log, uint64_t count, const char *format, ...) LOG_COUNT_PRINTF;

#endif
