/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "profiler/base/log.h"

static struct capture captured;

static void say_all(struct log *log)
{
	capture_begin(&captured);
	log_error(log, "error %d", 1);
	log_warn(log, "warning %s", "two");
	log_line(log, "line %c", '3');
	log_verbose(log, "verbose");
	log_status(log, "status");
	log_clear_status(log);
	capture_end(&captured);
}

static void levels(void **state)
{
	struct log log = {.level = LOG_NORMAL};

	(void)state;
	say_all(&log);
	assert_string_equal(captured.text, "profile: error 1\nprofile: warning two\nline 3\n");
	log.level = LOG_ERRORS;
	say_all(&log);
	assert_string_equal(captured.text, "profile: error 1\n");
	log.level = LOG_VERBOSE;
	say_all(&log);
	assert_string_equal(captured.text, "profile: error 1\nprofile: warning two\nline 3\n"
					   "profile: verbose\n");
}

/* On a terminal the status line makes way for any other. */
static void a_status_line_makes_way(void **state)
{
	struct log log = {.level = LOG_NORMAL, .terminal = true};

	(void)state;
	capture_begin(&captured);
	log_status(&log, "%d%%", 50);
	log_status(&log, "%d%%", 60);
	log_warn(&log, "look");
	log_clear_status(&log); /* nothing is shown: nothing to clear */
	log_status(&log, "again");
	log_clear_status(&log);
	capture_end(&captured);
	assert_string_equal(captured.text, "50%\r\033[K60%\r\033[Kprofile: look\nagain\r\033[K");
	log.level = LOG_ERRORS;
	capture_begin(&captured);
	log_status(&log, "no");
	capture_end(&captured);
	assert_string_equal(captured.text, "");
}

/* Too long for one line: cut, and still one line. */
static void long_lines_are_cut(void **state)
{
	struct log log = {.level = LOG_NORMAL};
	static char text[20000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	for (size_t n = 8150; n < 8250; n++) {
		size_t length;

		text[n] = '\0';
		capture_begin(&captured);
		log_error(&log, "%s", text);
		length = strlen(capture_end(&captured));
		assert_int_equal(captured.text[length - 1], '\n');
		assert_true(length <= 8192);
		assert_true(length == n + 10 || length > 8180);
		assert_int_equal(strspn(captured.text + 9, "x"), length - 10);
		text[n] = 'x';
	}
	capture_begin(&captured);
	log_line(&log, "%s", text);
	assert_true(strlen(capture_end(&captured)) <= 8192);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels),
		cmocka_unit_test(a_status_line_makes_way),
		cmocka_unit_test(long_lines_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
