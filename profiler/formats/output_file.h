/* SPDX-License-Identifier: MIT */
/*
 * The output file: opened before the target starts, so that a mistake shows, and written at the
 * end.
 *
 * A regular file is written beside the old one, without a name where the file system can do that,
 * and replaces it only when it is complete: whatever ends the profiler, an old file keeps its
 * contents and no empty one is left. Links are followed, even to a file that does not exist yet,
 * and an old file's rights and owner stay; what other users have put in the way is refused
 * (guarded_path.h). Where no file can be made beside the old one (the folder is not writable, the
 * file is a mount point or another user's), and for a descriptor (/dev/fd/3), the file itself is
 * written at the end. Devices and FIFOs are written to directly. A temporary name is a random
 * number.
 */
#ifndef PROFILER_FORMATS_OUTPUT_FILE_H
#define PROFILER_FORMATS_OUTPUT_FILE_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

/* There was not enough room for a file. */
static inline bool output_lacks_room(int err)
{
	return err == -ENOSPC || err == -EDQUOT;
}

struct output {
	int fd;         /* what is written to; -1: it is made when writing begins */
	int folder;     /* of the file that takes a place when whole; -1: fd is the output itself */
	bool is_stdout; /* the target's stdout has to go elsewhere */
	bool is_new;    /* nothing was there */
	struct stat old;              /* unless is_new */
	char name[NAME_MAX + 1];      /* in the folder */
	char temporary[NAME_MAX + 1]; /* its name until it is whole; "": it has none */
	int error;                    /* the first -errno of writing */
};

/*
 * "-" is stdout, and so is every path that leads there (/dev/stdout, the file that the shell opened
 * for it). Waits for nobody. 0 or -errno, which guarded_error explains; -EAGAIN: it is a FIFO that
 * nobody reads yet.
 */
int output_open(struct output *output, const char *path);

/* A stream that replaces the file's contents; close it with output_end. NULL with errno on error.
 */
FILE *output_begin(struct output *output);

/*
 * Flushes, closes and puts the file in place; 0 or -errno (a full disk shows here). `err` is the
 * writer's -errno, or 0: a file that is not whole does not take the old one's place. After -ENOSPC
 * and -EDQUOT a file stays open: where there is room now, it can be written again from
 * output_begin on.
 */
int output_end(struct output *output, FILE *stream, int err);

/* Closes without writing: nothing has changed. Does nothing once output_end has closed it. */
void output_cancel(struct output *output);

#endif
