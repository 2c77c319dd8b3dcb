/* SPDX-License-Identifier: MIT */
/*
 * Opens and writes the output files of a run, each a path and its format.
 *
 * All files are opened before the target starts, so that a mistake shows at once. They are
 * written at the end, one after the other.
 */
#ifndef PROFILER_OUTPUT_OUTPUTS_H
#define PROFILER_OUTPUT_OUTPUTS_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/formats/output_file.h"
#include "profiler/formats/writer.h"

#define OUTPUTS_MAX 16

/* An output that the user asked for. */
struct output_choice {
	const char *path; /* borrowed; "-": stdout */
	const struct writer *writer;
};

struct outputs {
	const struct output_choice *choices; /* borrowed */
	uint32_t count;
	struct output files[OUTPUTS_MAX];
};

/* Returns what the writers need, as bits of enum writer_needs. */
unsigned int outputs_need(const struct output_choice *choices, uint32_t count);

/*
 * Opens all outputs. Returns 0, or -errno of choice number `*failed`; -EBUSY: stdout, or one
 * file, is there twice. On error no output is open, except after -EAGAIN (a FIFO without a
 * reader): the outputs before it are, and outputs_go_on tries again from there.
 */
int outputs_open(struct outputs *outputs, const struct output_choice *choices, uint32_t count,
		 uint32_t *failed);
int outputs_go_on(struct outputs *outputs, uint32_t count, uint32_t *failed);

/* Returns whether an output is stdout, so that the target's stdout has to be redirected. */
bool outputs_take_stdout(const struct outputs *outputs);

/* Returns the open folder of an output, or -1 if there is none. */
int outputs_folder(const struct outputs *outputs);

/*
 * Writes output number `at` and puts it in place. Returns 0, or -errno. If output_lacks_room,
 * call it again once the file system of outputs_place has more room.
 */
int outputs_write(struct outputs *outputs, uint32_t at, const struct result *result,
		  const struct writer_options *options, struct written *written);

/* Returns an open file or folder on the file system of output number `at`, or -1 if closed. */
int outputs_place(const struct outputs *outputs, uint32_t at);

/* Closes outputs that are not written yet. Their files have not changed. */
void outputs_cancel(struct outputs *outputs);

#endif
