/* SPDX-License-Identifier: MIT */
/*
 * Call-frame information of files. Rows do not depend on the search table's state, nor on their
 * section: .eh_frame or .debug_frame, compressed or not. Also finds functions, and gaps between
 * functions.
 */
#include "unit.h"
#include <elf.h>
#include "symbolize/elf_cfi.h"
#include "tests/unit/own_folder.h"

static const char source[] =
	"extern int other(int *);\n"
	"int one(int n) { int a[9]; a[n % 9] = n; return other(a) + a[1]; }\n"
	"__asm__(\".text\\n.balign 64\\n.globl bare\\nbare: push %rbp\\n pop %rbp\\n ret\\n"
	".fill 61, 1, 0x90\\n"
	".globl sized\\n.type sized, @function\\nsized: nop\\n nop\\n"
	/* a second entry, and a claim that reaches into what is described */
	".type within, @function\\nwithin: nop\\n ret\\n.size within, .-within\\n.size sized, "
	".-sized\\n"
	".type beyond, @function\\nbeyond: ret\\n.size beyond, 0x100000\\n\");\n"
	/* the linker puts it first */
	"__attribute__((cold)) int two(int n) { int a[99]; a[n % 99] = n; return other(a) + a[1] + "
	"one(n); }\n"
	"int three(int n) { int a[999]; a[n % 99] = n; return other(a) + a[1] + two(n); }\n";

static void build(const char *flags, const char *file)
{
	write_text("source.c", source);
	shell("cd %s && ${CC:-cc} -O2 -fno-inline -shared -fPIC %s -o %s source.c", folder, flags,
	      file);
}

static int open_file(const char *file, int flags)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	fd = open(path, flags | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static struct elf_cfi *load(const char *file)
{
	int fd = open_file(file, O_RDONLY);
	struct elf_cfi *cfi = NULL;

	assert_int_equal(elf_cfi_load(fd, NULL, &cfi), 0);
	close(fd);
	return cfi;
}

/* Returns the offset of a symbol. Here the offset is also the address, because the linker maps
 * files from 0 on. */
static uint64_t symbol(const char *file, const char *name)
{
	unsigned long address = 0;
	char command[512];
	FILE *pipe;

	snprintf(command, sizeof(command), "nm %s/%s | awk '$3 == \"%s\" { print \"0x\" $1 }'",
		 folder, file, name);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_int_equal(fscanf(pipe, "%lx", &address), 1);
	pclose(pipe);
	return address;
}

static void assert_same_rows(const struct elf_cfi *a, const struct elf_cfi *b)
{
	uint32_t rows = 0;

	for (uint64_t at = 0; at < 0x4000; at++) {
		struct cfi_row x, y;
		int err = elf_cfi_find_row(a, at, &x);

		assert_int_equal(elf_cfi_find_row(b, at, &y), err);
		if (err)
			continue;
		rows++;
		assert_int_equal(x.cfa_is_expression, y.cfa_is_expression);
		assert_int_equal(x.cfa_offset, y.cfa_offset);
		for (int i = 0; i < CFI_REGISTERS; i++) {
			assert_int_equal(x.rules[i].kind, y.rules[i].kind);
			assert_int_equal(x.rules[i].offset, y.rules[i].offset);
		}
	}
	assert_true(rows > 100);
}

/* Finds a section's header in a test file that is mapped for writing. */
static Elf64_Shdr *find_header(char *image, const char *name)
{
	Elf64_Ehdr *elf = (Elf64_Ehdr *)(void *)image;
	Elf64_Shdr *headers = (Elf64_Shdr *)(void *)(image + elf->e_shoff);
	const char *names = image + headers[elf->e_shstrndx].sh_offset;

	for (int i = 0; i < elf->e_shnum; i++)
		if (strcmp(names + headers[i].sh_name, name) == 0)
			return &headers[i];
	fail_msg("no section %s", name);
	return NULL;
}

enum damage { VERSION, ENCODING, NO_COUNT, NONE, TOO_MANY, CUT, UNSORTED, ASTRAY, GONE, DAMAGES };

static void damage(char *image, enum damage how)
{
	Elf64_Shdr *header = find_header(image, ".eh_frame_hdr");
	char *at = image + header->sh_offset;
	int32_t pair[2], word;

	switch (how) {
	case VERSION:
		at[0] = 2;
		break;
	case ENCODING:
		at[3] = 0x1b;
		break;
	case NO_COUNT:
		at[2] = (char)0xff;
		break;
	case NONE:
		memset(at + 8, 0, 4);
		break;
	case TOO_MANY:
		memset(at + 8, 0x7f, 4);
		break;
	case CUT:
		header->sh_size = 24;
		break;
	case UNSORTED:
		memcpy(pair, at + 12, 8);
		memcpy(at + 12, at + 20, 8);
		memcpy(at + 20, pair, 8);
		break;
	case ASTRAY:
		word = 0x7f000000;
		memcpy(at + 16, &word, 4);
		break;
	default:
		header->sh_type = SHT_NULL;
	}
}

static void the_same_rows_without_a_search_table(void **state)
{
	struct elf_cfi *good, *bad;

	(void)state;
	build("", "good.so");
	good = load("good.so");
	for (int how = 0; how < DAMAGES; how++) {
		struct stat st;
		char *image;
		int fd;

		shell("cp good.so bad.so");
		fd = open_file("bad.so", O_RDWR);
		assert_int_equal(fstat(fd, &st), 0);
		image = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		assert_true(image != MAP_FAILED);
		damage(image, (enum damage)how);
		munmap(image, (size_t)st.st_size);
		close(fd);
		bad = load("bad.so");
		assert_same_rows(good, bad);
		elf_cfi_free(bad);
	}
	elf_cfi_free(good);
}

static const char only_debug_frame[] = "-g -fno-asynchronous-unwind-tables -fno-unwind-tables";

static void assert_two_is_described(const char *file)
{
	struct elf_cfi *cfi = load(file);
	struct cfi_row row;

	assert_int_equal(elf_cfi_find_row(cfi, symbol(file, "two"), &row), 0);
	assert_int_equal(row.cfa_register, CFI_RSP);
	assert_int_equal(row.cfa_offset, 8);
	elf_cfi_free(cfi);
}

static void debug_frame_has_the_same_rows(void **state)
{
	(void)state;
	build(only_debug_frame, "debug.so");
	assert_two_is_described("debug.so");
	shell("cd %s && objcopy --compress-debug-sections=zlib debug.so z.so", folder);
	assert_two_is_described("z.so");
	shell("cd %s && objcopy --compress-debug-sections=zlib-gnu debug.so old.so", folder);
	assert_two_is_described("old.so");
}

/* Compressed data that lies about its size, or is damaged, is as if it were not there. */
static void damaged_compression_is_no_information(void **state)
{
	(void)state;
	for (int how = 0; how < 3; how++) {
		struct elf_cfi *cfi = NULL;
		struct cfi_row row;
		Elf64_Shdr *header;
		Elf64_Chdr *packed;
		struct stat st;
		uint64_t two;
		char *image;
		int fd;

		build("-g -fno-asynchronous-unwind-tables -fno-unwind-tables -gz=zlib", "z.so");
		two = symbol("z.so", "two");
		fd = open_file("z.so", O_RDWR);
		assert_int_equal(fstat(fd, &st), 0);
		image = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		assert_true(image != MAP_FAILED);
		header = find_header(image, ".debug_frame");
		assert_true(header->sh_flags & SHF_COMPRESSED);
		packed = (Elf64_Chdr *)(void *)(image + header->sh_offset);
		if (how == 0)
			packed->ch_size++;
		else if (how == 1)
			packed->ch_type = 77;
		else
			image[header->sh_offset + sizeof(*packed) + 20] ^= 0x55;
		munmap(image, (size_t)st.st_size);
		if (elf_cfi_load(fd, NULL, &cfi) == 0)
			assert_int_equal(elf_cfi_find_row(cfi, two, &row), -ENOENT);
		elf_cfi_free(cfi);
		close(fd);
	}
}

static void bounds_are_those_of_functions_and_gaps(void **state)
{
	static const char *const flags[] = {"", "-Wl,--no-eh-frame-hdr"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		uint64_t one, two, bare;
		struct cfi_bounds b;
		struct elf_cfi *cfi;

		build(flags[i], "bounds.so");
		cfi = load("bounds.so");
		one = symbol("bounds.so", "one");
		two = symbol("bounds.so", "two");
		bare = symbol("bounds.so", "bare");
		b = elf_cfi_find_bounds(cfi, one + 3);
		assert_true(b.is_function);
		assert_int_equal(b.start, one);
		assert_true(b.end > one + 8);
		assert_int_equal(elf_cfi_find_bounds(cfi, b.end - 1).start, one);
		b = elf_cfi_find_bounds(cfi, bare + 1);
		assert_false(b.is_function);
		assert_true(b.start <= bare && b.end > bare + 3);
		assert_true(b.end <= two || b.start >= two);
		b = elf_cfi_find_bounds(cfi, UINT64_MAX);
		assert_int_equal(b.end, 0);
		elf_cfi_free(cfi);
	}
}

static void symbols_tell_functions_without_a_description(void **state)
{
	static const char *const names[] = {"sized", "within"};
	uint64_t start = 0;
	uint32_t found = 0;
	struct elf_cfi *cfi;

	(void)state;
	build("", "symbols.so");
	cfi = load("symbols.so");
	for (size_t i = 0; i < 2; i++) {
		uint64_t at = symbol("symbols.so", names[i]);

		assert_true(elf_cfi_find_symbol(cfi, at, &start));
		assert_int_equal(start, at);
		assert_true(elf_cfi_find_symbol(cfi, at + 1, &start));
		assert_int_equal(start, at);
	}
	assert_false(elf_cfi_find_symbol(cfi, start + 2, &start));
	assert_false(elf_cfi_find_symbol(cfi, symbol("symbols.so", "beyond"), &start));
	assert_false(elf_cfi_find_symbol(cfi, symbol("symbols.so", "bare"), &start));
	assert_false(elf_cfi_find_symbol(cfi, symbol("symbols.so", "one") + 3, &start));
	assert_false(elf_cfi_find_symbol(cfi, UINT64_MAX, &start));
	elf_cfi_free(cfi);
	/* symbols for the dynamic linker stay */
	build("-s", "symbols.so");
	cfi = load("symbols.so");
	for (uint64_t at = 0; at < 0x4000; at++)
		found += elf_cfi_find_symbol(cfi, at, &start);
	assert_int_equal(found, 4); /* `sized`, now to its end */
	elf_cfi_free(cfi);
}

static void an_entry_point_without_a_description(void **state)
{
	uint64_t bare;
	struct elf_cfi *cfi;

	(void)state;
	build("-Wl,-e,bare", "entry.so");
	cfi = load("entry.so");
	bare = symbol("entry.so", "bare");
	assert_true(elf_cfi_is_entry(cfi, bare));
	assert_true(elf_cfi_is_entry(cfi, bare + 63));
	assert_false(elf_cfi_is_entry(cfi, bare - 1));
	assert_false(elf_cfi_is_entry(cfi, symbol("entry.so", "one")));
	assert_false(elf_cfi_is_entry(cfi, UINT64_MAX));
	elf_cfi_free(cfi);
	/* one that is described, and code behind it that is not */
	build("-Wl,-e,one", "entry.so");
	cfi = load("entry.so");
	assert_false(elf_cfi_is_entry(cfi, symbol("entry.so", "one")));
	for (uint64_t at = 0; at < 0x4000; at++)
		assert_false(elf_cfi_is_entry(cfi, at));
	elf_cfi_free(cfi);
	build("-Wl,-e,0", "entry.so");
	cfi = load("entry.so");
	for (uint64_t at = 0; at < 0x4000; at++)
		assert_false(elf_cfi_is_entry(cfi, at));
	elf_cfi_free(cfi);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_rows_without_a_search_table),
		cmocka_unit_test(debug_frame_has_the_same_rows),
		cmocka_unit_test(damaged_compression_is_no_information),
		cmocka_unit_test(bounds_are_those_of_functions_and_gaps),
		cmocka_unit_test(symbols_tell_functions_without_a_description),
		cmocka_unit_test(an_entry_point_without_a_description),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
