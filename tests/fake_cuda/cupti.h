/* SPDX-License-Identifier: MIT */
/* Shared by the files of the fake libcupti. Results are CUptiResult values. */
#ifndef TESTS_FAKE_CUDA_CUPTI_H
#define TESTS_FAKE_CUDA_CUPTI_H

#include "fake_cuda.h"
#include "cbid.h"
#include "layouts.h"

enum {
	FAKE_CUPTI_ERROR_INVALID_OPERATION = 7,
	FAKE_CUPTI_ERROR_INVALID_STREAM = 20,
	FAKE_CUPTI_ERROR_OUT_OF_MEMORY = 8,
	FAKE_CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT = 10,
	FAKE_CUPTI_ERROR_NOT_COMPATIBLE = 14,
	FAKE_CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED = 28,
};

/*
 * Find the driver and hook into it, once per process. CUPTI_ABI_ERROR_NOT_INITIALIZED without a
 * driver, and in a forked child of a process that had done it.
 */
int cupti_attach(void);
bool cupti_forked(void);
/* Valid after a successful cupti_attach. */
const struct fake_cuda_driver *cupti_driver(void);

/*
 * The client did something that NVIDIA leaves undefined: count it, and abort if FAKE_CUDA_STRICT is
 * set.
 */
void cupti_misuse(const char *what);

/* fake_activity.c: work was added to a stream's timeline, or an instant happened. */
void cupti_activity(const struct fake_cuda_activity *activity);

/* pc_sampling.c: a kernel was launched that may be sampled. */
void cupti_pc_sample(const struct fake_cuda_activity *kernel);
/* Returns the CRC of this file, as cuptiGetCubinCrc does. */
uint64_t cupti_crc_of_file(const char *path);

/* A number from the environment, 0 if it is unset. */
unsigned long cupti_env(const char *name);
/* Returns whether the variable has this value. */
bool cupti_setting_is(const char *name, const char *value);

#define FAKE_CUPTI_DECLARE(name, required, parameters) int name parameters;
CUPTI_ABI_FUNCTIONS(FAKE_CUPTI_DECLARE)
#undef FAKE_CUPTI_DECLARE

/* Exported too, though not in cupti_abi.h. */
int cuptiEnableDomain(uint32_t enable, cupti_abi_subscriber subscriber, uint32_t domain);
int cuptiActivityFlushPeriod(uint32_t ms);
int cuptiActivityGetAttribute(uint32_t attribute, size_t *value_size, void *value);
int cuptiGetLastError(void);
/* Returns how often cupti_misuse was called; not in NVIDIA's library. */
unsigned long fake_cupti_misuses(void);

#endif
