/* SPDX-License-Identifier: MIT */
/* The user, the capabilities and the locks, in children. Becoming somebody needs root. */
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include "unit.h"
#include "profiler/run/privilege.h"

#define USER 12345
#define GROUP 23456
#define TWO_CAPABILITIES "000000c000000000" /* CAP_PERFMON 38, CAP_BPF 39 */
#define NO_CAPABILITIES "0000000000000000"

static const struct identity user = {.other = true, .uid = USER, .gid = GROUP};
static const struct identity ourselves;

/* Returns the rest of a line of /proc/self/status after its name, with single blanks. */
static const char *status_line(const char *name)
{
	static char line[512];
	FILE *f = fopen("/proc/self/status", "r");
	size_t length = strlen(name), used = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, name, length) != 0 || line[length] != ':')
			continue;
		for (const char *c = line + length + 1; *c; c++)
			if (*c != '\t' && *c != '\n')
				line[used++] = *c;
			else if (used && *c == '\t')
				line[used++] = ' ';
		break;
	}
	if (f)
		fclose(f);
	line[used] = '\0';
	return line;
}

/* Ends the child with a message if the condition is false. */
static void need(bool so, const char *what, int line)
{
	if (so)
		return;
	fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, line, what);
	_exit(1);
}
#define NEED(condition) need(condition, #condition, __LINE__)
#define NEED_STATUS(name, expected) NEED(strcmp(status_line(name), expected) == 0)

static int in_child(void (*act)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		act();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void need_capabilities(const char *kept)
{
	NEED_STATUS("CapPrm", kept);
	NEED_STATUS("CapEff", kept);
	NEED_STATUS("CapInh", NO_CAPABILITIES);
	NEED_STATUS("CapAmb", NO_CAPABILITIES);
}

static void be_the_user(void)
{
	NEED(privilege_become_user(&user, false) == 0);
	NEED_STATUS("Uid", "12345 12345 12345 12345");
	NEED_STATUS("Gid", "23456 23456 23456 23456");
	NEED_STATUS("Groups", "23456 ");
	need_capabilities(TWO_CAPABILITIES);
	NEED(prctl(PR_GET_KEEPCAPS, 0, 0, 0, 0) == 0);
	NEED(setuid(0) != 0 && setgid(0) != 0 && seteuid(0) != 0);
	NEED_STATUS("NoNewPrivs", "0");
	privilege_lock();
	NEED_STATUS("NoNewPrivs", "1");
	NEED(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
	need_capabilities(TWO_CAPABILITIES);
	NEED(privilege_drop_all() == 0);
	need_capabilities(NO_CAPABILITIES);
	NEED(privilege_become_user(&user, false) != 0); /* root is out of reach */
	need_capabilities(NO_CAPABILITIES);
}

/* Becomes like a target before its exec: its open descriptors are hidden from the user's other
 * processes. */
static void be_the_target(void)
{
	NEED(privilege_become_user(&user, false) == 0);
	NEED(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1);
	NEED(privilege_drop_all() == 0);
	NEED(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
	/* without capabilities there is nothing to hide, and perf events need it open */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	NEED(privilege_drop_all() == 0);
	NEED(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1);
}

static bool may_become_others(void)
{
	return geteuid() == 0 && strcmp(status_line("CapPrm"), "0000004000000000") > 0 &&
	       strcmp(status_line("CapBnd"), TWO_CAPABILITIES) > 0;
}

static void the_user_has_two_capabilities_then_none(void **state)
{
	(void)state;
	if (!may_become_others())
		SKIP("needs root");
	assert_int_equal(in_child(be_the_user), 0);
	assert_int_equal(in_child(be_the_target), 0);
}

/* Reads files in /proc that a process closed to others can still open. Libraries rely on them. */
static void read_our_own_proc(void)
{
	static const char *const files[] = {"/proc/self/maps", "/proc/self/status",
					    "/proc/self/exe", "/proc/self/mountinfo"};
	int file = memfd_create("x", MFD_CLOEXEC), again;
	char path[64];

	NEED(privilege_become_user(&user, false) == 0);
	privilege_lock();
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		again = open(files[i], O_RDONLY);
		NEED(again >= 0);
		close(again);
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	NEED(access(path, F_OK) == 0);
	file = open("/usr", O_PATH | O_DIRECTORY);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	again = open(path, O_RDONLY | O_DIRECTORY);
	NEED(again >= 0);
}

static void our_own_proc_stays_readable(void **state)
{
	(void)state;
	if (!may_become_others())
		SKIP("needs root");
	assert_int_equal(in_child(read_our_own_proc), 0);
}

/* Reads /proc/kallsyms later: addresses depend on the opener, not on the reader. */
static void read_kallsyms_later(void)
{
	int early = privilege_open_kallsyms(), late;
	char first[2][17] = {"", ""};

	NEED(early >= 0);
	NEED(read(early, first[0], 16) == 16);
	NEED(lseek(early, 0, SEEK_SET) == 0);
	if (strspn(first[0], "0") == 16)
		_exit(77);
	NEED(privilege_become_user(&user, false) == 0);
	NEED(privilege_drop_all() == 0);
	NEED(read(early, first[1], 16) == 16);
	NEED(strcmp(first[0], first[1]) == 0);
	late = privilege_open_kallsyms();
	NEED(late >= 0);
	NEED(read(late, first[1], 16) == 16);
	/* with kptr_restrict and perf_event_paranoid at 0 and 1, addresses may be shown to
	 * anybody */
	NEED(strspn(first[1], "0") == 16 || strcmp(first[0], first[1]) == 0);
}

static void kallsyms_is_read_with_the_rights_of_its_opening(void **state)
{
	int result;

	(void)state;
	if (!may_become_others())
		SKIP("needs root");
	result = in_child(read_kallsyms_later);
	if (result == 77)
		SKIP("kernel addresses are hidden from root, too");
	assert_int_equal(result, 0);
}

/* Becomes a user with more capabilities than the two, as by setcap. */
static void have_file_capabilities(void)
{
	NEED(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0);
	NEED(setresgid(GROUP, GROUP, GROUP) == 0 && setresuid(USER, USER, USER) == 0);
	NEED(strlen(status_line("CapPrm")) == 16 &&
	     strcmp(status_line("CapPrm"), TWO_CAPABILITIES) > 0);
	NEED(privilege_become_user(&ourselves, false) == 0);
	NEED_STATUS("Uid", "12345 12345 12345 12345");
	need_capabilities(TWO_CAPABILITIES);
	NEED(privilege_drop_all() == 0);
	need_capabilities(NO_CAPABILITIES);
}

static void capabilities_of_the_file_are_cut_to_two(void **state)
{
	(void)state;
	if (!may_become_others())
		SKIP("needs root");
	assert_int_equal(in_child(have_file_capabilities), 0);
}

static void have_no_privilege(void)
{
	if (geteuid() == 0)
		NEED(setresgid(GROUP, GROUP, GROUP) == 0 && setresuid(USER, USER, USER) == 0);
	NEED(privilege_become_user(&ourselves, false) == 0);
	need_capabilities(NO_CAPABILITIES);
	NEED(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1); /* perf events of our child need it */
	privilege_lock();
	NEED(privilege_drop_all() == 0);
	need_capabilities(NO_CAPABILITIES);
	NEED(privilege_become_user(&user, false) == -EPERM);
}

static void without_privileges_the_path_is_the_same(void **state)
{
	(void)state;
	assert_int_equal(in_child(have_no_privilege), 0);
}

static void be_root(void)
{
	char before[32];

	snprintf(before, sizeof(before), "%s", status_line("CapEff"));
	NEED(privilege_become_user(&ourselves, false) == 0);
	NEED(privilege_drop_all() == 0);
	NEED_STATUS("Uid", "0 0 0 0");
	NEED_STATUS("CapEff", before);
}

static void root_that_nobody_called_stays_root(void **state)
{
	(void)state;
	if (geteuid() != 0)
		SKIP("needs root");
	assert_int_equal(in_child(be_root), 0);
}

static bool has_resource_capability(void)
{
	return strtoull(status_line("CapEff"), NULL, 16) & UINT64_C(1) << CAP_SYS_RESOURCE;
}

static void have_low_limits(void)
{
	const struct rlimit files = {100, 300}, memory = {64 << 10, 128 << 10};
	struct rlimit now;

	NEED(setrlimit(RLIMIT_NOFILE, &files) == 0 && setrlimit(RLIMIT_MEMLOCK, &memory) == 0);
	privilege_raise_limits();
	NEED(getrlimit(RLIMIT_NOFILE, &now) == 0);
	NEED(now.rlim_cur == 300 && now.rlim_max == 300);
	NEED(getrlimit(RLIMIT_MEMLOCK, &now) == 0);
	NEED(now.rlim_cur == (has_resource_capability() ? RLIM_INFINITY : 128 << 10));
}

static void have_low_limits_as_user(void)
{
	if (geteuid() == 0)
		NEED(setresuid(USER, USER, USER) == 0);
	have_low_limits();
}

static void limits_rise_as_far_as_they_may(void **state)
{
	(void)state;
	if (getenv("UNDER_VALGRIND"))
		SKIP("valgrind keeps descriptors for itself and forbids to change the limit");
	assert_int_equal(in_child(have_low_limits), 0);
	assert_int_equal(in_child(have_low_limits_as_user), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_user_has_two_capabilities_then_none),
		cmocka_unit_test(our_own_proc_stays_readable),
		cmocka_unit_test(kallsyms_is_read_with_the_rights_of_its_opening),
		cmocka_unit_test(capabilities_of_the_file_are_cut_to_two),
		cmocka_unit_test(without_privileges_the_path_is_the_same),
		cmocka_unit_test(root_that_nobody_called_stays_root),
		cmocka_unit_test(limits_rise_as_far_as_they_may),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
