/* SPDX-License-Identifier: MIT */
/* Call-frame information of generated code: its layouts, what compilers write, what is malformed.
 */
#include <glob.h>
#include "unit.h"
#include "symbolize/jit_frames.h"
#include "symbolize/jitdump.h"
#include "tests/unit/made_jitdump.h"
#include "tests/unit/own_folder.h"

static struct jit_frames *read_ok(const void *data, size_t size, size_t header_size)
{
	struct jit_frames *frames;

	assert_int_equal(jit_frames_read(data, size, header_size, NULL, &frames), 0);
	assert_non_null(frames);
	return frames;
}

static int read_bad(const void *data, size_t size, uint64_t header_size)
{
	struct jit_frames *frames;
	int err = jit_frames_read(data, size, header_size, NULL, &frames);

	assert_null(frames);
	return err;
}

/* Returns the distance from a register to the CFA, or 0 if there is no row. */
static int32_t cfa_at(const struct jit_frames *f, uint64_t start, uint64_t size, uint64_t pc,
		      int reg)
{
	const struct jit_range code = {start, size};
	struct cfi_row row;

	if (jit_frames_find_row(f, &code, pc, &row) != 0)
		return 0;
	assert_int_equal(row.cfa_register, reg);
	assert_int_equal(row.rules[CFI_PC].kind, CFI_OFFSET);
	assert_int_equal(row.rules[CFI_PC].offset, -8);
	return row.cfa_offset;
}

/* ---- layouts ---- */

/* Adds a section after the code: at any address, of any size. */
static void the_section_lies_behind_the_code(void **state)
{
	struct made_frames section, header;
	struct jit_frames *f;

	(void)state;
	made_frames_header(&header, 0);
	for (uint64_t size = 1; size < 40; size++)
		for (uint64_t start = 0x10000; start < 0x10010; start++) {
			const struct jit_range code = {start, size};

			made_frames_begin(&section);
			made_frames_function(&section, (size + 7) / 8 * 8, 0, size, 16);
			made_frames_join(&section, &header);
			f = read_ok(section.at, section.size, header.size);
			assert_false(jit_frames_are_placed(f));
			assert_true(jit_frames_describe(f, &code));
			assert_int_equal(cfa_at(f, start, size, start - 1, CFI_RSP), 0);
			assert_int_equal(cfa_at(f, start, size, start, CFI_RSP), 16);
			assert_int_equal(cfa_at(f, start, size, start + size - 1, CFI_RSP), 16);
			assert_int_equal(cfa_at(f, start, size, start + size, CFI_RSP), 0);
			jit_frames_free(f);
		}
}

/* The header may come first, as in the specification. */
static void the_header_may_come_first(void **state)
{
	struct made_frames section, header;
	struct jit_frames *f;

	(void)state;
	made_frames_header(&header, 0);
	made_frames_begin(&section);
	made_frames_function(&section, 0x50 + header.size, 0, 0x4b, 16);
	made_frames_join(&header, &section);
	f = read_ok(header.at, header.size, 8);
	assert_false(jit_frames_are_placed(f));
	assert_int_equal(cfa_at(f, 0x10000, 0x4b, 0x10000, CFI_RSP), 16);
	assert_int_equal(cfa_at(f, 0x10000, 0x4b, 0x1004a, CFI_RSP), 16);
	assert_int_equal(cfa_at(f, 0x10000, 0x4b, 0x1004b, CFI_RSP), 0);
	jit_frames_free(f);
}

static void the_header_may_tell_an_address(void **state)
{
	const struct jit_range codes[] = {{0x20000, 0x40}, {0x10010, 1}, {0x30000, 0x40}};
	struct made_frames section, header;
	struct jit_frames *f;

	(void)state;
	made_frames_header(&header, 0x50000);
	made_frames_begin(&section);
	made_frames_function(&section, 0x50000, 0x20000, 0x40, 24); /* functions in no order */
	made_frames_function(&section, 0x50000, 0x10000, 0x40, 16);
	made_frames_join(&header, &section);
	f = read_ok(header.at, header.size, 12);
	assert_true(jit_frames_are_placed(f));
	assert_true(jit_frames_describe(f, &codes[0]));
	assert_true(jit_frames_describe(f, &codes[1]));
	assert_false(jit_frames_describe(f, &codes[2]));
	assert_int_equal(cfa_at(f, 0x20000, 0x40, 0x20000, CFI_RSP), 24);
	assert_int_equal(cfa_at(f, 0x10010, 1, 0x10010, CFI_RSP), 16);
	assert_int_equal(cfa_at(f, 0x30000, 0x40, 0x30000, CFI_RSP), 0);
	jit_frames_free(f);
}

/* Several functions behind the code, as parts of it; none may begin before it. */
static void parts_of_the_code(void **state)
{
	const struct jit_range code = {0x10000, 0x100}, smaller = {0x10000, 0x20}, nothing = {5, 0};
	struct made_frames section;
	struct jit_frames *f;

	(void)state;
	made_frames_begin(&section);
	made_frames_function(&section, 0x100, 0x80, 0x20, 24);
	made_frames_function(&section, 0x100, 0, 0x40, 16);
	f = read_ok(section.at, section.size, 0);
	assert_true(jit_frames_describe(f, &code));
	assert_false(jit_frames_describe(f, &smaller));
	assert_false(jit_frames_describe(f, &nothing));
	assert_int_equal(cfa_at(f, 0x10000, 0x100, 0x1003f, CFI_RSP), 16);
	assert_int_equal(cfa_at(f, 0x10000, 0x100, 0x10040, CFI_RSP), 0);
	assert_int_equal(cfa_at(f, 0x10000, 0x100, 0x10080, CFI_RSP), 24);
	assert_int_equal(cfa_at(f, 0x10000, 0x100, 0x100a0, CFI_RSP), 0);
	jit_frames_free(f);
}

/* ---- what compilers write ---- */

/* 12 bytes of code: endbr64; push rbp; mov rbp, rsp; call *rcx; pop rbp; ret */
static const uint8_t by_cpython[] = {
	0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x7a, 0x52, 0x00, 0x01,
	0x78, 0x10, 0x01, 0x1b, 0x0c, 0x07, 0x08, 0x90, 0x01, 0x00, 0x00, 0x1c, 0x00,
	0x00, 0x00, 0x1c, 0x00, 0x00, 0x00, 0xd0, 0xff, 0xff, 0xff, 0x0c, 0x00, 0x00,
	0x00, 0x00, 0x44, 0x41, 0x0e, 0x10, 0x86, 0x02, 0x43, 0x0d, 0x06, 0x43, 0x0c,
	0x07, 0x08, 0x00, 0x00, 0x01, 0x1b, 0x03, 0x3b, 0xc4, 0xff, 0xff, 0xff, 0x01,
	0x00, 0x00, 0x00, 0xb8, 0xff, 0xff, 0xff, 0xe0, 0xff, 0xff, 0xff,
};

/* 384 bytes of code, with unused CIE data, and a terminator. */
static const uint8_t by_v8[] = {
	0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x7a, 0x4c, 0x52, 0x00, 0x01,
	0x78, 0x10, 0x02, 0xff, 0x1b, 0x0c, 0x07, 0x08, 0x90, 0x01, 0x00, 0x00, 0x00, 0x00,
	0x28, 0x00, 0x00, 0x00, 0x20, 0x00, 0x00, 0x00, 0x5c, 0xfe, 0xff, 0xff, 0x7e, 0x01,
	0x00, 0x00, 0x00, 0x4f, 0x0e, 0x10, 0x86, 0x02, 0x43, 0x0d, 0x06, 0x03, 0x04, 0x01,
	0x0d, 0x07, 0x41, 0x0e, 0x08, 0x52, 0x0c, 0x06, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x1b, 0x03, 0x3b, 0xb0, 0xff, 0xff, 0xff,
	0x01, 0x00, 0x00, 0x00, 0x34, 0xfe, 0xff, 0xff, 0xd0, 0xff, 0xff, 0xff,
};

static void records_of_cpython_and_v8(void **state)
{
	struct jit_frames *f = read_ok(by_cpython, sizeof(by_cpython), 20), *none;

	(void)state;
	assert_int_equal(cfa_at(f, 0x7f0000, 12, 0x7f0000, CFI_RSP), 8);
	assert_int_equal(cfa_at(f, 0x7f0000, 12, 0x7f0005, CFI_RSP), 16);
	assert_int_equal(cfa_at(f, 0x7f0000, 12, 0x7f0009, CFI_RBP), 16); /* inside the call */
	assert_int_equal(cfa_at(f, 0x7f0000, 12, 0x7f000b, CFI_RSP), 8);
	assert_int_equal(cfa_at(f, 0x7f0000, 12, 0x7f000c, CFI_RSP), 0);
	jit_frames_free(f);
	f = read_ok(by_v8, sizeof(by_v8), 20);
	assert_int_equal(cfa_at(f, 0x7e277c6180, 384, 0x7e277c6180, CFI_RSP), 8);
	assert_int_equal(cfa_at(f, 0x7e277c6180, 384, 0x7e277c6180 + 0x12, CFI_RBP), 16);
	assert_int_equal(cfa_at(f, 0x7e277c6180, 384, 0x7e277c6180 + 0x17d, CFI_RBP), 16);
	assert_int_equal(cfa_at(f, 0x7e277c6180, 384, 0x7e277c6180 + 0x17e, CFI_RSP), 0);
	jit_frames_free(f);
	/* for code with frame pointers, V8 writes the header alone */
	assert_int_equal(jit_frames_read(by_v8 + sizeof(by_v8) - 20, 20, 20, NULL, &none), 0);
	assert_null(none);
}

/* Reads the records of one file: where its code begins. */
static uint32_t list_code(int fd, uint64_t *starts, uint32_t max)
{
	uint32_t head[4], count = 0;
	uint64_t load[5];
	off_t at = 40;

	for (; pread(fd, head, sizeof(head), at) == sizeof(head) && head[1] >= 16; at += head[1])
		if (head[0] == 0 && count < max &&
		    pread(fd, load, sizeof(load), at + 16) == sizeof(load))
			starts[count++] = load[2];
	return count;
}

/* Trampolines as they are by the time that Python ends: all have a row where they call. */
static void check_python(const char *python, void *context)
{
	enum { MAX = 4096, CALL = 9 };
	static uint64_t starts[MAX];
	struct jitdump *dump = jitdump_new();
	unsigned int *checked = context;
	struct cfi_row row;
	uint32_t count;
	char text[600], path[300], pid[24] = "";
	int fd;

	snprintf(text, sizeof(text),
		 "'%s' -X perf_jit -c 'import os, sys, json\n"
		 "if not sys.is_stack_trampoline_active(): sys.exit(1)\n"
		 "os.write(3, str(os.getpid()).encode())' 3>'%s/pid' 2>'%s/errors'",
		 python, folder, folder);
	snprintf(path, sizeof(path), "%s/pid", folder);
	if (system(text) != 0) {
		jitdump_free(dump);
		return;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_true(read(fd, pid, sizeof(pid) - 1) > 0);
	close(fd);
	snprintf(path, sizeof(path), "/tmp/jit-%s.dump", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		assert_int_equal(jitdump_read(dump, fd, NULL), 0);
		assert_int_equal(jitdump_refused_frames(dump), 0);
		count = list_code(fd, starts, MAX);
		assert_true(count > 50);
		for (uint32_t i = 0; i < count; i++) {
			assert_int_equal(jitdump_find_row(dump, starts[i] + CALL, UINT64_MAX, &row),
					 0);
			assert_int_equal(row.cfa_offset, 16);
		}
		printf("%s: %u trampolines\n", python, count);
		(*checked)++;
		close(fd);
		unlink(path);
	}
	jitdump_free(dump);
}

static void trampolines_of_python(void **state)
{
	unsigned int checked = 0;
	glob_t found;

	(void)state;
	if (getenv("UNDER_VALGRIND"))
		SKIP("others' programs are not checked");
	glob("build/python/3.*/python", 0, NULL, &found);
	glob("/usr/bin/python3.[0-9]*[0-9]", GLOB_APPEND, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++)
		check_python(found.gl_pathv[i], &checked);
	globfree(&found);
	if (!checked)
		SKIP("no Python here has -X perf_jit");
}

/* ---- what is malformed ---- */

static void malformed_records_are_refused(void **state)
{
	static uint8_t zeros[4096], ones[4096];
	struct made_frames section, header;

	(void)state;
	memset(ones, 0xff, sizeof(ones));
	made_frames_begin(&section);
	assert_int_equal(read_bad(section.at, section.size, 0), -EBADMSG); /* a CIE alone */
	made_frames_function(&section, 0x100, 0, 0x100, 16);
	assert_int_equal(read_bad(section.at, section.size, section.size + 1), -EBADMSG);
	assert_int_equal(read_bad(section.at, section.size, UINT64_MAX), -EBADMSG);
	assert_int_equal(read_bad(section.at, section.size - 1, 0), -EBADMSG);
	assert_int_equal(read_bad(section.at, 3, 0), -EBADMSG);
	assert_int_equal(read_bad(zeros, sizeof(zeros), 8), -EBADMSG);
	assert_int_equal(read_bad(ones, sizeof(ones), 8), -EBADMSG);
	assert_int_equal(read_bad(zeros, 0, 0), 0);
	/* a header that comes first, in a record that ends in it */
	made_frames_header(&header, 0x1000);
	assert_int_equal(read_bad(header.at, header.size, 4), -EBADMSG);
	assert_int_equal(read_bad(header.at, header.size, 12), 0);
}

static void large_records_are_refused(void **state)
{
	uint8_t *bytes = calloc(1, JIT_FRAMES_MAX_RECORD + 1);
	struct made_frames section;
	struct quota_share share;
	struct jit_frames *f;

	(void)state;
	assert_non_null(bytes);
	made_frames_begin(&section);
	made_frames_function(&section, 0x100, 0, 0x100, 16);
	memcpy(bytes, section.at, section.size);
	assert_int_equal(read_bad(bytes, JIT_FRAMES_MAX_RECORD + 1, 0), -ENOSPC);
	f = read_ok(bytes, JIT_FRAMES_MAX_RECORD, 0);
	jit_frames_free(f);
	/* memory for records that do not fit is given back */
	quota_share_open(&share, 4096);
	assert_int_equal(jit_frames_read(bytes, 8192, 0, &share, &f), -ENOSPC);
	assert_int_equal(jit_frames_read(section.at, section.size, 0, &share, &f), 0);
	assert_int_equal(quota_share_close(&share), jit_frames_bytes(f));
	jit_frames_free(f);
	for (uint64_t left = 0; left < 200; left++) {
		quota_share_open(&share, left);
		if (jit_frames_read(section.at, section.size, 0, &share, &f) == -ENOSPC)
			assert_int_equal(quota_share_close(&share), 0);
		jit_frames_free(f);
	}
	free(bytes);
}

/* Records with some bytes changed: what is found is in bounds, whatever it says. */
static void changed_records_keep_their_bounds(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(20000); round++) {
		struct prng p = prng_round(round);
		const struct jit_range code = {prng_u64(&p) >> 8, 1 + prng_below(&p, 400)};
		size_t size = sizeof(by_v8);
		uint8_t *bytes = malloc(size); /* exact size: a read past it is found */
		struct jit_frames *f;
		struct cfi_row row;

		assert_non_null(bytes);
		memcpy(bytes, by_v8, size);
		for (uint64_t n = prng_below(&p, 5); n > 0; n--)
			bytes[prng_below(&p, size)] = (uint8_t)prng_u64(&p);
		jit_frames_read(bytes, size, prng_chance(&p, 50) ? 20 : prng_below(&p, size + 2),
				NULL, &f);
		free(bytes);
		if (!f)
			continue;
		jit_frames_describe(f, &code);
		for (uint64_t at = 0; at < code.size; at += 7)
			jit_frames_find_row(f, &code, code.start + at, &row);
		jit_frames_free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_section_lies_behind_the_code),
		cmocka_unit_test(the_header_may_come_first),
		cmocka_unit_test(the_header_may_tell_an_address),
		cmocka_unit_test(parts_of_the_code),
		cmocka_unit_test(records_of_cpython_and_v8),
		cmocka_unit_test(trampolines_of_python),
		cmocka_unit_test(malformed_records_are_refused),
		cmocka_unit_test(large_records_are_refused),
		cmocka_unit_test(changed_records_keep_their_bounds),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
