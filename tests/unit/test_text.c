// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "symbolize/util/intern.h"
#include "symbolize/util/text.h"

static void expect(const char *text, const char *expected)
{
	char *copy = strdup(text); /* exactly as long: a read past it shows under valgrind */

	assert_non_null(copy);
	clean_text(copy);
	assert_string_equal(copy, expected);
	free(copy);
}

static void good_text_stays(void **state)
{
	(void)state;
	expect("", "");
	expect("ns::f<int>(char const*) ~!@#", "ns::f<int>(char const*) ~!@#");
	expect("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
	       "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
	expect("\xc2\xa0\xc3\x80\xef\xbf\xbd\xf4\x8f\xbf\xbf",
	       "\xc2\xa0\xc3\x80\xef\xbf\xbd\xf4\x8f\xbf\xbf");
}

static void controls_become_marks(void **state)
{
	(void)state;
	expect("a\033[2J\tb\nc\177", "a?[2J?b?c?");
	expect("\001\037", "??");
	expect("x\xc2\x9b"
	       "2Jy",
	       "x?2Jy"); /* U+009B, a control sequence's start */
	expect("\xc2\x80\xc2\x85\xc2\x9f", "???");
	expect("x\x9b"
	       "2Jy",
	       "x?2Jy"); /* treated as a stray byte */
}

/* Each of them, and its neighbours, which stay. */
static void bidirectional_controls_become_marks(void **state)
{
	(void)state;
	expect("a\xd8\x9c"
	       "b\xd8\x9b\xd8\x9d\xd9\x9c",
	       "a?b\xd8\x9b\xd8\x9d\xd9\x9c");
	expect("\xe2\x80\x8d\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\x90", "\xe2\x80\x8d??\xe2\x80\x90");
	expect("\xe2\x80\xa9\xe2\x80\xaa\xe2\x80\xab\xe2\x80\xac\xe2\x80\xad\xe2\x80\xae"
	       "\xe2\x80\xaf",
	       "\xe2\x80\xa9?????\xe2\x80\xaf");
	expect("\xe2\x81\xa5\xe2\x81\xa6\xe2\x81\xa7\xe2\x81\xa8\xe2\x81\xa9\xe2\x81\xaa",
	       "\xe2\x81\xa5????\xe2\x81\xaa");
	expect("\xe2\x82\xaa \xe3\x80\xae \xf0\x9f\x80\xae",
	       "\xe2\x82\xaa \xe3\x80\xae \xf0\x9f\x80\xae");
}

static void invalid_utf8_becomes_marks(void **state)
{
	(void)state;
	expect("\xff\xfe\x80\xbf", "????");
	expect("\xc0\xaf", "??");           /* overlong */
	expect("\xe0\x9f\xbf", "???");      /* overlong */
	expect("\xf0\x8f\xbf\xbf", "????"); /* overlong */
	expect("\xed\xa0\x80", "???");      /* a surrogate */
	expect("\xf4\x90\x80\x80", "????"); /* past the end */
	expect("\xc3", "?");                /* cut off */
	expect("\xe2\x82", "??");
	expect("\xf0\x9f\x98", "???");
	expect("\xe2\x82\xc3\xbc", "??\xc3\xbc");
}

/* Against a plain reading of the rule: no byte of the result below ' ', no DEL, no C1, all UTF-8.
 */
static void random_bytes_are_safe(void **state)
{
	uint32_t seed = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		char text[24];
		size_t length;

		for (size_t i = 0; i < sizeof(text) - 1; i++) {
			seed = seed * 1664525 + 1013904223;
			/* mostly lead and continuation bytes: those that matter */
			text[i] = (char)(seed & 0x10000 ? (seed >> 24) : (seed >> 24) | 0x80);
		}
		text[sizeof(text) - 1] = '\0';
		length = strlen(text);
		clean_text(text);
		assert_true(strlen(text) <= length);
		for (const unsigned char *c = (unsigned char *)text; *c;) {
			size_t n = count_utf8_bytes(c);

			assert_true(n > 0);
			assert_true(*c >= ' ' && *c != 0x7f);
			if (n == 2)
				assert_true(((c[0] & 0x1fu) << 6 | (c[1] & 0x3fu)) >= 0xa0);
			c += n;
		}
	}
}

static void all_characters_are_well_formed(void **state)
{
	(void)state;
	for (uint32_t c = 1; c < 0x120000; c += c < 0x20000 ? 1 : 977) {
		bool is_one = c < 0xd800 || (c >= 0xe000 && c < 0x110000);
		char text[5] = "";
		size_t n = put_utf8(c, text);

		assert_int_equal(count_utf8_bytes((const unsigned char *)text), n);
		assert_int_equal(strlen(text), n);
		assert_int_equal(strcmp(text, "\xef\xbf\xbd") == 0, !is_one || c == 0xfffd);
	}
	for (int i = 0; i < 4; i++) {
		static const char *const texts[] = {"h", "\xc3\xb6", "\xe2\x82\xac",
						    "\xf0\x9f\x98\x80"};
		static const uint32_t characters[] = {'h', 0xf6, 0x20ac, 0x1f600};
		char text[5] = "";

		put_utf8(characters[i], text);
		assert_string_equal(text, texts[i]);
	}
}

static void interned_text_is_clean(void **state)
{
	struct intern strings = {0};
	const char *name = intern_string(&strings, "lib\xc2\x9b\n\xff.so");

	(void)state;
	assert_string_equal(name, "lib???.so");
	assert_ptr_equal(intern_string(&strings, "lib???.so"), name);
	intern_release(&strings);
}

static void text_is_appended_as_far_as_there_is_room(void **state)
{
	char text[8] = "ab";

	(void)state;
	append_text(text, sizeof(text), "%s-%d", "c", 4);
	assert_string_equal(text, "abc-4");
	append_text(text, sizeof(text), "%s", "efgh");
	assert_string_equal(text, "abc-4ef");
	append_text(text, sizeof(text), "x");
	assert_string_equal(text, "abc-4ef");
}

static void text_is_cut_between_characters(void **state)
{
	static const char text[] = "a\xc3\xa4\xe2\x82\xac"
				   "b"; /* characters of 1, 2, 3 and 1 bytes */
	static const size_t ends[] = {0, 1, 1, 3, 3, 3, 6};

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		assert_int_equal(cut_text(text, i), ends[i]);
		assert_int_equal(fit_utf8(text, i), ends[i]);
	}
	assert_int_equal(fit_utf8(text, 7), 7);
	assert_int_equal(fit_utf8(text, 100), 7);
	assert_int_equal(cut_text("\x80\x80\x80\x80", 3), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_text_stays),
		cmocka_unit_test(all_characters_are_well_formed),
		cmocka_unit_test(controls_become_marks),
		cmocka_unit_test(bidirectional_controls_become_marks),
		cmocka_unit_test(invalid_utf8_becomes_marks),
		cmocka_unit_test(random_bytes_are_safe),
		cmocka_unit_test(interned_text_is_clean),
		cmocka_unit_test(text_is_cut_between_characters),
		cmocka_unit_test(text_is_appended_as_far_as_there_is_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
