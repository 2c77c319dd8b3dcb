/* SPDX-License-Identifier: MIT */
/* Opening what may be no regular file, and reading it; writing all of something. */
#include "unit.h"
#include <pthread.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include "symbolize/util/file_io.h"
#include "tests/unit/own_folder.h"

static char path[256];

static const char *in_folder(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static int make_files(void **state)
{
	FILE *file;

	if (make_folder(state) != 0)
		return -1;
	file = fopen(in_folder("regular"), "w");
	if (!file || fputs("some text", file) < 0 || fclose(file) != 0 ||
	    mkfifo(in_folder("fifo"), 0600) != 0 || mkdir(in_folder("inner"), 0700) != 0 ||
	    symlink("regular", in_folder("link")) != 0 || symlink("fifo", in_folder("trap")) != 0)
		return -1;
	return 0;
}

static void regular_files_are_opened(void **state)
{
	static const char *const names[] = {"regular", "link"};
	struct stat st;
	size_t size;
	char *text;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		int fd = open_regular(in_folder(names[i]), SYMLINK_FOLLOW, &st);

		assert_true(fd >= 0);
		assert_int_equal(st.st_size, 9);
		assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
		assert_int_equal(fcntl(fd, F_GETFL) & (O_ACCMODE | O_PATH), O_RDONLY);
		assert_int_equal(read_to_end(fd, 4, &text, &size), 0);
		assert_string_equal(text, "some");
		free(text);
		close(fd);
	}
	assert_int_equal(open_regular(in_folder("link"), SYMLINK_REFUSE, &st), -ELOOP);
	assert_int_equal(open_regular(in_folder("none"), SYMLINK_FOLLOW, &st), -ENOENT);
}

/* Whoever opens a FIFO lets its writer go on, and a device may start something. */
static void others_are_not_even_opened(void **state)
{
	static const char *const names[] = {"fifo", "trap", "inner", "/dev/null"};
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	char events[4096];
	struct stat st;

	(void)state;
	assert_true(watch >= 0);
	for (size_t i = 0; i < 3; i++)
		assert_true(inotify_add_watch(watch, in_folder(names[i]), IN_OPEN) > 0);
	for (size_t i = 0; i < 4; i++) {
		const char *name = names[i][0] == '/' ? names[i] : in_folder(names[i]);

		assert_int_equal(open_regular(name, SYMLINK_FOLLOW, &st), -EINVAL);
	}
	assert_int_equal(read(watch, events, sizeof(events)), -1);
	assert_int_equal(errno, EAGAIN);
	close(watch);
}

/* Who has a lease on a file would be asked to give it up, and may take 45 s. */
static void nobody_is_waited_for(void **state)
{
	int ready[2], fd;
	char answer = 0;
	struct stat st;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		signal(SIGIO, SIG_IGN);
		fd = open(in_folder("regular"), O_RDWR | O_CLOEXEC);
		answer = fcntl(fd, F_SETLEASE, F_WRLCK) == 0 ? 'y' : 'n';
		if (write(ready[1], &answer, 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &answer, 1), 1);
	if (answer == 'y')
		fd = open_regular(in_folder("regular"), SYMLINK_FOLLOW, &st);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	if (answer != 'y')
		SKIP("no leases on this file system");
	assert_int_equal(fd, -EAGAIN);
}

static void files_that_may_not_be_read(void **state)
{
	struct stat st;

	(void)state;
	if (geteuid() != 0)
		SKIP("needs root");
	assert_int_equal(chmod(in_folder("regular"), 0), 0);
	assert_int_equal(chmod(folder, 0755), 0);
	assert_int_equal(seteuid(65534), 0);
	assert_int_equal(open_regular(in_folder("regular"), SYMLINK_FOLLOW, &st), -EACCES);
	assert_int_equal(seteuid(0), 0);
}

#define MUCH (1u << 20) /* more than a pipe holds */

static void *read_all(void *fd)
{
	char *text = NULL;
	size_t size = 0;

	if (read_to_end(*(int *)fd, 2 * MUCH, &text, &size) != 0 || size != MUCH)
		return NULL;
	return text;
}

static void all_is_written(void **state)
{
	char *data = malloc(MUCH);
	pthread_t reader;
	void *got;
	int ends[2];

	(void)state;
	assert_non_null(data);
	for (size_t i = 0; i < MUCH; i++)
		data[i] = (char)(i % 251);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(pthread_create(&reader, NULL, read_all, &ends[0]), 0);
	assert_int_equal(write_exactly(ends[1], data, MUCH), 0);
	close(ends[1]);
	assert_int_equal(pthread_join(reader, &got), 0);
	assert_non_null(got);
	assert_memory_equal(got, data, MUCH);
	close(ends[0]);
	assert_int_equal(write_exactly(-1, data, 1), -EBADF);
	free(got);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(regular_files_are_opened),
		cmocka_unit_test(others_are_not_even_opened),
		cmocka_unit_test(nobody_is_waited_for),
		cmocka_unit_test(files_that_may_not_be_read),
		cmocka_unit_test(all_is_written),
	};

	return cmocka_run_group_tests(tests, make_files, remove_folder);
}
