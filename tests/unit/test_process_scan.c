// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "profiler/attach/process_scan.h"

#define TAIL " 5 6 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 987654321012 9 10"

static void lines_of_stat(void **state)
{
	struct scanned_process p;

	(void)state;
	assert_true(scanned_process_parse("12 (a b) S 7" TAIL, &p));
	assert_int_equal(p.pid, 12);
	assert_int_equal(p.parent, 7);
	assert_int_equal(p.threads, 3);
	assert_int_equal(p.start_ticks, 987654321012);
	assert_string_equal(p.comm, "a b");
	assert_false(p.is_kernel || p.has_ended);
	/* names may look like anything */
	assert_true(scanned_process_parse("12 () Z 1 (x) R 7" TAIL, &p));
	assert_string_equal(p.comm, ") Z 1 (x");
	assert_int_equal(p.parent, 7);
	/* the first thread has ended, others have not */
	assert_true(scanned_process_parse("12 (a) Z 7" TAIL, &p));
	assert_false(p.has_ended);
	assert_true(scanned_process_parse(
		"12 (a) Z 7 5 6 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98 9 10", &p));
	assert_true(p.has_ended);
	assert_true(scanned_process_parse(
		"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 8 0 0", &p));
	assert_true(p.is_kernel);
}

static void what_is_none(void **state)
{
	static const char *const texts[] = {
		"",          "12",         "12 (a",          "12 (a)",         ")(",
		"x (a) S 7", "12 (a) S 7", "12 (a) S 7 5 6", "12 )a( S 7" TAIL};
	struct scanned_process p;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(scanned_process_parse(texts[i], &p));
}

static void ourselves_and_a_child(void **state)
{
	struct process_scan scan = {0};
	const struct scanned_process *found;
	struct scanned_process p;
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(scanned_process_read(getpid(), &p), 0);
	assert_int_equal(p.pid, getpid());
	assert_int_equal(p.parent, getppid());
	assert_int_equal(scanned_process_of(getpid()), getpid());
	assert_int_equal(process_scan_all(&scan), 0);
	found = process_scan_find(&scan, child);
	assert_non_null(found);
	assert_int_equal(found->parent, getpid());
	assert_true(found->start_ticks >= p.start_ticks);
	kill(child, SIGKILL);
	/* the process stays until it is waited for */
	assert_int_equal(waitid(P_PID, (id_t)child, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	assert_int_equal(scanned_process_read(child, &p), 0);
	assert_true(p.has_ended);
	waitpid(child, NULL, 0);
	assert_int_equal(scanned_process_read(child, &p), -3 /* ESRCH */);
	assert_int_equal(scanned_process_of(child), 0);
	assert_int_equal(process_scan_all(&scan), 0);
	assert_null(process_scan_find(&scan, child));
	process_scan_release(&scan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(lines_of_stat),
					   cmocka_unit_test(what_is_none),
					   cmocka_unit_test(ourselves_and_a_child)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
