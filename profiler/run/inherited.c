// SPDX-License-Identifier: MIT
#include "profiler/run/inherited.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Opens each closed standard descriptor: open() returns the lowest free number. */
static void hold_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/", O_PATH | O_CLOEXEC);
}

void inherited_note(struct inherited *inherited)
{
	struct sigaction standard = {.sa_handler = SIG_DFL};

	memset(inherited, 0, sizeof(*inherited));
	sigprocmask(SIG_SETMASK, NULL, &inherited->mask);
	getrlimit(RLIMIT_NOFILE, &inherited->files);
	getrlimit(RLIMIT_MEMLOCK, &inherited->locked_memory);
	inherited->nice = getpriority(PRIO_PROCESS, 0);
	sigaction(SIGCHLD, &standard, &inherited->child_end);
	hold_standard_descriptors();
}

void inherited_restore(const struct inherited *inherited)
{
	setrlimit(RLIMIT_NOFILE, &inherited->files);
	setrlimit(RLIMIT_MEMLOCK, &inherited->locked_memory);
	setpriority(PRIO_PROCESS, 0, inherited->nice);
	sigaction(SIGCHLD, &inherited->child_end, NULL);
	sigprocmask(SIG_SETMASK, &inherited->mask, NULL);
}
