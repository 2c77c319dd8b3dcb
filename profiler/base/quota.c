// SPDX-License-Identifier: MIT
#include "profiler/base/quota.h"

#include <string.h>

const char *quota_intern(struct quota *a, struct intern *strings, const char *text)
{
	const char *interned = intern_find(strings, text);
	size_t bytes = strlen(text) + INTERN_ENTRY_BYTES;

	if (interned)
		return interned;
	if (!quota_take(a, bytes))
		return NULL;
	interned = intern_string(strings, text);
	if (!interned)
		quota_return(a, bytes);
	return interned;
}
