/* SPDX-License-Identifier: MIT */
/*
 * Keeps the readings of GPUs' state (model/gpu_state.h) in bounded memory.
 *
 * Each GPU has at most GPU_STATES_ROWS rows. When they are full, each two become one, and further
 * rows hold as many readings: 25.6 s of them in a run of a day. Sums and extremes stay exact. With
 * --last, rows of earlier times are dropped before that.
 */
#ifndef PROFILER_ADDONS_GPU_STATES_H
#define PROFILER_ADDONS_GPU_STATES_H

#include "profiler/addons/addon.h"

#define GPU_STATES_ROWS 4096u /* 512 KiB; even */

extern const struct addon addon_gpu_states;

#endif
