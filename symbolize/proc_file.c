/* SPDX-License-Identifier: MIT */
#include "symbolize/proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolize/file_io.h"

struct read_job {
	struct bounded_job job;
	char path[64];
	size_t limit;
	/* results */
	int err;
	char *text;
	size_t size;
};

static void run_read(struct bounded_job *opaque)
{
	struct read_job *job = (struct read_job *)opaque;
	int fd = open(job->path, O_RDONLY | O_CLOEXEC);

	job->err = fd < 0 ? -errno : read_to_end(fd, job->limit, &job->text, &job->size);
	if (fd >= 0)
		close(fd);
}

static void discard_read(struct bounded_job *opaque)
{
	free(((struct read_job *)opaque)->text);
}

int proc_file_read(struct bounded_caller *calls, pid_t pid, const char *name, size_t limit,
		   char **text, size_t *size)
{
	struct read_job *job = bounded_job_new(sizeof(*job), run_read, discard_read);
	int err = 0;

	if (!job)
		return -ENOMEM;
	job->job.place = BOUNDED_PLACE_PROCESS | (uint32_t)pid;
	job->limit = limit;
	snprintf(job->path, sizeof(job->path), "/proc/%d/%s", (int)pid, name);
	if (calls)
		err = bounded_call(calls, &job->job, BOUNDED_CALL_OPEN_MS);
	else
		run_read(&job->job);
	if (err)
		return err;
	err = job->err;
	*text = job->text;
	*size = job->size;
	free(job);
	return err;
}

pid_t proc_pid_inside(pid_t pid)
{
	char *text, *at, *end;
	pid_t inside = 0;
	size_t size;

	if (proc_file_read(NULL, pid, "status", 65536, &text, &size) != 0)
		return 0;
	at = strstr(text, "\nNSpid:");
	if (at) {
		at += strlen("\nNSpid:");
		at[strcspn(at, "\n")] = '\0';
		for (;; at = end) {
			long value = strtol(at, &end, 10);

			if (end == at)
				break;
			inside = (pid_t)value;
		}
	}
	free(text);
	return inside;
}
