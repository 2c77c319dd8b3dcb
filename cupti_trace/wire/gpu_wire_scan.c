// SPDX-License-Identifier: MIT
#include "cupti_trace/wire/gpu_wire_scan.h"

#include <string.h>
#include "cupti_trace/wire/gpu_wire_fields.h"
#include "symbolize/util/text.h"

struct scan {
	const char *at;
	const char *end;
	char *rows; /* room for a list */
	bool failed;
};

/* Compares keys of at least 4 bytes. Compares their ends first, as keys differ there. */
static inline bool is_same(const char *a, const char *b, size_t n)
{
	if (n <= 8)
		return gpu_wire_load(a + n - 4, 4) == gpu_wire_load(b + n - 4, 4) &&
		       gpu_wire_load(a, 4) == gpu_wire_load(b, 4);
	return gpu_wire_load(a, 8) == gpu_wire_load(b, 8) && memcmp(a + 8, b + 8, n - 8) == 0;
}

static inline bool scan_try(struct scan *s, const char *text, size_t n)
{
	if ((size_t)(s->end - s->at) < n || !is_same(s->at, text, n))
		return false;
	s->at += n;
	return true;
}

static bool scan_char(struct scan *s, char c)
{
	if (s->at == s->end || *s->at != c)
		return false;
	s->at++;
	return true;
}

static void scan_expect(struct scan *s, char c)
{
	if (!scan_char(s, c))
		s->failed = true;
}

static void scan_number(struct scan *s, const struct gpu_wire_field *f, char *to)
{
	const char *start = s->at, *at = start, *end = s->end;
	uint64_t value = 0;

	for (; at < end && *at >= '0' && *at <= '9'; at++)
		value = value * 10 + (uint64_t)(*at - '0');
	/* 19 digits are always less than 2^64 */
	if (at == start || at - start > 19 || value > INT64_MAX ||
	    (at - start > 1 && *start == '0') || !gpu_wire_keep(f, to, value))
		s->failed = true;
	s->at = at;
}

/* Reads a number into `*value`. Returns its end, or NULL. */
static inline const char *scan_digits(const char *at, const char *end, uint64_t *value)
{
	const char *start = at;
	uint64_t number = 0;

	for (; at < end && (unsigned char)(*at - '0') < 10; at++)
		number = number * 10 + (unsigned char)(*at - '0');
	*value = number;
	/* 19 digits are always less than 2^64 */
	return at == start || at - start > 19 || number > INT64_MAX ||
			       (*start == '0' && at - start > 1)
		       ? NULL
		       : at;
}

/* Reads the number of a column, which may be negative. Returns its end, or NULL. */
static inline const char *scan_column(const char *at, const char *end,
				      const struct gpu_wire_field *f, char *to)
{
	bool is_negative = f->flags & WIRE_MINUS && at < end && *at == '-';
	uint64_t value;

	at = scan_digits(at + is_negative, end, &value);
	/* zero is written without a sign */
	if (!at || !gpu_wire_keep(f, to, value) || (is_negative && value == 0))
		return NULL;
	if (is_negative)
		gpu_wire_store(to, f->bytes, 0 - value);
	return at;
}

/* Reads a list of rows. Returns their number. */
static uint32_t scan_rows(struct scan *s, const struct gpu_wire_field *f)
{
	const char *at = s->at, *end = s->end;
	char *row = s->rows;
	uint32_t rows = 0;

	for (;; at++, row += f->count) {
		const struct gpu_wire_field *c = f->columns;

		s->failed |= rows++ == f->most;
		for (; !s->failed; at++) {
			at = scan_column(at, end, c, row + c->at);
			s->failed = !at || at == end;
			if (s->failed || !(++c)->bytes)
				break;
			s->failed = *at != ',';
		}
		if (s->failed || *at != ',')
			break;
	}
	s->at = at ? at : end;
	return rows;
}

/* Reads up to 16 hexadecimal digits. */
static void scan_hex(struct scan *s, const struct gpu_wire_field *f, char *to)
{
	const char *start = s->at, *at = start;
	uint64_t value = 0;

	for (; at < s->end && at - start < 16; at++) {
		int digit = hex_digit(*at);

		if (digit < 0)
			break;
		value = value << 4 | (uint64_t)digit;
	}
	if (f->kind == WIRE_HEX_16 ? at - start != 16 : at == start || *start == '0')
		s->failed = true;
	if (!gpu_wire_keep(f, to, value))
		s->failed = true;
	s->at = at;
}

static void scan_value(struct scan *s, char *base, const struct gpu_wire_field *f)
{
	char *at = base + f->at;

	switch ((enum gpu_wire_kind)f->kind) {
	case WIRE_NUMBER:
		scan_number(s, f, at);
		return;
	case WIRE_NUMBERS:
		for (uint32_t i = 0; i < f->count; i++) {
			if (i)
				scan_expect(s, ',');
			scan_number(s, f, at + i * f->bytes);
		}
		break;
	case WIRE_COLUMNS:
		for (const struct gpu_wire_field *c = f->columns; c->bytes; c++) {
			if (c > f->columns)
				scan_expect(s, ',');
			scan_number(s, c, base + c->at);
		}
		break;
	case WIRE_ROWS:
		memcpy(at, &s->rows, sizeof(s->rows));
		gpu_wire_store(base + f->count_at, sizeof(uint32_t), scan_rows(s, f));
		break;
	case WIRE_HEX:
	case WIRE_HEX_16:
		scan_hex(s, f, at);
		break;
	default:
		s->failed = true;
	}
	scan_expect(s, f->close);
}

static void scan_field(struct scan *s, char *base, const struct gpu_wire_field *f)
{
	if (!scan_try(s, f->text, f->length)) {
		s->failed = !(f->flags & (WIRE_OPTIONAL | WIRE_SHOWS));
		return;
	}
	if (f->flags & WIRE_SHOWS)
		gpu_wire_store(base + f->with, f->with_bytes, 1);
	scan_value(s, base, f);
}

bool gpu_wire_scan(const char *line, size_t length, struct gpu_event *event, void *rows)
{
	struct scan s = {.at = line, .end = line + length, .rows = rows};
	const struct gpu_wire_field *f;
	int type;

	for (type = GPU_EVENT_NONE + 1;
	     !scan_try(&s, gpu_wire_events[type].text, gpu_wire_events[type].length); type++)
		if (type == GPU_EVENT_LAST_SCANNED)
			return false;
	event->type = (enum gpu_event_type)type;
	for (f = gpu_wire_events[type].fields; f->length && !s.failed; f++)
		scan_field(&s, (char *)event, f);
	/*
	 * padding: the encoder overwrites a batch's numbers in place, in room for the longest ones
	 */
	while (type == GPU_EVENT_BATCH && scan_char(&s, ' '))
		;
	scan_expect(&s, '}');
	return !s.failed && s.at == s.end;
}
