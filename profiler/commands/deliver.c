// SPDX-License-Identifier: MIT
#include "profiler/commands/deliver.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "profiler/base/exit_status.h"
#include "profiler/commands/compare.h"
#include "profiler/report/gpu_table.h"
#include "profiler/report/strict.h"
#include "profiler/report/summary.h"
#include "profiler/report/top.h"

unsigned int deliver_needs(const struct options *o)
{
	return outputs_need(o->outputs, o->output_count) | view_needs(&o->view);
}

unsigned int deliver_wants(const struct options *o)
{
	return deliver_needs(o) | (o->report || o->before.count > 0 ? NEEDS_TIMELINE : 0);
}

uint32_t deliver_place_mask(const struct options *o)
{
	return deliver_wants(o) & (NEEDS_TIMELINE | NEEDS_PLACES) ? PLACES_ALL
								  : view_place_mask(&o->view);
}

void deliver_folder(const struct outputs *outputs, char folder[DELIVER_FOLDER_BYTES])
{
	int beside = outputs_folder(outputs);

	if (beside >= 0)
		snprintf(folder, DELIVER_FOLDER_BYTES, "/proc/self/fd/%d", beside);
	else
		snprintf(folder, DELIVER_FOLDER_BYTES, "%s", access(".", W_OK) == 0 ? "." : "/tmp");
}

bool deliver_open(struct log *log, const struct options *o, const struct identity *identity,
		  struct outputs *outputs)
{
	uint32_t failed;
	int err = outputs_open(outputs, o->outputs, o->output_count, &failed);
	const char *path = err ? o->outputs[failed].path : NULL;

	if (!err)
		return true;
	if (err == -EBUSY)
		log_error(log, "-o %s is given twice, or two -o name the same file", path);
	else if (identity->other && (err == -EACCES || err == -EPERM))
		log_error(log,
			  "cannot write %s as %s: %s; choose a file that this user may write with "
			  "-o, or use --as-root",
			  path, identity->shown, strerror(-err));
	else
		log_error(log, "cannot write %s: %s; choose another file with -o", path,
			  strerror(-err));
	return false;
}

/* A sample as long as the run's, so that each of its samples counts one. */
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

static void report_written(struct log *log, const struct options *o, uint32_t at,
			   const struct totals *totals, const struct written *written)
{
	static const char *const words[] = UNIT_WORDS;
	const struct output_choice *choice = &o->outputs[at];
	struct summary_written w = {.file = strcmp(choice->path, "-") == 0 ? "standard output"
									   : choice->path,
				    .item = choice->writer->item,
				    .is_first = at == 0,
				    .unit = choice->writer->has_units ? words[o->unit] : NULL,
				    .written = *written};

	summary_report_written(log, &totals->measure, totals, &w);
	if (choice->writer->keeps_all && slice_is_part(&o->view.slice))
		log_line(log,
			 "  it holds the whole run, not only the part that other outputs show");
}

/* What a format shows of the result; `view`: NULL if it is viewed as it is. */
static const struct result *result_for(const struct writer *writer, const struct result *result,
				       const struct view *view)
{
	if (!view || writer->keeps_all)
		return result;
	return writer->has_both_names ? view_result(view) : view_text_result(view);
}

/* 0, or the status to exit with. */
static int write_all(struct log *log, const struct options *o, struct outputs *outputs,
		     struct opener *opener, const struct result *result, const struct view *view)
{
	const struct output_choice *to_show = NULL;
	int status = 0;

	for (uint32_t i = 0; i < o->output_count; i++) {
		const struct result *r = result_for(o->outputs[i].writer, result, view);
		struct writer_options options = {.unit_ns = unit_ns(o->unit, &r->totals),
						 .root_at_bottom = o->root_at_bottom};
		struct written written;
		int err = outputs_write(outputs, i, r, &options, &written);

		if (!err) {
			report_written(log, o, i, &r->totals, &written);
			if (o->open && &o->outputs[i] == options_shown(o))
				to_show = &o->outputs[i];
		} else if (err == -EPIPE) { /* the reader has gone: no failure of ours */
			status = status ? status : EXIT_SIGNAL_BASE + SIGPIPE;
		} else {
			log_error(log, "writing %s: %s", o->outputs[i].path, strerror(-err));
			status = EXIT_PROFILER_FAILED;
		}
	}
	if (to_show)
		opener_show(opener, log, to_show->path);
	return status;
}

/* NULL after logging the reason. */
static struct view *new_view(struct log *log, const struct options *o,
			     const struct outputs *outputs, const struct result *result,
			     struct allowance *memory)
{
	char folder[DELIVER_FOLDER_BYTES];
	struct view *view;

	deliver_folder(outputs, folder);
	view = view_new(result, &o->view, folder, memory);
	if (view)
		return view;
	if (errno == ENODATA)
		log_error(log, "--time needs the course of the run, which was not kept");
	else
		log_error(log, "preparing the outputs: %s", strerror(errno));
	return NULL;
}

/* Where nothing is own, the user's code is elsewhere than they, or we, thought. */
static void report_own_code(struct log *log, const struct options *o, const struct result *result,
			    const struct view *view)
{
	const char *folder = result->totals.folder;

	if (!o->view.my_code || view_has_own_code(view) || result->row_count == 0)
		return;
	if (o->view.my_path_count)
		log_line(log, "profile: --my-path: no code below these folders ran");
	else if (folder)
		log_line(log,
			 "profile: --my-code: no code below the working directory ran, %s; name "
			 "your folders with --my-path",
			 folder);
	else
		log_line(log, "profile: --my-code: the working directory is not known; name your "
			      "folders with --my-path");
}

/* --report, whatever -q says; without it, a short form on a terminal. */
static void report_top(struct log *log, const struct options *o, const struct result *result)
{
	struct log loud = {.level = LOG_NORMAL};

	if (o->report)
		top_report(&loud, result, TOP_FULL, top_width());
	else if (isatty(STDERR_FILENO) && log->level >= LOG_NORMAL)
		top_report(log, result, TOP_SHORT, top_width());
}

/* --baseline. 0, or the status to exit with. */
static int compare_with_result(struct log *log, const struct options *o,
			       const struct outputs *outputs, const struct result *result)
{
	char folder[DELIVER_FOLDER_BYTES];

	deliver_folder(outputs, folder);
	return compare_with_baselines(log, o, result, folder);
}

int deliver(struct log *log, const struct options *o, struct outputs *outputs,
	    struct opener *opener, const struct result *result, struct allowance *memory)
{
	struct view *view = NULL;
	const struct result *shown = result;
	int status;

	if (view_changes(&o->view)) {
		view = new_view(log, o, outputs, result, memory);
		if (!view)
			return EXIT_PROFILER_FAILED;
		shown = view_result(view);
		report_own_code(log, o, result, view);
		if (o->view.trim_to.text && !view_has_root(view) && result->row_count > 0)
			log_warn(log, "--trim-to: no function in the profile matches '%s'",
				 o->view.trim_to.text);
	}
	gpu_table_report_devices(log, shown);
	summary_report_unnamed(log, &shown->unnamed);
	report_top(log, o, shown);
	status = write_all(log, o, outputs, opener, result, view);
	if (o->output_count > 0 && strcmp(o->outputs[0].path, OPTIONS_DEFAULT_OUTPUT) == 0 &&
	    isatty(STDERR_FILENO))
		log_line(log,
			 "For a report or a picture in the browser: -o FILE.html, -o FILE.svg");
	if (o->view.slice.has_time && shown->totals.ledger->timeline.lost) {
		log_error(log,
			  "%" PRIu64
			  " events of the run were not kept, and with --time the outputs "
			  "lack their time: %s",
			  shown->totals.ledger->timeline.lost,
			  strerror(-shown->totals.ledger->timeline.error));
		status = EXIT_PROFILER_FAILED;
	}
	if (!status && o->strict &&
	    !strict_check(log, shown->totals.ledger, shown->unnamed.not_kept))
		status = EXIT_NOT_EXACT;
	if (!status)
		status = compare_with_result(log, o, outputs, shown);
	view_free(view);
	return status;
}
