// SPDX-License-Identifier: MIT
#include "profiler/commands/snapshot.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "profiler/base/exit_status.h"
#include "profiler/commands/output_name.h"

static bool is_file_now(const char *path)
{
	struct stat st;

	return strcmp(path, "-") != 0 && (stat(path, &st) != 0 || S_ISREG(st.st_mode));
}

/*
 * Returns whether an output can have files beside it: devices and FIFOs have none. With --every all
 * outputs are files, whatever else has the name by now.
 */
static bool is_file(const struct options *o, uint32_t at)
{
	return o->run.every || is_file_now(o->outputs[at].path);
}

const char *snapshot_no_file(const struct options *o)
{
	for (uint32_t i = 0; i < o->output_count; i++)
		if (!is_file_now(o->outputs[i].path))
			return o->outputs[i].path;
	return NULL;
}

bool snapshot_is_possible(const struct options *o)
{
	if (o->run.every && o->push_count)
		return true;
	for (uint32_t i = 0; i < o->output_count; i++)
		if (is_file(o, i))
			return true;
	return false;
}

/* Returns the offset of the extension: the format's, else the last one. */
static size_t stem_length(const struct output_choice *choice)
{
	const char *path = choice->path, *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path, *dot;
	size_t length = strlen(name), suffix = strlen(choice->writer->suffix);

	if (length > suffix && has_suffix(name, choice->writer->suffix))
		return strlen(path) - suffix;
	dot = strrchr(name, '.');
	return dot && dot > name ? (size_t)(dot - path) : strlen(path);
}

static char *name_of_result(const struct options *o, uint32_t at, uint32_t number, uint64_t unix_ns)
{
	const struct output_choice *choice = &o->outputs[at];
	size_t stem = stem_length(choice);
	char *name;

	if (o->time_at[at])
		return output_name_at(choice->path, o->time_at[at], unix_ns);
	if (asprintf(&name, "%.*s.%u%s", (int)stem, choice->path, number, choice->path + stem) < 0)
		return NULL;
	return name;
}

/* Returns the name of an answer beside the first file. NULL: no file, or out of memory. */
static char *answer_name(const struct options *o, const struct snapshots *s)
{
	for (uint32_t i = 0; i < o->output_count; i++) {
		const struct output_choice *choice = &o->outputs[i];
		char *name;

		if (!is_file(o, i))
			continue;
		if (asprintf(&name, "%.*s.%u.%.*s%s", (int)stem_length(choice), choice->path,
			     s->count, (int)strcspn(s->text, " "), s->text,
			     answer_writer.suffix) < 0)
			return NULL;
		return name;
	}
	return NULL;
}

bool snapshot_ask(struct snapshots *s, struct log *log, const char *question)
{
	snprintf(s->text, sizeof(s->text), "%s", question);
	s->query = (struct query){.question = NULL};
	if (!*question || (query_read(s->text, &s->query) && !query_other(&s->query)))
		return true;
	if (s->complaints++ >= CONTROL_COMPLAINTS_MAX)
		return false;
	if (s->query.question && query_other(&s->query))
		log_warn(log, "--control: '%s' reads another file: ask a capture of the run",
			 question);
	else
		log_warn(log, "--control: unknown question '%s': profile --query list has them all",
			 question);
	return false;
}

bool snapshot_name_outputs(struct options *o, uint32_t number, uint64_t unix_ns)
{
	for (uint32_t i = 0; i < o->output_count; i++) {
		if (!is_file(o, i))
			continue;
		o->outputs[i].path = name_of_result(o, i, number, unix_ns);
		if (!o->outputs[i].path)
			return false;
	}
	return true;
}

bool snapshot_options(struct options *copy, const struct options *o, const struct snapshots *s)
{
	*copy = *o;
	copy->output_count = 0;
	for (uint32_t i = 0; i < o->output_count && !s->query.question; i++) {
		struct output_choice *choice = &copy->outputs[copy->output_count];

		if (!is_file(o, i))
			continue;
		*choice = o->outputs[i];
		copy->output_count++;
	}
	if (!snapshot_name_outputs(copy, s->count, s->unix_ns))
		return false;
	copy->query = s->query;
	if (s->query.question) {
		copy->outputs[0] = (struct output_choice){answer_name(o, s), &answer_writer};
		copy->output_count = copy->outputs[0].path != NULL;
	}
	/* these outputs belong to the end of the run */
	copy->baselines.count = 0;
	if (!o->run.every || s->query.question)
		copy->push_count = 0;
	copy->gates = (struct gates){0};
	copy->strict &= o->run.every && !s->query.question;
	copy->open = copy->report = copy->run.live = false;
	copy->span_server = copy->run.prometheus = NULL;
	return copy->output_count > 0 || copy->push_count > 0;
}

int snapshot_start(struct snapshots *s)
{
	const pid_t parent = getpid();
	pid_t child;

	if (s->child)
		return -EBUSY;
	child = fork();
	/* writing may block forever, so the child must end with its parent */
	if (child == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != parent))
		_exit(EXIT_FAILURE);
	if (child < 0)
		return -errno;
	s->count++;
	s->child = child;
	return child != 0;
}

/* Returns the name of output number `at` of the last snapshot. NULL: none, or out of memory. */
static char *written_name(const struct options *o, const struct snapshots *s, uint32_t at)
{
	if (s->query.question)
		return at == 0 ? answer_name(o, s) : NULL;
	return is_file(o, at) ? name_of_result(o, at, s->count, s->unix_ns) : NULL;
}

/* Reports the files of a snapshot: "Snapshot 1 is written: out.1.html, out.1.profile". */
static void report(struct log *log, const struct options *o, const struct snapshots *s)
{
	char *files = NULL;
	size_t size;
	FILE *out = open_memstream(&files, &size);
	uint32_t count = 0;

	for (uint32_t i = 0; out && i < o->output_count; i++) {
		char *name = written_name(o, s, i);

		if (name)
			fprintf(out, "%s%s", count++ ? ", " : ": ", name);
		free(name);
	}
	if (out && fclose(out) != 0)
		files = NULL;
	if (o->run.every && !s->query.question)
		log_verbose(log, "result %u is written%s", s->count, files ? files : "");
	else
		log_line(log, "%s %u is written%s", s->query.question ? "Answer" : "Snapshot",
			 s->count, files ? files : "");
	free(files);
}

uint64_t snapshot_end(struct snapshots *s, struct log *log, const struct options *options,
		      bool waits)
{
	struct rusage usage = {0};
	pid_t ended;
	int status = EXIT_FAILURE, code;

	if (!s->child)
		return 0;
	do
		ended = wait4(s->child, &status, waits ? 0 : WNOHANG, &usage);
	while (ended < 0 && errno == EINTR);
	if (ended == 0)
		return 0;
	s->child = 0;
	code = ended > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
	if (code == 0 || code == EXIT_NOT_EXACT)
		report(log, options, s);
	else if (options->run.every && !s->query.question)
		log_warn(log, "result %u could not be written: the next one has its part",
			 s->count);
	else
		log_warn(log, "snapshot %u could not be written", s->count);
	s->inexact += code == EXIT_NOT_EXACT;
	s->has_failed = code != 0 && code != EXIT_NOT_EXACT;
	return ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * 1000000000u +
	       ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * 1000u;
}
