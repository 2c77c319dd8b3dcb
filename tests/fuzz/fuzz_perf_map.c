/* SPDX-License-Identifier: MIT */
/* Any bytes as a perf map, looked up all over. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolize/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct perf_map *map = NULL;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET))
		abort();
	if (perf_map_read(fd, NULL, &map) == 0) {
		for (uint64_t address = 1; address; address <<= 1) {
			const char *name = perf_map_find(map, address | 1);

			if (name && (strlen(name) == 0 || strlen(name) > PERF_MAP_MAX_NAME ||
				     strpbrk(name, "\n\t\033")))
				abort();
		}
		perf_map_free(map);
	}
	close(fd);
	return 0;
}
