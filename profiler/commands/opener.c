// SPDX-License-Identifier: MIT
#include "profiler/commands/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "profiler/run/isolated_child.h"
#include "profiler/run/privilege.h"

#define STANDARD_COMMAND "xdg-open"

enum outcome { OUTCOME_SHOWN, OUTCOME_NO_PROGRAM, OUTCOME_STATUS, OUTCOME_KILLED };

struct answer {
	enum outcome outcome;
	int value; /* errno, exit status, signal */
};

/* ---- the opener ---- */

/*
 * Chooses the command: the first one in $BROWSER (separated by colons) if it has no arguments,
 * else the default.
 */
static void choose_command(char *command, size_t size)
{
	const char *browser = getenv("BROWSER");
	size_t length = browser ? strcspn(browser, ":") : 0;

	if (length == 0 || length >= size || strcspn(browser, " \t%") < length) {
		memcpy(command, STANDARD_COMMAND, sizeof(STANDARD_COMMAND));
		return;
	}
	memcpy(command, browser, length);
	command[length] = '\0';
}

/* Returns the exit of the child, if it exits within the timeout. */
static struct answer wait_for(pid_t child)
{
	struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN};
	int status;

	if (end.fd < 0 || poll(&end, 1, OPENER_TIMEOUT_MS) <= 0 ||
	    waitpid(child, &status, WNOHANG) != child)
		return (struct answer){OUTCOME_SHOWN, 0};
	if (WIFSIGNALED(status))
		return (struct answer){OUTCOME_KILLED, WTERMSIG(status)};
	return (struct answer){WEXITSTATUS(status) ? OUTCOME_STATUS : OUTCOME_SHOWN,
			       WEXITSTATUS(status)};
}

static struct answer execute(const char *path)
{
	char command[PATH_MAX];
	int failure[2], err = 0;
	pid_t child;

	choose_command(command, sizeof(command));
	if (pipe2(failure, O_CLOEXEC) != 0)
		return (struct answer){OUTCOME_NO_PROGRAM, errno};
	child = fork();
	if (child < 0)
		return (struct answer){OUTCOME_NO_PROGRAM, errno};
	if (child == 0) {
		execlp(command, command, path, (char *)NULL);
		err = errno;
		_exit(write(failure[1], &err, sizeof(err)) == sizeof(err) ? 127 : 126);
	}
	close(failure[1]);
	if (read(failure[0], &err, sizeof(err)) == sizeof(err))
		return (struct answer){OUTCOME_NO_PROGRAM, err};
	return wait_for(child);
}

/* Restores XDG_RUNTIME_DIR, which sudo removes. */
static void find_session(void)
{
	char folder[64];

	snprintf(folder, sizeof(folder), "/run/user/%u", (unsigned int)geteuid());
	if (!getenv("XDG_RUNTIME_DIR") && access(folder, X_OK) == 0)
		setenv("XDG_RUNTIME_DIR", folder, 1);
}

static void be_opener(int socket, const struct identity *identity,
		      const struct inherited *inherited)
{
	char path[PATH_MAX];
	size_t size = 0;
	ssize_t n;

	setsid();
	inherited_restore(inherited);
	if (!isolated_child_keep_only(&socket) || identity_become(identity) != 0 ||
	    privilege_drop_all() != 0)
		_exit(1);
	find_session();
	/* reads a path with its NUL, or nothing */
	do {
		n = read(socket, path + size, sizeof(path) - size);
		size += n > 0 ? (size_t)n : 0;
	} while ((n > 0 && path[size - 1] && size < sizeof(path)) || (n < 0 && errno == EINTR));
	if (n > 0 && !path[size - 1]) {
		struct answer answer = execute(path);

		send(socket, &answer, sizeof(answer),
		     MSG_NOSIGNAL); /* the profiler may have ended */
	}
	_exit(0);
}

/* ---- the profiler ---- */

int opener_start(struct opener *opener, const struct identity *identity,
		 const struct inherited *inherited)
{
	int sockets[2], err;
	pid_t child;

	opener->socket = -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
		return -errno;
	child = fork();
	err = child < 0 ? -errno : 0;
	if (child == 0) {
		close(sockets[1]);
		be_opener(sockets[0], identity, inherited);
	}
	close(sockets[0]);
	opener->socket = sockets[1];
	if (err)
		opener_release(opener);
	return err;
}

int opener_become_user(struct opener *opener, bool is_wanted, const struct identity *identity,
		       const struct inherited *inherited)
{
	int err = is_wanted ? opener_start(opener, identity, inherited) : 0;

	if (!err)
		err = privilege_become_user(identity, false);
	return err ? err : privilege_drop_all();
}

static bool has_display(void)
{
	const char *const names[] = {"DISPLAY", "WAYLAND_DISPLAY", "BROWSER"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return true;
	}
	return false;
}

static void report(struct log *log, const char *path, const struct answer *answer)
{
	char command[PATH_MAX];

	choose_command(command, sizeof(command));
	switch (answer->outcome) {
	case OUTCOME_SHOWN:
		log_verbose(log, "%s opens %s", command, path);
		break;
	case OUTCOME_NO_PROGRAM:
		log_error(log, "cannot open %s: %s: %s", path, command, strerror(answer->value));
		break;
	case OUTCOME_STATUS:
		log_error(log, "cannot open %s: %s ended with status %d", path, command,
			  answer->value);
		break;
	case OUTCOME_KILLED:
		log_error(log, "cannot open %s: %s was killed by signal %d", path, command,
			  answer->value);
		break;
	}
}

void opener_show(struct opener *opener, struct log *log, const char *path)
{
	struct pollfd ready = {.fd = opener->socket, .events = POLLIN};
	struct answer answer = {OUTCOME_SHOWN, 0};
	char whole[PATH_MAX];
	size_t size;

	if (geteuid() == 0) {
		log_error(log, "not opening %s: profile runs as root, and a browser should not",
			  path);
		return;
	}
	if (!has_display()) {
		log_error(log,
			  "cannot open %s: there is no display (DISPLAY, WAYLAND_DISPLAY and "
			  "BROWSER are not set)",
			  path);
		return;
	}
	if (!realpath(path, whole)) {
		log_error(log, "cannot open %s: %s", path, strerror(errno));
		return;
	}
	size = strlen(whole) + 1;
	if (send(opener->socket, whole, size, MSG_NOSIGNAL) != (ssize_t)size ||
	    (poll(&ready, 1, 2 * OPENER_TIMEOUT_MS) > 0 &&
	     read(opener->socket, &answer, sizeof(answer)) != sizeof(answer))) {
		log_error(log, "cannot open %s: the process for it has ended", path);
		return;
	}
	report(log, path, &answer);
}

void opener_release(struct opener *opener)
{
	if (opener->socket >= 0)
		close(opener->socket);
	opener->socket = -1;
}
