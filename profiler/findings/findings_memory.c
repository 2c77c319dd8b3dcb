// SPDX-License-Identifier: MIT
#include "profiler/findings/findings_private.h"

#include <inttypes.h>
#include <string.h>
#include "profiler/findings/site_sums.h"
#include "profiler/model/copied_memory.h"
#include "profiler/model/memory_use.h"
#include "profiler/tables/memory_place.h"
#include "symbolize/util/saturate.h"

#define COPIES_MIN 3.0 /* percent of the GPU time */

/* ---- copies of pageable memory ---- */

/* Returns the function of a stack of a table, which is one of the result before any view. */
static const struct frame_info *site_of(const struct making *m, uint32_t stack)
{
	const struct result *whole = result_whole(m->result);

	return whole == m->findings->result ? findings_site(m->findings, stack)
					    : hot_spots_site(whole, stack);
}

void findings_add_copies(struct making *m)
{
	const struct result_table *table =
		result_tables_find(m->result->tables, &copied_memory_table);
	struct copied_memory all = {.copies = 0};
	char total[QUANTITY_BYTES], bytes[QUANTITY_BYTES], name[FINDING_NAME_BYTES];
	struct site_sums sites = {.all.count = 0};

	if (m->result->is_part)
		return; /* the table is of the whole run */
	for (uint32_t i = 0; table && i < table->count; i++) {
		const struct copied_memory *row = result_table_row(table, &copied_memory_table, i);

		if (strcmp(row->memory, COPIED_PAGEABLE) != 0)
			continue;
		saturated_add(&all.copies, row->copies);
		saturated_add(&all.bytes, row->bytes);
		saturated_add(&all.ns, row->ns);
		site_sums_add(&sites, site_of(m, row->stack), row->ns);
	}
	if (all.ns && sites.all.count && percent_of(all.ns, findings_gpu_ns(m)) >= COPIES_MIN)
		finding_add(
			m,
			(struct finding){
				.kind = FINDING_COPIES,
				.claim = finding_text(
					m,
					"%" PRIu64 " copies of pageable memory take %s, %.1f %% of "
					"the GPU time (%s); most by %s",
					all.copies, time_text(total, (double)all.ns),
					percent_of(all.ns, findings_gpu_ns(m)),
					bytes_text(bytes, all.bytes),
					finding_name(name, site_sums_largest(&sites)->frame)),
				.certainty = "measured",
				.next = "pinned memory is copied faster, and beside kernels",
				.from_ns = m->from_ns,
				.to_ns = m->to_ns});
	site_sums_release(&sites);
}

/* ---- memory ---- */

/* Finds the largest peak of a device's memory. NULL: memory was not followed. */
static const struct memory_total *largest_peak(const struct memory_use *use, uint32_t *number)
{
	const struct memory_total *largest = NULL;

	for (uint32_t i = 0; i < use->total_count; i++)
		if (use->totals[i].kind == MEMORY_OF_DEVICE &&
		    (!largest || use->totals[i].peak_bytes > largest->peak_bytes)) {
			largest = &use->totals[i];
			*number = i;
		}
	return largest && largest->peak_bytes ? largest : NULL;
}

void findings_add_memory(struct making *m)
{
	struct memory_use use;
	const struct memory_total *peak;
	const struct site_sum *site;
	uint32_t number = 0;
	char bytes[QUANTITY_BYTES], name[FINDING_NAME_BYTES], where[MEMORY_PLACE_BYTES];
	struct site_sums sites = {.all.count = 0};

	if (m->result->is_part)
		return; /* memory is of the whole run */
	memory_use_of(m->result->tables, &use);
	peak = largest_peak(&use, &number);
	for (uint32_t i = 0; peak && i < use.row_count; i++)
		if (use.rows[i].total == number)
			site_sums_add(&sites, site_of(m, use.rows[i].stack),
				      use.rows[i].peak_bytes);
	site = site_sums_largest(&sites);
	if (peak && site)
		finding_add(
			m,
			(struct finding){
				.kind = FINDING_MEMORY,
				.claim = finding_text(
					m,
					"memory peaks at %s (%s) at %.3f s; %.1f %% of it was "
					"allocated by %s",
					bytes_text(bytes, peak->peak_bytes),
					memory_place_text(m->result, peak, where),
					finding_seconds(m, peak->peak_ns),
					percent_of(site->amount, peak->peak_bytes),
					finding_name(name, site->frame)),
				.certainty = "measured",
				.next = FINDING_FROM "--weight peak -o memory.html: who holds it",
				.from_ns = m->from_ns,
				.to_ns = m->to_ns});
	site_sums_release(&sites);
}
