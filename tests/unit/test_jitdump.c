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

#include "symbolize/jitdump.h"
#include "tests/unit/made_jitdump.h"

/* A file under construction, and what was read of it. */
struct dump {
	int fd;
	struct jitdump *read;
};

static void begin(struct dump *d, uint64_t flags)
{
	d->fd = memfd_create("jitdump", MFD_CLOEXEC);
	d->read = jitdump_new();
	assert_true(d->fd >= 0 && d->read);
	made_jitdump_header(d->fd, flags);
}

static void end(struct dump *d)
{
	jitdump_free(d->read);
	close(d->fd);
}

static void read_all(struct dump *d)
{
	assert_int_equal(jitdump_read(d->read, d->fd, NULL), 0);
}

/* Names an address at a time, as samples are named. */
static const char *name_at(struct dump *d, uint64_t address, uint64_t time)
{
	return jitdump_find(d->read, address, jitdump_generation(d->read, address, time));
}

#define EXPECT(d, address, time, expected)                                             \
	do {                                                                           \
		const char *found_ = name_at(d, address, time), *expected_ = expected; \
		if (!expected_)                                                        \
			assert_null(found_);                                           \
		else if (!found_)                                                      \
			fail_msg("nothing instead of %s", expected_);                  \
		else                                                                   \
			assert_string_equal(found_, expected_);                        \
	} while (0)

static void functions_have_names(void **state)
{
	struct dump d;

	(void)state;
	begin(&d, 0);
	made_jitdump_load(d.fd, 100, 0x10000, 0x100, "first");
	made_jitdump_load(d.fd, 200, 0x10fc0, 0x80, "over two pages");
	made_jitdump_load(d.fd, 250, 0x30000, 0, "empty");
	made_jitdump_load(d.fd, 250, UINT64_MAX - 1, 16, "around the end");
	made_jitdump_load(d.fd, 250, 0x40000, 16, "");
	made_jitdump_other(d.fd, 2, 260, 64); /* lines of source */
	made_jitdump_other(d.fd, 4, 260, 64); /* call-frame information */
	made_jitdump_other(d.fd, 77, 260, 64);
	made_jitdump_load(d.fd, 300, 0x20000, 0x100, "last");
	read_all(&d);
	EXPECT(&d, 0xffff, 400, NULL);
	EXPECT(&d, 0x10000, 400, "first");
	EXPECT(&d, 0x100ff, 400, "first");
	EXPECT(&d, 0x10100, 400, NULL);
	EXPECT(&d, 0x10fc0, 400, "over two pages");
	EXPECT(&d, 0x1103f, 400, "over two pages");
	EXPECT(&d, 0x11040, 400, NULL);
	EXPECT(&d, 0x20080, 400, "last");
	EXPECT(&d, 0x30000, 400, NULL);
	EXPECT(&d, UINT64_MAX - 1, 400, NULL);
	EXPECT(&d, 0x40000, 400, NULL);
	/* compilers write a function's record when they have it, before or after it runs */
	EXPECT(&d, 0x20080, 1, "last");
	assert_true(jitdump_is_behind(d.read, 301));
	assert_false(jitdump_is_behind(d.read, 300));
	end(&d);
}

static void addresses_that_are_used_again_have_a_name_for_each_time(void **state)
{
	struct dump d;

	(void)state;
	begin(&d, 0);
	made_jitdump_load(d.fd, 100, 0x10000, 0x100, "a");
	made_jitdump_load(d.fd, 110, 0x10100, 0x100, "beside");
	made_jitdump_load(d.fd, 200, 0x10000, 0x40, "b");
	made_jitdump_load(d.fd, 300, 0x10020, 0x100, "c");
	made_jitdump_load(d.fd, 300, 0x10020, 0x10, "d");
	made_jitdump_load(d.fd, 400, 0x10000, 0x100, "a");
	read_all(&d);
	EXPECT(&d, 0x10000, 199, "a");
	EXPECT(&d, 0x10000, 200, "b");
	EXPECT(&d, 0x1003f, 299, "b");
	EXPECT(&d, 0x10040, 299, "a"); /* the rest of it may still be there */
	EXPECT(&d, 0x1001f, 399, "b");
	EXPECT(&d, 0x10020, 399, "d");
	EXPECT(&d, 0x10030, 399, "c");
	EXPECT(&d, 0x10110, 299, "beside");
	EXPECT(&d, 0x10110, 399, "c");
	EXPECT(&d, 0x10120, 399, "beside");
	EXPECT(&d, 0x10020, 400, "a");
	EXPECT(&d, 0x10110, UINT64_MAX, "c");
	/* a return address is behind the call: the byte before is looked up for it */
	assert_string_equal(
		jitdump_find(d.read, 0x10040 - 1, jitdump_generation(d.read, 0x10040, 250)), "b");
	assert_string_equal(
		jitdump_find(d.read, 0x10100 - 1, jitdump_generation(d.read, 0x10100, 450)), "a");
	end(&d);
}

static void moved_functions_keep_their_names(void **state)
{
	struct dump d;

	(void)state;
	begin(&d, 0);
	made_jitdump_load(d.fd, 100, 0x10000, 0x100, "a");
	made_jitdump_load(d.fd, 100, 0x20000, 0x100, "b");
	made_jitdump_move(d.fd, 200, 0x10000, 0x30000, 0x100);
	made_jitdump_move(d.fd, 300, 0x20000, 0x10000, 0x100);
	made_jitdump_move(d.fd, 300, 0x70000, 0x80000, 0x100); /* a move of nothing */
	read_all(&d);
	EXPECT(&d, 0x10000, 250, "a");
	EXPECT(&d, 0x30000, 250, "a");
	EXPECT(&d, 0x10000, 300, "b");
	EXPECT(&d, 0x80000, 300, NULL);
	end(&d);
}

static void without_times_the_latest_function_counts(void **state)
{
	struct dump d;

	(void)state;
	begin(&d, 1);
	made_jitdump_load(d.fd, 5000, 0x10000, 0x100, "a");
	made_jitdump_load(d.fd, 6000, 0x10000, 0x80, "b");
	read_all(&d);
	EXPECT(&d, 0x10000, 1, "b");
	EXPECT(&d, 0x10080, 1, "a");
	assert_true(jitdump_is_behind(d.read, 1)); /* the order is unknown */
	end(&d);
}

/* Records that arrive later name code that was located before. */
static void the_file_grows(void **state)
{
	struct dump d;
	char bytes[4096];
	uint32_t before;
	off_t size;
	int other;

	(void)state;
	begin(&d, 0);
	made_jitdump_load(d.fd, 100, 0x10000, 0x100, "a");
	made_jitdump_load(d.fd, 200, 0x10000, 0x100, "b");
	made_jitdump_load(d.fd, 300, 0x20000, 0x100, "c");
	size = lseek(d.fd, 0, SEEK_END);
	assert_int_equal(pread(d.fd, bytes, sizeof(bytes), 0), size);
	other = d.fd;
	d.fd = memfd_create("jitdump", MFD_CLOEXEC);
	read_all(&d);
	before = jitdump_generation(d.read, 0x10010, 150);
	for (off_t i = 0; i < size; i++) {
		assert_int_equal(write(d.fd, bytes + i, 1), 1);
		read_all(&d);
	}
	close(other);
	assert_string_equal(jitdump_find(d.read, 0x10010, before), "a");
	EXPECT(&d, 0x10010, 199, "a");
	EXPECT(&d, 0x10010, 200, "b");
	EXPECT(&d, 0x20010, 300, "c");
	/* a new reader gives equal generations */
	before = jitdump_generation(d.read, 0x10010, 200);
	jitdump_free(d.read);
	d.read = jitdump_new();
	read_all(&d);
	assert_string_equal(jitdump_find(d.read, 0x10010, before), "b");
	/* nothing follows the end */
	made_jitdump_other(d.fd, 3, 400, 0);
	made_jitdump_load(d.fd, 500, 0x50000, 0x100, "late");
	read_all(&d);
	EXPECT(&d, 0x50000, 600, NULL);
	assert_false(jitdump_is_behind(d.read, 700));
	end(&d);
}

/* Against a plain array of what was where when. */
static void random_code_matches_a_model(void **state)
{
	enum { BYTES = 512, LOADS = 400 };
	static int model[LOADS + 1][BYTES];
	uint32_t seed = 3;
	struct dump d;

	(void)state;
	begin(&d, 0);
	memset(model, -1, sizeof(model));
	for (int i = 1; i <= LOADS; i++) {
		uint32_t start, size;
		char name[16];

		seed = seed * 1664525 + 1013904223;
		start = (seed >> 8) % BYTES;
		size = 1 + (seed >> 18) % 90;
		memcpy(model[i], model[i - 1], sizeof(model[i]));
		for (uint32_t at = start; at < start + size && at < BYTES; at++)
			model[i][at] = i;
		snprintf(name, sizeof(name), "f%d", i);
		/* around a page's edge */
		made_jitdump_load(d.fd, (uint64_t)i * 10, 0x10000 - BYTES / 2 + start, size, name);
	}
	read_all(&d);
	for (int i = 1; i <= LOADS; i++)
		for (uint32_t at = 0; at < BYTES; at++) {
			const char *name =
				name_at(&d, 0x10000 - BYTES / 2 + at, (uint64_t)i * 10 + 5);

			if (model[i][at] < 0)
				continue; /* nothing, or the first code to come */
			assert_non_null(name);
			assert_int_equal(strtol(name + 1, NULL, 10), model[i][at]);
		}
	end(&d);
}

static void hostile_files_cost_names(void **state)
{
	static const unsigned char magics[] = "\x44\x54\x69\x4a\x02\0\0\0\x28\0\0\0";
	size_t huge = 1000000;
	char *name = malloc(huge + 1);
	struct dump d;

	(void)state;
	assert_non_null(name);
	memset(name, 'x', huge);
	name[huge] = '\0';
	begin(&d, 0);
	made_jitdump_load(d.fd, 100, 0x10000, 0x100, "\033[2J\n\xe2\x80\xae\xff");
	made_jitdump_load(d.fd, 100, 0x20000, 0x100, name);
	made_jitdump_load(d.fd, 100, 0x30000, 0x100, "after");
	read_all(&d);
	EXPECT(&d, 0x10000, 100, "?[2J???");
	assert_int_equal(strlen(name_at(&d, 0x20000, 100)), PERF_MAP_MAX_NAME);
	EXPECT(&d, 0x30000, 100, "after");
	/* a record that is shorter than it can be ends it, and what was read stays */
	made_jitdump_bytes(d.fd, "\0\0\0\0\x08\0\0\0\0\0\0\0\0\0\0\0", 16);
	made_jitdump_load(d.fd, 100, 0x40000, 0x100, "unreachable");
	assert_int_equal(jitdump_read(d.read, d.fd, NULL), -ENOEXEC);
	read_all(&d);
	EXPECT(&d, 0x30000, 100, "after");
	EXPECT(&d, 0x40000, 100, NULL);
	end(&d);
	/* a name without an end; a record without room for what it is */
	begin(&d, 0);
	made_jitdump_bytes(d.fd, "\0\0\0\0\x3a\0\0\0\0\0\0\0\0\0\0\0", 16);
	name[42] = '\0';
	memset(name, 1, 42);
	made_jitdump_bytes(d.fd, name, 42);
	assert_int_equal(jitdump_read(d.read, d.fd, NULL), -ENOEXEC);
	end(&d);
	begin(&d, 0);
	made_jitdump_other(d.fd, 0, 100, 8);
	assert_int_equal(jitdump_read(d.read, d.fd, NULL), -ENOEXEC);
	end(&d);
	begin(&d, 0);
	made_jitdump_other(d.fd, 1, 100, 8);
	assert_int_equal(jitdump_read(d.read, d.fd, NULL), -ENOEXEC);
	end(&d);
	/* other files, and other versions */
	d.fd = memfd_create("jitdump", MFD_CLOEXEC);
	d.read = jitdump_new();
	made_jitdump_bytes(d.fd, magics, 12);
	read_all(&d); /* the file may become one */
	made_jitdump_bytes(d.fd, name, 100);
	assert_int_equal(jitdump_read(d.read, d.fd, NULL), -ENOEXEC);
	end(&d);
	/* code as large as all memory has names where that is affordable */
	begin(&d, 0);
	made_jitdump_load(d.fd, 100, 0x1000, UINT64_MAX - 0x2000, "everything");
	made_jitdump_load(d.fd, 200, UINT64_MAX / 2, 0x100, "inside");
	read_all(&d);
	EXPECT(&d, 0x1000, 300, "everything");
	EXPECT(&d, UINT64_MAX / 2, 300, "inside");
	EXPECT(&d, UINT64_MAX / 2 + 0x100, 300, NULL);
	end(&d);
	free(name);
}

/* One page's code, replaced all the time: each lookup takes a bounded number of steps. */
static void limits_hold(void **state)
{
	struct quota_share share;
	struct dump d;

	(void)state;
	begin(&d, 0);
	for (int i = 0; i < 70000; i++)
		made_jitdump_load(d.fd, 100 + (uint64_t)i, 0x10000, 0x100, i % 2 ? "odd" : "even");
	read_all(&d);
	EXPECT(&d, 0x10000, 100 + 69999, "odd");
	EXPECT(&d, 0x10000, 100 + 69998, "odd"); /* beyond all generations: the latest */
	assert_true(jitdump_generation(d.read, 0x10000, UINT64_MAX) <= JITDUMP_LATEST);
	jitdump_free(d.read);

	d.read = jitdump_new();
	quota_share_open(&share, 100000);
	assert_int_equal(jitdump_read(d.read, d.fd, &share), -ENOSPC);
	assert_true(share.was_refused);
	EXPECT(&d, 0x10000, 100, "even");
	assert_true(quota_share_close(&share) <= 100000);
	end(&d);
}

/* ---- call-frame information ---- */

/* Returns the distance from the stack pointer to the CFA, or 0 if there is no row. */
static int32_t cfa_at(struct dump *d, uint64_t address, uint64_t time)
{
	struct cfi_row row;

	return jitdump_find_row(d->read, address, time, &row) == 0 ? row.cfa_offset : 0;
}

static void records_describe_the_code_that_follows(void **state)
{
	struct dump d;

	(void)state;
	begin(&d, 0);
	made_jitdump_frames(d.fd, 100, 0x101, 16);
	made_jitdump_other(d.fd, 2, 100, 64); /* lines of source */
	made_jitdump_load(d.fd, 100, 0x10003, 0x101, "a");
	made_jitdump_load(d.fd, 100, 0x20000, 0x100, "without");
	made_jitdump_frames(d.fd, 100, 0x100, 24);
	made_jitdump_load(d.fd, 100, 0x30000, 0x100, ""); /* nameless */
	read_all(&d);
	assert_int_equal(cfa_at(&d, 0x10002, 200), 0);
	assert_int_equal(cfa_at(&d, 0x10003, 200), 16);
	assert_int_equal(cfa_at(&d, 0x10103, 200), 16);
	assert_int_equal(cfa_at(&d, 0x10104, 200), 0);
	assert_int_equal(cfa_at(&d, 0x20000, 200), 0);
	assert_int_equal(cfa_at(&d, 0x300ff, 200), 24);
	EXPECT(&d, 0x30000, 200, NULL);
	assert_int_equal(jitdump_refused_frames(d.read), 0);
	end(&d);
}

/* One record, whose addresses are where it lies, for all that follow up to the next record. */
static void one_record_describes_several_functions(void **state)
{
	struct made_frames section, header;
	struct dump d;

	(void)state;
	begin(&d, 0);
	made_frames_begin(&section);
	made_frames_function(&section, 0x50000, 0x20000, 0x100, 24); /* functions in no order */
	made_frames_function(&section, 0x50000, 0x10000, 0x100, 16);
	made_frames_header(&header, 0x50000);
	made_frames_join(&header, &section);
	made_jitdump_unwinding(d.fd, 100, header.at, header.size, header.size, 12);
	made_jitdump_load(d.fd, 100, 0x10000, 0x100, "a");
	made_jitdump_load(d.fd, 100, 0x30000, 0x100, "of another kind");
	made_jitdump_load(d.fd, 100, 0x20000, 0x100, "b");
	made_jitdump_move(d.fd, 200, 0x10000, 0x40000, 0x100);
	made_jitdump_frames(d.fd, 300, 0x100, 32);
	made_jitdump_load(d.fd, 300, 0x20000, 0x100, "c");
	read_all(&d);
	assert_int_equal(cfa_at(&d, 0x10080, 150), 16);
	assert_int_equal(cfa_at(&d, 0x20080, 150), 24);
	assert_int_equal(cfa_at(&d, 0x30080, 150), 0);
	assert_int_equal(cfa_at(&d, 0x40080, 250), 0);
	assert_int_equal(cfa_at(&d, 0x20080, 350), 32);
	assert_int_equal(jitdump_refused_frames(d.read), 0);
	end(&d);
}

static void code_has_the_rows_of_its_time(void **state)
{
	struct dump d;

	(void)state;
	begin(&d, 0);
	made_jitdump_frames(d.fd, 100, 0x100, 16);
	made_jitdump_load(d.fd, 100, 0x10000, 0x100, "a");
	made_jitdump_frames(d.fd, 200, 0x80, 24);
	made_jitdump_load(d.fd, 200, 0x10000, 0x80, "b");
	made_jitdump_load(d.fd, 300, 0x10000, 0x100, "without");
	read_all(&d);
	assert_int_equal(cfa_at(&d, 0x10010, 1), 16);
	assert_int_equal(cfa_at(&d, 0x10010, 199), 16);
	assert_int_equal(cfa_at(&d, 0x10010, 200), 24);
	assert_int_equal(cfa_at(&d, 0x10080, 200), 16); /* the rest of it may still be there */
	assert_int_equal(cfa_at(&d, 0x10010, 300), 0);
	end(&d);

	begin(&d, 1);
	made_jitdump_frames(d.fd, 100, 0x100, 16);
	made_jitdump_load(d.fd, 100, 0x10000, 0x100, "a");
	made_jitdump_frames(d.fd, 200, 0x100, 24);
	made_jitdump_load(d.fd, 200, 0x10000, 0x100, "b");
	read_all(&d);
	assert_int_equal(cfa_at(&d, 0x10010, 1), 24); /* the latest, without times */
	end(&d);
}

/* All of a function, and not a part of it, nor more than there was. */
static void moved_functions_keep_their_rows(void **state)
{
	struct dump d;

	(void)state;
	begin(&d, 0);
	made_jitdump_frames(d.fd, 100, 0xfd, 16);
	made_jitdump_load(d.fd, 100, 0x10000, 0xfd, "a");
	made_jitdump_move(d.fd, 200, 0x10000, 0x30005, 0xfd);
	made_jitdump_move(d.fd, 200, 0x30005, 0x40000, 0xfd); /* again */
	made_jitdump_move(d.fd, 200, 0x10010, 0x50000, 0x20);
	made_jitdump_move(d.fd, 200, 0x10000, 0x60000, 0x200);
	read_all(&d);
	assert_int_equal(cfa_at(&d, 0x30005, 250), 16);
	assert_int_equal(cfa_at(&d, 0x30005 + 0xfc, 250), 16);
	assert_int_equal(cfa_at(&d, 0x40000, 250), 16);
	assert_int_equal(cfa_at(&d, 0x50000, 250), 0);
	assert_int_equal(cfa_at(&d, 0x60000, 250), 0);
	end(&d);
}

/* Byte by byte, and where a record goes over the end of what is read at once. */
static void rows_of_a_file_that_grows(void **state)
{
	static char bytes[400000];
	struct made_frames section;
	struct dump d;
	ssize_t size;
	int whole;

	(void)state;
	begin(&d, 0);
	made_jitdump_frames(d.fd, 100, 0x100, 16);
	made_jitdump_load(d.fd, 100, 0x10000, 0x100, "a");
	made_jitdump_other(d.fd, 2, 100, 65536 - 250);
	made_jitdump_frames(d.fd, 200, 0x100, 24);
	made_jitdump_load(d.fd, 200, 0x10000, 0x100, "b");
	/* larger than what is read at once */
	memset(bytes, 0, sizeof(bytes));
	made_frames_begin(&section);
	made_frames_function(&section, 0x100, 0, 0x100, 32);
	memcpy(bytes, section.at, section.size);
	made_jitdump_unwinding(d.fd, 300, bytes, 200000, 200000, 0);
	made_jitdump_load(d.fd, 300, 0x10000, 0x100, "c");
	read_all(&d);
	assert_int_equal(cfa_at(&d, 0x10010, 150), 16);
	assert_int_equal(cfa_at(&d, 0x10010, 250), 24);
	assert_int_equal(cfa_at(&d, 0x10010, 350), 32);
	size = pread(d.fd, bytes, sizeof(bytes), 0);
	assert_int_equal(size, lseek(d.fd, 0, SEEK_END));
	whole = d.fd;
	jitdump_free(d.read);
	d.read = jitdump_new();
	d.fd = memfd_create("jitdump", MFD_CLOEXEC);
	for (ssize_t at = 0, step; at < size; at += step) {
		step = at < 700 || size - at < 700 ? 1 : 97;
		if (step > size - at)
			step = size - at;
		made_jitdump_bytes(d.fd, bytes + at, (size_t)step);
		read_all(&d);
	}
	close(whole);
	assert_int_equal(cfa_at(&d, 0x10010, 150), 16);
	assert_int_equal(cfa_at(&d, 0x10010, 250), 24);
	assert_int_equal(cfa_at(&d, 0x10010, 350), 32);
	assert_int_equal(jitdump_refused_frames(d.read), 0);
	end(&d);
}

static void unusable_records_are_counted(void **state)
{
	struct made_frames section;
	struct dump d;

	(void)state;
	begin(&d, 0);
	made_frames_begin(&section);
	made_frames_function(&section, 0x100, 0, 0x100, 16);
	made_jitdump_other(d.fd, 4, 100, 0);  /* without room for its sizes */
	made_jitdump_other(d.fd, 4, 100, 23); /* one byte too short */
	made_jitdump_unwinding(d.fd, 100, section.at, section.size, section.size + 1, 0);
	made_jitdump_unwinding(d.fd, 100, section.at, section.size, UINT64_MAX, 0);
	made_jitdump_unwinding(d.fd, 100, section.at, section.size, section.size, UINT64_MAX);
	made_jitdump_unwinding(d.fd, 100, section.at, section.size - 1, section.size - 1, 0);
	made_jitdump_unwinding(d.fd, 100, section.at, section.size, section.size, 0);
	made_jitdump_unwinding(d.fd, 100, section.at, section.size, section.size, 0); /* twice */
	made_jitdump_load(d.fd, 100, 0x10000, 0x10, "other code"); /* shorter: elsewhere */
	made_jitdump_frames(d.fd, 100, 0x100, 24);
	made_jitdump_load(d.fd, 100, 0x20000, 0x100, "after");
	read_all(&d);
	assert_int_equal(jitdump_refused_frames(d.read), 8);
	assert_int_equal(cfa_at(&d, 0x10000, 100), 0);
	assert_int_equal(cfa_at(&d, 0x20000, 100), 24);
	EXPECT(&d, 0x10000, 100, "other code");
	end(&d);
}

/* Another architecture's registers mean nothing here. */
static void other_machines_have_no_rows(void **state)
{
	const uint32_t machine = 183;
	struct dump d;

	(void)state;
	begin(&d, 0);
	assert_int_equal(pwrite(d.fd, &machine, sizeof(machine), 12), sizeof(machine));
	made_jitdump_frames(d.fd, 100, 0x100, 16);
	made_jitdump_load(d.fd, 100, 0x10000, 0x100, "a");
	read_all(&d);
	EXPECT(&d, 0x10000, 100, "a");
	assert_int_equal(cfa_at(&d, 0x10000, 100), 0);
	end(&d);
}

/* Names do not suffer from too much of it. */
static void rows_have_a_limit_of_their_own(void **state)
{
	const uint32_t records = JIT_FRAMES_MAX_BYTES / JIT_FRAMES_MAX_RECORD + 2;
	uint8_t *bytes = calloc(1, JIT_FRAMES_MAX_RECORD + 1);
	struct made_frames section;
	struct quota_share share;
	struct dump d;

	(void)state;
	assert_non_null(bytes);
	begin(&d, 0);
	made_frames_begin(&section);
	made_frames_function(&section, 0x100, 0, 0x100, 16);
	memcpy(bytes, section.at, section.size);
	for (uint32_t i = 0; i < records; i++) {
		made_jitdump_unwinding(d.fd, 100, bytes, JIT_FRAMES_MAX_RECORD,
				       JIT_FRAMES_MAX_RECORD, 0);
		made_jitdump_load(d.fd, 100, 0x10000 + 0x1000 * (uint64_t)i, 0x100, "a");
	}
	made_jitdump_unwinding(d.fd, 100, bytes, JIT_FRAMES_MAX_RECORD + 1,
			       JIT_FRAMES_MAX_RECORD + 1, 0);
	made_jitdump_load(d.fd, 100, 0x8000, 0x100, "after a larger one");
	free(bytes);
	quota_share_open(&share, 2 * (uint64_t)JIT_FRAMES_MAX_BYTES);
	assert_int_equal(jitdump_read(d.read, d.fd, &share), 0);
	assert_true(quota_share_close(&share) <
		    JIT_FRAMES_MAX_BYTES + JIT_FRAMES_MAX_RECORD + (1u << 20));
	assert_in_range(jitdump_refused_frames(d.read), 2, 4);
	assert_int_equal(cfa_at(&d, 0x10000, 100), 16);
	assert_int_equal(cfa_at(&d, 0x10000 + 0x1000 * (uint64_t)(records - 1), 100), 0);
	EXPECT(&d, 0x10000 + 0x1000 * (uint64_t)(records - 1), 100, "a");
	EXPECT(&d, 0x8000, 100, "after a larger one");
	end(&d);
}

/* Unused records are dropped. Their memory is free for names and other files. */
static void unused_records_hold_no_memory(void **state)
{
	uint8_t *bytes = calloc(1, JIT_FRAMES_MAX_RECORD);
	struct made_frames section;
	struct quota_share share;
	struct dump d;

	(void)state;
	assert_non_null(bytes);
	begin(&d, 0);
	made_frames_begin(&section);
	made_frames_function(&section, 0x100, 0, 0x100, 16);
	memcpy(bytes, section.at, section.size);
	for (int part = 0; part < 2; part++) {
		for (int i = 0; i < 10; i++)
			made_jitdump_unwinding(d.fd, 100, bytes, JIT_FRAMES_MAX_RECORD,
					       JIT_FRAMES_MAX_RECORD, 0);
		quota_share_open(&share, 2 * JIT_FRAMES_MAX_RECORD);
		assert_int_equal(jitdump_read(d.read, d.fd, &share), 0);
		/* the last one waits for its code, and is then another read's */
		assert_in_range(quota_share_close(&share), JIT_FRAMES_MAX_RECORD,
				JIT_FRAMES_MAX_RECORD + (1u << 16));
	}
	assert_int_equal(jitdump_refused_frames(d.read), 19);
	made_jitdump_load(d.fd, 100, 0x10000, 0x100, "a");
	quota_share_open(&share, 2 * JIT_FRAMES_MAX_RECORD);
	assert_int_equal(jitdump_read(d.read, d.fd, &share), 0);
	assert_in_range(quota_share_close(&share), 1, 1u << 16);
	assert_int_equal(cfa_at(&d, 0x10000, 100), 16);
	free(bytes);
	end(&d);
}

/* A long history of one address costs time, and counts towards a stack's cost. */
static void long_searches_cost(void **state)
{
	struct cfi_row row;
	struct dump d;

	(void)state;
	begin(&d, 0);
	made_jitdump_frames(d.fd, 100, 0x100, 16);
	made_jitdump_load(d.fd, 100, 0x10000, 0x100, "a");
	for (uint64_t i = 0; i < 10000; i++)
		made_jitdump_load(d.fd, 200 + i, 0x10200, 0x100, "b");
	read_all(&d);
	assert_int_equal(jitdump_find_row(d.read, 0x10000, 100, &row), -ENOENT);
	assert_in_range(row.cost, 500, 5000);
	end(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_have_names),
		cmocka_unit_test(addresses_that_are_used_again_have_a_name_for_each_time),
		cmocka_unit_test(moved_functions_keep_their_names),
		cmocka_unit_test(without_times_the_latest_function_counts),
		cmocka_unit_test(the_file_grows),
		cmocka_unit_test(random_code_matches_a_model),
		cmocka_unit_test(hostile_files_cost_names),
		cmocka_unit_test(limits_hold),
		cmocka_unit_test(records_describe_the_code_that_follows),
		cmocka_unit_test(one_record_describes_several_functions),
		cmocka_unit_test(code_has_the_rows_of_its_time),
		cmocka_unit_test(moved_functions_keep_their_rows),
		cmocka_unit_test(rows_of_a_file_that_grows),
		cmocka_unit_test(unusable_records_are_counted),
		cmocka_unit_test(other_machines_have_no_rows),
		cmocka_unit_test(rows_have_a_limit_of_their_own),
		cmocka_unit_test(unused_records_hold_no_memory),
		cmocka_unit_test(long_searches_cost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
