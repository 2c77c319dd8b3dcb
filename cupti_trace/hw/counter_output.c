// SPDX-License-Identifier: MIT
#include "cupti_trace/hw/counter_output.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cupti_trace/core/guest.h"
#include "cupti_trace/core/output_path.h"
#include "cupti_trace/wire/gpu_wire.h"
#include "symbolize/util/text.h"

#define LINE_BYTES 16384

static int output_fd = -1; /* set once, before other threads write */

struct line {
	char text[LINE_BYTES];
	size_t used;
};

static __attribute__((format(printf, 2, 3))) void put(struct line *l, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(l->text + l->used, sizeof(l->text) - l->used, format, args);
	va_end(args);
	if (n > 0)
		l->used += (size_t)n;
	if (l->used > sizeof(l->text) - 1)
		l->used = sizeof(l->text) - 1;
}

/* Appends as much as leaves room for the rest of the line. */
static void put_string(struct line *l, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	char escaped[6];
	size_t length;

	put(l, "\"");
	for (; *s && l->used < LINE_BYTES / 2; s += length ? length : 1) {
		length = count_utf8_bytes(s);
		put(l, "%.*s", (int)gpu_wire_escape(s, length, escaped), escaped);
	}
	put(l, "\"");
}

/* Appends a number; the program's locale may have a comma for fractions. */
static void put_real(struct line *l, double value)
{
	size_t before = l->used;

	put(l, "%.17g", value);
	for (size_t i = before; i < l->used; i++)
		if (!strchr("0123456789+-e", l->text[i]))
			l->text[i] = '.';
}

static void begin(struct line *l)
{
	l->used = 0;
	put(l, "{\"pid\":%d", (int)getpid());
}

static void end(struct line *l)
{
	const char *at = l->text;

	if (l->used > LINE_BYTES - 8) /* cut: no line is better than half of one */
		return;
	put(l, "}\n");
	for (size_t left = l->used; left > 0;) {
		ssize_t n = write(output_fd, at, left);

		if (n <= 0)
			return;
		at += n;
		left -= (size_t)n;
	}
}

int counter_output_open(const char *name)
{
	char path[PATH_MAX];
	int err = output_path(name, path, sizeof(path)), fd;

	if (err)
		return err;
	fd = guest_open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY);
	if (fd < 0)
		return fd;
	output_fd = fd;
	return 0;
}

void counter_output_launch(const char *kernel, uint32_t correlation_id, const char *const *metrics,
			   const double *values, uint32_t count)
{
	const char *before = "";
	struct line l;

	if (output_fd < 0)
		return;
	begin(&l);
	put(&l, ",\"correlation\":%" PRIu32 ",\"kernel\":", correlation_id);
	put_string(&l, kernel);
	put(&l, ",\"metrics\":{");
	for (uint32_t i = 0; i < count; i++) {
		if (!isfinite(values[i]))
			continue;
		put(&l, "%s", before);
		put_string(&l, metrics[i]);
		put(&l, ":");
		put_real(&l, values[i]);
		before = ",";
	}
	put(&l, "}");
	end(&l);
}

void counter_output_note(const char *key, const char *text)
{
	struct line l;

	if (output_fd < 0)
		return;
	begin(&l);
	put(&l, ",\"%s\":", key);
	put_string(&l, text);
	end(&l);
}

void counter_output_unmeasured(const char *const *reasons, const uint64_t *counts, uint32_t count)
{
	struct line l;

	if (output_fd < 0)
		return;
	begin(&l);
	put(&l, ",\"not_measured\":{");
	for (uint32_t i = 0; i < count; i++)
		put(&l, "%s\"%s\":%" PRIu64, i ? "," : "", reasons[i], counts[i]);
	put(&l, "}");
	end(&l);
}
