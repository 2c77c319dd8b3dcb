/* SPDX-License-Identifier: MIT */
/* What the texts of frames say. */
#include "unit.h"
#include "profiler/model/marks.h"

static void texts_say_what_they_are_for(void **state)
{
	static const struct {
		const char *text;
		enum frame_mark mark;
	} cases[] = {
		{MARK_SPINNING, SAYS_SPINNING},
		{MARK_THREAD_STARTED, SAYS_THREAD_STARTED},
		{MARK_NO_STACK, SAYS_NO_OWN_STACK},
		{MARK_THREADS_OF_PROFILE, SAYS_NO_OWN_STACK},
		{MARK_THREADS_OF_DRIVER, SAYS_NO_OWN_STACK},
		{MARK_RUNNABLE, SAYS_RUNNABLE},
		{MARK_BLOCKED "futex]", SAYS_BLOCKED},
		{MARK_IDLE_THREADS "]", SAYS_IDLE_THREADS},
		{MARK_IDLE_THREADS " of worker]", SAYS_IDLE_THREADS},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(frame_mark_of(cases[i].text), cases[i].mark);
}

static void others_say_nothing(void **state)
{
	static const char *const texts[] = {"",           "[",         MARK_TRUNCATED,
					    MARK_WAITING, "[blocked]", MARK_RUNNABLE " ",
					    "[runnable",  "main",      MARK_SPINNING "x"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(frame_mark_of(texts[i]), SAYS_NOTHING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_say_what_they_are_for),
		cmocka_unit_test(others_say_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
