/* SPDX-License-Identifier: MIT */
/* Judges a process by its signs: the cause, and whether the cause is worth a line. */
#include "unit.h"
#include "profiler/model/untraced.h"

/* Signs of a process in which the library would start. */
static const struct untraced_signs clean = {.environment.is_known = true,
					    .environment.has_variable = true,
					    .environment.names_library = true,
					    .environment.names_pipe = true,
					    .files.are_known = true,
					    .files.have_library = true,
					    .files.have_pipe = true,
					    .files.may_write_pipe = true};

static void expect_cause(struct untraced_signs signs, enum untraced_cause cause)
{
	assert_string_equal(untraced_cause_text(untraced_find_cause(&signs)),
			    untraced_cause_text(cause));
}

#define CAUSE(change, cause)                     \
	do {                                     \
		struct untraced_signs s = clean; \
                                                 \
		change;                          \
		expect_cause(s, cause);          \
	} while (0)

static void each_cause_by_itself(void **state)
{
	(void)state;
	expect_cause(clean, UNTRACED_NOT_FOUND);
	CAUSE(s.libc.is_other = true, UNTRACED_OTHER_LIBC);
	CAUSE(s.libc.glibc_minor = 31; s.needed_glibc_minor = 34, UNTRACED_OLD_LIBC);
	CAUSE(s.libc.glibc_minor = 34; s.needed_glibc_minor = 34, UNTRACED_NOT_FOUND);
	CAUSE(s.libc.glibc_minor = 0; s.needed_glibc_minor = 34, UNTRACED_NOT_FOUND);
	CAUSE(s.libc.glibc_minor = 31; s.needed_glibc_minor = 0, UNTRACED_NOT_FOUND);
	CAUSE(s.environment.has_variable = s.environment.names_library = false,
	      UNTRACED_NO_VARIABLE);
	CAUSE(s.environment.names_library = false, UNTRACED_OTHER_LIBRARY);
	CAUSE(s.is_secure = true, UNTRACED_SECURE);
	CAUSE(s.is_other_user = true, UNTRACED_OTHER_USER);
	CAUSE(s.files.have_library = false, UNTRACED_OTHER_FILES);
	CAUSE(s.files.are_noexec = true, UNTRACED_NO_EXEC);
	CAUSE(s.environment.names_pipe = false, UNTRACED_NO_PIPE_NAMED);
	CAUSE(s.files.have_pipe = s.files.may_write_pipe = false, UNTRACED_NO_PIPE);
	CAUSE(s.files.may_write_pipe = false, UNTRACED_PIPE_CLOSED);
	CAUSE(s.is_filtered = true, UNTRACED_FILTERED);
}

/* An unreadable sign is no cause. */
static void what_is_not_known_is_no_cause(void **state)
{
	(void)state;
	expect_cause((struct untraced_signs){0}, UNTRACED_NOT_KNOWN);
	CAUSE(s.environment.is_known = s.environment.has_variable = s.environment.names_library =
		      false,
	      UNTRACED_NOT_KNOWN);
	CAUSE(s.files.are_known = s.files.have_library = s.files.have_pipe = false,
	      UNTRACED_NOT_KNOWN);
	CAUSE(s.files.are_known = s.files.have_library = false;
	      s.environment.has_variable = false, UNTRACED_NO_VARIABLE);
	CAUSE(s.environment.is_known = s.environment.has_variable = false;
	      s.files.have_library = false, UNTRACED_OTHER_FILES);
	CAUSE(s.environment.is_known = false; s.is_other_user = true, UNTRACED_OTHER_USER);
}

static void what_nothing_else_mends_comes_first(void **state)
{
	(void)state;
	CAUSE(s.libc.is_other = true; s.environment.has_variable = false;
	      s.files.have_library = false, UNTRACED_OTHER_LIBC);
	CAUSE(s.environment.has_variable = false; s.files.have_library = false;
	      s.is_filtered = true, UNTRACED_NO_VARIABLE);
	CAUSE(s.files.have_library = s.files.have_pipe = false;
	      s.files.are_noexec = true, UNTRACED_OTHER_FILES);
	CAUSE(s.is_filtered = true; s.environment.names_pipe = false, UNTRACED_NO_PIPE_NAMED);
}

/* ---- whether it is worth a line ---- */

static void expect(struct untraced_use use, enum untraced_verdict unhindered,
		   enum untraced_verdict hindered)
{
	assert_int_equal(untraced_judge(&use, UNTRACED_NOT_FOUND), unhindered);
	assert_int_equal(untraced_judge(&use, UNTRACED_FILTERED), unhindered);
	assert_int_equal(untraced_judge(&use, UNTRACED_NO_VARIABLE), hindered);
	assert_int_equal(untraced_judge(&use, UNTRACED_NOT_KNOWN), hindered);
}

static void only_what_used_the_gpu_lacks_something(void **state)
{
	(void)state;
	/* no device was open at its end, whatever was in the way */
	expect((struct untraced_use){.is_exact = true}, UNTRACED_IS_IDLE, UNTRACED_IS_IDLE);
	expect((struct untraced_use){.is_exact = true, .has_device = true, .opened = 1},
	       UNTRACED_LACKS, UNTRACED_LACKS);
	expect((struct untraced_use){.has_called = true}, UNTRACED_LACKS, UNTRACED_LACKS);
	expect((struct untraced_use){.is_exact = true, .has_called = true}, UNTRACED_LACKS,
	       UNTRACED_LACKS);
	/* a look saw it open; its end was not seen */
	expect((struct untraced_use){.opened = 1}, UNTRACED_LACKS, UNTRACED_LACKS);
	/* a process without obstacles would have been traced */
	expect((struct untraced_use){0}, UNTRACED_IS_IDLE, UNTRACED_MAY_LACK);
	/* inherited, or of before it changed its user */
	expect((struct untraced_use){.is_exact = true, .has_device = true}, UNTRACED_IS_IDLE,
	       UNTRACED_MAY_LACK);
}

/* NVIDIA's management library opens the device as well, once. */
static void who_only_watches_the_gpu_lacks_nothing(void **state)
{
	struct untraced_use use = {
		.is_exact = true, .has_device = true, .opened = 1, .has_nvml = true};

	(void)state;
	expect(use, UNTRACED_IS_IDLE, UNTRACED_MAY_LACK);
	use.opened = 2;
	expect(use, UNTRACED_LACKS, UNTRACED_LACKS);
}

/* ---- C libraries ---- */

static void c_libraries_by_their_files(void **state)
{
	struct untraced_libc libc = {0};

	(void)state;
	untraced_note_file(&libc, "libcuda.so.1");
	untraced_note_file(&libc, "libc.so.6");
	untraced_note_file(&libc, "libc-client.so");
	assert_false(libc.is_other);
	assert_int_equal(libc.glibc_minor, 0);
	untraced_note_file(&libc, "libc-2.31.so");
	assert_int_equal(libc.glibc_minor, 31);
	untraced_note_file(&libc, "libm-2.12.so");
	assert_int_equal(libc.glibc_minor, 31);
	untraced_note_file(&libc, "ld-musl-x86_64.so.1");
	assert_true(libc.is_other);
	libc = (struct untraced_libc){0};
	untraced_note_file(&libc, "libc-2.99999999999.so");
	untraced_note_file(&libc, "libc-2.x.so");
	assert_int_equal(libc.glibc_minor, 0);
	untraced_note_file(&libc, "libc.musl-x86_64.so.1");
	assert_true(libc.is_other);
	libc = (struct untraced_libc){0};
	untraced_note_file(&libc, "libc.so"); /* Debian's musl */
	assert_true(libc.is_other);
}

static void the_newest_version_that_a_library_asks_for(void **state)
{
	static const char text[] = "\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.17\0GLIBC_PRIVATE\0";
	static const char cut[] = {'G', 'L', 'I', 'B', 'C', '_', '2', '.', '3', '8'};

	(void)state;
	assert_int_equal(untraced_glibc_of(text, sizeof(text)), 34);
	assert_int_equal(untraced_glibc_of(cut, sizeof(cut)), 38);
	assert_int_equal(untraced_glibc_of(cut, sizeof(cut) - 1), 3);
	assert_int_equal(untraced_glibc_of(cut, sizeof(cut) - 2), 0);
	assert_int_equal(untraced_glibc_of("", 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_cause_by_itself),
		cmocka_unit_test(what_is_not_known_is_no_cause),
		cmocka_unit_test(what_nothing_else_mends_comes_first),
		cmocka_unit_test(only_what_used_the_gpu_lacks_something),
		cmocka_unit_test(who_only_watches_the_gpu_lacks_nothing),
		cmocka_unit_test(c_libraries_by_their_files),
		cmocka_unit_test(the_newest_version_that_a_library_asks_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
