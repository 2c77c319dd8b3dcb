/* SPDX-License-Identifier: MIT */
/*
 * Messages of NVTX that differ in numbers alone are one when these are folded: "step 12345" is
 * "step N". Numbers are runs of digits, hexadecimal ones of 8 digits and more or behind 0x, and
 * UUIDs.
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
