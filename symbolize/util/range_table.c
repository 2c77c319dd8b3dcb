/* SPDX-License-Identifier: MIT */
#include "symbolize/util/range_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "symbolize/util/sorted.h"

/* Ranges at the position of the sweep, and some that have ended, highest priority first. */
struct heap {
	const struct range **items;
	size_t count;
};

static void heap_push(struct heap *heap, const struct range *range)
{
	size_t i = heap->count++;

	for (; i > 0; i = (i - 1) / 2) {
		const struct range *parent = heap->items[(i - 1) / 2];

		if (parent->priority >= range->priority)
			break;
		heap->items[i] = parent;
	}
	heap->items[i] = range;
}

static void heap_pop(struct heap *heap)
{
	const struct range *moved = heap->items[--heap->count];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= heap->count)
			break;
		if (child + 1 < heap->count &&
		    heap->items[child + 1]->priority > heap->items[child]->priority)
			child++;
		if (moved->priority >= heap->items[child]->priority)
			break;
		heap->items[i] = heap->items[child];
		i = child;
	}
	heap->items[i] = moved;
}

static int compare_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	int order = sorted_compare(a, b);

	return order ? order : compare_numbers(x->priority, y->priority);
}

static void emit(struct range_table *table, uint64_t start, uint64_t end,
		 const struct range *source)
{
	struct range *last = table->count ? &table->pieces[table->count - 1] : NULL;

	if (last && last->end == start && last->id == source->id) {
		last->end = end;
		return;
	}
	table->pieces[table->count] = *source;
	table->pieces[table->count].start = start;
	table->pieces[table->count++].end = end;
}

/*
 * Sweeps over the ranges. Each round takes a range from the input or drops one from the heap: at
 * most 2n rounds.
 */
static void sweep(struct range_table *table, const struct range *ranges, size_t count,
		  struct heap *heap)
{
	uint64_t at = 0;
	size_t next = 0;

	while (next < count || heap->count) {
		uint64_t stop;

		if (heap->count == 0)
			at = ranges[next].start;
		while (next < count && ranges[next].start <= at) {
			if (ranges[next].end > at)
				heap_push(heap, &ranges[next]);
			next++;
		}
		while (heap->count && heap->items[0]->end <= at)
			heap_pop(heap);
		if (heap->count == 0)
			continue;
		stop = heap->items[0]->end;
		if (next < count && ranges[next].start < stop)
			stop = ranges[next].start;
		emit(table, at, stop, heap->items[0]);
		at = stop;
	}
}

static bool is_sorted(const struct range *ranges, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (compare_start(&ranges[i - 1], &ranges[i]) > 0)
			return false;
	return true;
}

int range_table_build(struct range_table *table, struct range *ranges, size_t count)
{
	struct heap heap = {0};
	struct range *shrunk;
	int err = 0;

	*table = (struct range_table){0};
	if (count == 0)
		return 0;
	if (!is_sorted(ranges, count))
		qsort(ranges, count, sizeof(*ranges), compare_start);
	heap.items = calloc(count, sizeof(*heap.items));
	table->pieces = calloc(count, 2 * sizeof(*table->pieces));
	if (!heap.items || !table->pieces) {
		range_table_release(table);
		err = -ENOMEM;
		goto out;
	}
	sweep(table, ranges, count, &heap);
	shrunk = realloc(table->pieces, (table->count + 1) * sizeof(*shrunk));
	if (shrunk)
		table->pieces = shrunk;
out:
	free(heap.items);
	return err;
}

uint32_t range_table_find(const struct range_table *table, uint64_t address)
{
	size_t count = sorted_count(table->pieces, table->count, sizeof(*table->pieces), address);

	return count > 0 && address < table->pieces[count - 1].end ? table->pieces[count - 1].id
								   : RANGE_NONE;
}

void range_table_release(struct range_table *table)
{
	free(table->pieces);
	*table = (struct range_table){0};
}
