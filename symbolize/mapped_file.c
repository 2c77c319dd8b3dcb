/* SPDX-License-Identifier: MIT */
#include "symbolize/mapped_file.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolize/elf_file.h"
#include "symbolize/util/file_io.h"

struct mapped_file mapped_file_of(pid_t pid, const struct code_mapping *mapping)
{
	return (struct mapped_file){.pid = pid,
				    .start = mapping->start,
				    .end = mapping->end,
				    .device =
					    (uint64_t)mapping->dev_major << 32 | mapping->dev_minor,
				    .inode = mapping->inode,
				    .build_id = mapping->build_id,
				    .path = mapping->path};
}

struct open_job {
	struct bounded_job job;
	struct mapped_file mapped; /* texts are copied below */
	bool asks_process; /* may ask the process for its mappings, which may block, as may the
			      device */
	struct opened_file file;
	char build_id[BUILD_ID_TEXT]; /* "": not known */
	char path[];
};

static bool has_build_id(int fd, const char *expected)
{
	char text[BUILD_ID_TEXT] = "";
	struct elf_file file;

	if (elf_file_open(&file, fd) != 0)
		return false;
	elf_file_build_id(&file, text);
	elf_file_close(&file);
	return strcmp(text, expected) == 0;
}

/* Returns whether the open file is the mapped one. */
static bool is_same(const struct open_job *job)
{
	if (job->build_id[0])
		return has_build_id(job->file.fd, job->build_id);
	return !job->mapped.inode || job->file.st.st_ino == job->mapped.inode;
}

/* Opens the file at this path if it is the mapped one. */
__attribute__((format(printf, 2, 3))) static void try_path(struct open_job *job, const char *format,
							   ...)
{
	struct opened_file *file = &job->file;
	char path[PATH_MAX + 64];
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	if (length < 0 || length >= (int)sizeof(path)) {
		file->fd = -ENAMETOOLONG;
		return;
	}
	file->fd = open_regular(path, SYMLINK_FOLLOW, &file->st);
	if (file->fd >= 0 && !is_same(job)) {
		close(file->fd);
		file->fd = -ESTALE;
	}
	if (file->fd == -EACCES || file->fd == -EPERM)
		file->was_denied = true;
}

/* Tries the path in the root folder of the process, then in ours. */
static void try_paths(struct open_job *job, const char *suffix)
{
	if (job->mapped.pid > 0)
		try_path(job, "/proc/%d/root%s%s", (int)job->mapped.pid, job->path, suffix);
	if (job->file.fd < 0)
		try_path(job, "%s%s", job->path, suffix);
}

/* Tries the executable of the process, also a deleted one. */
static void try_executable(struct open_job *job)
{
	char path[64], target[PATH_MAX + sizeof(MAPPED_FILE_DELETED)];
	size_t length = strlen(job->path);
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)job->mapped.pid);
	got = readlink(path, target, sizeof(target) - 1);
	if (got < 0)
		return;
	target[got] = '\0';
	if (strncmp(target, job->path, length) == 0 &&
	    (target[length] == '\0' || strcmp(target + length, MAPPED_FILE_DELETED) == 0))
		try_path(job, "%s", path);
}

/* Tries the mapping: works for deleted files and for files in other mount namespaces. */
static void try_mapping(struct open_job *job)
{
	try_path(job, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)job->mapped.pid,
		 job->mapped.start, job->mapped.end);
	job->file.was_denied = false; /* optional privilege */
}

/* Runs one of these attempts. The process may block meanwhile, so it is the place of the job. */
static void ask_process(struct open_job *job, void (*ask)(struct open_job *job))
{
	if (job->file.fd >= 0 || !job->asks_process)
		return;
	job->job.place = BOUNDED_PLACE_PROCESS | (uint32_t)job->mapped.pid;
	ask(job);
	job->job.place = job->mapped.device;
}

static void try_process(struct open_job *job)
{
	if (job->mapped.end > 0)
		ask_process(job, try_mapping);
	if (job->file.fd < 0)
		try_paths(job, "");
	ask_process(job, try_executable);
	if (job->file.fd < 0 && job->mapped.was_deleted)
		try_paths(job, MAPPED_FILE_DELETED);
}

static void run_open(struct bounded_job *opaque)
{
	struct open_job *job = (struct open_job *)opaque;
	struct opened_file *file = &job->file;
	char magic[SELFMAG];

	try_process(job);
	if (file->fd >= 0)
		file->is_elf = read_exactly(file->fd, magic, sizeof(magic), 0) == 0 &&
			       memcmp(magic, ELFMAG, SELFMAG) == 0;
}

static void discard_open(struct bounded_job *opaque)
{
	struct open_job *job = (struct open_job *)opaque;

	if (job->file.fd >= 0)
		close(job->file.fd);
}

void mapped_file_open(struct bounded_caller *calls, const struct mapped_file *mapped,
		      struct opened_file *file)
{
	size_t length = strlen(mapped->path);
	struct open_job *job = bounded_job_new(sizeof(*job) + length + 1, run_open, discard_open);
	int err;

	*file = (struct opened_file){.fd = -ENOMEM};
	if (!job)
		return;
	memcpy(job->path, mapped->path, length);
	if (mapped->build_id)
		snprintf(job->build_id, sizeof(job->build_id), "%s", mapped->build_id);
	job->job.place = mapped->device;
	job->asks_process = mapped->pid > 0 &&
			    !bounded_is_stuck(calls, BOUNDED_PLACE_PROCESS | (uint32_t)mapped->pid);
	job->mapped = *mapped;
	job->file.fd = -ENOENT;
	err = bounded_call(calls, &job->job, BOUNDED_CALL_OPEN_MS);
	if (err) {
		file->fd = err;
		return;
	}
	*file = job->file;
	free(job);
}
