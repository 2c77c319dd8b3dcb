// SPDX-License-Identifier: MIT
#include "cupti_trace/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define HIGHEST_FD 4095 /* a higher one would make the kernel's table of them large */
#define FEW_FDS 16      /* that many numbers, from the highest down, are tried first */

static __thread unsigned int depth;

static void enter(struct guest *guest, bool is_measured)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
	sigset_t held;

	guest->is_outermost = depth++ == 0;
	if (!guest->is_outermost)
		return;
	guest->error = errno;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &guest->cancel_state);
	sigfillset(&held);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&held, faults[i]);
	pthread_sigmask(SIG_BLOCK, &held, &guest->signals);
	guest->is_measured = is_measured;
	if (is_measured)
		guest->mark = own_cost_begin();
}

void guest_enter(struct guest *guest)
{
	enter(guest, true);
}

void guest_enter_briefly(struct guest *guest)
{
	enter(guest, false);
}

void guest_leave(const struct guest *guest)
{
	depth--;
	if (!guest->is_outermost)
		return;
	if (guest->is_measured)
		own_cost_end(&guest->mark);
	errno = guest->error;
	pthread_setcancelstate(guest->cancel_state, NULL);
	/* last: a handler that runs here may not come back */
	pthread_sigmask(SIG_SETMASK, &guest->signals, NULL);
}

/* ---- files ---- */

static bool is_file(int fd, const struct stat *file)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_dev == file->st_dev && st.st_ino == file->st_ino;
}

/*
 * Closes a low number, unless another thread of the program has closed all descriptors just now and
 * opened a file of its own there. If it does so between the two calls here, it loses that file.
 */
static void close_low(int fd, const struct stat *file)
{
	if (is_file(fd, file))
		close(fd);
}

/* A free number above the low ones for the same file; -1: there is none. */
static int copy_up(int fd)
{
	struct rlimit limit = {.rlim_cur = 0};
	int lowest, high = -1;

	getrlimit(RLIMIT_NOFILE, &limit);
	lowest = limit.rlim_cur > HIGHEST_FD ? HIGHEST_FD + 1 : (int)limit.rlim_cur;
	for (lowest -= FEW_FDS; high < 0 && lowest > fd; lowest /= 2)
		high = fcntl(fd, F_DUPFD_CLOEXEC, lowest);
	return high;
}

/* The same file under a high number, or under its own where none is free; -EBADF: it was closed. */
static int move_up(int fd)
{
	struct stat file;
	int high;

	if (fstat(fd, &file) != 0)
		return -EBADF;
	high = copy_up(fd);
	if (high < 0)
		return is_file(fd, &file) ? fd : -EBADF;
	if (!is_file(high, &file)) {
		close(high);
		return -EBADF;
	}
	close_low(fd, &file);
	return high;
}

bool guest_has_standard(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			return false;
	return true;
}

/* Takes the places of those that are closed by what can be neither read nor written. */
static int take_standard(int placeholders[STDERR_FILENO + 1], struct stat *root)
{
	int count = 0, fd;

	if (guest_has_standard())
		return 0;
	while ((fd = open("/", O_PATH | O_CLOEXEC)) >= 0 && fd <= STDERR_FILENO) {
		fstat(fd, root);
		placeholders[count++] = fd;
	}
	if (fd >= 0 && fstat(fd, root) == 0)
		close_low(fd, root);
	return count;
}

int guest_open(const char *path, int flags)
{
	int placeholders[STDERR_FILENO + 1], count, fd, err;
	struct stat root;

	count = take_standard(placeholders, &root);
	fd = open(path, flags | O_CLOEXEC, 0666);
	err = errno;
	while (count > 0)
		close_low(placeholders[--count], &root);
	return fd < 0 ? -err : move_up(fd);
}
