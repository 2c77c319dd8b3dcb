// SPDX-License-Identifier: MIT
#include "profiler/run/metric_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "profiler/attach/payload.h"
#include "symbolize/util/file_io.h"

/* Creates a file in memory that holds the library. Returns its descriptor or -errno. */
static int make_file(void)
{
	size_t size;
	const unsigned char *library = payload_library(&size);
	int fd = memfd_create("libprofile_cupti.so", MFD_CLOEXEC);
	int err = fd < 0 ? -errno : write_exactly(fd, library, size);

	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
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
