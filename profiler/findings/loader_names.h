/* SPDX-License-Identifier: MIT */
/*
 * Recognizes code that loads data for a GPU, by the libraries and the names in its stack.
 */
#ifndef PROFILER_FINDINGS_LOADER_NAMES_H
#define PROFILER_FINDINGS_LOADER_NAMES_H

#include <stdbool.h>
#include "profiler/model/result.h"

/*
 * Returns true for a function of a known loader (PyTorch's DataLoader, tf.data, DALI, Grain), or
 * whose name has a word such as "load", "loader", "fetch" or "dataset".
 */
bool loader_names_has(const struct frame_info *frame);

#endif
