/* SPDX-License-Identifier: MIT */
/*
 * The outputs of a command, for those that write some: opened before all else, with the reason for
 * people if they cannot be; what follows from an error; and which one a browser shows.
 */
#ifndef PROFILER_COMMANDS_OPEN_OUTPUTS_H
#define PROFILER_COMMANDS_OPEN_OUTPUTS_H

#include "profiler/commands/opener.h"
#include "profiler/commands/options.h"
#include "profiler/output/outputs.h"
#include "profiler/run/helper.h"
#include "profiler/run/identity.h"
#include "profiler/run/supervisor.h"

/*
 * A new timeline's folder: beside the outputs, or where none is a file in a folder the current one,
 * or /tmp if that is not writable.
 * The text is valid as long as the outputs are open.
 */
#define OUTPUTS_FOLDER_BYTES 64
void open_outputs_folder(const struct outputs *outputs, char folder[OUTPUTS_FOLDER_BYTES]);

/* How long a FIFO that nobody reads yet is waited for. */
struct outputs_timeout {
	/* until it sends a signal that ends processes; NULL: these end us anyway */
	const struct supervisor_link *supervisor;
	const char *awaits; /* for people: what has to wait */
};

/*
 * Opens the outputs, as that user. 0, or the status to exit with, after logging the reason.
 * `timeout` of NULL: nobody waits for a reader. `helper`: which --push needs.
 */
int open_outputs(struct log *log, const struct options *options, const struct identity *identity,
		 const struct outputs_timeout *timeout, const struct helper *helper,
		 struct outputs *outputs);

/*
 * The status to exit with after an output was written to `path` with `err` (-errno), logging a
 * failure; `status`: that of the outputs before. That a pipe's reader has gone is no failure of
 * ours.
 */
int open_outputs_status(struct log *log, const char *path, int err, int status);

/* With --open: shows the output that is for a browser, unless its error says that there is none. */
void open_outputs_show(struct log *log, const struct options *options, struct opener *opener,
		       const int *errors);

#endif
