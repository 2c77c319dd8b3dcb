// SPDX-License-Identifier: MIT
#include "profiler/model/stall_places.h"

#include "profiler/model/ledger.h"
#include "symbolize/util/saturate.h"

static bool is_measured(const struct measure *measure)
{
	return measure->stall_period != 0;
}

static void lose(struct ledger *ledger, const void *row)
{
	const struct stall_place *place = row;

	if (place->offset == STALL_PLACE_ALL)
		saturated_add(&ledger->stalls.unlocated, place->samples);
}

/* Rows of merged runs are summed where they are shown. */
static const struct table_column columns[] = {
	TABLE_COLUMN(stall_place, kernel, .cell = CELL_KERNEL),
	TABLE_COLUMN(stall_place, reason, .cell = CELL_TEXT),
	TABLE_COLUMN(stall_place, offset),
	TABLE_COLUMN(stall_place, samples, .is_positive = true),
};

const struct table_kind stall_places_table = {TABLE_KIND(stall_place, columns), .field = 26,
					      .most_rows = STALL_PLACES_MAX,
					      .is_measured = is_measured, .lose = lose};
