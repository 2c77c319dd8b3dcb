// SPDX-License-Identifier: MIT
/*
 * Encodes events as JSON lines. Runs inside the user's program: no allocation, no stdio, no locale.
 */
#include "cupti_trace/wire/gpu_wire.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "cupti_trace/wire/gpu_wire_fields.h"
#include "symbolize/util/text.h"

static const char hex[] = "0123456789abcdef";

/* Output cursor. Once `full`, further writes are ignored and the whole event is refused. */
struct line {
	char *at;
	char *end;
	bool full;
};

static void put_bytes(struct line *l, const char *bytes, size_t n)
{
	if (l->full || (size_t)(l->end - l->at) < n) {
		l->full = true;
		return;
	}
	memcpy(l->at, bytes, n);
	l->at += n;
}

static void put_u64(struct line *l, uint64_t value)
{
	char digits[20];
	size_t i = sizeof(digits);

	do {
		digits[--i] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	put_bytes(l, digits + i, sizeof(digits) - i);
}

static void put_hex(struct line *l, uint64_t value)
{
	char digits[16];
	size_t at = sizeof(digits);

	do {
		digits[--at] = hex[value & 15];
		value >>= 4;
	} while (value);
	put_bytes(l, digits + at, sizeof(digits) - at);
}

static void put_hex_bytes(struct line *l, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put_bytes(l, (char[]){hex[bytes[i] >> 4], hex[bytes[i] & 15]}, 2);
}

static void put_16_digits(struct line *l, uint64_t value)
{
	for (int shift = 60; shift >= 0; shift -= 4)
		put_bytes(l, &hex[value >> shift & 15], 1);
}

static void put_signed(struct line *l, int64_t value)
{
	if (value < 0)
		put_bytes(l, "-", 1);
	put_u64(l, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

size_t gpu_wire_escape(const unsigned char *s, size_t length, char out[6])
{
	if (length == 0) {
		memcpy(out, "\\ufffd", 6);
		return 6;
	}
	if (s[0] == '"' || s[0] == '\\') {
		out[0] = '\\';
		out[1] = (char)s[0];
		return 2;
	}
	if (s[0] < 0x20 || s[0] == 0x7f) {
		memcpy(out, "\\u00", 4);
		out[4] = hex[s[0] >> 4];
		out[5] = hex[s[0] & 15];
		return 6;
	}
	memcpy(out, s, length);
	return length;
}

static void put_string(struct line *l, const char *text, size_t limit)
{
	const unsigned char *s = (const unsigned char *)(text ? text : "");
	size_t written = 0;

	while (*s) {
		char escaped[6];
		size_t length = count_utf8_bytes(s);
		size_t n = gpu_wire_escape(s, length, escaped);

		if (written + n > limit)
			break;
		put_bytes(l, escaped, n);
		written += n;
		s += length ? length : 1;
	}
}

static void put_frames(struct line *l, const struct gpu_event_frame *frames, uint32_t n)
{
	for (uint32_t i = 0; i < n && i < GPU_STACK_MAX_FRAMES; i++) {
		if (i)
			put_bytes(l, ",", 1);
		if (frames[i].kind == GPU_FRAME_NVTX) {
			put_bytes(l, "n", 1);
			put_u64(l, frames[i].value < GPU_NVTX_MAX_ID ? frames[i].value : 0);
			continue;
		}
		if (frames[i].kind != GPU_FRAME_PYTHON) {
			put_hex(l, frames[i].value);
			continue;
		}
		put_bytes(l, "p", 1);
		put_u64(l, frames[i].value < GPU_PYCODE_MAX_ID ? frames[i].value : 0);
		if (frames[i].line == 0 || frames[i].line > GPU_FRAME_MAX_LINE)
			continue;
		put_bytes(l, ":", 1);
		put_u64(l, frames[i].line);
	}
}

/* ---- fields ---- */

static const void *pointer_at(const char *at)
{
	const void *pointer;

	memcpy(&pointer, at, sizeof(pointer));
	return pointer;
}

static void put_numbers(struct line *l, const char *at, const struct gpu_wire_field *f)
{
	for (uint32_t i = 0; i < f->count; i++) {
		if (i)
			put_bytes(l, ",", 1);
		put_u64(l, gpu_wire_load(at + i * f->bytes, f->bytes));
	}
}

static void put_rows(struct line *l, const char *rows, uint32_t n, const struct gpu_wire_field *f)
{
	for (uint32_t i = 0; i < n; i++, rows += f->count) {
		for (const struct gpu_wire_field *c = f->columns; c->bytes; c++) {
			uint64_t value = gpu_wire_load(rows + c->at, c->bytes);

			if (i || c > f->columns)
				put_bytes(l, ",", 1);
			if (c->flags & WIRE_MINUS)
				put_signed(l, (int64_t)value);
			else
				put_u64(l, value);
		}
	}
}

/* Returns whether any value of a field is not 0. */
static bool has_value(const struct gpu_event *event, const struct gpu_wire_field *f)
{
	const char *base = (const char *)event, *at = base + f->at;
	uint64_t any = 0;

	switch ((enum gpu_wire_kind)f->kind) {
	case WIRE_NUMBER:
	case WIRE_HEX:
	case WIRE_HEX_16:
	case WIRE_SIGNED:
		return gpu_wire_load(at, f->bytes) != 0;
	case WIRE_NUMBERS:
		for (uint32_t i = 0; i < f->count; i++)
			any |= gpu_wire_load(at + i * f->bytes, f->bytes);
		return any != 0;
	case WIRE_COLUMNS:
		for (const struct gpu_wire_field *c = f->columns; c->bytes; c++)
			any |= gpu_wire_load(base + c->at, c->bytes);
		return any != 0;
	case WIRE_STRING:
		return pointer_at(at) && *(const char *)pointer_at(at);
	case WIRE_BYTES:
		for (uint32_t i = 0; i < f->bytes; i++)
			any |= (uint64_t)at[i];
		return any != 0;
	case WIRE_ROWS:
	case WIRE_PIECE:
	case WIRE_DOUBLES:
	case WIRE_FRAMES:
		return gpu_wire_load(base + f->count_at, sizeof(uint32_t)) != 0;
	}
	return true;
}

static void put_field(struct line *l, const struct gpu_event *event, const struct gpu_wire_field *f)
{
	const char *base = (const char *)event, *at = base + f->at;
	uint32_t n = f->count_at ? (uint32_t)gpu_wire_load(base + f->count_at, sizeof(n)) : 0;

	put_bytes(l, f->text, f->length);
	switch ((enum gpu_wire_kind)f->kind) {
	case WIRE_NUMBER:
		put_u64(l, gpu_wire_load(at, f->bytes));
		break;
	case WIRE_NUMBERS:
		put_numbers(l, at, f);
		break;
	case WIRE_HEX:
		put_hex(l, gpu_wire_load(at, f->bytes));
		break;
	case WIRE_HEX_16:
		put_16_digits(l, gpu_wire_load(at, f->bytes));
		break;
	case WIRE_SIGNED:
		put_signed(l, (int64_t)gpu_wire_load(at, f->bytes));
		break;
	case WIRE_COLUMNS:
		put_rows(l, base, 1, f);
		break;
	case WIRE_STRING:
		put_string(l, pointer_at(at), f->count);
		break;
	case WIRE_BYTES:
		put_hex_bytes(l, (const uint8_t *)at, f->bytes);
		break;
	case WIRE_ROWS:
		put_rows(l, pointer_at(at), n, f);
		break;
	case WIRE_PIECE:
		put_hex_bytes(l, pointer_at(at), n);
		break;
	case WIRE_DOUBLES:
		for (uint32_t i = 0; i < n; i++)
			put_16_digits(l, gpu_wire_load((const uint64_t *)pointer_at(at) + i, 8));
		break;
	case WIRE_FRAMES:
		put_frames(l, pointer_at(at), n);
		break;
	}
	if (f->close)
		put_bytes(l, &f->close, 1);
}

int gpu_wire_encode(const struct gpu_event *event, char *buffer, size_t size)
{
	struct line l = {.at = buffer, .end = buffer + size};
	const struct gpu_wire_event *e;

	if (event->type <= GPU_EVENT_NONE || event->type >= GPU_EVENT_TYPES)
		return -EINVAL;
	e = &gpu_wire_events[event->type];
	put_bytes(&l, e->text, e->length);
	for (const struct gpu_wire_field *f = e->fields; f->length; f++)
		if (gpu_wire_goes_with(f, event) &&
		    (!(f->flags & WIRE_OPTIONAL) || has_value(event, f)))
			put_field(&l, event, f);
	put_bytes(&l, "}\n", 2);
	return l.full ? -ENOSPC : (int)(l.at - buffer);
}
