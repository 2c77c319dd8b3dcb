/* SPDX-License-Identifier: MIT */
/*
 * Names the errors of CUDA's runtime (cudaError_t) and driver (CUresult).
 *
 * Both number their errors alike. The names come from the public headers of CUDA 13.0. A test
 * compares them with installed headers.
 */
#ifndef PROFILER_BASE_CUDA_ERRORS_H
#define PROFILER_BASE_CUDA_ERRORS_H

#include <stdbool.h>
#include <stdint.h>

/* Returned by cudaEventQuery and cudaStreamQuery while work is pending; no failure. */
#define CUDA_ERROR_CODE_NOT_READY 600u

/* Returns the name of an error ("cudaErrorInvalidValue"), or NULL if the code is unknown. */
const char *cuda_error_name(uint32_t code, bool is_driver);

#endif
