// SPDX-License-Identifier: MIT
#include "profiler/commands/from.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/exit_status.h"
#include "profiler/commands/compare.h"
#include "profiler/commands/deliver.h"
#include "profiler/commands/open_outputs.h"
#include "profiler/commands/input.h"
#include "profiler/commands/services.h"
#include "profiler/shape/merge.h"
#include "profiler/report/ranks_report.h"
#include "profiler/report/summary.h"
#include "profiler/run/identity.h"

struct reading {
	const struct options *options;
	struct log log;
	struct outputs outputs;
	struct opener opener;     /* with --open */
	struct span_export spans; /* with --otlp */
	struct helper helper;     /* with --otlp or --push */
	struct quota memory;
	bool has_explained_runs;
};

/*
 * Writes the outputs. `recorded` is the source of the result, from `traces` files, or NULL for
 * merged runs.
 */
static int write_outputs(struct reading *r, const struct result *result,
			 const struct recorded *recorded, uint32_t traces)
{
	struct ending ending = {.file_count = 0};
	int status;

	if (slice_is_part(&r->options->view.slice))
		log_line(&r->log, "The whole run:");
	if (traces > 1)
		log_line(&r->log, "%u traces, as processes of one program:", traces);
	summary_report(&r->log, &result->totals.measure, &result->totals, result->device_names);
	ranks_report(&r->log, result);
	if (recorded)
		recorded_report(&r->log, recorded);
	status = deliver(&r->log, r->options, &r->outputs, &r->opener, &r->spans, &r->helper, NULL,
			 result, &r->memory, &ending);
	ending_close(&r->log, &ending, &result->totals);
	return status;
}

/*
 * Finds a folder for the timeline; "" if there is none. Returns false after logging an error if an
 * output requires a timeline.
 */
static bool find_folder(struct reading *r, char folder[OUTPUTS_FOLDER_BYTES])
{
	struct timeline *tried;

	open_outputs_folder(&r->outputs, folder);
	tried = timeline_new(folder, NULL);
	timeline_free(tried);
	if (tried)
		return true;
	folder[0] = '\0';
	if (!(deliver_needs(r->options) & NEEDS_TIMELINE))
		return true; /* the report and tables work without a timeline */
	return log_error(&r->log,
			 "cannot create a temporary file beside the output, or in /tmp: %s",
			 strerror(errno));
}

static bool needs_timeline(const struct reading *r)
{
	return deliver_wants(r->options) & NEEDS_TIMELINE;
}

/* ---- the files ---- */

/*
 * Files of one run: a capture, or traces of processes with one rank, or without a rank. `sources`
 * points into struct files.
 */
struct run {
	struct source **sources;
	uint32_t count;
};

struct files {
	struct source *sources; /* in the order of the options */
	struct source **lists;
	struct run *runs;
	uint32_t count, run_count;
	uint32_t wrong; /* number of files that cannot be read or merged; reasons are logged */
};

static void release_files(struct files *f)
{
	for (uint32_t i = 0; f->sources && i < f->count; i++)
		source_release(&f->sources[i]);
	free(f->sources);
	free(f->lists);
	free(f->runs);
}

static void explain_clock(struct reading *r, const struct source *first, const struct source *other)
{
	if (first->head.job.is_known)
		log_error(&r->log,
			  "%s and %s are both of rank %u, but of two machines, or of two starts of "
			  "one",
			  first->path, other->path, first->head.job.rank);
	else
		log_error(
			&r->log,
			"%s and %s are of two machines, or of two starts of one, so nothing places "
			"them in time: only traces with ranks can be merged then; " JOB_RANK_ADVICE,
			first->path, other->path);
}

/* Groups the sources by run. */
static void find_runs(struct reading *r, struct files *f)
{
	bool *is_taken = calloc(f->count, sizeof(*is_taken));
	uint32_t used = 0;

	if (!is_taken) {
		log_error(&r->log, "out of memory");
		f->wrong = f->count;
		return;
	}
	for (uint32_t i = 0; i < f->count; i++) {
		struct source *first = &f->sources[i];
		struct run *run = &f->runs[f->run_count];

		if (is_taken[i] || !first->path)
			continue;
		run->sources = f->lists + used;
		for (uint32_t k = i; k < f->count; k++) {
			struct source *s = &f->sources[k];

			if (is_taken[k] || !s->path || (k > i && !source_is_of_same(first, s)))
				continue;
			is_taken[k] = true;
			if (source_has_other_clock(first, s)) {
				explain_clock(r, first, s);
				f->wrong++;
				continue;
			}
			f->lists[used++] = s;
			run->count++;
		}
		f->run_count++;
	}
	free(is_taken);
}

/*
 * Opens all files, so that all faulty ones are reported at once. Returns false if out of memory.
 */
static bool open_sources(struct reading *r, struct files *f)
{
	f->count = r->options->from.count;
	f->sources = calloc(f->count, sizeof(*f->sources));
	f->lists = calloc(f->count, sizeof(struct source *));
	f->runs = calloc(f->count, sizeof(*f->runs));
	if (!f->sources || !f->lists || !f->runs)
		return log_error(&r->log, "out of memory");
	for (uint32_t i = 0; i < f->count; i++) {
		if (source_open(&r->log, &f->sources[i], r->options->from.paths[i], r->options))
			continue;
		source_release(&f->sources[i]);
		f->wrong++;
	}
	find_runs(r, f);
	return true;
}

/* Reads a run. Returns the number of faulty files, after logging the reasons. */
static uint32_t read_run(struct reading *r, struct recorded *recorded, const struct run *run,
			 const char *folder, bool with_timeline)
{
	return recorded_read_sources(&r->log, recorded, run->sources, run->count, r->options,
				     folder, with_timeline, &r->memory);
}

static void explain_files(struct reading *r, uint32_t wrong, uint32_t count)
{
	log_error(&r->log, "%u of %u files cannot be merged: nothing is written", wrong, count);
}

/* Writes the outputs of one run. */
static int write_one(struct reading *r, const struct files *f, const char *folder)
{
	const struct run *run = f->run_count ? &f->runs[0] : NULL;
	struct recorded recorded = {.result = NULL};
	int status = EXIT_PROFILER_FAILED;
	uint32_t wrong = f->wrong;

	if (run)
		wrong += read_run(r, &recorded, run, folder, needs_timeline(r));
	if (wrong && f->count > 1)
		explain_files(r, wrong, f->count);
	if (!wrong)
		status = write_outputs(r, recorded.result, &recorded, run->count);
	recorded_release(&recorded);
	return status;
}

/* ---- several ---- */

/* Explains how to compare one run with several baselines, when --from got several runs. */
static void explain_runs(struct reading *r)
{
	const struct options *o = r->options;

	if (!r->has_explained_runs)
		log_error(&r->log,
			  "%s and %s are several runs, and no ranks of one job, which --from "
			  "merges; to compare with several baselines write --baseline before each: "
			  "--from %s --baseline %s --baseline %s",
			  o->from.paths[0], o->from.paths[1], o->from.paths[0], o->from.paths[1],
			  o->baselines.paths[0]);
	r->has_explained_runs = true;
}

static void explain_merge(struct reading *r, const struct merge *m, const char *path, uint32_t rank,
			  enum merge_error error)
{
	if (r->options->baselines.count && (error == MERGE_NO_RANK || error == MERGE_SAME_RANK)) {
		explain_runs(r);
		return;
	}
	switch (error) {
	case MERGE_NO_RANK:
		log_error(&r->log,
			  "%s has no rank, so it cannot be merged with others: none of %s was set "
			  "in its run; " JOB_RANK_ADVICE,
			  path, JOB_RANK_VARIABLES);
		break;
	case MERGE_SAME_RANK:
		log_error(&r->log, "%s and %s are both of rank %u", merge_source_of(m, rank), path,
			  rank);
		break;
	case MERGE_MERGED:
		log_error(&r->log,
			  "%s has several ranks already: merge the captures that it was made of",
			  path);
		break;
	case MERGE_TOO_LARGE:
		input_explain(&r->log, path, CAPTURE_TOO_LARGE);
		break;
	case MERGE_NO_MEMORY:
		input_explain(&r->log, path, CAPTURE_NO_MEMORY);
		break;
	default:
		input_explain(&r->log, path, CAPTURE_SYSTEM);
	}
}

/*
 * Adds a run to the merge. Returns the number of faulty files, after logging the reasons. After a
 * failed merge `*m` is NULL, and files are only checked.
 */
static uint32_t add_run(struct reading *r, struct merge **m, const struct run *run,
			const char *folder)
{
	struct recorded recorded = {.result = NULL};
	const char *path = run->sources[0]->path;
	/* every output shows which rank came last in collectives, so the timeline is always read */
	uint32_t wrong = read_run(r, &recorded, run, *m ? folder : NULL, true);
	const struct result *result = recorded.result;
	enum merge_error error;

	if (!wrong && result->totals.measure.budget) {
		log_error(&r->log,
			  "%s has estimates (--budget), which are not merged: show each "
			  "rank by itself",
			  path);
		wrong = run->count;
	}
	error = !wrong && *m ? merge_add(*m, result, path) : MERGE_OK;

	if (error) {
		explain_merge(r, *m, path, result->totals.job.rank, error);
		wrong = run->count;
	}
	recorded_release(&recorded);
	if (error >= MERGE_TOO_LARGE) {
		merge_free(*m);
		*m = NULL;
	}
	return wrong;
}

static int write_merged(struct reading *r, const struct files *f, const char *beside)
{
	struct merge *m = merge_new(needs_timeline(r) ? beside : NULL, &r->memory);
	const struct result *result = NULL;
	int status = EXIT_PROFILER_FAILED;
	uint32_t wrong = f->wrong, other;

	if (!m)
		return log_failure(&r->log, "preparing to merge: %s", strerror(errno));
	if (!beside)
		log_warn(&r->log, "no temporary file can be made beside the output or in /tmp, so "
				  "nothing says which ranks wait for others in collectives");
	for (uint32_t i = 0; i < f->run_count; i++)
		wrong += add_run(r, &m, &f->runs[i], beside);
	if (wrong)
		explain_files(r, wrong, f->count);
	else if (!(result = merge_finish(m)))
		input_explain(&r->log, "the job", CAPTURE_TOO_LARGE);
	if (result && merge_has_other_measure(m, &other))
		log_warn(&r->log,
			 "rank %u was measured with other options than the first: sums of what "
			 "only some ranks measured are not those of the job",
			 other);
	if (result)
		status = write_outputs(r, result, NULL, 0);
	merge_free(m);
	return status;
}

static int write_files(struct reading *r, const char *folder)
{
	struct files files = {.count = 0};
	int status = EXIT_PROFILER_FAILED;

	if (open_sources(r, &files))
		status = (files.run_count > 1 ? write_merged : write_one)(r, &files, folder);
	release_files(&files);
	return status;
}

static int read_and_write(struct reading *r, const struct identity *identity)
{
	const struct outputs_timeout timeout = {.awaits = "it is written when there is one"};
	char folder[OUTPUTS_FOLDER_BYTES];
	int status, err;

	/* under sudo the process has become the user by now */
	err = services_start(&r->helper, r->options, &(struct identity){.other = false});
	if (err)
		return log_failure(&r->log, "cannot start a process: %s", strerror(-err));
	status = open_outputs(&r->log, r->options, identity, &timeout, &r->helper, &r->outputs);
	if (status) {
		helper_end(&r->helper);
		return status;
	}
	status = EXIT_PROFILER_FAILED;
	if (span_export_open(&r->spans, &r->log, r->options, identity, &r->helper, NULL) &&
	    find_folder(r, folder))
		status = write_files(r, folder[0] ? folder : NULL);
	span_export_close(&r->spans);
	outputs_cancel(&r->outputs);
	helper_end(&r->helper);
	return status;
}

int from(const struct options *options, const struct inherited *inherited)
{
	struct reading r = {.options = options,
			    .log.level = options->level,
			    .opener = {-1},
			    .memory.limit = INPUT_MEMORY_MAX};
	struct identity identity;
	int status, err = identity_find(&identity, options->as_root);

	if (!err && !compare_check_baselines(&r.log, options, &identity))
		return EXIT_PROFILER_FAILED;
	if (!err)
		err = opener_become_user(&r.opener, options->open, &identity, inherited);
	status = err ? log_failure(&r.log, "cannot become the user that called sudo: %s",
				   strerror(-err))
		     : read_and_write(&r, &identity);
	opener_release(&r.opener);
	return status;
}
