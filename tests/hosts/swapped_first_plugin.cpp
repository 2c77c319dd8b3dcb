/* SPDX-License-Identifier: MIT */
#define CALLER first_caller
#include "swapped_plugin.h"
