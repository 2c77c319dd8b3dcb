/* SPDX-License-Identifier: MIT */
/*
 * Grows arrays: a pointer, a count and a capacity that belong to the caller.
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
 * Capacities double, so adding an element takes constant time on average. Elements move when the
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
 * Returns false when out of memory or positions; then nothing has changed.
 */
bool array_make_room(void *items, uint32_t count, uint32_t *capacity, size_t element_size);

/* Makes room for `more` elements after `count`, as array_make_room does for one. */
bool array_reserve(void *items, uint32_t count, uint32_t more, uint32_t *capacity,
		   size_t element_size);

/* Lengthens an array to `length` elements if it has fewer. New elements are zero. */
bool array_extend(void *items, uint32_t *count, uint32_t length, uint32_t *capacity,
		  size_t element_size);

#endif
