/* SPDX-License-Identifier: MIT */
/*
 * Folds messages of NVTX that differ only in numbers into one: "step 12345" becomes "step N".
 * Numbers are UUIDs, runs of digits, and hexadecimal ones with 8 or more digits or after 0x.
 */
#ifndef CUPTI_TRACE_LAUNCH_NVTX_FOLD_H
#define CUPTI_TRACE_LAUNCH_NVTX_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include "cupti_trace/launch/nvtx_names.h"

/*
 * Folds a text of at most NVTX_TEXT_MAX bytes into one that is not longer, of `*size` bytes.
 * Returns whether there was a number.
 */
bool nvtx_fold(const char *text, size_t length, char out[NVTX_TEXT_MAX + 1], size_t *size);

#endif
