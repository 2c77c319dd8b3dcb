/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include <cjson/cJSON.h>
#include "profiler/formats/json.h"
#include "symbolize/util/text.h"

static char *text;
static size_t text_size;

static struct json begin(void)
{
	FILE *out = open_memstream(&text, &text_size);

	assert_non_null(out);
	return json_begin(out);
}

static void end(struct json *j)
{
	json_end(j);
	assert_int_equal(fclose(j->out), 0);
}

static void check(struct json *j, const char *expected)
{
	end(j);
	assert_string_equal(text, expected);
	free(text);
}

static void values_are_separated(void **state)
{
	struct json j = begin();

	(void)state;
	json_open_object(&j, NULL);
	json_open_array(&j, "empty");
	json_close_array(&j);
	json_open_array(&j, "list");
	json_uint(&j, NULL, 0);
	json_uint(&j, NULL, UINT64_MAX);
	json_text(&j, NULL, "a");
	json_open_object(&j, NULL);
	json_close_object(&j);
	json_open_array(&j, NULL);
	json_uint(&j, NULL, 10);
	json_close_array(&j);
	json_close_array(&j);
	json_open_object(&j, "object");
	json_text(&j, "k", "v");
	json_close_object(&j);
	json_uint(&j, "last", 1234567890);
	json_close_object(&j);
	check(&j, "{\"empty\":[],\"list\":[0,18446744073709551615,\"a\",{},[10]],"
		  "\"object\":{\"k\":\"v\"},\"last\":1234567890}\n");
}

static void thousandths_are_exact(void **state)
{
	struct json j = begin();

	(void)state;
	json_open_array(&j, NULL);
	json_thousandths(&j, NULL, 0);
	json_thousandths(&j, NULL, 1);
	json_thousandths(&j, NULL, 1000);
	json_thousandths(&j, NULL, 12340);
	json_thousandths(&j, NULL, 10500);
	json_thousandths(&j, NULL, UINT64_MAX);
	json_close_array(&j);
	check(&j, "[0,0.001,1,12.34,10.5,18446744073709551.615]\n");
}

static void lines_break_between_values(void **state)
{
	struct json j = begin();

	(void)state;
	json_open_array(&j, NULL);
	json_break_line(&j);
	json_uint(&j, NULL, 1);
	json_break_line(&j);
	json_uint(&j, NULL, 2);
	json_close_array(&j);
	check(&j, "[\n1,\n2]\n");
}

static void one_text(const char *value, const char *expected)
{
	struct json j = begin();

	json_text(&j, NULL, value);
	check(&j, expected);
}

static void texts_are_escaped(void **state)
{
	struct json j;

	(void)state;
	one_text("", "\"\"\n");
	one_text("a\"b\\c", "\"a\\\"b\\\\c\"\n");
	one_text("\x01\b\n\x1f\x7f", "\"\\u0001\\u0008\\u000a\\u001f\x7f\"\n");
	one_text("\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa",
		 "\"\xe2\x80\xa7\\u2028\\u2029\xe2\x80\xaa\"\n");
	one_text("\xc3\xa4\xf0\x9f\x98\x80", "\"\xc3\xa4\xf0\x9f\x98\x80\"\n");
	one_text("\xff\x80 \xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x80",
		 "\"?? ?? ??? ???? ??\"\n");
	one_text("</script>", "\"</script>\"\n");
	j = begin();
	json_open_object(&j, NULL);
	json_uint(&j, "a\"\n", 1);
	json_close_object(&j);
	check(&j, "{\"a\\\"\\u000a\":1}\n");
}

/* For any bytes, the parser returns the text that was written, except for invalid UTF-8. */
static void random_texts_are_parsed_again(void **state)
{
	static const char *const pieces[] = {"\xe2\x80\xa8", "\"", "\\", "\xc3\xa4",
					     "\xf0\x9f\x98\x80"};

	(void)state;
	for (uint64_t round = 0; round < unit_rounds(2000); round++) {
		struct prng p = prng_round(round);
		char value[256] = "";
		struct json j = begin();
		const char *parsed;
		cJSON *tree;

		for (uint64_t n = prng_below(&p, 40); n > 0; n--) {
			size_t length = strlen(value);

			if (prng_chance(&p, 30))
				snprintf(value + length, sizeof(value) - length, "%s",
					 pieces[prng_below(&p, 5)]);
			else
				value[length] = (char)(1 + prng_below(&p, 255));
		}
		json_text(&j, NULL, value);
		end(&j);
		for (size_t i = 0; i < text_size - 1; i++)
			EXPECT(&p, (unsigned char)text[i] >= 0x20);
		tree = cJSON_ParseWithOpts(text, NULL, true);
		EXPECT(&p, tree);
		parsed = cJSON_GetStringValue(tree);
		for (size_t at = 0, n; value[at]; at += n) {
			n = count_utf8_bytes((const unsigned char *)value + at);
			EXPECT(&p, n ? memcmp(parsed + at, value + at, n) == 0 : parsed[at] == '?');
			n += n == 0;
		}
		EXPECT(&p, strlen(parsed) == strlen(value));
		cJSON_Delete(tree);
		free(text);
	}
}

static void a_text_may_be_long(void **state)
{
	enum { SIZE = 1 << 20 };
	char *value = malloc(SIZE + 1);
	struct json j = begin();

	(void)state;
	assert_non_null(value);
	memset(value, '"', SIZE);
	value[SIZE] = '\0';
	json_text(&j, NULL, value);
	end(&j);
	assert_int_equal(text_size, 2 * SIZE + 3);
	free(value);
	free(text);
}

static void a_full_disk_shows_in_the_stream(void **state)
{
	FILE *full = fopen("/dev/full", "w");
	struct json j;

	(void)state;
	if (!full)
		SKIP("no /dev/full here");
	j = json_begin(full);
	json_open_array(&j, NULL);
	for (int i = 0; i < 10000; i++)
		json_text(&j, NULL, "text");
	json_close_array(&j);
	json_end(&j);
	assert_true(ferror(full));
	fclose(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_separated),
		cmocka_unit_test(thousandths_are_exact),
		cmocka_unit_test(lines_break_between_values),
		cmocka_unit_test(texts_are_escaped),
		cmocka_unit_test(random_texts_are_parsed_again),
		cmocka_unit_test(a_text_may_be_long),
		cmocka_unit_test(a_full_disk_shows_in_the_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
