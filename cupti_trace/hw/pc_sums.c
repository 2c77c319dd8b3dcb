// SPDX-License-Identifier: MIT
#include "cupti_trace/hw/pc_sums.h"

#include <stdlib.h>
#include <string.h>
#include "symbolize/util/sorted.h"

bool pc_sums_add(struct pc_sums *sums, const struct pc_place *place, uint64_t samples)
{
	uint32_t at = record_find(sums, place);

	if (at == RECORD_NONE && sums->count < (sums->max ? sums->max : PC_SUMS_MAX))
		at = record_add(sums, place, &((struct pc_sum){.place = *place}));
	if (at == RECORD_NONE)
		return false;
	sums->list[at].samples += samples;
	return true;
}

static int by_place(const void *a, const void *b)
{
	const struct pc_place *x = &((const struct pc_sum *)a)->place;
	const struct pc_place *y = &((const struct pc_sum *)b)->place;
	int order = compare_numbers(x->correlation_id, y->correlation_id);

	order = order ? order : compare_numbers(x->name_id, y->name_id);
	order = order ? order : compare_numbers(x->cubin_crc, y->cubin_crc);
	order = order ? order : compare_numbers(x->pc, y->pc);
	return order ? order : compare_numbers(x->stall, y->stall);
}

/* Sends as many sums from `from` on as fit one line. Returns their number. */
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
	hash_index_release(&sums->set.index);
	sums->count = 0;
}

void pc_sums_release(struct pc_sums *sums)
{
	record_set_release(&sums->set);
}
