/* SPDX-License-Identifier: MIT */
/*
 * Writes the metrics of a run to a file every few seconds: --prometheus.
 *
 * The file is due every METRICS_PERIOD_S, and at the end of the run. It is replaced atomically, as
 * other outputs are (output_file.h), with the rights of the user. A thread writes it, since disks
 * may be slow and the session must read events. A write that is due while the thread is busy is
 * skipped. A failed write is reported once, and retried in the next period. A FIFO gets the current
 * metrics whenever it has a reader; profile does not wait for readers.
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
	const char *path; /* NULL without --prometheus */
	bool is_started, has_writer, has_reported;
	uint64_t next_ns;
	pthread_t writer;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* guarded by the lock */
	char *text; /* text to write; NULL for none */
	size_t size;
	bool is_busy, is_last;
	int error; /* 0, or -errno of the last write */
};

/* Checks as the user that the file can be written. Returns false after logging the reason. */
bool metrics_file_start(struct metrics_file *file, struct log *log, const char *path);

/* Writes the file if it is due. Call it in each round of the session's loop. */
void metrics_file_update(struct metrics_file *file, const struct collected *collected,
			 uint64_t now_ns);

/*
 * Writes the last metrics at the end of the run. Returns false after logging the reason of a
 * failure.
 */
bool metrics_file_end(struct metrics_file *file, const struct collected *collected);

#endif
