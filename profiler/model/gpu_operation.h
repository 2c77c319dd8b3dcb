/* SPDX-License-Identifier: MIT */
/*
 * An operation on a GPU as its program has sent it, on its way to the profile: through the join,
 * which finds its launch, and the attribution. Times are CLOCK_MONOTONIC in ns.
 */
#ifndef PROFILER_MODEL_GPU_OPERATION_H
#define PROFILER_MODEL_GPU_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The `work` of what else is known of a launch and has to find it: it is no operation, so nothing
 * counts it, and its launch still owes what it owes.
 */
#define JOIN_REMARK UINT32_MAX

struct gpu_operation {
	uint32_t correlation_id;
	uint32_t work; /* enum gpu_work, or JOIN_REMARK */
	uint64_t start_ns, duration_ns;
	union {
		const char *name; /* of a kernel; interned by the caller */
		uint64_t address; /* of an allocation or release; 0: not known */
		uint64_t remark;  /* a number of the caller */
	};
	uint64_t bytes;
	uint32_t process, device, context, stream;
	uint64_t graph_node; /* 0: not from a graph */
	bool bad_time;
	bool staged;     /* gpu_work_is_staged() */
	uint8_t outside; /* enum gpu_outside */
	/* of a kernel: the timeline's number for it; of memory: CUPTI's kind; 0: none */
	uint32_t shape;
};

#endif
