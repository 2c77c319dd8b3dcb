/* SPDX-License-Identifier: MIT */
/*
 * For libraries.bats: writes what profile opens by dlopen(3) and dlmopen(3), as which user,
 * and what capabilities any thread of the process has by then, as lines of the file LOG:
 *
 *     dlopen libcurl.so.4 4242 0000000000000000
 *
 * Listed in /etc/ld.so.preload, since the loader ignores LD_PRELOAD for files with capabilities.
 * Built with MARKER it is a library that writes such a line when it is loaded: in place of a module
 * of NSS, for which the C library uses a function of its own.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Effective, permitted and ambient, of all threads. */
static uint64_t find_capabilities(void)
{
	DIR *threads = opendir("/proc/self/task");
	const struct dirent *thread;
	uint64_t all = 0;

	if (!threads)
		return UINT64_MAX;
	while ((thread = readdir(threads))) {
		char path[300], line[128];
		FILE *status;

		snprintf(path, sizeof(path), "/proc/self/task/%s/status", thread->d_name);
		status = thread->d_name[0] != '.' ? fopen(path, "re") : NULL;
		while (status && fgets(line, sizeof(line), status))
			if (strncmp(line, "CapEff:", 7) == 0 || strncmp(line, "CapPrm:", 7) == 0 ||
			    strncmp(line, "CapAmb:", 7) == 0)
				all |= strtoull(line + 7, NULL, 16);
		if (status)
			fclose(status);
	}
	closedir(threads);
	return all;
}

/* Returns whether this is a process of profile's own, and not a program that it runs. */
static int is_profile(void)
{
	char path[4096];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
	const char *name;

	if (size < 0)
		return 1;
	path[size] = '\0';
	name = strrchr(path, '/');
	return name && strcmp(name, "/profile") == 0;
}

static void note(const char *what, const char *name)
{
	char line[512];
	int size, fd;

	if (!is_profile())
		return;
	size = snprintf(line, sizeof(line), "%s %.300s %u %016llx\n", what, name ? name : "-",
			geteuid(), (unsigned long long)find_capabilities());
	fd = open(LOG, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0 || write(fd, line, (size_t)size) != size)
		abort();
	close(fd);
}

#ifdef MARKER
__attribute__((constructor)) static void begin(void)
{
	note("module", "nss");
#ifdef HANGS
	while (is_profile())
		pause();
#elif defined(DIES)
	if (is_profile())
		_exit(1);
#endif
}
#else
void *dlopen(const char *name, int flags)
{
	void *(*real)(const char *, int);

	*(void **)&real = dlsym(RTLD_NEXT, "dlopen");
	note("dlopen", name);
	return real(name, flags);
}

void *dlmopen(Lmid_t space, const char *name, int flags)
{
	void *(*real)(Lmid_t, const char *, int);

	*(void **)&real = dlsym(RTLD_NEXT, "dlmopen");
	note("dlmopen", name);
	return real(space, name, flags);
}
#endif
