/* SPDX-License-Identifier: MIT */
/* Any bytes as an ELF file with call-frame information: rows, or errors; the budget holds. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "symbolize/elf_cfi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void find_rows(const struct elf_cfi *cfi, size_t size)
{
	struct cfi_row row;
	uint64_t start;

	for (uint64_t offset = 0; offset < size; offset += 3) {
		elf_cfi_find_row(cfi, offset, &row);
		if (elf_cfi_find_symbol(cfi, offset, &start) && start > offset)
			abort();
	}
	elf_cfi_find_row(cfi, UINT64_MAX, &row);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct quota_share share;
	struct elf_cfi *cfi;
	uint64_t limit;
	int fd;

	if (size == 0)
		return 0;
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	/* the file decides whether its tables fit */
	limit = size + ((uint64_t)data[size - 1] << 8);
	quota_share_open(&share, limit);
	if (elf_cfi_load(fd, &share, &cfi) == 0) {
		find_rows(cfi, size);
		elf_cfi_free(cfi);
	}
	if (quota_share_close(&share) > limit)
		abort();
	close(fd);
	if (elf_cfi_load_memory(data, size, &cfi) == 0) {
		find_rows(cfi, size);
		elf_cfi_free(cfi);
	}
	return 0;
}
