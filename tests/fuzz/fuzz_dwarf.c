/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as an ELF file with DWARF: no crash, no leak, no name or path longer than the file. The
 * last two bytes choose how much memory there is, so that some units do not fit.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "symbolize/dwarf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(struct dwarf *dwarf, struct quota_share *share, size_t size)
{
	const char *names[DWARF_MAX_DEPTH];
	struct source_place sources[DWARF_MAX_DEPTH];

	for (uint64_t address = 0x300; address < 0x480; address += 5) {
		size_t depth = dwarf_find(dwarf, share, address, names);

		if (depth > DWARF_MAX_DEPTH || dwarf_find_sources(dwarf, address, sources) != depth)
			abort();
		for (size_t i = 0; i < depth; i++)
			if ((names[i] && strlen(names[i]) > size) ||
			    (sources[i].name && strlen(sources[i].name) > size) ||
			    (sources[i].folder && strlen(sources[i].folder) > size) ||
			    (sources[i].compiled_in && strlen(sources[i].compiled_in) > size))
				abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct debug_file_search search = {.path = "/nonexistent/file", .root = "/nonexistent"};
	struct quota_share share;
	struct dwarf *dwarf;
	int fd;

	if (size < 2)
		return 0;
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size - 2) != (ssize_t)(size - 2))
		abort();
	quota_share_open(&share, ((uint64_t)data[size - 1] << 16) + (data[size - 2] << 8));
	if (dwarf_load(fd, &search, &share, &dwarf) == 0) {
		look_up(dwarf, &share, size);
		dwarf_free(dwarf);
	}
	quota_share_close(&share);
	close(fd);
	return 0;
}
