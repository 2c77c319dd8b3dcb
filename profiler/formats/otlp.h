/* SPDX-License-Identifier: MIT */
/*
 * Writes messages of the OpenTelemetry Protocol into memory, in both of its encodings: protocol
 * buffers, and their JSON as the OTLP specification has it (names in lowerCamelCase, trace and span
 * ids in hexadecimal, enums as numbers, integers of 64 bits as strings). A field is given with its
 * number and its name, and each encoding takes its own.
 *
 *	otlp_begin(&o, OTLP_JSON);
 *	otlp_open_list(&o, "resourceSpans");
 *	otlp_open(&o, 1, NULL);                     an element of the list
 *	...
 *	otlp_close(&o);
 *	otlp_close_list(&o);
 *	err = otlp_end(&o, &bytes, &size);          valid until the next otlp_begin or release
 *
 * Texts are untrusted: they become valid UTF-8, and are cut after OTLP_TEXT_BYTES. A message that
 * memory is short for is noticed at its end.
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
	uint32_t places[OTLP_DEPTH]; /* of open messages */
	uint32_t depth, attributes;  /* the field of the list of attributes that is open */
	struct json json;
	FILE *stream;
	char *text;
	size_t size;
};

void otlp_release(struct otlp *o);

/* 0 or -ENOMEM. */
int otlp_begin(struct otlp *o, enum otlp_encoding encoding);

/* The message; JSON is one line with its end. 0 or -ENOMEM. */
int otlp_end(struct otlp *o, const void **bytes, size_t *size);

/* A message; `name`: NULL: an element of a list. */
void otlp_open(struct otlp *o, uint32_t field, const char *name);
void otlp_close(struct otlp *o);

/* A list of messages; which field they are they say themselves. */
void otlp_open_list(struct otlp *o, const char *name);
void otlp_close_list(struct otlp *o);

void otlp_text(struct otlp *o, uint32_t field, const char *name, const char *text);
void otlp_uint(struct otlp *o, uint32_t field, const char *name, uint32_t value);
void otlp_fixed32(struct otlp *o, uint32_t field, const char *name, uint32_t value);
void otlp_fixed64(struct otlp *o, uint32_t field, const char *name, uint64_t value);

/* The number of a trace or a span. */
void otlp_id(struct otlp *o, uint32_t field, const char *name, const uint8_t *id, uint32_t size);

/* ---- attributes of a resource, a span, an event ---- */

/* A list, which otlp_close_list ends. */
void otlp_open_attributes(struct otlp *o, uint32_t field);

/* Integers are signed in OTLP: above INT64_MAX they are that. */
void otlp_attribute_text(struct otlp *o, const char *key, const char *value);
void otlp_attribute_uint(struct otlp *o, const char *key, uint64_t value);
void otlp_attribute_bool(struct otlp *o, const char *key, bool value);
void otlp_attribute_uints(struct otlp *o, const char *key, const uint32_t *values, uint32_t count);
/* NULL-terminated */
void otlp_attribute_texts(struct otlp *o, const char *key, char *const *values);

#endif
