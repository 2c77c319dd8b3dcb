// SPDX-License-Identifier: MIT
#include "profiler/base/allowance.h"

#include <string.h>

const char *allowance_intern(struct allowance *a, struct intern *strings, const char *text)
{
	const char *interned = intern_find(strings, text);
	size_t bytes = strlen(text) + INTERN_ENTRY_BYTES;

	if (interned)
		return interned;
	if (!allowance_take(a, bytes))
		return NULL;
	interned = intern_string(strings, text);
	if (!interned)
		allowance_return(a, bytes);
	return interned;
}
