/* SPDX-License-Identifier: MIT */
/*
 * The add-on of --waits and --wall: the GPU work that threads waited for (waits.h), what they did
 * meanwhile (wait_times.h), and kernels that waited for pages (warp_stalls.h), as rows of waiting
 * time.
 */
#ifndef PROFILER_ADDONS_GPU_WAITS_H
#define PROFILER_ADDONS_GPU_WAITS_H

#include "profiler/addons/addon.h"

extern const struct addon addon_gpu_waits;

#endif
