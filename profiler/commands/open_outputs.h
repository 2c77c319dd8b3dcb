/* SPDX-License-Identifier: MIT */
/*
 * Opens the outputs before a command works, explains failures, and shows an output in a browser.
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
 * Returns a folder for a timeline: the folder of an output, else the current one, else /tmp. The
 * text is valid while the outputs are open.
 */
#define OUTPUTS_FOLDER_BYTES 64
void open_outputs_folder(const struct outputs *outputs, char folder[OUTPUTS_FOLDER_BYTES]);

/* Waiting for the reader of a FIFO. */
struct outputs_timeout {
	/* ends the waiting by a signal; NULL: signals end the process itself */
	const struct supervisor_link *supervisor;
	const char *awaits; /* consequence of the waiting, for a message */
};

/*
 * Opens the outputs as the user. Without `timeout` a FIFO without a reader is an error. `helper`
 * is needed for --push. Returns 0, or the exit status after logging the reason.
 */
int open_outputs(struct log *log, const struct options *options, const struct identity *identity,
		 const struct outputs_timeout *timeout, const struct helper *helper,
		 struct outputs *outputs);

/*
 * Returns the exit status after writing to `path`, and logs a failure. `err` is 0 or -errno,
 * `status` the status so far. A closed pipe is no failure, but gives the status of SIGPIPE.
 */
int open_outputs_status(struct log *log, const char *path, int err, int status);

/* Shows the browser's output with --open, unless writing it failed. */
void open_outputs_show(struct log *log, const struct options *options, struct opener *opener,
		       const int *errors);

#endif
