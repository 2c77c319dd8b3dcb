/* SPDX-License-Identifier: MIT */
/* Any bytes as an ELF file: no crash, no leak, and no name longer than the file. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolize/elf_syms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct debug_file_search search = {.path = "/nonexistent/file", .root = "/nonexistent"};
	struct elf_syms *syms = NULL;
	struct quota_share share;
	struct elf_symbol symbol;
	uint64_t start, address;
	int fd;

	if (size == 0)
		return 0;
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	/* Small, so that tables do not fit: which of them, the file decides. */
	quota_share_open(&share, 3 * size + (data[0] << 8 | data[size - 1]));
	if (elf_syms_load(fd, &search, &share, &syms) == 0) {
		for (uint64_t offset = 0; offset < size; offset += 3) {
			if (elf_syms_find(syms, offset, &symbol) &&
			    (symbol.index >= elf_syms_count(syms) || strlen(symbol.name) > size))
				abort();
			if (elf_syms_function(syms, offset, &start) &&
			    (!elf_syms_address(syms, offset, &address) || start > address))
				abort();
		}
		elf_syms_free(syms);
	}
	if (quota_share_close(&share) > 3 * size + UINT16_MAX)
		abort();
	close(fd);
	syms = NULL;
	if (elf_syms_load_memory(data, size, &syms) == 0)
		elf_syms_free(syms);
	return 0;
}
