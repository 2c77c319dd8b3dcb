// SPDX-License-Identifier: MIT
#include "profiler/report/summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cupti_trace/wire/gpu_wire.h"
#include "profiler/base/capability_advice.h"
#include "profiler/model/losses.h"
#include "profiler/model/marks.h"
#include "profiler/report/gpu_table.h"
#include "profiler/report/quantity.h"
#include "symbolize/dwarf.h"
#include "symbolize/symbolizer.h"
#include "symbolize/util/saturate.h"

/* Singular or plural. */
static const char *pick(uint64_t count, const char *one, const char *many)
{
	return count == 1 ? one : many;
}

static const char *s(uint64_t count)
{
	return pick(count, "", "s");
}

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

/* Returns whether there is anything to report about the GPU. */
static bool used_gpu(const struct ledger *l)
{
	return l->pipe.processes > 0 || l->calls.processes > 0;
}

/* Returns the name of what the programs wrote to. */
static const char *stream(const struct measure *m)
{
	return m->alone ? "trace" : "pipe";
}

/* Only a part of the run was recorded. */
static bool is_part(const struct measure *m)
{
	return m->delay_ns || m->duration_ns || m->last_ns;
}

/*
 * Returns whether work behind the part that is recorded is worth a line. Half a second of it is
 * always seen, so only where it is half of what was recorded or more may the part be misplaced.
 */
static bool is_notable_after(const struct log *log, const struct ledger *l)
{
	uint64_t recorded_ns = 0;

	for (uint32_t i = 0; i < l->gpu.row_count; i++)
		saturated_add(&recorded_ns, l->gpu.rows[i].ns);
	return l->outside.after &&
	       (log->level >= LOG_VERBOSE || l->outside.after_ns >= recorded_ns / 2);
}

/* Reports what was recorded and is left out, or has no launch. */
static void report_outside(struct log *log, const struct ledger *ledger)
{
	const struct ledger_outside *l = &ledger->outside;

	if (l->before)
		log_line(log, "  %" PRIu64 " GPU operation%s began before (%.3f ms): left out",
			 l->before, s(l->before), ms(l->before_ns));
	if (is_notable_after(log, ledger))
		log_line(log,
			 "  %" PRIu64 " GPU operation%s began just after recording "
			 "ended (%.3f ms): left out",
			 l->after, s(l->after), ms(l->after_ns));
	if (l->unended)
		log_line(log,
			 "  %" PRIu64
			 " launch%s left out: %s work had not ended when recording did",
			 l->unended, pick(l->unended, " is", "es are"),
			 pick(l->unended, "its", "their"));
	if (l->unchosen)
		log_line(log, "  %" PRIu64 " GPU operation%s launched outside (%.3f ms): left out",
			 l->unchosen, pick(l->unchosen, " was", "s were"), ms(l->unchosen_ns));
	if (l->only_outside && l->entered)
		log_line(log,
			 "  %" PRIu64 " process%s never entered a range: all of %s GPU work is "
			 "among these",
			 l->only_outside, pick(l->only_outside, "", "es"),
			 pick(l->only_outside, "its", "their"));
	if (l->earlier)
		log_line(log,
			 "  %" PRIu64 " GPU operation%s launched before launches were recorded "
			 "(%.3f ms): under [launched before recording]",
			 l->earlier, pick(l->earlier, " was", "s were"), ms(l->earlier_ns));
}

/* The last part of the run; what was lost, and how stacks were taken, is said of all of it. */
static void report_last(struct log *log, const struct measure *m, const struct ledger *ledger,
			uint64_t length_ns)
{
	const struct ledger_outside *l = &ledger->outside;
	char from[QUANTITY_BYTES], length[QUANTITY_BYTES], wanted[QUANTITY_BYTES];

	log_line(log, "Recorded: the last %s, from %s after the %s",
		 time_text(length, (double)length_ns), time_text(from, (double)m->delay_ns),
		 m->attached ? "beginning" : "command's start");
	if (l->not_held_ns)
		log_warn(log,
			 "there is no room for the last %s: what began in the first %s of it was "
			 "forgotten",
			 time_text(wanted, (double)(length_ns + l->not_held_ns)),
			 time_text(length, (double)l->not_held_ns));
	report_outside(log, ledger);
}

/* Reports what programs chose by their ranges. */
static void report_ranges(struct log *log, const struct measure *m, const struct ledger_outside *l)
{
	char names[MEASURE_RANGES_BYTES], by[sizeof(l->entered_by) + 80] = "";
	uint64_t all = l->entered + l->only_outside;

	measure_range_names(m->ranges, names, sizeof(names));
	if (!l->ranges) {
		log_warn(log, "no process entered the range %s: nothing was recorded%s%s", names,
			 l->other_ranges[0] ? "; these were entered: " : "", l->other_ranges);
		return;
	}
	if (all > 1)
		snprintf(by, sizeof(by), ", by %" PRIu64 " of %" PRIu64 " processes: %s",
			 l->entered, all, l->entered_by);
	log_line(log, "Recorded: what was in the range %s, which was entered %" PRIu64 " time%s%s",
		 names, l->ranges, s(l->ranges), by);
}

/* Which part of the run, and what was seen of the rest. */
static void report_part(struct log *log, const struct measure *m, const struct totals *t)
{
	const struct ledger_outside *l = &t->ledger->outside;
	uint64_t left = t->elapsed_ns > m->delay_ns ? t->elapsed_ns - m->delay_ns : 0;
	char from[QUANTITY_BYTES + 40] = "", length[QUANTITY_BYTES];

	if (m->ranges)
		report_ranges(log, m, l);
	if (!is_part(m)) { /* there is something of processes that already ran, and after `stop` */
		if (!m->ranges &&
		    (l->before || is_notable_after(log, t->ledger) || l->unended || l->earlier))
			log_line(log, "Recorded: %s",
				 m->attached ? time_text(length, (double)t->elapsed_ns)
					     : "until `stop`");
		report_outside(log, t->ledger);
		return;
	}
	if (left == 0 && !l->not_held_ns) {
		if (!m->attached) /* there the session has said so */
			log_warn(log,
				 "the end came after %s, before --delay was over: nothing was "
				 "recorded",
				 time_text(length, (double)t->elapsed_ns));
		return;
	}
	if (m->duration_ns && m->duration_ns < left)
		left = m->duration_ns;
	if (m->last_ns) {
		report_last(log, m, t->ledger, left);
		return;
	}
	if (m->delay_ns)
		snprintf(from, sizeof(from), ", from %s after the command's start",
			 time_text(length, (double)m->delay_ns));
	log_line(log, "Recorded: %s%s", time_text(length, (double)left), from);
	report_outside(log, t->ledger);
}

static void report_samples(struct log *log, const struct measure *m, const struct ledger *l)
{
	char cpu[40] = "", gpu[120] = "";

	if (m->samples_cpu)
		snprintf(cpu, sizeof(cpu), "%" PRIu64 " CPU", l->cpu.samples);
	if (m->traces_gpu && used_gpu(l) && (!m->attached || m->injects))
		snprintf(gpu, sizeof(gpu),
			 "%" PRIu64 " launch%s, %" PRIu64 " GPU kernel%s (%.3f ms)",
			 l->launches.kernels, pick(l->launches.kernels, "", "es"), l->gpu.kernels,
			 s(l->gpu.kernels), ms(l->gpu.kernel_ns));
	if (cpu[0] || gpu[0])
		log_line(log, "Samples: %s%s%s", cpu, cpu[0] && gpu[0] ? ", " : "", gpu);
}

/*
 * Reports what was sampled beside what was charged: from a hundred samples on, or where it lacks.
 */
static void report_cpu(struct log *log, const struct measure *m, const struct totals *t)
{
	const struct ledger_cpu *cpu = &t->ledger->cpu;
	double used = (double)(cpu->used_ns ? cpu->used_ns : t->command_cpu_ns);
	double sampled = (double)saturated_sum(cpu->samples, cpu->in_calls) * (double)t->sample_ns;
	double rest = (double)cpu->not_sampled_ns;

	if ((m->wall || m->idle) && sampled > 0) /* samples stand for what their threads ran */
		sampled = used > rest ? used - rest : 0;

	/* of a part of the run it may not be known how much was used */
	if (!m->samples_cpu || (is_part(m) && !cpu->used_ns) || m->ranges || used <= 0 ||
	    (used < 100 * (double)t->sample_ns && rest <= 0))
		return;
	log_line(log, "CPU: %.3f s used, %.3f s sampled (%.0f %%)%s", used / 1e9, sampled / 1e9,
		 100 * sampled / used, rest > 0 ? ", the rest is [not sampled]" : "");
	if (rest > 0.05 * used && !m->wall && !m->idle) /* there each thread has a rest */
		log_warn(log, "%.0f %% of the CPU time has no sample: %s", 100 * rest / used,
			 2 * (double)cpu->dropped * (double)t->sample_ns > rest
				 ? "samples were dropped, see below"
				 : "time in exec and exit, or, without root, in the operating "
				   "system, or of threads and processes that ran for less "
				   "than a sampling period");
}

static void report_waits(struct log *log, const struct measure *m, const struct ledger *l)
{
	if (!m->waits || !used_gpu(l))
		return;
	if (!ledger_has_gpu_time(l)) {
		log_line(log, "Waits: not measured");
		return;
	}
	log_line(log, "Waits: %" PRIu64 " call%s, %.3f ms", l->calls.waits, s(l->calls.waits),
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

/* Why devices were idle. */
static void report_idle(struct log *log, const struct measure *m, const struct ledger *l)
{
	const struct ledger_idle *idle = &l->idle;
	const struct {
		uint64_t ns;
		const char *what;
	} parts[] = {{idle->off_cpu_ns, "the launching thread was off the CPU"},
		     {idle->computing_ns, "it computed"},
		     {idle->unknown_ns, "it was between two samples"},
		     {idle->launched_ns, "the work was launched and had not begun"},
		     {idle->before_ns, "before the first operation"},
		     {idle->after_ns, "after the last one"}};
	uint64_t ns = ledger_idle_ns(idle);
	char text[QUANTITY_BYTES], whole[QUANTITY_BYTES];

	if (!m->idle)
		return;
	if (idle->lost)
		log_warn(log,
			 "%" PRIu64 " record%s missing from idle times: no room beside the output, "
			 "or in memory",
			 idle->lost, pick(idle->lost, " is", "s are"));
	if (idle->devices == 0) {
		log_line(log, "GPU idle: nothing ran on a GPU");
		return;
	}
	log_line(log, "GPU idle: %" PRIu64 " GPU%s, %s of %s (%.1f %%)", idle->devices,
		 s(idle->devices), time_text(text, (double)ns),
		 time_text(whole, (double)idle->whole_ns),
		 idle->whole_ns ? 100 * (double)ns / (double)idle->whole_ns : 0);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].ns)
			log_line(log, "%12s  %s", time_text(text, (double)parts[i].ns),
				 parts[i].what);
}

/* Reports where threads' time went: "futex 1.250 s" by kind, the longest first. */
static void report_wall(struct log *log, const struct measure *m, const struct ledger *l)
{
	const struct ledger_wall *wall = &l->wall;
	uint64_t left[OFF_CPU_KINDS], off_ns = 0;
	size_t used = 0;
	char text[400] = "", life[QUANTITY_BYTES], ran[QUANTITY_BYTES], off[QUANTITY_BYTES],
	     runnable[QUANTITY_BYTES];

	if (!m->wall)
		return;
	memcpy(left, wall->off_ns, sizeof(left));
	left[OFF_CPU_RUNNABLE] = 0;
	for (int i = 0; i < OFF_CPU_KINDS; i++)
		saturated_add(&off_ns, left[i]);
	for (int n = 0; n < OFF_CPU_KINDS; n++) {
		int most = 0;

		for (int i = 1; i < OFF_CPU_KINDS; i++)
			if (left[i] > left[most])
				most = i;
		if (left[most] == 0)
			break;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s",
					 used ? ", " : " (", off_cpu_name((enum off_cpu_kind)most),
					 time_text(life, (double)left[most]));
		left[most] = 0;
		if (used > sizeof(text) - 60)
			break;
	}
	log_line(log, "Wall: %" PRIu64 " thread%s, %s: %s on a CPU, %s blocked%s%s, %s runnable",
		 wall->threads, s(wall->threads),
		 time_text(life, (double)wall->ran_ns + (double)off_ns +
					 (double)wall->off_ns[OFF_CPU_RUNNABLE]),
		 time_text(ran, (double)wall->ran_ns), time_text(off, (double)off_ns), text,
		 text[0] ? ")" : "", time_text(runnable, (double)wall->off_ns[OFF_CPU_RUNNABLE]));
	log_line(log,
		 "  %" PRIu64 " switch%s, %" PRIu64
		 " with a stack; %s of the others is spread over these",
		 wall->switches, pick(wall->switches, "", "es"), wall->stacks,
		 time_text(life, (double)wall->spread_ns));
	if (wall->of_profile_ns || wall->of_driver_ns)
		log_line(log,
			 "  in it are %s of profile's own thread, and %s of threads of CUPTI and "
			 "the "
			 "driver, each in one frame",
			 time_text(life, (double)wall->of_profile_ns),
			 time_text(ran, (double)wall->of_driver_ns));
	if (wall->left_ns)
		log_line(log, "  %s is under [stack not captured]",
			 time_text(life, (double)wall->left_ns));
	if (wall->in_calls_ns)
		log_line(log, "  %s more is within timed calls, whose time has it",
			 time_text(life, (double)wall->in_calls_ns));
	if (wall->lost)
		log_warn(log,
			 "%" PRIu64 " thread%s without times, or only with a part of them: there "
			 "were too many at once, or they ended last",
			 wall->lost, s(wall->lost));
}

/* Reports what threads did for others that wait for them. */
static void report_handovers(struct log *log, const struct ledger *l)
{
	uint64_t launches = l->launches.handed, samples = l->cpu.handed;
	uint64_t apart = saturated_sum(l->launches.apart, l->cpu.apart);

	if (saturated_sum(saturated_sum(launches, samples), apart) == 0)
		return;
	log_line(log,
		 "Handed over: %" PRIu64 " launch%s and %" PRIu64
		 " CPU sample%s of other threads are "
		 "under the thread that waited for them",
		 launches, pick(launches, "", "es"), samples, s(samples));
	if (apart)
		log_line(log,
			 "  %" PRIu64 " launch%s and %" PRIu64 " CPU sample%s more stand apart: no "
			 "thread waited, or more than one",
			 l->launches.apart, pick(l->launches.apart, "", "es"), l->cpu.apart,
			 s(l->cpu.apart));
}

/* Reports where stacks came from, and how many of them are whole. */
static void report_stacks(struct log *log, const struct ledger *l)
{
	uint64_t taken = l->launches.with_stack + l->launches.by_probe;

	if (l->cpu.samples)
		log_line(log, "Stacks: %.1f %% of CPU samples are whole",
			 percent_of(l->cpu.whole, l->cpu.samples));
	if (l->launches.with_stack)
		log_line(log, "Stacks: %.1f %% of launches are whole, taken in the process",
			 percent_of(l->launches.whole, taken));
	else if (l->launches.by_probe)
		log_line(log,
			 "Stacks: %.1f %% of launches are whole, taken by uprobes on %u function%s",
			 percent_of(l->launches.whole, taken), l->launches.probed_functions,
			 s(l->launches.probed_functions));
}

/*
 * Reports how many launches have no stack of their own, and how good the stacks are that they got.
 */
static void report_spread(struct log *log, const struct measure *m, const struct ledger *l)
{
	const struct ledger_spread *spread = &l->spread;
	uint64_t taken = l->launches.with_stack;
	uint64_t launches = saturated_sum(taken, l->launches.skipped);

	if (!m->max_overhead || launches == 0)
		return;
	log_line(log, "Stacks: %.1f %% of %" PRIu64 " launches have one of their own%s",
		 percent_of(taken, launches), launches,
		 l->launches.skipped ? "" : ": --max-overhead left none out");
	if (!l->launches.skipped)
		return;
	log_line(log,
		 "  %.3f ms of GPU work by the others are spread over these, by kernel and thread; "
		 "standard error of a stack's time: %.3f ms at most",
		 ms(spread->ns - spread->left_ns), ms(spread->error_ns));
	if (spread->borrowed_ns)
		log_line(log,
			 "  %.3f ms of it went by stacks of other threads or few launches, and are "
			 "not in that error",
			 ms(spread->borrowed_ns));
	if (spread->left_ns)
		log_line(log, "  %.3f ms are under [stack not sampled]: no such launch had a stack",
			 ms(spread->left_ns));
}

static void report_guessed(struct log *log, const struct ledger *l)
{
	uint64_t guessed = l->unwound.ends[UNWIND_GUESSED];

	if (guessed)
		log_line(log,
			 "Stacks: %" PRIu64 " %s guessed: of code without call-frame information "
			 "that had two possible callers",
			 guessed, pick(guessed, "is", "are"));
}

static void report_python(struct log *log, const struct ledger *l)
{
	uint64_t missing = l->python.missing;
	uint64_t unread = l->python.unread < missing ? l->python.unread : missing;

	missing -= unread;
	if (unread)
		log_line(log,
			 "Stacks: %" PRIu64 " %s without %s Python functions, which profile may "
			 "not read: " CAPABILITY_ADVICE,
			 unread, pick(unread, "is", "are"), pick(unread, "its", "their"));
	if (missing)
		log_line(log,
			 "Stacks: %" PRIu64 " %s without %s Python functions: taken before the "
			 "interpreter was known, or as a function was entered",
			 missing, pick(missing, "is", "are"), pick(missing, "its", "their"));
}

static void report_correlation(struct log *log, const struct measure *m, const struct ledger *l)
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

static void report_odd_launches(struct log *log, const struct ledger *l)
{
	uint64_t unended = l->launches.unended, unseen = l->gpu.unseen_nodes;
	uint64_t copies = l->launches.copies_unended, graphs = l->launches.graphs_unended;

	if (unended)
		log_line(log,
			 "  %" PRIu64 " kernel launch%s no record: the kernel%s had not ended "
			 "when tracing did, or %s lost",
			 unended, pick(unended, " has", "es have"), s(unended),
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
			 others, s(others), percent_of(others, stalls->samples),
			 pick(others, "is", "are"));
	if (stalls->mean_ns)
		log_line(
			log,
			"  %.1f %% of the kernel time is of launches without samples of their own, "
			"which show their kernel's mean",
			percent_of(stalls->mean_ns, stalls->split_ns));
}

/* Samples of where kernels' warps were: how much they explain, and what is missing. */
static void report_stalls(struct log *log, const struct measure *m, const struct ledger *l)
{
	const struct ledger_stalls *stalls = &l->stalls;

	if (!m->stall_period || l->gpu.kernels == 0)
		return;
	log_line(log,
		 "Stalls: %" PRIu64 " sample%s, one every %" PRIu64
		 " cycles, split %.1f %% of the kernel time; %.1f %% have a source line",
		 stalls->samples, s(stalls->samples), UINT64_C(1) << m->stall_period,
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
			 stalls->dropped, s(stalls->dropped),
			 percent_of(stalls->dropped, stalls->taken));
	if (stalls->overflows)
		log_line(log,
			 "  the GPU's buffer of samples was full %" PRIu64
			 " time%s: a longer --stall-period makes fewer",
			 stalls->overflows, s(stalls->overflows));
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
			 stalls->cubins_left_out, s(stalls->cubins_left_out),
			 pick(stalls->cubins_left_out, "is", "are"));
}

/* Returns what to do, as a sentence without a full stop. */
static const char *remedy_of(enum untraced_cause cause)
{
	static const char *const remedies[UNTRACED_CAUSES] = {
		[UNTRACED_NOT_KNOWN] =
			"It ended at once, or belongs to another user: then run profile with sudo",
		[UNTRACED_NOT_FOUND] = "See docs/troubleshooting.md, and what -v says of it",
		[UNTRACED_OTHER_LIBC] = "Run it with glibc",
		[UNTRACED_OLD_LIBC] = "Build profile on that system, or on one as old",
		[UNTRACED_NO_VARIABLE] =
			"Pass it on, and all that begin with PROFILE_ or INJECTION_: env -i, sudo, "
			"service managers and launchers drop them",
		[UNTRACED_OTHER_LIBRARY] = "Run without that tool (nsys, ncu, compute-sanitizer)",
		[UNTRACED_OTHER_FILES] = "Set TMPDIR to a folder that it sees, too: bubblewrap, "
					 "systemd's PrivateTmp "
					 "and containers have a /tmp of their own",
		[UNTRACED_OTHER_USER] = "Run profile as that user",
		[UNTRACED_NO_EXEC] = "Set TMPDIR to a folder on another file system",
		[UNTRACED_FILTERED] = "Run it without its sandbox",
		[UNTRACED_NO_PIPE_NAMED] = "Pass on all variables that begin with PROFILE_",
		[UNTRACED_NO_PIPE] = "Leave the folder of profile's files as it is",
		[UNTRACED_SECURE] = "Run it as its owner, or without its capabilities",
		[UNTRACED_PIPE_CLOSED] = "Leave the folder of profile's files as it is",
	};

	return remedies[cause];
}

/* Reports processes that may have used CUDA: by cause, unless some turned out to be traced. */
static void report_unsure(struct log *log, const struct ledger_processes *p)
{
	uint64_t known = 0, counts[UNTRACED_CAUSES] = {0};

	for (uint32_t i = UNTRACED_NOT_KNOWN + 1; i < UNTRACED_CAUSES; i++)
		known = saturated_sum(known, p->unsure[i]);
	if (known <= p->untraced)
		memcpy(counts, p->unsure, sizeof(counts));
	else
		known = 0;
	counts[UNTRACED_NOT_KNOWN] = p->untraced - known;
	for (enum untraced_cause cause = 0; cause < UNTRACED_CAUSES; cause++) {
		bool is_known = cause != UNTRACED_NOT_KNOWN;
		const char *text = is_known ? untraced_cause_text(cause) : "sudo and -v tell more";

		if (counts[cause])
			log_warn(log,
				 "%" PRIu64 " process%s loaded the CUDA driver and %s not traced; "
				 "whether %s used the GPU is not known: %s%s%s",
				 counts[cause], pick(counts[cause], "", "es"),
				 pick(counts[cause], "was", "were"),
				 pick(counts[cause], "it", "they"), text, is_known ? ". " : "",
				 is_known ? remedy_of(cause) : "");
	}
}

/* Processes that should have been traced, or may have: each with what to do. */
static void report_untraced(struct log *log, const struct ledger_processes *p)
{
	if (p->never_started)
		log_warn(log,
			 "tracing never started in %" PRIu64 " process%s that initialized CUDA: %s "
			 "GPU time is not in the profile. No cause was found: see "
			 "docs/troubleshooting.md",
			 p->never_started, pick(p->never_started, "", "es"),
			 pick(p->never_started, "its", "their"));
	for (enum untraced_cause cause = 0; cause < UNTRACED_CAUSES; cause++)
		if (p->causes[cause])
			log_warn(log,
				 "%" PRIu64 " process%s used the GPU and %s not traced: %s. %s",
				 p->causes[cause], pick(p->causes[cause], "", "es"),
				 pick(p->causes[cause], "was", "were"), untraced_cause_text(cause),
				 remedy_of(cause));
	report_unsure(log, p);
}

/* Counts processes of all causes. */
static uint64_t count_causes(const struct ledger_processes *p)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < UNTRACED_CAUSES; i++)
		sum = saturated_sum(sum, p->causes[i]);
	return sum;
}

/* Reports why a profile has no GPU part. */
static void report_no_gpu(struct log *log, const struct measure *m, const struct ledger *l)
{
	if (used_gpu(l) || l->processes.never_started || l->processes.untraced ||
	    count_causes(&l->processes))
		return;
	if (m->attached) {
		if (!m->samples_cpu)
			log_warn(log, "no process has loaded CUDA's driver: the profile is empty");
		return;
	}
	if (m->ranges && !l->outside.ranges)
		return; /* a line has said that nothing was recorded */
	if (is_part(m)) /* it may have, before or after */
		log_line(log, "No process used CUDA up to the end of what was recorded");
	else if (l->processes.unwatched)
		log_warn(log,
			 "no process sent GPU work: the command did not use CUDA, or "
			 "something dropped CUDA_INJECTION64_PATH from its environment (env -i, "
			 "sudo, a launcher), which without eBPF was not seen; run with sudo to "
			 "know. %s",
			 m->samples_cpu ? "This profile has CPU time only"
					: "The profile is empty");
	else if (!m->samples_cpu)
		log_warn(log, "the command did not use CUDA: the profile is empty");
	else /* where there is none, the line about an empty profile says so */
		log_warn(log, "the command did not use CUDA%s",
			 l->cpu.samples || l->cpu.not_sampled_ns
				 ? ": this profile has CPU time only"
				 : "");
}

/* Reports timed calls, where CUPTI could not be used; a message has given the reason. */
static void report_calls(struct log *log, const struct measure *m, const struct ledger *l)
{
	const struct ledger_calls *c = &l->calls;

	if (c->processes == 0)
		return;
	if (!c->timed && !c->lost && c->processes <= count_causes(&l->processes))
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
			 l->cpu.in_calls, s(l->cpu.in_calls), pick(l->cpu.in_calls, "is", "are"),
			 pick(l->cpu.in_calls, "it", "them"));
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

static void report_gpu(struct log *log, const struct measure *m, const struct ledger *l,
		       const struct devices *devices)
{
	if (l->pipe.processes > 0) {
		report_correlation(log, m, l);
		gpu_table_report(log, l, devices);
		report_odd_launches(log, l);
	}
	report_waits(log, m, l);
	report_stalls(log, m, l);
	report_calls(log, m, l);
	report_untraced(log, &l->processes);
	report_no_gpu(log, m, l);
}

/* "3 CPU samples and 1 launch were dropped: ..." */
static void report_dropped(struct log *log, const struct measure *m, const struct ledger *l)
{
	uint64_t all = saturated_sum(l->cpu.dropped, l->launches.dropped);
	char samples[48] = "", launches[48] = "";

	if (l->cpu.dropped)
		snprintf(samples, sizeof(samples), "%" PRIu64 " CPU sample%s", l->cpu.dropped,
			 s(l->cpu.dropped));
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

#define LAUNCHES_TEXT_BYTES 80

/* "; 12 of their kernel launches have no record" */
static const char *launches_text(char text[LAUNCHES_TEXT_BYTES], uint32_t processes,
				 uint64_t launches)
{
	text[0] = '\0';
	if (launches)
		snprintf(text, LAUNCHES_TEXT_BYTES,
			 "; %" PRIu64 " of %s kernel launches %s no record", launches,
			 pick(processes, "its", "their"), pick(launches, "has", "have"));
	return text;
}

/* Processes that ended without a goodbye, by what ended them. */
static void report_ends(struct log *log, const struct ledger_pipe *pipe, bool alone)
{
	uint64_t known = (uint64_t)pipe->killed + pipe->exited;
	uint32_t others =
		pipe->without_goodbye > known ? pipe->without_goodbye - (uint32_t)known : 0;
	char text[LAUNCHES_TEXT_BYTES];

	if (pipe->killed)
		log_warn(log, "%u traced process%s killed: GPU work of %s last 50 ms is missing%s",
			 pipe->killed, pick(pipe->killed, " was", "es were"),
			 pick(pipe->killed, "its", "their"),
			 launches_text(text, pipe->killed, pipe->killed_launches));
	if (pipe->exited_launches)
		log_warn(log,
			 "%u traced process%s ended by _exit or exec, or with threads that still "
			 "launched%s, and what %s launched in the last 50 ms may be missing, too",
			 pipe->exited, pick(pipe->exited, "", "es"),
			 launches_text(text, pipe->exited, pipe->exited_launches),
			 pick(pipe->exited, "it", "they"));
	else if (pipe->exited)
		log_line(log,
			 "%u traced process%s ended by _exit or exec: what %s launched in the last "
			 "50 ms and did not wait for is missing, if anything",
			 pipe->exited, pick(pipe->exited, "", "es"),
			 pick(pipe->exited, "it", "they"));
	if (others)
		log_warn(log,
			 "%u traced process%s ended without a goodbye (killed%s?): GPU work of "
			 "%s last 50 ms is missing%s",
			 others, pick(others, "", "es"), alone ? ", or the disk full" : "",
			 pick(others, "its", "their"), alone ? ", or all that found no room" : "");
}

/* Reports what did not arrive from traced processes, and why. */
static void report_broken_off(struct log *log, const struct totals *t)
{
	const struct ledger_pipe *pipe = &t->ledger->pipe;

	report_ends(log, pipe, t->measure.alone);
	if (t->longest_round_ns >= GPU_WIRE_PATIENCE_MS * UINT64_C(1000000) &&
	    (pipe->without_goodbye || pipe->lost_batches))
		log_warn(log,
			 "profile itself read nothing for %.1f s (stopped, or no free CPU): "
			 "programs wait %d s for it, then go on and drop what they cannot send",
			 (double)t->longest_round_ns / 1e9, GPU_WIRE_PATIENCE_MS / 1000);
	if (pipe->left)
		log_warn(log,
			 "%" PRIu64 " byte%s in the pipe %s not read: something went on writing "
			 "after the end",
			 pipe->left, s(pipe->left), pick(pipe->left, "was", "were"));
}

static void report_lost_on_the_way(struct log *log, const struct totals *t)
{
	const struct ledger *l = t->ledger;
	uint64_t not_followed = l->processes.not_followed, after_end = l->cpu.after_end;
	uint64_t lost_threads = l->processes.lost_threads;
	uint64_t lost_records = l->processes.lost_records;
	uint32_t foreign = l->pipe.foreign_versions;

	report_dropped(log, &t->measure, l);
	if (not_followed)
		log_warn(log, "%" PRIu64 " process%s not followed: too many at once", not_followed,
			 pick(not_followed, " was", "es were"));
	if (after_end)
		log_warn(log,
			 "%" PRIu64 " process%s on after the command: CPU time after its end is "
			 "not in the profile",
			 after_end, pick(after_end, " ran", "es ran"));
	if (lost_threads)
		log_warn(log,
			 "the creation of %" PRIu64 " thread%s was not seen: the machine was too "
			 "busy; %s stacks begin with %s",
			 lost_threads, s(lost_threads), pick(lost_threads, "its", "their"),
			 pick(lost_threads, "the thread", "the threads"));
	report_broken_off(log, t);
	if (foreign)
		log_warn(log,
			 "%u process%s sent another protocol version and %s ignored: is "
			 "%s from another release?",
			 foreign, pick(foreign, "", "es"), pick(foreign, "was", "were"),
			 t->measure.alone ? "the library that wrote them" : "-injection-lib");
	if (lost_records)
		log_warn(log, "%" PRIu64 " mapping record%s lost: some frames may be [unknown]",
			 lost_records, pick(lost_records, " was", "s were"));
}

static void report_bounds(struct log *log, const struct measure *m, const struct ledger *l)
{
	const struct ledger_bounds *b = &l->bounds;
	uint64_t malformed = l->pipe.malformed, refused = l->pipe.refused;

	if (b->late_allocations)
		log_warn(log,
			 "%" PRIu64 " allocation%s or release%s came too late to be counted in "
			 "order: peaks of memory may be wrong",
			 b->late_allocations, s(b->late_allocations), s(b->late_allocations));

	if (b->out_of_memory)
		log_warn(log, "out of memory: %" PRIu64 " event%s lost", b->out_of_memory,
			 pick(b->out_of_memory, " was", "s were"));
	if (b->programs)
		log_warn(log, "%" PRIu64 " program%s not in the profile: no more than 65536 %s",
			 b->programs, pick(b->programs, " is", "s are"),
			 m->alone ? "of a trace are read; give each its own (%p)"
				  : "are followed at one time");
	if (b->stacks)
		log_warn(log,
			 "%" PRIu64 " stack%s exceeded the limit on distinct stacks; %s under "
			 "[too many stacks]",
			 b->stacks, s(b->stacks), pick(b->stacks, "it is", "they are"));
	if (b->refused)
		log_warn(log, "%" PRIu64 " %s from the program exceeded the limit and %s dropped",
			 b->refused,
			 pick(b->refused, "name, mapping or stack", "names, mappings or stacks"),
			 pick(b->refused, "was", "were"));
	if (b->ranges)
		log_warn(log,
			 "%" PRIu64 " NVTX range%s went past a limit of --nvtx: %s not in stacks "
			 "by %s",
			 b->ranges, s(b->ranges), pick(b->ranges, "it is", "they are"),
			 pick(b->ranges, "its name", "their names"));
	if (b->folded_ranges)
		log_warn(log,
			 "%" PRIu64 " NVTX range%s %s N in place of the numbers in %s: too many "
			 "names differ in these alone",
			 b->folded_ranges, s(b->folded_ranges),
			 pick(b->folded_ranges, "has", "have"),
			 pick(b->folded_ranges, "its name", "their names"));
	if (malformed)
		log_warn(log,
			 "%" PRIu64 " malformed line%s in the %s %s ignored (%" PRIu64
			 " too long); %s began: %s",
			 malformed, s(malformed), stream(m), pick(malformed, "was", "were"),
			 l->pipe.too_long, pick(malformed, "it", "the first"),
			 l->pipe.first_malformed);
	if (refused)
		log_warn(log,
			 "%" PRIu64 " line%s in the %s came from %s %s and %s "
			 "ignored; %s began: %s",
			 refused, s(refused), stream(m),
			 pick(refused, "a process that", "processes that"),
			 m->alone ? b->programs ? "said no hello or are too many" : "said no hello"
				  : pick(refused, "is not the command's", "are not the command's"),
			 pick(refused, "was", "were"), pick(refused, "it", "the first"),
			 l->pipe.first_refused);
	if (b->truncated)
		log_warn(log,
			 "%" PRIu64
			 " stack%s cut where %s too deep or could not be followed; %s at "
			 "[truncated]",
			 b->truncated, pick(b->truncated, " is", "s are"),
			 pick(b->truncated, "it was", "they were"),
			 pick(b->truncated, "it begins", "they begin"));
	if (l->python.unordered)
		log_warn(log,
			 "%" PRIu64 " stack%s Python functions whose place among the native ones "
			 "is not known%s%s%s",
			 l->python.unordered, pick(l->python.unordered, " has", "s have"),
			 l->python.first_file[0] ? " (of " : "", l->python.first_file,
			 l->python.first_file[0] ? ")" : "");
}

/* How many launches have counters, and why the others have none. */
static void report_counters(struct log *log, const struct measure *m, const struct ledger *l)
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

static void report_timeline(struct log *log, const struct timeline_stats *t)
{
	const char *why = t->error == -E2BIG ? "there were too many" : strerror(-t->error);

	if (t->lost)
		log_warn(log, "%" PRIu64 " event%s missing from the timeline: %s", t->lost,
			 pick(t->lost, " is", "s are"), why);
	if (t->lost_shapes)
		log_warn(log, "%" PRIu64 " kernel%s in the timeline %s no grid and block: %s",
			 t->lost_shapes, s(t->lost_shapes), pick(t->lost_shapes, "has", "have"),
			 why);
}

static void report_listed(void *log, const struct loss *loss)
{
	if (loss->is_listed)
		log_warn(log, "%s: %" PRIu64, loss->what, loss->count);
}

void summary_report(struct log *log, const struct measure *measure, const struct totals *totals,
		    const struct devices *devices)
{
	const struct ledger *l = totals->ledger;

	if (measure->alone)
		log_line(log, "A trace, written without a profiler: no CPU samples in it");
	report_part(log, measure, totals);
	report_samples(log, measure, l);
	report_cpu(log, measure, totals);
	report_wall(log, measure, l);
	report_idle(log, measure, l);
	if (measure->traces_gpu)
		report_gpu(log, measure, l, devices);
	report_stacks(log, l);
	report_spread(log, measure, l);
	report_counters(log, measure, l);
	report_guessed(log, l);
	report_python(log, l);
	report_handovers(log, l);
	report_lost_on_the_way(log, totals);
	report_bounds(log, measure, l);
	losses_visit(l, 0, report_listed, log);
	report_timeline(log, &l->timeline);
}

/* ---- why stacks are cut ---- */

#define CUT_LINES 8u

void summary_report_cut(struct log *log, const struct cut_stacks *cut, struct symbolizer *s)
{
	struct cut_place places[CUT_LINES];
	uint32_t count = cut_stacks_top(cut, places, CUT_LINES);

	for (uint32_t i = 0; i < count; i++)
		log_verbose(log, "%" PRIu64 " stack%s cut in %s: %s", places[i].count,
			    pick(places[i].count, " is", "s are"),
			    symbolizer_module_path(s, places[i].module),
			    cut_stacks_reason(places[i].reason));
}

/* ---- idle threads ---- */

static bool is_of_idle_thread(const struct result *result, const struct row *row)
{
	uint32_t at = row->stack;

	if (row->kind != ROW_WAIT || at == RESULT_ROOT)
		return false;
	while (result->stacks[at].outer != RESULT_ROOT)
		at = result->stacks[at].outer;
	return is_idle_threads_mark(result->frames[result->stacks[at].frame].name);
}

void summary_report_idle_threads(struct log *log, const struct result *result)
{
	bool *seen = calloc(result->place_count + 1u, sizeof(*seen));
	uint64_t threads = 0, idle_ns = 0, ns = 0;
	char idle[QUANTITY_BYTES], all[QUANTITY_BYTES];

	for (uint32_t i = 0; seen && result->totals.measure.wall && i < result->row_count; i++) {
		const struct row *row = &result->rows[i];

		if (row->kind == ROW_CPU || row->kind == ROW_WAIT)
			saturated_add(&ns, row->ns);
		if (!is_of_idle_thread(result, row))
			continue;
		saturated_add(&idle_ns, row->ns);
		threads += !seen[row->place];
		seen[row->place] = true;
	}
	free(seen);
	if (threads)
		log_line(log,
			 "Idle: %" PRIu64 " thread%s waited for work for %s of the %s, below "
			 "[idle threads ...]",
			 threads, s(threads), time_text(idle, (double)idle_ns),
			 time_text(all, (double)ns));
}

/* ---- names ---- */

/* Says where the debug information is that is not read, and what to do. */
static void report_unread(struct log *log, const struct unnamed *u)
{
	static const char *const texts[] = {
		[DWARF_UNREAD_SPLIT] = "is in .dwo files: build without -gsplit-dwarf",
		[DWARF_UNREAD_COMMON] = "is partly in a file that dwz made for several programs: "
					"use a debug file that dwz -m has not shortened",
		[DWARF_UNREAD_COMPRESSED] = "is compressed in a way that is not known here: "
					    "objcopy --decompress-debug-sections FILE",
	};

	if (u->unread == 0 || !u->unread_path || u->unread_kind == DWARF_UNREAD_NOTHING ||
	    u->unread_kind >= sizeof(texts) / sizeof(texts[0]))
		return;
	log_warn(log,
		 "inlined functions are missing in %" PRIu64 " file%s: debug information of %s %s",
		 u->unread, s(u->unread), u->unread_path, texts[u->unread_kind]);
}

void summary_report_unnamed(struct log *log, const struct unnamed *u)
{
	if (u->unreadable)
		log_warn(log,
			 "this user may not read %" PRIu64 " file%s: %s code appears as [name]; %s "
			 "%s",
			 u->unreadable, s(u->unreadable), pick(u->unreadable, "its", "their"),
			 pick(u->unreadable, "it is", "the first is"), u->unreadable_path);
	report_unread(log, u);
	if (u->stuck)
		log_warn(log,
			 "%" PRIu64 " %s could not be read in time (a network or user file "
			 "system, or a busy machine?): some names are missing",
			 u->stuck, pick(u->stuck, "file or process", "files or processes"));
	if (u->refused)
		log_warn(log,
			 "%" PRIu64 " symbol table%s %s too large to read: some code appears as "
			 "[name]",
			 u->refused, s(u->refused), pick(u->refused, "is", "are"));
	if (u->refused_frames)
		log_warn(log,
			 "%" PRIu64
			 " record%s of call-frame information in jitdumps %s malformed, too large "
			 "or of no code: stacks through that code may be cut or guessed",
			 u->refused_frames, s(u->refused_frames),
			 pick(u->refused_frames, "is", "are"));
	if (u->not_asked)
		log_warn(log,
			 "the servers in DEBUGINFOD_URLS took longer than 30 s: %" PRIu64
			 " debug file%s %s not there in time",
			 u->not_asked, s(u->not_asked), pick(u->not_asked, "was", "were"));
	if (u->mangled)
		log_warn(log, "%" PRIu64 " name%s too long to demangle, and %s mangled", u->mangled,
			 pick(u->mangled, " takes", "s take"), pick(u->mangled, "stays", "stay"));
	if (u->not_kept)
		log_warn(log,
			 "%" PRIu64
			 " named stack%s or name%s exceeded the limit on memory: stacks are "
			 "under [too many stacks], names are shorter",
			 u->not_kept, s(u->not_kept), s(u->not_kept));
}

/* ---- what was written ---- */

static void report_empty(struct log *log, const struct measure *m, const struct totals *t,
			 const struct summary_written *w)
{
	if (t->shown && w->written.exact_ns <= 0)
		log_warn(log, "the profile is empty: nothing of the run is left with %s", t->shown);
	else if (w->unit && w->written.exact_ns > 0)
		log_warn(log, "all of it is less than one %s: use --unit us or --unit ns",
			 strcmp(w->unit, "samples") == 0 ? "sample's period" : "unit");
	else if (m->samples_cpu)
		log_warn(log,
			 "the profile is empty: %s used %.3f s of CPU in %.3f s, and no "
			 "sample fell into it (raise -F)",
			 m->attached ? "the processes" : "the command",
			 (double)t->command_cpu_ns / 1e9, (double)t->elapsed_ns / 1e9);
	else if (used_gpu(t->ledger))
		log_warn(log, "the profile is empty: no GPU time was recorded");
}

/* "3.250 s"; in units, "12" */
static const char *amount(char text[48], uint64_t amount, const char *unit)
{
	if (!unit)
		snprintf(text, 48, "%.3f s", (double)amount / 1e9);
	else
		snprintf(text, 48, "%" PRIu64, amount);
	return text;
}

/* "3.250 s", "3250 us"; "12 x 20 ms" in periods of samples, for not all of it was sampled. */
static const char *whole_amount(char text[96], uint64_t total, const char *unit,
				const struct totals *t)
{
	char count[48];

	amount(count, total, unit);
	if (unit && strcmp(unit, "samples") == 0)
		snprintf(text, 96, "%s x %.4g ms", count, (double)t->sample_ns / 1e6);
	else
		snprintf(text, 96, "%s%s%s", count, unit ? " " : "", unit ? unit : "");
	return text;
}

/*
 * Rounding keeps the sum: what is left out is not lost, but counts for other stacks. Where nothing
 * is left, report_empty has said so.
 */
static void report_omitted(struct log *log, const struct summary_written *w)
{
	uint64_t count = w->written.omitted;

	if (count == 0 || w->written.items == 0)
		return;
	log_line(log,
		 "  %" PRIu64 " more %s%s to 0 (%.3f ms%s) and %s not in it; the sum includes "
		 "%s time",
		 count, w->item, pick(count, " rounds", "s round"), w->written.omitted_ns / 1e6,
		 pick(count, "", " altogether"), pick(count, "is", "are"),
		 pick(count, "its", "their"));
}

void summary_report_written(struct log *log, const struct measure *measure,
			    const struct totals *totals, const struct summary_written *w)
{
	uint64_t total = 0;
	char text[6][48], waiting[64] = "", calling[64] = "", idle[64] = "";
	char whole[96];

	for (int kind = 0; kind < ROW_KINDS; kind++)
		total += w->written.total[kind];
	if (measure->waits || measure->wall || w->written.total[ROW_WAIT])
		snprintf(waiting, sizeof(waiting), ", %s %s",
			 amount(text[0], w->written.total[ROW_WAIT], w->unit),
			 measure->wall ? "off the CPU" : "waiting");
	if (w->written.total[ROW_IDLE])
		snprintf(idle, sizeof(idle), ", %s of idle GPUs",
			 amount(text[5], w->written.total[ROW_IDLE], w->unit));
	if (w->written.total[ROW_CALL])
		snprintf(calling, sizeof(calling), ", %s in CUDA calls",
			 amount(text[1], w->written.total[ROW_CALL], w->unit));
	if (w->weight) {
		log_line(log, "Wrote %" PRIu64 " %s%s (%s) to %s", w->written.items, w->item,
			 s(w->written.items), weight_text(text[0], w->weight, total), w->file);
		return;
	}
	if (total == 0 && (w->is_first || w->written.exact_ns > 0))
		report_empty(log, measure, totals, w);
	log_line(log, "Wrote %" PRIu64 " %s%s (%s: %s CPU, %s GPU%s%s%s) to %s", w->written.items,
		 w->item, s(w->written.items), whole_amount(whole, total, w->unit, totals),
		 amount(text[3], w->written.total[ROW_CPU], w->unit),
		 amount(text[4], w->written.total[ROW_GPU], w->unit), waiting, calling, idle,
		 w->file);
	report_omitted(log, w);
	if (w->written.source_lines)
		log_line(log, "  with %" PRIu64 " line%s of %" PRIu64 " source file%s",
			 w->written.source_lines, s(w->written.source_lines),
			 w->written.source_files, s(w->written.source_files));
}

/* ---- what it cost ---- */

/*
 * Returns the CPU time of the programs in which the library's is a part: ns; 0: not known, as what
 * is known ends before the programs do, or begins after they did.
 */
static uint64_t cpu_with_library_ns(const struct totals *t)
{
	const struct measure *m = &t->measure;
	const struct ledger_cpu *cpu = &t->ledger->cpu;

	if (is_part(m) || m->attached || m->ranges || cpu->after_end)
		return 0;
	return cpu->used_ns > t->command_cpu_ns ? cpu->used_ns : t->command_cpu_ns;
}

/* Writes "145.000 ms in the program (4.8 % of its CPU time), ". */
static void cost_in_program(char *text, size_t size, const struct totals *t)
{
	const struct ledger_pipe *traced = &t->ledger->pipe;
	uint64_t ns = t->ledger->cost.program_ns, whole_ns = cpu_with_library_ns(t);
	char time[QUANTITY_BYTES], share[64];

	if (ns > whole_ns && t->ledger->cpu.used_ns && whole_ns)
		ns = whole_ns; /* it is estimated from a part of the launches */
	snprintf(share, sizeof(share), " (%.1f %% of its CPU time)", percent_of(ns, whole_ns));
	snprintf(text, size, "%s%s in the program%s, ", traced->without_goodbye ? "at least " : "",
		 time_text(time, (double)ns),
		 whole_ns && ns <= whole_ns ? share
					    : " (from its start to its end, recorded or not)");
}

void summary_report_cost(struct log *log, const struct totals *totals)
{
	const struct ledger_cost *cost = &totals->ledger->cost;
	char program[160] = "", kernel[80] = "", pipe[64] = "";
	char text[QUANTITY_BYTES], memory[QUANTITY_BYTES];

	const struct ledger_pipe *traced = &totals->ledger->pipe;

	/* programs say it in their goodbye */
	if (traced->processes > traced->without_goodbye)
		cost_in_program(program, sizeof(program), totals);
	if (cost->kernel_ns > 0)
		snprintf(kernel, sizeof(kernel), "%s in the operating system, ",
			 time_text(text, (double)cost->kernel_ns));
	if (cost->pipe_bytes > 0)
		snprintf(pipe, sizeof(pipe), ", pipe %s", bytes_text(text, cost->pipe_bytes));
	log_line(log, "Cost: CPU %s%s%s in profile; memory %s%s", program, kernel,
		 time_text(text, (double)totals->own_cpu_ns),
		 bytes_text(memory, totals->own_memory_bytes), pipe);
}
