/* SPDX-License-Identifier: MIT */
/*
 * Shares the parts of answers among their own files:
 *
 *	query.c          the table of questions, and most answers
 *	query_parts.c    GPU work by class of kernel, operator and layer
 *	query_stacks.c   the stacks that launch a kernel
 *	query_compare.c  what changed since another run
 *	query_collectives.c  collectives by name and size
 */
#ifndef PROFILER_FORMATS_QUERY_PRIVATE_H
#define PROFILER_FORMATS_QUERY_PRIVATE_H

#include "profiler/formats/query.h"
#include "profiler/tables/report_table.h"

/*
 * Answers a question. `argument` is NULL for a question without one. Returns 0, or -errno without
 * an answer.
 */
typedef int query_function(struct answer *answer, const struct query_input *in,
			   const char *argument);

query_function query_answer_stack, query_answer_compare, query_answer_collectives,
	query_answer_classes, query_answer_operators, query_answer_layers;

/* Adds the command that looks closer at a row of a table. */
typedef void query_look_function(struct answer *answer, const struct report_table *table,
				 uint32_t row);

/* Adds the rows of a table, each with the table's key. */
void query_put_table(struct answer *answer, const struct result *result,
		     const struct report_table *table, query_look_function *look);

/* Adds the command that writes the output of a time range, unless it is empty. */
void query_look_at_time(struct answer *answer, const struct result *result, uint64_t from_ns,
			uint64_t to_ns, const char *output);

/* Adds the member "share", from 0 to 1. */
void query_put_share(struct json *json, uint64_t part, uint64_t whole);

/* Adds the name of a frame, and its file. */
void query_put_frame(struct answer *answer, const struct frame_info *frame);

/*
 * Returns the extended regular expression that matches a name; only its start, if it is long. The
 * caller frees it. Returns NULL if the name does not fit on a command line, or if out of memory.
 */
char *query_pattern(const char *name);

/* Returns whether a name is short and clean, so that a command line can have it. */
bool query_is_plain(const char *name);

#endif
