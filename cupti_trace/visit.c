// SPDX-License-Identifier: MIT
#include "cupti_trace/visit.h"

#include "cupti_trace/at_launch.h"

_Atomic uint32_t visit_number READ_AT_LAUNCH = 1;
