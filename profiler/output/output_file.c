// SPDX-License-Identifier: MIT
#include "profiler/output/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include "symbolize/file_io.h"

#define STREAM_BYTES (1u << 20) /* large writes are far cheaper in page caches */

#define MAX_LINKS 40 /* as many as the kernel follows */
#define MAX_NAMES 100

/* ---- what a path leads to ---- */

/* Of devices only terminals count: several may write to /dev/null. */
static bool leads_to_stdout(const struct stat *st)
{
	struct stat ours;

	return fstat(STDOUT_FILENO, &ours) == 0 && ours.st_dev == st->st_dev &&
	       ours.st_ino == st->st_ino && (!S_ISCHR(ours.st_mode) || isatty(STDOUT_FILENO));
}

static int open_stdout(struct output *output)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFL);

	output->is_stdout = true;
	if (flags < 0 || flags & O_PATH || (flags & O_ACCMODE) == O_RDONLY)
		return -EBADF;
	output->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	return output->fd < 0 ? -errno : 0;
}

/*
 * As fs.protected_symlinks asks of the kernel: in a folder where everybody may make files, a link
 * is followed if it is ours or the folder's owner's.
 */
static bool may_follow(const struct stat *link, const char *folder)
{
	struct stat st;

	return link->st_uid == geteuid() ||
	       (stat(*folder ? folder : ".", &st) == 0 &&
		((st.st_mode & (S_ISVTX | S_IWOTH)) != (S_ISVTX | S_IWOTH) ||
		 link->st_uid == st.st_uid));
}

/* The target of the link at `path`, in `folder`. Its length, 0 if there is no link, or -errno. */
static ssize_t read_link(const char *path, const char *folder, char target[PATH_MAX])
{
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	ssize_t n = 0;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) == 0 && S_ISLNK(st.st_mode)) {
		/* of what was looked at, whatever takes its place meanwhile */
		n = readlinkat(fd, "", target, PATH_MAX - 1);
		if (n < 0 || !may_follow(&st, folder))
			n = -EACCES;
	}
	close(fd);
	return n;
}

/* Where the links at `path` end, though nothing is there. */
static int follow_links(const char *path, char *end, size_t size)
{
	char target[PATH_MAX], folder[PATH_MAX];

	if ((size_t)snprintf(end, size, "%s", path) >= size)
		return -ENAMETOOLONG;
	for (int i = 0; i < MAX_LINKS; i++) {
		const char *slash = strrchr(end, '/');
		int length = slash ? (int)(slash - end) + 1 : 0;
		ssize_t n;

		snprintf(folder, sizeof(folder), "%.*s", length, end);
		n = read_link(end, folder, target);
		if (n <= 0)
			return (int)n;
		target[n] = '\0';
		if (target[0] == '/')
			folder[0] = '\0';
		if ((size_t)snprintf(end, size, "%s%s", folder, target) >= size)
			return -ENAMETOOLONG;
	}
	return -ELOOP;
}

/* Opens the folder of `path`, which ends in the file's name, and notes the name. */
static int open_folder(struct output *output, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	char folder[PATH_MAX];

	if (!name[0])
		return slash ? -EISDIR : -ENOENT;
	if ((size_t)snprintf(output->name, sizeof(output->name), "%s", name) >=
	    sizeof(output->name))
		return -ENAMETOOLONG;
	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) + 1 : 2,
		 slash ? path : "./");
	output->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return output->folder < 0 ? -errno : 0;
}

/* A file mounted by itself cannot be replaced. */
static bool is_mount_point(const struct output *output)
{
	struct statx st;

	return statx(output->folder, output->name, AT_SYMLINK_NOFOLLOW, 0, &st) == 0 &&
	       st.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

/* ---- the file that takes its place ---- */

static void number_temporary(struct output *output, int i)
{
	snprintf(output->temporary, sizeof(output->temporary), ".profile-%d-%d", (int)getpid(), i);
}

static int create_named(struct output *output)
{
	int fd = -1;

	for (int i = 0; fd < 0 && i < MAX_NAMES; i++) {
		number_temporary(output, i);
		fd = openat(output->folder, output->temporary,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0) {
		output->temporary[0] = '\0';
		return -errno;
	}
	return fd;
}

/* Without a name, if this file system and /proc allow to give it one later. */
static int create_unnamed(struct output *output)
{
	int fd = openat(output->folder, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
	char path[64];

	if (fd < 0)
		return errno == EISDIR || errno == ENOENT ? -EOPNOTSUPP : -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (access(path, F_OK) == 0)
		return fd;
	close(fd);
	return -EOPNOTSUPP;
}

static void remove_temporary(struct output *output)
{
	if (output->temporary[0])
		unlinkat(output->folder, output->temporary, 0);
	output->temporary[0] = '\0';
}

/* With the old file's owner and mode. 0 or -errno. */
static int create(struct output *output)
{
	const struct stat *old = &output->old;
	struct stat st;
	int fd = create_unnamed(output);

	if (fd == -EOPNOTSUPP)
		fd = create_named(output);
	if (fd < 0)
		return fd;
	if (!output->is_new && (fstat(fd, &st) != 0 ||
				((st.st_uid != old->st_uid || st.st_gid != old->st_gid) &&
				 fchown(fd, old->st_uid, old->st_gid) != 0) ||
				fchmod(fd, old->st_mode & 07777) != 0)) {
		remove_temporary(output);
		close(fd);
		return -EPERM;
	}
	output->fd = fd;
	return 0;
}

/* Found out before the run: one with a name does not stay as long as that. */
static int try_to_create(struct output *output)
{
	int err = create(output);

	if (!err && output->temporary[0]) {
		remove_temporary(output);
		close(output->fd);
		output->fd = -1;
	}
	return err;
}

static int give_name(struct output *output, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", output->fd);
	return linkat(AT_FDCWD, path, output->folder, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : -errno;
}

static int put_in_place(struct output *output)
{
	int err = 0;

	if (!output->temporary[0]) {
		err = output->is_new ? give_name(output, output->name) : -EEXIST;
		if (err != -EEXIST)
			return err;
		/* a name cannot be linked over another, only renamed */
		for (int i = 0; err == -EEXIST && i < MAX_NAMES; i++) {
			number_temporary(output, i);
			err = give_name(output, output->temporary);
		}
	}
	if (!err && renameat(output->folder, output->temporary, output->folder, output->name))
		err = -errno;
	if (err)
		remove_temporary(output);
	output->temporary[0] = '\0'; /* it is the file's now */
	return err;
}

/* ---- opening ---- */

/* `output->fd` is a regular file: from now on its successor is, if there can be one. */
static void plan_to_replace(struct output *output)
{
	char self[64], path[PATH_MAX];
	int old = output->fd;
	struct stat st;
	ssize_t n;

	/* what has been opened, whatever the path leads to by now */
	snprintf(self, sizeof(self), "/proc/self/fd/%d", old);
	n = readlink(self, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	if (open_folder(output, path) == 0 &&
	    fstatat(output->folder, output->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_dev == output->old.st_dev && st.st_ino == output->old.st_ino &&
	    !is_mount_point(output)) {
		output->fd = -1;
		if (try_to_create(output) == 0) {
			close(old);
			return;
		}
		output->fd = old;
	}
	if (output->folder >= 0)
		close(output->folder);
	output->folder = -1;
}

static int open_existing(struct output *output, const char *path)
{
	output->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (output->fd < 0 || fstat(output->fd, &output->old) != 0)
		return -errno;
	if (S_ISREG(output->old.st_mode))
		plan_to_replace(output);
	return 0;
}

static int open_new(struct output *output, const char *path)
{
	char end[PATH_MAX];
	int err = follow_links(path, end, sizeof(end));

	output->is_new = true;
	if (!err)
		err = open_folder(output, end);
	return err ? err : try_to_create(output);
}

int output_open(struct output *output, const char *path)
{
	struct stat st;
	int err;

	memset(output, 0, sizeof(*output));
	output->fd = output->folder = -1;
	if (strcmp(path, "-") == 0)
		err = open_stdout(output);
	else if (stat(path, &st) != 0)
		err = errno == ENOENT ? open_new(output, path) : -errno;
	else if (leads_to_stdout(&st))
		err = open_stdout(output);
	else
		err = open_existing(output, path);
	if (err)
		output_cancel(output);
	return err;
}

/* ---- writing ---- */

/* As write(2) for a stream, which would forget why it failed. */
static ssize_t write_stream(void *opaque, const char *data, size_t size)
{
	struct output *output = opaque;

	if (!output->error)
		output->error = write_exactly(output->fd, data, size);
	return output->error ? 0 : (ssize_t)size;
}

/* A file that no other replaces. */
static bool is_written_itself(const struct output *output)
{
	return output->folder < 0 && !output->is_stdout && S_ISREG(output->old.st_mode);
}

FILE *output_begin(struct output *output)
{
	cookie_io_functions_t functions = {.write = write_stream};
	int err = output->fd < 0 ? create(output) : 0;
	FILE *stream;

	if (!err && is_written_itself(output) &&
	    (ftruncate(output->fd, 0) != 0 || lseek(output->fd, 0, SEEK_SET) != 0))
		err = -errno;
	errno = -err;
	stream = err ? NULL : fopencookie(output, "w", functions);
	if (stream) /* without memory for it the C library's 4 KiB do */
		setvbuf(stream, NULL, _IOFBF, STREAM_BYTES);
	return stream;
}

/* What has been written takes no room any more. False: it cannot be undone. */
static bool begin_again(struct output *output)
{
	if (output->folder < 0)
		return is_written_itself(output) && ftruncate(output->fd, 0) == 0;
	remove_temporary(output);
	close(output->fd);
	output->fd = -1;
	return true;
}

int output_end(struct output *output, FILE *stream, int err)
{
	if (fflush(stream) != 0 || ferror(stream))
		err = output->error ? output->error : -EIO; /* it is why the writer failed */
	fclose(stream);
	output->error = 0;
	if (output_lacks_room(err) && begin_again(output))
		return err;
	if (!err && output->folder >= 0)
		err = put_in_place(output);
	if (close(output->fd) != 0 && !err)
		err = -errno;
	output->fd = -1;
	output_cancel(output);
	return err;
}

void output_cancel(struct output *output)
{
	if (output->fd >= 0)
		close(output->fd);
	if (output->folder >= 0) {
		remove_temporary(output);
		close(output->folder);
	}
	output->fd = output->folder = -1;
}
