/* SPDX-License-Identifier: MIT */
/*
 * Names of the errors of CUDA's runtime (cudaError_t) and driver (CUresult), which have the same
 * numbers, as the public headers of CUDA 13.0 have them; a test compares them where these are.
 */
#ifndef PROFILER_BASE_CUDA_ERRORS_H
#define PROFILER_BASE_CUDA_ERRORS_H

#include <stdbool.h>
#include <stdint.h>

/* What cudaEventQuery and its like return while they would have to wait: not a failure. */
#define CUDA_ERROR_CODE_NOT_READY 600u

/* "cudaErrorInvalidValue"; NULL: not known. */
const char *cuda_error_name(uint32_t code, bool is_driver);

#endif
