// SPDX-License-Identifier: MIT
#include "profiler/commands/open_outputs.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "profiler/base/exit_status.h"
#include "profiler/commands/push.h"
#include "symbolize/util/guarded_path.h"

#define READER_POLL_MS 20
#define READER_QUIET_MS 500 /* ms; a reader may be about to start */

void open_outputs_folder(const struct outputs *outputs, char folder[OUTPUTS_FOLDER_BYTES])
{
	int beside = outputs_folder(outputs);

	if (beside >= 0)
		snprintf(folder, OUTPUTS_FOLDER_BYTES, "/proc/self/fd/%d", beside);
	else
		snprintf(folder, OUTPUTS_FOLDER_BYTES, "%s", access(".", W_OK) == 0 ? "." : "/tmp");
}

/* Pauses briefly, or until a signal. Returns 0, or the exit status. */
static int pause_for_reader(const struct outputs_timeout *timeout)
{
	const struct supervisor_link *supervisor = timeout->supervisor;
	struct pollfd signals = {.fd = supervisor ? supervisor->signals : -1, .events = POLLIN};
	struct supervisor_signal signal;
	int result = 0;

	poll(&signals, 1, READER_POLL_MS);
	while (supervisor && (result = supervisor_next_signal(supervisor, &signal)) == 1)
		if (signal.number == SIGINT || signal.number == SIGTERM ||
		    signal.number == SIGHUP || signal.number == SIGQUIT)
			return EXIT_SIGNAL_BASE + signal.number;
	return result < 0 ? EXIT_PROFILER_FAILED : 0;
}

/*
 * Waits for readers of FIFOs. `failed` is the first FIFO without a reader. Returns 0, -errno, or
 * the exit status.
 */
static int await_readers(struct log *log, const struct options *o,
			 const struct outputs_timeout *timeout, struct outputs *outputs,
			 uint32_t *failed)
{
	uint32_t awaited = *failed;
	int err = -EAGAIN;

	for (uint32_t ms = 0; err == -EAGAIN; ms += READER_POLL_MS) {
		int status = pause_for_reader(timeout);

		if (status)
			return status;
		if (ms == READER_QUIET_MS)
			/* print this also with -q: nothing else shows that profile waits */
			log_error(log, "waiting for a reader of the FIFO %s; %s. Ctrl-C ends this",
				  o->outputs[awaited].path, timeout->awaits);
		err = outputs_go_on(outputs, o->output_count, failed);
		if (err == -EAGAIN && *failed != awaited) {
			awaited = *failed;
			ms = 0;
		}
	}
	return err;
}

static void explain_open(struct log *log, const struct identity *identity, const char *path,
			 int err)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) : 0, path);
	if (err == -EBUSY)
		log_error(log, "-o %s is given twice, or two -o name the same file", path);
	else if (err == -ENOENT && folder[0] && access(folder, F_OK) != 0)
		log_error(log,
			  "cannot write %s: the folder %s does not exist; make it (mkdir -p), or "
			  "choose another file with -o",
			  path, folder);
	else if (path[0] != '/' && !getcwd(folder, sizeof(folder)) && errno == ENOENT)
		log_error(log,
			  "cannot write %s: the current folder has been deleted; change to another "
			  "one (cd), or choose a file with -o that begins with /",
			  path);
	else if (identity->other && (err == -EACCES || err == -EPERM))
		log_error(log,
			  "cannot write %s as %s: %s; choose a file that this user may write with "
			  "-o, or use --as-root",
			  path, identity->shown, strerror(-err));
	else
		log_error(log, "cannot write %s: %s; choose another file with -o", path,
			  err == -EAGAIN ? "nobody reads this FIFO" : guarded_error(-err));
}

int open_outputs(struct log *log, const struct options *o, const struct identity *identity,
		 const struct outputs_timeout *timeout, const struct helper *helper,
		 struct outputs *outputs)
{
	uint32_t failed;
	int err = outputs_open(outputs, o->outputs, o->output_count, &failed);

	if (err == -EAGAIN && timeout)
		err = await_readers(log, o, timeout, outputs, &failed);
	if (!err && push_check(log, o, identity, helper))
		return 0;
	if (err < 0)
		explain_open(log, identity, o->outputs[failed].path, err);
	outputs_cancel(outputs);
	return err > 0 ? err : EXIT_PROFILER_FAILED;
}

int open_outputs_status(struct log *log, const char *path, int err, int status)
{
	if (!err)
		return status;
	if (err == -EPIPE)
		return status ? status : EXIT_SIGNAL_BASE + SIGPIPE;
	return log_failure(log, "writing %s: %s", path, strerror(-err));
}

void open_outputs_show(struct log *log, const struct options *o, struct opener *opener,
		       const int *errors)
{
	const struct output_choice *shown = o->open ? options_shown(o) : NULL;

	if (shown && !errors[shown - o->outputs])
		opener_show(opener, log, shown->path);
}
