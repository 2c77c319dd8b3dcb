// SPDX-License-Identifier: MIT
#include "profiler/commands/output_name.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "profiler/base/host_name.h"
#include "profiler/base/job_rank.h"

static bool refuse(char error[OUTPUT_NAME_ERROR_BYTES], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static bool refuse(char error[OUTPUT_NAME_ERROR_BYTES], const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error, OUTPUT_NAME_ERROR_BYTES, format, arguments);
	va_end(arguments);
	return false;
}

static bool put_rank(FILE *out, char error[OUTPUT_NAME_ERROR_BYTES])
{
	struct job_rank rank;
	const char *wrong = job_rank_find(&rank);

	if (wrong)
		return refuse(error, "%%r is the rank, but %s is not a number from 0 to %u", wrong,
			      JOB_RANK_MAX);
	if (!rank.is_known)
		return refuse(error, "%%r is the rank, but none of %s is set; " JOB_RANK_ADVICE,
			      JOB_RANK_VARIABLES);
	fprintf(out, "%u", rank.rank);
	return true;
}

static bool put_host(FILE *out, char error[OUTPUT_NAME_ERROR_BYTES])
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
	char *host = host_name();
	bool ok = host && strspn(host, allowed) == strlen(host);

	if (ok)
		fputs(host, out);
	else if (host)
		refuse(error, "%%h is the name of the machine, and '%s' cannot be part of a file's",
		       host);
	else
		refuse(error, "%%h is the name of the machine, which has none");
	free(host);
	return ok;
}

/* Keeps the %t. */
static bool put_time(FILE *out, uint32_t *time_at, char error[OUTPUT_NAME_ERROR_BYTES])
{
	long offset = ftell(out);

	if (!time_at || *time_at || offset < 0)
		return refuse(error, "%%t is the time of a result, which -o may have once");
	*time_at = (uint32_t)offset + 1;
	fputs("%t", out);
	return true;
}

static bool put(FILE *out, char letter, const char *pattern, uint32_t *time_at,
		char error[OUTPUT_NAME_ERROR_BYTES])
{
	switch (letter) {
	case 'r':
		return put_rank(out, error);
	case 'h':
		return put_host(out, error);
	case 'p':
		fprintf(out, "%ld", (long)getpid());
		return true;
	case 't':
		return put_time(out, time_at, error);
	case '%':
		fputc('%', out);
		return true;
	default:
		return refuse(error,
			      "names may have %%r (rank), %%h (host), %%p (pid), %%t (time, with "
			      "--every) and %%%% (a percent sign), not '%%%.*s' as in '%s'",
			      letter != '\0', &letter, pattern);
	}
}

char *output_name(const char *pattern, uint32_t *time_at, char error[OUTPUT_NAME_ERROR_BYTES])
{
	char *name = NULL;
	size_t size;
	FILE *out = open_memstream(&name, &size);
	bool ok = out;

	if (!ok)
		refuse(error, "out of memory");
	for (const char *c = pattern; ok && *c; c++) {
		if (*c != '%')
			fputc(*c, out);
		else if ((ok = put(out, c[1], pattern, time_at, error)))
			c++;
	}
	if (out && fclose(out) != 0 && ok)
		ok = refuse(error, "out of memory");
	if (ok)
		return name;
	free(name);
	return NULL;
}

char *output_name_at(const char *name, uint32_t time_at, uint64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / 1000000000u);
	char text[OUTPUT_NAME_TIME_BYTES] = "", *named;
	struct tm utc;

	if (gmtime_r(&seconds, &utc))
		strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &utc);
	if (asprintf(&named, "%.*s%s%s", (int)time_at - 1, name, text, name + time_at + 1) < 0)
		return NULL;
	return named;
}
