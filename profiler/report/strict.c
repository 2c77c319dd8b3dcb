// SPDX-License-Identifier: MIT
#include "profiler/report/strict.h"

#include <inttypes.h>
#include "profiler/model/losses.h"

struct listing {
	struct log *log;
	bool is_incomplete; /* kind to list: incomplete data, or losses */
	uint32_t lines;
};

/* ---- --strict ---- */

static void complain(struct listing *l, uint64_t count, const char *what)
{
	if (count == 0)
		return;
	log_error(l->log, "--strict: %s: %" PRIu64, what, count);
	l->lines++;
}

static void complain_of_loss(void *context, const struct loss *loss)
{
	if (!loss->is_incomplete)
		complain(context, loss->count, loss->what);
}

bool strict_check(struct log *log, const struct totals *t, uint64_t not_kept, uint64_t lost_spans,
		  uint32_t not_pushed)
{
	struct listing l = {.log = log};

	losses_visit(t->ledger, not_kept, complain_of_loss, &l);
	complain(&l, lost_spans, "spans that did not arrive");
	complain(&l, not_pushed, "engines that did not take the profile");
	return l.lines == 0;
}

/* ---- the report ---- */

static void count_line(void *context, const struct loss *loss)
{
	struct listing *l = context;

	l->lines += loss->is_incomplete == l->is_incomplete;
}

static void print_line(void *context, const struct loss *loss)
{
	struct listing *l = context;

	if (loss->is_incomplete == l->is_incomplete)
		log_line(l->log, "  %12" PRIu64 "   %s", loss->count, loss->what);
}

void strict_report(struct log *log, const struct totals *t, uint64_t not_kept)
{
	struct listing lost = {.log = log}, incomplete = {.log = log, .is_incomplete = true};

	losses_visit(t->ledger, not_kept, count_line, &lost);
	losses_visit(t->ledger, not_kept, count_line, &incomplete);
	if (lost.lines)
		log_line(log, "        lost   or not matched");
	else
		log_line(log, "%s was lost, and everything was matched.",
			 incomplete.lines ? "No time" : "Nothing");
	losses_visit(t->ledger, not_kept, print_line, &lost);
	if (incomplete.lines)
		log_line(log, "  incomplete");
	losses_visit(t->ledger, not_kept, print_line, &incomplete);
}
