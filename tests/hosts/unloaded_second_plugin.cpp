/* SPDX-License-Identifier: MIT */
/* See unloaded.cpp. Its functions are as long as those of the other, with names as long. */
#define PLUGIN_KERNEL other_kernel
#define PLUGIN_FUNCTION other_function
#include "unloaded_plugin.h"
