/* SPDX-License-Identifier: MIT */
/*
 * Opens files that someone else may have put there, and reads them whole.
 *
 * A path from another process may name a FIFO, a terminal, a tape drive or a symbolic link by now.
 * These functions look before they open (O_PATH, fstat, then open through /proc/self/fd), so
 * nothing but a regular file is ever opened for reading, without a race between check and use.
 */
#ifndef SYMBOLIZE_SAFE_OPEN_H
#define SYMBOLIZE_SAFE_OPEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum symlink_rule {
	SYMLINK_FOLLOW,
	SYMLINK_REFUSE, /* the last component must not be a symbolic link: -ELOOP */
};

/*
 * A read-only, close-on-exec descriptor of the regular file at `path`, its status in `*st`; or
 * -errno (-EINVAL: not a regular file). The caller closes it.
 */
int open_regular(const char *path, enum symlink_rule rule, struct stat *st);

/* Reads exactly `size` bytes at `offset`: 0, -EIO at the file's end, or -errno. */
int read_exactly(int fd, void *buffer, size_t size, uint64_t offset);

/*
 * Reads from the current position to the end into a malloc'd buffer, whose contents are followed by
 * a NUL that `*size` does not count; works on /proc files, which have no size. The caller frees it.
 * -EFBIG when there are more than `limit` bytes.
 */
int read_to_end(int fd, size_t limit, char **buffer, size_t *size);

#endif
