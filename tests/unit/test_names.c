/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "cupti_trace/names.h"

static int begin(void **state)
{
	*state = calloc(1, sizeof(struct names));
	return *state ? 0 : -1;
}

static int end(void **state)
{
	names_release(*state);
	free(*state);
	return 0;
}

static void equal_texts_are_one_name(void **state)
{
	char first[] = "kernel", second[] = "kernel";
	bool is_new;
	uint32_t id = names_id(*state, first, &is_new);

	assert_int_not_equal(id, NAMES_OVERFLOW_ID);
	assert_true(is_new);
	assert_int_equal(names_id(*state, first, &is_new), id);
	assert_false(is_new);
	assert_int_equal(names_id(*state, second, &is_new), id);
	assert_false(is_new);
	assert_int_not_equal(names_id(*state, "kernel2", &is_new), id);
	assert_true(is_new);
	assert_int_not_equal(names_id(*state, "", &is_new), id);
	assert_true(is_new);
}

/* A module is unloaded and another's names lie at the same addresses. */
static void a_pointer_used_again_is_another_name(void **state)
{
	char text[16] = "one";
	bool is_new;
	uint32_t one = names_id(*state, text, &is_new), two;

	snprintf(text, sizeof(text), "two");
	two = names_id(*state, text, &is_new);
	assert_true(is_new);
	assert_int_not_equal(one, two);
	snprintf(text, sizeof(text), "one");
	assert_int_equal(names_id(*state, text, &is_new), one);
	assert_false(is_new);
}

static void no_name_is_the_shared_id(void **state)
{
	bool is_new = true;

	assert_int_equal(names_id(*state, NULL, &is_new), NAMES_OVERFLOW_ID);
	assert_false(is_new);
}

static void ids_match_a_model(void **state)
{
	enum { DISTINCT = 5000 };
	static uint32_t id_of[DISTINCT];
	struct prng p = prng_round(0);
	uint32_t count = 0;

	memset(id_of, 0, sizeof(id_of));
	for (int i = 0; i < 100000; i++) {
		static char places[3000][24]; /* names at addresses that are used again and again */
		uint32_t n = (uint32_t)prng_below(&p, DISTINCT);
		char *text = places[prng_below(&p, 3000)];
		bool is_new;
		uint32_t id;

		snprintf(text, sizeof(places[0]), "_Z%ukernel", n);
		id = names_id(*state, text, &is_new);
		EXPECT(&p, id != NAMES_OVERFLOW_ID);
		EXPECT(&p, is_new == (id_of[n] == 0));
		if (is_new)
			EXPECT(&p, id == ++count);
		else
			EXPECT(&p, id == id_of[n]);
		id_of[n] = id;
	}
}

static void the_number_of_names_is_bounded(void **state)
{
	char text[24];
	bool is_new;

	for (uint32_t i = 0; i < NAMES_MAX; i++) {
		snprintf(text, sizeof(text), "k%u", i);
		assert_int_not_equal(names_id(*state, text, &is_new), NAMES_OVERFLOW_ID);
		assert_true(is_new);
	}
	assert_int_equal(names_id(*state, "one more", &is_new), NAMES_OVERFLOW_ID);
	assert_false(is_new);
	assert_int_equal(names_id(*state, "one more", &is_new), NAMES_OVERFLOW_ID);
	snprintf(text, sizeof(text), "k5");
	assert_int_equal(names_id(*state, text, &is_new), 6);
}

static void their_bytes_are_bounded(void **state)
{
	const size_t size = 1u << 20;
	char *text = malloc(size);
	uint32_t named = 0;
	bool is_new;

	assert_non_null(text);
	memset(text, 'x', size);
	text[size - 1] = '\0';
	for (char c = 'a'; c <= 'z'; c++) {
		text[0] = c;
		named += names_id(*state, text, &is_new) != NAMES_OVERFLOW_ID;
	}
	assert_int_equal(named, NAMES_MAX_BYTES / size);
	assert_int_equal(names_id(*state, "small", &is_new), NAMES_OVERFLOW_ID);
	text[0] = 'a';
	assert_int_equal(names_id(*state, text, &is_new), 1);
	free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(equal_texts_are_one_name),       TEST(a_pointer_used_again_is_another_name),
		TEST(no_name_is_the_shared_id),       TEST(ids_match_a_model),
		TEST(the_number_of_names_is_bounded), TEST(their_bytes_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
