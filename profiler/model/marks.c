// SPDX-License-Identifier: MIT
#include "profiler/model/marks.h"

#include <stddef.h>

/* A text without a bracket at its end is the beginning of a frame's. */
static const struct {
	const char *text;
	enum frame_mark mark;
} marks[] = {
	{MARK_SPINNING, SAYS_SPINNING},
	{MARK_THREAD_STARTED, SAYS_THREAD_STARTED},
	{MARK_NO_STACK, SAYS_NO_OWN_STACK},
	{MARK_THREADS_OF_PROFILE, SAYS_NO_OWN_STACK},
	{MARK_THREADS_OF_DRIVER, SAYS_NO_OWN_STACK},
	{MARK_RUNNABLE, SAYS_RUNNABLE},
	{MARK_BLOCKED, SAYS_BLOCKED},
	{MARK_IDLE_THREADS, SAYS_IDLE_THREADS},
};

enum frame_mark frame_mark_of(const char *text)
{
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		size_t n = strlen(marks[i].text);

		if (strncmp(text, marks[i].text, n) == 0 &&
		    (marks[i].text[n - 1] != ']' || !text[n]))
			return marks[i].mark;
	}
	return SAYS_NOTHING;
}
