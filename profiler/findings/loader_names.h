/* SPDX-License-Identifier: MIT */
/*
 * Recognizes code that loads data for a GPU, by the libraries and the names in its stack.
 */
#ifndef PROFILER_FINDINGS_LOADER_NAMES_H
#define PROFILER_FINDINGS_LOADER_NAMES_H

#include <stdbool.h>
#include "profiler/model/result.h"

/* Returns true for code of a known library that loads data: PyTorch's DataLoader, tf.data, DALI. */
bool loader_names_library(const struct frame_info *frame);

/*
 * Returns true for a function whose name says that it loads data: "load_batch", "DataLoader",
 * "nextSample". Names of models, weights and modules are not meant.
 */
bool loader_names_function(const struct frame_info *frame);

#endif
