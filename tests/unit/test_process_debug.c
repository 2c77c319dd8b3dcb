/* SPDX-License-Identifier: MIT */
/*
 * Debug files in the root folder of another process: a child in a folder of its own (chroot(2)),
 * with programs that the C compiler ($CC or cc) makes here.
 */
#include "unit.h"
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "symbolize/debug_file.h"
#include "symbolize/process_debug.h"
#include "tests/unit/own_folder.h"

static struct bounded_caller *calls;
static pid_t jailed; /* process whose root is jail/ in the test's folder; -1: none can be made */

/* Enters the jail and writes a byte to `ready`; exits before that where a right is missing. */
static void live_in_jail(int ready)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/jail", folder);
	if ((geteuid() != 0 && unshare(CLONE_NEWUSER) != 0) || chroot(path) != 0 || chdir("/") != 0)
		_exit(1);
	if (write(ready, "", 1) == 1)
		pause();
	_exit(0);
}

static int start(void **state)
{
	int ready[2];
	char byte;

	if (make_folder(state) != 0)
		return -1;
	shell("mkdir -p jail/bin jail/usr/lib/debug");
	calls = bounded_caller_new(BOUNDED_CALL_RUN_MS);
	if (!calls || pipe(ready) != 0)
		return -1;
	jailed = fork();
	if (jailed < 0)
		return -1;
	if (jailed == 0) {
		close(ready[0]);
		live_in_jail(ready[1]);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1) {
		waitpid(jailed, NULL, 0);
		jailed = -1;
	}
	close(ready[0]);
	return 0;
}

static int end(void **state)
{
	if (jailed > 0) {
		kill(jailed, SIGKILL);
		waitpid(jailed, NULL, 0);
	}
	bounded_caller_free(calls);
	return remove_folder(state);
}

#define NEEDS_JAIL()                                           \
	do {                                                   \
		if (jailed < 0)                                \
			SKIP("chroot(2) is not allowed here"); \
	} while (0)

/* Makes jail/bin/app, stripped, and `debug` for it, which has this build id ("none"). */
static void make_app(const char *build_id, const char *debug)
{
	shell("rm -rf jail/bin jail/usr/lib/debug/.build-id outside && mkdir -p jail/bin outside "
	      "$(dirname %s)",
	      debug);
	write_text("app.c", "int visible(int x) { return x + 1; }\n");
	shell("${CC:-cc} -g -shared -fPIC -Wl,--build-id=%s -o whole app.c && "
	      "objcopy --only-keep-debug whole app.debug && strip -o jail/bin/app whole && "
	      "objcopy --add-gnu-debuglink=app.debug jail/bin/app && mv app.debug %s",
	      build_id, debug);
}

static int open_app(void)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/jail/bin/app", folder);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* Returns the inode of what is found for process `pid`; 0: nothing. */
static ino_t found_for(pid_t pid)
{
	int app = open_app(), debug = process_debug_open(calls, pid, app, "/bin/app");
	struct stat st = {0};

	close(app);
	if (debug < 0)
		return 0;
	assert_int_equal(fstat(debug, &st), 0);
	close(debug);
	return st.st_ino;
}

static ino_t inode_of(const char *name)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

static void in_all_places(void **state)
{
	static const char *const places[] = {
		"jail/usr/lib/debug/.build-id/11/22334455667788.debug",
		"jail/bin/app.debug",
		"jail/bin/.debug/app.debug",
		"jail/usr/lib/debug/bin/app.debug",
	};

	(void)state;
	NEEDS_JAIL();
	for (size_t i = 0; i < 4; i++) {
		make_app("0x1122334455667788", places[i]);
		assert_int_equal(found_for(jailed), inode_of(places[i]));
		shell("rm %s", places[i]);
	}
	make_app("none", "jail/bin/app.debug");
	assert_int_equal(found_for(jailed), inode_of("jail/bin/app.debug"));
}

static void only_for_processes_with_a_root_of_their_own(void **state)
{
	(void)state;
	make_app("0x1122334455667788", "jail/bin/app.debug");
	assert_int_equal(found_for(getpid()), 0);
	assert_int_equal(found_for(0), 0);
}

static void another_file_is_refused(void **state)
{
	(void)state;
	NEEDS_JAIL();
	make_app("0x1122334455667788", "jail/bin/app.debug");
	shell("${CC:-cc} -g -shared -fPIC -Wl,--build-id=0x99 -o jail/bin/app.debug app.c");
	assert_int_equal(found_for(jailed), 0);
	make_app("none", "jail/bin/app.debug");
	shell("echo >>jail/bin/app.debug");
	assert_int_equal(found_for(jailed), 0);
}

/* Nothing outside, no FIFO, no file of /proc. */
static void links_do_not_lead_out(void **state)
{
	(void)state;
	NEEDS_JAIL();
	make_app("0x1122334455667788", "outside/app.debug");
	shell("ln -s $PWD/outside/app.debug jail/bin/app.debug");
	assert_int_equal(found_for(jailed), 0);
	shell("ln -sf ../../outside/app.debug jail/bin/app.debug");
	assert_int_equal(found_for(jailed), 0);
	shell("rm jail/bin/app.debug && mkfifo jail/bin/app.debug");
	assert_int_equal(found_for(jailed), 0);
	shell("rm jail/bin/app.debug && mkdir jail/bin/inside && "
	      "mv outside/app.debug jail/bin/inside && "
	      "ln -s /bin/inside/app.debug jail/bin/app.debug");
	assert_int_equal(found_for(jailed), inode_of("jail/bin/inside/app.debug"));
}

/* Returns what a search finds that was handed the result for the jailed process: its inode, or 0.
 */
static ino_t loaded(void)
{
	int app = open_app(), debug = process_debug_open(calls, jailed, app, "/bin/app"), fd;
	struct debug_file_search search = {.root = "/nonexistent", .has_handed = true};
	struct elf_file program;
	struct stat st = {0};

	assert_true(debug >= 0);
	search.handed = debug;
	assert_int_equal(elf_file_open(&program, app), 0);
	fd = debug_file_open(&program, &search);
	if (fd >= 0) {
		assert_int_equal(fstat(fd, &st), 0);
		close(fd);
	}
	elf_file_close(&program);
	close(debug);
	close(app);
	return st.st_ino;
}

static void checksums_of_large_files_are_compared_later(void **state)
{
	(void)state;
	NEEDS_JAIL();
	make_app("none", "jail/bin/app.debug");
	assert_int_equal(loaded(), inode_of("jail/bin/app.debug"));
	shell("truncate -s %lld jail/bin/app.debug", (long long)DEBUG_FILE_MAX_EARLY + 1);
	assert_int_equal(loaded(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_all_places),
		cmocka_unit_test(only_for_processes_with_a_root_of_their_own),
		cmocka_unit_test(another_file_is_refused),
		cmocka_unit_test(links_do_not_lead_out),
		cmocka_unit_test(checksums_of_large_files_are_compared_later),
	};

	return cmocka_run_group_tests(tests, start, end);
}
