// SPDX-License-Identifier: MIT
#include "profiler/profile.h"

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
	const struct profile_entry *a = (const struct profile_entry *)records + position;
	const struct profile_entry *b = key;

	return a->stack == b->stack && a->kernel == b->kernel;
}

static struct profile_entry *get_entry(struct profile *profile, uint32_t stack, const char *kernel)
{
	struct profile_entry wanted = {.stack = stack, .kernel = kernel};
	uint64_t h = ((uint64_t)(uintptr_t)kernel ^ ((uint64_t)stack << 32 | stack)) *
		     0x9e3779b97f4a7c15u;
	uint32_t hash = (uint32_t)(h >> 32);
	uint32_t at =
		hash_index_find(&profile->index, hash, entry_equal, profile->entries, &wanted);

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
	profile->entries[profile->count] = wanted;
	return &profile->entries[profile->count++];
}

int profile_add_sample(struct profile *profile, uint32_t stack)
{
	struct profile_entry *e = get_entry(profile, stack, NULL);

	if (!e)
		return -ENOMEM;
	e->count++;
	return 0;
}

int profile_add_kernel(struct profile *profile, uint32_t stack, const char *kernel,
		       uint64_t duration_ns)
{
	struct profile_entry *e = get_entry(profile, stack, kernel);

	if (!e)
		return -ENOMEM;
	e->count++;
	e->gpu_ns += duration_ns;
	return 0;
}

const struct profile_entry *profile_entries(const struct profile *profile, uint32_t *count)
{
	*count = profile->count;
	return profile->entries;
}
