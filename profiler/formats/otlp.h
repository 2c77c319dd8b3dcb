/* SPDX-License-Identifier: MIT */
/*
 * Writes messages of the OpenTelemetry Protocol (OTLP) into memory, in either of its encodings.
 *
 * These are protocol buffers, and JSON as the OTLP specification defines it: names in
 * lowerCamelCase, trace and span ids in hexadecimal, enums as numbers, 64-bit integers as
 * strings. Each field is given with its number and its name: each encoding takes its own.
 *
 *	otlp_begin(&o, OTLP_JSON);
 *	otlp_open_list(&o, "resourceSpans");
 *	otlp_open(&o, 1, NULL);                     an element of the list
 *	...
 *	otlp_close(&o);
 *	otlp_close_list(&o);
 *	err = otlp_end(&o, &bytes, &size);          valid until the next otlp_begin or release
 *
 * Texts are untrusted: they become valid UTF-8, and are cut after OTLP_TEXT_BYTES. Running out of
 * memory is reported by otlp_end.
 */
#ifndef PROFILER_FORMATS_OTLP_H
#define PROFILER_FORMATS_OTLP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "profiler/formats/json.h"
#include "profiler/formats/protobuf.h"

#define OTLP_TEXT_BYTES 4096u
#define OTLP_DEPTH 16u

enum otlp_encoding { OTLP_PROTOBUF, OTLP_JSON };

/* Zero-initialised is empty. */
struct otlp {
	enum otlp_encoding encoding;
	struct protobuf protobuf;
	uint32_t places[OTLP_DEPTH]; /* open messages */
	uint32_t depth;
	uint32_t attributes; /* field of the open list of attributes */
	struct json json;
	FILE *stream;
	char *text;
	size_t size;
};

void otlp_release(struct otlp *o);

/* Begins a message. Returns 0, or -ENOMEM. */
int otlp_begin(struct otlp *o, enum otlp_encoding encoding);

/* Ends the message. JSON is one line with its line break. Returns 0, or -ENOMEM. */
int otlp_end(struct otlp *o, const void **bytes, size_t *size);

/* Opens a nested message. `name` is NULL for an element of a list. */
void otlp_open(struct otlp *o, uint32_t field, const char *name);
void otlp_close(struct otlp *o);

/* Opens a list of messages. Each element gives the field number itself. */
void otlp_open_list(struct otlp *o, const char *name);
void otlp_close_list(struct otlp *o);

void otlp_text(struct otlp *o, uint32_t field, const char *name, const char *text);
void otlp_uint(struct otlp *o, uint32_t field, const char *name, uint32_t value);
void otlp_fixed32(struct otlp *o, uint32_t field, const char *name, uint32_t value);
void otlp_fixed64(struct otlp *o, uint32_t field, const char *name, uint64_t value);

/* Writes the id of a trace or a span. */
void otlp_id(struct otlp *o, uint32_t field, const char *name, const uint8_t *id, uint32_t size);

/* ---- attributes of a resource, a span, an event ---- */

/* Opens a list, which otlp_close_list ends. */
void otlp_open_attributes(struct otlp *o, uint32_t field);

/* Writes an attribute. Integers are signed in OTLP: larger ones become INT64_MAX. */
void otlp_attribute_text(struct otlp *o, const char *key, const char *value);
void otlp_attribute_uint(struct otlp *o, const char *key, uint64_t value);
void otlp_attribute_bool(struct otlp *o, const char *key, bool value);
void otlp_attribute_uints(struct otlp *o, const char *key, const uint32_t *values, uint32_t count);
/* Writes an array of texts. `values` ends with NULL. */
void otlp_attribute_texts(struct otlp *o, const char *key, char *const *values);

#endif
