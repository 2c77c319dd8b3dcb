/* SPDX-License-Identifier: MIT */
/* Headers of line tables, made by hand; those of compilers are in test_dwarf.c. */
#include "unit.h"
#include <dwarf.h>
#include "symbolize/line_files.h"

static const char strings[] = "\0unused\0from strings",
		  line_strings[] = "/first\0from line strings";

struct table {
	uint8_t bytes[512];
	size_t size, length_at, header_at;
	bool is_64_bit;
};

static void put(struct table *t, uint64_t value, size_t size)
{
	assert_true(t->size + size <= sizeof(t->bytes));
	memcpy(t->bytes + t->size, &value, size);
	t->size += size;
}

static void put_text(struct table *t, const char *text)
{
	assert_true(t->size + strlen(text) + 1 <= sizeof(t->bytes));
	memcpy(t->bytes + t->size, text, strlen(text) + 1);
	t->size += strlen(text) + 1;
}

static void begin(struct table *t, uint16_t version, bool is_64_bit)
{
	if (is_64_bit)
		put(t, UINT32_MAX, 4);
	t->is_64_bit = is_64_bit;
	t->length_at = t->size;
	put(t, 0, is_64_bit ? 8 : 4);
	put(t, version, 2);
	if (version >= 5)
		put(t, 8, 2);
	t->header_at = t->size;
	put(t, 0, is_64_bit ? 8 : 4);
	put(t, 1, version >= 4 ? 2 : 1);
	put(t, 0x0efb01, 3);
	put(t, 4, 1); /* opcodes, with three lengths */
	put(t, 0x010101, 3);
}

static void end(struct table *t)
{
	size_t size = t->is_64_bit ? 8 : 4;
	uint64_t header = t->size - t->header_at - size, all;

	memcpy(t->bytes + t->header_at, &header, size);
	put(t, 0x0101, 2); /* the program */
	all = t->size - t->length_at - size;
	memcpy(t->bytes + t->length_at, &all, size);
}

static void put_files_before_5(struct table *t)
{
	put_text(t, "/usr/include");
	put_text(t, "src");
	put_text(t, "");
	put_text(t, "main.c");
	put(t, 0, 3);
	put_text(t, "stdio.h");
	put(t, 0x018101, 4); /* folder 1, a time of two bytes, no size */
	put_text(t, "util.c");
	put(t, 2, 3);
	put_text(t, "lost.c");
	put(t, 3, 3);
	put_text(t, "");
}

static void put_files_of_5(struct table *t)
{
	size_t offset = t->is_64_bit ? 8 : 4;

	put(t, 1, 1);
	put(t, DW_LNCT_path | DW_FORM_line_strp << 8, 2);
	put(t, 2, 1);
	put(t, 0, offset);
	put(t, 7, offset);
	put(t, 4, 1);
	put(t, DW_LNCT_path | DW_FORM_string << 8, 2);
	put(t, DW_LNCT_directory_index | DW_FORM_udata << 8, 2);
	put(t, DW_LNCT_MD5 | DW_FORM_data16 << 8, 2);
	put(t, DW_LNCT_size | DW_FORM_block << 8, 2);
	put(t, 3, 1);
	for (int i = 0; i < 3; i++) {
		put_text(t, (const char *const[]){"main.c", "x.h", "lost.c"}[i]);
		put(t, (uint64_t)i, 1);
		put(t, 0, 8);
		put(t, 0, 8);
		put(t, 0x0002, 1);
		put(t, 0xffff, 2);
	}
}

static struct line_sections sections_of(const struct table *t)
{
	return (struct line_sections){.lines = {t->bytes, t->size},
				      .strings = {strings, sizeof(strings)},
				      .line_strings = {line_strings, sizeof(line_strings)}};
}

/* Expects "FOLDER NAME" or "NAME"; NULL: there is none. */
static void expect(const struct table *t, uint64_t offset, uint64_t number, const char *expected)
{
	const struct line_sections sections = sections_of(t);
	const char *of_folder = NULL, *name = NULL;
	char got[128];

	if (!line_file_find(&sections, offset, number, &of_folder, &name)) {
		if (expected)
			fail_msg("%lu: nothing instead of %s", (unsigned long)number, expected);
		return;
	}
	snprintf(got, sizeof(got), "%s%s%s", of_folder ? of_folder : "", of_folder ? " " : "",
		 name);
	assert_string_equal(got, expected ? expected : "nothing");
}

static void lists_of_names(void **state)
{
	(void)state;
	for (uint16_t version = 2; version <= 4; version++)
		for (int wide = 0; wide < 2; wide++) {
			struct table t = {.size = 0};
			size_t second;

			begin(&t, version, wide);
			put_files_before_5(&t);
			end(&t);
			second = t.size;
			begin(&t, version, !wide);
			put_files_before_5(&t);
			end(&t);
			for (size_t offset = 0; offset <= second; offset += second) {
				expect(&t, offset, 0, NULL);
				expect(&t, offset, 1, "main.c");
				expect(&t, offset, 2, "/usr/include stdio.h");
				expect(&t, offset, 3, "src util.c");
				expect(&t, offset, 4, NULL); /* no third folder */
				expect(&t, offset, 5, NULL);
				expect(&t, offset, UINT64_MAX, NULL);
			}
			expect(&t, t.size, 1, NULL);
			expect(&t, UINT64_MAX, 1, NULL);
		}
}

static void lists_with_formats(void **state)
{
	(void)state;
	for (int wide = 0; wide < 2; wide++) {
		struct table t = {.size = 0};

		begin(&t, 5, wide);
		put_files_of_5(&t);
		end(&t);
		expect(&t, 0, 0, "/first main.c");
		expect(&t, 0, 1, "from line strings x.h");
		expect(&t, 0, 2, "lost.c");
		expect(&t, 0, 3, NULL);
		expect(&t, 0, UINT64_MAX, NULL);
	}
}

/* Entries that have nothing would be as many as their number says, without an end. */
static void entries_without_anything(void **state)
{
	struct table t = {.size = 0};

	(void)state;
	begin(&t, 5, false);
	put(&t, 0, 1);
	put(&t, UINT64_C(0x7fffffffffffffff), 8);
	put(&t, 0, 8);
	end(&t);
	expect(&t, 0, 0, NULL);
}

/* A search for the end of each earlier path would take hours. */
static void many_entries_with_one_long_text(void **state)
{
	const uint32_t count = 1u << 21;
	const size_t bytes = 64u << 20;
	char *text = malloc(bytes);
	struct table t = {.size = 0};
	uint8_t *lines = calloc(1, sizeof(t.bytes) + 4 * (size_t)count);
	struct line_sections sections = {.lines = {lines, 0}, .line_strings = {text, bytes}};
	const char *of_folder, *name;
	size_t begun;

	(void)state;
	assert_true(text && lines);
	memset(text, 'a', bytes);
	text[bytes - 1] = '\0';
	begin(&t, 5, false);
	put(&t, 1, 1);
	put(&t, DW_LNCT_path | DW_FORM_line_strp << 8, 2);
	put(&t, 1, 1);
	put(&t, 0, 4);
	put(&t, 1, 1);
	put(&t, DW_LNCT_path | DW_FORM_line_strp << 8, 2);
	put(&t, 0x01808080, 4); /* the count */
	begun = t.size;
	end(&t);
	memcpy(lines, t.bytes, begun);
	sections.lines.size = begun + 4 * (size_t)count;
	memcpy(lines, (uint32_t[]){(uint32_t)sections.lines.size - 4}, 4);
	memcpy(lines + t.header_at, (uint32_t[]){(uint32_t)(sections.lines.size - t.header_at - 4)},
	       4);
	assert_true(line_file_find(&sections, 0, count - 1, &of_folder, &name));
	assert_ptr_equal(name, text);
	assert_ptr_equal(of_folder, text);
	assert_false(line_file_find(&sections, 0, count, &of_folder, &name));
	text[bytes - 1] = 'a'; /* a text without an end */
	assert_false(line_file_find(&sections, 0, count - 1, &of_folder, &name));
	free(text);
	free(lines);
}

static void other_versions_and_no_section(void **state)
{
	const char *of_folder, *name;
	struct table t = {.size = 0};

	(void)state;
	begin(&t, 6, false);
	put_files_of_5(&t);
	end(&t);
	expect(&t, 0, 1, NULL);
	t.bytes[t.length_at + 4] = 1;
	expect(&t, 0, 1, NULL);
	assert_false(line_file_find(&(struct line_sections){.lines = {NULL, 0}}, 0, 1, &of_folder,
				    &name));
}

static bool is_inside(const struct line_section *section, const char *text)
{
	const char *data = section->data;

	return data && text >= data && text < data + section->size &&
	       memchr(text, '\0', section->size - (size_t)(text - data));
}

/* Whatever bytes there are: what is found ends within its section. */
static void broken_tables(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(20000); round++) {
		struct prng p = prng_round(round);
		struct table t = {.size = 0};
		struct line_sections s;
		const char *found[2] = {NULL, NULL};
		uint16_t version = (uint16_t)(2 + prng_below(&p, 4));

		begin(&t, version, prng_chance(&p, 50));
		if (version == 5)
			put_files_of_5(&t);
		else
			put_files_before_5(&t);
		end(&t);
		for (uint64_t i = prng_below(&p, 6); i > 0; i--)
			t.bytes[prng_below(&p, t.size)] = (uint8_t)prng_below(&p, 256);
		if (prng_chance(&p, 30))
			t.size = prng_below(&p, t.size) + 1;
		s = sections_of(&t);
		if (!line_file_find(&s, prng_chance(&p, 10) ? prng_below(&p, t.size) : 0,
				    prng_below(&p, 6), &found[0], &found[1]))
			continue;
		for (int i = 0; i < 2; i++)
			EXPECT(&p, (i == 0 && !found[i]) || is_inside(&s.lines, found[i]) ||
					   is_inside(&s.strings, found[i]) ||
					   is_inside(&s.line_strings, found[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_of_names),
		cmocka_unit_test(lists_with_formats),
		cmocka_unit_test(entries_without_anything),
		cmocka_unit_test(many_entries_with_one_long_text),
		cmocka_unit_test(other_versions_and_no_section),
		cmocka_unit_test(broken_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
