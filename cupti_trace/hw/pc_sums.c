// SPDX-License-Identifier: MIT
#include "cupti_trace/hw/pc_sums.h"

#include <stdlib.h>
#include <string.h>
#include "symbolize/util/array.h"

static bool has_place(const void *records, uint32_t position, const void *key)
{
	return memcmp(&((const struct pc_sum *)records)[position].place, key,
		      sizeof(struct pc_place)) == 0;
}

bool pc_sums_add(struct pc_sums *sums, const struct pc_place *place, uint64_t samples)
{
	uint32_t hash = hash_bytes(place, sizeof(*place));
	uint32_t at = hash_index_find(&sums->index, hash, has_place, sums->list, place);

	if (at == HASH_INDEX_NONE) {
		if (sums->count == (sums->max ? sums->max : PC_SUMS_MAX) ||
		    !array_make_room(&sums->list, sums->count, &sums->capacity,
				     sizeof(*sums->list)) ||
		    hash_index_add(&sums->index, hash, sums->count) != 0)
			return false;
		at = sums->count++;
		sums->list[at] = (struct pc_sum){.place = *place};
	}
	sums->list[at].samples += samples;
	return true;
}

static int by_place(const void *a, const void *b)
{
	const struct pc_place *x = &((const struct pc_sum *)a)->place;
	const struct pc_place *y = &((const struct pc_sum *)b)->place;

	if (x->correlation_id != y->correlation_id)
		return x->correlation_id < y->correlation_id ? -1 : 1;
	if (x->name_id != y->name_id)
		return x->name_id < y->name_id ? -1 : 1;
	if (x->cubin_crc != y->cubin_crc)
		return x->cubin_crc < y->cubin_crc ? -1 : 1;
	if (x->pc != y->pc)
		return x->pc < y->pc ? -1 : 1;
	return x->stall < y->stall ? -1 : x->stall > y->stall;
}

/* Sends those from `from` on that fit one line. Returns how many. */
static uint32_t send_line(const struct pc_sums *sums, uint32_t from, struct sink *sink)
{
	const struct pc_place *first = &sums->list[from].place;
	struct gpu_pc_count counts[GPU_PC_LINE_COUNTS];
	struct gpu_event event = {.type = GPU_EVENT_PCS,
				  .pcs = {.name_id = first->name_id,
					  .cubin_crc = first->cubin_crc,
					  .correlation_id = first->correlation_id,
					  .counts = counts}};
	uint32_t n = 0;

	for (; n < GPU_PC_LINE_COUNTS && from + n < sums->count; n++) {
		const struct pc_sum *sum = &sums->list[from + n];

		if (sum->place.correlation_id != first->correlation_id ||
		    sum->place.name_id != first->name_id ||
		    sum->place.cubin_crc != first->cubin_crc)
			break;
		counts[n] = (struct gpu_pc_count){
			.pc = sum->place.pc, .stall = sum->place.stall, .samples = sum->samples};
	}
	event.pcs.count = n;
	sink_put(sink, &event);
	return n;
}

void pc_sums_send(struct pc_sums *sums, struct sink *sink)
{
	if (sums->count == 0)
		return;
	qsort(sums->list, sums->count, sizeof(*sums->list), by_place);
	for (uint32_t i = 0; i < sums->count;)
		i += send_line(sums, i, sink);
	hash_index_release(&sums->index);
	sums->index = (struct hash_index){.used = 0};
	sums->count = 0;
}

void pc_sums_release(struct pc_sums *sums)
{
	hash_index_release(&sums->index);
	free(sums->list);
	*sums = (struct pc_sums){.count = 0};
}
