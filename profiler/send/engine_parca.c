// SPDX-License-Identifier: MIT
/*
 * Pushes profiles to Parca by gRPC-Web.
 *
 * A call is a message with a frame header of five bytes: the kind, and the length, most
 * significant byte first. An answer is a list of such messages, and a last frame with trailer
 * fields, among them grpc-status. An answer without a message may have these fields in its HTTP
 * header.
 */
#include "profiler/send/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/send/http_url.h"
#include "profiler/formats/protobuf.h"
#include "profiler/formats/writer.h"

enum { WRITE_RAW_REQUEST_SERIES = 2, WRITE_RAW_REQUEST_NORMALIZED = 3 };
enum { RAW_PROFILE_SERIES_LABELS = 1, RAW_PROFILE_SERIES_SAMPLES = 2 };
enum { LABEL_SET_LABELS = 1 };
enum { LABEL_NAME = 1, LABEL_VALUE = 2 };
enum { RAW_SAMPLE_RAW_PROFILE = 1 };

enum { FRAME_HEADER_BYTES = 5, FRAME_MESSAGE = 0 };

static void put_label(struct protobuf *p, const char *name, const char *value)
{
	uint32_t label = protobuf_begin(p, LABEL_SET_LABELS);

	protobuf_text(p, LABEL_NAME, name);
	protobuf_text(p, LABEL_VALUE, value);
	protobuf_end(p, label);
}

static void put_labels(struct protobuf *p, const struct engine_profile *profile)
{
	uint32_t labels = protobuf_begin(p, RAW_PROFILE_SERIES_LABELS);

	put_label(p, "__name__", "process_cpu");
	put_label(p, "service_name", profile->service);
	for (uint32_t i = 0; i < profile->label_count; i++) {
		const struct engine_label *given = &profile->labels[i];
		char *name = strndup(given->name, given->name_size);

		p->failed |= !name;
		if (name)
			put_label(p, name, given->value);
		free(name);
	}
	protobuf_end(p, labels);
}

/*
 * Writes the request. It is marked as normalized: addresses are file offsets and already have
 * names.
 */
static void put_request(struct protobuf *p, const struct engine_profile *profile, const void *pprof,
			uint32_t size)
{
	uint32_t series = protobuf_begin(p, WRITE_RAW_REQUEST_SERIES), sample;

	put_labels(p, profile);
	sample = protobuf_begin(p, RAW_PROFILE_SERIES_SAMPLES);
	protobuf_bytes(p, RAW_SAMPLE_RAW_PROFILE, pprof, size);
	protobuf_end(p, sample);
	protobuf_end(p, series);
	protobuf_uint(p, WRITE_RAW_REQUEST_NORMALIZED, true);
}

static int put_frame(FILE *out, const struct protobuf *p)
{
	const unsigned char header[FRAME_HEADER_BYTES] = {
		FRAME_MESSAGE, (unsigned char)(p->size >> 24), (unsigned char)(p->size >> 16),
		(unsigned char)(p->size >> 8), (unsigned char)p->size};

	if (p->failed)
		return -ENOMEM;
	if (fwrite(header, 1, sizeof(header), out) != sizeof(header) ||
	    fwrite(p->bytes, 1, p->size, out) != p->size)
		return -EIO;
	return 0;
}

static int write_body(const struct engine_profile *profile, FILE *out)
{
	const struct writer_options options = {.unit_ns = 1, .has_few_labels = true};
	struct written written;
	struct protobuf p = {.size = 0};
	char *pprof = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&pprof, &size);
	int err =
		memory ? pprof_writer.write(profile->result, &options, memory, &written) : -ENOMEM;

	if (memory && fclose(memory) != 0 && !err)
		err = -ENOMEM;
	if (!err && size > UINT32_MAX)
		err = -EFBIG;
	if (!err) {
		put_request(&p, profile, pprof, (uint32_t)size);
		err = put_frame(out, &p);
	}
	protobuf_release(&p);
	free(pprof);
	return err;
}

/* Copies the value of a field from the lines of an answer; "" if the field is missing. */
static void find_field(const char *text, size_t size, const char *name, char *out, size_t room)
{
	size_t length = strlen(name), used = 0;
	const char *end = text + size, *at = text;

	out[0] = '\0';
	while (at < end && !((size_t)(end - at) > length && at[length] == ':' &&
			     strncasecmp(at, name, length) == 0))
		at++;
	if (at >= end)
		return;
	for (at += length + 1; at < end && *at == ' '; at++)
		;
	while (at < end && *at != '\r' && *at != '\n' && used + 1 < room)
		out[used++] = *at++;
	used = http_url_decode(out, used);
	out[used] = '\0';
}

static bool accepts(const void *answer, size_t size, char why[HTTP_WHY_BYTES])
{
	char status[16], message[200];

	find_field(answer, size, "grpc-status", status, sizeof(status));
	find_field(answer, size, "grpc-message", message, sizeof(message));
	if (strcmp(status, "0") == 0)
		return true;
	if (!*status)
		snprintf(why, HTTP_WHY_BYTES, "does not speak gRPC-Web: it is not Parca");
	else
		snprintf(why, HTTP_WHY_BYTES, "refused it: gRPC status %s%s%s", status,
			 *message ? ", " : "", message);
	return false;
}

const struct engine engine_parca = {
	.name = "parca",
	.path = "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw",
	.content_type = "application/grpc-web+proto",
	.write = write_body,
	.accepts = accepts};
