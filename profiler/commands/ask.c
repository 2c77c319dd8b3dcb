// SPDX-License-Identifier: MIT
#include "profiler/commands/ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/command_text.h"
#include "profiler/base/exit_status.h"
#include "profiler/commands/compare.h"
#include "profiler/formats/answer.h"
#include "profiler/tables/kernel_class.h"

#define COMMAND_BYTES 200 /* longer ones have words that stand for theirs */

/* ---- the command that asks ---- */

/* A command's options under way, each behind a space and quoted for a shell. */
struct options_text {
	FILE *out;
	char *text;
	size_t size;
	bool is_time; /* options of a time, or the others */
	bool has_failed;
};

static void put_option(void *context, const char *option, const char *value)
{
	struct options_text *t = context;
	char *quoted;

	if (t->is_time != (strcmp(option, "--time") == 0))
		return;
	fprintf(t->out, " %s", option);
	if (!value)
		return;
	quoted = answer_quoted(value);
	if (quoted)
		fprintf(t->out, " %s", quoted);
	else
		t->has_failed = true;
	free(quoted);
}

/*
 * Returns the options of the slice: its time, or all others with --my-code. Returns `instead` if
 * they are long, and NULL if out of memory. The caller frees the text.
 */
static char *slice_text(const struct view_options *view, bool is_time, const char *instead)
{
	struct options_text t = {.is_time = is_time};

	t.out = open_memstream(&t.text, &t.size);
	if (!t.out)
		return NULL;
	slice_visit_options(&view->slice, put_option, &t);
	if (!is_time && view->my_code)
		put_option(&t, "--my-code", NULL);
	if (!is_time && view->kernel_classes)
		put_option(&t, "--kernel-classes", kernel_classes_path(view->kernel_classes));
	if (fclose(t.out) != 0 || t.has_failed) {
		free(t.text);
		return NULL;
	}
	if (t.size <= COMMAND_BYTES)
		return t.text;
	free(t.text);
	return strdup(instead);
}

/* Returns "profile --from x.profile". */
static char *files_text(const struct from_options *from)
{
	char **words = calloc((size_t)from->count + 3, sizeof(*words)), *text = NULL;
	bool is_stdin = false;

	if (!words)
		return NULL;
	words[0] = (char *)"profile";
	words[1] = (char *)"--from";
	for (uint32_t i = 0; i < from->count; i++) {
		words[i + 2] = (char *)from->paths[i];
		is_stdin |= strcmp(from->paths[i], "-") == 0;
	}
	text = command_text(words);
	free(words);
	if (text && strlen(text) < COMMAND_BYTES && !is_stdin)
		return text;
	free(text);
	return strdup("profile --from FILE");
}

/* ---- the answer ---- */

struct asking {
	const struct query *query;
	struct query_input input;
};

static int answer(void *context, const struct comparison *comparison)
{
	struct asking *a = context;

	a->input.comparison = comparison;
	return query_answer(a->query, &a->input, stdout);
}

static int ask_with_command(struct log *log, const struct options *o, const struct outputs *outputs,
			    struct asking *a)
{
	const char *other = query_other(a->query);
	int err;

	a->input.other = other;
	if (other && !compare_with(log, o, other, a->input.result, outputs, answer, a, &err))
		return EXIT_PROFILER_FAILED;
	if (!other)
		err = answer(a, NULL);
	return err ? log_failure(log, "writing the answer: %s", strerror(-err)) : 0;
}

int ask(struct log *log, const struct options *o, const struct outputs *outputs,
	const struct result *result)
{
	char *files = files_text(&o->from), *slice = slice_text(&o->view, false, " OPTIONS"),
	     *time = slice_text(&o->view, true, " --time TIME");
	struct asking a = {.query = &o->query,
			   .input = {.result = result, .command = {files, slice, time}}};
	int status = files && slice && time ? ask_with_command(log, o, outputs, &a)
					    : log_failure(log, "out of memory");

	free(files);
	free(slice);
	free(time);
	return status;
}
