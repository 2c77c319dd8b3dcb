/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include <sys/mman.h>
#include <unistd.h>
#include "cupti_trace/core/names.h"

static void put_text(char *to, const char *text)
{
	memcpy(to, text, strlen(text) + 1);
}

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

/* A module is unloaded, and another module's names are at its addresses. */
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

/* Names in memory that goes, or that ends before they do, are lost; no read fails. */
static void names_of_modules_that_went_are_not_read_blindly(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory =
		mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *across = memory + page - 3, *endless = memory + 3 * page - 20;
	uint32_t plain, crossing;
	bool is_new;

	assert_true(memory != MAP_FAILED);
	put_text(memory, "plain");
	put_text(across, "crossing");
	plain = names_id(*state, memory, &is_new);
	crossing = names_id(*state, across, &is_new);
	assert_int_not_equal(plain, crossing);

	names_module_unloads(*state);
	assert_int_equal(names_id(*state, memory, &is_new), plain);
	assert_int_equal(names_id(*state, across, &is_new), crossing);
	assert_false(is_new);
	put_text(across, "another");
	assert_int_not_equal(names_id(*state, across, &is_new), crossing);
	assert_true(is_new);
	assert_string_equal(names_text(*state, names_id(*state, across, &is_new)), "another");

	/* the module goes only now: what was read meanwhile is not trusted either */
	memset(endless, 'x', 20);
	munmap(memory, page);
	munmap(memory + 3 * page, page);
	is_new = true;
	assert_int_equal(names_id(*state, memory, &is_new), NAMES_OVERFLOW_ID);
	assert_int_equal(names_id(*state, across, &is_new), NAMES_OVERFLOW_ID);
	assert_int_equal(names_id(*state, endless, &is_new), NAMES_OVERFLOW_ID);
	assert_false(is_new);
	munmap(memory + page, 2 * page);
}

static void a_long_name_of_a_module_that_went_is_whole(void **state)
{
	size_t n = 1 << 20;
	char *text = malloc(n + 1);
	bool is_new;
	uint32_t id;

	assert_non_null(text);
	memset(text, 'n', n);
	text[n] = '\0';
	names_module_unloads(*state);
	id = names_id(*state, text, &is_new);
	assert_true(is_new);
	assert_int_equal(strlen(names_text(*state, id)), n);
	assert_int_equal(names_id(*state, text, &is_new), id);
	free(text);
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
		TEST(equal_texts_are_one_name),
		TEST(a_pointer_used_again_is_another_name),
		TEST(names_of_modules_that_went_are_not_read_blindly),
		TEST(a_long_name_of_a_module_that_went_is_whole),
		TEST(no_name_is_the_shared_id),
		TEST(ids_match_a_model),
		TEST(the_number_of_names_is_bounded),
		TEST(their_bytes_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
