/* SPDX-License-Identifier: MIT */
/* Generated code of real processes that have ended when names are looked up. */
#include <sched.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include "unit.h"
#include "symbolize/jit_code.h"
#include "symbolize/symbolizer.h"
#include "symbolize/symbolizer_cfi.h"
#include "tests/unit/made_jitdump.h"
#include "tests/unit/own_folder.h"

#define CODE 0x7e0000000000

/* A process that the test starts, and what the profiler knows of it. */
struct program {
	pid_t pid;
	struct address_space *space;
};

static void end(struct program *p)
{
	assert_int_equal(kill(p->pid, SIGKILL), 0);
	assert_int_equal(waitpid(p->pid, NULL, 0), p->pid);
}

/*
 * Starts a child that prepares itself (false: it cannot, and the test is skipped), and lives until
 * it is ended.
 */
static void start(struct program *p, uint32_t id, bool (*prepare)(void))
{
	char answer = 0;
	int ready[2];

	assert_int_equal(pipe(ready), 0);
	p->pid = fork();
	if (p->pid == 0) {
		answer = prepare() ? 'y' : 'n';
		if (write(ready[1], &answer, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &answer, 1), 1);
	close(ready[0]);
	close(ready[1]);
	if (answer != 'y') {
		end(p);
		SKIP("the child cannot be prepared here");
	}
	p->space = address_space_new(id, p->pid, true);
	assert_non_null(p->space);
}

static void map_code(struct symbolizer *s, struct program *p)
{
	const struct code_mapping mapping = {
		.start = CODE, .end = CODE + 0x10000, .path = "//anon"};

	assert_int_equal(symbolizer_map(s, p->space, &mapping), 0);
}

static void write_map(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		_exit(1);
	close(fd);
}

static bool has_own_tmp(void)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", "/tmp", "tmpfs", 0, NULL) == 0;
}

static bool writes_in_its_own_tmp(void)
{
	char path[64];

	if (!has_own_tmp())
		return false;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	write_map(path, "7e0000000000 100 in its own folder\n");
	return true;
}

/* Its file is written as it ends, as Java does. */
static void a_map_is_found_when_its_process_has_ended(void **state)
{
	struct symbolizer *s = symbolizer_new();
	struct code_ref ref, other;
	struct program p, q;

	(void)state;
	start(&p, 1, writes_in_its_own_tmp);
	start(&q, 2, has_own_tmp);
	map_code(s, &p);
	map_code(s, &q);
	ref = symbolizer_locate(s, p.space, CODE + 0x10);
	other = symbolizer_locate(s, q.space, CODE + 0x10);
	end(&p);
	end(&q);
	address_space_free(p.space);
	address_space_free(q.space);
	assert_string_equal(symbolizer_name(s, ref, false), "in its own folder");
	assert_string_equal(symbolizer_name(s, other, false), "[jit]");
	symbolizer_free(s);
}

/* The first process of a pid namespace: here it has another pid. */
static int is_first(void *argument)
{
	const int *ready = argument;

	if (!has_own_tmp() || getpid() != 1)
		return 1;
	write_map("/tmp/perf-1.map", "7e0000000000 100 in a container\n");
	if (write(*ready, "y", 1) != 1)
		return 1;
	for (;;)
		pause();
}

static void a_map_has_the_pid_inside_a_container(void **state)
{
	static char stack[1 << 16] __attribute__((aligned(16)));
	struct symbolizer *s = symbolizer_new();
	struct program p = {0};
	struct code_ref ref;
	char answer = 'n';
	int ready[2];

	(void)state;
	assert_int_equal(pipe(ready), 0);
	p.pid = clone(is_first, stack + sizeof(stack), CLONE_NEWPID | SIGCHLD, &ready[1]);
	close(ready[1]);
	if (p.pid < 0 || read(ready[0], &answer, 1) != 1) {
		close(ready[0]);
		symbolizer_free(s);
		SKIP("no new process ID namespace here");
	}
	close(ready[0]);
	p.space = address_space_new(3, p.pid, true);
	map_code(s, &p);
	ref = symbolizer_locate(s, p.space, CODE + 0x10);
	end(&p);
	address_space_free(p.space);
	assert_string_equal(symbolizer_name(s, ref, false), "in a container");
	symbolizer_free(s);
}

/* ---- jitdumps ---- */

static bool does_nothing(void)
{
	return true;
}

static void dump_path(char path[256], const char *name)
{
	snprintf(path, 256, "%s/%s", folder, name);
}

/* The process maps its file as the specification wants it. */
static void map_dump(struct symbolizer *s, struct program *p, const char *path, int fd)
{
	struct code_mapping mapping = {.start = 0x10000, .end = 0x11000, .path = path};
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	mapping.dev_major = major(st.st_dev);
	mapping.dev_minor = minor(st.st_dev);
	mapping.inode = st.st_ino;
	assert_int_equal(symbolizer_map(s, p->space, &mapping), 0);
}

static struct code_ref locate_at(struct symbolizer *s, struct program *p, uint64_t address,
				 uint64_t time)
{
	symbolizer_set_time(s, time);
	return symbolizer_locate(s, p->space, address);
}

static void replaced_code_has_the_name_of_its_time(void **state)
{
	struct symbolizer *s = symbolizer_new();
	struct code_ref refs[6], word;
	struct program p;
	char path[256];
	int fd;

	(void)state;
	dump_path(path, "jit-4711.dump");
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	made_jitdump_header(fd, 0);
	made_jitdump_load(fd, 1000, CODE, 0x100, "before");
	made_jitdump_load(fd, 2000, CODE, 0x80, "after");
	start(&p, 4, does_nothing);
	map_dump(s, &p, path, fd);
	map_code(s, &p);
	assert_int_equal(unlink(path), 0);
	refs[0] = locate_at(s, &p, CODE + 0x10, 1500);
	refs[1] = locate_at(s, &p, CODE + 0x10, 2500);
	refs[2] = locate_at(s, &p, CODE + 0x10, 2600);
	refs[3] = locate_at(s, &p, CODE + 0x80, 2600); /* where "after" ends */
	refs[4] = locate_at(s, &p, CODE + 0x2000, 2600);
	refs[5] = locate_at(s, &p, CODE + 0x4000, 2600);
	assert_memory_equal(&refs[1], &refs[2], sizeof(refs[1])); /* one place of a stack */
	/* words of a stack that may be addresses are many: what was there when does not count */
	assert_true(symbolizer_find_code(s, p.space, CODE + 0x10, &word));
	assert_int_equal(word.module, MODULE_JIT);
	assert_int_equal(word.offset, CODE + 0x10);
	assert_int_not_equal(refs[2].offset, CODE + 0x10);
	made_jitdump_load(fd, 2700, CODE + 0x2000, 0x100, "written late");
	close(fd);
	end(&p);
	address_space_free(p.space);
	for (int i = 0; i < 6; i++)
		symbolizer_want_name(s, refs[i], i == 3);
	symbolizer_name_wanted(s, false);
	assert_string_equal(symbolizer_name(s, refs[0], false), "before");
	assert_string_equal(symbolizer_name(s, refs[1], false), "after");
	assert_string_equal(symbolizer_name(s, refs[3], true), "after");
	assert_string_equal(symbolizer_name(s, refs[3], false), "before");
	assert_string_equal(symbolizer_name(s, refs[4], false), "written late");
	assert_string_equal(symbolizer_name(s, refs[5], false), "[jit]");
	symbolizer_free(s);
}

static void only_the_users_own_files_are_read(void **state)
{
	struct symbolizer *s = symbolizer_new();
	struct code_ref ref;
	struct program p;
	char path[256];
	int fd;

	(void)state;
	if (geteuid() != 0)
		SKIP("needs root");
	dump_path(path, "jit-4712.dump");
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	made_jitdump_header(fd, 0);
	made_jitdump_load(fd, 1000, CODE, 0x100, "somebody else's");
	assert_int_equal(fchown(fd, 12345, 12345), 0);
	start(&p, 5, does_nothing);
	map_dump(s, &p, path, fd);
	map_code(s, &p);
	ref = locate_at(s, &p, CODE + 0x10, 1500);
	assert_string_equal(symbolizer_name(s, ref, false), "[jit]");
	close(fd);
	end(&p);
	address_space_free(p.space);
	symbolizer_free(s);
}

static void dumps_are_known_by_their_names(void **state)
{
	static const char *const no[] = {"",
					 "/jit-.dump",
					 "/tmp/jit-1.dumps",
					 "/tmp/jit-x.dump",
					 "/tmp/jit-1.so",
					 "/tmp/xjit-1.dump",
					 "/jit-1.dump/x"};

	(void)state;
	assert_true(jit_code_is_dump("/home/me/.debug/jit/x/jit-123.dump"));
	assert_true(jit_code_is_dump("jit-1.dump"));
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		assert_false(jit_code_is_dump(no[i]));
}

/* Thousands of processes: their folders are one, and few descriptors are kept. */
static void many_processes_share_a_folder(void **state)
{
	struct symbolizer *s = symbolizer_new();
	int before = dup(STDIN_FILENO), after;

	(void)state;
	for (uint32_t i = 0; i < 2000; i++) {
		struct program p = {.pid = getpid(),
				    .space = address_space_new(100 + i, getpid(), true)};

		map_code(s, &p);
		symbolizer_locate(s, p.space, CODE + 0x10);
		address_space_free(p.space);
	}
	after = dup(STDIN_FILENO);
	assert_in_range(after, before, before + 4);
	close(before);
	close(after);
	symbolizer_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_map_is_found_when_its_process_has_ended),
		cmocka_unit_test(a_map_has_the_pid_inside_a_container),
		cmocka_unit_test(replaced_code_has_the_name_of_its_time),
		cmocka_unit_test(only_the_users_own_files_are_read),
		cmocka_unit_test(dumps_are_known_by_their_names),
		cmocka_unit_test(many_processes_share_a_folder),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
