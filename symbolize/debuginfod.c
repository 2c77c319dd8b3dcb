/* SPDX-License-Identifier: MIT */
#include "symbolize/debuginfod.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "symbolize/util/bounded_call.h"
#include "symbolize/util/monotonic.h"

#define CLIENT "debuginfod-find"
#define NOT_STARTED 127
#define KILL_MS 200                    /* wait for a killed client */
#define FILE_LIMIT (UINT64_C(4) << 30) /* size of a debug file */

static __thread int64_t left_ms;
static __thread bool ran_out;
static __thread uint64_t not_asked;

void debuginfod_allow(unsigned int milliseconds)
{
	left_ms = milliseconds;
	ran_out = false;
	not_asked = 0;
}

uint64_t debuginfod_not_asked(void)
{
	return not_asked;
}

/* Returns whether root runs with the environment of another user. */
static bool is_borrowed_root(void)
{
	return geteuid() == 0 &&
	       (getenv("SUDO_UID") || getenv("DOAS_USER") || getenv("PKEXEC_UID"));
}

static bool is_possible(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && *urls && geteuid() == getuid() && getegid() == getgid() &&
	       !is_borrowed_root();
}

/*
 * Becomes the client, in its own process group, with default signals and its output to `output`.
 * Closes all other descriptors: the client may get stuck where it cannot be killed.
 */
static void run_client(const char *build_id, int output)
{
	const struct sigaction by_default = {.sa_handler = SIG_DFL};
	const struct rlimit limit = {FILE_LIMIT, FILE_LIMIT};
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	setpgid(0, 0);
	for (int i = 1; i < NSIG; i++)
		sigaction(i, &by_default, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(null, STDIN_FILENO);
	dup2(null, STDERR_FILENO);
	dup2(output, STDOUT_FILENO);
	close_range(STDERR_FILENO + 1, ~0u, 0);
	setrlimit(RLIMIT_FSIZE, &limit); /* fails if the limit is lower */
	/* no_new_privs: otherwise exec gives user 0 its capabilities back */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && bounded_drop_capabilities())
		execlp(CLIENT, CLIENT, "debuginfo", build_id, (char *)NULL);
	_exit(NOT_STARTED);
}

/* Reads to the end of the stream. Returns false if it is late or too long. */
static bool read_until(int fd, int64_t deadline, char *text, size_t size)
{
	size_t used = 0;

	for (;;) {
		struct pollfd wait = {.fd = fd, .events = POLLIN};
		int64_t left = deadline - monotonic_ms();
		ssize_t got;

		if (left <= 0 || used + 1 >= size)
			return false;
		if (poll(&wait, 1, (int)left) <= 0)
			continue; /* timeout or signal */
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

/*
 * Waits for the client until `deadline`, then kills it. Returns its exit status, or -1 if it was
 * killed. Leaves a client behind that cannot be killed.
 */
static int finish(pid_t pid, int64_t deadline)
{
	const struct timespec pause = {.tv_nsec = 5000000};
	bool is_killed = false;
	int status;
	pid_t ended;

	while ((ended = waitpid(pid, &status, WNOHANG)) == 0) {
		if (monotonic_ms() < deadline) {
			nanosleep(&pause, NULL);
		} else if (is_killed) {
			return -1;
		} else {
			kill(-pid, SIGKILL);
			is_killed = true;
			deadline = monotonic_ms() + KILL_MS;
		}
	}
	return ended == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int debuginfod_find(const char *build_id, char *path, size_t size)
{
	int64_t start = monotonic_ms(), deadline = start + left_ms;
	int ends[2], status;
	bool in_time;
	pid_t pid;

	not_asked += ran_out;
	if (left_ms <= 0 || !is_possible() || pipe2(ends, O_CLOEXEC) != 0)
		return -ENOENT;
	pid = fork();
	if (pid == 0)
		run_client(build_id, ends[1]);
	close(ends[1]);
	in_time = pid > 0 && read_until(ends[0], deadline, path, size);
	close(ends[0]);
	status = pid > 0 ? finish(pid, in_time ? deadline : 0) : NOT_STARTED;
	left_ms -= status == NOT_STARTED ? left_ms : monotonic_ms() - start;
	ran_out = left_ms <= 0 && status != NOT_STARTED;
	not_asked += ran_out && !in_time;
	if (!in_time || status != 0)
		return -ENOENT;
	path[strcspn(path, "\n")] = '\0';
	return path[0] == '/' ? 0 : -ENOENT;
}
