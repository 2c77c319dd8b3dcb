/* SPDX-License-Identifier: MIT */
/*
 * Writes JSON (RFC 8259) into a stream, value by value, without keeping it in memory. What is
 * written is in the stream after json_end; its errors show in ferror(3).
 *
 *	struct json j = json_begin(out);
 *
 *	json_open_object(&j, NULL);
 *	json_text(&j, "name", name);
 *	json_close_object(&j);
 *	json_end(&j);
 *
 * A value has a key in an object, and NULL elsewhere. A key is escaped like a text.
 */
#ifndef PROFILER_FORMATS_JSON_H
#define PROFILER_FORMATS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *out;
	bool needs_comma; /* something precedes in the object or array */
	uint64_t passed;  /* bytes that are in the stream */
	unsigned int length;
	char text[4096]; /* not in the stream yet */
};

struct json json_begin(FILE *out);

/* Ends the last line, and writes out what is left. */
void json_end(struct json *j);

/* How many bytes were written so far. */
static inline uint64_t json_bytes(const struct json *j)
{
	return j->passed + j->length;
}

void json_open_object(struct json *j, const char *key);
/* Opens one on a line of its own. */
void json_open_line(struct json *j, const char *key);
void json_close_object(struct json *j);
void json_open_array(struct json *j, const char *key);
void json_close_array(struct json *j);

/* Writes members as the caller has made them: JSON. */
void json_raw(struct json *j, const char *text, size_t length);

/*
 * A string of untrusted bytes. Quotes, backslashes, control characters and the line separators of
 * JavaScript (U+2028, U+2029) are escaped; each byte that is not well-formed UTF-8 becomes '?'.
 * NULL: the object has no such member.
 */
void json_text(struct json *j, const char *key, const char *text);

void json_uint(struct json *j, const char *key, uint64_t value);
void json_int(struct json *j, const char *key, int64_t value);
/* As a string, for readers whose numbers have 53 bits. */
void json_uint_text(struct json *j, const char *key, uint64_t value);
void json_bool(struct json *j, const char *key, bool value);

/* A finite number, exactly; null if it is not one. */
void json_real(struct json *j, const char *key, double value);

/* A number given in thousandths, "12.3": exact, whatever its size. */
void json_thousandths(struct json *j, const char *key, uint64_t thousandths);

/* A line break before the next value, so that people can look at the file. */
void json_break_line(struct json *j);

#endif
