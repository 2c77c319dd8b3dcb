/* SPDX-License-Identifier: MIT */
/* A Go program's table of functions, as elf_go.c describes it, of each version. */
#ifndef TESTS_UNIT_MADE_GO_H
#define TESTS_UNIT_MADE_GO_H

#include <stdint.h>
#include <string.h>

#define GO_1_2 0xfffffffbu
#define GO_1_16 0xfffffffau
#define GO_1_18 0xfffffff0u
#define GO_1_20 0xfffffff1u

#define MADE_GO_BYTES 1024
#define MADE_GO_NAMES 128        /* offset of names, except in 1.2 */
#define MADE_GO_FUNCTIONS 512    /* offset of the function table, except in 1.2 */
#define MADE_GO_DESCRIPTIONS 256 /* offset of descriptions; base of their offsets */

struct made_go_function {
	uint64_t start; /* relative to the start of the code */
	const char *name;
};

static inline void made_go_put(unsigned char *table, uint64_t at, uint64_t value, size_t width)
{
	memcpy(table + at, &value, width);
}

/*
 * Makes the table of consecutive functions, the last of which ends at `end`. `text`: start of the
 * code. Returns the table's size.
 */
static inline size_t made_go_table(unsigned char table[MADE_GO_BYTES], uint32_t magic,
				   uint64_t text, const struct made_go_function *functions,
				   uint32_t count, uint64_t end)
{
	size_t width = magic == GO_1_18 || magic == GO_1_20 ? 4 : 8;
	uint64_t base = magic == GO_1_2 ? 0 : MADE_GO_FUNCTIONS;
	uint64_t names = magic == GO_1_2 ? 0 : MADE_GO_NAMES;
	uint64_t list = magic == GO_1_2 ? 16 : MADE_GO_FUNCTIONS, name = MADE_GO_NAMES + 1;
	uint64_t added = width == 4 ? 0 : text; /* converts offsets to addresses */

	memset(table, 0, MADE_GO_BYTES);
	made_go_put(table, 0, magic, 4);
	table[6] = 1;
	table[7] = 8;
	made_go_put(table, 8, count, 8);
	if (magic == GO_1_16) {
		made_go_put(table, 24, MADE_GO_NAMES, 8);
		made_go_put(table, 56, MADE_GO_FUNCTIONS, 8);
	} else if (width == 4) {
		made_go_put(table, 24, text, 8);
		made_go_put(table, 32, MADE_GO_NAMES, 8);
		made_go_put(table, 64, MADE_GO_FUNCTIONS, 8);
	}
	for (uint32_t i = 0; i < count; i++) {
		uint64_t description = MADE_GO_DESCRIPTIONS + i * 16u;

		made_go_put(table, list + 2 * i * width, functions[i].start + added, width);
		made_go_put(table, list + (2 * i + 1) * width, description, width);
		made_go_put(table, base + description, functions[i].start + added, width);
		made_go_put(table, base + description + width, name - names, 4);
		memcpy(table + name, functions[i].name, strlen(functions[i].name) + 1);
		name += strlen(functions[i].name) + 1;
	}
	made_go_put(table, list + 2 * count * width, end + added, width);
	return MADE_GO_BYTES;
}

#endif
