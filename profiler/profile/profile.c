// SPDX-License-Identifier: MIT
#include "profiler/profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include "symbolize/hash_index.h"

struct profile {
	struct profile_entry *entries;
	uint32_t count, capacity;
	struct hash_index index;
};

struct profile *profile_new(void)
{
	return calloc(1, sizeof(struct profile));
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	free(profile->entries);
	hash_index_release(&profile->index);
	free(profile);
}

static bool entry_equal(const void *records, uint32_t position, const void *key)
{
	const struct profile_key *a = &((const struct profile_entry *)records + position)->key;
	const struct profile_key *b = key;

	return a->stack == b->stack && a->name == b->name && a->capture == b->capture &&
	       a->group == b->group && a->work == b->work && a->waiter == b->waiter;
}

static uint32_t hash_key(const struct profile_key *key)
{
	uint64_t h = (uint64_t)(uintptr_t)key->name;

	h = (h ^ ((uint64_t)key->stack << 32 | key->capture)) * 0x9e3779b97f4a7c15u;
	h = (h ^ h >> 32 ^ ((uint64_t)key->group << 32 | key->work)) * 0x9e3779b97f4a7c15u;
	h = (h ^ key->waiter) * 0x9e3779b97f4a7c15u;
	return (uint32_t)(h >> 32);
}

static struct profile_entry *get_entry(struct profile *profile, const struct profile_key *key)
{
	uint32_t hash = hash_key(key);
	uint32_t at = hash_index_find(&profile->index, hash, entry_equal, profile->entries, key);

	if (at != HASH_INDEX_NONE)
		return &profile->entries[at];
	if (profile->count == profile->capacity) {
		uint32_t capacity = profile->capacity ? profile->capacity * 2 : 256;
		struct profile_entry *e = realloc(profile->entries, capacity * sizeof(*e));

		if (!e)
			return NULL;
		profile->entries = e;
		profile->capacity = capacity;
	}
	if (hash_index_add(&profile->index, hash, profile->count) != 0)
		return NULL;
	profile->entries[profile->count] = (struct profile_entry){.key = *key};
	return &profile->entries[profile->count++];
}

int profile_add_sample(struct profile *profile, uint32_t stack, uint32_t group)
{
	struct profile_key key = {.stack = stack, .capture = PROFILE_NO_CAPTURE, .group = group};
	struct profile_entry *e = get_entry(profile, &key);

	if (!e)
		return -ENOMEM;
	e->count++;
	return 0;
}

int profile_add_work(struct profile *profile, const struct profile_key *key, uint64_t duration_ns,
		     uint64_t bytes)
{
	struct profile_entry *e = get_entry(profile, key);

	if (!e)
		return -ENOMEM;
	e->count++;
	e->gpu_ns += duration_ns;
	e->bytes += bytes;
	return 0;
}

const struct profile_entry *profile_entries(const struct profile *profile, uint32_t *count)
{
	*count = profile->count;
	return profile->entries;
}
