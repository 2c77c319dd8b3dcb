/* SPDX-License-Identifier: MIT */
/* Texts of frames, and their meaning. */
#include "unit.h"
#include "profiler/model/pseudo_frames.h"

static void texts_say_what_they_are_for(void **state)
{
	static const struct {
		const char *text;
		enum pseudo_kind mark;
	} cases[] = {
		{PSEUDO_SPINNING, PSEUDO_KIND_SPINNING},
		{PSEUDO_THREAD_STARTED, PSEUDO_KIND_THREAD_STARTED},
		{PSEUDO_NO_STACK, PSEUDO_KIND_NO_OWN_STACK},
		{PSEUDO_THREADS_OF_PROFILE, PSEUDO_KIND_NO_OWN_STACK},
		{PSEUDO_THREADS_OF_DRIVER, PSEUDO_KIND_NO_OWN_STACK},
		{PSEUDO_RUNNABLE, PSEUDO_KIND_RUNNABLE},
		{PSEUDO_BLOCKED "futex]", PSEUDO_KIND_BLOCKED},
		{PSEUDO_IDLE_THREADS "]", PSEUDO_KIND_IDLE_THREADS},
		{PSEUDO_IDLE_THREADS " of worker]", PSEUDO_KIND_IDLE_THREADS},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(pseudo_kind_of(cases[i].text), cases[i].mark);
}

static void others_say_nothing(void **state)
{
	static const char *const texts[] = {"",
					    "[",
					    PSEUDO_TRUNCATED,
					    PSEUDO_WAITING,
					    "[blocked]",
					    PSEUDO_RUNNABLE " ",
					    "[runnable",
					    "main",
					    PSEUDO_SPINNING "x"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(pseudo_kind_of(texts[i]), PSEUDO_KIND_NOTHING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_say_what_they_are_for),
		cmocka_unit_test(others_say_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
