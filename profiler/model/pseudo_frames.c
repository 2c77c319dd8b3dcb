// SPDX-License-Identifier: MIT
#include "profiler/model/pseudo_frames.h"

#include <stddef.h>

/* Texts without a final bracket are prefixes. */
static const struct {
	const char *text;
	enum pseudo_kind mark;
} marks[] = {
	{PSEUDO_SPINNING, PSEUDO_KIND_SPINNING},
	{PSEUDO_THREAD_STARTED, PSEUDO_KIND_THREAD_STARTED},
	{PSEUDO_NO_STACK, PSEUDO_KIND_NO_OWN_STACK},
	{PSEUDO_THREADS_OF_PROFILE, PSEUDO_KIND_NO_OWN_STACK},
	{PSEUDO_THREADS_OF_DRIVER, PSEUDO_KIND_NO_OWN_STACK},
	{PSEUDO_RUNNABLE, PSEUDO_KIND_RUNNABLE},
	{PSEUDO_BLOCKED, PSEUDO_KIND_BLOCKED},
	{PSEUDO_IDLE_THREADS, PSEUDO_KIND_IDLE_THREADS},
};

enum pseudo_kind pseudo_kind_of(const char *text)
{
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		size_t n = strlen(marks[i].text);

		if (strncmp(text, marks[i].text, n) == 0 &&
		    (marks[i].text[n - 1] != ']' || !text[n]))
			return marks[i].mark;
	}
	return PSEUDO_KIND_NOTHING;
}
