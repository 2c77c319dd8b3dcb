/* SPDX-License-Identifier: MIT */
/*
 * The files that a run writes: each a path and the format for it. All are opened before the target
 * starts, so that a mistake shows at once, and written at the end, one after the other.
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

/* Returns what the writers need: enum writer_needs. */
unsigned int outputs_need(const struct output_choice *choices, uint32_t count);

/*
 * Opens them all. 0 or -errno, of the choice number `*failed`; -EBUSY: it is stdout, or the same
 * file, for the second time. Nothing is open then; but with -EAGAIN those before it are: it is a
 * FIFO that nobody reads yet. outputs_go_on tries again, from there on.
 */
int outputs_open(struct outputs *outputs, const struct output_choice *choices, uint32_t count,
		 uint32_t *failed);
int outputs_go_on(struct outputs *outputs, uint32_t count, uint32_t *failed);

/* One of them leads to stdout, so the target's own has to go elsewhere. */
bool outputs_take_stdout(const struct outputs *outputs);

/* An open folder in which one of them will be; -1: none. */
int outputs_folder(const struct outputs *outputs);

/* Writes number `at` and puts it in place. 0 or -errno; output_lacks_room: call it again once there
 * is more room on the file system of outputs_place. */
int outputs_write(struct outputs *outputs, uint32_t at, const struct result *result,
		  const struct writer_options *options, struct written *written);

/* An open file or folder where number `at` is; -1: it has been closed, or takes no room. */
int outputs_place(const struct outputs *outputs, uint32_t at);

/* Closes what has not been written: nothing has changed there. */
void outputs_cancel(struct outputs *outputs);

#endif
