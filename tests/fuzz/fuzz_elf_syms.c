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
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct elf_syms *syms = NULL;
	struct elf_symbol symbol;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (elf_syms_load(fd, "/nonexistent/file", "/nonexistent", &syms) == 0) {
		for (uint64_t offset = 0; offset < size; offset += 3)
			if (elf_syms_find(syms, offset, &symbol) &&
			    (symbol.index >= elf_syms_count(syms) || strlen(symbol.name) > size))
				abort();
		elf_syms_free(syms);
	}
	close(fd);
	syms = NULL;
	if (elf_syms_load_memory(data, size, &syms) == 0)
		elf_syms_free(syms);
	return 0;
}
