// SPDX-License-Identifier: MIT
#include "profiler/commands/input.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "profiler/base/version.h"
#include "profiler/output/view.h"

#define GZIP_FIRST_BYTE 0x1f /* RFC 1952: no folded stack begins with it */

void input_explain(struct log *log, const char *path, enum capture_error error)
{
	switch (error) {
	case CAPTURE_NO_CAPTURE:
		log_error(log, "%s is not a capture (captures are written with -o FILE.profile)",
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

static bool read_capture(struct log *log, struct input *in, FILE *file, const char *folder,
			 struct allowance *memory)
{
	enum capture_error error;

	in->capture = capture_read(file, folder, true, memory, &error);
	if (in->capture)
		in->result = capture_result(in->capture);
	else
		input_explain(log, in->path, error);
	return in->capture;
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

bool input_read(struct log *log, struct input *in, const char *path, const struct options *o,
		const char *folder, struct allowance *memory)
{
	FILE *file = fopen(path, "re");
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
		ok = first == GZIP_FIRST_BYTE ? read_capture(log, in, file, folder, memory)
					      : read_folded(log, in, file, memory);
	}
	fclose(file);
	return ok && view_input(log, in, o, folder, memory);
}

void input_release(struct input *in)
{
	view_free(in->view);
	capture_free(in->capture);
	folded_free(in->folded);
	*in = (struct input){0};
}
