/* SPDX-License-Identifier: MIT */
/* The add-on that keeps what --live shows of devices, in a gpu_load (model/gpu_load.h). */
#ifndef PROFILER_ADDONS_LOAD_H
#define PROFILER_ADDONS_LOAD_H

#include "profiler/addons/addon.h"

extern const struct addon addon_load;

#endif
