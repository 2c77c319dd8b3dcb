// SPDX-License-Identifier: MIT
#include "profiler/profile/stack_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/hash_index.h"

struct stack {
	uint64_t first; /* index into frames */
	uint32_t count;
};

struct stack_table {
	struct frame *frames;
	uint64_t frame_count, frame_capacity;
	struct stack *stacks;
	uint32_t stack_count, stack_capacity;
	struct hash_index index;
};

struct stack_table *stack_table_new(void)
{
	return calloc(1, sizeof(struct stack_table));
}

void stack_table_free(struct stack_table *table)
{
	if (!table)
		return;
	free(table->frames);
	free(table->stacks);
	hash_index_release(&table->index);
	free(table);
}

struct wanted {
	const struct stack_table *table;
	const struct frame *frames;
	uint32_t count;
};

static bool stack_equal(const void *records, uint32_t position, const void *key)
{
	const struct stack *s = (const struct stack *)records + position;
	const struct wanted *w = key;

	if (s->count != w->count || w->count == 0) /* no frames: nothing to point to either */
		return s->count == w->count;
	return memcmp(w->table->frames + s->first, w->frames, w->count * sizeof(*w->frames)) == 0;
}

/* Whole words at a time: this runs for every launch and sample. */
static uint32_t hash_frames(const struct frame *frames, uint32_t count)
{
	uint64_t h = count;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t words[sizeof(struct frame) / sizeof(uint64_t)];

		memcpy(words, &frames[i], sizeof(words));
		for (size_t j = 0; j < sizeof(words) / sizeof(words[0]); j++) {
			h = (h ^ words[j]) * 0x9e3779b97f4a7c15u;
			h ^= h >> 29;
		}
	}
	return (uint32_t)(h >> 32) ^ (uint32_t)h;
}

static int reserve(struct stack_table *table, uint32_t count)
{
	if (table->frame_count + count > table->frame_capacity) {
		uint64_t capacity = (table->frame_capacity + count) * 2;
		struct frame *frames = realloc(table->frames, capacity * sizeof(*frames));

		if (!frames)
			return -ENOMEM;
		table->frames = frames;
		table->frame_capacity = capacity;
	}
	if (table->stack_count == table->stack_capacity) {
		uint32_t capacity = table->stack_capacity ? table->stack_capacity * 2 : 256;
		struct stack *stacks = realloc(table->stacks, capacity * sizeof(*stacks));

		if (!stacks)
			return -ENOMEM;
		table->stacks = stacks;
		table->stack_capacity = capacity;
	}
	return 0;
}

int stack_table_add(struct stack_table *table, const struct frame *frames, uint32_t count,
		    uint32_t *id)
{
	struct wanted wanted = {table, frames, count};
	uint32_t hash = hash_frames(frames, count);
	uint32_t at = hash_index_find(&table->index, hash, stack_equal, table->stacks, &wanted);

	if (at != HASH_INDEX_NONE) {
		*id = at;
		return 0;
	}
	if (reserve(table, count) != 0 || hash_index_add(&table->index, hash, table->stack_count))
		return -ENOMEM;
	*id = table->stack_count++;
	table->stacks[*id] = (struct stack){table->frame_count, count};
	if (count)
		memcpy(table->frames + table->frame_count, frames, count * sizeof(*frames));
	table->frame_count += count;
	return 0;
}

const struct frame *stack_table_get(const struct stack_table *table, uint32_t id, uint32_t *count)
{
	*count = table->stacks[id].count;
	return table->frames + table->stacks[id].first;
}

uint32_t stack_table_count(const struct stack_table *table)
{
	return table->stack_count;
}
