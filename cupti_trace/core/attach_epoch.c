// SPDX-License-Identifier: MIT
#include "cupti_trace/core/attach_epoch.h"

#include "cupti_trace/core/hot_path.h"

_Atomic uint32_t attach_epoch HOT_PATH_DATA = 1;
