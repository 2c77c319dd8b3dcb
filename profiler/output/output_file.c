// SPDX-License-Identifier: MIT
#include "profiler/output/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_path(struct output *output)
{
	/* no O_TRUNC: the old contents stay until there is something to replace them */
	const int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY;

	output->fd = open(output->path, flags | O_CREAT | O_EXCL, 0666);
	output->created = output->fd >= 0;
	if (output->fd < 0 && errno == EEXIST)
		output->fd = open(output->path, flags);
	return output->fd < 0 ? -errno : 0;
}

int output_open(struct output *output, const char *path, const struct identity *identity)
{
	struct stat st;
	int err;

	memset(output, 0, sizeof(*output));
	output->path = path;
	if (strcmp(path, "-") == 0) {
		output->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		return output->fd < 0 ? -errno : 0;
	}
	identity_enter_files(identity);
	err = open_path(output);
	identity_leave_files(identity);
	if (identity->other && (err == -EACCES || err == -EPERM)) {
		err = open_path(output);
		if (!err && output->created && fchown(output->fd, identity->uid, identity->gid))
			err = -errno;
	}
	if (!err && fstat(output->fd, &st) == 0 && S_ISDIR(st.st_mode))
		err = -EISDIR;
	if (err)
		output_cancel(output);
	return err;
}

FILE *output_begin(struct output *output)
{
	struct stat st;

	if (fstat(output->fd, &st) == 0 && S_ISREG(st.st_mode) && strcmp(output->path, "-") != 0 &&
	    ftruncate(output->fd, 0) != 0)
		return NULL;
	return fdopen(output->fd, "w");
}

int output_end(struct output *output, FILE *stream)
{
	int err = 0;

	errno = 0;
	if (fflush(stream) != 0 || ferror(stream))
		err = errno ? -errno : -EIO;
	if (fclose(stream) != 0 && !err)
		err = -errno;
	output->fd = -1;
	return err;
}

void output_cancel(struct output *output)
{
	if (output->fd >= 0)
		close(output->fd);
	output->fd = -1;
	if (output->created)
		unlink(output->path);
	output->created = false;
}
