// SPDX-License-Identifier: MIT
#include "symbolize/line_table_bounds.h"

#include <string.h>

#include "symbolize/cfi_bytes.h"

#define LENGTH_IS_64_BIT UINT32_C(0xffffffff)
#define LEB128_MAX 8
#define FILE_NUMBERS 3u /* numbers of a file: its folder, time and size */
#define LNE_DEFINE_FILE 3u

/* Skips a text and returns its length. */
static size_t skip_text(struct bytes *b)
{
	const uint8_t *start = b->at;

	bytes_skip_string(b);
	return (size_t)(b->at - start) - !b->bad;
}

static void skip_number(struct bytes *b)
{
	const uint8_t *start = b->at;

	bytes_uleb(b);
	b->bad |= b->at - start > LEB128_MAX;
}

static struct bytes take_unit(struct bytes *table, size_t *offset_size)
{
	uint64_t length = bytes_u32(table);

	*offset_size = length == LENGTH_IS_64_BIT ? 8 : 4;
	return bytes_take(table, *offset_size == 8 ? bytes_u64(table) : length);
}

/* Returns an upper bound of the files that the program may add, wherever it begins. */
static uint64_t count_defined(const struct bytes *unit)
{
	uint64_t count = 0;

	for (const uint8_t *at = unit->at; unit->end - at > 2; at++)
		count += at[0] == 0 && at[2] == LNE_DEFINE_FILE;
	return count;
}

/* Returns an upper bound of the bytes of a unit's paths; UINT64_MAX: the unit is malformed. */
static uint64_t bytes_of_paths(struct bytes unit, size_t offset_size)
{
	uint64_t version = bytes_u16(&unit), longest = 0, files, opcodes;
	size_t length;

	bytes_take(&unit,
		   offset_size + (version == 4 ? 5 : 4)); /* the header's length is not exact */
	opcodes = bytes_u8(&unit);
	if (version < 2 || version > 4 || opcodes == 0)
		return UINT64_MAX;
	bytes_take(&unit, opcodes - 1);
	files = count_defined(&unit);
	while ((length = skip_text(&unit)) > 0)
		longest = length > longest ? length : longest;
	while (skip_text(&unit) > 0) {
		files++;
		for (uint32_t i = 0; i < FILE_NUMBERS; i++)
			skip_number(&unit);
	}
	/* names of files take no more than the table */
	return unit.bad ? UINT64_MAX : files * (longest + 2);
}

bool line_table_is_bounded(const void *table, size_t size, uint64_t most)
{
	struct bytes rest = {.at = table, .end = (const uint8_t *)table + size};

	if (size > UINT32_MAX)
		return false;
	while (rest.at < rest.end) {
		size_t offset_size;
		struct bytes unit = take_unit(&rest, &offset_size);
		uint64_t bytes = bytes_of_paths(unit, offset_size);

		if (rest.bad || bytes > most)
			return false;
		most -= bytes;
	}
	return true;
}
