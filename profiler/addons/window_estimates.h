/* SPDX-License-Identifier: MIT */
/* Finds how exact estimated GPU time is (--budget): fills the tables of estimates.h. */
#ifndef PROFILER_ADDONS_WINDOW_ESTIMATES_H
#define PROFILER_ADDONS_WINDOW_ESTIMATES_H

#include "profiler/addons/addon.h"

#ifndef ESTIMATES_MAX        /* tests use fewer */
#define ESTIMATES_MAX 65536u /* limit of stacks, and of kernels; 560 bytes each */
#endif

extern const struct addon addon_estimates;

#endif
