/* SPDX-License-Identifier: MIT */
/* See unloaded.cpp. */
#define PLUGIN_KERNEL first_kernel
#define PLUGIN_FUNCTION first_function
#include "unloaded_plugin.h"
