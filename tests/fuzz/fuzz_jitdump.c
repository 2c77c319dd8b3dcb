/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a jitdump that grows: no crash, no leak, clean names of bounded length, rows whose
 * expressions are in memory.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolize/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t seen;

static void look_at(const uint8_t *expression, size_t size)
{
	for (size_t i = 0; i < size; i++)
		seen = expression[i];
}

static void find_row(const struct jitdump *dump, uint64_t address, uint64_t time)
{
	struct cfi_row row;

	if (jitdump_find_row(dump, address, time, &row) != 0)
		return;
	if (row.cfa_is_expression)
		look_at(row.cfa_expression, row.cfa_expression_size);
	for (int i = 0; i < CFI_REGISTERS; i++)
		if (row.rules[i].kind == CFI_EXPRESSION || row.rules[i].kind == CFI_VAL_EXPRESSION)
			look_at(row.rules[i].expression, row.rules[i].expression_size);
}

static void look_up(const struct jitdump *dump, uint64_t address, uint64_t time)
{
	uint32_t generation = jitdump_generation(dump, address, time);
	const char *name = jitdump_find(dump, address, generation);

	find_row(dump, address, time);
	if (generation > JITDUMP_LATEST)
		abort();
	if (name && (strlen(name) > PERF_MAP_MAX_NAME || strpbrk(name, "\n\t\033")))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct jitdump *dump = jitdump_new();
	struct quota_share share;
	size_t first = size / 2;

	if (fd < 0 || !dump || write(fd, data, first) != (ssize_t)first)
		abort();
	quota_share_open(&share, 1u << 20);
	jitdump_read(dump, fd, &share);
	if (write(fd, data + first, size - first) != (ssize_t)(size - first))
		abort();
	jitdump_read(dump, fd, &share);
	for (size_t at = 0; at + 8 <= size && at < 4096; at += 8) {
		uint64_t address;

		memcpy(&address, data + at, sizeof(address));
		look_up(dump, address, address);
		look_up(dump, address + 1, UINT64_MAX);
	}
	jitdump_free(dump);
	if (quota_share_close(&share) > 1u << 20)
		abort();
	close(fd);
	return 0;
}
