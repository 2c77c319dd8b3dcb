// SPDX-License-Identifier: MIT
#include "profiler/base/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "profiler/base/columns.h"
#include "profiler/base/exit_status.h"
#include "profiler/base/wrap.h"
#include "symbolize/util/text.h"

/* Prints with one write, so that the line does not mix with the target's output. */
static void print(unsigned int width, const char *prefix, const char *format, va_list args)
{
	char line[8192], wrapped[2 * sizeof(line)];
	int n = snprintf(line, sizeof(line), "%s", prefix);
	int m = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, args);
	size_t end = (size_t)n + (m < 0 ? 0 : (size_t)m);

	if (end > sizeof(line) - 2)
		end = sizeof(line) - 2;
	line[end] = '\0';
	clean_text(line); /* may become shorter */
	end = wrap_line(line, width, wrapped, sizeof(wrapped) - 1);
	wrapped[end++] = '\n';
	if (write(STDERR_FILENO, wrapped, end) < 0)
		return; /* nowhere to complain */
}

/* Prints `shown` with the variable arguments after the parameter `format`. */
#define PRINT_WITHIN(width, prefix, shown)         \
	do {                                       \
		va_list args;                      \
		va_start(args, format);            \
		print(width, prefix, shown, args); \
		va_end(args);                      \
	} while (0)
#define PRINT(prefix, shown) PRINT_WITHIN(columns_of_terminal(STDERR_FILENO), prefix, shown)

bool log_error(struct log *log, const char *format, ...)
{
	(void)log;
	PRINT("profile: ", format);
	return false;
}

int log_failure(struct log *log, const char *format, ...)
{
	(void)log;
	PRINT("profile: ", format);
	return EXIT_PROFILER_FAILED;
}

void log_warn(struct log *log, const char *format, ...)
{
	if (log->level >= LOG_NORMAL)
		PRINT("profile: ", format);
}

void log_line(struct log *log, const char *format, ...)
{
	if (log->level >= LOG_NORMAL)
		PRINT("", format);
}

void log_row(struct log *log, const char *format, ...)
{
	if (log->level >= LOG_NORMAL)
		PRINT_WITHIN(0, "", format);
}

void log_verbose(struct log *log, const char *format, ...)
{
	if (log->level >= LOG_VERBOSE)
		PRINT("profile: ", format);
}

#define FORMAT_BYTES 512

/* Replaces # by the count, and {one|many} by the word that fits it. */
static const char *fit(char text[FORMAT_BYTES], const char *format, uint64_t count)
{
	text[0] = '\0';
	for (; *format; format++) {
		const char *word = format;
		int length = 1;

		if (*format == '{') {
			word = count == 1 ? format + 1 : strchr(format, '|') + 1;
			length = (int)strcspn(word, "|}");
			format = strchr(format, '}');
		}
		if (*word == '#')
			append_text(text, FORMAT_BYTES, "%" PRIu64, count);
		else
			append_text(text, FORMAT_BYTES, "%.*s", length, word);
	}
	return text;
}

void log_warn_if(struct log *log, uint64_t count, const char *format, ...)
{
	char text[FORMAT_BYTES];

	if (count && log->level >= LOG_NORMAL)
		PRINT("profile: ", fit(text, format, count));
}

void log_line_if(struct log *log, uint64_t count, const char *format, ...)
{
	char text[FORMAT_BYTES];

	if (count && log->level >= LOG_NORMAL)
		PRINT("", fit(text, format, count));
}
