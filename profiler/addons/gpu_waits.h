/* SPDX-License-Identifier: MIT */
/*
 * Adds waiting times to the profile, for --waits and --wall.
 *
 * Combines waits.h, wait_times.h and warp_stalls.h: the GPU work that threads waited for, the
 * threads' own times meanwhile, and kernels that waited for pages.
 */
#ifndef PROFILER_ADDONS_GPU_WAITS_H
#define PROFILER_ADDONS_GPU_WAITS_H

#include "profiler/addons/addon.h"

extern const struct addon addon_gpu_waits;

#endif
