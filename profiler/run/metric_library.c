// SPDX-License-Identifier: MIT
#include "profiler/run/metric_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "profiler/attach/payload.h"

/* Creates a file in memory that holds the library. Returns its descriptor or -errno. */
static int make_file(void)
{
	size_t size, done = 0;
	const unsigned char *library = payload_library(&size);
	int fd = memfd_create("libprofile_cupti.so", MFD_CLOEXEC);

	while (fd >= 0 && done < size) {
		ssize_t n = write(fd, library + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int err = n < 0 ? -errno : -EIO;

			close(fd);
			return err;
		}
		done += (size_t)n;
	}
	return fd < 0 ? -errno : fd;
}

metric_list_function *metric_library_load(char error[METRIC_LIST_ERROR_BYTES])
{
	metric_list_function *function = NULL;
	int fd = make_file();
	char path[64];
	void *handle;

	if (fd < 0) {
		snprintf(error, METRIC_LIST_ERROR_BYTES, "making a file in memory: %s",
			 strerror(-fd));
		return NULL;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	close(fd);
	if (handle)
		*(void **)&function = dlsym(handle, METRIC_LIST_SYMBOL);
	if (!function)
		snprintf(error, METRIC_LIST_ERROR_BYTES, "loading the injection library: %s",
			 dlerror());
	return function;
}
