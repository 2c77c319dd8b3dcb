/* SPDX-License-Identifier: MIT */
/*
 * Growable arrays: a pointer, a count and a capacity that belong to the caller.
 *
 *	struct item *items = NULL;
 *	uint32_t count = 0, capacity = 0;
 *
 *	if (!array_make_room(&items, count, &capacity, sizeof(*items)))
 *		return -ENOMEM;
 *	items[count++] = item;
 *	...
 *	free(items);
 *
 * Capacities double, so adding one element costs constant time on average. Elements move when the
 * array grows: keep positions, not pointers.
 */
#ifndef SYMBOLIZE_UTIL_ARRAY_H
#define SYMBOLIZE_UTIL_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_FIRST_CAPACITY 16u

/*
 * Makes room for one more element after `count`. `items` is the address of the caller's pointer.
 * False when out of memory or positions: then nothing has changed.
 */
bool array_make_room(void *items, uint32_t count, uint32_t *capacity, size_t element_size);

/* Does the same for `more` elements at once. */
bool array_reserve(void *items, uint32_t count, uint32_t more, uint32_t *capacity,
		   size_t element_size);

/* Lengthens an array to `length` elements, if it has fewer; the new ones are zero. */
bool array_extend(void *items, uint32_t *count, uint32_t length, uint32_t *capacity,
		  size_t element_size);

#endif
