/* SPDX-License-Identifier: MIT */
/*
 * The records that a CUPTI of API version FAKE_CUPTI_VERSION writes, and what else differs between
 * versions. Each version adds fields at the end, or in the padding there.
 *
 * API versions: 18 is CUDA 11.8, 19 is 12.0, 20 is 12.2, 21 is 12.3, 22 is 12.4, 23 is 12.5, 24 is
 * 12.6, 26 is 12.8, 27 is 12.9, 130001 is 13.0. One above 130100 is a made-up future one, whose
 * records are larger than any that is known.
 *
 * Source: cupti_activity.h and cupti_activity_deprecated.h of 11.8, 12.4 and 13.0, CUPTI's release
 * notes for the versions between. tests/unit/test_cupti_abi.c compares this file with the headers
 * that it is built with, and the sizes with what real libraries step by.
 */
#ifndef TESTS_FAKE_CUDA_LAYOUTS_H
#define TESTS_FAKE_CUDA_LAYOUTS_H

#include "../../cupti_trace/core/cupti_abi.h"

#ifndef FAKE_CUPTI_VERSION
#define FAKE_CUPTI_VERSION 130001
#endif
#define FAKE_CUPTI_FUTURE (FAKE_CUPTI_VERSION > 130100)

struct kernel_record { /* CUpti_ActivityKernel8, 9, 10 */
	struct cupti_abi_kernel prefix;
	void *access_policy_window;
	uint32_t channel_id, channel_type;
	uint32_t cluster[3], cluster_scheduling_policy;
	uint64_t local_memory_total_v2;
#if FAKE_CUPTI_VERSION >= 19
	uint32_t max_potential_cluster_size, max_active_clusters;
#endif
#if FAKE_CUPTI_VERSION >= 130000
	uint8_t is_device_launched, padding[7];
#endif
#if FAKE_CUPTI_FUTURE
	uint64_t unknown[5];
#endif
};

/* New fields use the end padding of the others' prefixes, so these are overlaid with words. */
union memcpy_record { /* CUpti_ActivityMemcpy5, 6 */
	struct cupti_abi_memcpy prefix;
#if FAKE_CUPTI_FUTURE
	uint64_t words[14];
#elif FAKE_CUPTI_VERSION >= 26
	uint64_t words[12]; /* the last: how many copies it is */
#else
	uint64_t words[11];
#endif
};

union peer_record { /* CUpti_ActivityMemcpyPtoP4 */
	struct cupti_abi_memcpy_peer prefix;
	uint64_t words[FAKE_CUPTI_FUTURE ? 14 : 12];
};

union memset_record { /* CUpti_ActivityMemset4 */
	struct cupti_abi_memset prefix;
	uint64_t words[FAKE_CUPTI_FUTURE ? 14 : 11];
};

struct memory_record { /* CUpti_ActivityMemory3, 4 */
	struct cupti_abi_memory prefix;
#if FAKE_CUPTI_VERSION >= 24
	const char *source;
#endif
#if FAKE_CUPTI_FUTURE
	uint64_t unknown[3];
#endif
};

struct pool_record { /* CUpti_ActivityMemoryPool2, 3 */
	struct cupti_abi_memory_pool prefix;
#if FAKE_CUPTI_VERSION >= 130000
	uint8_t is_managed, padding[7];
#endif
#if FAKE_CUPTI_FUTURE
	uint64_t unknown[2];
#endif
};

struct graph_record { /* CUpti_ActivityGraphTrace, 2 */
	struct cupti_abi_graph_trace prefix;
	void *reserved;
#if FAKE_CUPTI_VERSION >= 21
	uint32_t end_device_id, end_context_id;
#endif
#if FAKE_CUPTI_FUTURE
	uint64_t unknown[2];
#endif
};

struct decompress_record { /* CUpti_ActivityMemDecompress, since 12.8 */
	struct cupti_abi_decompress prefix;
#if FAKE_CUPTI_FUTURE
	uint64_t unknown[2];
#endif
};

struct device_record { /* CUpti_ActivityDevice4, 5 */
	struct cupti_abi_device prefix;
#if FAKE_CUPTI_VERSION >= 22 /* or a little earlier */
	uint32_t is_numa_node, numa_id;
#endif
#if FAKE_CUPTI_FUTURE
	uint64_t unknown[3];
#endif
};

union context_record { /* CUpti_ActivityContext, 2, 3 */
	struct cupti_abi_context prefix;
	/* parent, green context, CIG mode: none */
#if FAKE_CUPTI_FUTURE
	uint64_t words[6];
#elif FAKE_CUPTI_VERSION >= 23
	uint64_t words[4];
#elif FAKE_CUPTI_VERSION >= 22
	uint64_t words[3];
#endif
};

/* Number of functions that have callbacks, the highest id plus one. */
#if FAKE_CUPTI_FUTURE
enum { FAKE_RT_SIZE = 540, FAKE_DRV_SIZE = 830 };
#elif FAKE_CUPTI_VERSION >= 130000
enum { FAKE_RT_SIZE = 523, FAKE_DRV_SIZE = 807 };
#elif FAKE_CUPTI_VERSION >= 27
enum { FAKE_RT_SIZE = 487, FAKE_DRV_SIZE = 784 };
#elif FAKE_CUPTI_VERSION >= 22
enum { FAKE_RT_SIZE = 468, FAKE_DRV_SIZE = 754 };
#elif FAKE_CUPTI_VERSION >= 20
enum { FAKE_RT_SIZE = 451, FAKE_DRV_SIZE = 718 };
#else
enum { FAKE_RT_SIZE = 434, FAKE_DRV_SIZE = 677 };
#endif

#endif
