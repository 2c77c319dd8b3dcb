/* SPDX-License-Identifier: MIT */
#include "symbolize/util/file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FIRST_BUFFER 65536

/*
 * Opens the file that the O_PATH descriptor `found` names, and closes `found`. Returns a descriptor
 * or -errno.
 */
static int open_found(int found, struct stat *st)
{
	char self[64];
	int fd;

	if (found < 0)
		return -errno;
	if (fstat(found, st) != 0) {
		fd = -errno;
	} else if (S_ISREG(st->st_mode)) {
		snprintf(self, sizeof(self), "/proc/self/fd/%d", found);
		fd = open(self, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		fd = fd < 0 ? -errno : fd;
	} else {
		fd = S_ISLNK(st->st_mode) ? -ELOOP : -EINVAL;
	}
	close(found);
	return fd;
}

int open_regular(const char *path, enum symlink_rule rule, struct stat *st)
{
	int nofollow = rule == SYMLINK_REFUSE ? O_NOFOLLOW : 0;

	return open_found(open(path, O_PATH | O_CLOEXEC | nofollow), st);
}

int open_regular_in(int root, const char *path, struct stat *st)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};

	return open_found((int)syscall(SYS_openat2, root, path, &how, sizeof(how)), st);
}

int read_exactly(int fd, void *buffer, size_t size, uint64_t offset)
{
	char *at = buffer;

	while (size > 0) {
		ssize_t got;

		if (offset > INT64_MAX)
			return -EIO;
		got = pread(fd, at, size, (off_t)offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return -EIO;
		at += got;
		offset += (uint64_t)got;
		size -= (size_t)got;
	}
	return 0;
}

int write_exactly(int fd, const void *data, size_t size)
{
	const char *at = data;

	while (size > 0) {
		ssize_t n = write(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

int read_to_end(int fd, size_t limit, char **buffer, size_t *size)
{
	size_t capacity = limit < FIRST_BUFFER ? limit : FIRST_BUFFER, used = 0;
	char *text = malloc(capacity + 1), *bigger;
	int err = -ENOMEM;

	while (text) {
		ssize_t got = read(fd, text + used, capacity - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			err = -errno;
			break;
		}
		used += (size_t)got;
		if (got == 0 || used == limit) {
			text[used] = '\0';
			*buffer = text;
			*size = used;
			return 0;
		}
		if (used < capacity)
			continue;
		capacity = capacity < limit / 2 ? 2 * capacity : limit;
		bigger = realloc(text, capacity + 1);
		if (!bigger)
			break;
		text = bigger;
	}
	free(text);
	return err;
}
