/* SPDX-License-Identifier: MIT */
/*
 * libstill_clocks.so, for LD_PRELOAD: a virtual machine whose host takes its CPUs away. CPU clocks
 * of other threads stand still though these run, all other clocks go on, and /proc/stat says that
 * time was stolen.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *t)
{
	static int (*next)(clockid_t, struct timespec *);
	int error;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
	error = next(clock, t);
	if (error == 0 && clock < 0) /* include/linux/posix-timers.h: it has a process or thread */
		*t = (struct timespec){.tv_sec = 1};
	return error;
}

int open(const char *path, int flags, ...)
{
	static const char stat[] = "cpu  100 0 100 100 0 0 0 100 0 0\n";
	static int (*next)(const char *, int, ...);
	va_list list;
	mode_t mode;
	int fd;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "open");
	va_start(list, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
	va_end(list);
	if (strcmp(path, "/proc/stat") != 0)
		return next(path, flags, mode);
	fd = memfd_create("stat", MFD_CLOEXEC);
	if (fd >= 0 && write(fd, stat, sizeof(stat) - 1) > 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}
