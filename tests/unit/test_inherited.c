/* SPDX-License-Identifier: MIT */
/* The variables that the dynamic loader has dropped. */
#include "unit.h"
#include "profiler/run/inherited.h"

/* Texts as the kernel lays them out, and the bytes after them. */
static char texts[] =
	"HOME=/h\0LD_LIBRARY_PATH=/a:/b\0no variable\0=x\0TMPDIR=\0PATH=/bin\0./profile";
#define END (texts + sizeof(texts) - sizeof("./profile"))

static void texts_without_a_pointer_were_dropped(void **state)
{
	char *environment[] = {texts, END - sizeof("PATH=/bin"), NULL};
	struct dropped_environment dropped;
	char names[64];

	(void)state;
	dropped_environment_find(&dropped, texts, END, environment);
	assert_int_equal(dropped.count, 2);
	assert_string_equal(dropped.list[0], "LD_LIBRARY_PATH=/a:/b");
	assert_string_equal(dropped.list[1], "TMPDIR=");
	dropped_environment_names(&dropped, names, sizeof(names));
	assert_string_equal(names, "LD_LIBRARY_PATH, TMPDIR");
	dropped_environment_names(&dropped, names, 5);
	assert_string_equal(names, "LD_L");
	dropped_environment_find(&dropped, texts, texts, environment);
	assert_int_equal(dropped.count, 0);
	dropped_environment_find(&dropped, END, texts, environment);
	assert_int_equal(dropped.count, 0);
	/* a text without an end is none */
	dropped_environment_find(&dropped, texts, texts + 20, environment);
	assert_int_equal(dropped.count, 0);
}

static void they_are_not_endless(void **state)
{
	static char many[(DROPPED_VARIABLES_MAX + 5) * 4];
	char *environment[] = {NULL};
	struct dropped_environment dropped;

	(void)state;
	for (size_t i = 0; i < sizeof(many); i += 4)
		memcpy(many + i, "A=b", 4);
	dropped_environment_find(&dropped, many, many + sizeof(many), environment);
	assert_int_equal(dropped.count, DROPPED_VARIABLES_MAX);
}

/* A variable that has been set in the meantime stays. */
static void they_come_back(void **state)
{
	const struct dropped_environment dropped = {
		.list = {"PROFILE_TEST_A=1=2", "PROFILE_TEST_B=old", "PROFILE_TEST_C="},
		.count = 3};

	(void)state;
	setenv("PROFILE_TEST_B", "new", 1);
	dropped_environment_restore(&dropped);
	assert_string_equal(getenv("PROFILE_TEST_A"), "1=2");
	assert_string_equal(getenv("PROFILE_TEST_B"), "new");
	assert_string_equal(getenv("PROFILE_TEST_C"), "");
}

/* A program without capabilities of its file has lost none. */
static void nothing_is_dropped_here(void **state)
{
	struct dropped_environment dropped = {.count = 1};
	char *argv[] = {texts, NULL};

	(void)state;
	dropped_environment_note(&dropped, 1, argv);
	assert_int_equal(dropped.count, 0);
	dropped_environment_note(&dropped, 0, argv);
	assert_int_equal(dropped.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_without_a_pointer_were_dropped),
		cmocka_unit_test(they_are_not_endless),
		cmocka_unit_test(they_come_back),
		cmocka_unit_test(nothing_is_dropped_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
