// SPDX-License-Identifier: MIT
#include "profiler/commands/input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>
#include "profiler/base/version.h"
#include "profiler/output/naming.h"
#include "profiler/output/view.h"
#include "profiler/report/summary.h"

#define WRITER_QUIET_MS 500  /* who writes may be about to start */
#define GZIP_FIRST_BYTE 0x1f /* RFC 1952: no folded stack begins with it */

/* ---- captures and traces ---- */

void input_explain(struct log *log, const char *path, enum capture_error error)
{
	switch (error) {
	case CAPTURE_NO_CAPTURE:
		log_error(log,
			  "%s is neither a capture (captures are written with -o FILE.profile) nor "
			  "a trace (INJECTION_TRACE=FILE)",
			  path);
		break;
	case CAPTURE_VERSION_UNKNOWN:
		log_error(log,
			  "%s is a capture of another version; profile %s reads version %d only",
			  path, PROFILE_VERSION, CAPTURE_VERSION);
		break;
	case CAPTURE_CUT:
		log_error(log, "%s ends early: a part of it is missing", path);
		break;
	case CAPTURE_DAMAGED:
		log_error(log, "%s is damaged", path);
		break;
	case CAPTURE_TOO_LARGE:
		log_error(log, "%s needs more memory than the %zu MiB that there are for it", path,
			  INPUT_MEMORY_MAX >> 20);
		break;
	case CAPTURE_NO_MEMORY:
		log_error(log, "out of memory");
		break;
	default:
		log_error(log, "reading %s: %s", path, strerror(errno));
	}
}

static void report_absent(struct log *log, const struct symbolizer_stats *stats)
{
	uint64_t n = stats->absent;

	if (n)
		log_warn(log,
			 "%" PRIu64 " file%s of the program %s not here, or changed since (%s%s): "
			 "%s functions have no names",
			 n, n == 1 ? "" : "s", n == 1 ? "is" : "are", stats->absent_path,
			 n == 1 ? "" : ", ...", n == 1 ? "its" : "their");
}

/* False after logging the reason. */
static bool read_trace(struct log *log, struct recorded *r, FILE *in, const char *path,
		       const struct options *o, const char *folder)
{
	struct naming_options naming = {.raw_names = o->raw_names, .inlines = o->inlines};
	struct symbolizer_stats stats;
	struct collected collected;
	struct totals totals;
	int err;

	r->timeline = folder ? timeline_new(folder, NULL) : NULL;
	r->trace = trace_reader_new(log, r->timeline, o->measure.frequency_hz);
	if (!r->trace || (folder && !r->timeline)) {
		log_error(log, "reading %s: %s", path, strerror(r->trace ? errno : ENOMEM));
		return false;
	}
	err = trace_reader_read(r->trace, in);
	if (err == -EBADMSG)
		log_error(log, "%s is no trace: no program says hello in it", path);
	else if (err)
		log_error(log, "reading %s: %s", path, strerror(-err));
	if (err)
		return false;
	if (r->timeline) {
		timeline_finish(r->timeline);
		collect_ledger(trace_reader_collect(r->trace))->timeline =
			timeline_stats(r->timeline);
	}
	collected = collect_results(trace_reader_collect(r->trace));
	totals = trace_reader_totals(r->trace);
	r->result = r->named = result_new(&collected, &naming, &totals);
	stats = symbolizer_stats(collected.symbolizer);
	if (r->result)
		report_absent(log, &stats);
	else
		log_error(log, "out of memory");
	return r->result;
}

bool recorded_read(struct log *log, struct recorded *r, FILE *in, const char *path,
		   const struct options *o, const char *folder, bool needs_timeline,
		   struct allowance *memory)
{
	int first = getc(in);
	enum capture_error error;

	ungetc(first, in);
	if (first == TRACE_FIRST_BYTE) {
		if (read_trace(log, r, in, path, o, needs_timeline ? folder : NULL))
			return true;
		recorded_release(r);
		return false;
	}
	if (o->inlines || o->raw_names) {
		log_error(log, "%s: the names in a capture are those of its run",
			  o->inlines ? "--inlines" : "--raw-names");
		return false;
	}
	r->capture = capture_read(in, folder, needs_timeline, memory, &error);
	if (r->capture)
		r->result = capture_result(r->capture);
	else
		input_explain(log, path, error);
	return r->result;
}

void recorded_release(struct recorded *r)
{
	result_free(r->named);
	trace_reader_free(r->trace);
	timeline_free(r->timeline);
	capture_free(r->capture);
	*r = (struct recorded){.result = NULL};
}

void recorded_report(struct log *log, const struct recorded *r)
{
	struct collected collected;

	if (!r->trace)
		return;
	collected = collect_results(trace_reader_collect(r->trace));
	summary_report_cut(log, collected.cut, collected.symbolizer);
}

/* ---- folded stacks, or any of them ---- */

static void explain_folded(struct log *log, const char *path, enum folded_error error,
			   uint64_t line)
{
	switch (error) {
	case FOLDED_NO_STACK:
		log_error(log,
			  "%s is neither a capture nor folded stacks: line %" PRIu64
			  " is not \"stack weight\"",
			  path, line);
		break;
	case FOLDED_LONG_LINE:
		log_error(log, "%s, line %" PRIu64 ": the stack is too long", path, line);
		break;
	case FOLDED_SUM:
		log_error(log, "%s, line %" PRIu64 ": the weights are too large", path, line);
		break;
	case FOLDED_TOO_LARGE:
		input_explain(log, path, CAPTURE_TOO_LARGE);
		break;
	case FOLDED_NO_MEMORY:
		input_explain(log, path, CAPTURE_NO_MEMORY);
		break;
	default:
		input_explain(log, path, CAPTURE_SYSTEM);
	}
}

static bool read_folded(struct log *log, struct input *in, FILE *file, struct allowance *memory)
{
	enum folded_error error;
	uint64_t line;

	in->is_folded = true;
	in->folded = folded_read(file, memory, &error, &line);
	if (in->folded)
		in->result = folded_result(in->folded);
	else
		explain_folded(log, in->path, error, line);
	return in->folded;
}

static bool view_input(struct log *log, struct input *in, const struct options *o,
		       const char *folder, struct allowance *memory)
{
	if (!view_changes(&o->view))
		return true;
	in->view = view_new(in->result, &o->view, folder, memory);
	if (in->view)
		in->result = view_result(in->view);
	else if (errno == ENODATA)
		log_error(log, "--time needs the course of the run, which %s does not have",
			  in->path);
	else
		log_error(log, "preparing %s: %s", in->path, strerror(errno));
	return in->view;
}

/* Whether opening it for reading waits for a writer. */
static bool is_fifo(int fd)
{
	struct statfs system;
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) && fstatfs(fd, &system) == 0 &&
	       system.f_type != PIPEFS_MAGIC;
}

FILE *input_open(struct log *log, const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct pollfd writer = {.fd = fd, .events = POLLIN};
	FILE *file;

	if (fd < 0)
		return NULL;
	if (is_fifo(fd) && poll(&writer, 1, WRITER_QUIET_MS) == 0) {
		log_error(log, "waiting for a writer of the FIFO %s. Ctrl-C ends this", path);
		while (poll(&writer, 1, -1) < 0 && errno == EINTR)
			;
	}
	fcntl(fd, F_SETFL, 0);
	file = fdopen(fd, "r");
	if (!file)
		close(fd);
	return file;
}

bool input_read(struct log *log, struct input *in, const char *path, const struct options *o,
		const char *folder, struct allowance *memory)
{
	FILE *file = input_open(log, path);
	int first = file ? getc(file) : EOF;
	bool ok;

	in->path = path;
	if (!file) {
		log_error(log, "cannot read %s: %s", path, strerror(errno));
		return false;
	}
	if (first == EOF && ferror(file)) {
		input_explain(log, path, CAPTURE_SYSTEM);
		ok = false;
	} else {
		ungetc(first, file);
		if (first == GZIP_FIRST_BYTE || first == TRACE_FIRST_BYTE)
			ok = recorded_read(log, &in->recorded, file, path, o, folder, true, memory);
		else
			ok = read_folded(log, in, file, memory);
		if (ok && !in->is_folded)
			in->result = in->recorded.result;
	}
	fclose(file);
	return ok && view_input(log, in, o, folder, memory);
}

void input_release(struct input *in)
{
	view_free(in->view);
	recorded_release(&in->recorded);
	folded_free(in->folded);
	*in = (struct input){0};
}
