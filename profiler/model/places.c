// SPDX-License-Identifier: MIT
#include "profiler/model/places.h"

#include <errno.h>
#include <string.h>
#include "profiler/model/id_remap.h"

int places_init(struct places *places, uint32_t mask)
{
	const struct place nowhere = place_unknown();

	*places = (struct places){.mask = mask, .asked = nowhere};
	return record_add(places, &nowhere, &nowhere) == PLACE_NOWHERE.number ? 0 : -ENOMEM;
}

void places_release(struct places *places)
{
	record_set_release(&places->set);
	*places = (struct places){0};
}

struct place_id places_add(struct places *p, const struct place *place)
{
	struct place kept;
	bool is_reduced = false;
	uint32_t at;

	if (memcmp(&p->asked, place, sizeof(*place)) == 0)
		return (struct place_id){p->last};
	kept = place_unknown();
	for (uint32_t i = 0; i < PLACE_PARTS; i++)
		if (p->mask & 1u << i)
			kept.part[i] = place->part[i];
	if (memcmp(&p->list[p->last], &kept, sizeof(kept)) == 0) {
		p->asked = *place;
		return (struct place_id){p->last};
	}
	for (;;) {
		at = record_find(p, &kept);
		/* the last tenth is reserved for places with only a process */
		if (at == RECORD_NONE &&
		    p->count < (is_reduced ? PLACES_MAX : PLACES_MAX - PLACES_MAX / 10) &&
		    quota_take(p->memory, PLACE_BYTES))
			at = record_add(p, &kept, &kept);
		if (at != RECORD_NONE) {
			/* one with less detail is not the place that was asked for */
			p->asked = is_reduced ? kept : *place;
			p->last = at;
			return (struct place_id){at};
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

	for (uint32_t i = 0; i < p->count; i++) {
		if (numbers[i] == ID_UNUSED && i != PLACE_NOWHERE.number) {
			numbers[i] = PLACE_NOWHERE.number;
			continue;
		}
		p->list[left] = p->list[i];
		numbers[i] = left++;
	}
	quota_return(p->memory, (size_t)(p->count - left) * PLACE_BYTES);
	p->count = left;
	record_reindex(p, struct place);
	p->asked = place_unknown();
	p->last = PLACE_NOWHERE.number;
}
