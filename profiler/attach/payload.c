// SPDX-License-Identifier: MIT
#include "profiler/attach/payload.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cupti_trace/wire/gpu_wire.h"
#include "symbolize/util/file_io.h"
#include "symbolize/util/guarded_path.h"
#include "symbolize/util/text.h"

#define LIBRARY_NAME PAYLOAD_LIBRARY_NAME
#define PIPE_NAME "gpu.pipe"
#define LOCK_NAME "lock"
#define NEW_WINDOW_NAME GPU_WIRE_TIME_RANGE_LINK ".new"
#define FOLDER_PREFIX "profile-"
#define PIPE_BYTES (1 << 20)
#define CLEANING_MS 100
#define ACKNOWLEDGE_MS 1000

/* The injection library, included by payload_blob.S in .rodata. */
extern const unsigned char payload_blob[];
extern const unsigned char payload_blob_end[];

const unsigned char *payload_library(size_t *size)
{
	*size = (size_t)(payload_blob_end - payload_blob);
	return payload_blob;
}

/* Returns 0, -EACCES if code cannot be mapped (a noexec mount), or another -errno. */
static int check_executable(int folder)
{
	int fd = openat(folder, LIBRARY_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	void *map;

	if (fd < 0)
		return -errno;
	map = mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return -EACCES;
	munmap(map, 1);
	return 0;
}

static int write_library(int folder)
{
	int fd = openat(folder, LIBRARY_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0500);
	int err;

	if (fd < 0)
		return -errno;
	err = write_exactly(fd, payload_blob, (size_t)(payload_blob_end - payload_blob));
	close(fd);
	return err ? err : check_executable(folder);
}

static int make_pipe(struct payload *payload)
{
	if (mkfifoat(payload->folder, PIPE_NAME, 0600) != 0)
		return -errno;
	payload->pipe =
		openat(payload->folder, PIPE_NAME, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	if (payload->pipe < 0)
		return -errno;
	payload->pipe_writer =
		openat(payload->folder, PIPE_NAME, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	if (payload->pipe_writer < 0)
		return -errno;
	/* a larger pipe helps, but is not required */
	fcntl(payload->pipe, F_SETPIPE_SZ, PIPE_BYTES);
	return 0;
}

/* Locks the folder until our end, however we end. */
static int take_lock(struct payload *payload)
{
	payload->lock = openat(payload->folder, LOCK_NAME,
			       O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (payload->lock < 0)
		return -errno;
	return flock(payload->lock, LOCK_EX | LOCK_NB) == 0 ? 0 : -errno;
}

static bool is_our_file(const char *name)
{
	return strcmp(name, LIBRARY_NAME) == 0 || strcmp(name, PIPE_NAME) == 0 ||
	       strcmp(name, LOCK_NAME) == 0 || strcmp(name, GPU_WIRE_TIME_RANGE_LINK) == 0 ||
	       strcmp(name, NEW_WINDOW_NAME) == 0 || starts_with(name, GPU_WIRE_ACK_PREFIX);
}

/* Removes the files that we or our library made, and nothing else. Follows no link. */
static void remove_files(int folder)
{
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *listing = copy >= 0 ? fdopendir(copy) : NULL;
	struct dirent *entry;

	while (listing && (entry = readdir(listing)))
		if (is_our_file(entry->d_name))
			unlinkat(folder, entry->d_name, 0);
	if (listing)
		closedir(listing);
	else if (copy >= 0)
		close(copy);
}

/* Removes `name` in `parent` if it is one of our folders whose profiler is gone. */
static void remove_if_stale(int parent, const char *name)
{
	int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	int lock = -1;
	struct stat st;

	if (folder >= 0 && fstat(folder, &st) == 0 && st.st_uid == geteuid())
		lock = openat(folder, LOCK_NAME, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0) {
		remove_files(folder);
		unlinkat(parent, name, AT_REMOVEDIR);
	}
	if (lock >= 0)
		close(lock);
	if (folder >= 0)
		close(folder);
}

struct cleaning {
	struct bounded_job job;
	char path[PAYLOAD_PATH_MAX];
};

static void run_cleaning(struct bounded_job *job)
{
	const struct cleaning *cleaning = (const struct cleaning *)job;
	DIR *listing = opendir(cleaning->path);
	struct dirent *entry;

	while (listing && (entry = readdir(listing)))
		if (starts_with(entry->d_name, FOLDER_PREFIX))
			remove_if_stale(dirfd(listing), entry->d_name);
	if (listing)
		closedir(listing);
}

void payload_remove_stale(const struct payload *payload, struct bounded_caller *calls)
{
	struct cleaning *cleaning = bounded_job_new(sizeof(*cleaning), run_cleaning, NULL);

	if (!cleaning)
		return;
	snprintf(cleaning->path, sizeof(cleaning->path), "%s", payload->path);
	*strrchr(cleaning->path, '/') = '\0';
	if (bounded_call(calls, &cleaning->job, CLEANING_MS) == 0)
		free(cleaning);
}

/*
 * Checks that only we, root and the folder's owner can rename its entries: another user could
 * replace our library. Returns 0 or -errno.
 */
static int check_parent(const char *parent)
{
	struct stat st;

	if (stat(parent, &st) != 0)
		return -errno;
	if (st.st_uid != geteuid() && st.st_uid != 0 &&
	    !(guarded_is_unmapped(st.st_uid) && st.st_mode & S_ISVTX))
		return -EPERM;
	return st.st_mode & S_IWOTH && !(st.st_mode & S_ISVTX) ? -EPERM : 0;
}

/* Opens the folder that was made, unless it has been replaced. Returns a descriptor or -errno. */
static int open_own_folder(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 0777) == 0700)
		return fd;
	close(fd);
	return -EPERM;
}

static int try_place(struct payload *payload, const char *parent)
{
	int err = check_parent(parent), n;

	if (err)
		return err;
	n = snprintf(payload->path, sizeof(payload->path), "%s/" FOLDER_PREFIX "XXXXXX", parent);

	if (n < 0 || (size_t)n >= sizeof(payload->path))
		return -ENAMETOOLONG;
	if (!mkdtemp(payload->path)) {
		payload->path[0] = '\0';
		return -errno;
	}
	snprintf(payload->library, sizeof(payload->library), "%s/" LIBRARY_NAME, payload->path);
	snprintf(payload->pipe_path, sizeof(payload->pipe_path), "%s/" PIPE_NAME, payload->path);
	payload->folder = open_own_folder(payload->path);
	err = payload->folder < 0 ? payload->folder : take_lock(payload);
	if (!err)
		err = write_library(payload->folder);
	if (!err)
		err = make_pipe(payload);
	if (err)
		payload_remove(payload);
	return err;
}

void payload_init(struct payload *payload)
{
	payload->folder = payload->lock = payload->pipe = payload->pipe_writer = -1;
	payload->path[0] = '\0';
}

int payload_create(struct payload *payload)
{
	char run_user[64];
	const char *places[] = {getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm", run_user};
	int err = -ENOEXEC;

	memset(payload, 0, sizeof(*payload));
	payload_init(payload);
	snprintf(run_user, sizeof(run_user), "/run/user/%u", (unsigned int)geteuid());
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (!places[i] || places[i][0] != '/')
			continue;
		err = try_place(payload, places[i]);
		if (!err)
			return 0;
		append_text(payload->tried, sizeof(payload->tried), "%s%s (%s)",
			    payload->tried[0] ? ", " : "", places[i],
			    err == -EACCES  ? "no execution or no access"
			    : err == -EPERM ? "others may rename what is in it"
					    : strerror(-err));
	}
	return err;
}

void payload_close_writer(struct payload *payload)
{
	if (payload->pipe_writer >= 0)
		close(payload->pipe_writer);
	payload->pipe_writer = -1;
}

void payload_close_pipe(struct payload *payload)
{
	payload_close_writer(payload);
	if (payload->pipe >= 0)
		close(payload->pipe);
	payload->pipe = -1;
}

int payload_set_time_range(const struct payload *payload, const struct time_range *time_range)
{
	char text[GPU_WIRE_TIME_RANGE_BYTES];
	int used = snprintf(text, sizeof(text), GPU_WIRE_TIME_RANGE_FORMAT, time_range->from_ns,
			    time_range->to_ns);

	if (time_range->leave_ns)
		snprintf(text + used, sizeof(text) - (size_t)used, GPU_WIRE_TIME_RANGE_LEAVE,
			 time_range->leave_ns);
	unlinkat(payload->folder, NEW_WINDOW_NAME, 0); /* left by a failed call */
	if (symlinkat(text, payload->folder, NEW_WINDOW_NAME) != 0 ||
	    renameat(payload->folder, NEW_WINDOW_NAME, payload->folder, GPU_WIRE_TIME_RANGE_LINK) !=
		    0)
		return -errno;
	return 0;
}

struct acknowledgement {
	struct bounded_job job; /* `fd` is the folder */
	char name[64];
	int err;
};

static void run_acknowledgement(struct bounded_job *job)
{
	struct acknowledgement *a = (struct acknowledgement *)job;
	int fd = openat(job->fd, a->name, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd < 0) {
		a->err = errno == ENOENT || errno == ENXIO ? 0 : -errno;
		return;
	}
	if (fstat(fd, &st) != 0 || !S_ISFIFO(st.st_mode))
		a->err = -EINVAL;
	else if (write(fd, "", 1) != 1)
		a->err = -errno;
	close(fd);
}

int payload_acknowledge(const struct payload *payload, struct bounded_caller *calls,
			uint64_t instance)
{
	struct acknowledgement *a = bounded_job_new(sizeof(*a), run_acknowledgement, NULL);
	int err;

	if (!a)
		return -ENOMEM;
	snprintf(a->name, sizeof(a->name), GPU_WIRE_ACK_FORMAT, instance);
	a->job.fd = fcntl(payload->folder, F_DUPFD_CLOEXEC, 0);
	err = bounded_call(calls, &a->job, ACKNOWLEDGE_MS);
	if (err)
		return err;
	err = a->err;
	close(a->job.fd);
	free(a);
	return err;
}

uint64_t payload_count_left(const struct payload *payload)
{
	int count = 0;

	return ioctl(payload->pipe, FIONREAD, &count) == 0 && count > 0 ? (uint64_t)count : 0;
}

void payload_remove(struct payload *payload)
{
	payload_close_pipe(payload);
	if (payload->folder >= 0) {
		remove_files(payload->folder);
		close(payload->folder);
	}
	if (payload->path[0])
		rmdir(payload->path);
	if (payload->lock >= 0)
		close(payload->lock);
	payload_init(payload);
}

void payload_remove_path(const char *path)
{
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (folder < 0)
		return;
	remove_files(folder);
	close(folder);
	rmdir(path);
}
