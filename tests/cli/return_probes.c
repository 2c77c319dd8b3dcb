/* SPDX-License-Identifier: MIT */
/*
 * return_probes FILE OFFSET...: watches the returns of the functions at these offsets (hexadecimal)
 * of a file, in all processes, as tracers do. Prints "ready", and goes on until its input ends.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PMU "/sys/bus/event_source/devices/uprobe/"

/* The number behind `prefix` in a file. */
static unsigned int read_number(const char *path, const char *prefix)
{
	FILE *f = fopen(path, "re");
	char line[64] = "";

	if (!f || !fgets(line, sizeof(line), f) || strncmp(line, prefix, strlen(prefix)) != 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(1);
	}
	fclose(f);
	return (unsigned int)strtoul(line + strlen(prefix), NULL, 10);
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	char byte;

	if (argc < 3)
		return 2;
	attr.type = read_number(PMU "type", "");
	attr.config = UINT64_C(1) << read_number(PMU "format/retprobe", "config:");
	attr.config1 = (uintptr_t)argv[1];
	for (int i = 2; i < argc; i++) {
		attr.config2 = strtoull(argv[i], NULL, 16);
		/* one CPU's, but the kernel puts the probe into the code of all processes */
		if (syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC) < 0) {
			fprintf(stderr, "%s at %s: %s\n", argv[1], argv[i], strerror(errno));
			return 1;
		}
	}
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
