/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "profiler/shape/markup.h"
#include "symbolize/util/text.h"

typedef void (*writes_text)(FILE *out, const char *text, size_t limit);

static void check(writes_text write, const char *text, size_t limit, const char *expected)
{
	char *got = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&got, &size);

	assert_non_null(out);
	write(out, text, limit);
	fclose(out);
	assert_string_equal(got, expected);
	free(got);
}

static void xml_has_no_markup_of_names(void **state)
{
	(void)state;
	check(markup_xml, "plain name", 100, "plain name");
	check(markup_xml, "a<b>&\"c'", 100, "a&lt;b&gt;&amp;&quot;c&#39;");
	check(markup_xml, "]]></script>", 100, "]]&gt;&lt;/script&gt;");
	check(markup_xml, "", 100, "");
}

static void json_has_nothing_that_xml_and_html_know(void **state)
{
	(void)state;
	check(markup_json, "a\"b\\c", 100, "\"a\\u0022b\\u005cc\"");
	check(markup_json, "</script><!--&'", 100,
	      "\"\\u003c/script\\u003e\\u003c!--\\u0026\\u0027\"");
	check(markup_json, "]]>", 100, "\"]]\\u003e\"");
	check(markup_json, "", 100, "\"\"");
}

static void controls_and_wrong_bytes_are_replaced(void **state)
{
	static const char *const wrong[] = {
		"\x01",
		"\n",
		"\x7f",
		"\xc2\x9f",
		"\xe2\x80\xa8",
		"\xe2\x80\xa9",
		"\xe2\x80\xae",
		"\xe2\x81\xa6",
		"\xef\xbb\xbf",
		"\xef\xbf\xbe",
		"\xf0\x9f\xbf\xbf",
		"\xff",
		"\xc3",
		"\xef\xb7\x90",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char text[16];

		snprintf(text, sizeof(text), "a%sb", wrong[i]);
		check(markup_xml, text, 100,
		      "a\xef\xbf\xbd"
		      "b");
		check(markup_json, text, 100,
		      "\"a\xef\xbf\xbd"
		      "b\"");
	}
	check(markup_xml, "\xe4\xb8\xad \xc3\xa9 \xf0\x9f\x98\x80", 100,
	      "\xe4\xb8\xad \xc3\xa9 \xf0\x9f\x98\x80");
}

static void long_texts_are_cut_between_characters(void **state)
{
	(void)state;
	check(markup_xml, "abc", 3, "abc");
	check(markup_xml, "abcd", 3, "abc\xe2\x80\xa6");
	check(markup_xml, "<<<<", 2, "&lt;&lt;\xe2\x80\xa6");
	check(markup_json, "\xc3\xa9\xc3\xa9\xc3\xa9", 2, "\"\xc3\xa9\xc3\xa9\xe2\x80\xa6\"");
}

static void columns_are_guessed(void **state)
{
	(void)state;
	assert_int_equal(markup_columns('m'), 1);
	assert_int_equal(markup_columns(0xe9), 1);
	assert_int_equal(markup_columns(0x2026), 1);
	assert_int_equal(markup_columns(0x4e2d), 2);
	assert_int_equal(markup_columns(0x1f600), 2);
	assert_int_equal(markup_columns(0x301), 0);
}

/* Whatever bytes: well-formed, and nothing that means something but the entities and escapes. */
static void random_bytes_are_safe(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(2000); round++) {
		struct prng p = prng_round(round);
		char text[64], *got = NULL;
		size_t length = prng_below(&p, sizeof(text)), size = 0;
		FILE *out = open_memstream(&got, &size);

		for (size_t i = 0; i < length; i++)
			text[i] = (char)(1 + prng_below(&p, 255));
		text[length] = '\0';
		markup_xml(out, text, 40);
		fputc('|', out);
		markup_json(out, text, 40);
		fclose(out);
		for (size_t i = 0, n; i < size; i += n) {
			n = count_utf8_bytes((const unsigned char *)got + i);
			EXPECT(&p, n > 0);
			EXPECT(&p, (unsigned char)got[i] >= 0x20 && got[i] != 0x7f);
			EXPECT(&p, got[i] != '<' && got[i] != '>' && got[i] != '\'');
		}
		free(got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(xml_has_no_markup_of_names),
		cmocka_unit_test(json_has_nothing_that_xml_and_html_know),
		cmocka_unit_test(controls_and_wrong_bytes_are_replaced),
		cmocka_unit_test(long_texts_are_cut_between_characters),
		cmocka_unit_test(columns_are_guessed),
		cmocka_unit_test(random_bytes_are_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
