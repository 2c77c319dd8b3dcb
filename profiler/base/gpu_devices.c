// SPDX-License-Identifier: MIT
#include "profiler/base/gpu_devices.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "symbolize/util/file_io.h"

#define NVIDIA_MAJOR 195
#define CONTROL_MINOR 255
#define MISC_MAJOR 10
#define MINORS (1u << 20)
#define MISC_BYTES 65536

uint32_t gpu_devices_find_misc(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		char *end;
		unsigned long minor = strtoul(line, &end, 10);

		if (end != line && minor < MINORS && *end == ' ' &&
		    strncmp(end + 1, name, length) == 0 &&
		    (end[1 + length] == '\n' || end[1 + length] == '\0'))
			return GPU_DEVICE_ID(MISC_MAJOR, minor);
	}
	return 0;
}

struct gpu_devices gpu_devices_read(void)
{
	struct gpu_devices devices = {{GPU_DEVICE_ID(NVIDIA_MAJOR, CONTROL_MINOR), 0}};
	int fd = open("/proc/misc", O_RDONLY | O_CLOEXEC);
	char *text;
	size_t size;

	if (fd < 0)
		return devices;
	if (read_to_end(fd, MISC_BYTES, &text, &size) == 0) {
		devices.ids[1] = gpu_devices_find_misc(text, "dxg");
		free(text);
	}
	close(fd);
	return devices;
}
