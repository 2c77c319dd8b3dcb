/* SPDX-License-Identifier: MIT */
#include "symbolize/safe_open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FIRST_BUFFER 65536

int open_regular(const char *path, enum symlink_rule rule, struct stat *st)
{
	int nofollow = rule == SYMLINK_REFUSE ? O_NOFOLLOW : 0;
	int handle, fd = -1, err = 0;
	char self[64];

	handle = open(path, O_PATH | O_CLOEXEC | nofollow);
	if (handle < 0)
		return -errno;
	if (fstat(handle, st) != 0) {
		err = -errno;
		goto out;
	}
	if (!S_ISREG(st->st_mode)) {
		err = S_ISLNK(st->st_mode) ? -ELOOP : -EINVAL;
		goto out;
	}
	snprintf(self, sizeof(self), "/proc/self/fd/%d", handle);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		err = -errno;
out:
	close(handle);
	return err ? err : fd;
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

int read_to_end(int fd, size_t limit, char **buffer, size_t *size)
{
	size_t capacity = FIRST_BUFFER, used = 0;
	char *text = malloc(capacity);
	int err = -ENOMEM;

	while (text) {
		ssize_t got = read(fd, text + used, capacity - used - 1);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			err = -errno;
			break;
		}
		if (got == 0) {
			text[used] = '\0';
			*buffer = text;
			*size = used;
			return 0;
		}
		used += (size_t)got;
		if (used > limit) {
			err = -EFBIG;
			break;
		}
		if (capacity - used < FIRST_BUFFER / 4) {
			char *bigger = realloc(text, capacity * 2);

			if (!bigger)
				break;
			text = bigger;
			capacity *= 2;
		}
	}
	free(text);
	return err;
}
