// SPDX-License-Identifier: MIT
#include "profiler/commands/from.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "profiler/base/exit_status.h"
#include "profiler/commands/compare.h"
#include "profiler/commands/deliver.h"
#include "profiler/commands/input.h"
#include "profiler/commands/services.h"
#include "profiler/output/merge.h"
#include "profiler/report/ranks_report.h"
#include "profiler/report/summary.h"
#include "profiler/session/identity.h"
#include "profiler/session/privilege.h"

struct reading {
	const struct options *options;
	struct log log;
	struct outputs outputs;
	struct opener opener;     /* with --open */
	struct span_export spans; /* with --otlp */
	struct helper helper;     /* with --otlp or --push */
	struct allowance memory;
};

/* `recorded`: what it is of; NULL: of several. */
static int write_outputs(struct reading *r, const struct result *result,
			 const struct recorded *recorded)
{
	if (slice_is_part(&r->options->view.slice))
		log_line(&r->log, "The whole run:");
	summary_report(&r->log, &result->totals.measure, &result->totals, result->device_names);
	ranks_report(&r->log, result);
	if (recorded)
		recorded_report(&r->log, recorded);
	return deliver(&r->log, r->options, &r->outputs, &r->opener, &r->spans, &r->helper, NULL,
		       result, &r->memory);
}

/*
 * Where the timeline is kept while it is read; "": nowhere. False after logging that there is no
 * place, but one is needed.
 */
static bool find_folder(struct reading *r, char folder[DELIVER_FOLDER_BYTES])
{
	struct timeline *tried;

	deliver_folder(&r->outputs, folder);
	tried = timeline_new(folder, NULL);
	timeline_free(tried);
	if (tried)
		return true;
	folder[0] = '\0';
	if (!(deliver_needs(r->options) & NEEDS_TIMELINE))
		return true; /* the report and tables go without */
	log_error(&r->log, "cannot create a temporary file beside the output, or in /tmp: %s",
		  strerror(errno));
	return false;
}

static bool needs_timeline(const struct reading *r)
{
	return deliver_wants(r->options) & NEEDS_TIMELINE;
}

/* False after logging the reason. */
static bool read_file(struct reading *r, struct recorded *recorded, const char *path,
		      const char *folder)
{
	FILE *in = strcmp(path, "-") == 0 ? stdin : input_open(&r->log, path);
	bool ok;

	if (!in) {
		log_error(&r->log, "cannot read %s: %s%s", path, strerror(errno),
			  r->options->from_count > 1 && errno == ENOENT
				  ? "; --from takes captures and runs no command"
				  : "");
		return false;
	}
	/* of ranks, always: which one came last in collectives is in all outputs */
	ok = recorded_read(&r->log, recorded, in, path, r->options, folder,
			   needs_timeline(r) || r->options->from_count > 1, &r->memory);
	if (in != stdin)
		fclose(in);
	return ok;
}

static int write_one(struct reading *r, const char *folder)
{
	struct recorded recorded = {.result = NULL};
	int status = EXIT_PROFILER_FAILED;

	if (read_file(r, &recorded, r->options->from[0], folder))
		status = write_outputs(r, recorded.result, &recorded);
	recorded_release(&recorded);
	return status;
}

/* ---- several ---- */

static void explain_merge(struct reading *r, const struct merge *m, const char *path, uint32_t rank,
			  enum merge_error error)
{
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

/* False after logging the reason. `*m`: NULL once the merge has failed; then it is only read. */
static bool add_capture(struct reading *r, struct merge **m, const char *path, const char *folder)
{
	struct recorded recorded = {.result = NULL};
	bool ok = read_file(r, &recorded, path, *m ? folder : NULL);
	const struct result *run = ok ? recorded.result : NULL;
	enum merge_error error = run && *m ? merge_add(*m, run, path) : MERGE_OK;

	if (error)
		explain_merge(r, *m, path, run->totals.job.rank, error);
	recorded_release(&recorded);
	if (error >= MERGE_TOO_LARGE) {
		merge_free(*m);
		*m = NULL;
	}
	return run && !error;
}

/* All are looked at, so that all that are wrong are named at once. */
static int write_merged(struct reading *r, const char *beside)
{
	struct merge *m = merge_new(needs_timeline(r) ? beside : NULL, &r->memory);
	const struct result *result = NULL;
	int status = EXIT_PROFILER_FAILED;
	uint32_t wrong = 0, other;

	if (!m) {
		log_error(&r->log, "preparing to merge: %s", strerror(errno));
		return status;
	}
	if (!beside)
		log_warn(&r->log, "no temporary file can be made beside the output or in /tmp, so "
				  "nothing says which ranks wait for others in collectives");
	for (uint32_t i = 0; i < r->options->from_count; i++)
		wrong += !add_capture(r, &m, r->options->from[i], beside);
	if (wrong)
		log_error(&r->log, "%u of %u captures cannot be merged: nothing is written", wrong,
			  r->options->from_count);
	else if (!(result = merge_finish(m)))
		input_explain(&r->log, "the job", CAPTURE_TOO_LARGE);
	if (result && merge_has_other_measure(m, &other))
		log_warn(&r->log,
			 "rank %u was measured with other options than the first: sums of what "
			 "only some ranks measured are not those of the job",
			 other);
	if (result)
		status = write_outputs(r, result, NULL);
	merge_free(m);
	return status;
}

static int read_and_write(struct reading *r, const struct identity *identity)
{
	const struct deliver_patience patience = {.awaits = "it is written when there is one"};
	char folder[DELIVER_FOLDER_BYTES];
	int status = EXIT_PROFILER_FAILED, err;

	/* we are the user by now, if root called by sudo */
	err = services_start(&r->helper, r->options, &(struct identity){.other = false});
	if (err) {
		log_error(&r->log, "cannot start a process: %s", strerror(-err));
		return status;
	}
	status = deliver_open(&r->log, r->options, identity, &patience, &r->helper, &r->outputs);
	if (status) {
		helper_end(&r->helper);
		return status;
	}
	status = EXIT_PROFILER_FAILED;
	if (span_export_open(&r->spans, &r->log, r->options, identity, &r->helper, NULL) &&
	    find_folder(r, folder))
		status = (r->options->from_count == 1 ? write_one
						      : write_merged)(r, folder[0] ? folder : NULL);
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
	if (!err && options->open)
		err = opener_start(&r.opener, &identity, inherited);
	/* under sudo the files are the user's */
	if (!err)
		err = privilege_become_user(&identity, false);
	if (!err)
		err = privilege_drop_all();
	if (!err) {
		status = read_and_write(&r, &identity);
		opener_release(&r.opener);
		return status;
	}
	opener_release(&r.opener);
	log_error(&r.log, "cannot become the user that called sudo: %s", strerror(-err));
	return EXIT_PROFILER_FAILED;
}
