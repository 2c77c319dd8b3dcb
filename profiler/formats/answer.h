/* SPDX-License-Identifier: MIT */
/*
 * Builds an answer to a question about a result: one JSON object of bounded size, for programs that
 * have little room to read (docs/queries.md).
 *
 *	struct answer *a = answer_new("kernels", &command);
 *
 *	answer_say(a, "%u kernels ran", count);
 *	json_uint(answer_sums(a), "ns", ns);
 *	answer_next(a, "sites");
 *	while (... && (j = answer_row(a))) {
 *		answer_text(a, "name", name);
 *		json_uint(j, "ns", ns);
 *		answer_end_row(a);
 *	}
 *	answer_leave_out(a, others);
 *	err = answer_write(a, out);
 *
 * The sentence, the sums and the next commands come before the first row. Rows are added the most
 * important first. The first row without room ends the list; further rows are counted.
 *
 * Texts are untrusted. They are cut at ANSWER_TEXT_BYTES between characters, and their control
 * characters become '?'. A row with a cut text says so.
 *
 * If memory runs out, all functions go on, and answer_write reports it.
 */
#ifndef PROFILER_FORMATS_ANSWER_H
#define PROFILER_FORMATS_ANSWER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "profiler/formats/json.h"

#define ANSWER_BYTES_MAX 8192u
#define ANSWER_TEXT_BYTES 200u
#define ANSWER_CLAIM_BYTES 500u /* for sentences of findings */
#define ANSWER_NEXT_MAX 4u

/*
 * The command that asks, for the commands that an answer names. Texts are borrowed, and quoted for
 * a shell.
 */
struct answer_command {
	const char *files; /* "profile --from x.profile" */
	const char *slice; /* " --device 0", without a time range; or "" */
	const char *time;  /* " --time 1..2", or "" */
};

struct answer;

/* Makes an empty answer. Borrows `command`. Returns NULL if out of memory. */
struct answer *answer_new(const char *question, const struct answer_command *command);
void answer_free(struct answer *answer);

/* Sets the answer in words. It is cut at 600 bytes. */
void answer_say(struct answer *answer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Returns the writer of the members of "sums". */
struct json *answer_sums(struct answer *answer);

/* Adds a command that asks the next question. There are ANSWER_NEXT_MAX at most. */
void answer_next(struct answer *answer, const char *question);

/* Begins a row. Returns the writer of its members, or NULL if there is no room for rows. */
struct json *answer_row(struct answer *answer);

/* Adds a text to the row. Writes nothing if `text` is NULL. */
void answer_text(struct answer *answer, const char *key, const char *text);

/* Adds a text that is cut at `most` bytes, ANSWER_CLAIM_BYTES or less. `key` is NULL in an array.
 */
void answer_short_text(struct answer *answer, const char *key, const char *text, size_t most);

/*
 * Adds the command that looks closer, with a further option. The options of the slice stay;
 * `replaces_time` leaves out its time range. `output` is a file to write, or NULL.
 */
void answer_look(struct answer *answer, const char *option, const char *value, bool replaces_time,
		 const char *output);

/* Adds the command that looks closer, with these options instead of those of the slice. */
void answer_look_with(struct answer *answer, const char *options);

/* Ends the row. Returns false if it had no room: then the row is counted as left out. */
bool answer_end_row(struct answer *answer);

/* Counts rows that were not added. */
void answer_leave_out(struct answer *answer, uint64_t rows);

/* Writes the object. Returns 0, -ENOMEM, or -EIO. */
int answer_write(struct answer *answer, FILE *out);

/*
 * Returns a text quoted as a word of a shell's command; the caller frees it. Returns NULL if out of
 * memory.
 */
char *answer_quoted(const char *text);

#endif
