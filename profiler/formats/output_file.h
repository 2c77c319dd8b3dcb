/* SPDX-License-Identifier: MIT */
/*
 * Opens the output file before the target starts, so that a mistake shows, and writes it at the
 * end.
 *
 * A regular file is written beside the old one, and replaces it only when complete. Whatever ends
 * the profiler, an old file keeps its contents, and no empty file is left. Where the file system
 * allows, the new file has no name until then; else its temporary name is a random number.
 *
 * Links are followed, even to a file that does not exist yet. An old file's owner and rights are
 * kept. What other users have put in the way is refused (guarded_path.h).
 *
 * The file itself is written at the end where no file can be made beside it: the folder is not
 * writable, or the file is a mount point or another user's. So is a descriptor (/dev/fd/3).
 * Devices and FIFOs are written to directly.
 */
#ifndef PROFILER_FORMATS_OUTPUT_FILE_H
#define PROFILER_FORMATS_OUTPUT_FILE_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

/* Returns whether the error is that the file system is full, or the disk quota used up. */
static inline bool output_lacks_room(int err)
{
	return err == -ENOSPC || err == -EDQUOT;
}

struct output {
	int fd;                  /* written to; -1: created when writing begins */
	int folder;              /* destination of a complete file; -1: fd is the output itself */
	bool is_stdout;          /* the target's stdout has to be redirected */
	bool is_new;             /* no old file */
	struct stat old;         /* valid unless is_new */
	char name[NAME_MAX + 1]; /* final name in the folder */
	char temporary[NAME_MAX + 1]; /* name until complete; "": none */
	int error;                    /* first -errno of writing */
};

/*
 * Opens an output. "-" is stdout, and so is every path that leads there: /dev/stdout, or the file
 * that the shell opened for it. Never blocks. Returns 0, or -errno, which guarded_error explains;
 * -EAGAIN: the path is a FIFO without a reader.
 */
int output_open(struct output *output, const char *path);

/*
 * Returns a stream that replaces the file's contents, to be closed with output_end, or NULL with
 * errno set.
 */
FILE *output_begin(struct output *output);

/*
 * Flushes, closes, and puts the file in place. `err` is the writer's -errno, or 0: an incomplete
 * file does not replace the old one. Returns 0, or -errno; a full disk shows here. After -ENOSPC
 * and -EDQUOT the output stays open: once there is room, write it again from output_begin on.
 */
int output_end(struct output *output, FILE *stream, int err);

/* Closes without writing: no file has changed. Does nothing if output_end has closed it. */
void output_cancel(struct output *output);

#endif
