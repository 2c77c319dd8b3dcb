/* SPDX-License-Identifier: MIT */
/*
 * Writes JSON (RFC 8259) into a stream, value by value.
 *
 * Output is buffered until json_end. Errors show in ferror(3) of the stream.
 *
 *	struct json j = json_begin(out);
 *
 *	json_open_object(&j, NULL);
 *	json_text(&j, "name", name);
 *	json_close_object(&j);
 *	json_end(&j);
 *
 * `key` is the key of a value in an object, and NULL elsewhere. Keys are escaped like texts.
 */
#ifndef PROFILER_FORMATS_JSON_H
#define PROFILER_FORMATS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *out;
	bool needs_comma; /* a value precedes in the object or array */
	uint64_t passed;  /* bytes written to the stream */
	unsigned int length;
	char text[4096]; /* buffer of the stream */
};

struct json json_begin(FILE *out);

/* Ends the last line, and flushes the buffer. */
void json_end(struct json *j);

/* Returns the number of bytes written so far. */
static inline uint64_t json_bytes(const struct json *j)
{
	return j->passed + j->length;
}

void json_open_object(struct json *j, const char *key);
/* Opens an object on a new line. */
void json_open_line(struct json *j, const char *key);
void json_close_object(struct json *j);
void json_open_array(struct json *j, const char *key);
void json_close_array(struct json *j);

/* Writes members that the caller has formatted as JSON. */
void json_raw(struct json *j, const char *text, size_t length);

/*
 * Writes a string of untrusted bytes. Quotes, backslashes, control characters and the line
 * separators of JavaScript (U+2028, U+2029) are escaped. Each byte that is not well-formed UTF-8
 * becomes '?'. Writes nothing if `text` is NULL.
 */
void json_text(struct json *j, const char *key, const char *text);

void json_uint(struct json *j, const char *key, uint64_t value);
void json_int(struct json *j, const char *key, int64_t value);
/* Writes a number as a string, for readers whose numbers have 53 bits. */
void json_uint_text(struct json *j, const char *key, uint64_t value);
void json_bool(struct json *j, const char *key, bool value);

/* Writes the shortest digits that read back as `value`; null if it is not finite. */
void json_real(struct json *j, const char *key, double value);

/* Writes a number given in thousandths, as "12.3", without rounding. */
void json_thousandths(struct json *j, const char *key, uint64_t thousandths);

/* Breaks the line before the next value, so that people can read the file. */
void json_break_line(struct json *j);

#endif
