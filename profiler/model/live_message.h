/* SPDX-License-Identifier: MIT */
/*
 * Encodes what the worker sends to the display during a run (--live): numbers, and the largest
 * sums.
 *
 * A message is one datagram between two processes of one build, so its layout is that of this
 * build's structs.
 *
 * Frames have no names yet: the display looks them up, so that the run need not wait. Texts come
 * from the target, and are cut at LIVE_TEXT_MAX. A table that would exceed LIVE_MESSAGE_MAX bytes
 * loses its smallest sums.
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
#define LIVE_NO_VALUE UINT64_MAX /* in struct live_numbers: unknown in this run */

struct live_device {
	char label[DEVICE_LABEL_BYTES];
	uint32_t busy, busy_so_far; /* tenths of a percent */
	uint64_t memory;            /* allocated, bytes */
};

struct live_numbers {
	uint64_t elapsed_ns;
	uint64_t kernels; /* since the start */
	uint64_t kernels_per_s;
	uint64_t waiting; /* launched kernels, outside graphs, that are not reported as done */
	uint64_t cpu;     /* CPUs that the command uses, in hundredths */
	uint64_t calls;   /* average threads in CUDA calls, in hundredths, as far as known */

	uint64_t lost; /* records, launches and samples */
	uint64_t unmatched;
	uint32_t pid; /* process id of the command */
	uint32_t device_count;
	struct live_device devices[GPU_LOAD_DEVICES];
};

/* An unnamed frame. */
struct live_frame {
	uint32_t kind; /* enum frame_kind */
	uint32_t line;
	const char *text, *file;          /* "" if there is none */
	struct code_mapping file_of_code; /* for code: path, inode, device */
	struct code_ref code;
};

/* ---- in the worker ---- */

struct live_writer {
	char bytes[LIVE_MESSAGE_MAX];
	size_t used;
	bool is_full;
	uint32_t *sent; /* modules whose files are in this message */
	uint32_t sent_count, sent_capacity;
};

void live_writer_release(struct live_writer *w);

/* Begins a message. */
void live_writer_begin(struct live_writer *w, const struct live_numbers *numbers);

/* Adds a table. All tables are added, in order. */
void live_writer_add(struct live_writer *w, const struct collected *in,
		     const struct live_sum *whole, const struct live_pick *picks, uint32_t count);

/* ---- in the display ---- */

struct live_file {
	uint32_t module;
	struct code_mapping mapping;
};

struct live_reader {
	const char *at, *end;
	struct live_file *files; /* files in this message */
	uint32_t file_count, file_capacity;
};

void live_reader_release(struct live_reader *r);

/* Each returns false if the message is incomplete. Texts point into the message. */
bool live_reader_begin(struct live_reader *r, const char *bytes, size_t size,
		       struct live_numbers *numbers);
bool live_reader_table(struct live_reader *r, struct live_sum *whole, uint32_t *count);
bool live_reader_entry(struct live_reader *r, struct live_sum *sum,
		       struct live_frame frames[LIVE_SITE_FRAMES], uint32_t *count);

#endif
