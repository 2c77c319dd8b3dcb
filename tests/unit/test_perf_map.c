/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "symbolize/perf_map.h"

static struct perf_map *read_text(const char *text, size_t size)
{
	struct perf_map *map = NULL;
	int fd = memfd_create("perf_map", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(perf_map_read(fd, NULL, &map), 0);
	close(fd);
	return map;
}

static void test_names(void **state)
{
	static const char text[] = "1000 100 first\n"
				   "0x2000 0x80 LazyCompile:~hello world /app.js:1\n"
				   "3000 0 empty\n"
				   "A000 10 upper\r\n"
				   "rubbish\n\n1 \n1 2\n1 2 \nxyz 10 no\n"
				   "ffffffffffffff00 ffff wraps\n"
				   "5000 10 last without newline";
	struct perf_map *map = read_text(text, sizeof(text) - 1);

	(void)state;
	assert_string_equal(perf_map_find(map, 0x1000), "first");
	assert_string_equal(perf_map_find(map, 0x10ff), "first");
	assert_null(perf_map_find(map, 0x1100));
	assert_null(perf_map_find(map, 0xfff));
	assert_string_equal(perf_map_find(map, 0x2010), "LazyCompile:~hello world /app.js:1");
	assert_null(perf_map_find(map, 0x3000));
	assert_string_equal(perf_map_find(map, 0xa00f), "upper");
	assert_string_equal(perf_map_find(map, UINT64_MAX - 1), "wraps");
	assert_string_equal(perf_map_find(map, 0x5005), "last without newline");
	assert_null(perf_map_find(map, 1));
	perf_map_free(map);
	perf_map_free(NULL);
}

static void test_later_lines_replace_earlier_ones(void **state)
{
	static const char text[] = "1000 1000 old\n1400 100 inner\n1800 1000 late\n1800 10 same\n";
	struct perf_map *map = read_text(text, sizeof(text) - 1);

	(void)state;
	assert_string_equal(perf_map_find(map, 0x13ff), "old");
	assert_string_equal(perf_map_find(map, 0x1400), "inner");
	assert_string_equal(perf_map_find(map, 0x1500), "old");
	assert_string_equal(perf_map_find(map, 0x1805), "same");
	assert_string_equal(perf_map_find(map, 0x1810), "late");
	assert_string_equal(perf_map_find(map, 0x27ff), "late");
	assert_null(perf_map_find(map, 0x2800));
	perf_map_free(map);
}

/* Against a plain array, with lines that overlap in every way. */
static void test_random_lines_match_a_model(void **state)
{
	enum { BYTES = 256, LINES = 600 };
	char *text = malloc(LINES * 40), *end = text;
	int model[BYTES];
	struct perf_map *map;
	uint32_t seed = 7;

	(void)state;
	memset(model, -1, sizeof(model));
	for (int i = 0; i < LINES; i++) {
		uint32_t start, size;

		seed = seed * 1664525 + 1013904223;
		start = (seed >> 8) % BYTES;
		size = (seed >> 18) % 40;
		end += snprintf(end, 40, "%x %x f%d\n", start, size, i);
		for (uint32_t at = start; at < start + size && at < BYTES; at++)
			model[at] = i;
	}
	map = read_text(text, (size_t)(end - text));
	for (uint32_t at = 0; at < BYTES; at++) {
		const char *name = perf_map_find(map, at);

		if (model[at] < 0) {
			assert_null(name);
			continue;
		}
		assert_non_null(name);
		assert_int_equal(strtol(name + 1, NULL, 10), model[at]);
	}
	perf_map_free(map);
	free(text);
}

static void test_hostile_names(void **state)
{
	static const char control[] = "1000 10 a\033[2Jb\tc\177d\n2000 10 nul\0hidden\n"
				      "3000 10 \x9b"
				      "2J\xc2\x9b"
				      "2J\xc3\xbc\n";
	struct perf_map *map = read_text(control, sizeof(control) - 1);
	size_t huge = 1000000;
	char *text, *end;

	(void)state;
	assert_string_equal(perf_map_find(map, 0x1000), "a?[2Jb?c?d");
	assert_string_equal(perf_map_find(map, 0x2000), "nul");
	assert_string_equal(perf_map_find(map, 0x3000), "?2J?2J\xc3\xbc");
	perf_map_free(map);

	text = malloc(huge + 100);
	end = stpcpy(text, "1000 10 ");
	memset(end, 'x', huge);
	end = stpcpy(end + huge, "\n2000 10 after\n");
	map = read_text(text, (size_t)(end - text));
	assert_int_equal(strlen(perf_map_find(map, 0x1000)), PERF_MAP_MAX_NAME);
	assert_string_equal(perf_map_find(map, 0x2000), "after");
	perf_map_free(map);
	free(text);

	map = read_text("", 0);
	assert_null(perf_map_find(map, 0));
	perf_map_free(map);
}

/* Loads the map of a process, live or ended. */
static int load(pid_t pid, struct perf_map **map)
{
	struct perf_map_place place;
	int err;

	perf_map_locate(pid, &place);
	err = perf_map_load(&place, NULL, map);
	if (place.folder >= 0)
		close(place.folder);
	return err;
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* Checks loading for a profiler that runs as an ordinary user. */
static void check_as_user(pid_t gone, const char *path)
{
	struct perf_map *map = NULL;

	assert_int_equal(seteuid(12345), 0);
	assert_int_equal(load(gone, &map), 0); /* root's */
	perf_map_free(map);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(chown(path, 12345, 12345), 0);
	assert_int_equal(seteuid(12345), 0);
	assert_int_equal(load(gone, &map), 0); /* ours */
	perf_map_free(map);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(chown(path, 54321, 54321), 0);
	assert_int_equal(seteuid(12345), 0);
	assert_int_equal(load(gone, &map), -EPERM);
	assert_int_equal(seteuid(0), 0);
}

static void test_load(void **state)
{
	struct perf_map *map = NULL;
	char path[64], other[64];

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	snprintf(other, sizeof(other), "/tmp/perf-%d.map.target", (int)getpid());
	unlink(path);
	assert_int_equal(load(getpid(), &map), -ENOENT);

	write_file(path, "1000 10 mine\n");
	assert_int_equal(load(getpid(), &map), 0);
	assert_string_equal(perf_map_find(map, 0x1008), "mine");
	perf_map_free(map);

	/* Somebody else's file, while the process lives. */
	if (geteuid() == 0) {
		int changed[2]; /* closed by the child when it is another user */
		pid_t child;
		char end;

		assert_int_equal(pipe(changed), 0);
		child = fork();
		if (child == 0) {
			if (setuid(12345) == 0) {
				close(changed[0]);
				close(changed[1]);
				pause();
			}
			_exit(1);
		}
		close(changed[1]);
		assert_int_equal(read(changed[0], &end, 1), 0);
		close(changed[0]);
		snprintf(other, sizeof(other), "/tmp/perf-%d.map", (int)child);
		write_file(other, "1000 10 his\n");
		assert_int_equal(chown(other, 54321, 54321), 0);
		assert_int_equal(load(child, &map), -EPERM);
		assert_int_equal(chown(other, 12345, 12345), 0);
		assert_int_equal(load(child, &map), 0);
		perf_map_free(map);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		/* After its process's end, a map must belong to the user, or to root, who runs
		 * the test. */
		assert_int_equal(load(child, &map), -EPERM);
		assert_int_equal(chown(other, 0, 0), 0);
		assert_int_equal(load(child, &map), 0);
		perf_map_free(map);
		check_as_user(child, other);
		unlink(other);
		snprintf(other, sizeof(other), "/tmp/perf-%d.map.target", (int)getpid());
	}

	/* A symbolic link could lead anywhere; a FIFO could hang us. */
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(load(getpid(), &map), -ELOOP);
	unlink(path);
	unlink(other);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(load(getpid(), &map), -EINVAL);
	unlink(path);
}

static void test_a_file_that_is_too_large(void **state)
{
	struct perf_map *map = NULL;
	char path[64];
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(ftruncate(fileno(file), (off_t)PERF_MAP_MAX_BYTES * 1000), 0);
	fclose(file);
	assert_int_equal(load(getpid(), &map), -EFBIG);
	unlink(path);
}

/* Symbols past the quota's share are dropped and counted. */
static void test_table_quota(void **state)
{
	enum { LINES = 10000 };
	char *text = malloc(LINES * 32), *end = text;
	struct quota_share share;
	struct perf_map *map = NULL;
	int fd = memfd_create("perf_map", MFD_CLOEXEC);
	unsigned int found = 0;
	uint64_t all, size;

	(void)state;
	for (unsigned int i = 0; i < LINES; i++)
		end += snprintf(end, 32, "%x 8 f%u\n", 0x1000 + i * 8, i);
	size = (uint64_t)(end - text);
	assert_int_equal(write(fd, text, size), size);
	free(text);

	quota_share_open(&share, UINT64_C(1) << 30);
	assert_int_equal(perf_map_read(fd, &share, &map), 0);
	assert_string_equal(perf_map_find(map, 0x1000 + (LINES - 1) * 8), "f9999");
	perf_map_free(map);
	all = share.total;
	assert_false(share.was_refused);
	/* Memory used for building is returned. */
	assert_true(quota_share_close(&share) < all);

	quota_share_open(&share, size + (all - size) / 3);
	assert_int_equal(perf_map_read(fd, &share, &map), 0);
	for (unsigned int i = 0; i < LINES; i++)
		found += perf_map_find(map, 0x1000 + i * 8) != NULL;
	assert_in_range(found, LINES / 8, LINES / 3);
	assert_string_equal(perf_map_find(map, 0x1000), "f0");
	perf_map_free(map);
	assert_true(share.was_refused);

	quota_share_open(&share, size - 1);
	assert_int_equal(perf_map_read(fd, &share, &map), -EFBIG);
	assert_true(share.was_refused);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_later_lines_replace_earlier_ones),
		cmocka_unit_test(test_random_lines_match_a_model),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_load),
		cmocka_unit_test(test_a_file_that_is_too_large),
		cmocka_unit_test(test_table_quota),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
