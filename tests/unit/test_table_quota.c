// SPDX-License-Identifier: MIT
/*
 * Hostile files, and the memory they take. Each runs in its own process, whose peak size is checked
 * at the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "symbolize/util/table_quota.h"
#include "symbolize/maps.h"
#include "symbolize/symbolizer.h"
#include "tests/unit/made_elf.h"
#include "tests/unit/own_folder.h"

#define GHOST 0x3fff0000 /* above the largest pid_max */
#define MIB (UINT64_C(1) << 20)
#define MOST_MIB 500

static struct symbolizer *s; /* used in a child process */
static struct address_space *ghost;
static uint64_t next_start;

/* ---- counting ---- */

static void shares_are_settled(void **state)
{
	struct table_quota quota;
	struct quota_share share;
	uint64_t kept;

	(void)state;
	table_quota_open(&quota);
	table_quota_lend(&quota, &share, 1000);
	assert_true(quota_share_take(&share, 600));
	assert_false(quota_share_take(&share, 500));
	quota_share_return(&share, 200);
	assert_true(quota_share_take(&share, 500));
	kept = table_quota_settle(&quota, &share, true);
	assert_int_equal(kept, 900);
	assert_int_equal(quota.resident_left, TABLE_QUOTA_RESIDENT_BYTES - 900);
	assert_int_equal(quota.run_left, TABLE_QUOTA_RUN_BYTES - 1100);
	assert_int_equal(quota.refused, 1);
	/* Whoever still has it gets nothing, and may return things. */
	assert_false(quota_share_take(&share, 1));
	quota_share_return(&share, 900);
	assert_false(quota_share_take(&share, 1));
	table_quota_free(&quota, kept);
	assert_int_equal(quota.resident_left, TABLE_QUOTA_RESIDENT_BYTES);

	table_quota_lend(&quota, &share, 1000);
	assert_true(quota_share_take(&share, 1000));
	assert_int_equal(table_quota_settle(&quota, &share, false), 0);
	assert_int_equal(quota.resident_left, TABLE_QUOTA_RESIDENT_BYTES);
	assert_int_equal(quota.refused, 1);

	quota.run_left = 10;
	table_quota_lend(&quota, &share, 1000);
	assert_false(quota_share_take(&share, 11));
	assert_true(quota_share_take(&share, 10));
	table_quota_settle(&quota, &share, true);
	assert_int_equal(quota.run_left, 0);
	assert_true(quota_share_take(NULL, UINT64_MAX));
	quota_share_return(NULL, 1);
}

/* ---- hostile files ---- */

static const char *path_of(const char *file)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	return path;
}

#define EXPECT(condition)                                                               \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			_exit(1);                                                       \
		}                                                                       \
	} while (0)

/* Returns the code at this offset of the file, as if a sample had been there. */
static struct code_ref code_in(const char *file, uint64_t offset)
{
	struct code_mapping mapping = {
		.start = next_start += 0x100000,
		.file_offset = MADE_TEXT,
		.path = path_of(file),
	};
	struct stat st;

	EXPECT(stat(mapping.path, &st) == 0);
	mapping.end = mapping.start + MADE_TEXT_SIZE;
	mapping.inode = st.st_ino;
	EXPECT(symbolizer_map(s, ghost, &mapping) == 0);
	return symbolizer_locate(s, ghost, mapping.start + offset);
}

static const char *name_in(const char *file, uint64_t offset)
{
	return symbolizer_name(s, code_in(file, offset), false);
}

static bool measures_memory(void)
{
#ifdef __SANITIZE_ADDRESS__
	return false; /* has memory of its own beside each block */
#else
	return !getenv("UNDER_VALGRIND");
#endif
}

static void in_own_process(void (*test)(void))
{
	struct rusage usage;
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		s = symbolizer_new();
		ghost = address_space_new(1, GHOST, false);
		EXPECT(s && ghost);
		test();
		address_space_free(ghost);
		symbolizer_free(s);
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(wait4(pid, &status, 0, &usage), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	print_message("%ld MiB\n", usage.ru_maxrss / 1024);
	if (measures_memory())
		assert_in_range(usage.ru_maxrss / 1024, 1, MOST_MIB);
}

/* Makes a file whose .symtab and names are holes of these sizes. .dynsym has one function. */
static void make_sparse(const char *file, uint64_t symbols_size, uint64_t names_size)
{
	static const char names[] = "\0fallback";
	Elf64_Sym symbols[2] = {{0}, made_function(1, 0, MADE_TEXT_SIZE)};
	const struct made_section sections[] = {
		{".symtab", SHT_SYMTAB, 3, symbols_size, NULL, 0, sizeof(Elf64_Sym)},
		{".strtab", SHT_STRTAB, 0, names_size, NULL, 0, 0},
		{".dynsym", SHT_DYNSYM, 5, sizeof(symbols), symbols, 0, sizeof(Elf64_Sym)},
		{".dynstr", SHT_STRTAB, 0, sizeof(names), names, 0, 0},
	};

	make_elf(path_of(file), sections, 4);
}

static void name_sparse(void)
{
	char file[32];

	for (int i = 0; i < 3; i++) {
		snprintf(file, sizeof(file), "sparse%d.so", i);
		make_sparse(file, 500 * MIB, 500 * MIB);
		/* A usable file is still used. */
		EXPECT(strcmp(name_in(file, 8), "fallback") == 0);
	}
	EXPECT(symbolizer_stats(s).refused == 3);
}

static void sparse_files(void **state)
{
	(void)state;
	in_own_process(name_sparse);
}

/* Names many files of the largest size. Each is read, and no more is kept than the limit. */
static void name_many_large(void)
{
	char file[32];

	for (int i = 0; i < 40; i++) {
		snprintf(file, sizeof(file), "large%d.so", i);
		make_sparse(file, 40 * MIB, 60 * MIB);
		name_in(file, 8);
	}
	EXPECT(symbolizer_stats(s).refused > 0);
}

static void many_large_files(void **state)
{
	(void)state;
	in_own_process(name_many_large);
}

/* Makes a file with a function at every byte, each with a name of its own. */
static void make_crowded(const char *file, uint32_t count)
{
	Elf64_Sym *symbols = calloc(count, sizeof(*symbols));
	char *names = calloc(count, 8);

	EXPECT(symbols && names);
	for (uint32_t i = 1; i < count; i++) {
		symbols[i] = made_function(i * 8, i % MADE_TEXT_SIZE, 1 + i % 100);
		snprintf(names + (size_t)i * 8, 8, "f%06x", i & 0xffffff);
	}
	{
		const struct made_section sections[] = {
			{".symtab", SHT_SYMTAB, 3, count * sizeof(*symbols), symbols, 0,
			 sizeof(*symbols)},
			{".strtab", SHT_STRTAB, 0, (uint64_t)count * 8, names, 0, 0},
		};

		make_elf(path_of(file), sections, 2);
	}
	free(symbols);
	free(names);
}

static void name_crowded(void)
{
	char file[32];

	for (int i = 0; i < 4; i++) {
		snprintf(file, sizeof(file), "crowded%d.so", i);
		make_crowded(file, 1000000);
		EXPECT(name_in(file, 8)[0] == 'f' || i > 0);
	}
}

static void crowded_files(void **state)
{
	(void)state;
	in_own_process(name_crowded);
}

static void name_spellings(void)
{
	char file[32], name[16];

	make_crowded("spelled.so", 700000);
	for (int i = 0; i < 30; i++) {
		char first[256];

		snprintf(first, sizeof(first), "%s", path_of("spelled.so"));
		snprintf(file, sizeof(file), "spelled%d.so", i);
		EXPECT(link(first, path_of(file)) == 0);
		snprintf(name, sizeof(name), "%s", name_in(file, 8));
		EXPECT(name[0] == 'f');
	}
	EXPECT(symbolizer_stats(s).refused == 0);
}

static void one_file_with_many_paths(void **state)
{
	(void)state;
	in_own_process(name_spellings);
}

/* Names of a few bytes that people would write with 64 KiB. */
static void name_explosive(void)
{
	enum { COUNT = 3000, LEVELS = 11, LENGTH = 160 };
	Elf64_Sym *symbols = calloc(COUNT, sizeof(*symbols));
	char *names = calloc(COUNT, LENGTH), *end;
	struct code_ref ref;

	EXPECT(symbols && names);
	for (uint32_t i = 1; i < COUNT; i++) {
		end = names + (size_t)i * LENGTH;
		symbols[i] = made_function(i * LENGTH, i, 1);
		end += snprintf(end, LENGTH, "_Z5f%04uI", i);
		for (int k = 0; k < LEVELS; k++)
			end = stpcpy(end, "PFv");
		end = stpcpy(end, "P1A");
		for (int k = 0; k < LEVELS; k++) {
			static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

			end += snprintf(end, 8, "S%c_E", digits[1 + 2 * k]);
		}
		stpcpy(end, "Evv");
	}
	{
		const struct made_section sections[] = {
			{".symtab", SHT_SYMTAB, 3, COUNT * sizeof(*symbols), symbols, 0,
			 sizeof(*symbols)},
			{".strtab", SHT_STRTAB, 0, COUNT * LENGTH, names, 0, 0},
		};

		make_elf(path_of("explosive.so"), sections, 2);
	}
	free(symbols);
	free(names);
	ref = code_in("explosive.so", 1);
	EXPECT(strlen(symbolizer_name(s, ref, false)) > 20000);
	for (uint32_t i = 1; i < COUNT; i++, ref.offset++)
		symbolizer_name(s, ref, false);
	/* The last names are not demangled: no memory or time is left. */
	EXPECT(strlen(symbolizer_name(s, (struct code_ref){ref.module, 0, ref.offset - 1}, false)) <
	       200);
}

static void explosive_names(void **state)
{
	(void)state;
	in_own_process(name_explosive);
}

/* ---- hostile DWARF ---- */

/*
 * Names code of many units with one abbreviation table. Each unit's only entry has the table's last
 * code, so each unit makes libdw read the whole table.
 */
static void name_dwarf(void)
{
	enum { CODES = 700000, UNITS = 100000, UNIT_SIZE = 15 };
	uint8_t *abbreviations = malloc(CODES * 8 + 1), *units = calloc(UNITS, UNIT_SIZE);
	static const char names[] = "\0f";
	Elf64_Sym symbols[2] = {{0}, made_function(1, 0, MADE_TEXT_SIZE)};
	const char *const *chain;
	uint8_t *end = abbreviations;
	struct symbolizer_stats stats;

	EXPECT(abbreviations && units);
	for (uint32_t code = 1; code <= CODES; code++) {
		*end++ = (uint8_t)(code | 0x80);
		*end++ = (uint8_t)(code >> 7 | 0x80);
		*end++ = (uint8_t)(code >> 14);
		*end++ = 0x11; /* DW_TAG_compile_unit */
		*end++ = 0;
		*end++ = 0;
		*end++ = 0;
	}
	*end++ = 0;
	for (uint32_t i = 0; i < UNITS; i++) {
		uint8_t *unit = units + (size_t)i * UNIT_SIZE;

		unit[0] = UNIT_SIZE - 4; /* length, version 4, table at 0, 8 bytes an address */
		unit[4] = 4;
		unit[10] = 8;
		unit[11] = (uint8_t)(CODES | 0x80);
		unit[12] = (uint8_t)(CODES >> 7 | 0x80);
		unit[13] = (uint8_t)(CODES >> 14);
	}
	{
		const struct made_section sections[] = {
			{".symtab", SHT_SYMTAB, 3, sizeof(symbols), symbols, 0, sizeof(*symbols)},
			{".strtab", SHT_STRTAB, 0, sizeof(names), names, 0, 0},
			{".debug_info", SHT_PROGBITS, 0, UNITS * UNIT_SIZE, units, 0, 0},
			{".debug_abbrev", SHT_PROGBITS, 0, (uint64_t)(end - abbreviations),
			 abbreviations, 0, 0},
		};

		make_elf(path_of("dwarf.so"), sections, 4);
	}
	free(abbreviations);
	free(units);
	EXPECT(symbolizer_names(s, code_in("dwarf.so", 8), false, &chain) == 1);
	EXPECT(strcmp(chain[0], "f") == 0);
	stats = symbolizer_stats(s);
	EXPECT(stats.refused == 1);
}

static void units_that_share_abbreviations(void **state)
{
	(void)state;
	in_own_process(name_dwarf);
}

/* Names code with a short section that claims to unpack to 100 GiB. */
static void name_packed(void)
{
	struct {
		Elf64_Chdr header;
		char data[32];
	} packed = {.header = {.ch_type = ELFCOMPRESS_ZLIB,
			       .ch_size = 100 * 1024 * MIB,
			       .ch_addralign = 1}};
	const struct made_section sections[] = {
		{".debug_info", SHT_PROGBITS, 0, sizeof(packed), &packed, SHF_COMPRESSED, 0},
		{".debug_abbrev", SHT_PROGBITS, 0, 4, "\1\x11\0", 0, 0},
		{".debug_str", SHT_PROGBITS, 0, 700 * MIB, NULL, 0, 0},
	};
	static const char old_packed[44] = "ZLIB\0\0\0\x19"; /* the size, in big-endian order */
	const struct made_section old[] = {
		{".zdebug_info", SHT_PROGBITS, 0, 44, old_packed, 0, 0},
		{".debug_abbrev", SHT_PROGBITS, 0, 4, "\1\x11\0", 0, 0},
		{".debug_str", SHT_PROGBITS, 0, 8, NULL, 0, 0},
	};
	const char *const *chain;

	make_elf(path_of("packed.so"), sections, 3);
	EXPECT(symbolizer_names(s, code_in("packed.so", 8), false, &chain) == 1);
	EXPECT(symbolizer_stats(s).refused == 1);
	make_elf(path_of("old.so"), old, 3);
	EXPECT(symbolizer_names(s, code_in("old.so", 8), false, &chain) == 1);
	EXPECT(symbolizer_stats(s).refused == 2);
}

static void sections_that_unpack_without_end(void **state)
{
	(void)state;
	in_own_process(name_packed);
}

/* ---- perf maps ---- */

static void name_jit(void)
{
	char *text = malloc(PERF_MAP_MAX_BYTES), path[64];
	size_t size = 0;

	EXPECT(text);
	for (uint32_t i = 0; size + 32 < PERF_MAP_MAX_BYTES; i++)
		size += (size_t)snprintf(text + size, 32, "%x 1 x\n", i * 2);
	for (uint32_t i = 0; i < 8; i++) {
		struct code_mapping mapping = {.start = 0x1000, .end = 0x2000, .path = "//anon"};
		struct address_space *space = address_space_new(2 + i, (pid_t)(GHOST + i), false);
		FILE *file;

		EXPECT(space);
		snprintf(path, sizeof(path), "/tmp/perf-%u.map", GHOST + i);
		file = fopen(path, "w");
		EXPECT(file && fwrite(text, 1, size, file) == size && fclose(file) == 0);
		EXPECT(symbolizer_map(s, space, &mapping) == 0);
		symbolizer_name(s, symbolizer_locate(s, space, 0x1004), false);
		unlink(path);
		address_space_free(space);
	}
	free(text);
	EXPECT(symbolizer_stats(s).refused > 0);
}

static void large_perf_maps(void **state)
{
	(void)state;
	in_own_process(name_jit);
}

/* ---- mappings ---- */

/* Fills the table. Returns the number of refused mappings. */
static uint32_t fill(struct address_space *space)
{
	struct code_mapping mapping = {.path = "//anon"};
	uint32_t refused = 0;

	for (uint32_t i = 0; i < MAP_TABLE_MAX - 2; i++) {
		int err;

		mapping.start = 0x10000 + i * UINT64_C(0x2000);
		mapping.end = mapping.start + 0x1000;
		err = symbolizer_map(s, space, &mapping);
		EXPECT(err == 0 || err == -ENOSPC);
		refused += err != 0;
	}
	return refused;
}

static void map_much(void)
{
	enum {
		SPACES = 200,
		FITTING = MAPS_MAX_BYTES / (MAP_TABLE_MAX * sizeof(struct map_entry))
	};
	static struct address_space *spaces[SPACES];
	struct code_mapping mapping = {.start = 0x1000, .end = 0x2000, .path = "//anon"};
	struct address_space *other;

	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < SPACES; i++) {
			spaces[i] = address_space_new(2 + i, (pid_t)(GHOST + i), true);
			EXPECT(spaces[i]);
			EXPECT((fill(spaces[i]) > 0) == (i >= FITTING));
		}
		/* forks cost nothing until they change: there is room for one of these then */
		address_space_free(spaces[1]);
		spaces[1] = address_space_fork(spaces[0], 1000, GHOST - 1);
		other = address_space_fork(spaces[0], 1001, GHOST - 2);
		EXPECT(spaces[1] && other);
		EXPECT(symbolizer_map(s, spaces[1], &mapping) == 0);
		EXPECT(symbolizer_map(s, other, &mapping) == -ENOSPC);
		EXPECT(symbolizer_locate(s, other, 0x10000).module == MODULE_JIT);
		address_space_free(other);
		for (uint32_t i = 0; i < SPACES; i++)
			address_space_free(spaces[i]);
	}
}

static void mappings_of_many_processes(void **state)
{
	(void)state;
	in_own_process(map_much);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_are_settled),
		cmocka_unit_test(sparse_files),
		cmocka_unit_test(many_large_files),
		cmocka_unit_test(crowded_files),
		cmocka_unit_test(one_file_with_many_paths),
		cmocka_unit_test(explosive_names),
		cmocka_unit_test(units_that_share_abbreviations),
		cmocka_unit_test(sections_that_unpack_without_end),
		cmocka_unit_test(large_perf_maps),
		cmocka_unit_test(mappings_of_many_processes),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
