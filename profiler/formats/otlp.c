// SPDX-License-Identifier: MIT
#include "profiler/formats/otlp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/text.h"

/* opentelemetry/proto/common/v1/common.proto */
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2 };
enum { VALUE_STRING = 1, VALUE_BOOL = 2, VALUE_INT = 3, VALUE_ARRAY = 5, ARRAY_VALUES = 1 };

#define ID_BYTES_MAX 16

void otlp_release(struct otlp *o)
{
	if (o->stream)
		fclose(o->stream);
	free(o->text);
	protobuf_release(&o->protobuf);
	*o = (struct otlp){.stream = NULL};
}

int otlp_begin(struct otlp *o, enum otlp_encoding encoding)
{
	o->encoding = encoding;
	o->depth = 0;
	protobuf_clear(&o->protobuf);
	if (encoding == OTLP_PROTOBUF)
		return 0;
	if (o->stream)
		fclose(o->stream);
	free(o->text);
	o->text = NULL;
	o->stream = open_memstream(&o->text, &o->size);
	if (!o->stream)
		return -ENOMEM;
	o->json = json_begin(o->stream);
	json_open_object(&o->json, NULL);
	return 0;
}

int otlp_end(struct otlp *o, const void **bytes, size_t *size)
{
	FILE *stream = o->stream;
	bool has_failed;

	if (o->encoding == OTLP_PROTOBUF) {
		*bytes = o->protobuf.bytes;
		*size = o->protobuf.size;
		return o->protobuf.failed ? -ENOMEM : 0;
	}
	json_close_object(&o->json);
	json_end(&o->json);
	has_failed = ferror(stream) != 0;
	o->stream = NULL;
	has_failed |= fclose(stream) != 0;
	*bytes = o->text;
	*size = o->size;
	return has_failed ? -ENOMEM : 0;
}

void otlp_open(struct otlp *o, uint32_t field, const char *name)
{
	if (o->encoding == OTLP_PROTOBUF) {
		uint32_t place = protobuf_begin(&o->protobuf, field);

		if (o->depth < OTLP_DEPTH)
			o->places[o->depth] = place;
		o->depth++;
		return;
	}
	json_open_object(&o->json, name);
}

void otlp_close(struct otlp *o)
{
	if (o->encoding == OTLP_JSON)
		json_close_object(&o->json);
	else if (--o->depth < OTLP_DEPTH)
		protobuf_end(&o->protobuf, o->places[o->depth]);
}

void otlp_open_list(struct otlp *o, const char *name)
{
	if (o->encoding == OTLP_JSON)
		json_open_array(&o->json, name);
}

void otlp_close_list(struct otlp *o)
{
	if (o->encoding == OTLP_JSON)
		json_close_array(&o->json);
}

void otlp_text(struct otlp *o, uint32_t field, const char *name, const char *text)
{
	char buffer[OTLP_TEXT_BYTES + 1];

	if (strnlen(text, sizeof(buffer)) == sizeof(buffer)) {
		snprintf(buffer, sizeof(buffer), "%.*s", (int)fit_utf8(text, OTLP_TEXT_BYTES),
			 text);
		text = buffer;
	}
	if (o->encoding == OTLP_PROTOBUF)
		protobuf_text(&o->protobuf, field, text);
	else
		json_text(&o->json, name, text);
}

void otlp_uint(struct otlp *o, uint32_t field, const char *name, uint32_t value)
{
	if (o->encoding == OTLP_PROTOBUF)
		protobuf_uint(&o->protobuf, field, value);
	else
		json_uint(&o->json, name, value);
}

void otlp_fixed32(struct otlp *o, uint32_t field, const char *name, uint32_t value)
{
	if (o->encoding == OTLP_PROTOBUF)
		protobuf_fixed32(&o->protobuf, field, value);
	else
		otlp_uint(o, field, name, value);
}

void otlp_fixed64(struct otlp *o, uint32_t field, const char *name, uint64_t value)
{
	if (o->encoding == OTLP_PROTOBUF)
		protobuf_fixed64(&o->protobuf, field, value);
	else
		json_uint_text(&o->json, name, value);
}

void otlp_id(struct otlp *o, uint32_t field, const char *name, const uint8_t *id, uint32_t size)
{
	char text[2 * ID_BYTES_MAX + 1];

	if (o->encoding == OTLP_PROTOBUF) {
		protobuf_bytes(&o->protobuf, field, id, size);
		return;
	}
	for (uint32_t i = 0; i < size && i < ID_BYTES_MAX; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
	json_text(&o->json, name, text);
}

/* ---- attributes ---- */

void otlp_open_attributes(struct otlp *o, uint32_t field)
{
	o->attributes = field;
	otlp_open_list(o, "attributes");
}

static void open_attribute(struct otlp *o, const char *key)
{
	otlp_open(o, o->attributes, NULL);
	otlp_text(o, KEY_VALUE_KEY, "key", key);
	otlp_open(o, KEY_VALUE_VALUE, "value");
}

static void close_attribute(struct otlp *o)
{
	otlp_close(o);
	otlp_close(o);
}

static void put_uint(struct otlp *o, uint64_t value)
{
	if (value > INT64_MAX)
		value = INT64_MAX;
	if (o->encoding == OTLP_PROTOBUF)
		protobuf_uint(&o->protobuf, VALUE_INT, value);
	else
		json_uint_text(&o->json, "intValue", value);
}

void otlp_attribute_text(struct otlp *o, const char *key, const char *value)
{
	open_attribute(o, key);
	otlp_text(o, VALUE_STRING, "stringValue", value);
	close_attribute(o);
}

void otlp_attribute_uint(struct otlp *o, const char *key, uint64_t value)
{
	open_attribute(o, key);
	put_uint(o, value);
	close_attribute(o);
}

void otlp_attribute_bool(struct otlp *o, const char *key, bool value)
{
	open_attribute(o, key);
	if (o->encoding == OTLP_PROTOBUF)
		protobuf_uint(&o->protobuf, VALUE_BOOL, value);
	else
		json_bool(&o->json, "boolValue", value);
	close_attribute(o);
}

static void open_array(struct otlp *o, const char *key)
{
	open_attribute(o, key);
	otlp_open(o, VALUE_ARRAY, "arrayValue");
	otlp_open_list(o, "values");
}

static void close_array(struct otlp *o)
{
	otlp_close_list(o);
	otlp_close(o);
	close_attribute(o);
}

void otlp_attribute_uints(struct otlp *o, const char *key, const uint32_t *values, uint32_t count)
{
	open_array(o, key);
	for (uint32_t i = 0; i < count; i++) {
		otlp_open(o, ARRAY_VALUES, NULL);
		put_uint(o, values[i]);
		otlp_close(o);
	}
	close_array(o);
}

void otlp_attribute_texts(struct otlp *o, const char *key, char *const *values)
{
	open_array(o, key);
	for (; *values; values++) {
		otlp_open(o, ARRAY_VALUES, NULL);
		otlp_text(o, VALUE_STRING, "stringValue", *values);
		otlp_close(o);
	}
	close_array(o);
}
