/* SPDX-License-Identifier: MIT */
/*
 * --prometheus: the file with the run's metrics, written anew every METRICS_PERIOD_S seconds while
 * the run goes on, and at its end.
 *
 * Whoever reads the file sees a whole one: it is replaced as other outputs are (output_file.h), by
 * the user that the command runs as. A thread writes it, because a disk may be slow, and the
 * command waits for a profiler that does not read its events. If the thread is still busy when the
 * next file is due, that one is left out. A file that cannot be written is reported once, and tried
 * again. A FIFO gets the metrics of a moment at which somebody reads it; nobody is waited for.
 */
#ifndef PROFILER_COMMANDS_METRICS_FILE_H
#define PROFILER_COMMANDS_METRICS_FILE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profiler/base/log.h"
#include "profiler/model/collected.h"

#define METRICS_PERIOD_S 5u
#define METRICS_TIMEOUT_S 30 /* at the end */

struct metrics_file {
	struct log *log;
	const char *path; /* NULL: not asked for */
	bool is_started, has_writer, has_reported;
	uint64_t next_ns;
	pthread_t writer;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under the lock */
	char *text; /* to be written; NULL: none */
	size_t size;
	bool is_busy, is_last;
	int error; /* of the last writing, or 0 */
};

/* As the user: looks whether the file can be written. False after logging the reason. */
bool metrics_file_start(struct metrics_file *file, struct log *log, const char *path);

/* In each round of the session's loop: writes what is due. */
void metrics_file_look(struct metrics_file *file, const struct collected *collected,
		       uint64_t now_ns);

/* The run is over: writes the last one. False: it could not be written, and why is logged. */
bool metrics_file_end(struct metrics_file *file, const struct collected *collected);

#endif
