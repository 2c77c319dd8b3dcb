// SPDX-License-Identifier: MIT
#include "profiler/commands/ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/command_text.h"
#include "profiler/base/exit_status.h"
#include "profiler/commands/compare.h"

#define COMMAND_BYTES 200 /* longer ones have words that stand for theirs */

/* ---- the command that asks ---- */

/* Words under way. */
struct words {
	char *list[4 + 2 * (PLACE_PARTS + 3)];
	uint32_t count;
	char options[PLACE_PARTS][16];
};

static void add_word(struct words *w, const char *word)
{
	w->list[w->count++] = (char *)word;
	w->list[w->count] = NULL;
}

static void add_option(struct words *w, const char *option, const char *value)
{
	if (!value)
		return;
	add_word(w, option);
	add_word(w, value);
}

/* Returns the words behind a space, or `instead` if they are long; "" for no words. */
static char *text_of(const struct words *w, const char *instead)
{
	char *text = w->count ? command_text(w->list) : NULL, *behind = NULL;

	if (!w->count)
		return strdup("");
	if (text && asprintf(&behind, " %s", strlen(text) < COMMAND_BYTES ? text : instead) < 0)
		behind = NULL;
	free(text);
	return behind;
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

/* Returns the options that choose a part, without its time. */
static char *slice_text(const struct view_options *view)
{
	const struct slice *slice = &view->slice;
	struct words w = {.count = 0};

	if (slice->kinds)
		add_word(&w, slice->kinds == 1u << ROW_CPU ? "-cpu-only" : "-gpu-only");
	for (int i = 0; i < PLACE_PARTS; i++) {
		snprintf(w.options[i], sizeof(w.options[i]), "--%s",
			 grouping_word((enum place_part)i));
		add_option(&w, w.options[i], slice->parts[i].text);
	}
	add_option(&w, "--kernel", slice->kernel.text);
	if (view->my_code)
		add_word(&w, "--my-code");
	return text_of(&w, "OPTIONS");
}

static char *time_range_text(const struct slice *slice)
{
	struct words w = {.count = 0};

	if (slice->has_time)
		add_option(&w, "--time", slice->time_text);
	return text_of(&w, "--time TIME");
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
	char *files = files_text(&o->from), *slice = slice_text(&o->view),
	     *time = time_range_text(&o->view.slice);
	struct asking a = {.query = &o->query,
			   .input = {.result = result, .command = {files, slice, time}}};
	int status = files && slice && time ? ask_with_command(log, o, outputs, &a)
					    : log_failure(log, "out of memory");

	free(files);
	free(slice);
	free(time);
	return status;
}
