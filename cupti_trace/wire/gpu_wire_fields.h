/* SPDX-License-Identifier: MIT */
/*
 * Describes the fields of each line of the wire (gpu_wire.h) in one table. The encoder, the decoder
 * and the scanner walk it, field by field, in the order of the line. A new event is a struct in
 * gpu_event.h and an entry in gpu_wire_fields.c; a new field is a member and a line in its entry.
 *
 * Numeric members have 4 or 8 bytes and are unsigned.
 */
#ifndef CUPTI_TRACE_WIRE_GPU_WIRE_FIELDS_H
#define CUPTI_TRACE_WIRE_GPU_WIRE_FIELDS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "cupti_trace/wire/gpu_event.h"

/* Form of a field's value. */
enum gpu_wire_kind {
	/* numbers; `most` and WIRE_NOT_0 bound each */
	WIRE_NUMBER,  /* 12 */
	WIRE_NUMBERS, /* [1,2]: `count` adjacent members of the struct */
	WIRE_COLUMNS, /* [1,2]: members at any place, each a field without text */
	WIRE_HEX,     /* "1f": a third shorter than decimal, and exact in every JSON reader */
	WIRE_HEX_16,  /* "000000000000001f" */
	WIRE_SIGNED,  /* "-12": a string, as many JSON readers lose bits above 2^53 */
	/* others */
	WIRE_STRING, /* "text": cut to `count` bytes as written */
	WIRE_BYTES,  /* "00ff": `bytes` of them, stored in the event itself */
	/* lists behind a pointer, of at most `most` elements of `count` bytes */
	WIRE_ROWS,    /* [1,2,3,4]: structs with these columns, at least one */
	WIRE_PIECE,   /* "00ff": at least one byte */
	WIRE_DOUBLES, /* 16 hexadecimal digits for the bits of each */
	WIRE_FRAMES,  /* "7f0012ab,p12,n2,p3:42,401000" */
};

enum gpu_wire_flag {
	WIRE_OPTIONAL = 1, /* omitted if all of it is 0 or empty; may be missing */
	WIRE_NOT_0 = 2,    /* refused if 0 or empty; an optional field may be missing */
	/*
	 * A field is neither written nor read if its member `with` is 0. One of these changes that:
	 */
	WIRE_UNLESS = 4,   /* ... if `with` is not 0 instead */
	WIRE_SHOWS = 8,    /* reading the field sets `with` to 1; it may be missing */
	WIRE_LENIENT = 16, /* the field is read in any case, and may be missing */
	WIRE_MINUS = 32    /* a column in WIRE_ROWS may be negative; `most` bounds its amount */
};

struct gpu_wire_field {
	char text[20];  /* ,"key": and the opening [ or " of the value */
	uint8_t length; /* length of the text; 0: end of the table */
	char close;     /* closing character of the value; '\0': none */
	uint8_t kind;   /* enum gpu_wire_kind */
	uint8_t flags;
	uint8_t bytes; /* size of the member; 0: end of the columns */
	uint8_t with_bytes;
	uint16_t at; /* offset of the member in struct gpu_event; a column's of WIRE_ROWS, in the
			row */
	uint16_t count;
	uint16_t count_at; /* offset of a list's length, which has 4 bytes */
	uint16_t with;     /* offset of the member that decides whether the field exists; 0: none */
	uint64_t most;     /* 0: whatever the member can hold; for 8 bytes in decimal, INT64_MAX */
	const struct gpu_wire_field *columns;
};

struct gpu_wire_event {
	char text[20]; /* GPU_WIRE_TYPE, the type's name, " */
	uint8_t length;
	const struct gpu_wire_field *fields;
};

/* Events by enum gpu_event_type. */
extern const struct gpu_wire_event gpu_wire_events[GPU_EVENT_TYPES];

/* Start of each line: the first key is its type. */
#define GPU_WIRE_TYPE "{\"t\":\""

static inline uint64_t gpu_wire_load(const void *at, unsigned int bytes)
{
	uint32_t narrow;
	uint64_t wide;

	if (bytes == sizeof(narrow)) {
		memcpy(&narrow, at, sizeof(narrow));
		return narrow;
	}
	memcpy(&wide, at, sizeof(wide));
	return wide;
}

static inline void gpu_wire_store(void *at, unsigned int bytes, uint64_t value)
{
	uint32_t narrow = (uint32_t)value;

	if (bytes == sizeof(narrow))
		memcpy(at, &narrow, sizeof(narrow));
	else
		memcpy(at, &value, sizeof(value));
}

/* Returns whether the member `with` allows a field. */
static inline bool gpu_wire_goes_with(const struct gpu_wire_field *f, const void *event)
{
	return !f->with || !gpu_wire_load((const char *)event + f->with, f->with_bytes) ==
				   ((f->flags & WIRE_UNLESS) != 0);
}

/* Stores a number that was read. Returns false if the field cannot have this value. */
static inline bool gpu_wire_keep(const struct gpu_wire_field *f, char *at, uint64_t value)
{
	gpu_wire_store(at, f->bytes, value);
	return (value <= UINT32_MAX || f->bytes == sizeof(value)) &&
	       (!f->most || value <= f->most) && (value || !(f->flags & WIRE_NOT_0));
}

#endif
