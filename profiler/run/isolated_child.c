// SPDX-License-Identifier: MIT
#include "profiler/run/isolated_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "profiler/run/capabilities.h"
#include "symbolize/util/monotonic.h"

bool isolated_child_keep_only(int *fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int kept = fcntl(*fd, F_DUPFD_CLOEXEC, 4);

	if (null < 0 || kept < 0)
		return false;
	for (int i = 0; i < 3; i++)
		dup2(null, i);
	*fd = dup3(kept, 3, O_CLOEXEC);
	syscall(SYS_close_range, 4, ~0u,
		0); /* Linux 5.9; before, inherited descriptors stay open */
	return *fd == 3;
}

int isolated_child_begin(int *fd, pid_t parent)
{
	sigset_t all;
	int err;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (!isolated_child_keep_only(fd))
		return -EBADF;
	err = capabilities_renounce();
	/* must be last: a change of credentials clears the signal */
	if (!err && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
		err = -errno;
	return err ? err : getppid() == parent ? 0 : -ESRCH;
}

void isolated_child_end(pid_t child)
{
	int64_t until = monotonic_ms() + ISOLATED_CHILD_END_MS;

	kill(child, SIGKILL);
	while (waitpid(child, NULL, WNOHANG) == 0 && monotonic_ms() < until)
		poll(NULL, 0, 1);
}

/* Waits for the byte by which the child reports completion. */
static int await(int fd, int64_t timeout_ms)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	int64_t until = monotonic_ms() + timeout_ms, left;
	char word;

	while ((left = until - monotonic_ms()) > 0)
		if (poll(&ready, 1, (int)left) > 0)
			return read(fd, &word, 1) == 1 ? 0 : -ECHILD;
	return -ETIMEDOUT;
}

int isolated_child_run(void (*task)(void *shared), void *shared, int64_t timeout_ms)
{
	pid_t parent = getpid(), child;
	int ends[2], err;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	child = fork();
	if (child == 0) {
		if (isolated_child_begin(&ends[1], parent) != 0)
			_exit(1);
		task(shared);
		_exit(write(ends[1], "", 1) == 1 ? 0 : 1);
	}
	err = child < 0 ? -errno : 0;
	close(ends[1]);
	if (!err)
		err = await(ends[0], timeout_ms);
	close(ends[0]);
	if (child > 0)
		isolated_child_end(child);
	return err;
}
