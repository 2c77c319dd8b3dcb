// SPDX-License-Identifier: MIT
/*
 * Decodes JSON lines to events. Used by the profiler and tests only, never inside the target.
 *
 * Frequent lines have a scanner of their own (gpu_wire_scan.h). Everything else, and any such line
 * in another form, goes through cJSON. Both give equal results (tests/unit/test_gpu_wire.c).
 */
#include "cupti_trace/wire/gpu_wire.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "cupti_trace/wire/gpu_wire_fields.h"
#include "cupti_trace/wire/gpu_wire_scan.h"
#include "cupti_trace/wire/node_run.h"
#include "symbolize/util/text.h"

struct gpu_wire_decoder {
	cJSON *tree;                   /* the last line's; kept because events borrow its strings */
	size_t used;                   /* bytes of `lists` in use */
	_Alignas(8) char lists[16384]; /* lists of the last event */
};

struct gpu_wire_decoder *gpu_wire_decoder_new(void)
{
	return calloc(1, sizeof(struct gpu_wire_decoder));
}

void gpu_wire_decoder_free(struct gpu_wire_decoder *decoder)
{
	if (!decoder)
		return;
	cJSON_Delete(decoder->tree);
	free(decoder);
}

/* Reads members of one object. The first member that is missing or wrong makes all of it bad. */
struct reader {
	struct gpu_wire_decoder *decoder;
	char *event;
	bool bad;
};

#define U64_LIMIT 9223372036854774784.0 /* the largest double below 2^63 */

/*
 * Returns a whole number below 2^63. cJSON keeps numbers as double: whole numbers are exact up to
 * 2^53, which is 104 days of nanoseconds since boot. Times and sums in canonical lines are scanned
 * instead and stay exact.
 */
static uint64_t whole(struct reader *r, double value)
{
	if (!(value >= 0 && value <= U64_LIMIT) || value != floor(value)) {
		r->bad = true;
		return 0;
	}
	return (uint64_t)value;
}

static uint64_t number(struct reader *r, const cJSON *item)
{
	return whole(r, cJSON_IsNumber(item) ? item->valuedouble : -1);
}

static const cJSON *member(struct reader *r, const char *key, size_t length)
{
	const cJSON *item = r->decoder->tree->child;

	while (item && (*item->string != *key || strncmp(item->string, key, length) != 0 ||
			item->string[length]))
		item = item->next;
	return item;
}

static const char *string(struct reader *r, const cJSON *item)
{
	if (cJSON_IsString(item))
		return item->valuestring;
	r->bad = true;
	return "";
}

/* ---- digits in strings ---- */

static int64_t take_signed(struct reader *r, const char *text)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (end == text || *end || errno)
		r->bad = true;
	return value;
}

/* Reads exactly `digits` hexadecimal digits. Fails if the text is shorter. */
static uint64_t take_fixed(struct reader *r, const char *text, int digits)
{
	uint64_t value = 0;

	for (int i = 0; i < digits && !r->bad; i++) {
		int digit = hex_digit(text[i]);

		r->bad = digit < 0;
		value = value << 4 | (uint64_t)(digit & 15);
	}
	return value;
}

/* Reads a number up to `max` and advances *at. */
static uint64_t take_digits(struct reader *r, const char **at, int base, uint64_t max)
{
	unsigned char first = (unsigned char)**at;
	uint64_t value = 0;
	char *end;

	/* strtoull would take a sign, white space, or "0x" */
	if ((base == 16 ? !isxdigit(first) : !isdigit(first)) ||
	    (first == '0' && ((*at)[1] | 0x20) == 'x')) {
		r->bad = true;
		return 0;
	}
	errno = 0;
	value = strtoull(*at, &end, base);
	if (errno || value > max)
		r->bad = true;
	*at = end;
	return value;
}

/* Reads "7f0012ab", "p12", "p3:42" or "n2". */
static struct gpu_event_frame take_frame(struct reader *r, const char **at)
{
	struct gpu_event_frame frame = {.kind = GPU_FRAME_RETURN};

	if (**at == 'n') {
		(*at)++;
		frame.kind = GPU_FRAME_NVTX;
		frame.value = take_digits(r, at, 10, GPU_NVTX_MAX_ID - 1);
		return frame;
	}
	if (**at != 'p') {
		frame.value = take_digits(r, at, 16, UINT64_MAX);
		return frame;
	}
	(*at)++;
	frame.kind = GPU_FRAME_PYTHON;
	frame.value = take_digits(r, at, 10, GPU_PYCODE_MAX_ID - 1);
	if (**at == ':') {
		(*at)++;
		frame.line = (uint32_t)take_digits(r, at, 10, GPU_FRAME_MAX_LINE);
		if (frame.line == 0)
			r->bad = true;
	}
	return frame;
}

/* ---- fields ---- */

static void keep(struct reader *r, const struct gpu_wire_field *f, char *at, uint64_t value)
{
	if (!gpu_wire_keep(f, at, value))
		r->bad = true;
}

/*
 * Returns the first number of an array, and sets `rows`. Fails if the array is not 1 to `most` full
 * rows.
 */
static const cJSON *rows_in(struct reader *r, const cJSON *array, uint32_t columns, uint64_t most,
			    uint32_t *rows)
{
	uint32_t numbers = (uint32_t)cJSON_GetArraySize(array);

	*rows = numbers / columns;
	if (!cJSON_IsArray(array) || numbers % columns || *rows == 0 || *rows > most) {
		r->bad = true;
		*rows = 0;
	}
	return array->child;
}

static void read_column(struct reader *r, const struct gpu_wire_field *c, const cJSON *item,
			char *to)
{
	bool is_negative = c->flags & WIRE_MINUS && cJSON_IsNumber(item) && item->valuedouble < 0;

	keep(r, c, to, is_negative ? whole(r, -item->valuedouble) : number(r, item));
	if (is_negative)
		gpu_wire_store(to, c->bytes, 0 - gpu_wire_load(to, c->bytes));
}

static uint32_t read_rows(struct reader *r, const struct gpu_wire_field *f, const cJSON *item,
			  char *to, uint64_t most)
{
	uint32_t rows, columns = 0;

	while (f->columns[columns].bytes)
		columns++;
	item = rows_in(r, item, columns, most, &rows);
	for (uint32_t row = 0; row < rows; row++, to += f->count)
		for (uint32_t i = 0; i < columns; i++, item = item->next)
			read_column(r, &f->columns[i], item, to + f->columns[i].at);
	return rows;
}

static void read_numbers(struct reader *r, const struct gpu_wire_field *f, const cJSON *item,
			 char *to)
{
	uint32_t rows;

	item = rows_in(r, item, f->count, 1, &rows);
	for (uint32_t i = 0; i < f->count * rows; i++, item = item->next)
		keep(r, f, to + i * f->bytes, number(r, item));
}

/*
 * Returns how many elements of `digits` digits a string has. Fails if it has more than `most`, or a
 * partial one.
 */
static uint32_t elements_in(struct reader *r, const char *text, size_t digits, uint64_t most)
{
	size_t length = strlen(text);

	if (length % digits == 0 && length / digits <= most)
		return (uint32_t)(length / digits);
	r->bad = true;
	return 0;
}

static void read_bytes(struct reader *r, const char *text, uint32_t n, char *to)
{
	for (uint32_t i = 0; i < n; i++)
		to[i] = (char)take_fixed(r, text + 2 * i, 2);
}

static uint32_t read_frames(struct reader *r, const char *text, uint64_t most, char *to)
{
	uint32_t n = 0;

	for (; *text && !r->bad; n++) {
		struct gpu_event_frame frame = take_frame(r, &text);

		if (n == most || (*text && *text != ',') || (*text && !text[1])) {
			r->bad = true;
			break;
		}
		memcpy(to + n * sizeof(frame), &frame, sizeof(frame));
		text += *text == ',';
	}
	return n;
}

/* Allocates a list and stores its address in its member. Returns NULL if there is no room. */
static char *place_list(struct reader *r, const struct gpu_wire_field *f)
{
	struct gpu_wire_decoder *d = r->decoder;
	char *list = d->lists + d->used;
	size_t size = (f->most * f->count + 7) / 8 * 8;

	if (size > sizeof(d->lists) - d->used) {
		r->bad = true;
		return NULL;
	}
	d->used += size;
	memcpy(r->event + f->at, &list, sizeof(list));
	return list;
}

/* Reads a value into its member, or the elements of its list. */
static void read_value(struct reader *r, const struct gpu_wire_field *f, const cJSON *item,
		       char *to)
{
	const char *text = f->close == '"' ? string(r, item) : "";
	uint32_t n = 0;

	switch ((enum gpu_wire_kind)f->kind) {
	case WIRE_NUMBER:
		keep(r, f, to, number(r, item));
		break;
	case WIRE_NUMBERS:
		read_numbers(r, f, item, to);
		break;
	case WIRE_HEX:
		keep(r, f, to, take_digits(r, &text, 16, UINT64_MAX));
		r->bad |= *text != '\0';
		break;
	case WIRE_HEX_16:
		r->bad |= strlen(text) != 16;
		keep(r, f, to, take_fixed(r, text, 16));
		break;
	case WIRE_SIGNED:
		keep(r, f, to, (uint64_t)take_signed(r, text));
		break;
	case WIRE_COLUMNS:
		read_rows(r, f, item, r->event, 1);
		break;
	case WIRE_STRING:
		memcpy(to, &text, sizeof(text));
		r->bad |= (f->flags & WIRE_NOT_0) && !*text;
		break;
	case WIRE_BYTES:
		n = elements_in(r, text, 2, f->bytes);
		r->bad |= n != f->bytes;
		read_bytes(r, text, n, to);
		break;
	case WIRE_ROWS:
		n = read_rows(r, f, item, to, f->most);
		break;
	case WIRE_PIECE:
		n = elements_in(r, text, 2, f->most);
		r->bad |= n == 0;
		read_bytes(r, text, n, to);
		break;
	case WIRE_DOUBLES:
		n = elements_in(r, text, 16, f->most);
		for (uint32_t i = 0; i < n; i++)
			gpu_wire_store(to + 8 * i, 8, take_fixed(r, text + 16 * i, 16));
		break;
	case WIRE_FRAMES:
		n = read_frames(r, text, f->most, to);
		break;
	}
	if (f->count_at)
		gpu_wire_store(r->event + f->count_at, sizeof(n), n);
}

static void read_field(struct reader *r, const struct gpu_wire_field *f)
{
	const cJSON *item = member(r, f->text + 2, f->length - (f->close ? 5u : 4u));
	char *to = f->count_at ? place_list(r, f) : r->event + f->at;
	const char *none = "";

	if (f->kind == WIRE_STRING)
		memcpy(to, &none, sizeof(none));
	if (!(f->flags & (WIRE_SHOWS | WIRE_LENIENT)) && !gpu_wire_goes_with(f, r->event))
		return;
	if (!item || !to) {
		r->bad |= !(f->flags & (WIRE_OPTIONAL | WIRE_SHOWS | WIRE_LENIENT));
		return;
	}
	if (f->flags & WIRE_SHOWS)
		gpu_wire_store(r->event + f->with, f->with_bytes, 1);
	read_value(r, f, item, to);
	if (f->flags & WIRE_SHOWS && !gpu_wire_goes_with(f, r->event))
		r->bad = true;
}

/* Returns whether the members are consistent. The table has the bounds of each one. */
static bool is_sane(const struct gpu_event *e)
{
	switch (e->type) {
	case GPU_EVENT_CODE:
		return e->code.start < e->code.end &&
		       strlen(e->code.build_id) <= GPU_BUILD_ID_DIGITS &&
		       !e->code.build_id[strspn(e->code.build_id, "0123456789abcdef")];
	case GPU_EVENT_GRAPH:
		return !e->graph.holder != !e->graph.correlation_id;
	case GPU_EVENT_CUBIN:
		return e->cubin.offset <= e->cubin.size &&
		       e->cubin.count <= e->cubin.size - e->cubin.offset;
	case GPU_EVENT_NODE_RUN:
		return node_run_is_sane(&e->node_run);
	case GPU_EVENT_COUNTERS:
		return !e->counters.count == (e->counters.state != GPU_COUNTERS_READ);
	case GPU_EVENT_WINDOW:
		return e->window.from_ns < e->window.to_ns &&
		       e->window.period_ns >= GPU_WINDOW_PERIOD_MIN_NS;
	default:
		return true;
	}
}

/* Converts the parsed line. Returns false if it is no event. */
static bool read_event(struct gpu_wire_decoder *decoder, struct gpu_event *event)
{
	struct reader r = {.decoder = decoder, .event = (char *)event};
	const char *name = string(&r, member(&r, "t", 1));
	size_t length = strlen(name);

	for (int type = GPU_EVENT_NONE + 1; type < GPU_EVENT_TYPES; type++) {
		const struct gpu_wire_event *e = &gpu_wire_events[type];

		if (length != e->length - sizeof(GPU_WIRE_TYPE) ||
		    memcmp(name, e->text + sizeof(GPU_WIRE_TYPE) - 1, length) != 0)
			continue;
		event->type = (enum gpu_event_type)type;
		decoder->used = 0;
		for (const struct gpu_wire_field *f = e->fields; f->length; f++)
			read_field(&r, f);
		return !r.bad && is_sane(event);
	}
	return false;
}

/* Returns whether a run has room in a line. In other forms, such as 9e17, numbers are shorter. */
static bool fits_line(const struct gpu_event *event)
{
	char line[GPU_WIRE_LINE_MAX];

	return event->type != GPU_EVENT_NODE_RUN || gpu_wire_encode(event, line, sizeof(line)) > 0;
}

int gpu_wire_decode(struct gpu_wire_decoder *decoder, const char *line, size_t length,
		    struct gpu_event *event)
{
	const char *parsed_end = NULL;

	memset(event, 0, sizeof(*event));
	if (length > GPU_WIRE_LINE_MAX)
		return -EBADMSG;
	if (gpu_wire_scan(line, length, event, decoder->lists))
		return is_sane(event) ? 0 : -EBADMSG;

	memset(event, 0, sizeof(*event));
	cJSON_Delete(decoder->tree);
	decoder->tree = cJSON_ParseWithLengthOpts(line, length, &parsed_end, false);
	if (!decoder->tree)
		return -EBADMSG;
	/* JSON allows only white space after the object */
	for (; parsed_end < line + length; parsed_end++)
		if (*parsed_end != ' ' && *parsed_end != '\t' && *parsed_end != '\r')
			return -EBADMSG;
	if (!cJSON_IsObject(decoder->tree))
		return -EBADMSG;
	return read_event(decoder, event) && fits_line(event) ? 0 : -EBADMSG;
}
