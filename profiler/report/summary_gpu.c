// SPDX-License-Identifier: MIT
#include "profiler/report/summary_private.h"

#include <inttypes.h>
#include <stdio.h>
#include "cupti_trace/wire/gpu_wire.h"
#include "profiler/report/quantity.h"
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
			 "  only the last part of %" PRIu64 " of them is split by what ran: too "
			 "much GPU work ran during them%s to keep it all",
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
			 "  unmatched operations ran %.3f ms and are under "
			 "[launch not captured]",
			 ms(gpu->unmatched_ns));
	if (gpu->dropped)
		log_line(log,
			 "  %" PRIu64 " operation%s dropped before reaching the %s: "
			 "%s GPU time is not in the profile",
			 gpu->dropped, pick(gpu->dropped, " was", "s were"),
			 m->alone ? "trace" : "profiler", pick(gpu->dropped, "its", "their"));
	if (gpu->missing)
		log_line(log, "  %" PRIu64 " operation%s sent but did not arrive", gpu->missing,
			 pick(gpu->missing, " was", "s were"));
	if (l->pipe.wrong_totals)
		log_line(log,
			 "  %u process%s reported a different sum of GPU time than arrived: "
			 "something else wrote to the %s",
			 l->pipe.wrong_totals, pick(l->pipe.wrong_totals, "", "es"), stream(m));
	if (gpu->bad_times)
		log_line(log, "  %" PRIu64 " operation%s no usable timestamps and count%s as 0 ns",
			 gpu->bad_times, pick(gpu->bad_times, " has", "s have"),
			 pick(gpu->bad_times, "s", ""));
	if (gpu->bad_times && l->pipe.graph_time_bugs)
		log_line(
			log,
			"  CUPTI of CUDA 13.0 is known to do that after some 25 million records of "
			"graph nodes; --graph graph makes fewer");
}

void summary_odd_launches(struct log *log, const struct ledger *l)
{
	uint64_t unended = l->launches.unended, unseen = l->gpu.unseen_nodes;
	uint64_t copies = l->launches.copies_unended, graphs = l->launches.graphs_unended;

	if (unended)
		log_line(log,
			 "  %" PRIu64 " kernel launch%s no record: the kernel%s had not ended "
			 "when tracing did, or %s lost",
			 unended, pick(unended, " has", "es have"), plural(unended),
			 pick(unended, "its record was", "their records were"));
	if (copies)
		log_line(log,
			 "  %" PRIu64 " cop%s no record: %s not ended when tracing did, or %s lost",
			 copies, pick(copies, "y or set has", "ies and sets have"),
			 pick(copies, "it had", "they had"),
			 pick(copies, "its record was", "their records were"));
	if (graphs)
		log_line(log,
			 "  %" PRIu64 " graph launch%s no record at all: of %s, not ended, or lost",
			 graphs, pick(graphs, " has", "es have"),
			 pick(graphs, "an empty graph", "empty graphs"));
	if (l->launches.confused)
		log_line(log,
			 "  %" PRIu64
			 " launch%s the correlation id of another, so their work may be "
			 "under the other's stack: CUPTI 13.0 does that to threads in which a "
			 "profiler has left it, and CUPTI 11.8 with newer drivers",
			 l->launches.confused, pick(l->launches.confused, " has", "es have"));
	if (unseen)
		log_line(log, "  %" PRIu64 " operation%s of %s made before tracing or out of sight",
			 unseen, pick(unseen, " is", "s are"),
			 pick(unseen, "a graph node that was", "graph nodes that were"));
	if (l->gpu.unwatched)
		log_line(log,
			 "  %" PRIu64 " allocation%s of unified memory, whose migrations and page "
			 "faults are not recorded: --unified-memory records them",
			 l->gpu.unwatched, pick(l->gpu.unwatched, " is", "s are"));
}

/* Samples of launches, and what that costs. */
static void report_exact_stalls(struct log *log, const struct ledger_stalls *stalls)
{
	uint64_t others = stalls->samples -
			  (stalls->placed < stalls->samples ? stalls->placed : stalls->samples);

	log_line(log,
		 "  each launch site shows its own: kernels ran one after the other, which can "
		 "take some 40 times as long");
	if (others)
		log_line(log,
			 "  %" PRIu64 " sample%s (%.1f %%) %s of graphs' launches, or of none that "
			 "is known",
			 others, plural(others), percent_of(others, stalls->samples),
			 pick(others, "is", "are"));
	if (stalls->mean_ns)
		log_line(
			log,
			"  %.1f %% of the kernel time is of launches without samples of their own, "
			"which show their kernel's mean",
			percent_of(stalls->mean_ns, stalls->split_ns));
}

/* Samples of where kernels' warps were: how much they explain, and what is missing. */
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
	if (stalls->unmatched)
		log_line(log,
			 "  %" PRIu64 " more sample%s of functions that are no kernel in the "
			 "profile",
			 stalls->unmatched, pick(stalls->unmatched, " is", "s are"));
	if (stalls->dropped)
		log_line(log,
			 "  the GPU dropped %" PRIu64 " sample%s (%.1f %%): a longer "
			 "--stall-period makes fewer",
			 stalls->dropped, plural(stalls->dropped),
			 percent_of(stalls->dropped, stalls->taken));
	if (stalls->overflows)
		log_line(log,
			 "  the GPU's buffer of samples was full %" PRIu64
			 " time%s: a longer --stall-period makes fewer",
			 stalls->overflows, plural(stalls->overflows));
	if (stalls->lost)
		log_line(log, "  %" PRIu64 " sample%s for lack of room", stalls->lost,
			 pick(stalls->lost, " was lost", "s were lost"));
	if (stalls->unlocated)
		log_line(log, "  %" PRIu64 " sample%s no instruction: there was no room",
			 stalls->unlocated, pick(stalls->unlocated, " has", "s have"));
	if (stalls->cubins_left_out)
		log_line(log,
			 "  %" PRIu64 " line table%s of device code could not be read, or %s too "
			 "large",
			 stalls->cubins_left_out, plural(stalls->cubins_left_out),
			 pick(stalls->cubins_left_out, "is", "are"));
}

/* Reports timed calls, where CUPTI could not be used; a message has given the reason. */
void summary_calls(struct log *log, const struct measure *m, const struct ledger *l)
{
	const struct ledger_calls *c = &l->calls;

	if (c->processes == 0)
		return;
	if (!c->timed && !c->lost && c->processes <= summary_count_causes(&l->processes))
		return; /* another line tells of them, and that their calls were not timed */
	if (m->attached && !m->injects)
		log_line(log, "GPU time is not measured with --no-inject; the wall time of CUDA "
			      "calls is shown instead");
	log_line(log,
		 "CUDA calls: %" PRIu64 " in %u process%s without GPU time, %.3f ms of wall time",
		 c->timed, c->processes, pick(c->processes, "", "es"), ms(c->timed_ns));
	if (l->cpu.in_calls)
		log_line(log,
			 "  %" PRIu64 " CPU sample%s fell into these calls and %s not shown: the "
			 "calls' time covers %s",
			 l->cpu.in_calls, plural(l->cpu.in_calls),
			 pick(l->cpu.in_calls, "is", "are"), pick(l->cpu.in_calls, "it", "them"));
	if (c->unfinished)
		log_line(log,
			 "  %" PRIu64 " of them had not returned when their process or the run "
			 "ended; they count up to then",
			 c->unfinished);
	if (c->without_stack)
		log_line(log,
			 "  %" PRIu64 " of them %s no stack: the machine was too busy to read it "
			 "in time",
			 c->without_stack, pick(c->without_stack, "has", "have"));
	if (c->lost)
		log_line(log,
			 "  %" PRIu64 " more %s lost: the machine was too busy to read %s "
			 "in time",
			 c->lost, pick(c->lost, "was", "were"), pick(c->lost, "it", "them"));
}

/* "3 CPU samples and 1 launch were dropped: ..." */
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

/* How many launches have counters, and why the others have none. */
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
