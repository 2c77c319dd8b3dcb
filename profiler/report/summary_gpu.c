// SPDX-License-Identifier: MIT
#include "profiler/report/summary_private.h"

#include <inttypes.h>
#include <stdio.h>
#include "profiler/model/quantity.h"
#include "symbolize/util/saturate.h"

void summary_waits(struct log *log, const struct measure *m, const struct ledger *l)
{
	if (!m->waits || !used_gpu(l))
		return;
	if (!ledger_has_gpu_time(l)) {
		log_line(log, "Waits: not measured");
		return;
	}
	log_line(log, "Waits: %" PRIu64 " call%s, %.3f ms", l->calls.waits, plural(l->calls.waits),
		 ms(l->calls.wait_ns));
	if (l->calls.wait_computed_ns)
		log_line(log,
			 "  and %.3f ms in them on a CPU, computing or spinning, which is CPU time",
			 ms(l->calls.wait_computed_ns));
	if (l->calls.cut_waits)
		log_line(log,
			 "  only the last part of %" PRIu64
			 " of them is split by what ran: too much GPU work ran during them%s to "
			 "keep it all",
			 l->calls.cut_waits,
			 m->wall ? ", or threads were too often off the CPU," : "");
}

void summary_correlation(struct log *log, const struct measure *m, const struct ledger *l)
{
	const struct ledger_gpu *gpu = &l->gpu;

	log_line(log,
		 "Correlation: %" PRIu64 " matched, %" PRIu64 " unmatched, %" PRIu64 " dropped",
		 gpu->matched, gpu->unmatched, saturated_sum(gpu->dropped, gpu->missing));
	if (gpu->unmatched)
		log_line(log,
			 "  unmatched operations ran %.3f ms and are under [launch not captured]",
			 ms(gpu->unmatched_ns));
	log_line_if(log, gpu->dropped,
		    "  # operation{ was|s were} dropped before reaching the %s: {its|their} GPU "
		    "time is not in the profile",
		    m->alone ? "trace" : "profiler");
	log_line_if(log, gpu->missing, "  # operation{ was|s were} sent but did not arrive");
	log_line_if(log, l->pipe.wrong_totals,
		    "  # process{|es} reported a different sum of GPU time than arrived: something "
		    "else wrote to the %s",
		    stream(m));
	log_line_if(log, gpu->bad_times,
		    "  # operation{ has|s have} no usable timestamps and count{s|} as 0 ns");
	if (gpu->bad_times && l->pipe.graph_time_bugs)
		log_line(log, "  CUPTI of CUDA 13.0 is known to do that after some 25 million "
			      "records of graph nodes; --graph whole makes fewer");
}

void summary_odd_launches(struct log *log, const struct ledger *l)
{
	uint64_t unended = l->launches.unended, unseen = l->gpu.unseen_nodes;
	uint64_t copies = l->launches.copies_unended, graphs = l->launches.graphs_unended;

	log_line_if(log, unended,
		    "  # kernel launch{ has|es have} no record: the kernel{|s} had not ended when "
		    "tracing did, or {its record was|their records were} lost");
	log_line_if(log, copies,
		    "  # cop{y or set has|ies and sets have} no record: {it had|they had} not "
		    "ended when tracing did, or {its record was|their records were} lost");
	log_line_if(log, graphs,
		    "  # graph launch{ has|es have} no record at all: of {an empty graph|empty "
		    "graphs}, not ended, or lost");
	log_line_if(log, l->launches.confused,
		    "  # launch{ has|es have} the correlation id of another, so their work may be "
		    "under the other's stack: CUPTI 13.0 does that to threads in which a profiler "
		    "has left it, and CUPTI 11.8 with newer drivers");
	log_line_if(log, unseen,
		    "  # operation{ is|s are} of {a graph node that was|graph nodes that were} "
		    "made before tracing or out of sight");
}

/* Reports PC samples by launch, and their cost. */
static void report_exact_stalls(struct log *log, const struct ledger_stalls *stalls)
{
	uint64_t others = stalls->samples -
			  (stalls->placed < stalls->samples ? stalls->placed : stalls->samples);

	log_line(log, "  each launch site shows its own: kernels ran one after the other, which "
		      "can take some 40 times as long");
	log_line_if(
		log, others,
		"  # sample{|s} (%.1f %%) {is|are} of graphs' launches, or of none that is known",
		percent_of(others, stalls->samples));
	if (stalls->mean_ns)
		log_line(log,
			 "  %.1f %% of the kernel time is of launches without samples of their "
			 "own, which show their kernel's mean",
			 percent_of(stalls->mean_ns, stalls->split_ns));
}

/* Reports PC samples: how much kernel time they explain, and which are missing. */
void summary_stalls(struct log *log, const struct measure *m, const struct ledger *l)
{
	const struct ledger_stalls *stalls = &l->stalls;

	if (!m->stall_period || l->gpu.kernels == 0)
		return;
	log_line(log,
		 "Stalls: %" PRIu64 " sample%s, one every %" PRIu64
		 " cycles, split %.1f %% of the kernel time; %.1f %% have a source line",
		 stalls->samples, plural(stalls->samples), UINT64_C(1) << m->stall_period,
		 percent_of(stalls->split_ns, l->gpu.kernel_ns),
		 percent_of(stalls->with_lines, saturated_sum(stalls->samples, stalls->unmatched)));
	if (stalls->samples && m->exact_stalls)
		report_exact_stalls(log, stalls);
	else if (stalls->samples)
		log_line(log, "  they are of kernels, not of launches: each launch of a kernel "
			      "shows the kernel's mean");
	else if (!stalls->unmatched && !stalls->dropped && !stalls->overflows)
		log_line(log,
			 "  CUPTI gave none: kernels that run for less than a few periods have "
			 "none, and at a very short --stall-period there may be none at all");
	log_line_if(log, stalls->unmatched,
		    "  # more sample{ is|s are} of functions that are no kernel in the profile");
	log_line_if(log, stalls->dropped,
		    "  the GPU dropped # sample{|s} (%.1f %%): a longer --stall-period makes fewer",
		    percent_of(stalls->dropped, stalls->taken));
	log_line_if(log, stalls->overflows,
		    "  the GPU's buffer of samples was full # time{|s}: a longer --stall-period "
		    "makes fewer");
	log_line_if(log, stalls->lost, "  # sample{ was lost|s were lost} for lack of room");
	log_line_if(log, stalls->unlocated,
		    "  # sample{ has|s have} no instruction: there was no room");
	log_line_if(log, stalls->cubins_left_out,
		    "  # line table{|s} of device code could not be read, or {is|are} too large");
}

/* Reports timed calls, used instead of CUPTI. Another message has the reason. */
void summary_calls(struct log *log, const struct measure *m, const struct ledger *l)
{
	const struct ledger_calls *c = &l->calls;

	if (c->processes == 0)
		return;
	if (!c->timed && !c->lost && c->processes <= summary_count_causes(&l->processes))
		return; /* another line reports these processes, and that their calls were not timed
			 */
	if (m->attached && !m->injects)
		log_line(log, "GPU time is not measured with --no-inject; the wall time of CUDA "
			      "calls is shown instead");
	log_line(log,
		 "CUDA calls: %" PRIu64 " in %u process%s without GPU time, %.3f ms of wall time",
		 c->timed, c->processes, pick(c->processes, "", "es"), ms(c->timed_ns));
	log_line_if(log, l->cpu.in_calls,
		    "  # CPU sample{|s} fell into these calls and {is|are} not shown: the calls' "
		    "time covers {it|them}");
	if (c->unfinished)
		log_line(log,
			 "  %" PRIu64 " of them had not returned when their process or the run "
			 "ended; their time is counted until then",
			 c->unfinished);
	log_line_if(log, c->without_stack,
		    "  # of them {has|have} no stack: the machine was too busy to read it in time");
	log_line_if(log, c->lost,
		    "  # more {was|were} lost: the machine was too busy to read {it|them} in time");
}

/* Reports dropped records: "3 CPU samples and 1 launch were dropped: ...". */
void summary_dropped(struct log *log, const struct measure *m, const struct ledger *l)
{
	uint64_t all = saturated_sum(l->cpu.dropped, l->launches.dropped);
	char samples[48] = "", launches[48] = "";

	if (l->cpu.dropped)
		snprintf(samples, sizeof(samples), "%" PRIu64 " CPU sample%s", l->cpu.dropped,
			 plural(l->cpu.dropped));
	if (l->launches.dropped)
		snprintf(launches, sizeof(launches), "%" PRIu64 " launch%s", l->launches.dropped,
			 pick(l->launches.dropped, "", "es"));
	if (all && m->alone)
		log_warn(log, "%s %s dropped: there was no room for %s", launches,
			 pick(all, "was", "were"), pick(all, "it", "them"));
	else if (all)
		log_warn(log, "%s%s%s %s dropped: the machine was too busy to read %s in time",
			 samples, samples[0] && launches[0] ? " and " : "", launches,
			 pick(all, "was", "were"), pick(all, "it", "them"));
}

/* Reports launches with counters, and reasons for launches without counters. */
void summary_counters(struct log *log, const struct measure *m, const struct ledger *l)
{
	const struct ledger_counters *c = &l->counters;
	const struct {
		uint64_t count;
		const char *what;
	} reasons[] = {
		{c->graphs, "launched graphs"},
		{c->captured, "came while a stream was captured"},
		{c->peers, "wait for other GPUs"},
		{c->busy, "came while another thread's launch was measured"},
		{c->failed, "could not be measured"},
		{c->unplaced, "have counters, but no record"},
		{c->unlisted, "have counters in sums alone, not in the timeline"},
	};

	if (!m->counters || l->pipe.processes == 0)
		return;
	log_line(log, "Counters: %" PRIu64 " of %" PRIu64 " launches were measured", c->measured,
		 l->launches.kernels);
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].count)
			log_line(log, "  %" PRIu64 " %s", reasons[i].count, reasons[i].what);
	if (c->replays)
		log_verbose(log,
			    "%" PRIu64 " records of further runs of measured kernels were left out",
			    c->replays);
}
