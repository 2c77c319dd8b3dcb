/* SPDX-License-Identifier: MIT */
/*
 * reopened: puts files of its own in the place of its standard descriptors while it launches, by
 * freopen, by dup2, and by closing them and opening the next: each file holds what was written to
 * it, nothing else.
 */
#include "host.h"

#include <fcntl.h>

GPU_KERNEL(tiny)

static long launches;

NOINLINE static void launch_some()
{
	for (int i = 0; i < 300; i++, launches++)
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, tiny));
	GPU_CHECK(cudaDeviceSynchronize());
	usleep(100000); /* something is sent meanwhile */
}

static void expect_content(const char *name, const char *text)
{
	char content[64] = "";
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, content, sizeof(content) - 1);

	HOST_CHECK(fd >= 0 && n == (ssize_t)strlen(text) && strcmp(content, text) == 0);
	close(fd);
}

int main()
{
	int out = dup(STDOUT_FILENO), fd;

	HOST_CHECK(out >= 0);
	launch_some();
	HOST_CHECK(freopen("by_freopen", "w", stdout));
	puts("one");
	fflush(stdout);
	launch_some();
	fd = open("by_dup2", O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	HOST_CHECK(fd > 2 && dup2(fd, STDERR_FILENO) == STDERR_FILENO);
	fputs("two\n", stderr);
	launch_some();
	close(STDIN_FILENO);
	launch_some();
	HOST_CHECK(open("by_close", O_CREAT | O_TRUNC | O_RDWR, 0600) == STDIN_FILENO);
	HOST_CHECK(write(STDIN_FILENO, "three\n", 6) == 6);
	launch_some();
	for (int i = 0; i < 3; i++)
		close(i);
	launch_some();
	for (int i = 0; i < 3; i++)
		HOST_CHECK(open("by_close", O_RDWR | O_APPEND) == i);
	HOST_CHECK(write(1, "four\n", 5) == 5);
	launch_some();
	expect_content("by_freopen", "one\n");
	expect_content("by_dup2", "two\n");
	expect_content("by_close", "three\nfour\n");
	HOST_CHECK(dprintf(out, "launches %ld\n", launches) > 0);
	return 0;
}
