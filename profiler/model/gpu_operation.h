/* SPDX-License-Identifier: MIT */
/*
 * Describes a GPU operation on its way from the pipe through the join, which finds its launch, to
 * the attribution.
 *
 * Times are CLOCK_MONOTONIC in ns.
 */
#ifndef PROFILER_MODEL_GPU_OPERATION_H
#define PROFILER_MODEL_GPU_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * `work` of a remark: data that must find its launch, but is no operation. A remark is not counted,
 * and its launch still expects all of its operations.
 */
#define JOIN_REMARK UINT32_MAX

struct gpu_operation {
	uint32_t correlation_id;
	uint32_t work; /* enum gpu_work, or JOIN_REMARK */
	uint64_t start_ns, duration_ns;
	union {
		const char *name; /* kernel: interned by the caller */
		uint64_t address; /* allocation or release; 0: unknown */
		uint64_t remark;  /* a number of the caller */
	};
	uint64_t bytes;
	uint32_t process, device, context, stream;
	uint64_t graph_node; /* 0 outside graphs */
	bool bad_time;
	bool staged;     /* gpu_work_is_staged() */
	uint8_t outside; /* enum gpu_outside */
	/*
	 * kernel: its number in the timeline; allocation, or copy from or to the host: CUPTI's kind
	 * of that memory; 0: none
	 */
	uint32_t shape;
};

#endif
