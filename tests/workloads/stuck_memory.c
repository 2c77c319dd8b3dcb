/* SPDX-License-Identifier: MIT */
/*
 * stuck_memory FILE MS: a process whose memory nobody can read.
 *
 * FILE is one of stuck_file's that never answers read(2). One thread reads a page of it by
 * /proc/self/mem, and so waits with the lock on the process's mappings; another waits to change
 * them. From then on all others wait, too, who want to read its arguments or its environment. It
 * prints "ready", keeps the CPU busy for MS milliseconds and ends, as far as it can: its threads
 * cannot be killed before FILE answers.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "burn.h"

static char *page;
static atomic_int reader, writer; /* their ids */
static atomic_bool may_write;

static void *read_page(void *unused)
{
	int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	char byte;

	(void)unused;
	reader = gettid();
	if (pread(memory, &byte, 1, (off_t)(size_t)page) < 0)
		perror("stuck_memory: /proc/self/mem");
	return NULL;
}

static void *change_mappings(void *unused)
{
	(void)unused;
	writer = gettid();
	while (!may_write)
		usleep(1000);
	for (;;)
		munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
	return NULL;
}

static char state_of(int tid)
{
	char path[64], state = 0;
	FILE *file; /* memory that the first call has allocated, while that was possible */

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "re");
	if (file && fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	if (file)
		fclose(file);
	return state;
}

/* Until the thread has its id and does nothing for 20 ms. */
static void wait_until_stuck(const atomic_int *tid)
{
	for (int idle = 0; idle < 20; idle++) {
		usleep(1000);
		if (!*tid || state_of(*tid) == 'R')
			idle = 0;
	}
}

int main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	pthread_t threads[2];

	page = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	if (page == MAP_FAILED) {
		perror("usage: stuck_memory FILE MS");
		return 2;
	}
	pthread_create(&threads[1], NULL, change_mappings, NULL);
	pthread_create(&threads[0], NULL, read_page, NULL);
	wait_until_stuck(&reader);
	may_write = true;
	wait_until_stuck(&writer);
	if (write(STDOUT_FILENO, "ready\n", 6) == 6)
		burn(strtoull(argv[2], NULL, 10) * 1000000);
	_exit(0);
}
