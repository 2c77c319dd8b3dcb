/* SPDX-License-Identifier: MIT */
#define CALLER other_caller
#include "swapped_plugin.h"
