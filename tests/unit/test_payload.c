/* SPDX-License-Identifier: MIT */
/* The private folder: created, used, and removed whatever its contents. */
#include <sched.h>
#include <sys/mount.h>
#include "unit.h"
#include <limits.h>
#include "cupti_trace/wire/gpu_wire.h"
#include "profiler/attach/payload.h"

struct bench {
	char parent[64]; /* TMPDIR */
};

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	*state = b;
	snprintf(b->parent, sizeof(b->parent), "/tmp/profile_unit.XXXXXX");
	if (!mkdtemp(b->parent))
		return -1;
	return setenv("TMPDIR", b->parent, 1);
}

static int end(void **state)
{
	struct bench *b = *state;
	int err = rmdir(b->parent); /* nothing is left in it */

	unsetenv("TMPDIR");
	free(b);
	return err;
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 ? st.st_mode : 0;
}

static void expect_window(const struct payload *p, const struct time_range *range,
			  const char *expected)
{
	char path[PATH_MAX], text[128] = "";

	assert_int_equal(payload_set_time_range(p, range), 0);
	snprintf(path, sizeof(path), "%s/window", p->path);
	assert_true(readlink(path, text, sizeof(text) - 1) > 0);
	assert_string_equal(text, expected);
}

static void the_range_is_the_text_of_a_link(void **state)
{
	struct time_range range = {.from_ns = 5, .to_ns = 0};
	struct payload p;

	(void)state;
	assert_int_equal(payload_create(&p), 0);
	expect_window(&p, &range, "5 0");
	range.to_ns = range.from_ns = UINT64_MAX;
	range.leave_ns = UINT64_MAX;
	expect_window(&p, &range, "18446744073709551615 18446744073709551615 18446744073709551615");
	payload_remove(&p);
	assert_int_equal(mode_of(p.path), 0);
}

static void embedded_contents(void **state)
{
	struct bench *b = *state;
	struct payload p;
	unsigned char magic[4] = {0};
	int fd;

	assert_int_equal(payload_create(&p), 0);
	assert_memory_equal(p.path, b->parent, strlen(b->parent));
	assert_int_equal(mode_of(p.path), S_IFDIR | 0700);
	assert_int_equal(mode_of(p.library), S_IFREG | 0500);
	assert_int_equal(mode_of(p.pipe_path), S_IFIFO | 0600);
	fd = open(p.library, O_RDONLY);
	assert_int_equal(read(fd, magic, 4), 4);
	assert_memory_equal(magic, "\177ELF", 4);
	close(fd);
	/* the target's output is read, and the end is seen when no writer is left */
	fd = open(p.pipe_path, O_WRONLY);
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
	assert_int_equal(read(p.pipe, magic, 4), 1);
	assert_int_equal(read(p.pipe, magic, 4), -1);
	assert_int_equal(errno, EAGAIN);
	payload_close_writer(&p);
	assert_int_equal(read(p.pipe, magic, 4), 0);
	payload_remove(&p);
	payload_remove(&p); /* again is harmless */
}

/* A process that waits for an answer has its own FIFO. */
static void answers(void **state)
{
	struct bounded_caller *calls = bounded_caller_new(BOUNDED_CALL_RUN_MS);
	struct payload p;
	char path[600], byte;
	int reader;

	(void)state;
	assert_int_equal(payload_create(&p), 0);
	assert_int_equal(payload_acknowledge(&p, calls, 42), 0); /* does not wait any more */
	snprintf(path, sizeof(path), "%s/" GPU_WIRE_ACK_FORMAT, p.path, (uint64_t)42);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(payload_acknowledge(&p, calls, 42), 0); /* nobody reads */
	reader = open(path, O_RDONLY | O_NONBLOCK);
	assert_int_equal(payload_acknowledge(&p, calls, 42), 0);
	assert_int_equal(read(reader, &byte, 1), 1);
	close(reader);
	/* something else in its place is not written to */
	unlink(path);
	assert_int_equal(symlink(p.library, path), 0);
	assert_int_equal(payload_acknowledge(&p, calls, 42), -ELOOP);
	unlink(path);
	close(open(path, O_WRONLY | O_CREAT, 0600));
	assert_int_equal(payload_acknowledge(&p, calls, 42), -EINVAL);
	payload_remove(&p);
	bounded_caller_free(calls);
}

/* A killed process loses the lock: the next run removes its folder. */
static void folders_of_ended_runs_are_removed(void **state)
{
	struct bounded_caller *calls = bounded_caller_new(BOUNDED_CALL_RUN_MS);
	struct payload living, next;
	char dead[PAYLOAD_PATH_MAX];
	int ends[2], status;
	pid_t child;

	(void)state;
	assert_int_equal(payload_create(&living), 0);
	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		struct payload p;

		if (payload_create(&p) != 0 || write(ends[1], p.path, sizeof(p.path)) < 0)
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(read(ends[0], dead, sizeof(dead)), sizeof(dead));
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(mode_of(dead), S_IFDIR | 0700);
	assert_int_equal(payload_create(&next), 0);
	/* another user's folder stays */
	if (chown(dead, 1, 1) == 0) {
		payload_remove_stale(&next, calls);
		assert_int_equal(mode_of(dead), S_IFDIR | 0700);
		assert_int_equal(chown(dead, geteuid(), getegid()), 0);
	}
	payload_remove_stale(&next, calls);
	assert_int_equal(mode_of(dead), 0);
	assert_int_equal(mode_of(living.path), S_IFDIR | 0700);
	payload_remove(&living);
	payload_remove(&next);
	bounded_caller_free(calls);
}

static void the_supervisor_removes_by_path(void **state)
{
	struct bench *b = *state;
	char path[PAYLOAD_PATH_MAX], link_path[96], other[600];
	struct payload p;

	payload_remove_path("");
	payload_remove_path("/no/such/folder");
	assert_int_equal(payload_create(&p), 0);
	snprintf(path, sizeof(path), "%s", p.path);
	/* a link is not followed */
	snprintf(link_path, sizeof(link_path), "%s/link", b->parent);
	assert_int_equal(symlink(path, link_path), 0);
	payload_remove_path(link_path);
	assert_int_equal(mode_of(p.library), S_IFREG | 0500);
	unlink(link_path);
	/* nor are files removed that are not ours */
	snprintf(other, sizeof(other), "%s/other", path);
	close(open(other, O_WRONLY | O_CREAT, 0600));
	payload_remove_path(path);
	assert_int_equal(mode_of(p.library), 0);
	assert_int_equal(mode_of(other), S_IFREG | 0600);
	unlink(other);
	payload_remove_path(path);
	assert_int_equal(mode_of(path), 0);
	payload_remove(&p);
}

static int create_where_nothing_is_executed(const struct bench *b)
{
	struct payload p;

	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, "") != 0 ||
	    mount("none", b->parent, "tmpfs", MS_NOEXEC, "") != 0)
		return 101;
	if (payload_create(&p) != 0 || strncmp(p.path, b->parent, strlen(b->parent)) == 0)
		return 1;
	if (!strstr(p.tried, b->parent) || !strstr(p.tried, "no execution"))
		return 2;
	payload_remove(&p);
	return rmdir(b->parent) == 0 || errno == EBUSY ? 0 : 3;
}

static void another_place_where_code_may_not_be_mapped(void **state)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(geteuid() == 0 ? create_where_nothing_is_executed(*state) : 101);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 101)
		SKIP("needs root, and mount namespaces");
	assert_int_equal(WEXITSTATUS(status), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(embedded_contents),
		TEST(the_range_is_the_text_of_a_link),
		TEST(answers),
		TEST(folders_of_ended_runs_are_removed),
		TEST(the_supervisor_removes_by_path),
		TEST(another_place_where_code_may_not_be_mapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
