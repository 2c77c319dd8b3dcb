/* SPDX-License-Identifier: MIT */
/*
 * Reads commands to a running profile from a FIFO, one per line: --control.
 *
 *   start      starts the recording that --delay postpones
 *   snapshot   writes the result so far
 *   query Q    writes the answer to a question about it (formats/query.h)
 *   stop       ends the recording and writes the result; the command goes on
 *
 * A missing FIFO is created for its owner alone, and removed at the end. A FIFO of another user is
 * refused (guarded_path.h). Writers of the FIFO control the run and nothing else. Lines are
 * untrusted, and lines longer than CONTROL_LINE_BYTES are skipped. Writers may come and go at any
 * time.
 */
#ifndef PROFILER_COMMANDS_CONTROL_H
#define PROFILER_COMMANDS_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include "profiler/base/log.h"
#include "symbolize/util/guarded_path.h"

#define CONTROL_LINE_BYTES 512
#define CONTROL_COMPLAINTS_MAX 16u /* about lines, and about questions */

enum control_command { CONTROL_NONE, CONTROL_START, CONTROL_SNAPSHOT, CONTROL_QUERY, CONTROL_STOP };

/* Closed if `fd` is -1. */
struct control {
	int fd;
	struct guarded_path place;
	bool is_ours;    /* created here */
	bool is_skipped; /* skipping the rest of a long line */
	char line[CONTROL_LINE_BYTES], bytes[4096];
	size_t used, next, count; /* bytes in `line`; position and count in `bytes` */
	unsigned int complaints;
};

/* Opens the FIFO as the user. Returns false after logging the reason. Close it in any case. */
bool control_open(struct control *control, struct log *log, const char *path);

/*
 * Returns the next command, or CONTROL_NONE. Does not wait. Reports the first unknown lines. Sets
 * `argument` to the words behind the command, "" if there are none, until the next call.
 */
enum control_command control_next(struct control *control, struct log *log, const char **argument);

/* Closes the FIFO, and removes it if it was created here and still exists. */
void control_close(struct control *control);

#endif
