// SPDX-License-Identifier: MIT
#include "profiler/findings/findings_private.h"

#include <inttypes.h>
#include "profiler/model/losses.h"
#include "symbolize/util/saturate.h"

static void count_loss(void *context, const struct loss *loss)
{
	uint64_t *count = context;

	if (!loss->is_incomplete)
		saturated_add(count, loss->count);
}

void findings_add_losses(struct making *m)
{
	const struct result *r = m->result;
	uint64_t lost = 0, kept = 0, all;

	losses_visit(r->totals.ledger, r->unnamed.not_kept, count_loss, &lost);
	saturated_add(&lost, r->totals.ledger->timeline.lost);
	if (!lost)
		return;
	for (uint32_t i = 0; i < r->row_count; i++)
		saturated_add(&kept, r->rows[i].count);
	all = saturated_sum(lost, kept);
	finding_add(m, (struct finding){.kind = FINDING_LOSSES,
					.claim = finding_text(m,
							      "%" PRIu64 " of %" PRIu64
							      " records are lost or not matched: "
							      "times and shares may be %.1f %% off",
							      lost, all, percent_of(lost, all)),
					.certainty = "counted",
					.next = FINDING_FROM "--query losses: what is missing",
					.from_ns = m->from_ns,
					.to_ns = m->to_ns});
}
