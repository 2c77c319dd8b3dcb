/* SPDX-License-Identifier: MIT */
/*
 * Adds waiting times to the profile, for --waits and --wall.
 *
 * Joins the GPU work that threads waited for (waits.h), the threads' own times meanwhile
 * (wait_times.h), and kernels that waited for pages (warp_stalls.h).
 */
#ifndef PROFILER_ADDONS_GPU_WAITS_H
#define PROFILER_ADDONS_GPU_WAITS_H

#include "profiler/addons/addon.h"

extern const struct addon addon_gpu_waits;

#endif
