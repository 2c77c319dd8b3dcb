/* SPDX-License-Identifier: MIT */
/*
 * What the worker tells the display about a run that goes on (--live): numbers, and the sums with
 * the most time. One message, one datagram between two processes of one program: the layout is that
 * of this build's structures.
 *
 * Frames have no names yet: the display looks them up, so that the run does not wait for that.
 * Texts are the target's, of any content; one longer than LIVE_TEXT_MAX is cut. What does not fit
 * in LIVE_MESSAGE_MAX bytes is left out, the least time first within its table.
 */
#ifndef PROFILER_MODEL_LIVE_MESSAGE_H
#define PROFILER_MODEL_LIVE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profiler/model/devices.h"
#include "profiler/model/gpu_load.h"
#include "profiler/model/live_sums.h"
#include "profiler/model/stack_table.h"

#define LIVE_MESSAGE_MAX (160u << 10)
#define LIVE_TEXT_MAX 8192u
#define LIVE_NO_VALUE UINT64_MAX /* of the numbers below: not known in this run */

struct live_device {
	char label[DEVICE_LABEL_BYTES];
	uint32_t busy, busy_so_far; /* in tenths of a percent */
	uint64_t memory;            /* allocated, bytes */
};

struct live_numbers {
	uint64_t elapsed_ns;
	uint64_t kernels; /* so far */
	uint64_t kernels_per_s;
	uint64_t waiting; /* kernels launched, but for those of graphs, not reported as done */
	uint64_t cpu;     /* CPUs that the command uses, in hundredths */
	uint64_t calls;   /* threads in CUDA calls on average, in hundredths, as far as known */

	uint64_t lost; /* records, launches and samples */
	uint64_t unmatched;
	uint32_t pid; /* of the command */
	uint32_t device_count;
	struct live_device devices[GPU_LOAD_DEVICES];
};

/* A frame to be named. */
struct live_frame {
	uint32_t kind; /* enum frame_kind */
	uint32_t line;
	const char *text, *file;          /* "": none */
	struct code_mapping file_of_code; /* kind is a place in a file: path, inode, device */
	struct code_ref code;
};

/* ---- in the worker ---- */

struct live_writer {
	char bytes[LIVE_MESSAGE_MAX];
	size_t used;
	bool is_full;
	uint32_t *sent; /* modules whose files this message describes */
	uint32_t sent_count, sent_capacity;
};

void live_writer_release(struct live_writer *w);

/* Begins a message. */
void live_writer_begin(struct live_writer *w, const struct live_numbers *numbers);

/* Adds a table; all of them in order. */
void live_writer_add(struct live_writer *w, const struct collected *in,
		     const struct live_sum *whole, const struct live_pick *picks, uint32_t count);

/* ---- in the display ---- */

struct live_file {
	uint32_t module;
	struct code_mapping mapping;
};

struct live_reader {
	const char *at, *end;
	struct live_file *files; /* those of this message */
	uint32_t file_count, file_capacity;
};

void live_reader_release(struct live_reader *r);

/* Each false: the message is not complete. Texts point into it. */
bool live_reader_begin(struct live_reader *r, const char *bytes, size_t size,
		       struct live_numbers *numbers);
bool live_reader_table(struct live_reader *r, struct live_sum *whole, uint32_t *count);
bool live_reader_entry(struct live_reader *r, struct live_sum *sum,
		       struct live_frame frames[LIVE_SITE_FRAMES], uint32_t *count);

#endif
