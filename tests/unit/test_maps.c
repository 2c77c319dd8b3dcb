/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "symbolize/maps.h"

static void insert(struct map_table **table, uint64_t start, uint64_t end, uint64_t offset,
		   uint32_t module)
{
	struct map_entry entry = {
		.start = start, .end = end, .file_offset = offset, .module = module};

	assert_int_equal(map_table_insert(table, entry), 0);
}

static void expect(const struct map_table *table, uint32_t i, uint64_t start, uint64_t end,
		   uint64_t offset, uint32_t module)
{
	assert_true(i < table->count);
	assert_int_equal(table->entries[i].start, start);
	assert_int_equal(table->entries[i].end, end);
	assert_int_equal(table->entries[i].file_offset, offset);
	assert_int_equal(table->entries[i].module, module);
}

static void test_middle_splits(void **state)
{
	struct map_table *table = map_table_new();

	(void)state;
	insert(&table, 0x1000, 0x9000, 0x100000, 1);
	insert(&table, 0x3000, 0x5000, 0, 2);
	assert_int_equal(table->count, 3);
	expect(table, 0, 0x1000, 0x3000, 0x100000, 1);
	expect(table, 1, 0x3000, 0x5000, 0, 2);
	expect(table, 2, 0x5000, 0x9000, 0x104000, 1);
	map_table_drop(table);
}

static void test_edges_are_trimmed(void **state)
{
	struct map_table *table = map_table_new();

	(void)state;
	insert(&table, 0x1000, 0x3000, 0x10000, 1);
	insert(&table, 0x3000, 0x4000, 0x20000, 2);
	insert(&table, 0x5000, 0x8000, 0x30000, 3);
	insert(&table, 0x2000, 0x6000, 0x40000, 4); /* trims 1, removes 2, trims 3 */
	assert_int_equal(table->count, 3);
	expect(table, 0, 0x1000, 0x2000, 0x10000, 1);
	expect(table, 1, 0x2000, 0x6000, 0x40000, 4);
	expect(table, 2, 0x6000, 0x8000, 0x31000, 3);
	insert(&table, 0x1000, 0x8000, 0, 5); /* exactly all of it */
	assert_int_equal(table->count, 1);
	expect(table, 0, 0x1000, 0x8000, 0, 5);
	map_table_drop(table);
}

/* Against a plain array of pages, which cannot be wrong. */
static void test_random_insertions_match_a_model(void **state)
{
	enum { PAGES = 64 };
	uint32_t module[PAGES] = {0}, seed = 12345;
	uint64_t offset[PAGES] = {0};
	struct map_table *table = map_table_new();

	(void)state;
	for (uint32_t round = 1; round < 3000; round++) {
		uint32_t a, b;

		seed = seed * 1664525 + 1013904223;
		a = (seed >> 8) % PAGES;
		b = a + 1 + (seed >> 20) % (PAGES - a);
		insert(&table, a * 4096, b * 4096, round * 4096, round);
		for (uint32_t page = a; page < b; page++) {
			module[page] = round;
			offset[page] = (round + page - a) * 4096;
		}
		for (uint32_t page = 0; page < PAGES; page++) {
			const struct map_entry *e = map_table_find(table, page * 4096 + 5);

			if (!module[page]) {
				assert_null(e);
				continue;
			}
			assert_non_null(e);
			assert_int_equal(e->module, module[page]);
			assert_int_equal(e->file_offset + page * 4096 - e->start, offset[page]);
		}
		for (uint32_t i = 1; i < table->count; i++)
			assert_true(table->entries[i - 1].end <= table->entries[i].start);
	}
	map_table_drop(table);
}

static void test_bad_ranges_and_bounds(void **state)
{
	struct map_table *table = map_table_new();
	struct map_entry entry = {.start = 0x2000, .end = 0x2000, .module = 1};
	int err = 0;

	(void)state;
	assert_int_equal(map_table_insert(&table, entry), -EINVAL);
	entry.end = 0x1000;
	assert_int_equal(map_table_insert(&table, entry), -EINVAL);
	assert_int_equal(table->count, 0);
	insert(&table, 0, UINT64_MAX, 0, 1);
	assert_non_null(map_table_find(table, UINT64_MAX - 1));
	for (uint64_t i = 0; i < MAP_TABLE_MAX && !err; i++) {
		entry.start = i * 2;
		entry.end = i * 2 + 1;
		err = map_table_insert(&table, entry);
	}
	assert_int_equal(err, -ENOSPC);
	assert_true(table->count <= MAP_TABLE_MAX);
	map_table_drop(table);
}

static void test_shared_tables_part_when_changed(void **state)
{
	struct map_table *parent = map_table_new(), *child;

	(void)state;
	insert(&parent, 0x1000, 0x2000, 0, 1);
	child = map_table_share(parent);
	assert_ptr_equal(child, parent);
	insert(&child, 0x1000, 0x2000, 0, 2);
	assert_ptr_not_equal(child, parent);
	assert_int_equal(map_table_find(parent, 0x1800)->module, 1);
	assert_int_equal(map_table_find(child, 0x1800)->module, 2);
	map_table_drop(parent);
	assert_int_equal(map_table_find(child, 0x1800)->module, 2);
	map_table_drop(child);
	map_table_drop(NULL);
}

static void test_find_at_the_edges(void **state)
{
	struct map_table *table = map_table_new();

	(void)state;
	assert_null(map_table_find(table, 0));
	insert(&table, 0x1000, 0x2000, 0, 1);
	insert(&table, 0x3000, 0x4000, 0, 2);
	insert(&table, 0x4000, 0x5000, 0, 3);
	assert_null(map_table_find(table, 0xfff));
	assert_int_equal(map_table_find(table, 0x1000)->module, 1);
	/* The return address of a call that is the last instruction of the mapping. */
	assert_int_equal(map_table_find(table, 0x2000)->module, 1);
	assert_null(map_table_find(table, 0x2001));
	assert_int_equal(map_table_find(table, 0x4000)->module, 3);
	map_table_drop(table);
}

static bool parse(const char *text, struct code_mapping *mapping)
{
	static char line[256];
	char *rest = line;

	memset(mapping, 0, sizeof(*mapping));
	snprintf(line, sizeof(line), "%s", text);
	return maps_next(&rest, mapping);
}

static void test_parse_line(void **state)
{
	struct code_mapping m;

	(void)state;
	assert_int_equal(parse("7f001000-7f003000 r-xp 00028000 fe:01 1234567         "
			       "  /usr/lib/my lib.so (deleted)",
			       &m),
			 1);
	assert_int_equal(m.start, 0x7f001000);
	assert_int_equal(m.end, 0x7f003000);
	assert_int_equal(m.file_offset, 0x28000);
	assert_int_equal(m.dev_major, 0xfe);
	assert_int_equal(m.dev_minor, 1);
	assert_int_equal(m.inode, 1234567);
	assert_string_equal(m.path, "/usr/lib/my lib.so (deleted)");
	assert_int_equal(parse("1000-2000 rw-p 0 0:0 0 /x", &m), 0);
	assert_int_equal(parse("1000-2000 rwxp 00000000 00:00 0 ", &m), 1);
	assert_string_equal(m.path, "");
	assert_int_equal(parse("1000-2000 rwxp 00000000 00:00 0", &m), 1);
	assert_string_equal(m.path, "");
	assert_int_equal(parse("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 "
			       "                 [vsyscall]",
			       &m),
			 1);
	assert_string_equal(m.path, "[vsyscall]");
	assert_int_equal(parse("1000-2000 r-xp 0 0:0 5 /a\\012b\\040c\\01", &m), 1);
	assert_string_equal(m.path, "/a\nb\\040c\\01");
}

static void test_broken_lines_are_refused(void **state)
{
	static const char *const broken[] = {
		"",
		" ",
		"-",
		"1000",
		"1000-",
		"1000-2000",
		"1000-2000 ",
		"1000-2000 r-xp",
		"1000-2000 r-x 0 0:0 0 ",
		"2000-1000 r-xp 0 0:0 0 ",
		"1000-1000 r-xp 0 0:0 0 ",
		"1000-10000000000000000 r-xp 0 0:0 0 ",
		"1000-2000 r-xp 0 0:0 x",
		"1000-2000 r-xp 0 0:0 ",
		"1000-2000 r-xp 0 0 0 ",
		"1000-2000 r-xp 0 0:0 12a",
		"g000-2000 r-xp 0 0:0 0 ",
		"1000-2000 r-xpp 0 0:0 0 ",
		"0x1000-2000 r-xp 0 0:0 0 ",
		"1000-2000 r-xp 0 100000000:0 0 ",
		"1000-2000 r-xp 0 0:0 99999999999999999999 ",
		"1000-2000 r-xp -1 0:0 0 ",
	};
	struct code_mapping m;

	(void)state;
	for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++)
		if (parse(broken[i], &m))
			fail_msg("accepted: %s", broken[i]);
}

static void test_all_lines_are_read(void **state)
{
	size_t huge = 200000;
	char *text = malloc(huge + 1000), *end, *rest = text;
	struct code_mapping mapping;
	uint64_t sum = 0;

	(void)state;
	end = stpcpy(text, "1000-2000 r-xp 0 0:0 1 /a\n3000-4000 r-xp 0 0:0 1 /");
	memset(end, 'x', huge);
	stpcpy(end + huge, "\nrubbish\n\n10000-20000 r-xp 0 0:0 1 /c\n"
			   "500000-600000 rw-p 0 0:0 1 /d\n100000-200000 r-xp 0 0:0 1 /e");
	while (maps_next(&rest, &mapping))
		sum += mapping.start;
	assert_int_equal(sum, 0x114000);
	assert_false(maps_next(&rest, &mapping));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_middle_splits),
		cmocka_unit_test(test_edges_are_trimmed),
		cmocka_unit_test(test_random_insertions_match_a_model),
		cmocka_unit_test(test_bad_ranges_and_bounds),
		cmocka_unit_test(test_shared_tables_part_when_changed),
		cmocka_unit_test(test_find_at_the_edges),
		cmocka_unit_test(test_parse_line),
		cmocka_unit_test(test_broken_lines_are_refused),
		cmocka_unit_test(test_all_lines_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
