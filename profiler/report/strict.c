// SPDX-License-Identifier: MIT
#include "profiler/report/strict.h"

#include <inttypes.h>

struct check {
	struct log *log;
	bool is_report; /* else a check */
	bool has_passed;
};

static void expect_none(struct check *c, uint64_t count, const char *what)
{
	if (count == 0)
		return;
	if (!c->is_report)
		log_error(c->log, "--strict: %s: %" PRIu64, what, count);
	else
		log_line(c->log, "  %12" PRIu64 "   %s", count, what);
	c->has_passed = false;
}

static bool check(struct log *log, const struct ledger *l, uint64_t not_kept, bool is_report)
{
	struct check c = {log, is_report, true};

	expect_none(&c, l->gpu.unmatched, "GPU operations not matched with a launch");
	expect_none(&c, l->gpu.bad_times, "GPU operations without usable timestamps");
	expect_none(&c, l->gpu.sums - l->gpu.equal,
		    "CUPTI's own sums that differ from the profile's");
	expect_none(&c, l->gpu.uncompared, "CUPTI's own sums that were not compared");
	expect_none(&c, l->gpu.dropped, "GPU operations dropped");
	expect_none(&c, l->gpu.missing, "GPU operations sent that did not arrive");
	expect_none(&c, l->launches.unended, "kernel launches without a record of their kernel");
	expect_none(&c, l->launches.copies_unended, "copies and sets without a record");
	expect_none(&c, l->launches.dropped, "launches dropped");
	expect_none(&c, l->cpu.dropped, "CPU samples dropped");
	expect_none(&c, l->processes.not_followed, "processes not followed");
	expect_none(&c, l->pipe.wrong_totals,
		    "processes that reported a different sum of GPU time than arrived");
	expect_none(&c, l->pipe.without_goodbye, "traced processes that ended without a goodbye");
	expect_none(&c, l->pipe.lost_batches, "writes of traced processes lost");
	expect_none(&c, l->pipe.malformed, "malformed lines in the pipe");
	expect_none(&c, l->pipe.refused,
		    "lines in the pipe from processes that are not the command's");
	expect_none(&c, l->pipe.left, "bytes in the pipe not read");
	expect_none(&c, l->pipe.foreign_versions, "processes with another protocol version");
	expect_none(&c, l->gpu.unknown_kinds, "CUPTI records of an unknown kind");
	expect_none(&c,
		    l->calls.processes > l->pipe.without_cupti ? l->calls.processes
							       : l->pipe.without_cupti,
		    "processes without GPU time");
	expect_none(&c, l->processes.never_started, "processes in which tracing never started");
	expect_none(&c, l->bounds.stacks + not_kept, "stacks past the limit on distinct stacks");
	expect_none(&c, l->bounds.refused,
		    "names, mappings or stacks from the program past the limit");
	expect_none(&c, l->timeline.lost, "events missing from the timeline");
	expect_none(&c, l->timeline.lost_shapes, "kernels in the timeline without grid and block");
	expect_none(&c, l->counters.unlisted, "kernels in the timeline without their counters");
	expect_none(&c, l->bounds.out_of_memory, "events lost because memory was short");
	expect_none(&c, l->bounds.allocations, "allocations or releases not followed");
	expect_none(&c, l->bounds.late_allocations,
		    "allocations or releases that came too late for exact peaks");
	expect_none(&c, l->wall.lost, "threads whose times are not known");
	expect_none(&c, l->idle.lost, "records missing from idle times");
	expect_none(&c, l->stalls.dropped, "stall samples that the GPU dropped");
	expect_none(&c, l->stalls.lost, "stall samples for which there was no room");
	return c.has_passed;
}

bool strict_check(struct log *log, const struct ledger *ledger, uint64_t not_kept,
		  uint64_t lost_spans, uint32_t not_pushed)
{
	struct check c = {log, false, check(log, ledger, not_kept, false)};

	expect_none(&c, lost_spans, "spans that did not arrive");
	expect_none(&c, not_pushed, "engines that did not take the profile");
	return c.has_passed;
}

void strict_report(struct log *log, const struct ledger *ledger, uint64_t not_kept)
{
	struct log silent = {.level = LOG_ERRORS};

	if (check(&silent, ledger, not_kept, true)) {
		log_line(log, "Nothing was lost, and everything was matched.");
		return;
	}
	log_line(log, "        lost   or not matched");
	check(log, ledger, not_kept, true);
}
