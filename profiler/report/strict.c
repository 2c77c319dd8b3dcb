// SPDX-License-Identifier: MIT
#include "profiler/report/strict.h"

#include <inttypes.h>

struct check {
	struct log *log;
	bool has_passed;
};

static void expect_none(struct check *c, uint64_t count, const char *what)
{
	if (count == 0)
		return;
	log_warn(c->log, "--strict: %" PRIu64 " %s", count, what);
	c->has_passed = false;
}

bool strict_check(struct log *log, const struct ledger *l)
{
	struct check c = {log, true};

	expect_none(&c, l->gpu.unmatched, "GPU operations are not matched with a launch");
	expect_none(&c, l->gpu.bad_times, "GPU operations have no usable timestamps");
	expect_none(&c, l->gpu.sums - l->gpu.equal,
		    "of CUPTI's own sums differ from the profile's");
	expect_none(&c, l->gpu.uncompared, "of CUPTI's own sums were not compared");
	expect_none(&c, l->gpu.dropped, "GPU operations were dropped");
	expect_none(&c, l->gpu.missing, "GPU operations were sent but did not arrive");
	expect_none(&c, l->launches.unended, "kernel launches have no record of their kernel");
	expect_none(&c, l->launches.dropped, "launches were dropped");
	expect_none(&c, l->cpu.dropped, "CPU samples were dropped");
	expect_none(&c, l->pipe.wrong_totals,
		    "processes reported a different sum of GPU time than arrived");
	expect_none(&c, l->pipe.without_goodbye, "traced processes ended without a goodbye");
	expect_none(&c, l->pipe.lost_batches, "writes of traced processes were lost");
	expect_none(&c, l->pipe.malformed, "lines in the pipe were malformed");
	expect_none(&c, l->pipe.refused,
		    "lines in the pipe came from processes that are not the command's");
	expect_none(&c, l->pipe.left, "bytes in the pipe were not read");
	expect_none(&c, l->pipe.foreign_versions, "processes sent another protocol version");
	expect_none(&c, l->gpu.unknown_kinds, "CUPTI records were of an unknown kind");
	expect_none(&c,
		    l->calls.processes > l->pipe.without_cupti ? l->calls.processes
							       : l->pipe.without_cupti,
		    "processes have no GPU time");
	expect_none(&c, l->bounds.stacks, "stacks exceeded the limit on distinct stacks");
	expect_none(&c, l->bounds.told,
		    "names, mappings or stacks from the program exceeded the limit");
	expect_none(&c, l->timeline.lost, "events are missing from the timeline");
	expect_none(&c, l->timeline.lost_shapes, "kernels in the timeline have no grid and block");
	expect_none(&c, l->bounds.out_of_memory, "events were lost because memory was short");
	return c.has_passed;
}
