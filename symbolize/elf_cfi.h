/* SPDX-License-Identifier: MIT */
/*
 * The call frame information of one ELF program or library: file offset of a pc -> row.
 *
 * .eh_frame with its search table if there is one, otherwise .debug_frame (also for code that
 * .eh_frame does not cover) with an index of our own. Everything is read at loading; memory is
 * bounded by the sections' sizes and the share of the budget. Format: cfi.h.
 */
#ifndef SYMBOLIZE_ELF_CFI_H
#define SYMBOLIZE_ELF_CFI_H

#include <stddef.h>
#include <stdint.h>
#include "symbolize/budget.h"
#include "symbolize/cfi.h"

struct elf_cfi;

/*
 * Takes memory from `share` (may be NULL); leaves out what does not fit. 0; -ENOEXEC: not an ELF
 * program or library; -ENOENT: no call frame information; -ENOMEM.
 */
int elf_cfi_load(int fd, struct budget_share *share, struct elf_cfi **cfi);

/* The same for an image in memory (the vDSO), which must outlive it. */
int elf_cfi_load_memory(const void *image, size_t size, struct elf_cfi **cfi);

void elf_cfi_free(struct elf_cfi *cfi);

/* The row at a file offset. Rows borrow from `cfi`. 0, -ENOENT, -EBADMSG: as cfi_find_row. */
int elf_cfi_find_row(const struct elf_cfi *cfi, uint64_t file_offset, struct cfi_row *row);

#endif
