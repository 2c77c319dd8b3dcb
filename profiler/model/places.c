// SPDX-License-Identifier: MIT
#include "profiler/model/places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/model/numbers.h"
#include "symbolize/util/array.h"

static bool place_equal(const void *records, uint32_t position, const void *key)
{
	return memcmp((const struct place *)records + position, key, sizeof(struct place)) == 0;
}

/* The number, or HASH_INDEX_NONE when it cannot be kept. */
static uint32_t keep(struct places *p, const struct place *place, uint32_t hash)
{
	if (!allowance_take(p->memory, PLACE_BYTES) ||
	    !array_make_room(&p->list, p->count, &p->capacity, sizeof(*place)) ||
	    hash_index_add(&p->index, hash, p->count) != 0)
		return HASH_INDEX_NONE;
	p->list[p->count] = *place;
	return p->count++;
}

int places_init(struct places *places, uint32_t mask)
{
	const struct place nowhere = place_unknown();

	*places = (struct places){.mask = mask};
	return keep(places, &nowhere, hash_bytes(&nowhere, sizeof(nowhere))) == PLACE_NOWHERE
		       ? 0
		       : -ENOMEM;
}

void places_release(struct places *places)
{
	free(places->list);
	hash_index_release(&places->index);
	*places = (struct places){0};
}

uint32_t places_add(struct places *p, const struct place *place)
{
	struct place kept = place_unknown();
	bool is_reduced = false;
	uint32_t hash, at;

	for (uint32_t i = 0; i < PLACE_PARTS; i++)
		if (p->mask & 1u << i)
			kept.part[i] = place->part[i];
	if (memcmp(&p->list[p->last], &kept, sizeof(kept)) == 0)
		return p->last;
	for (;;) {
		hash = hash_bytes(&kept, sizeof(kept));
		at = hash_index_find(&p->index, hash, place_equal, p->list, &kept);
		/* the last tenth is reserved for places with only a process */
		if (at == HASH_INDEX_NONE &&
		    p->count < (is_reduced ? PLACES_MAX : PLACES_MAX - PLACES_MAX / 10))
			at = keep(p, &kept, hash);
		if (at != HASH_INDEX_NONE) {
			p->last = at;
			return at;
		}
		if (is_reduced)
			return PLACE_NOWHERE;
		is_reduced = true;
		for (uint32_t i = PLACE_THREAD; i < PLACE_PARTS; i++)
			kept.part[i] = PLACE_UNKNOWN;
	}
}

void places_forget(struct places *p, uint32_t *numbers)
{
	uint32_t left = 0;

	hash_index_clear(&p->index);
	for (uint32_t i = 0; i < p->count; i++) {
		if (numbers[i] == NUMBER_UNUSED && i != PLACE_NOWHERE) {
			numbers[i] = PLACE_NOWHERE;
			continue;
		}
		p->list[left] = p->list[i];
		/* cannot fail: there were more */
		hash_index_add(&p->index, hash_bytes(&p->list[left], sizeof(*p->list)), left);
		numbers[i] = left++;
	}
	allowance_return(p->memory, (size_t)(p->count - left) * PLACE_BYTES);
	p->count = left;
	p->last = PLACE_NOWHERE;
}
