/* SPDX-License-Identifier: MIT */
/*
 * Opens and reads regular files; writes all of something.
 *
 * A path from another process may by now name a FIFO, a device or a symbolic link. Only regular
 * files are opened: to open a FIFO lets its writer go on, and to open a device may start it. A
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
	SYMLINK_REFUSE, /* the last component must not be a symbolic link: -ELOOP */
};

/*
 * A read-only, close-on-exec descriptor of the regular file at `path`, its status in `*st`; or
 * -errno (-EINVAL: not a regular file). The caller closes it.
 */
int open_regular(const char *path, enum symlink_rule rule, struct stat *st);

/*
 * Does the same with the folder `root`, a descriptor, as the root of all names: neither ".." nor a
 * link leads out of it, and no link of /proc is followed (openat2(2), RESOLVE_IN_ROOT).
 */
int open_regular_in(int root, const char *path, struct stat *st);

/* Reads exactly `size` bytes at `offset`: 0, -EIO at the file's end, or -errno. */
int read_exactly(int fd, void *buffer, size_t size, uint64_t offset);

/* Writes exactly `size` bytes at the current position: 0 or -errno. */
int write_exactly(int fd, const void *data, size_t size);

/*
 * Reads from the current position to the end, but at most `limit` bytes, into a malloc'd buffer
 * followed by a NUL that `*size` does not include; works on /proc files, which have no size. The
 * caller frees it.
 */
int read_to_end(int fd, size_t limit, char **buffer, size_t *size);

#endif
