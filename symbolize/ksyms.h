/* SPDX-License-Identifier: MIT */
/*
 * The kernel's functions, from /proc/kallsyms ("ADDRESS TYPE NAME[\t[MODULE]]", one a line; types
 * as in nm(1)). Modules and BPF programs are among them.
 *
 * Symbols there have no sizes: a function ends where the next symbol of any type starts, or after
 * KSYMS_MAX_FUNCTION bytes. With kptr_restrict all addresses read as zero; then there are no
 * symbols.
 */
#ifndef SYMBOLIZE_KSYMS_H
#define SYMBOLIZE_KSYMS_H

#include <stddef.h>
#include <stdint.h>
#include "symbolize/budget.h"

struct ksyms;

/* Reads /proc/kallsyms: 0 or -errno; no symbols is not an error. The caller frees it. */
int ksyms_load(struct ksyms **ksyms);

/* The same from an open file, from where it is read next to its end. */
int ksyms_read(int fd, struct ksyms **ksyms);

/* The raw name of the function at `address`, which lives as long as `ksyms`; NULL when unknown. */
const char *ksyms_find(const struct ksyms *ksyms, uint64_t address);

void ksyms_free(struct ksyms *ksyms);

#endif
