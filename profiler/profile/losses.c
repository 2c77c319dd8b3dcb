// SPDX-License-Identifier: MIT
#include "profiler/profile/losses.h"

#include "symbolize/util/saturate.h"

static uint64_t without_gpu_time(const struct ledger *l)
{
	return l->calls.processes > l->pipe.without_cupti ? l->calls.processes
							  : l->pipe.without_cupti;
}

/* One that ended by _exit lacks the launches that have no record, which count by themselves. */
static uint64_t unknown_ends(const struct ledger *l)
{
	uint64_t known = (uint64_t)l->pipe.killed + l->pipe.exited;

	return l->pipe.without_goodbye > known ? l->pipe.without_goodbye - known : 0;
}

void losses_visit(const struct ledger *l, bool alone, uint64_t not_kept, loss_visitor visit,
		  void *context)
{
	const struct loss losses[] = {
		{"GPU operations not matched with a launch", l->gpu.unmatched, false},
		{"GPU operations without usable timestamps", l->gpu.bad_times, false},
		{"CUPTI's own sums that differ from the profile's", l->gpu.sums - l->gpu.equal,
		 false},
		{"CUPTI's own sums that were not compared", l->gpu.uncompared, false},
		{"GPU operations dropped", l->gpu.dropped, false},
		{"GPU operations sent that did not arrive", l->gpu.missing, false},
		{"kernel launches without a record of their kernel", l->launches.unended, false},
		{"copies and sets without a record", l->launches.copies_unended, false},
		{"launches dropped", l->launches.dropped, false},
		{"launches with the correlation id of another", l->launches.confused, false},
		{"CPU samples dropped", l->cpu.dropped, false},
		{"timed CUDA calls lost", l->calls.lost, false},
		{"processes not followed", l->processes.not_followed, false},
		{"processes that reported a different sum of GPU time than arrived",
		 l->pipe.wrong_totals, false},
		{"traced processes that were killed", l->pipe.killed, false},
		{"traced processes that ended without a goodbye", unknown_ends(l), false},
		{"writes of traced processes lost", l->pipe.lost_batches, false},
		{alone ? "malformed lines in the trace" : "malformed lines in the pipe",
		 l->pipe.malformed, false},
		{alone ? "lines in the trace from programs that are not in the profile"
		       : "lines in the pipe from processes that are not the command's",
		 l->pipe.refused, false},
		{alone ? "bytes in the trace not read" : "bytes in the pipe not read", l->pipe.left,
		 false},
		{"processes with another protocol version", l->pipe.foreign_versions, false},
		{"CUPTI records of an unknown kind", l->gpu.unknown_kinds, false},
		{"processes without GPU time", without_gpu_time(l), false},
		{"processes in which tracing never started", l->processes.never_started, false},
		{"stacks past the limit on distinct stacks",
		 saturated_sum(l->bounds.stacks, not_kept), false},
		{"names, mappings or stacks from the program past the limit", l->bounds.refused,
		 false},
		{"NVTX ranges past a limit, without their names", l->bounds.ranges, false},
		{"events missing from the timeline", l->timeline.lost, false},
		{"kernels in the timeline without grid and block", l->timeline.lost_shapes, false},
		{"kernels in the timeline without their counters", l->counters.unlisted, false},
		{"programs past the limit on programs at one time", l->bounds.programs, false},
		{"events lost because memory was short", l->bounds.out_of_memory, false},
		{"allocations or releases not followed", l->bounds.allocations, false},
		{"allocations or releases that came too late for exact peaks",
		 l->bounds.late_allocations, false},
		{"threads whose times are not known", l->wall.lost, false},
		{"records missing from idle times", l->idle.lost, false},
		{"stall samples that the GPU dropped", l->stalls.dropped, false},
		{"stall samples for which there was no room", l->stalls.lost, false},

		{"stacks cut, which begin at [truncated]", l->bounds.truncated, true},
		{"stacks without their Python functions", l->python.missing, true},
		{"stacks with Python functions in an unknown place", l->python.unordered, true},
		{"mapping records lost: some frames may be [unknown]", l->processes.lost_records,
		 true},
		{"threads whose creation was not seen", l->processes.lost_threads, true},
		{"processes that ran on after the command, not sampled then", l->cpu.after_end,
		 true},
		{"NVTX ranges with N for the numbers in their names", l->bounds.folded_ranges,
		 true},
		{"graph launches without any record, perhaps of empty graphs",
		 l->launches.graphs_unended, true},
	};

	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		if (losses[i].count)
			visit(context, &losses[i]);
}
