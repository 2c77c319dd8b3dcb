/* SPDX-License-Identifier: MIT */
/*
 * --control: commands to a run that goes on, one per line, from a FIFO.
 *
 *   start      begins the recording that --delay puts off
 *   snapshot   writes the result so far
 *   stop       ends the recording, writes the result; the command goes on
 *
 * A FIFO that is not there is made, for its owner alone, and removed at the end. One that another
 * user has put in the way is refused (guarded_path.h). Whoever may write to it controls the run,
 * and nothing else: lines are untrusted, and longer ones than
 * CONTROL_LINE_BYTES are skipped. Writers come and go; none is waited for.
 */
#ifndef PROFILER_COMMANDS_CONTROL_H
#define PROFILER_COMMANDS_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include "profiler/base/log.h"
#include "symbolize/util/guarded_path.h"

#define CONTROL_LINE_BYTES 64

enum control_command { CONTROL_NONE, CONTROL_START, CONTROL_SNAPSHOT, CONTROL_STOP };

/* `fd` of -1 is closed. */
struct control {
	int fd;
	struct guarded_path place;
	bool is_ours;    /* we made it */
	bool is_skipped; /* the rest of a line that is too long */
	char line[CONTROL_LINE_BYTES], bytes[4096];
	size_t used, next, count; /* of the line; of the bytes that were read */
	unsigned int complaints;
};

/* As the user. False after logging the reason; close it in any case. */
bool control_open(struct control *control, struct log *log, const char *path);

/* The next command there is; the first unknown ones are said. Does not wait. */
enum control_command control_next(struct control *control, struct log *log);

/* Removes the FIFO, if it is ours and still there. */
void control_close(struct control *control);

#endif
