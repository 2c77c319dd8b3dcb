/* SPDX-License-Identifier: MIT */
/* Call frame information rows by code_ref, loaded and kept by the symbolizer; for unwind.c. */
#ifndef SYMBOLIZE_SYMBOLIZER_CFI_H
#define SYMBOLIZE_SYMBOLIZER_CFI_H

#include <stdbool.h>
#include "symbolize/cfi.h"
#include "symbolize/symbolizer.h"

/*
 * The row at a code location (at the byte before, for a return address), or NULL if no table covers
 * it. Valid until the next call.
 */
const struct cfi_row *symbolizer_cfi_row(struct symbolizer *s, struct code_ref code,
					 bool is_return_address);

#endif
