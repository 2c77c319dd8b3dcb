// SPDX-License-Identifier: MIT
#include "profiler/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void log_clear_status(struct log *log)
{
	if (log->status_shown)
		fputs("\r\033[K", stderr);
	log->status_shown = false;
}

/* In one write, so that it does not mix with what the target prints. */
static void print(struct log *log, const char *prefix, const char *format, va_list args)
{
	char line[8192];
	int n = snprintf(line, sizeof(line), "%s", prefix);
	int m = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, args);
	size_t end = (size_t)n + (m < 0 ? 0 : (size_t)m);

	if (end > sizeof(line) - 2)
		end = sizeof(line) - 2;
	line[end++] = '\n';
	log_clear_status(log);
	fflush(stderr);
	if (write(STDERR_FILENO, line, end) < 0)
		return; /* nowhere to complain */
}

#define PRINT(log, prefix, format)                \
	do {                                      \
		va_list args;                     \
		va_start(args, format);           \
		print(log, prefix, format, args); \
		va_end(args);                     \
	} while (0)

void log_error(struct log *log, const char *format, ...)
{
	PRINT(log, "profile: ", format);
}

void log_warn(struct log *log, const char *format, ...)
{
	if (log->level >= LOG_NORMAL)
		PRINT(log, "profile: ", format);
}

void log_line(struct log *log, const char *format, ...)
{
	if (log->level >= LOG_NORMAL)
		PRINT(log, "", format);
}

void log_verbose(struct log *log, const char *format, ...)
{
	if (log->level >= LOG_VERBOSE)
		PRINT(log, "profile: ", format);
}

void log_status(struct log *log, const char *format, ...)
{
	va_list args;

	if (!log->terminal || log->level < LOG_NORMAL)
		return;
	log_clear_status(log);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fflush(stderr);
	log->status_shown = true;
}
