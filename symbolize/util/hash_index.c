/* SPDX-License-Identifier: MIT */
#include "symbolize/util/hash_index.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_CAPACITY 64

static void place(struct hash_index *index, struct hash_slot slot)
{
	uint32_t mask = index->capacity - 1;
	uint32_t i = slot.hash & mask;

	while (index->slots[i].position != HASH_INDEX_NONE)
		i = (i + 1) & mask;
	index->slots[i] = slot;
}

static int grow(struct hash_index *index)
{
	struct hash_index bigger = {.used = index->used};

	if (index->capacity > UINT32_MAX / 4)
		return -ENOMEM;
	bigger.capacity = index->capacity ? index->capacity * 2 : FIRST_CAPACITY;
	bigger.slots = malloc(bigger.capacity * sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < bigger.capacity; i++)
		bigger.slots[i].position = HASH_INDEX_NONE;
	for (uint32_t i = 0; i < index->capacity; i++)
		if (index->slots[i].position != HASH_INDEX_NONE)
			place(&bigger, index->slots[i]);
	free(index->slots);
	*index = bigger;
	return 0;
}

int hash_index_add(struct hash_index *index, uint32_t hash, uint32_t position)
{
	/* At most half full, so that probe sequences stay short. */
	if (index->used >= index->capacity / 2) {
		int err = grow(index);

		if (err)
			return err;
	}
	place(index, (struct hash_slot){.hash = hash, .position = position});
	index->used++;
	return 0;
}

/* Returns the number of the slot, or HASH_INDEX_NONE. */
static uint32_t find_slot(const struct hash_index *index, uint32_t hash, uint32_t position)
{
	uint32_t mask = index->capacity - 1, i;

	if (index->capacity == 0)
		return HASH_INDEX_NONE;
	for (i = hash & mask; index->slots[i].position != position; i = (i + 1) & mask)
		if (index->slots[i].position == HASH_INDEX_NONE)
			return HASH_INDEX_NONE;
	return i;
}

void hash_index_move(struct hash_index *index, uint32_t hash, uint32_t from, uint32_t to)
{
	uint32_t i = find_slot(index, hash, from);

	if (i != HASH_INDEX_NONE)
		index->slots[i].position = to;
}

void hash_index_remove(struct hash_index *index, uint32_t hash, uint32_t position)
{
	uint32_t mask = index->capacity - 1;
	uint32_t hole = find_slot(index, hash, position);

	if (hole == HASH_INDEX_NONE)
		return;
	/* Closes the gap, so that no probe sequence through it stops early (Knuth's 6.4 R). */
	for (uint32_t i = (hole + 1) & mask; index->slots[i].position != HASH_INDEX_NONE;
	     i = (i + 1) & mask) {
		uint32_t home = index->slots[i].hash & mask;

		if (((i - home) & mask) >= ((i - hole) & mask)) {
			index->slots[hole] = index->slots[i];
			hole = i;
		}
	}
	index->slots[hole].position = HASH_INDEX_NONE;
	index->used--;
}

void hash_index_clear(struct hash_index *index)
{
	for (uint32_t i = 0; i < index->capacity; i++)
		index->slots[i].position = HASH_INDEX_NONE;
	index->used = 0;
}

void hash_index_release(struct hash_index *index)
{
	free(index->slots);
	*index = (struct hash_index){0};
}
