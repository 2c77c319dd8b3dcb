/* SPDX-License-Identifier: MIT */
#include "symbolize/debuginfod.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CLIENT "debuginfod-find"

/* Set by a client that hangs or does not exist. */
static bool gave_up;

static bool is_allowed(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && *urls && geteuid() == getuid() && getegid() == getgid();
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* In a process group of its own, with default signals, its output to `output`: 0 or -errno. */
static int start(const char *build_id, int output, pid_t *pid)
{
	const char *const argv[] = {CLIENT, "debuginfo", build_id, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int err;

	err = posix_spawn_file_actions_init(&actions);
	if (err)
		return -err;
	err = posix_spawnattr_init(&attributes);
	if (err)
		goto out_actions;
	sigemptyset(&none);
	sigfillset(&all);
	err = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (!err)
		err = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
						       O_WRONLY, 0);
	if (!err)
		err = posix_spawnattr_setsigmask(&attributes, &none);
	if (!err)
		err = posix_spawnattr_setsigdefault(&attributes, &all);
	if (!err)
		err = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP |
								    POSIX_SPAWN_SETSIGMASK |
								    POSIX_SPAWN_SETSIGDEF);
	if (!err)
		err = posix_spawnp(pid, CLIENT, &actions, &attributes, (char *const *)argv,
				   environ);
	posix_spawnattr_destroy(&attributes);
out_actions:
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

/* Everything up to the end of the stream; false when it is late or too much. */
static bool read_until(int fd, int64_t deadline, char *text, size_t size)
{
	size_t used = 0;

	for (;;) {
		struct pollfd wait = {.fd = fd, .events = POLLIN};
		int64_t left = deadline - now_ms();
		ssize_t got;

		if (left <= 0 || used + 1 >= size)
			return false;
		if (poll(&wait, 1, (int)left) <= 0)
			continue; /* late, or interrupted */
		got = read(fd, text + used, size - 1 - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return false;
		if (got == 0) {
			text[used] = '\0';
			return true;
		}
		used += (size_t)got;
	}
}

/* Whether the client ended well in time; in the end there is no client. */
static bool finish(pid_t pid, int64_t deadline, bool in_time)
{
	const struct timespec pause = {.tv_nsec = 5000000};
	int status = 0;
	pid_t ended = 0;

	while (in_time && (ended = waitpid(pid, &status, WNOHANG)) == 0) {
		in_time = now_ms() < deadline;
		nanosleep(&pause, NULL);
	}
	if (ended == 0) {
		kill(-pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		return false;
	}
	return ended == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int debuginfod_find(const char *build_id, char *path, size_t size)
{
	int64_t deadline = now_ms() + DEBUGINFOD_TIMEOUT_MS;
	bool in_time, ended_well;
	int ends[2];
	pid_t pid;

	if (gave_up || !is_allowed() || pipe2(ends, O_CLOEXEC) != 0)
		return -ENOENT;
	if (start(build_id, ends[1], &pid) != 0) {
		gave_up = true;
		close(ends[0]);
		close(ends[1]);
		return -ENOENT;
	}
	close(ends[1]);
	in_time = read_until(ends[0], deadline, path, size);
	close(ends[0]);
	ended_well = finish(pid, deadline, in_time);
	if (now_ms() >= deadline)
		gave_up = true;
	if (!ended_well)
		return -ENOENT;
	path[strcspn(path, "\n")] = '\0';
	return path[0] == '/' ? 0 : -ENOENT;
}
