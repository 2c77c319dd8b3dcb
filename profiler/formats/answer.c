// SPDX-License-Identifier: MIT
#include "profiler/formats/answer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/command_text.h"
#include "symbolize/util/text.h"

#define VERSION 1
#define SENTENCE_BYTES 600
#define LOOK_BYTES 1024 /* before it is quoted for JSON */
#define COUNT_BYTES 24  /* digits of left_out, and more */

/* A text under way, in JSON. */
struct part {
	FILE *out;
	char *text;
	size_t size;
	struct json json;
};

struct answer {
	const struct answer_command *command;
	char question[ANSWER_TEXT_BYTES + 1], sentence[SENTENCE_BYTES + 1];
	struct part sums, rows, row;
	char *next[ANSWER_NEXT_MAX];
	uint32_t next_count, row_count;
	uint64_t left_out;
	size_t room; /* bytes of the rows; 0 until the first one */
	bool is_cut; /* the row has a cut text */
	bool is_full;
	bool is_out_of_memory;
};

/* ---- parts ---- */

static bool part_begin(struct part *p)
{
	*p = (struct part){.text = NULL};
	p->out = open_memstream(&p->text, &p->size);
	p->json = json_begin(p->out);
	return p->out;
}

/* Ends the text, which part_release frees. Returns its length, without the line's end. */
static size_t part_end(struct part *p)
{
	bool is_whole;

	if (!p->out)
		return 0;
	json_end(&p->json);
	is_whole = fclose(p->out) == 0;
	p->out = NULL;
	if (!is_whole) {
		free(p->text);
		p->text = NULL;
	}
	return p->text ? p->size - 1 : 0;
}

static void part_release(struct part *p)
{
	part_end(p);
	free(p->text);
	p->text = NULL;
}

/* ---- texts ---- */

/* Copies a text, cut at `most` bytes and clean. Returns whether it was cut. */
static bool copy_text(char *to, const char *text, size_t most)
{
	size_t length = fit_utf8(text, most);

	memcpy(to, text, length);
	to[length] = '\0';
	clean_text(to);
	return text[length] != '\0';
}

char *answer_quoted(const char *text)
{
	return command_text((char *const[]){(char *)text, NULL});
}

/* ---- the fixed part ---- */

struct answer *answer_new(const char *question, const struct answer_command *command)
{
	struct answer *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->command = command;
	copy_text(a->question, question, ANSWER_TEXT_BYTES);
	if (!part_begin(&a->sums) || !part_begin(&a->rows)) {
		answer_free(a);
		return NULL;
	}
	json_open_object(&a->sums.json, "sums");
	json_open_array(&a->rows.json, "rows");
	return a;
}

void answer_free(struct answer *a)
{
	if (!a)
		return;
	part_release(&a->sums);
	part_release(&a->rows);
	part_release(&a->row);
	for (uint32_t i = 0; i < a->next_count; i++)
		free(a->next[i]);
	free(a);
}

void answer_say(struct answer *a, const char *format, ...)
{
	char *text = NULL;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0) {
		a->is_out_of_memory = true;
		return;
	}
	copy_text(a->sentence, text, SENTENCE_BYTES);
	free(text);
}

struct json *answer_sums(struct answer *a)
{
	return &a->sums.json;
}

void answer_next(struct answer *a, const char *question)
{
	char *quoted = answer_quoted(question);
	int length = -1;

	if (quoted && a->next_count < ANSWER_NEXT_MAX)
		length = asprintf(&a->next[a->next_count], "%s%s%s --query %s", a->command->files,
				  a->command->slice, a->command->time, quoted);
	a->next_count += length >= 0;
	a->is_out_of_memory |= !quoted || length < 0;
	free(quoted);
}

/* Writes the members before the rows, or after them. */
static void put_begin(struct json *j, const struct answer *a)
{
	json_open_object(j, NULL);
	json_text(j, "format", "profile answer");
	json_uint(j, "version", VERSION);
	json_text(j, "question", a->question);
	json_text(j, "answer", a->sentence);
	json_break_line(j);
	json_raw(j, a->sums.text ? a->sums.text : "", a->sums.text ? a->sums.size - 1 : 0);
	json_break_line(j);
}

static void put_end(struct json *j, const struct answer *a)
{
	json_break_line(j);
	json_uint(j, "left_out", a->left_out);
	json_open_array(j, "next");
	for (uint32_t i = 0; i < a->next_count; i++)
		json_text(j, NULL, a->next[i]);
	json_close_array(j);
	json_close_object(j);
}

/* Finds how much room the fixed part leaves for rows. */
static void find_room(struct answer *a)
{
	struct part fixed;
	size_t size;

	json_close_object(&a->sums.json);
	if (part_end(&a->sums) == 0 || !part_begin(&fixed)) {
		a->is_out_of_memory = true;
		return;
	}
	put_begin(&fixed.json, a);
	put_end(&fixed.json, a);
	size = part_end(&fixed) + COUNT_BYTES + sizeof("\"rows\":[]") + 1;
	part_release(&fixed);
	a->room = size < ANSWER_BYTES_MAX ? ANSWER_BYTES_MAX - size : 0;
	if (a->room == 0)
		a->is_full = true;
}

static void seal(struct answer *a)
{
	if (a->sums.out)
		find_room(a);
}

/* ---- rows ---- */

struct json *answer_row(struct answer *a)
{
	seal(a);
	if (a->is_full || a->is_out_of_memory)
		return NULL;
	if (!part_begin(&a->row)) {
		a->is_out_of_memory = true;
		return NULL;
	}
	a->is_cut = false;
	json_open_object(&a->row.json, NULL);
	return &a->row.json;
}

void answer_short_text(struct answer *a, const char *key, const char *text, size_t most)
{
	char copy[ANSWER_CLAIM_BYTES + 1];

	if (!text)
		return;
	a->is_cut |= copy_text(copy, text, most);
	json_text(&a->row.json, key, copy);
}

void answer_text(struct answer *a, const char *key, const char *text)
{
	answer_short_text(a, key, text, ANSWER_TEXT_BYTES);
}

void answer_look(struct answer *a, const char *option, const char *value, bool replaces_time,
		 const char *output)
{
	const struct answer_command *c = a->command;
	char *quoted = answer_quoted(value), text[LOOK_BYTES];
	bool is_in_slice = strstr(c->slice, option) != NULL; /* options are given once */
	int length;

	if (!quoted) {
		a->is_out_of_memory = true;
		return;
	}
	length = snprintf(text, sizeof(text), "%s%s%s %s %s%s%s", c->files,
			  is_in_slice ? "" : c->slice, replaces_time ? "" : c->time, option, quoted,
			  output ? " -o " : "", output ? output : "");
	free(quoted);
	if (length > 0 && (size_t)length < sizeof(text)) /* a cut command would do another thing */
		json_text(&a->row.json, "look", text);
}

void answer_look_with(struct answer *a, const char *options)
{
	char text[LOOK_BYTES];
	int length = snprintf(text, sizeof(text), "%s %s", a->command->files, options);

	if (length > 0 && (size_t)length < sizeof(text))
		json_text(&a->row.json, "look", text);
}

bool answer_end_row(struct answer *a)
{
	size_t length;

	if (a->is_cut)
		json_bool(&a->row.json, "cut", true);
	json_close_object(&a->row.json);
	length = part_end(&a->row);
	if (length == 0)
		a->is_out_of_memory = true;
	else if (json_bytes(&a->rows.json) + length + sizeof(",\n") > a->room)
		a->is_full = true;
	if (length && !a->is_full) {
		json_break_line(&a->rows.json);
		json_raw(&a->rows.json, a->row.text, length);
		a->row_count++;
	} else {
		a->left_out++;
	}
	part_release(&a->row);
	return !a->is_full && !a->is_out_of_memory;
}

void answer_leave_out(struct answer *a, uint64_t rows)
{
	a->left_out += rows;
}

int answer_write(struct answer *a, FILE *out)
{
	struct json j = json_begin(out);
	size_t length;

	seal(a);
	json_close_array(&a->rows.json);
	length = part_end(&a->rows);
	if (a->is_out_of_memory || length == 0)
		return -ENOMEM;
	put_begin(&j, a);
	json_raw(&j, a->rows.text, length);
	put_end(&j, a);
	json_end(&j);
	return fflush(out) != 0 || ferror(out) ? -EIO : 0;
}
