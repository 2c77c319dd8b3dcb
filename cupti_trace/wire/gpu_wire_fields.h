/* SPDX-License-Identifier: MIT */
/*
 * The fields of each line of the wire (gpu_wire.h), as one table: the encoder, the decoder and the
 * scanner walk it, field by field, in the order of the line. A new event is a struct in
 * gpu_event.h and an entry in gpu_wire_fields.c; a new field, a member and a line in its entry.
 *
 * Members that are numbers have 4 or 8 bytes, unsigned.
 */
#ifndef CUPTI_TRACE_WIRE_GPU_WIRE_FIELDS_H
#define CUPTI_TRACE_WIRE_GPU_WIRE_FIELDS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "cupti_trace/wire/gpu_event.h"

/* How a field is written. */
enum gpu_wire_kind {
	/* numbers; `most` and WIRE_NOT_0 bound each */
	WIRE_NUMBER,  /* 12 */
	WIRE_NUMBERS, /* [1,2]: `count` members that lie behind each other in the struct */
	WIRE_COLUMNS, /* [1,2]: members that lie anywhere, each a field without text */
	WIRE_HEX,     /* "1f": a third shorter than decimal, and exact in every JSON reader */
	WIRE_HEX_16,  /* "000000000000001f" */
	WIRE_SIGNED,  /* "-12": a string, as many JSON readers lose bits above 2^53 */
	/* others */
	WIRE_STRING, /* "text": of at most `count` bytes as they are written; else cut */
	WIRE_BYTES,  /* "00ff": `bytes` of them, in the event itself */
	/* lists behind a pointer, of at most `most` elements of `count` bytes */
	WIRE_ROWS,    /* [1,2,3,4]: of structs with such columns; one at least */
	WIRE_PIECE,   /* "00ff": of bytes; one at least */
	WIRE_DOUBLES, /* 16 hexadecimal digits for the bits of each */
	WIRE_FRAMES,  /* "7f0012ab,p12,n2,p3:42,401000" */
};

enum gpu_wire_flag {
	WIRE_OPTIONAL = 1, /* left out where all of it is 0 or empty, and may be missing */
	WIRE_NOT_0 = 2,    /* refused where it is 0 or empty; an optional one may be missing */
	/*
	 * A field is not written where its member `with` is 0, and is not read there, either. One
	 * of these changes that:
	 */
	WIRE_UNLESS = 4,  /* but where it is not 0 */
	WIRE_SHOWS = 8,   /* a field that is read makes it 1; it may be missing */
	WIRE_LENIENT = 16 /* the field is read in any case, and may be missing */
};

struct gpu_wire_field {
	char text[20];  /* ,"key": and what opens the value, [ or " */
	uint8_t length; /* of the text; 0: ends the fields */
	char close;     /* what closes the value; '\0': nothing */
	uint8_t kind;   /* enum gpu_wire_kind */
	uint8_t flags;
	uint8_t bytes; /* of the member; 0: ends the columns */
	uint8_t with_bytes;
	uint16_t at; /* of the member in struct gpu_event; of a column of WIRE_ROWS, in the row */
	uint16_t count;
	uint16_t count_at; /* of the number of a list; of 4 bytes */
	uint16_t with;     /* of the member that decides whether there is such a field; 0: none */
	uint64_t most;     /* 0: what the member can hold, and of 8 bytes INT64_MAX in decimal */
	const struct gpu_wire_field *columns;
};

struct gpu_wire_event {
	char text[20]; /* GPU_WIRE_TYPE, the type's name, " */
	uint8_t length;
	const struct gpu_wire_field *fields;
};

/* The events, by enum gpu_event_type. */
extern const struct gpu_wire_event gpu_wire_events[GPU_EVENT_TYPES];

/* How a line begins: the first key is its type. */
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

/* Returns whether the member `with` says that a field is there. */
static inline bool gpu_wire_goes_with(const struct gpu_wire_field *f, const void *event)
{
	return !f->with || !gpu_wire_load((const char *)event + f->with, f->with_bytes) ==
				   ((f->flags & WIRE_UNLESS) != 0);
}

/* Stores a number that was read. False: the field cannot have it. */
static inline bool gpu_wire_keep(const struct gpu_wire_field *f, char *at, uint64_t value)
{
	gpu_wire_store(at, f->bytes, value);
	return (value <= UINT32_MAX || f->bytes == sizeof(value)) &&
	       (!f->most || value <= f->most) && (value || !(f->flags & WIRE_NOT_0));
}

#endif
