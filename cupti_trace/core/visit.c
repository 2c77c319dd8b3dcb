// SPDX-License-Identifier: MIT
#include "cupti_trace/core/visit.h"

#include "cupti_trace/core/at_launch.h"

_Atomic uint32_t visit_number READ_AT_LAUNCH = 1;
