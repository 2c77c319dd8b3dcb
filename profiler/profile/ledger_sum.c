// SPDX-License-Identifier: MIT
#include "profiler/profile/ledger_sum.h"

#include <stddef.h>
#include <string.h>
#include "symbolize/util/saturate.h"

#define AT(member) offsetof(struct ledger, member)

/* Counts of 64 bits. */
static const uint16_t counts[] = {
	AT(cpu.samples),
	AT(cpu.whole),
	AT(cpu.dropped),
	AT(cpu.in_calls),
	AT(cpu.after_end),
	AT(cpu.used_ns),
	AT(cpu.not_sampled_ns),
	AT(cpu.handed),
	AT(cpu.apart),
	AT(launches.kernels),
	AT(launches.with_stack),
	AT(launches.by_probe),
	AT(launches.whole),
	AT(launches.skipped),
	AT(launches.dropped),
	AT(launches.unended),
	AT(launches.copies_unended),
	AT(launches.graphs_unended),
	AT(launches.confused),
	AT(launches.handed),
	AT(launches.apart),
	AT(gpu.kernels),
	AT(gpu.kernel_ns),
	AT(gpu.matched),
	AT(gpu.unmatched),
	AT(gpu.unmatched_ns),
	AT(gpu.bad_times),
	AT(gpu.unseen_nodes),
	AT(gpu.dropped),
	AT(gpu.missing),
	AT(gpu.unknown_kinds),
	AT(gpu.unwatched),
	AT(gpu.sums),
	AT(gpu.equal),
	AT(gpu.unreported),
	AT(gpu.uncompared),
	AT(pipe.lines),
	AT(pipe.malformed),
	AT(pipe.too_long),
	AT(pipe.refused),
	AT(pipe.left),
	AT(pipe.lost_batches),
	AT(calls.waits),
	AT(calls.wait_ns),
	AT(calls.wait_computed_ns),
	AT(calls.cut_waits),
	AT(calls.timed),
	AT(calls.timed_ns),
	AT(calls.without_stack),
	AT(calls.unfinished),
	AT(calls.lost),
	AT(processes.lost_records),
	AT(processes.not_followed),
	AT(processes.lost_threads),
	AT(processes.never_started),
	AT(processes.untraced),
	AT(processes.causes[UNTRACED_NOT_KNOWN]),
	AT(processes.causes[UNTRACED_NOT_FOUND]),
	AT(processes.causes[UNTRACED_OTHER_LIBC]),
	AT(processes.causes[UNTRACED_OLD_LIBC]),
	AT(processes.causes[UNTRACED_NO_VARIABLE]),
	AT(processes.causes[UNTRACED_OTHER_LIBRARY]),
	AT(processes.causes[UNTRACED_OTHER_FILES]),
	AT(processes.causes[UNTRACED_OTHER_USER]),
	AT(processes.causes[UNTRACED_NO_EXEC]),
	AT(processes.causes[UNTRACED_FILTERED]),
	AT(processes.causes[UNTRACED_NO_PIPE_NAMED]),
	AT(processes.causes[UNTRACED_NO_PIPE]),
	AT(processes.causes[UNTRACED_PIPE_CLOSED]),
	AT(processes.causes[UNTRACED_SECURE]),
	AT(spread.operations),
	AT(spread.ns),
	AT(spread.borrowed_ns),
	AT(spread.left),
	AT(spread.left_ns),
	AT(stalls.taken),
	AT(stalls.samples),
	AT(stalls.unmatched),
	AT(stalls.with_lines),
	AT(stalls.dropped),
	AT(stalls.other),
	AT(stalls.lost),
	AT(stalls.overflows),
	AT(stalls.cubins_left_out),
	AT(stalls.split_ns),
	AT(stalls.unlocated),
	AT(stalls.placed),
	AT(stalls.mean_ns),
	AT(counters.measured),
	AT(counters.unplaced),
	AT(counters.captured),
	AT(counters.graphs),
	AT(counters.busy),
	AT(counters.peers),
	AT(counters.failed),
	AT(counters.replays),
	AT(counters.unlisted),
	AT(outside.before),
	AT(outside.before_ns),
	AT(outside.after),
	AT(outside.after_ns),
	AT(outside.earlier),
	AT(outside.earlier_ns),
	AT(outside.calls),
	AT(outside.unended),
	AT(outside.not_held_ns),
	AT(outside.ranges),
	AT(outside.unchosen),
	AT(outside.unchosen_ns),
	AT(outside.entered),
	AT(outside.only_outside),
	AT(python.missing),
	AT(python.unread),
	AT(python.unordered),
	AT(cost.program_ns),
	AT(cost.kernel_ns),
	AT(cost.pipe_bytes),
	AT(wall.threads),
	AT(wall.switches),
	AT(wall.stacks),
	AT(wall.ran_ns),
	AT(wall.spread_ns),
	AT(wall.left_ns),
	AT(wall.in_calls_ns),
	AT(wall.lost),
	AT(idle.devices),
	AT(idle.whole_ns),
	AT(idle.off_cpu_ns),
	AT(idle.computing_ns),
	AT(idle.launched_ns),
	AT(idle.unknown_ns),
	AT(idle.before_ns),
	AT(idle.after_ns),
	AT(idle.lost),
	AT(wall.of_profile_ns),
	AT(wall.of_driver_ns),
	AT(bounds.stacks),
	AT(bounds.refused),
	AT(bounds.out_of_memory),
	AT(bounds.programs),
	AT(bounds.allocations),
	AT(bounds.late_allocations),
	AT(bounds.ranges),
	AT(bounds.folded_ranges),
	AT(bounds.truncated),
	AT(unwound.ends[UNWIND_WHOLE]),
	AT(unwound.ends[UNWIND_GUESSED]),
	AT(unwound.ends[UNWIND_TOO_DEEP]),
	AT(unwound.ends[UNWIND_SHORT_COPY]),
	AT(unwound.ends[UNWIND_NO_INFORMATION]),
	AT(unwound.ends[UNWIND_BAD_INFORMATION]),
	AT(unwound.ends[UNWIND_NOT_CODE]),
	AT(unwound.ends[UNWIND_UNREADABLE]),
	AT(unwound.ends[UNWIND_LOOP]),
	AT(pipe.killed_launches),
	AT(pipe.exited_launches),
};

/* Those of 32. */
static const uint16_t small_counts[] = {
	AT(pipe.processes),       AT(pipe.without_cupti), AT(pipe.graph_time_bugs),
	AT(pipe.without_goodbye), AT(pipe.wrong_totals),  AT(pipe.foreign_versions),
	AT(calls.processes),      AT(pipe.killed),        AT(pipe.exited),
};

static void add_counts(struct ledger *sum, const struct ledger *more)
{
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		uint64_t count, add;
		char *at = (char *)sum + counts[i];

		memcpy(&count, at, sizeof(count));
		memcpy(&add, (const char *)more + counts[i], sizeof(add));
		saturated_add(&count, add);
		memcpy(at, &count, sizeof(count));
	}
	for (int i = 0; i < OFF_CPU_KINDS; i++)
		saturated_add(&sum->wall.off_ns[i], more->wall.off_ns[i]);
	for (size_t i = 0; i < sizeof(small_counts) / sizeof(small_counts[0]); i++) {
		uint32_t count, add;
		char *at = (char *)sum + small_counts[i];

		memcpy(&count, at, sizeof(count));
		memcpy(&add, (const char *)more + small_counts[i], sizeof(add));
		count = add <= UINT32_MAX - count ? count + add : UINT32_MAX;
		memcpy(at, &count, sizeof(count));
	}
}

/* What there is once. */
static void keep_first(struct ledger *sum, const struct ledger *more)
{
	if (sum->gpu.equal == sum->gpu.sums && more->gpu.equal != more->gpu.sums) {
		sum->gpu.difference = more->gpu.difference;
		sum->gpu.difference_here = more->gpu.difference_here;
		sum->gpu.difference_pid = more->gpu.difference_pid;
	}
	if (!sum->pipe.first_malformed[0])
		memcpy(sum->pipe.first_malformed, more->pipe.first_malformed,
		       sizeof(sum->pipe.first_malformed));
	if (!sum->pipe.first_refused[0])
		memcpy(sum->pipe.first_refused, more->pipe.first_refused,
		       sizeof(sum->pipe.first_refused));
	if (!sum->python.first_file[0])
		memcpy(sum->python.first_file, more->python.first_file,
		       sizeof(sum->python.first_file));
	if (!sum->stalls.period)
		sum->stalls.period = more->stalls.period;
	if (sum->spread.error_ns < more->spread.error_ns) /* the greatest */
		sum->spread.error_ns = more->spread.error_ns;
	if (sum->launches.probed_functions < more->launches.probed_functions)
		sum->launches.probed_functions = more->launches.probed_functions;
}

static bool add_totals(struct ledger_total *sum, const struct ledger_total *more)
{
	return ledger_total_add(sum, more->count, more->ns, more->bytes);
}

static bool add_call(struct api_calls *sum, const struct api_call *call, struct allowance *memory,
		     const char *(*keep)(void *context, const char *name), void *context)
{
	struct gpu_call_bucket buckets[GPU_CALL_BUCKETS];
	struct gpu_call_error errors[API_CALL_ERRORS];
	struct gpu_event_calls all = {.function = call->name,
				      .family = call->family,
				      .kind = call->kind,
				      .calls = call->calls,
				      .ns = call->ns,
				      .bytes = call->bytes,
				      .nested = call->nested,
				      .nested_ns = call->nested_ns,
				      .shortest_ns = call->shortest_ns,
				      .longest_ns = call->longest_ns,
				      .errors = errors,
				      .buckets = buckets};
	struct api_call *to = api_calls_get(sum, &all, memory, keep, context);

	if (!to)
		return false;
	for (uint32_t i = 0; i < API_CALL_ERRORS; i++) {
		if (!call->errors[i].count)
			continue;
		errors[all.error_count] = call->errors[i];
		if (i == API_CALL_ERRORS - 1)
			errors[all.error_count].code = GPU_CALL_OTHER_ERROR;
		all.error_count++;
	}
	for (uint32_t i = 0; i < GPU_CALL_BUCKETS; i++)
		if (call->buckets[i])
			buckets[all.bucket_count++] = (struct gpu_call_bucket){i, call->buckets[i]};
	api_call_add(to, &all);
	return true;
}

bool ledger_sum_add(struct ledger *sum, const struct ledger *more, struct allowance *memory,
		    const char *(*keep)(void *context, const char *name), void *context)
{
	keep_first(sum, more);
	add_counts(sum, more);
	if (!add_totals(&sum->measured, &more->measured) ||
	    !add_totals(&sum->reported, &more->reported))
		return false;
	for (uint32_t i = 0; i < more->api.count; i++)
		if (!add_call(&sum->api, more->api.list[i], memory, keep, context))
			return false;
	return true;
}
