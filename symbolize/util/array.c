// SPDX-License-Identifier: MIT
#include "symbolize/util/array.h"

#include <stdlib.h>
#include <string.h>

bool array_reserve(void *items, uint32_t count, uint32_t more, uint32_t *capacity,
		   size_t element_size)
{
	uint32_t bigger = *capacity ? *capacity : ARRAY_FIRST_CAPACITY;
	void *old, *grown;
	size_t bytes;

	if (more > UINT32_MAX - count)
		return false;
	if (count + more <= *capacity)
		return true;
	while (bigger < count + more)
		bigger = bigger > UINT32_MAX / 2 ? UINT32_MAX : bigger * 2;
	if (__builtin_mul_overflow((size_t)bigger, element_size, &bytes))
		return false;
	/* the type of the pointer is unknown here: copy its bytes */
	memcpy(&old, items, sizeof(old));
	grown = realloc(old, bytes);
	if (!grown)
		return false;
	memcpy(items, &grown, sizeof(grown));
	*capacity = bigger;
	return true;
}

bool array_make_room(void *items, uint32_t count, uint32_t *capacity, size_t element_size)
{
	return array_reserve(items, count, 1, capacity, element_size);
}

bool array_extend(void *items, uint32_t *count, uint32_t length, uint32_t *capacity,
		  size_t element_size)
{
	char *list;

	if (length <= *count)
		return true;
	if (!array_reserve(items, *count, length - *count, capacity, element_size))
		return false;
	memcpy(&list, items, sizeof(list));
	memset(list + *count * element_size, 0, (length - *count) * element_size);
	*count = length;
	return true;
}
