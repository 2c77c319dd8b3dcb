/* SPDX-License-Identifier: MIT */
/*
 * Finds the kernel's functions by address, from /proc/kallsyms, including modules and BPF programs.
 *
 * Format: "ADDRESS TYPE NAME[\t[MODULE]]", one per line; types as in nm(1). Symbols have no sizes:
 * a function ends at the next symbol of any type, or after KSYMS_MAX_FUNCTION bytes. With
 * kptr_restrict all addresses read as zero; then there are no symbols.
 */
#ifndef SYMBOLIZE_KSYMS_H
#define SYMBOLIZE_KSYMS_H

#include <stddef.h>
#include <stdint.h>
#include "symbolize/util/table_quota.h"

struct ksyms;

/*
 * Reads /proc/kallsyms. Returns 0 or -errno; no symbols is no error. The caller frees the result.
 */
int ksyms_load(struct ksyms **ksyms);

/* Reads an open file of this format, from its current position to the end. */
int ksyms_read(int fd, struct ksyms **ksyms);

/* Returns the raw name of the function at `address`; NULL: unknown. It lives as long as `ksyms`. */
const char *ksyms_find(const struct ksyms *ksyms, uint64_t address);

void ksyms_free(struct ksyms *ksyms);

#endif
