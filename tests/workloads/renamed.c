// SPDX-License-Identifier: MIT
/*
 * renamed: threads and processes that work, are renamed, and work on. A thread renames itself,
 * another one is renamed by the first thread, a third takes a name for each task; a forked process
 * renames itself.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "burn.h"

#define PART_NS 200000000u

static sem_t has_worked, is_renamed;
static pid_t other;

static void rename_self(const char *name)
{
	prctl(PR_SET_NAME, name);
}

__attribute__((noinline)) static void work(uint64_t ns)
{
	burn(ns);
}

static void *self_main(void *arg)
{
	work(PART_NS);
	rename_self("by-itself");
	work(PART_NS);
	return arg;
}

static void *other_main(void *arg)
{
	other = (pid_t)syscall(SYS_gettid);
	work(PART_NS);
	sem_post(&has_worked);
	sem_wait(&is_renamed);
	work(PART_NS);
	return arg;
}

static void *pool_main(void *arg)
{
	char name[16];

	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "task-%d", i);
		rename_self(name);
		work(PART_NS / 100);
	}
	return arg;
}

static void rename_other(void)
{
	char path[64];
	int fd;

	sem_wait(&has_worked);
	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", (int)other);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "by-another", 10) != 10)
		perror(path);
	close(fd);
	sem_post(&is_renamed);
}

static void run_process(void)
{
	work(PART_NS);
	rename_self("forked");
	work(PART_NS);
	_exit(0);
}

int main(void)
{
	pthread_t threads[3];

	if (fork() == 0)
		run_process();
	sem_init(&has_worked, 0, 0);
	sem_init(&is_renamed, 0, 0);
	pthread_create(&threads[0], NULL, self_main, NULL);
	pthread_create(&threads[1], NULL, other_main, NULL);
	pthread_create(&threads[2], NULL, pool_main, NULL);
	rename_other();
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	wait(NULL);
	return 0;
}
