/* SPDX-License-Identifier: MIT */
#include "symbolize/process_debug.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolize/debug_file.h"

struct find_job {
	struct bounded_job job; /* has a descriptor of the program */
	pid_t pid;
	int found; /* descriptor of the debug file, or -errno */
	char path[];
};

/* Reads a link. Returns false if the kernel does not show the link. */
static bool read_link(const char *path, char *text, size_t size)
{
	ssize_t length = readlink(path, text, size - 1);

	if (length < 0)
		return false;
	text[length] = '\0';
	return true;
}

/*
 * Returns whether names mean something else to the process. Reads links of /proc, which never
 * block.
 */
static bool has_own_root(pid_t pid)
{
	char path[64], theirs[PATH_MAX], ours[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	if (read_link(path, theirs, sizeof(theirs)) &&
	    read_link("/proc/self/ns/mnt", ours, sizeof(ours)) && strcmp(theirs, ours) != 0)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	return read_link(path, theirs, sizeof(theirs)) && strcmp(theirs, "/") != 0;
}

static void run_find(struct bounded_job *opaque)
{
	struct find_job *job = (struct find_job *)opaque;
	struct debug_file_search search = {.path = job->path, .root = DEBUG_FILE_ROOT};
	struct elf_file program;
	char path[64];
	int root;

	snprintf(path, sizeof(path), "/proc/%d/root", (int)job->pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0) {
		job->found = -errno;
		return;
	}
	job->found = elf_file_open(&program, job->job.fd);
	if (job->found == 0) {
		job->found = debug_file_find_in(root, &program, &search);
		elf_file_close(&program);
	}
	close(root);
}

static void discard_find(struct bounded_job *opaque)
{
	struct find_job *job = (struct find_job *)opaque;

	if (job->found >= 0)
		close(job->found);
}

int process_debug_open(struct bounded_caller *calls, pid_t pid, int fd, const char *path)
{
	size_t length = strlen(path);
	struct find_job *job;
	int err, own;

	if (pid <= 0 || !has_own_root(pid))
		return -ENOENT;
	own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (own < 0)
		return -errno;
	job = bounded_job_new(sizeof(*job) + length + 1, run_find, discard_find);
	if (!job) {
		close(own);
		return -ENOMEM;
	}
	memcpy(job->path, path, length);
	job->pid = pid;
	job->found = -ENOENT;
	job->job.fd = own;
	job->job.place = BOUNDED_PLACE_PROCESS | (uint32_t)pid;
	err = bounded_call(calls, &job->job, BOUNDED_CALL_OPEN_MS);
	if (err != -ETIMEDOUT)
		bounded_close(calls, own);
	if (err)
		return err;
	err = job->found;
	free(job);
	return err;
}
