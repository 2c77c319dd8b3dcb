// SPDX-License-Identifier: MIT
#include "profiler/commands/deliver.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "profiler/base/exit_status.h"
#include "profiler/commands/ask.h"
#include "profiler/commands/chosen_steps.h"
#include "profiler/commands/compare.h"
#include "profiler/commands/open_outputs.h"
#include "profiler/commands/push.h"
#include "profiler/commands/push_queue.h"
#include "profiler/commands/slow_steps.h"
#include "profiler/findings/findings.h"
#include "profiler/formats/spans.h"
#include "profiler/model/memory_use.h"
#include "profiler/report/changes.h"
#include "profiler/report/report_tables_print.h"
#include "profiler/report/gpu_table.h"
#include "profiler/model/quantity.h"
#include "profiler/report/strict.h"
#include "profiler/report/summary.h"
#include "profiler/report/top.h"
#include "profiler/report/unnamed_code.h"

#define SLOW_STEPS_LINES 10 /* lines per table */

unsigned int deliver_needs(const struct options *o)
{
	const struct run_options *run = options_run(o);
	bool asks =
		o->query.question && (query_needs_findings(&o->query) || query_other(&o->query));

	return outputs_need(o->outputs, o->output_count) | view_needs(&o->view) |
	       (asks ? USES_TIMELINE : 0) |
	       (o->launch_shapes || (run && run->measure.idle) ||
				(o->span_server && !span_export_is_live(o))
			? NEEDS_TIMELINE
			: 0);
}

/* Returns whether the user sees the losses of a timeline, because more than findings uses it. */
bool deliver_shows_timeline(const struct options *o)
{
	return deliver_needs(o) & NEEDS_TIMELINE || o->report || o->baselines.count > 0;
}

unsigned int deliver_wants(const struct options *o)
{
	const struct run_options *run = options_run(o);
	unsigned int needs = deliver_needs(o);

	return deliver_shows_timeline(o) || needs & USES_TIMELINE || o->level >= LOG_NORMAL ||
			       (run && run->control)
		       ? needs | NEEDS_TIMELINE
		       : needs;
}

uint32_t deliver_place_mask(const struct options *o)
{
	/* a device is identified by its process */
	uint32_t pushed = o->push_count ? 1u << PLACE_PROCESS | 1u << PLACE_DEVICE : 0;

	return deliver_wants(o) & (NEEDS_TIMELINE | NEEDS_PLACES) || o->span_server
		       ? PLACES_ALL
		       : view_place_mask(&o->view) | pushed;
}

/*
 * Returns the unit of weights in ns. For samples it is the period, so that each sample counts 1.
 */
static double unit_ns(enum weight_unit unit, const struct totals *totals)
{
	switch (unit) {
	case UNIT_MICROSECONDS:
		return 1e3;
	case UNIT_NANOSECONDS:
		return 1;
	default:
		return (double)totals->sample_ns;
	}
}

/* Returns whether a mean step is to be shown in samples: it seldom has a whole one. */
static bool is_mean_of_samples(const struct options *o)
{
	return o->view.per_step && o->unit == UNIT_SAMPLES;
}

/* Returns the name of an output in messages. */
static const char *output_shown(const struct options *o, uint32_t at)
{
	const char *path = o->outputs[at].path;

	return strcmp(path, "-") == 0 ? "standard output" : path;
}

static void report_written(struct log *log, const struct options *o, uint32_t at,
			   const struct result *result, const struct written *written,
			   struct ending *ending)
{
	static const char *const words[] = UNIT_WORDS;
	const struct output_choice *choice = &o->outputs[at];
	bool has_whole_run = choice->writer->keeps_all && slice_is_part(&o->view.slice);
	struct summary_written w = {.file = output_shown(o, at),
				    .item = choice->writer->item,
				    .is_first = at == 0,
				    .unit = !choice->writer->has_units ? NULL
					    : is_mean_of_samples(o)    ? words[UNIT_NANOSECONDS]
								       : words[o->unit],
				    .weight = result->weight,
				    .written = *written};

	summary_report_written(log, &result->totals.measure, &result->totals, &w);
	if (has_whole_run && log->level >= LOG_VERBOSE)
		log_line(log,
			 "  it holds the whole run, not only the part that other outputs show");
	ending_note_file(ending, &(struct ending_file){.path = w.file,
						       .is_report = choice->writer == &html_writer,
						       .has_whole_run = has_whole_run,
						       .source_lines = written->source_lines,
						       .source_files = written->source_files});
}

/* Returns the path of an output with this format. Returns NULL if there is none, or it failed. */
static const char *path_with(const struct options *o, const struct writer *writer,
			     const int *errors)
{
	for (uint32_t i = 0; i < o->output_count; i++)
		if (o->outputs[i].writer == writer && !errors[i])
			return o->outputs[i].path;
	return NULL;
}

/* Recommends a smaller format if an output is larger than its viewers can read. */
static void report_large(struct log *log, const struct options *o, uint32_t at,
			 const struct written *written, const int *errors)
{
	const struct output_choice *choice = &o->outputs[at];
	const struct writer *writer = choice->writer, *smaller = writer->smaller;
	const char *other = smaller ? path_with(o, smaller, errors) : NULL;
	const char *name = output_shown(o, at);
	bool has_name = has_suffix(choice->path, writer->suffix);
	int stem = (int)(strlen(choice->path) - (has_name ? strlen(writer->suffix) : 0));

	if (!smaller || written->bytes <= writer->readable_bytes)
		return;
	if (other)
		log_warn(log,
			 "%s has %.0f MB, and viewers in browsers read %.0f at most: %s has the "
			 "same",
			 name, (double)written->bytes / 1e6, (double)writer->readable_bytes / 1e6,
			 other);
	else
		log_warn(log,
			 "%s has %.0f MB, and viewers in browsers read %.0f at most; the same "
			 "takes a third or less as -o %.*s%s",
			 name, (double)written->bytes / 1e6, (double)writer->readable_bytes / 1e6,
			 has_name ? stem : 4, has_name ? choice->path : "FILE", smaller->suffix);
}

/* ---- room for the outputs ---- */

/* A result whose timeline may shrink to make room for outputs. */
struct shrinkable {
	struct result result;
	struct ledger ledger; /* copy of the result's ledger */
	uint64_t lost;        /* records that the timeline lost to make room */
};

static void shrinkable_init(struct shrinkable *s, const struct result *result)
{
	s->result = *result;
	s->ledger = *result->totals.ledger;
	s->result.totals.ledger = &s->ledger;
	s->lost = 0;
}

static void note_lost(struct shrinkable *s, uint64_t lost)
{
	s->lost += lost;
	s->ledger.timeline.lost += lost;
	if (!s->ledger.timeline.error)
		s->ledger.timeline.error = -ENOSPC;
}

/*
 * Frees disk space of the timeline. Returns false if no space can be freed on that file system.
 */
static bool shrink(struct shrinkable *s, struct timeline *timeline, int beside)
{
	uint64_t before = timeline ? timeline_stats(timeline).lost : 0;

	if (!timeline || !timeline_give_room(timeline, beside))
		return false;
	note_lost(s, timeline_stats(timeline).lost - before);
	return true;
}

/* The run, and its view if the options change what is shown. Each has its timeline. */
struct delivered {
	struct shrinkable run, shown; /* `shown.result` is the input of the view */
	struct view *view;            /* NULL if the run is shown unchanged */
	struct chosen_steps steps;    /* steps of the view */
	struct slow_steps *slow;      /* shown in place of a view; or NULL */
	struct findings *findings;    /* findings on the shown result */
	struct ending *ending;
	struct weighed weighed;
};

/*
 * Returns whether a capture has the metric of --weight. For a run the loss of a metric is already
 * reported, and the other outputs are still wanted.
 */
static bool check_metric(struct log *log, const struct options *o, const struct result *result)
{
	char sums[COUNTERS_SUMS_BYTES];

	if (o->command != COMMAND_FROM)
		return true;
	if (!result->counters)
		return log_error(log, "--weight %s: the run read no counters: --counters",
				 o->weight_metric);
	if (counters_were_read(result->counters, o->weight_metric, sums) &&
	    counters_is_additive(o->weight_metric))
		return true;
	return log_error(
		log,
		"--weight %s: only metrics that the run read and that end in .sum can be drawn, "
		"for these add up over launches: %s",
		o->weight_metric, sums);
}

/* Replaces times by the weight of --weight. Returns false after logging the reason. */
static bool weigh(struct log *log, const struct options *o, struct delivered *d)
{
	struct result *result = &d->shown.result;
	int err;

	if (o->weight != WEIGHT_METRIC && !result_tables_find(result->tables, &memory_rows_table))
		return log_error(log, "--weight: the run did not follow memory: --alloc");
	if (o->weight == WEIGHT_METRIC && !check_metric(log, o, result))
		return false;
	err = o->weight == WEIGHT_METRIC ? weighed_by_metric(&d->weighed, result, o->weight_metric)
					 : weighed_by_memory(&d->weighed, result, o->weight);
	return !err || log_error(log, "out of memory");
}

/* Logs the share of launches and GPU time that the weight of a counter covers. */
static void report_weight(struct log *log, const struct weighed *w)
{
	const struct weighed_launches *l = &w->launches;

	log_line(log, "Weight: %s, %s (%.1f %%)", w->weight.title, w->weight.note,
		 percent_of(l->read, l->weighed));
	log_line_if(log, l->without,
		    "  not in it: # launch{|es} of kernels that were not measured, %.1f %% of the "
		    "GPU time",
		    percent_of(l->without_ns, l->gpu_ns));
	log_warn_if(log, l->cut,
		    "%s: the values of # stack{|s} are larger than a GPU counts, and were cut",
		    w->weight.title);
	if (l->other_ns)
		log_line(log, "  not in it: copies and other work, %.1f %% of the GPU time",
			 percent_of(l->other_ns, l->gpu_ns));
}

/* Returns the result that a format writes. */
static const struct result *result_for(const struct writer *writer, const struct delivered *d)
{
	if (writer->keeps_all)
		return &d->run.result;
	if (d->slow)
		return &slow_steps_comparison(d->slow)->result;
	if (!d->view)
		return &d->shown.result;
	return writer->has_both_names ? view_result(d->view) : view_text_result(d->view);
}

/* Returns the timeline of the view if the run has another one. Returns NULL otherwise. */
static struct timeline *own_timeline(const struct delivered *d)
{
	struct timeline *t = d->view ? view_result(d->view)->timeline : NULL;

	return t != d->run.result.timeline ? t : NULL;
}

/*
 * Frees disk space for an output, preferably from its own timeline. Returns false if none can be
 * freed.
 */
static bool make_room(struct delivered *d, bool keeps_all, int beside)
{
	struct timeline *own = own_timeline(d);

	if (!keeps_all && shrink(&d->shown, own, beside))
		return true;
	if (shrink(&d->run, d->run.result.timeline, beside)) {
		if (!own)
			note_lost(&d->shown, d->run.lost - d->shown.lost);
		return true;
	}
	return keeps_all && shrink(&d->shown, own, beside);
}

/* ---- the outputs ---- */

/* Writes an output. Retries with a shorter timeline as long as space can be freed. */
static int write_one(struct outputs *outputs, uint32_t at, struct delivered *d,
		     const struct writer_options *options, struct written *written)
{
	const struct writer *writer = outputs->choices[at].writer;
	int err;

	do {
		err = outputs_write(outputs, at, result_for(writer, d), options, written);
	} while (output_lacks_room(err) &&
		 make_room(d, writer->keeps_all, outputs_place(outputs, at)));
	return err;
}

/*
 * Writes outputs without a timeline first: if space is short, only outputs with a timeline lose
 * events. Returns 0, or the exit status.
 */
static int write_all(struct log *log, const struct options *o, struct outputs *outputs,
		     struct opener *opener, const struct span_export *spans, struct delivered *d)
{
	char service[ENGINE_SERVICE_BYTES];
	const struct writer_options options = {
		.service = service,
		.unit_ns = d->shown.result.weight || is_mean_of_samples(o)
				   ? 1
				   : unit_ns(o->unit, &d->run.result.totals),
		.root_at_bottom = o->root_at_bottom,
		.comparison = d->slow ? (struct comparison *)slow_steps_comparison(d->slow) : NULL,
		.spans = &spans->otel.spans,
		.query = &o->query};
	struct written written[OUTPUTS_MAX] = {{.items = 0}};
	int errors[OUTPUTS_MAX], status = 0;

	engine_service(&d->run.result, getenv("OTEL_SERVICE_NAME"), service);
	for (unsigned int needs = 0; needs <= NEEDS_TIMELINE; needs += NEEDS_TIMELINE)
		for (uint32_t i = 0; i < o->output_count; i++)
			if ((o->outputs[i].writer->needs & NEEDS_TIMELINE) == needs)
				errors[i] = write_one(outputs, i, d, &options, &written[i]);
	log_warn_if(log, d->shown.lost > d->run.lost ? d->shown.lost : d->run.lost,
		    "# event{ was|s were} left out of the timeline to make room for the outputs");
	for (uint32_t i = 0; i < o->output_count; i++) {
		const struct writer *writer = o->outputs[i].writer;

		if (!errors[i] && d->slow && !writer->keeps_all)
			log_line(log, "Wrote %" PRIu64 " %s%s to %s", written[i].items,
				 writer->item, written[i].items == 1 ? "" : "s",
				 output_shown(o, i));
		else if (!errors[i])
			report_written(log, o, i, result_for(writer, d), &written[i], d->ending);
		report_large(log, o, i, &written[i], errors);
		status = open_outputs_status(log, o->outputs[i].path, errors[i], status);
	}
	open_outputs_show(log, o, opener, errors);
	return status;
}

/* Makes the view of `d`, which has the run. Returns false after logging the reason. */
static bool make_view(struct log *log, const struct options *o, const struct outputs *outputs,
		      struct delivered *d, struct quota *memory)
{
	char folder[OUTPUTS_FOLDER_BYTES];
	struct timeline *own;

	open_outputs_folder(outputs, folder);
	if (o->slow_steps) {
		d->slow = slow_steps_new(log, &d->run.result, &o->view, o->slow_widths, folder,
					 memory);
		return d->slow;
	}
	if (!chosen_steps_find(log, &d->steps, &d->run.result, &o->view, "the run"))
		return false;
	d->view = view_new(&d->shown.result, &d->steps.view, folder, memory);
	own = own_timeline(d);
	if (own)
		note_lost(&d->shown, timeline_stats(own).lost);
	if (d->view)
		return true;
	if (errno == ENODATA)
		return log_error(log, "--time needs the course of the run, which was not kept");
	return log_error(log, "preparing the outputs: %s", strerror(errno));
}

static void release(struct delivered *d)
{
	view_free(d->view);
	slow_steps_free(d->slow);
	findings_free(d->findings);
	chosen_steps_release(&d->steps);
	weighed_release(&d->weighed);
}

/* Warns if no code counts as the user's own: --my-path, or the guessed folder, is wrong. */
static void report_own_code(struct log *log, const struct options *o, const struct result *result,
			    const struct view *view)
{
	const char *folder = result->totals.folder;

	if (!o->view.my_code || view_has_own_code(view) || result->row_count == 0)
		return;
	if (o->view.my_path_count)
		log_warn(log, "--my-path: no code below these folders ran");
	else if (folder)
		log_warn(log,
			 "--my-code: no code below the working directory ran, %s; name your "
			 "folders with --my-path",
			 folder);
	else
		log_warn(log, "--my-code: the working directory is not known; name your folders "
			      "with --my-path");
}

/* Prints the report of --top, also with -q. Otherwise prints the findings and a short table. */
static void report_findings(struct log *log, const struct options *o, const struct result *result)
{
	struct log loud = {.level = LOG_NORMAL};

	ending_report(log, result);
	if (o->report) {
		top_report(&loud, result, top_width(TOP_WIDTH));
		if (o->command == COMMAND_FROM ||
		    log->level < LOG_NORMAL) /* else the summary ends with the cost */
			top_report_cost(&loud, &result->totals);
	} else
		ending_report_table(log, result, top_width(ENDING_WIDTH));
	report_tables_print(o->report ? &loud : log, result, top_width(TOP_WIDTH),
			    top_is_on_terminal(), o->report);
}

/* Prints how the slowest steps differ. */
static void report_slow(struct log *log, const struct options *o, const struct slow_steps *slow)
{
	struct log loud = {.level = LOG_NORMAL};

	changes_report(o->report ? &loud : log, slow_steps_comparison(slow), SLOW_STEPS_LINES,
		       top_width(TOP_WIDTH));
}

/* Returns whether an output, the report, the end of the run or an answer shows findings. */
static bool shows_findings(const struct options *o)
{
	bool shows = o->level >= LOG_NORMAL || o->report || o->query.question;

	for (uint32_t i = 0; i < o->output_count; i++)
		shows |= o->outputs[i].writer->shows_findings;
	return shows;
}

/* Returns whether options leave out GPU work, so that nobody sees when GPUs were idle. */
static bool leaves_out_work(const struct slice *s)
{
	return s->kernel.text || slice_is_of_frames(s) || s->parts[PLACE_THREAD].text ||
	       s->parts[PLACE_CONTEXT].text || s->parts[PLACE_STREAM].text;
}

/* Makes the findings of what the view shows. A part of all GPUs' time is divided as in the run. */
static struct findings *find_in_view(const struct options *o, const struct delivered *d)
{
	const struct slice *slice = &o->view.slice;
	const struct result *result = view_result(d->view);
	struct findings_part part = {.run = &d->shown.result};

	if (slice->kinds && !(slice->kinds & 1u << ROW_GPU))
		return findings_none("GPU work is not shown");
	if (leaves_out_work(slice))
		return findings_none("only some of the GPU work is shown");
	if (!slice_is_of_time(slice) || slice->parts[PLACE_PROCESS].text ||
	    slice->parts[PLACE_DEVICE].text)
		return findings_new(result, NULL);
	result_time_range(result, &part.from_ns, &part.to_ns);
	if (d->steps.work_ns) {
		uint64_t from_ns = d->steps.work_ns[d->steps.first];
		uint64_t to_ns = d->steps.work_ns[d->steps.end];

		if (!slice->has_time || part.from_ns < from_ns)
			part.from_ns = from_ns;
		if (!slice->has_time || part.to_ns > to_ns)
			part.to_ns = to_ns;
	}
	return findings_new(result, &part);
}

/* Makes the findings of the shown result, if anything shows them. Without memory there are none. */
static void make_findings(const struct options *o, struct delivered *d)
{
	if (d->shown.result.weight || d->slow || o->view.per_step)
		return; /* rows have no times, or those of steps without a course */
	if (!shows_findings(o))
		return;
	d->findings = d->view ? find_in_view(o, d) : findings_new(&d->shown.result, NULL);
	d->shown.result.findings = d->findings;
	if (d->view)
		view_set_findings(d->view, d->findings);
}

/* Returns whether the result has a frame of a class. */
static bool has_frames_of(const struct result *r, enum frame_class class)
{
	for (uint32_t i = 0; i < r->frame_count; i++)
		if (r->frames[i].class == class)
			return true;
	return false;
}

/* Tells which parts of --by no stack has. */
static void report_parts(struct log *log, const struct grouping *by, const struct result *result)
{
	if (grouping_has(by, GROUPING_RANK) && result->rank_count == 0 &&
	    !result->totals.job.is_known)
		log_warn(log,
			 "--by rank: none of %s was set, so there are no "
			 "ranks; " JOB_RANK_ADVICE,
			 JOB_RANK_VARIABLES);
	if (grouping_has(by, GROUPING_OPERATOR) && !has_frames_of(result, CLASS_OPERATOR))
		log_warn(log, "--by operator: no operator is in the profile; a run has them with "
			      "--ops");
	if ((grouping_has(by, GROUPING_LAYER) || grouping_has(by, GROUPING_LAYER_KIND)) &&
	    !has_frames_of(result, CLASS_LAYER))
		log_warn(log,
			 "--by layer: no layer is in the profile; a run has them with --modules");
}

/* Tells which patterns for frames match none. */
static void report_frames(struct log *log, const struct view *view, const struct slice *slice)
{
	if (slice->under.text && !view_has_under(view))
		log_warn(log, "--under: no frame in the profile matches '%s'", slice->under.text);
	if (slice->not_under.text && !view_has_left_out(view))
		log_warn(log, "--not-under: no frame in the profile matches '%s'",
			 slice->not_under.text);
}

/* Tells that a question is about nothing. An answer's messages are errors alone. */
static void report_asked(struct log *log, const struct view *view, const struct slice *slice)
{
	if (slice->under.text && !view_has_under(view))
		log_error(log, "--under: no frame in the profile matches '%s'", slice->under.text);
}

int deliver(struct log *log, const struct options *o, struct outputs *outputs,
	    struct opener *opener, struct span_export *spans, const struct helper *helper,
	    struct session *session, const struct result *result, struct quota *memory,
	    struct ending *ending)
{
	struct delivered d = {.ending = ending, .weighed = {.rows = NULL}};
	const struct result *shown = &d.shown.result;
	uint64_t lost_spans;
	uint32_t not_pushed;
	int status;

	shrinkable_init(&d.run, result);
	/* a capture without a timeline has no launch shapes, and the report would show an empty
	 * table */
	d.run.result.totals.measure.launch_shapes &= result->timeline != NULL;
	d.run.result.totals.measure.launch_shapes |= o->launch_shapes;
	shrinkable_init(&d.shown, &d.run.result);
	if ((o->weight != WEIGHT_TIME && !weigh(log, o, &d)) ||
	    (view_changes(&o->view) && !make_view(log, o, outputs, &d, memory))) {
		release(&d);
		return EXIT_PROFILER_FAILED;
	}
	make_findings(o, &d);
	if (d.view) {
		shown = view_result(d.view);
		report_own_code(log, o, result, d.view);
		report_parts(log, &o->view.by, result);
		if (o->view.trim_to.text && !view_has_root(d.view) && result->row_count > 0)
			log_warn(log, "--trim-to: no function in the profile matches '%s'",
				 o->view.trim_to.text);
		if (o->query.question && log->level < LOG_NORMAL)
			report_asked(log, d.view, &o->view.slice);
		else
			report_frames(log, d.view, &o->view.slice);
	}
	summary_report_idle_threads(log, result);
	gpu_table_report_devices(log, shown);
	summary_report_unnamed(log, &shown->unnamed);
	unnamed_code_report(log, result);
	if (o->weight == WEIGHT_METRIC)
		report_weight(log, &d.weighed);
	if (d.slow)
		report_slow(log, o, d.slow);
	else
		report_findings(log, o, shown->weight ? &d.run.result : shown);
	status = write_all(log, o, outputs, opener, spans, &d);
	if (o->query.question && o->command == COMMAND_FROM)
		status = ask(log, o, outputs, shown);
	if (span_export_send(spans, log, result_for(&otlp_json_writer, &d), &lost_spans) != 0 &&
	    !status)
		status = EXIT_PROFILER_FAILED;
	if (o->run.every)
		not_pushed =
			push_queue_send(log, o, helper, session, result_for(&pprof_writer, &d));
	else
		not_pushed = push_result(log, o, helper, session, result_for(&pprof_writer, &d));
	/* a command's exit status does not depend on profile engines */
	if (not_pushed && o->command == COMMAND_FROM)
		status = EXIT_PROFILER_FAILED;
	if (o->output_count > 0 && strcmp(o->outputs[0].path, OPTIONS_DEFAULT_OUTPUT) == 0 &&
	    top_is_on_terminal())
		log_warn(log,
			 "for a report or a picture in the browser: -o FILE.html, -o FILE.svg");
	if (slice_is_of_time(&o->view.slice) && result->totals.ledger->timeline.lost) {
		log_error(log,
			  "%" PRIu64 " events of the run were not kept, and with %s the "
			  "outputs lack their time: %s",
			  result->totals.ledger->timeline.lost,
			  o->view.slice.has_time ? "--time" : "steps",
			  strerror(-result->totals.ledger->timeline.error));
		status = EXIT_PROFILER_FAILED;
	}
	ending_note_losses(ending, &shown->totals, shown->unnamed.not_kept);
	if (!status && o->strict &&
	    !strict_check(log, &shown->totals, shown->unnamed.not_kept, lost_spans, not_pushed))
		status = EXIT_NOT_EXACT;
	if (!status)
		status = compare_with_baselines(log, o, shown, outputs);
	release(&d);
	return status;
}
