// SPDX-License-Identifier: MIT
#include "profiler/commands/input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>
#include "profiler/base/version.h"
#include "profiler/shape/result_naming.h"
#include "profiler/shape/view.h"
#include "profiler/report/summary.h"

#define WRITER_QUIET_MS 500  /* ms; a writer may be about to start */
#define GZIP_FIRST_BYTE 0x1f /* RFC 1952; no folded stack begins with this byte */

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
		log_error(log, "%s needs more memory than its limit of %zu MiB", path,
			  INPUT_MEMORY_MAX >> 20);
		break;
	case CAPTURE_NO_MEMORY:
		log_error(log, "out of memory");
		break;
	default:
		log_error(log, "reading %s: %s", path, strerror(errno));
	}
}

/* Returns advice on a missing file with a name like "old-*.profile". Returns "" otherwise. */
static const char *pattern_hint(const char *path, int err)
{
	return err == ENOENT && strpbrk(path, "*?[")
		       ? "; the shell found no such files, or replaces no pattern there, as in "
			 "quotes and behind =: name each file, --baseline before each"
		       : "";
}

/* Prepares to read traces. Returns false after logging the reason. */
static bool begin_traces(struct log *log, struct recorded *r, const char *path, const char *folder)
{
	r->timeline = folder ? timeline_new(folder, NULL) : NULL;
	r->trace = trace_reader_new(log, r->timeline, OPTIONS_DEFAULT_FREQUENCY);
	if (r->trace && (!folder || r->timeline))
		return true;
	return log_error(log, "reading %s: %s", path, strerror(r->trace ? errno : ENOMEM));
}

/* Reads a trace. Returns false after logging the reason. */
static bool add_trace(struct log *log, struct recorded *r, FILE *in, const char *path,
		      const struct trace_head *head)
{
	int err = trace_reader_read(r->trace, in, head);

	if (err == -EBADMSG)
		log_error(log, "%s is not a trace: it has no hello message", path);
	else if (err)
		log_error(log, "reading %s: %s", path, strerror(-err));
	return !err;
}

/* Names the result of all traces. Returns false after logging the reason. */
static bool finish_traces(struct log *log, struct recorded *r, const struct options *o)
{
	struct naming_options naming = {.raw_names = o->naming.raw_names,
					.inlines = o->naming.inlines,
					.sources = o->view.my_code};
	struct symbolizer_stats stats;
	struct collected collected;
	struct totals totals;

	trace_reader_finish(r->trace);
	if (r->timeline) {
		timeline_finish(r->timeline);
		collect_ledger(trace_reader_collect(r->trace))->timeline =
			timeline_stats(r->timeline);
	}
	collected = collect_results(trace_reader_collect(r->trace));
	totals = trace_reader_totals(r->trace);
	r->result = r->named = result_new(&collected, &naming, &totals);
	stats = symbolizer_stats(collected.symbolizer);
	if (!r->result)
		return log_error(log, "out of memory");
	log_warn_if(log, stats.absent,
		    "# file{|s} of the program {is|are} not here, or changed since (%s{|, "
		    "...}): {its|their} functions have no names",
		    stats.absent_path);
	return true;
}

/*
 * Reads a capture or a trace from `in`. `path` is for messages. `folder`, `needs_timeline` and
 * `memory` are as in capture.h. Returns false after logging the reason. Borrows from the options.
 */
static bool read_recorded(struct log *log, struct recorded *r, FILE *in, const char *path,
			  const struct options *o, const char *folder, bool needs_timeline,
			  struct quota *memory)
{
	int first = getc(in);
	enum capture_error error;

	ungetc(first, in);
	if (first == TRACE_FIRST_BYTE) {
		if (begin_traces(log, r, path, needs_timeline ? folder : NULL) &&
		    add_trace(log, r, in, path, NULL) && finish_traces(log, r, o))
			return true;
		recorded_release(r);
		return false;
	}
	if (o->naming.inlines || o->naming.raw_names)
		return log_error(log, "%s: the names in a capture are those of its run",
				 o->naming.inlines ? "--inlines" : "--raw-names");
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

/* Returns whether the file is a FIFO: reading it waits for a writer. */
static bool is_fifo(int fd)
{
	struct statfs system;
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) && fstatfs(fd, &system) == 0 &&
	       system.f_type != PIPEFS_MAGIC;
}

/*
 * Opens a file for reading. Waits for a writer of a FIFO, after a message. Returns NULL with errno
 * set.
 */
static FILE *open_input(struct log *log, const char *path)
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

/* ---- sources ---- */

/* Opens a file or stdin. Returns NULL after logging the reason. */
static FILE *open_source(struct log *log, const char *path, const struct options *o)
{
	FILE *in = strcmp(path, "-") == 0 ? stdin : open_input(log, path);

	if (!in)
		log_error(log, "cannot read %s: %s%s", path, strerror(errno),
			  o->from.count > 1 && errno == ENOENT
				  ? "; --from takes captures and traces, and runs no command"
				  : "");
	return in;
}

static void close_source(FILE *in)
{
	if (in && in != stdin)
		fclose(in);
}

bool source_open(struct log *log, struct source *s, const char *path, const struct options *o)
{
	FILE *in = open_source(log, path, o);
	int first = in ? getc(in) : EOF, err = 0;

	s->path = path;
	if (!in)
		return false;
	ungetc(first, in);
	s->is_trace = first == TRACE_FIRST_BYTE;
	if (s->is_trace)
		err = trace_head_read(&s->head, in);
	if (err) {
		log_error(log, "reading %s: %s", path, strerror(-err));
		close_source(in);
		return false;
	}
	if (in == stdin || lseek(fileno(in), 0, SEEK_CUR) < 0) {
		s->in = in;
		return true;
	}
	fclose(in);
	free(s->head.bytes);
	s->head.bytes = NULL;
	s->head.count = 0;
	return true;
}

void source_release(struct source *s)
{
	trace_head_release(&s->head);
	close_source(s->in);
	*s = (struct source){.path = NULL};
}

bool source_is_of_same(const struct source *a, const struct source *b)
{
	return a->is_trace && b->is_trace && a->head.job.is_known == b->head.job.is_known &&
	       a->head.job.rank == b->head.job.rank;
}

bool source_has_other_clock(const struct source *a, const struct source *b)
{
	return boot_is_known(&a->head.boot) && boot_is_known(&b->head.boot) &&
	       !boot_is_same(&a->head.boot, &b->head.boot);
}

/*
 * Returns the open file of the source; the caller closes it. Returns NULL after logging the
 * reason.
 */
static FILE *take_file(struct log *log, struct source *s, const struct options *o)
{
	FILE *in = s->in ? s->in : open_source(log, s->path, o);

	s->in = NULL;
	return in;
}

uint32_t recorded_read_sources(struct log *log, struct recorded *r, struct source *const *sources,
			       uint32_t count, const struct options *o, const char *folder,
			       bool needs_timeline, struct quota *memory)
{
	uint32_t wrong = 0;

	if (!sources[0]->is_trace) {
		FILE *in = take_file(log, sources[0], o);
		bool ok = in && read_recorded(log, r, in, sources[0]->path, o, folder,
					      needs_timeline, memory);

		close_source(in);
		return !ok;
	}
	if (!begin_traces(log, r, sources[0]->path, needs_timeline ? folder : NULL))
		return count;
	for (uint32_t i = 0; i < count; i++) {
		struct source *s = sources[i];
		FILE *in = take_file(log, s, o);

		wrong += !in || !add_trace(log, r, in, s->path, s->head.bytes ? &s->head : NULL);
		close_source(in);
	}
	if (!wrong && !finish_traces(log, r, o))
		wrong = 1;
	if (wrong)
		recorded_release(r);
	return wrong;
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

static bool read_folded(struct log *log, struct input *in, FILE *file, struct quota *memory)
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
		       const char *folder, struct quota *memory)
{
	if (!view_changes(&o->view))
		return true;
	if (!chosen_steps_find(log, &in->steps, in->result, &o->view, in->path))
		return false;
	in->view = view_new(in->result, &in->steps.view, folder, memory);
	if (in->view)
		in->result = view_result(in->view);
	else if (errno == ENODATA)
		log_error(log, "--time needs the course of the run, which %s does not have",
			  in->path);
	else
		log_error(log, "preparing %s: %s", in->path, strerror(errno));
	return in->view;
}

bool input_read(struct log *log, struct input *in, const char *path, const struct options *o,
		const char *folder, struct quota *memory)
{
	FILE *file = open_input(log, path);
	int first = file ? getc(file) : EOF;
	bool ok;

	in->path = path;
	if (!file)
		return log_error(log, "cannot read %s: %s%s", path, strerror(errno),
				 pattern_hint(path, errno));
	if (first == EOF && ferror(file)) {
		input_explain(log, path, CAPTURE_SYSTEM);
		ok = false;
	} else {
		ungetc(first, file);
		if (first == GZIP_FIRST_BYTE || first == TRACE_FIRST_BYTE)
			ok = read_recorded(log, &in->recorded, file, path, o, folder, true, memory);
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
	chosen_steps_release(&in->steps);
	recorded_release(&in->recorded);
	folded_free(in->folded);
	*in = (struct input){0};
}
