// SPDX-License-Identifier: MIT
#include "profiler/report/summary_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/model/losses.h"
#include "profiler/report/gpu_table.h"
#include "profiler/model/quantity.h"
#include "symbolize/dwarf.h"
#include "symbolize/symbolizer.h"
#include "symbolize/util/saturate.h"

/*
 * Returns whether work after the recorded part deserves a line. Up to half a second of such work
 * is normal. At half of the recorded time or more, the part may be misplaced.
 */
static bool is_notable_after(const struct log *log, const struct ledger *l)
{
	uint64_t recorded_ns = 0;

	for (uint32_t i = 0; i < l->gpu.row_count; i++)
		saturated_add(&recorded_ns, l->gpu.rows[i].ns);
	return l->outside.after &&
	       (log->level >= LOG_VERBOSE || l->outside.after_ns >= recorded_ns / 2);
}

/* Reports operations outside the recorded part, and operations without a launch. */
static void report_outside(struct log *log, const struct ledger *ledger)
{
	const struct ledger_outside *l = &ledger->outside;

	log_line_if(log, l->before, "  # GPU operation{|s} began before (%.3f ms): left out",
		    ms(l->before_ns));
	if (is_notable_after(log, ledger))
		log_line_if(log, l->after,
			    "  # GPU operation{|s} began just after recording ended (%.3f ms): "
			    "left out",
			    ms(l->after_ns));
	log_line_if(log, l->unended,
		    "  # launch{ is|es are} left out: {its|their} work had not ended when "
		    "recording did");
	log_line_if(log, l->unchosen,
		    "  # GPU operation{ was|s were} launched outside (%.3f ms): left out",
		    ms(l->unchosen_ns));
	if (l->only_outside && l->entered)
		log_line_if(log, l->only_outside,
			    "  # process{|es} never entered a range: all of {its|their} GPU work "
			    "is among these");
	log_line_if(log, l->earlier,
		    "  # GPU operation{ was|s were} launched before launches were recorded (%.3f "
		    "ms): under [launched before recording]",
		    ms(l->earlier_ns));
}

/* Reports the last part of a run. Losses and stacks are reported for the whole run. */
static void report_last(struct log *log, const struct measure *m, const struct ledger *ledger,
			uint64_t length_ns)
{
	const struct ledger_outside *l = &ledger->outside;
	char from[QUANTITY_BYTES], length[QUANTITY_BYTES], wanted[QUANTITY_BYTES];

	log_line(log, "Recorded: the last %s, from %s after the %s",
		 time_text(length, (double)length_ns), time_text(from, (double)m->delay_ns),
		 m->attached ? "beginning" : "command's start");
	if (l->not_held_ns)
		log_warn(log, "the last %s did not fit into memory: the first %s of it is missing",
			 time_text(wanted, (double)(length_ns + l->not_held_ns)),
			 time_text(length, (double)l->not_held_ns));
	report_outside(log, ledger);
}

/* Reports the parts of the run that NVTX ranges selected. */
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
	log_line_if(log, l->ranges,
		    "Recorded: what was in the range %s, which was entered # time{|s}%s", names,
		    by);
}

/* Reports the windows in which launches were recorded. Work of other launches is known in part. */
static void report_windows(struct log *log, const struct measure *m, const struct ledger *ledger)
{
	const struct ledger_windows *l = &ledger->windows;
	char length[QUANTITY_BYTES];

	if (l->count || !ledger->pipe.processes)
		log_line_if(log, l->count,
			    "Recorded: # window{|s}, %s in all (--budget %g): GPU times are "
			    "estimates",
			    time_text(length, (double)l->ns), m->budget / 1000.0);
	else
		log_warn(log, "no window of --budget %g began: GPU work is unknown; record longer",
			 m->budget / 1000.0);
}

/* Reports the recorded part of the run, and operations outside it. */
static void report_part(struct log *log, const struct measure *m, const struct totals *t)
{
	const struct ledger_outside *l = &t->ledger->outside;
	uint64_t left = t->elapsed_ns > m->delay_ns ? t->elapsed_ns - m->delay_ns : 0;
	char from[QUANTITY_BYTES + 40] = "", length[QUANTITY_BYTES];

	if (m->ranges)
		report_ranges(log, m, l);
	if (m->budget) {
		report_windows(log, m, t->ledger);
		return;
	}
	if (!is_part_of_run(m)) { /* attached processes and `stop` also leave operations outside */
		if (!m->ranges &&
		    (l->before || is_notable_after(log, t->ledger) || l->unended || l->earlier))
			log_line(log, "Recorded: %s",
				 m->attached ? time_text(length, (double)t->elapsed_ns)
					     : "until `stop`");
		report_outside(log, t->ledger);
		return;
	}
	if (left == 0 && !l->not_held_ns) {
		if (!m->attached) /* with attach the session has printed this */
			log_warn(log,
				 "the run ended after %s, before --delay had passed: nothing was "
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

static void report_gpu(struct log *log, const struct measure *m, const struct ledger *l,
		       const struct devices *devices)
{
	if (l->pipe.processes > 0 && summary_shows(log, l, SUMMARY_MATCHES)) {
		summary_correlation(log, m, l);
		gpu_table_report(log, l, devices);
		summary_odd_launches(log, l);
	}
	log_line_if(log, l->gpu.unwatched,
		    "# allocation{ is|s are} of unified memory, whose migrations and page faults "
		    "are not recorded: --unified-memory records them");
	summary_waits(log, m, l);
	summary_stalls(log, m, l);
	summary_calls(log, m, l);
	summary_untraced(log, &l->processes);
	summary_no_gpu(log, m, l);
}

static void report_bounds(struct log *log, const struct measure *m, const struct ledger *l)
{
	const struct ledger_bounds *b = &l->bounds;
	uint64_t malformed = l->pipe.malformed, refused = l->pipe.refused;

	log_warn_if(log, b->late_allocations,
		    "# allocation{|s} or release{|s} came too late to be counted in order: peaks "
		    "of memory may be wrong");

	log_warn_if(log, b->out_of_memory, "out of memory: # event{ was|s were} lost");
	log_warn_if(log, b->programs,
		    "# program{ is|s are} not in the profile: no more than 65536 %s",
		    m->alone ? "of a trace are read; give each its own (%p)"
			     : "are followed at one time");
	log_warn_if(log, b->stacks,
		    "# stack{|s} exceeded the limit on distinct stacks; {it is|they are} under "
		    "[too many stacks]");
	log_warn_if(log, b->refused,
		    "# {name, mapping or stack|names, mappings or stacks} from the program "
		    "exceeded the limit and {was|were} dropped");
	log_warn_if(
		log, b->ranges,
		"# range{|s} went past a limit of --nvtx or --ops: {it is|they are} not in stacks "
		"by {its name|their names}");
	log_warn_if(log, b->folded_ranges,
		    "# NVTX range{|s} {has|have} N in place of the numbers in {its name|their "
		    "names}: too many names differ in these alone");
	log_warn_if(log, malformed,
		    "# malformed line{|s} in the %s {was|were} ignored (%" PRIu64
		    " too long); {it|the first} began: %s",
		    stream(m), l->pipe.too_long, l->pipe.first_malformed);
	log_warn_if(log, refused,
		    "# line{|s} in the %s came from {a process that|processes that} %s and "
		    "{was|were} ignored; {it|the first} began: %s",
		    stream(m),
		    m->alone ? b->programs ? "said no hello or are too many" : "said no hello"
			     : pick(refused, "is not the command's", "are not the command's"),
		    l->pipe.first_refused);
	log_warn_if(log, b->truncated,
		    "# stack{ is|s are} cut where {it was|they were} too deep or could not be "
		    "followed; {it begins|they begin} at [truncated]");
	log_warn_if(log, l->python.unordered,
		    "# stack{ has|s have} Python functions whose place among the native ones is "
		    "not known%s%s%s",
		    l->python.first_file[0] ? " (of " : "", l->python.first_file,
		    l->python.first_file[0] ? ")" : "");
}

static void report_timeline(struct log *log, const struct timeline_stats *t)
{
	const char *why = t->error == -E2BIG ? "there were too many" : strerror(-t->error);

	log_warn_if(log, t->lost, "# event{ is|s are} missing from the timeline: %s", why);
	log_warn_if(log, t->lost_shapes,
		    "# kernel{|s} in the timeline {has|have} no grid and block: %s", why);
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
	summary_samples(log, measure, l);
	summary_cpu(log, measure, totals);
	summary_wall(log, measure, l);
	summary_idle(log, measure, l);
	if (measure->traces_gpu)
		report_gpu(log, measure, l, devices);
	summary_stacks(log, l);
	summary_spread(log, measure, l);
	summary_counters(log, measure, l);
	summary_guessed(log, l);
	summary_python(log, l);
	summary_async_parents(log, l);
	summary_losses(log, totals);
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
	return result->frames[result->stacks[at].frame].mark == PSEUDO_KIND_IDLE_THREADS;
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
	log_line_if(log, threads,
		    "Idle: # thread{|s} waited for work for %s of the %s, below [idle threads ...]",
		    time_text(idle, (double)idle_ns), time_text(all, (double)ns));
}

/* ---- names ---- */

/* Reports debug information that cannot be read, and what to do. */
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
	log_warn_if(log, u->unread,
		    "inlined functions are missing in # file{|s}: debug information of %s %s",
		    u->unread_path, texts[u->unread_kind]);
}

void summary_report_unnamed(struct log *log, const struct unnamed *u)
{
	log_warn_if(log, u->unreadable,
		    "this user may not read # file{|s}: {its|their} code appears as [name]; {it "
		    "is|the first is} %s",
		    u->unreadable_path);
	report_unread(log, u);
	log_warn_if(log, u->stuck,
		    "# {file or process|files or processes} could not be read in time (a network "
		    "or user file system, or a busy machine?): some names are missing");
	log_warn_if(log, u->refused,
		    "# symbol table{|s} {is|are} too large to read: some code appears as [name]");
	log_warn_if(log, u->refused_frames,
		    "# record{|s} of call-frame information in jitdumps {is|are} malformed, too "
		    "large or of no code: stacks through that code may be cut or guessed");
	log_warn_if(log, u->not_asked,
		    "the servers in DEBUGINFOD_URLS took longer than 30 s: # debug file{|s} "
		    "{was|were} not there in time");
	log_warn_if(log, u->mangled,
		    "# name{ takes|s take} too long to demangle, and {stays|stay} mangled");
	log_warn_if(log, u->not_kept,
		    "# named stack{|s} or name{|s} exceeded the limit on memory: stacks are under "
		    "[too many stacks], names are shorter");
}

/* ---- what was written ---- */

static void report_empty(struct log *log, const struct measure *m, const struct totals *t,
			 const struct summary_written *w)
{
	if (t->shown && w->written.exact_ns <= 0)
		log_warn(log, "the profile is empty: no part of the run matches %s", t->shown);
	else if (w->unit && w->written.exact_ns > 0)
		log_warn(log, "all of it is less than one %s: use --unit us or --unit ns",
			 strcmp(w->unit, "samples") == 0 ? "sample's period" : "unit");
	else if (m->samples_cpu)
		log_warn(log,
			 "the profile is empty: %s used %.3f s of CPU in %.3f s, and no sample "
			 "fell into it (raise -F)",
			 m->attached ? "the processes" : "the command",
			 (double)t->command_cpu_ns / 1e9, (double)t->elapsed_ns / 1e9);
	else if (used_gpu(t->ledger))
		log_warn(log, "the profile is empty: no GPU time was recorded");
}

/* Formats "3.250 s", or "12" in units. */
static const char *amount(char text[48], uint64_t amount, const char *unit)
{
	if (!unit)
		snprintf(text, 48, "%.3f s", (double)amount / 1e9);
	else
		snprintf(text, 48, "%" PRIu64, amount);
	return text;
}

/* Formats "3.250 s" or "3250 us". In samples, "12 x 20 ms", since not all time was sampled. */
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
 * Reports stacks that round to 0. Rounding keeps the sum: their time counts for other stacks.
 * report_empty covers an empty profile.
 */
static void report_omitted(struct log *log, const struct summary_written *w)
{
	uint64_t count = w->written.omitted;

	if (count == 0 || w->written.items == 0)
		return;
	log_line_if(log, count,
		    "  # more %s{ rounds|s round} to 0 (%.3f ms{| altogether}) and {is|are} not in "
		    "it; the sum includes {its|their} time",
		    w->item, w->written.omitted_ns / 1e6);
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
		if (log->level < LOG_VERBOSE)
			return;
		log_line(log, "Wrote %" PRIu64 " %s%s (%s) to %s", w->written.items, w->item,
			 plural(w->written.items), weight_text(text[0], w->weight, total), w->file);
		return;
	}
	if (total == 0 && (w->is_first || w->written.exact_ns > 0))
		report_empty(log, measure, totals, w);
	if (log->level < LOG_VERBOSE)
		return;
	log_line(log, "Wrote %" PRIu64 " %s%s (%s: %s CPU, %s GPU%s%s%s) to %s", w->written.items,
		 w->item, plural(w->written.items), whole_amount(whole, total, w->unit, totals),
		 amount(text[3], w->written.total[ROW_CPU], w->unit),
		 amount(text[4], w->written.total[ROW_GPU], w->unit), waiting, calling, idle,
		 w->file);
	report_omitted(log, w);
	log_line_if(log, w->written.source_lines, "  with # line{|s} of %" PRIu64 " source file%s",
		    w->written.source_files, plural(w->written.source_files));
}

/* ---- what it cost ---- */

/*
 * Returns the programs' CPU time in ns, which includes the library's. Returns 0 if the known time
 * does not cover the whole run of the programs.
 */
static uint64_t cpu_with_library_ns(const struct totals *t)
{
	const struct measure *m = &t->measure;
	const struct ledger_cpu *cpu = &t->ledger->cpu;

	if (is_part_of_run(m) || m->attached || m->ranges || cpu->after_end)
		return 0;
	return cpu->used_ns > t->command_cpu_ns ? cpu->used_ns : t->command_cpu_ns;
}

uint64_t summary_program_ns(const struct totals *t)
{
	uint64_t ns = t->ledger->cost.program_ns, whole_ns = cpu_with_library_ns(t);

	/* the library's time is estimated from some of the launches */
	return ns > whole_ns && t->ledger->cpu.used_ns && whole_ns ? whole_ns : ns;
}

/* Writes "145.000 ms in the program (4.8 % of its CPU time), ". */
static void cost_in_program(char *text, size_t size, const struct totals *t)
{
	const struct ledger_pipe *traced = &t->ledger->pipe;
	uint64_t ns = summary_program_ns(t), whole_ns = cpu_with_library_ns(t);
	char time[QUANTITY_BYTES], share[64];

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

	if (log->level < LOG_VERBOSE)
		return;
	/* programs report their cost in the goodbye */
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
