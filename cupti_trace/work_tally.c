// SPDX-License-Identifier: MIT
#include "cupti_trace/work_tally.h"

#include <stdlib.h>
#include <string.h>

static uint32_t hash_key(const struct work_key *key)
{
	const uint32_t parts[] = {key->process, key->device, key->context, key->stream, key->work};
	uint64_t h = 0;

	for (int i = 0; i < 5; i++)
		h = (h ^ parts[i]) * 0x9e3779b97f4a7c15u;
	return (uint32_t)(h >> 32);
}

static struct work_sum *find_slot(const struct work_tally *tally, const struct work_key *key)
{
	uint32_t mask = tally->capacity - 1, at = hash_key(key) & mask;

	while (tally->sums[at].used && memcmp(&tally->sums[at].key, key, sizeof(*key)) != 0)
		at = (at + 1) & mask;
	return &tally->sums[at];
}

/* Room for one more. False when out of memory. */
static bool make_room(struct work_tally *tally)
{
	uint32_t capacity = tally->capacity ? tally->capacity * 2 : 64;
	struct work_tally bigger = {.capacity = capacity, .count = tally->count};

	if (tally->count * 2 < tally->capacity)
		return true;
	bigger.sums = calloc(capacity, sizeof(*bigger.sums));
	if (!bigger.sums)
		return tally->count + 1 < tally->capacity;
	for (uint32_t i = 0; i < tally->capacity; i++)
		if (tally->sums[i].used)
			*find_slot(&bigger, &tally->sums[i].key) = tally->sums[i];
	free(tally->sums);
	tally->sums = bigger.sums;
	tally->capacity = capacity;
	return true;
}

struct work_sum *work_tally_get(struct work_tally *tally, const struct work_key *key)
{
	struct work_key rest = {WORK_TALLY_REST, WORK_TALLY_REST, WORK_TALLY_REST, WORK_TALLY_REST,
				key->work};
	struct work_sum *sum = tally->capacity ? find_slot(tally, key) : NULL;

	if (sum && sum->used)
		return sum;
	if (tally->count >= WORK_TALLY_MAX && memcmp(key, &rest, sizeof(rest)) != 0) {
		tally->overflowed = true;
		return work_tally_get(tally, &rest);
	}
	if (!make_room(tally)) {
		tally->overflowed = true;
		return NULL;
	}
	sum = find_slot(tally, key);
	sum->key = *key;
	sum->used = 1;
	tally->count++;
	return sum;
}

const struct work_sum *work_tally_find(const struct work_tally *tally, const struct work_key *key)
{
	const struct work_sum *sum = tally->capacity ? find_slot(tally, key) : NULL;

	return sum && sum->used ? sum : NULL;
}

const struct work_sum *work_tally_next(const struct work_tally *tally, uint32_t *at)
{
	while (*at < tally->capacity) {
		const struct work_sum *sum = &tally->sums[(*at)++];

		if (sum->used)
			return sum;
	}
	return NULL;
}

void work_tally_release(struct work_tally *tally)
{
	free(tally->sums);
	memset(tally, 0, sizeof(*tally));
}
