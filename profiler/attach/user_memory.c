/* SPDX-License-Identifier: MIT */
#include "profiler/attach/user_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "symbolize/util/bounded_call.h"
#include "symbolize/util/proc_file.h"

#define AUXV_BYTES 4096u

struct open_job {
	struct bounded_job job;
	pid_t pid;
	int fd; /* or -errno */
};

static void run_open(struct bounded_job *opaque)
{
	struct open_job *job = (struct open_job *)opaque;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)job->pid);
	job->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (job->fd < 0)
		job->fd = -errno;
}

static void discard_open(struct bounded_job *opaque)
{
	struct open_job *job = (struct open_job *)opaque;

	if (job->fd >= 0)
		close(job->fd);
}

/* Opens the memory on a short-lived thread with this thread's capabilities. */
static int open_memory(pid_t pid)
{
	struct bounded_caller *calls = bounded_caller_new(BOUNDED_CALL_OPEN_MS);
	struct open_job *job = bounded_job_new(sizeof(*job), run_open, discard_open);
	int fd = -ENOMEM;

	if (!calls || !job) {
		free(job);
		bounded_caller_free(calls);
		return fd;
	}
	bounded_caller_keep_capabilities(calls);
	job->pid = pid;
	job->fd = -EIO;
	job->job.place = BOUNDED_PLACE_PROCESS | (uint32_t)pid;
	fd = bounded_call(calls, &job->job, BOUNDED_CALL_OPEN_MS);
	if (fd == 0) {
		fd = job->fd;
		free(job);
	}
	bounded_caller_free(calls);
	return fd;
}

/* Returns true if the user passes PTRACE_MODE_READ_FSCREDS, which Yama does not restrict. */
static bool may_look(struct bounded_caller *calls, pid_t pid)
{
	char *text = NULL;
	size_t size = 0;
	bool may = proc_file_read(calls, pid, "auxv", AUXV_BYTES, &text, &size) == 0 && size > 0;

	free(text);
	return may;
}

int user_memory_open(void *calls, pid_t pid)
{
	int fd = may_look(calls, pid) ? open_memory(pid) : -EACCES;

	if (fd >= 0 && !may_look(calls, pid)) {
		close(fd);
		fd = -EACCES;
	}
	return fd;
}
