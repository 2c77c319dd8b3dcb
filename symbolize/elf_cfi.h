/* SPDX-License-Identifier: MIT */
/*
 * The call-frame information of one ELF program or library: file offset of a pc -> row.
 *
 * .eh_frame with its search table where there is one, .debug_frame otherwise (and for what
 * .eh_frame does not cover), which gets an index of our own. Everything is read at loading; memory
 * is bounded by the sections' sizes and the share of the budget. Format: cfi.h.
 */
#ifndef SYMBOLIZE_ELF_CFI_H
#define SYMBOLIZE_ELF_CFI_H

#include <stddef.h>
#include <stdint.h>
#include "symbolize/budget.h"
#include "symbolize/cfi.h"

struct elf_cfi;

/*
 * Memory is taken from `share`, may be NULL; what does not fit is left out. 0, -ENOEXEC when it is
 * not an ELF program or library, -ENOENT without any such section, -ENOMEM.
 */
int elf_cfi_load(int fd, struct budget_share *share, struct elf_cfi **cfi);

/* The same for an image in memory (the vDSO), which must outlive it. */
int elf_cfi_load_memory(const void *image, size_t size, struct elf_cfi **cfi);

void elf_cfi_free(struct elf_cfi *cfi);

/* The row at a place in the file. Rows borrow from `cfi`. 0, -ENOENT, -EBADMSG: as cfi_find_row. */
int elf_cfi_find_row(const struct elf_cfi *cfi, uint64_t file_offset, struct cfi_row *row);

#endif
