/* SPDX-License-Identifier: MIT */
/*
 * loses_trace remove|replace [own-stderr]: removes the file named in INJECTION_TRACE, if there is
 * one, when the library has begun it. With `replace` another file gets its name, and the program
 * closes what it has open. With `own-stderr` it has a file of its own in place of stderr then,
 * which must stay empty.
 */
#include "host.h"

#include <fcntl.h>
#include <sys/stat.h>

GPU_KERNEL(before)
GPU_KERNEL(after)

enum { LAUNCHES = 20, LOWEST = 3, HIGHEST = 4096 };

static struct stat of_stderr;

static void check_stderr()
{
	HOST_CHECK(fstat(STDERR_FILENO, &of_stderr) == 0 && of_stderr.st_size == 0);
}

static void replace(const char *path)
{
	FILE *theirs = fopen(path, "w");

	HOST_CHECK(theirs && fputs("theirs\n", theirs) >= 0 && fclose(theirs) == 0);
#ifndef __CUDACC__ /* NVIDIA's driver does not survive to lose its own descriptors */
	for (int fd = LOWEST; fd < HIGHEST; fd++)
		close(fd);
#endif
}

int main(int argc, char **argv)
{
	const char *path = getenv("INJECTION_TRACE");

	if (argc > 2)
		atexit(check_stderr); /* after the library's end: it is told of exits first */
	for (int i = 0; i < LAUNCHES; i++)
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, before));
	GPU_CHECK(cudaDeviceSynchronize());
	await_flush();
	if (path)
		HOST_CHECK(unlink(path) == 0);
	if (path && argc > 1 && strcmp(argv[1], "replace") == 0)
		replace(path);
	if (argc > 2) {
		FILE *own = tmpfile();

		HOST_CHECK(own && dup2(fileno(own), STDERR_FILENO) == STDERR_FILENO);
	}
	for (int i = 0; i < LAUNCHES; i++)
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, after));
	GPU_CHECK(cudaDeviceSynchronize());
	printf("launches %d\n", 2 * LAUNCHES);
	return 0;
}
