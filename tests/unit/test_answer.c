/* SPDX-License-Identifier: MIT */
/* Answers are valid JSON of bounded size, whatever the texts in them, and count what has no room.
 */
#include "random_names.h"
#include <cjson/cJSON.h>
#include "profiler/formats/answer.h"

static const struct answer_command command = {
	.files = "profile --from x.profile", .slice = " --device 0", .time = " --time 1..2"};

/* Writes the answer, and parses it again. Frees the answer. */
static cJSON *parse(struct answer *a, size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);
	cJSON *tree;

	assert_non_null(out);
	assert_int_equal(answer_write(a, out), 0);
	fclose(out);
	answer_free(a);
	assert_int_equal(strlen(text), *size);
	assert_int_equal(text[*size - 1], '\n');
	tree = cJSON_ParseWithOpts(text, NULL, true);
	if (!tree)
		fail_msg("no JSON: %s", text);
	free(text);
	return tree;
}

static const char *text_of(const cJSON *object, const char *key)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

static double number(const cJSON *object, const char *key)
{
	return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

static const cJSON *item(const cJSON *object, const char *key, int at)
{
	return cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(object, key), at);
}

static void all_members(void **state)
{
	struct answer *a = answer_new("stack 'x'", &command);
	size_t size;
	cJSON *tree;

	(void)state;
	answer_say(a, "%d of \"%s\"", 5, "many");
	json_uint(answer_sums(a), "ns", 7);
	answer_next(a, "stack a b");
	json_uint(answer_row(a), "ns", 3);
	answer_text(a, "name", "f\n<int>");
	answer_text(a, "file", NULL);
	answer_look(a, "--kernel", "it's", false, "k.html");
	assert_true(answer_end_row(a));
	json_uint(answer_row(a), "ns", 2);
	answer_look(a, "--time", "1..2", true, NULL);
	assert_true(answer_end_row(a));
	answer_row(a);
	answer_look_with(a, "--step 3");
	assert_true(answer_end_row(a));
	answer_leave_out(a, 4);
	tree = parse(a, &size);
	assert_string_equal(text_of(tree, "format"), "profile answer");
	assert_int_equal(number(tree, "version"), 1);
	assert_string_equal(text_of(tree, "question"), "stack 'x'");
	assert_string_equal(text_of(tree, "answer"), "5 of \"many\"");
	assert_int_equal(number(cJSON_GetObjectItem(tree, "sums"), "ns"), 7);
	assert_int_equal(number(tree, "left_out"), 4);
	assert_string_equal(cJSON_GetStringValue(item(tree, "next", 0)),
			    "profile --from x.profile --device 0 --time 1..2 --query 'stack a b'");
	assert_int_equal(number(item(tree, "rows", 0), "ns"), 3);
	assert_string_equal(text_of(item(tree, "rows", 0), "name"), "f?<int>");
	assert_null(cJSON_GetObjectItem(item(tree, "rows", 0), "file"));
	assert_null(cJSON_GetObjectItem(item(tree, "rows", 0), "cut"));
	assert_string_equal(
		text_of(item(tree, "rows", 0), "look"),
		"profile --from x.profile --device 0 --time 1..2 --kernel 'it'\\''s' -o "
		"k.html");
	assert_string_equal(text_of(item(tree, "rows", 1), "look"),
			    "profile --from x.profile --device 0 --time 1..2");
	assert_string_equal(text_of(item(tree, "rows", 2), "look"),
			    "profile --from x.profile --step 3");
	assert_null(item(tree, "rows", 3));
	cJSON_Delete(tree);
}

static void an_empty_answer(void **state)
{
	size_t size;
	cJSON *tree = parse(answer_new("verdict", &command), &size);

	(void)state;
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(tree, "rows")), 0);
	assert_int_equal(number(tree, "left_out"), 0);
	cJSON_Delete(tree);
}

/* Names of two bytes a character are cut between characters. */
static void long_texts_are_cut(void **state)
{
	struct answer *a = answer_new("sites", &command);
	char name[4096];
	size_t size;
	const char *got;
	cJSON *tree;

	(void)state;
	name[0] = 'x';
	for (size_t i = 1; i + 2 < sizeof(name); i += 2)
		memcpy(name + i, "\xc3\xa9", 2);
	name[sizeof(name) - 1] = '\0';
	answer_row(a);
	answer_text(a, "name", name);
	answer_end_row(a);
	answer_row(a);
	answer_text(a, "name", "short");
	answer_end_row(a);
	tree = parse(a, &size);
	got = text_of(item(tree, "rows", 0), "name");
	assert_int_equal(strlen(got), 199);
	assert_int_equal(strncmp(got, name, 199), 0);
	assert_true(cJSON_IsTrue(cJSON_GetObjectItem(item(tree, "rows", 0), "cut")));
	assert_null(cJSON_GetObjectItem(item(tree, "rows", 1), "cut"));
	cJSON_Delete(tree);
}

/* Rows without room are left out, and so are all behind the first of them. */
static void rows_beyond_the_limit_are_counted(void **state)
{
	struct answer *a = answer_new("kernels", &command);
	uint32_t added = 0, refused = 0;
	char name[151];
	size_t size;
	cJSON *tree;

	(void)state;
	memset(name, 'x', 150);
	name[150] = '\0';
	for (int i = 0; i < 1000; i++) {
		struct json *j = answer_row(a);

		if (!j) {
			refused++;
			continue;
		}
		json_int(j, "at", i);
		answer_text(a, "name", name);
		added++;
		answer_end_row(a);
	}
	answer_leave_out(a, refused);
	tree = parse(a, &size);
	assert_true(size <= ANSWER_BYTES_MAX);
	assert_true(size > ANSWER_BYTES_MAX - 300);
	/* the last row that was added had no room */
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(tree, "rows")), added - 1);
	assert_int_equal(number(tree, "left_out"), 1000 - (added - 1));
	assert_int_equal(number(item(tree, "rows", (int)added - 2), "at"), added - 2);
	cJSON_Delete(tree);
}

static void any_bytes(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < 300; round++) {
		struct prng p = prng_round(round);
		char *name = random_name(&p);
		struct answer *a = answer_new(name, &command);
		size_t size;
		cJSON *tree;

		answer_say(a, "%s", name);
		answer_next(a, "list");
		for (uint64_t i = prng_below(&p, 60); i > 0; i--) {
			if (!answer_row(a))
				break;
			answer_text(a, "name", name);
			answer_short_text(a, "short", name, 100);
			answer_look(a, "--kernel", name, prng_chance(&p, 50), NULL);
			answer_end_row(a);
		}
		tree = parse(a, &size);
		EXPECT(&p, size <= ANSWER_BYTES_MAX);
		cJSON_Delete(tree);
		free(name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_members),
		cmocka_unit_test(an_empty_answer),
		cmocka_unit_test(long_texts_are_cut),
		cmocka_unit_test(rows_beyond_the_limit_are_counted),
		cmocka_unit_test(any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
