/* SPDX-License-Identifier: MIT */
/* Feeds the device load that --live shows (model/gpu_load.h). */
#ifndef PROFILER_ADDONS_LOAD_H
#define PROFILER_ADDONS_LOAD_H

#include "profiler/addons/addon.h"

extern const struct addon addon_load;

#endif
