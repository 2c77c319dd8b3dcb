// SPDX-License-Identifier: MIT
#include "profiler/report/summary.h"

#include <inttypes.h>
#include <stdio.h>
#include "cupti_trace/gpu_wire.h"

static void report_samples(struct log *log, const struct options *o, const struct session_stats *s)
{
	if (o->mode == MODE_CPU_ONLY)
		log_line(log, "Samples: %" PRIu64 " CPU", s->collect.cpu_samples);
	else if (o->mode == MODE_GPU_ONLY)
		log_line(log, "Samples: %" PRIu64 " launches, %" PRIu64 " GPU kernels (%.3f ms)",
			 s->collect.kernel_launches, s->gpu.kernels,
			 (double)s->gpu.kernel_ns / 1e6);
	else
		log_line(log,
			 "Samples: %" PRIu64 " CPU, %" PRIu64 " launches, %" PRIu64
			 " GPU kernels (%.3f ms)",
			 s->collect.cpu_samples, s->collect.kernel_launches, s->gpu.kernels,
			 (double)s->gpu.kernel_ns / 1e6);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void report_waits(struct log *log, const struct options *o, const struct session_stats *s)
{
	if (o->waits)
		log_line(log, "Waits: %" PRIu64 " calls, %.3f ms", s->collect.waits,
			 (double)s->collect.wait_ns / 1e6);
}

/* Where stacks came from, and how many of them are whole. */
static void report_stacks(struct log *log, const struct options *o, const struct session_stats *s)
{
	const struct collect_stats *c = &s->collect;

	if (c->snapshots)
		log_line(log, "Stacks: %.1f %% of CPU samples are whole%s",
			 percent(c->whole_snapshots, c->snapshots),
			 c->snapshots < c->cpu_samples ? " (the rest by frame pointers)" : "");
	else if (c->cpu_samples)
		log_line(log,
			 "Stacks: CPU samples taken by frame pointers: this kernel does not let "
			 "stacks be copied (Linux 5.15 does)");
	if (o->mode != MODE_CPU_ONLY && c->launches)
		log_line(log, "Stacks: %.1f %% of launches are whole, taken in the process",
			 percent(c->whole_launches, c->launches));
	else if (o->mode != MODE_CPU_ONLY && s->probes)
		log_line(log,
			 "Stacks: launches taken by uprobes on %u functions, by frame pointers",
			 s->probes);
}

static void report_correlation(struct log *log, const struct session_stats *s,
			       const struct accounts *a)
{
	uint64_t dropped = s->gpu.dropped_kernels + s->gpu.missing_kernels;

	log_line(log,
		 "Correlation: %" PRIu64 " matched, %" PRIu64 " unmatched, %" PRIu64 " dropped",
		 a->matched, a->unmatched, dropped);
	if (a->unmatched)
		log_line(log,
			 "  unmatched operations ran %.3f ms and are under "
			 "[launch not captured]",
			 (double)a->unmatched_ns / 1e6);
	if (s->gpu.dropped_kernels)
		log_line(log,
			 "  %" PRIu64 " operations were dropped before they reached the profiler: "
			 "their GPU time is not in the profile",
			 s->gpu.dropped_kernels);
	if (s->gpu.missing_kernels)
		log_line(log, "  %" PRIu64 " operations were sent by the target but did not arrive",
			 s->gpu.missing_kernels);
	if (s->gpu.wrong_totals)
		log_line(log,
			 "  %" PRIu64 " processes reported another sum of GPU time than arrived: "
			 "something else wrote to the pipe",
			 s->gpu.wrong_totals);
	if (s->gpu.bad_times)
		log_line(log,
			 "  %" PRIu64 " operations have no usable timestamps and count as 0 ns",
			 s->gpu.bad_times);
	if (s->gpu.bad_times && s->gpu.graph_time_bugs)
		log_line(
			log,
			"  CUPTI of CUDA 13.0 is known to do that after some 25 million records of "
			"graphs' nodes; --graph graph makes fewer");
}

/* The usual reasons for a profile without a GPU part, each with what to do. */
static void report_no_gpu(struct log *log, const struct options *o, const struct session_stats *s)
{
	if (s->gpu.processes > 0 || s->gpu.foreign_versions > 0 || s->timed_processes > 0)
		return;
	if (s->collect.driver_mapped)
		log_warn(log,
			 "the CUDA driver was loaded, but tracing never started in it: was "
			 "cuInit called, and is CUDA_INJECTION64_PATH passed on to the program?");
	else if (o->mode == MODE_GPU_ONLY)
		log_warn(log, "the command did not use CUDA: the profile is empty");
	else
		log_warn(log, "the command did not use CUDA: this is its CPU profile alone");
}

/* What there is where CUPTI was not to be had; why was said when it happened. */
static void report_calls(struct log *log, const struct session_stats *s)
{
	const struct collect_stats *c = &s->collect;

	if (s->timed_processes == 0)
		return;
	log_line(log,
		 "CUDA calls: %" PRIu64 " in %u process%s without GPU time, %.3f ms of wall time",
		 c->calls, s->timed_processes, s->timed_processes == 1 ? "" : "es",
		 (double)c->call_ns / 1e6);
	if (s->bpf.samples_in_calls)
		log_line(log,
			 "  %" PRIu64 " CPU samples fell into these calls and are not counted: "
			 "their time is the calls'",
			 (uint64_t)s->bpf.samples_in_calls);
	if (c->unfinished_calls)
		log_line(log,
			 "  %" PRIu64 " of them had not returned when their process or the run "
			 "ended; they count up to then",
			 c->unfinished_calls);
	if (c->calls_without_stack)
		log_line(log,
			 "  %" PRIu64 " of them have no stack: the machine was too busy to read it "
			 "in time",
			 c->calls_without_stack);
	if (s->lost_calls)
		log_line(log,
			 "  %" PRIu64 " more were lost: the machine was too busy to read of them "
			 "in time",
			 s->lost_calls);
}

static void report_losses(struct log *log, const struct session_stats *s)
{
	if (s->bpf.dropped_samples || s->bpf.dropped_launches)
		log_warn(log,
			 "%" PRIu64 " CPU samples and %" PRIu64 " launch stacks were dropped: the "
			 "machine was too busy to read them in time",
			 (uint64_t)s->bpf.dropped_samples, (uint64_t)s->bpf.dropped_launches);
	if (s->bpf.untracked_processes)
		log_warn(log, "%" PRIu64 " processes were not followed: too many at once",
			 (uint64_t)s->bpf.untracked_processes);
	if (s->gpu.without_goodbye)
		log_warn(log,
			 "%u traced process%s ended without a goodbye (killed?): up to its last "
			 "second of GPU work is missing",
			 s->gpu.without_goodbye, s->gpu.without_goodbye == 1 ? "" : "es");
	if (s->longest_round_ns >= GPU_WIRE_PATIENCE_MS * UINT64_C(1000000) &&
	    (s->gpu.without_goodbye || s->gpu.lost_batches))
		log_warn(log,
			 "profile itself read nothing for %.1f s (stopped, or no free CPU): "
			 "programs wait %d s for it, then go on and drop what they cannot send",
			 (double)s->longest_round_ns / 1e9, GPU_WIRE_PATIENCE_MS / 1000);
	if (s->gpu.lost_batches)
		log_warn(log, "%" PRIu64 " writes of traced processes were lost",
			 s->gpu.lost_batches);
	if (s->gpu.foreign_versions)
		log_warn(log,
			 "%u processes sent another protocol version and were ignored: is "
			 "-cupti-lib from another release?",
			 s->gpu.foreign_versions);
	if (s->gpu.unknown_records)
		log_warn(log, "%" PRIu64 " CUPTI records of an unknown kind were ignored",
			 s->gpu.unknown_records);
	if (s->lost_process_events)
		log_warn(log, "%" PRIu64 " mapping records were lost: some frames may be [unknown]",
			 s->lost_process_events);
	if (s->collect.out_of_memory)
		log_warn(log, "out of memory: %" PRIu64 " events were lost",
			 s->collect.out_of_memory);
}

void report_summary(struct log *log, const struct options *options,
		    const struct session_stats *stats, const struct accounts *accounts,
		    const char *first_malformed)
{
	report_samples(log, options, stats);
	if (options->mode != MODE_CPU_ONLY) {
		report_correlation(log, stats, accounts);
		accounts_report(log, accounts, stats->counted);
		if (stats->gpu.unended_launches)
			log_line(log,
				 "  %" PRIu64
				 " kernel launches have no record: their kernels had not ended "
				 "when tracing did, or the records were lost",
				 stats->gpu.unended_launches);
		if (stats->collect.unseen_nodes)
			log_line(log,
				 "  %" PRIu64
				 " operations are of graph nodes that were made before "
				 "tracing or out of sight",
				 stats->collect.unseen_nodes);
		if (stats->devices)
			devices_report(stats->devices, log);
		report_waits(log, options, stats);
		report_calls(log, stats);
		report_no_gpu(log, options, stats);
	}
	report_stacks(log, options, stats);
	report_losses(log, stats);
	if (stats->gpu.malformed)
		log_warn(log,
			 "%" PRIu64 " lines in the pipe were not ours and were ignored (%" PRIu64
			 " too long); the first began: %s",
			 stats->gpu.malformed, stats->gpu.too_long, first_malformed);
	if (stats->collect.truncated)
		log_warn(log,
			 "%" PRIu64
			 " stacks are cut where they were too deep or could not be followed; "
			 "they begin at [truncated]",
			 stats->collect.truncated);
}

void report_written(struct log *log, const struct options *options,
		    const struct writer_result *result)
{
	static const char *const units[] = {"samples", "us", "ns"};
	uint64_t cpu = result->total[WEIGHT_CPU], gpu = result->total[WEIGHT_GPU];
	uint64_t wait = result->total[WEIGHT_WAIT], calls = result->total[WEIGHT_CALL];
	uint64_t total = cpu + gpu + wait + calls;
	char waiting[40] = "", calling[48] = "";
	const char *file = options->output[0] == '-' && !options->output[1] ? "standard output"
									    : options->output;

	if (options->waits)
		snprintf(waiting, sizeof(waiting), ", %" PRIu64 " waiting", wait);
	if (calls)
		snprintf(calling, sizeof(calling), ", %" PRIu64 " in CUDA calls", calls);
	if (total == 0 && result->exact_ns > 0)
		log_warn(log, "all of it is less than one %s: --unit us or --unit ns shows more",
			 options->unit == UNIT_SAMPLES ? "sample" : "unit");
	log_line(log,
		 "Wrote %" PRIu64 " stacks (%" PRIu64 " %s: %" PRIu64 " CPU, %" PRIu64
		 " GPU%s%s) to %s",
		 result->stacks, total, units[options->unit], cpu, gpu, waiting, calling, file);
}
