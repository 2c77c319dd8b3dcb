/* SPDX-License-Identifier: MIT */
/*
 * The kernel's functions, from /proc/kallsyms ("ADDRESS TYPE NAME[\t[MODULE]]", one per line; types
 * as in nm(1)), including modules and BPF programs.
 *
 * These symbols have no sizes: a function ends at the next symbol of any type, or after
 * KSYMS_MAX_FUNCTION bytes. With kptr_restrict all addresses read as zero; then there are no
 * symbols.
 */
#ifndef SYMBOLIZE_KSYMS_H
#define SYMBOLIZE_KSYMS_H

#include <stddef.h>
#include <stdint.h>
#include "symbolize/util/table_quota.h"

struct ksyms;

/* Reads /proc/kallsyms: 0 or -errno; no symbols is not an error. The caller frees it. */
int ksyms_load(struct ksyms **ksyms);

/* Does the same for an open file, from its current position to the end. */
int ksyms_read(int fd, struct ksyms **ksyms);

/* The raw name of the function at `address`, which lives as long as `ksyms`; NULL: unknown. */
const char *ksyms_find(const struct ksyms *ksyms, uint64_t address);

void ksyms_free(struct ksyms *ksyms);

#endif
