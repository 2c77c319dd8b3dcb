/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include <pty.h>
#include "profiler/base/columns.h"
#include "profiler/base/log.h"

static struct capture captured;

static void say_all(struct log *log)
{
	capture_begin(&captured);
	log_error(log, "error %d", 1);
	log_warn(log, "warning %s", "two");
	log_line(log, "line %c", '3');
	log_verbose(log, "verbose");
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

static void counts(void **state)
{
	static const char format[] = "# cop{y|ies} of %s{|, ...}, {it is|they are} # of %" PRIu64;
	struct log log = {.level = LOG_NORMAL};

	(void)state;
	capture_begin(&captured);
	log_warn_if(&log, 0, format, "{a|b}#", UINT64_C(7));
	log_warn_if(&log, 1, format, "{a|b}#", UINT64_C(7));
	log_line_if(&log, UINT64_MAX, format, "x", UINT64_C(7));
	log.level = LOG_ERRORS;
	log_warn_if(&log, 1, format, "x", UINT64_C(7));
	log_line_if(&log, 1, format, "x", UINT64_C(7));
	capture_end(&captured);
	assert_string_equal(captured.text, "profile: 1 copy of {a|b}#, it is 1 of 7\n"
					   "18446744073709551615 copies of x, ..., they are "
					   "18446744073709551615 of 7\n");
}

static const char *shown(const char *text)
{
	struct log log = {.level = LOG_NORMAL};

	capture_begin(&captured);
	log_line(&log, "%s", text);
	return capture_end(&captured);
}

static void nothing_that_a_terminal_obeys_is_printed(void **state)
{
	(void)state;
	assert_string_equal(shown("\x1b[31mred\x07\r\n\t\x7f"), "?[31mred?????\n");
	/* C1: as a stray byte, and as the character U+009B */
	assert_string_equal(shown("\x9b"
				  "31m"),
			    "?31m\n");
	assert_string_equal(shown("\xc2\x9b"
				  "31m"),
			    "?31m\n");
	assert_string_equal(shown("\xc2\xa0 \xe2\x82\xac \xf0\x9f\x98\x80"),
			    "\xc2\xa0 \xe2\x82\xac \xf0\x9f\x98\x80\n");
	/* overlong, surrogate, cut short, beyond Unicode */
	assert_string_equal(shown("\xc0\xaf \xed\xa0\x80 \xe2\x82"), "?? ??? ??\n");
	assert_string_equal(shown("\xf4\x90\x80\x80 \xff"), "???? ?\n");
	for (int a = 1; a < 256; a++) {
		for (int b = 1; b < 256; b += (int)unit_stride()) {
			const char text[] = {(char)a, (char)b, 'x', 0};
			const unsigned char *c = (const unsigned char *)shown(text);

			/* C1, and U+061C, which changes directions: one character each */
			if ((a == 0xc2 && b >= 0x80 && b < 0xa0) || (a == 0xd8 && b == 0x9c)) {
				assert_string_equal(c, "?x\n");
				continue;
			}
			assert_int_equal(strlen((const char *)c), 4);
			assert_true(c[0] >= 0x20 && c[1] >= 0x20 && c[0] != 0x7f && c[1] != 0x7f);
			assert_false(c[0] >= 0x80 && (c[0] < 0xc2 || c[1] < 0x80));
			assert_false(c[0] == 0xc2 && c[1] < 0xa0);
			assert_memory_equal(c + 2, "x\n", 2);
		}
	}
}

/* A cut character is removed. */
static void a_cut_leaves_no_half_character(void **state)
{
	static char text[20000];
	const char *line;
	size_t n;

	(void)state;
	for (size_t at = 0; at < sizeof(text) - 4; at += 3)
		memcpy(text + at, "\xe2\x82\xac", 3);
	for (size_t shift = 0; shift < 3; shift++) {
		line = shown(text + shift);
		n = strlen(line);
		assert_true(n > 8000);
		assert_true(line[n - 2] == '?' || memcmp(line + n - 4, "\xe2\x82\xac", 3) == 0);
	}
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

/* Sentences break at words there, and rows of tables do not. */
static void a_terminal_has_a_width(void **state)
{
	struct winsize size = {.ws_row = 24, .ws_col = 24};
	struct log log = {.level = LOG_NORMAL};
	int saved = dup(STDERR_FILENO), terminal, shown_on;
	char text[256];
	size_t length;
	ssize_t n;

	(void)state;
	assert_int_equal(openpty(&terminal, &shown_on, NULL, NULL, &size), 0);
	assert_int_equal(columns_of_terminal(shown_on), 24);
	dup2(shown_on, STDERR_FILENO);
	log_warn(&log, "one two three four five");
	log_row(&log, "  1.000 ms  2.000 ms  main");
	size.ws_col = 0; /* the width is unknown */
	ioctl(shown_on, TIOCSWINSZ, &size);
	log_line(&log, "one two three four five six");
	dup2(saved, STDERR_FILENO);
	close(saved);
	/* A terminal hands on what is written in parts. */
	for (length = 0; length < 4 || memcmp(text + length - 4, "ix\r\n", 4) != 0; length += n) {
		n = read(terminal, text + length, sizeof(text) - 1 - length);
		assert_true(n > 0);
	}
	text[length] = '\0';
	assert_string_equal(text, "profile: one two three\r\n  four five\r\n"
				  "  1.000 ms  2.000 ms  main\r\n"
				  "one two three four five six\r\n");
	close(shown_on);
	close(terminal);
	assert_int_equal(columns_of_terminal(-1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels),
		cmocka_unit_test(counts),
		cmocka_unit_test(nothing_that_a_terminal_obeys_is_printed),
		cmocka_unit_test(a_cut_leaves_no_half_character),
		cmocka_unit_test(long_lines_are_cut),
		cmocka_unit_test(a_terminal_has_a_width),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
