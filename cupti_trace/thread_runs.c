// SPDX-License-Identifier: MIT
#include "cupti_trace/thread_runs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cupti_trace/guest.h"

static int open_of(uint32_t tid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%u/%s", tid, name);
	return guest_open(path, O_RDONLY | O_NONBLOCK);
}

/* The state is behind the name, which is in parentheses and may have some in it (proc_pid_stat(5)).
 */
static bool is_asleep(uint32_t tid)
{
	int fd = open_of(tid, "stat");
	char text[128];
	const char *end;
	ssize_t size;

	if (fd < 0)
		return false;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (size <= 0)
		return false;
	text[size] = '\0';
	end = strrchr(text, ')');
	return end && (strncmp(end, ") S", 3) == 0 || strncmp(end, ") D", 3) == 0);
}

static bool is_own(const struct thread_runs *runs)
{
	struct stat st;

	return runs->fd >= 0 && fstat(runs->fd, &st) == 0 && st.st_dev == runs->device &&
	       st.st_ino == runs->inode;
}

void thread_runs_close(struct thread_runs *runs)
{
	int saved_errno = errno;

	if (is_own(runs))
		close(runs->fd);
	*runs = (struct thread_runs)THREAD_RUNS_NONE;
	errno = saved_errno;
}

static bool open_file(struct thread_runs *runs, uint32_t tid)
{
	struct stat st;

	thread_runs_close(runs);
	runs->fd = open_of(tid, "schedstat");
	if (runs->fd < 0 || fstat(runs->fd, &st) != 0) {
		runs->fd = -1;
		return false;
	}
	runs->tid = tid;
	runs->device = st.st_dev;
	runs->inode = st.st_ino;
	return true;
}

bool thread_runs_note(struct thread_runs *runs, uint32_t tid)
{
	unsigned long long count = 0;
	ssize_t size;

	runs->length = 0;
	if (!tid || ((runs->tid != tid || !is_own(runs)) && !open_file(runs, tid)))
		return false;
	size = pread(runs->fd, runs->text, sizeof(runs->text) - 1, 0);
	if (size <= 0)
		return false;
	runs->text[size] = '\0';
	/* 0: the kernel does not count */
	if (sscanf(runs->text, "%*u %*u %llu", &count) != 1 || count == 0)
		return false;
	runs->length = (uint32_t)size;
	/* asleep now, and not given a CPU between these two */
	if (is_asleep(tid) && thread_runs_sleeps(runs))
		return true;
	runs->length = 0;
	return false;
}

bool thread_runs_sleeps(const struct thread_runs *runs)
{
	int saved_errno = errno;
	char text[sizeof(runs->text)];
	bool sleeps = runs->length && pread(runs->fd, text, sizeof(text), 0) == runs->length &&
		      memcmp(text, runs->text, runs->length) == 0;

	errno = saved_errno;
	return sleeps;
}
