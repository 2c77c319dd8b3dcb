// SPDX-License-Identifier: MIT
#include "cupti_trace/core/instance.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "cupti_trace/core/guest.h"

/* Mixes by splitmix64's step: each bit of the result depends on all bits of both. */
static uint64_t mix(uint64_t state, uint64_t value)
{
	state = (state ^ value) + 0x9e3779b97f4a7c15u;
	state = (state ^ state >> 30) * 0xbf58476d1ce4e5b9u;
	state = (state ^ state >> 27) * 0x94d049bb133111ebu;
	return state ^ state >> 31;
}

/* Returns bits that differ between processes and programs, if the kernel has no randomness. */
static uint64_t gather_entropy(void)
{
	struct timespec now, since_boot, used;
	uint64_t state = mix(0, (uint64_t)getpid());

	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_MONOTONIC, &since_boot);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	state = mix(state, (uint64_t)now.tv_sec);
	state = mix(state, (uint64_t)now.tv_nsec);
	state = mix(state, (uint64_t)since_boot.tv_nsec);
	state = mix(state, (uint64_t)used.tv_nsec);
	/* the addresses of the stack and the library are random */
	state = mix(state, (uintptr_t)&now);
	return mix(state, (uintptr_t)&gather_entropy);
}

static uint64_t draw_id(void)
{
	uint64_t id = 0;

	/* not blocking: soon after boot the program would wait with us */
	if (getrandom(&id, sizeof(id), GRND_NONBLOCK) != sizeof(id))
		id = gather_entropy();
	return id ? id : 1;
}

static uint64_t read_pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

/*
 * Returns the 22nd field. The second is a name in parentheses, which may hold spaces and
 * parentheses.
 */
static uint64_t read_start_ticks(void)
{
	int fd = guest_open("/proc/self/stat", O_RDONLY);
	char text[1024];
	const char *at;
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

void instance_describe(struct instance *instance)
{
	instance->id = draw_id();
	instance->pid_namespace = read_pid_namespace();
	instance->start_ticks = read_start_ticks();
}
