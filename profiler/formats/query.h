/* SPDX-License-Identifier: MIT */
/*
 * Answers questions about a result: `profile --from x.profile --query kernels`.
 *
 * Each question is an entry of a table in query.c: a word, what it tells, and the function that
 * answers it (answer.h). docs/queries.md describes the answers.
 */
#ifndef PROFILER_FORMATS_QUERY_H
#define PROFILER_FORMATS_QUERY_H

#include <stdbool.h>
#include <stdio.h>
#include "profiler/formats/answer.h"
#include "profiler/model/result.h"

struct comparison;

/* The result that is asked about. Borrowed. */
struct query_input {
	const struct result *result;
	struct answer_command command;
	/* the result, after, with the capture `other`, before; only for a question that compares */
	const struct comparison *comparison;
	const char *other;
};

struct question;

struct query {
	const struct question *question;
	const char *text;     /* as given; borrowed */
	const char *argument; /* in `text`; NULL: none */
};

/*
 * Reads "word" or "word argument". Returns false for an unknown word, a missing argument, or one
 * too many.
 */
bool query_read(const char *text, struct query *query);

/* Writes a line for each question. */
void query_list(FILE *out);

/* Returns whether the answer needs findings, and the timeline that they are made of. */
bool query_needs_findings(const struct query *query);

/* Returns the path of the capture to compare with, or NULL. */
const char *query_other(const struct query *query);

/* Writes the answer. Returns 0 or -errno. */
int query_answer(const struct query *query, const struct query_input *input, FILE *out);

#endif
