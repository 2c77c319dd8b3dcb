/* SPDX-License-Identifier: MIT */
/*
 * titled: names itself as setproctitle does, before and after CUDA starts: it copies its
 * environment elsewhere, and writes over all of the memory in which arguments and environment were.
 */
#include "host.h"

#include <sys/prctl.h>

GPU_KERNEL(tiny)

static long launches;

NOINLINE static void launch_some()
{
	for (int i = 0; i < 300; i++, launches++)
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, tiny));
	GPU_CHECK(cudaDeviceSynchronize());
}

static char *first, *last;

/* Arguments and environment lie one after the other. */
static void take_memory(char **argv)
{
	size_t count = 0;
	char **copy;

	first = argv[0];
	last = first + strlen(first) + 1;
	for (int i = 1; argv[i]; i++)
		last = argv[i] + strlen(argv[i]) + 1;
	while (environ[count])
		count++;
	copy = (char **)calloc(count + 1, sizeof(*copy));
	for (size_t i = 0; i < count; i++) {
		if (environ[i] == last)
			last += strlen(environ[i]) + 1;
		copy[i] = strdup(environ[i]);
	}
	environ = copy;
}

static void set_title(char filling, const char *name)
{
	memset(first, filling, (size_t)(last - first));
	snprintf(first, (size_t)(last - first), "%s", name);
	HOST_CHECK(prctl(PR_SET_NAME, name) == 0);
}

int main(int, char **argv)
{
	take_memory(argv);
	set_title('\n', "titled: \"\xff\" starts");
	launch_some();
	set_title(';', "titled: runs; on");
	launch_some();
	unsetenv("PROFILE_PIPE");
	unsetenv("CUDA_INJECTION64_PATH");
	set_title('\0', "");
	launch_some();
	printf("launches %ld\n", launches);
	return 0;
}
