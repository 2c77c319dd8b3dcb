// SPDX-License-Identifier: MIT
#include "profiler/formats/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "symbolize/util/file_io.h"
#include "symbolize/util/guarded_path.h"

#define TRIES 10                /* when others replace the file meanwhile */
#define STREAM_BYTES (1u << 20) /* large writes are far cheaper for the page cache */

/* ---- targets of paths ---- */

/*
 * Returns whether a file is stdout. Of devices only terminals count: /dev/null may be several
 * outputs.
 */
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

/* Returns whether the file is a mount point, which cannot be replaced. */
static bool is_mount_point(const struct output *output)
{
	struct statx st;

	return statx(output->folder, output->name, AT_SYMLINK_NOFOLLOW, 0, &st) == 0 &&
	       st.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

/* ---- the new file ---- */

/* Chooses a random name, which nobody can take in advance. Returns 0, or -errno. */
static int name_temporary(struct output *output)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	snprintf(output->temporary, sizeof(output->temporary), ".profile-%016" PRIx64, number);
	return 0;
}

static int create_named(struct output *output)
{
	int fd = name_temporary(output);

	if (fd == 0) {
		fd = openat(output->folder, output->temporary,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
		fd = fd < 0 ? -errno : fd;
	}
	if (fd < 0)
		output->temporary[0] = '\0';
	return fd;
}

/* Creates a file without a name, if the file system and /proc allow naming it later. */
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

/* Creates the new file with the old one's owner and rights. Returns 0, or -errno. */
static int create(struct output *output)
{
	const struct stat *old = &output->old;
	struct stat st;
	int fd;

	/* a deleted folder may take a file without a name, but no name for it */
	if (fstat(output->folder, &st) == 0 && st.st_nlink == 0)
		return -ENOENT;
	fd = create_unnamed(output);
	if (fd == -EOPNOTSUPP)
		fd = create_named(output);
	if (fd < 0)
		return fd;
	if (!output->is_new && (fstat(fd, &st) != 0 ||
				((st.st_uid != old->st_uid || st.st_gid != old->st_gid) &&
				 fchown(fd, old->st_uid, old->st_gid) != 0) ||
				fchmod(fd, old->st_mode & 0777) != 0)) {
		remove_temporary(output);
		close(fd);
		return -EPERM;
	}
	output->fd = fd;
	return 0;
}

/* Tries before the run whether the file can be created. A file with a name is removed again. */
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
		err = name_temporary(output);
		if (!err)
			err = give_name(output, output->temporary);
		if (err)
			output->temporary[0] = '\0';
	}
	if (!err && renameat(output->folder, output->temporary, output->folder, output->name))
		err = -errno;
	if (err)
		remove_temporary(output);
	output->temporary[0] = '\0'; /* renamed, or removed */
	return err;
}

/* ---- opening ---- */

/* Replaces output->fd, an old regular file, by a new file beside it, if that can be created. */
static void plan_to_replace(struct output *output)
{
	int old = output->fd;

	if (!is_mount_point(output)) {
		output->fd = -1;
		if (try_to_create(output) == 0) {
			close(old);
			return;
		}
		output->fd = old;
	}
	close(output->folder);
	output->folder = -1;
}

/* Moves the folder and the name from `g` to the output. */
static void take_folder(struct output *output, struct guarded_path *g)
{
	snprintf(output->name, sizeof(output->name), "%s", g->name);
	output->folder = g->folder;
	g->folder = -1;
}

static int open_existing(struct output *output, struct guarded_path *g)
{
	/* O_NONBLOCK: opening a FIFO must not wait for a reader */
	output->fd = guarded_open_found(g, O_WRONLY | O_NONBLOCK | O_NOCTTY);
	if (output->fd == -ENXIO && S_ISFIFO(g->st.st_mode))
		return -EAGAIN;
	if (output->fd < 0)
		return output->fd;
	if (fcntl(output->fd, F_SETFL, 0) != 0 || fstat(output->fd, &output->old) != 0)
		return -errno;
	if (S_ISREG(output->old.st_mode) && !g->is_handed) {
		take_folder(output, g);
		plan_to_replace(output);
	}
	return 0;
}

static int open_new(struct output *output, struct guarded_path *g)
{
	output->is_new = true;
	take_folder(output, g);
	return try_to_create(output);
}

static int open_path(struct output *output, const char *path)
{
	struct guarded_path g;
	int err = guarded_find(&g, path, 0);

	if (!err && g.found < 0)
		err = open_new(output, &g);
	else if (!err)
		err = leads_to_stdout(&g.st) ? open_stdout(output) : open_existing(output, &g);
	guarded_release(&g);
	return err;
}

int output_open(struct output *output, const char *path)
{
	int err = -ESTALE;

	/* another process may replace the file meanwhile */
	for (int i = 0; err == -ESTALE && i < TRIES; i++) {
		memset(output, 0, sizeof(*output));
		output->fd = output->folder = -1;
		err = strcmp(path, "-") == 0 ? open_stdout(output) : open_path(output, path);
		if (err)
			output_cancel(output);
	}
	return err;
}

/* ---- writing ---- */

/* Writes like write(2), for fopencookie(3). Keeps the error, which a stream would forget. */
static ssize_t write_stream(void *opaque, const char *data, size_t size)
{
	struct output *output = opaque;

	if (!output->error)
		output->error = write_exactly(output->fd, data, size);
	return output->error ? 0 : (ssize_t)size;
}

/* Returns whether a regular file is overwritten in place. */
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
	if (stream) /* if it fails, the C library's buffer of 4 KiB does */
		setvbuf(stream, NULL, _IOFBF, STREAM_BYTES);
	return stream;
}

/* Frees the room of what was written, to begin again. Returns false if that is impossible. */
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
		err = output->error ? output->error : -EIO; /* the cause of the writer's error */
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
