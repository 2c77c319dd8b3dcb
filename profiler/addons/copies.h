/* SPDX-License-Identifier: MIT */
/*
 * Sums up copies between host and device for the table of copied_memory.h.
 */
#ifndef PROFILER_ADDONS_COPIES_H
#define PROFILER_ADDONS_COPIES_H

#include "profiler/addons/addon.h"

extern const struct addon addon_copies;

#endif
