/* SPDX-License-Identifier: MIT */
/*
 * The call frame information of one ELF program or library: file offset of a pc -> row.
 *
 * .eh_frame with its search table, and .debug_frame, compressed or not, for code that .eh_frame
 * does not cover; Go's own table where a Go program has no .debug_frame (go_frames.h). Where there
 * is no search table, or none that can be used, the section is read from its start to its end for
 * an index of our own. Everything is read at loading; memory is bounded by the sections' sizes and
 * the share of the budget. Format: cfi.h.
 */
#ifndef SYMBOLIZE_ELF_CFI_H
#define SYMBOLIZE_ELF_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "symbolize/cfi.h"
#include "symbolize/util/table_quota.h"

struct elf_cfi;

/*
 * Takes memory from `share` (may be NULL); leaves out what does not fit. 0; -ENOEXEC: not an ELF
 * program or library; -ENOENT: no call frame information; -ENOMEM.
 */
int elf_cfi_load(int fd, struct quota_share *share, struct elf_cfi **cfi);

/* Does the same for an image in memory (the vDSO), which must outlive it. */
int elf_cfi_load_memory(const void *image, size_t size, struct elf_cfi **cfi);

void elf_cfi_free(struct elf_cfi *cfi);

/* The row at a file offset. Rows borrow from `cfi`. 0, -ENOENT, -EBADMSG: as cfi_find_row. */
int elf_cfi_find_row(const struct elf_cfi *cfi, uint64_t file_offset, struct cfi_row *row);

/* The function at a file offset, or the gap around it that no table describes; as file offsets. */
struct cfi_bounds elf_cfi_find_bounds(const struct elf_cfi *cfi, uint64_t file_offset);

/*
 * Finds where the function around a file offset begins, by its symbol: of functions that no table
 * describes, and whose symbols have a size. False: none.
 */
bool elf_cfi_find_symbol(const struct elf_cfi *cfi, uint64_t file_offset, uint64_t *start);

/*
 * Returns whether no table describes the code at a file offset, and it follows the file's entry
 * point: with which a program or its dynamic loader begins. In libraries that may be any code.
 */
bool elf_cfi_is_entry(const struct elf_cfi *cfi, uint64_t file_offset);

#endif
