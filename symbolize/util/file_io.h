/* SPDX-License-Identifier: MIT */
/*
 * Opens and reads regular files, and writes whole buffers.
 *
 * A path from another process may name a FIFO, a device or a symbolic link by now. Only regular
 * files are opened: opening a FIFO unblocks its writer, and opening a device may start it. A
 * regular file may still block if its file system does (bounded_call.h).
 */
#ifndef SYMBOLIZE_UTIL_FILE_IO_H
#define SYMBOLIZE_UTIL_FILE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum symlink_rule {
	SYMLINK_FOLLOW,
	SYMLINK_REFUSE, /* the last component is not followed: -ELOOP if it is a symbolic link */
};

/*
 * Opens the regular file at `path` for reading, close-on-exec, and sets `*st`. Returns a
 * descriptor, which the caller closes, or -errno (-EINVAL: not a regular file).
 */
int open_regular(const char *path, enum symlink_rule rule, struct stat *st);

/*
 * Opens a regular file as open_regular does, with the descriptor `root` as the root folder. No ".."
 * and no link leads out of it, and no magic link of /proc is followed (openat2(2),
 * RESOLVE_IN_ROOT).
 */
int open_regular_in(int root, const char *path, struct stat *st);

/* Reads exactly `size` bytes at `offset`. Returns 0, -EIO if the file ends before, or -errno. */
int read_exactly(int fd, void *buffer, size_t size, uint64_t offset);

/* Writes exactly `size` bytes at the current position. Returns 0 or -errno. */
int write_exactly(int fd, const void *data, size_t size);

/*
 * Reads from the current position to the end, at most `limit` bytes, into a malloc'd buffer. A NUL
 * follows that `*size` does not include. Works on files of /proc, which have no size. The caller
 * frees the buffer. Returns 0 or -errno.
 */
int read_to_end(int fd, size_t limit, char **buffer, size_t *size);

#endif
