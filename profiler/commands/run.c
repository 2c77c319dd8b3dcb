// SPDX-License-Identifier: MIT
#include "profiler/commands/run.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "profiler/base/command_text.h"
#include "profiler/base/exit_status.h"
#include "profiler/output/naming.h"
#include "profiler/output/outputs.h"
#include "profiler/report/gpu_table.h"
#include "profiler/report/strict.h"
#include "profiler/report/summary.h"
#include "profiler/report/top.h"
#include "profiler/session/identity.h"
#include "profiler/session/privilege.h"
#include "profiler/session/session.h"
#include "profiler/session/supervisor.h"

struct run {
	const struct options *options;
	const struct inherited *inherited;
	unsigned int needs; /* enum writer_needs, of all outputs */
	struct session_options session_options;
	struct identity identity;
	struct log log;
	struct outputs outputs;
	struct timeline *timeline; /* NULL: no output needs one */
	int kallsyms; /* /proc/kallsyms, open; -1: it is not, or the symbolizer has it */
};

/* ---- options of each part ---- */

static struct session_options session_options(const struct options *o, unsigned int needs)
{
	uint32_t mask =
		needs & (NEEDS_TIMELINE | NEEDS_PLACES) ? PLACES_ALL : grouping_mask(&o->by);
	struct measure measure = o->measure;

	measure.devices = (mask & 1u << PLACE_DEVICE) || o->level == LOG_VERBOSE;
	return (struct session_options){
		.command = o->command,
		.measure = measure,
		.injection_lib = o->injection_lib,
		.cuda_libs = o->cuda_libs,
		.cuda_lib_count = o->cuda_lib_count,
		.record = o->record,
		.place_mask = mask,
	};
}

static double unit_ns(const struct options *o)
{
	switch (o->unit) {
	case UNIT_MICROSECONDS:
		return 1e3;
	case UNIT_NANOSECONDS:
		return 1;
	default:
		return 1e9 / o->measure.frequency_hz;
	}
}

/* ---- after the run ---- */

static void report_written(struct run *r, uint32_t at, const struct totals *totals,
			   const struct written *written)
{
	static const char *const words[] = UNIT_WORDS;
	const struct output_choice *choice = &r->options->outputs[at];
	struct summary_written w = {
		.file = strcmp(choice->path, "-") == 0 ? "standard output" : choice->path,
		.item = choice->writer->item,
		.is_first = at == 0,
		.unit = choice->writer->has_units ? words[r->options->unit] : NULL,
		.written = *written};

	summary_report_written(&r->log, &r->options->measure, totals, &w);
}

/* All outputs, even if one fails. 0, or the status to exit with. */
static int write_all(struct run *r, const struct result *result)
{
	struct writer_options options = {.unit_ns = unit_ns(r->options),
					 .root_at_bottom = r->options->root_at_bottom};
	int status = 0;

	for (uint32_t i = 0; i < r->options->output_count; i++) {
		struct written written;
		int err = outputs_write(&r->outputs, i, result, &options, &written);

		if (!err) {
			report_written(r, i, &result->totals, &written);
		} else if (err == -EPIPE) { /* the reader has gone: no failure of ours */
			status = status ? status : EXIT_SIGNAL_BASE + SIGPIPE;
		} else {
			log_error(&r->log, "writing %s: %s", r->options->outputs[i].path,
				  strerror(-err));
			status = EXIT_PROFILER_FAILED;
		}
	}
	return status;
}

/* The cost of the run (-v). */
static void report_cost(struct log *log, const struct totals *totals, const struct timespec *start)
{
	struct rusage usage = {0};
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	getrusage(RUSAGE_SELF, &usage);
	log_verbose(log, "the command used %.3f s of CPU in %.3f s; profile used %.3f s meanwhile",
		    (double)totals->command_cpu_ns / 1e9, (double)totals->elapsed_ns / 1e9,
		    (double)totals->own_cpu_ns / 1e9);
	log_verbose(log, "naming and writing took %.3f s; at most %ld MiB of memory were in use",
		    (double)(end.tv_sec - start->tv_sec) +
			    (double)(end.tv_nsec - start->tv_nsec) / 1e9,
		    usage.ru_maxrss / 1024);
}

/* Completes it and notes its losses in the ledger. */
static void finish_timeline(struct run *r, struct ledger *ledger)
{
	if (!r->timeline)
		return;
	timeline_finish(r->timeline);
	ledger->timeline = timeline_stats(r->timeline);
}

/* --report, whatever -q says; without it, a short form on a terminal. */
static void report_top(struct run *r, const struct result *result)
{
	struct log log = {.level = LOG_NORMAL};

	if (r->options->report)
		top_report(&log, result, TOP_FULL, top_width());
	else if (isatty(STDERR_FILENO) && r->log.level >= LOG_NORMAL)
		top_report(&r->log, result, TOP_SHORT, top_width());
}

/* Summary and profile of a run that ended with `status`; returns the status to pass on. */
static int finish(struct run *r, struct session *session, int status)
{
	const struct options *o = r->options;
	struct naming_options naming = {
		.raw_names = o->raw_names, .inlines = o->inlines, .grouping = o->by};
	struct collected collected = collect_results(session_collect(session));
	struct totals totals = session_totals(session);
	char *command = command_text(o->command);
	struct timespec start;
	struct result *result;
	int failed;

	finish_timeline(r, collect_ledger(session_collect(session)));
	if (r->identity.keeps_root)
		log_line(&r->log, "The command ran as root: --as-root");
	summary_report(&r->log, &o->measure, &totals);
	clock_gettime(CLOCK_MONOTONIC, &start);
	malloc_trim(0); /* what the run needed has been freed in small pieces, too */
	symbolizer_set_kallsyms(collected.symbolizer, r->kallsyms);
	r->kallsyms = -1;
	totals.command = command;
	result = result_new(&collected, &naming, &totals);
	if (!result) {
		log_error(&r->log, "out of memory");
		free(command);
		return EXIT_PROFILER_FAILED;
	}
	gpu_table_report_devices(&r->log, result);
	summary_report_unnamed(&r->log, &result->unnamed);
	collect_ledger(session_collect(session))->bounds.stacks +=
		result->unnamed.not_kept; /* for --strict */
	report_top(r, result);
	failed = write_all(r, result);
	if (strcmp(o->outputs[0].path, OPTIONS_DEFAULT_OUTPUT) == 0 && isatty(STDERR_FILENO))
		log_line(&r->log,
			 "For a report or a picture in the browser: -o FILE.html, -o FILE.svg");
	result_free(result);
	free(command);
	report_cost(&r->log, &totals, &start);
	if (failed)
		return failed;
	if (o->strict && !strict_check(&r->log, totals.ledger))
		return EXIT_NOT_EXACT;
	return status;
}

/* ---- the run ---- */

/* False after logging the reason. */
static bool open_outputs(struct run *r)
{
	const struct options *o = r->options;
	uint32_t failed;
	int err = outputs_open(&r->outputs, o->outputs, o->output_count, &failed);
	const char *path = err ? o->outputs[failed].path : NULL;

	if (!err)
		return true;
	if (err == -EBUSY)
		log_error(&r->log, "-o %s leads to the same place as another -o", path);
	else if (r->identity.other && (err == -EACCES || err == -EPERM))
		log_error(&r->log,
			  "cannot write %s as %s: %s; choose a file that this user may write with "
			  "-o, or use --as-root",
			  path, r->identity.shown, strerror(-err));
	else
		log_error(&r->log, "cannot write %s: %s; choose another file with -o", path,
			  strerror(-err));
	return false;
}

/*
 * The timeline's file lies beside an output; in the current folder where none is a file in a
 * folder. False after logging the reason.
 */
static bool open_timeline(struct run *r)
{
	int beside = outputs_folder(&r->outputs);
	char folder[64] = ".";

	if (!(r->needs & NEEDS_TIMELINE))
		return true;
	if (beside >= 0)
		snprintf(folder, sizeof(folder), "/proc/self/fd/%d", beside);
	r->timeline = timeline_new(folder, NULL);
	r->session_options.timeline = r->timeline;
	if (r->timeline)
		return true;
	log_error(&r->log, "cannot create a temporary file in %s: %s; choose another file with -o",
		  beside >= 0 ? "the folder of the output" : "the current folder", strerror(errno));
	return false;
}

/* Becomes the user and does the rest; privilege.h has the whole table. */
static int run_as_user(struct run *r, struct session *session,
		       const struct supervisor_link *supervisor)
{
	int status, exit_status = 0, err = privilege_become_user(&r->identity);

	if (err) {
		log_error(&r->log, "cannot become %s: %s; use --as-root", r->identity.shown,
			  strerror(-err));
		return EXIT_PROFILER_FAILED;
	}
	supervisor_report_user(supervisor);
	if (!open_outputs(r))
		return EXIT_PROFILER_FAILED;
	status = open_timeline(r)
			 ? session_run(session, outputs_take_stdout(&r->outputs), &exit_status)
			 : EXIT_PROFILER_FAILED;
	if (!status) {
		supervisor_report_writing(supervisor);
		privilege_drop_all();
		status = finish(r, session, exit_status);
	}
	outputs_cancel(&r->outputs);
	return status;
}

static int work(const struct supervisor_link *supervisor, void *context)
{
	struct run *r = context;
	struct session *session =
		session_new(&r->session_options, r->inherited, supervisor, &r->log);
	int status;

	if (!session) {
		log_error(&r->log, "out of memory");
		return EXIT_PROFILER_FAILED;
	}
	privilege_raise_limits();
	r->kallsyms = privilege_open_kallsyms();
	status = session_open(session);
	if (!status)
		status = run_as_user(r, session, supervisor);
	session_free(session);
	timeline_free(r->timeline);
	if (r->kallsyms >= 0)
		close(r->kallsyms);
	return status;
}

int run(const struct options *options, const struct inherited *inherited)
{
	unsigned int needs = outputs_need(options->outputs, options->output_count);
	struct run r = {.options = options,
			.inherited = inherited,
			.needs = needs,
			.session_options = session_options(options, needs),
			.log.level = options->level,
			.kallsyms = -1};

	switch (identity_find(&r.identity, options->as_root)) {
	case 0:
		return supervisor_run(&r.log, &r.identity, work, &r);
	case -EPERM:
		log_error(&r.log, "must not be installed setuid or setgid; use sudo or setcap");
		return EXIT_PROFILER_FAILED;
	default:
		log_error(&r.log,
			  "SUDO_UID or SUDO_GID is not a number; unset them, or use --as-root");
		return EXIT_PROFILER_FAILED;
	}
}
