/* SPDX-License-Identifier: MIT */
#include "symbolize/util/proc_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolize/util/file_io.h"

struct read_job {
	struct bounded_job job;
	pid_t pid;
	char name[32];
	size_t limit;
	/* results */
	int err;
	char *text;
	size_t size;
};

static void read_path(struct read_job *job, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	job->err = fd < 0 ? -errno : read_to_end(fd, job->limit, &job->text, &job->size);
	if (fd >= 0)
		close(fd);
}

/* Returns whether the thread has ended: kernel versions show this in two ways. */
static bool has_no_memory(const struct read_job *job)
{
	return job->err ? job->err == -ESRCH : job->size == 0;
}

/* Reads the file of the first other thread that has memory. Keeps the result if there is none. */
static void read_threads(struct read_job *job)
{
	struct read_job other = {.limit = job->limit, .err = -ESRCH};
	const struct dirent *entry;
	char path[96];
	DIR *list;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)job->pid);
	list = opendir(path);
	while (list && has_no_memory(&other) && (entry = readdir(list))) {
		unsigned long tid = strtoul(entry->d_name, NULL, 10);

		if (!tid || tid == (unsigned long)job->pid)
			continue;
		free(other.text);
		other.text = NULL;
		snprintf(path, sizeof(path), "/proc/%d/task/%lu/%s", (int)job->pid, tid, job->name);
		read_path(&other, path);
		if (other.err == -ENOENT) /* the thread has just ended */
			other.err = -ESRCH;
	}
	if (list)
		closedir(list);
	if (has_no_memory(&other)) {
		free(other.text);
		return;
	}
	free(job->text);
	job->err = other.err;
	job->text = other.text;
	job->size = other.size;
}

static void run_read(struct bounded_job *opaque)
{
	struct read_job *job = (struct read_job *)opaque;
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)job->pid, job->name);
	read_path(job, path);
	if (has_no_memory(job) && !strchr(job->name, '/'))
		read_threads(job);
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
	job->pid = pid;
	snprintf(job->name, sizeof(job->name), "%s", name);
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

/* Reads the innermost id of a status(5) file. */
static pid_t read_inside(pid_t pid, const char *file)
{
	char *text, *at, *end;
	pid_t inside = 0;
	size_t size;

	if (proc_file_read(NULL, pid, file, 65536, &text, &size) != 0)
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

pid_t proc_pid_inside(pid_t pid)
{
	return read_inside(pid, "status");
}

pid_t proc_tid_inside(pid_t pid, pid_t tid)
{
	char name[32];

	snprintf(name, sizeof(name), "task/%d/status", (int)tid);
	return read_inside(pid, name);
}

bool proc_thread_read(pid_t pid, pid_t tid, const char *file, char *text, size_t size)
{
	struct read_job job = {.limit = size - 1};
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid, file);
	read_path(&job, path);
	if (job.err)
		return false;
	memcpy(text, job.text, job.size + 1);
	free(job.text);
	return true;
}

char proc_thread_state(pid_t pid, pid_t tid)
{
	char text[512];
	const char *state;

	if (!proc_thread_read(pid, tid, "stat", text, sizeof(text)))
		return '\0';
	state = strrchr(text, ')');
	return state && state[1] ? state[2] : '\0';
}
