// SPDX-License-Identifier: MIT
#include "symbolize/line_table_bounds.h"

#include <string.h>

#define LENGTH_IS_64_BIT UINT32_C(0xffffffff)
#define LEB128_MAX 8u
#define FILE_NUMBERS 3u /* of a file: its folder, its time, its size */
#define LNE_DEFINE_FILE 3u

/* What is left of the table, or of a unit. */
struct rest {
	const unsigned char *at, *end;
	bool is_bad;
};

static size_t left(const struct rest *r)
{
	return (size_t)(r->end - r->at);
}

static void skip(struct rest *r, uint64_t size)
{
	r->is_bad |= size > left(r);
	r->at = r->is_bad ? r->end : r->at + size;
}

static uint64_t get(struct rest *r, size_t size)
{
	const unsigned char *from = r->at;
	uint64_t value = 0;

	skip(r, size);
	if (!r->is_bad)
		memcpy(&value, from, size);
	return value;
}

/* The length of a text. */
static size_t get_text(struct rest *r)
{
	const unsigned char *from = r->at, *end = memchr(from, '\0', left(r));

	r->is_bad |= !end;
	r->at = end ? end + 1 : r->end;
	return (size_t)(r->at - from) - (end != NULL);
}

static void skip_number(struct rest *r)
{
	for (uint32_t i = 0; i < LEB128_MAX; i++)
		if (get(r, 1) < 0x80)
			return;
	r->is_bad = true;
}

static struct rest get_unit(struct rest *table, size_t *offset_size)
{
	uint64_t length = get(table, 4);
	struct rest unit;

	*offset_size = length == LENGTH_IS_64_BIT ? 8 : 4;
	if (*offset_size == 8)
		length = get(table, 8);
	unit = (struct rest){.at = table->at};
	skip(table, length);
	unit.end = table->at;
	unit.is_bad = table->is_bad;
	return unit;
}

/* How many files the program may add, wherever it begins: at least as many as it does. */
static uint64_t count_defined(const struct rest *unit)
{
	uint64_t count = 0;

	for (const unsigned char *at = unit->at; unit->end - at > 2; at++)
		count += at[0] == 0 && at[2] == LNE_DEFINE_FILE;
	return count;
}

/* At least as many bytes as the paths of a unit take; UINT64_MAX: it is malformed. */
static uint64_t bytes_of_paths(struct rest unit, size_t offset_size)
{
	uint64_t version = get(&unit, 2), longest = 0, files, opcodes;
	size_t length;

	skip(&unit, offset_size + (version == 4 ? 5 : 4)); /* the header's length is not exact */
	opcodes = get(&unit, 1);
	if (version < 2 || version > 4 || opcodes == 0)
		return UINT64_MAX;
	skip(&unit, opcodes - 1);
	files = count_defined(&unit);
	while ((length = get_text(&unit)) > 0)
		longest = length > longest ? length : longest;
	while (get_text(&unit) > 0) {
		files++;
		for (uint32_t i = 0; i < FILE_NUMBERS; i++)
			skip_number(&unit);
	}
	/* the files' own names are no more than the table */
	return unit.is_bad ? UINT64_MAX : files * (longest + 2);
}

bool line_table_is_bounded(const void *table, size_t size, uint64_t most)
{
	struct rest rest = {.at = table, .end = (const unsigned char *)table + size};

	if (size > UINT32_MAX)
		return false;
	while (left(&rest) > 0) {
		size_t offset_size;
		struct rest unit = get_unit(&rest, &offset_size);
		uint64_t bytes = bytes_of_paths(unit, offset_size);

		if (bytes > most)
			return false;
		most -= bytes;
	}
	return !rest.is_bad;
}
