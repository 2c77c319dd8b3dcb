/* SPDX-License-Identifier: MIT */
/* Time that is stolen from a virtual machine, by a /proc/stat that is made here. */
#include <cpuid.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "unit.h"
#include "own_folder.h"
#include "cupti_trace/core/stolen_time.h"

#define BEGIN UINT64_C(1000000000000)
#define EVERY STOLEN_TIME_EVERY_NS
#define LASTS STOLEN_TIME_LASTS_NS

static const char *text = ""; /* content of /proc/stat; NULL: no such file */
static const char *fifo;      /* in place of the text */
static unsigned reads;

/* libc's for the library, too */
int open(const char *path, int flags, ...);
int open(const char *path, int flags, ...)
{
	int fd;

	if (strcmp(path, "/proc/stat") != 0)
		return (int)syscall(SYS_openat, -100, path, flags, 0);
	reads++;
	if (fifo)
		return (int)syscall(SYS_openat, -100, fifo, flags, 0);
	if (!text) {
		errno = ENOENT;
		return -1;
	}
	fd = memfd_create("stat", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static bool has_hypervisor(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && c >> 31;
}

static void put_fifo(void)
{
	static char path[sizeof(folder) + 8];

	snprintf(path, sizeof(path), "%s/stat", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	fifo = path;
}

/* One scene: the module remembers what it has seen. */
static void what_is_stolen_counts_for_a_while(void **state)
{
	uint64_t now = BEGIN;

	(void)state;
	text = "cpu  1 2 3 4 5 6 7 0 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
	assert_false(stolen_time_seen(now));
	if (!has_hypervisor()) {
		assert_int_equal(reads, 0);
		print_message("not under a hypervisor: nothing more to see\n");
		return;
	}
	assert_int_equal(reads, 1);
	text = "cpu  1 2 3 4 5 6 7 8 9 10\n";
	assert_false(stolen_time_seen(now + EVERY - 1));
	assert_int_equal(reads, 1);
	now += EVERY;
	assert_true(stolen_time_seen(now));
	assert_true(stolen_time_seen(now + LASTS - 1)); /* read again, with an equal value */
	assert_int_equal(reads, 3);
	assert_false(stolen_time_seen(now + LASTS));
	text = "cpu  1 2 3 4 5 6 7 9 9 10\n";
	now += LASTS + EVERY;
	assert_true(stolen_time_seen(now));
	assert_false(stolen_time_seen(now + LASTS));
	/* an unreadable file may hide stolen time */
	now += LASTS + EVERY;
	text = NULL;
	assert_true(stolen_time_seen(now));
	text = "cpu  1 2 3 4 5 6 7\n"; /* Linux before 2.6.11 */
	assert_true(stolen_time_seen(now + LASTS));
	text = "";
	assert_true(stolen_time_seen(now + 2 * LASTS));
	/* a program's own root folder may have a file whose opening would block */
	put_fifo();
	assert_true(stolen_time_seen(now + 3 * LASTS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_stolen_counts_for_a_while),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
