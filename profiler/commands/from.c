// SPDX-License-Identifier: MIT
#include "profiler/commands/from.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "profiler/base/exit_status.h"
#include "profiler/commands/compare.h"
#include "profiler/commands/deliver.h"
#include "profiler/commands/input.h"
#include "profiler/output/capture.h"
#include "profiler/report/summary.h"
#include "profiler/session/identity.h"
#include "profiler/session/privilege.h"

struct reading {
	const struct options *options;
	struct log log;
	struct outputs outputs;
	struct opener opener; /* with --open */
	struct allowance memory;
};

static int write_outputs(struct reading *r, const struct profile_capture *capture)
{
	const struct result *result = capture_result(capture);

	if (slice_is_part(&r->options->view.slice))
		log_line(&r->log, "The whole run:");
	summary_report(&r->log, &result->totals.measure, &result->totals);
	return deliver(&r->log, r->options, &r->outputs, &r->opener, result, &r->memory);
}

/*
 * Where the timeline is kept while it is read; "": nowhere, for it is not needed. False after
 * logging that there is no place.
 */
static bool find_folder(struct reading *r, char folder[DELIVER_FOLDER_BYTES])
{
	struct timeline *tried;

	folder[0] = '\0';
	if (!(deliver_wants(r->options) & NEEDS_TIMELINE))
		return true;
	deliver_folder(&r->outputs, folder);
	tried = timeline_new(folder, NULL);
	timeline_free(tried);
	if (tried)
		return true;
	folder[0] = '\0';
	if (!(deliver_needs(r->options) & NEEDS_TIMELINE))
		return true; /* the report goes without */
	log_error(&r->log, "cannot create a temporary file beside the output, or in /tmp: %s",
		  strerror(errno));
	return false;
}

static int read_capture(struct reading *r, FILE *in)
{
	const char *path = r->options->from;
	char folder[DELIVER_FOLDER_BYTES];
	enum capture_error error;
	struct profile_capture *capture;
	int status = EXIT_PROFILER_FAILED;

	if (!find_folder(r, folder))
		return status;
	capture = capture_read(in, folder[0] ? folder : NULL, &r->memory, &error);
	if (capture)
		status = write_outputs(r, capture);
	else
		input_explain(&r->log, path, error);
	capture_free(capture);
	return status;
}

static int read_and_write(struct reading *r, const struct identity *identity)
{
	const char *path = r->options->from;
	FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
	int status = EXIT_PROFILER_FAILED;

	if (!in) {
		log_error(&r->log, "cannot read %s: %s", path, strerror(errno));
		return status;
	}
	if (deliver_open(&r->log, r->options, identity, &r->outputs)) {
		status = read_capture(r, in);
		outputs_cancel(&r->outputs);
	}
	if (in != stdin)
		fclose(in);
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
		err = privilege_become_user(&identity);
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
