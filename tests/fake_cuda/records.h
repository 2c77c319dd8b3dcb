/* SPDX-License-Identifier: MIT */
/* Activity records as the libcupti of FAKE_CUPTI_VERSION lays them out. */
#ifndef TESTS_FAKE_CUDA_RECORDS_H
#define TESTS_FAKE_CUDA_RECORDS_H

#include "fake_cuda.h"
#include "layouts.h"

/* The smallest record of work. */
enum { RECORD_SMALLEST = sizeof(struct graph_record) };

/* Size of a kind's records in bytes; 0: the stand-in has none. */
size_t record_size(uint32_t kind);
/* The record kind of an activity; for kernels the concurrent one of two. */
uint32_t record_kind(const struct fake_cuda_activity *activity);
/* Everything but the times, which are 0. */
void record_fill(void *record, uint32_t kind, const struct fake_cuda_activity *activity);
/* In CUPTI's clock. */
void record_set_times(void *record, uint64_t start, uint64_t end);

#endif
