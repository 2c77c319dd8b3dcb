/* SPDX-License-Identifier: MIT */
/*
 * Declares the part of CUPTI's binary interface that reads hardware counters. The range profiler
 * runs kernels with counters; the host functions know metrics and need no GPU. In CUPTI since CUDA
 * 12.6; a libcupti may lack all of it.
 *
 * Declared here for the reasons in cupti_abi.h; also, NVIDIA's header of the host functions
 * (cupti_profiler_host.h) is C++. Every function takes one struct, which begins with its own size
 * and a pointer that is NULL. The size is that up to the end of the last member, without padding:
 * PROFILER_ABI_SIZE. tests/unit/test_profiler_abi.c compares all of it with the headers.
 *
 * Source: cupti_profiler_host.h, cupti_range_profiler.h, cupti_profiler_target.h, cupti_target.h
 * (CUDA 13.0), and the chapters on these APIs in NVIDIA's CUPTI documentation.
 */
#ifndef CUPTI_TRACE_HW_PROFILER_ABI_H
#define CUPTI_TRACE_HW_PROFILER_ABI_H

#include <stddef.h>
#include <stdint.h>

#define PROFILER_ABI_SIZE(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

/* CUptiResult, besides those of cupti_abi.h */
enum {
	PROFILER_ABI_ERROR_INVALID_OPERATION = 7,
	PROFILER_ABI_ERROR_INVALID_METRIC_NAME = 17,
	PROFILER_ABI_ERROR_HARDWARE_BUSY = 26,
	PROFILER_ABI_ERROR_VIRTUAL_PRIVILEGES = 40, /* ..INSUFFICIENT_PRIVILEGES */
	PROFILER_ABI_ERROR_MIG = 43,                /* ..MIG_DEVICE_NOT_SUPPORTED */
};

enum { PROFILER_ABI_RANGE_PROFILER = 0 };                              /* CUpti_ProfilerType */
enum { PROFILER_ABI_AUTO_RANGE = 1, PROFILER_ABI_USER_RANGE = 2 };     /* CUpti_ProfilerRange */
enum { PROFILER_ABI_KERNEL_REPLAY = 2, PROFILER_ABI_USER_REPLAY = 3 }; /* ..ProfilerReplayMode */
enum {                                                                 /* CUpti_MetricType */
       PROFILER_ABI_COUNTER,
       PROFILER_ABI_RATIO,
       PROFILER_ABI_THROUGHPUT,
       PROFILER_ABI_METRIC_TYPES
};

/* CUpti_Profiler_Initialize_Params, ..._DeInitialize_Params */
struct profiler_abi_initialize {
	size_t size;
	void *priv;
};
#define PROFILER_ABI_INITIALIZE_SIZE PROFILER_ABI_SIZE(struct profiler_abi_initialize, priv)

/* CUpti_Device_GetChipName_Params */
struct profiler_abi_chip {
	size_t size;
	void *priv;
	size_t device;
	const char *name; /* [out] */
};
#define PROFILER_ABI_CHIP_SIZE PROFILER_ABI_SIZE(struct profiler_abi_chip, name)

/* CUpti_Profiler_GetCounterAvailability_Params */
struct profiler_abi_availability {
	size_t size;
	void *priv;
	void *context;
	size_t image_size; /* [out] if there is no image, otherwise its room */
	uint8_t *image;
};
#define PROFILER_ABI_AVAILABILITY_SIZE PROFILER_ABI_SIZE(struct profiler_abi_availability, image)

/* ---- the host functions ---- */

/* CUpti_Profiler_Host_Initialize_Params */
struct profiler_abi_host {
	size_t size;
	void *priv;
	int profiler_type;
	const char *chip;
	const uint8_t *availability; /* NULL: all of the chip */
	void *host;                  /* [out] */
};
#define PROFILER_ABI_HOST_SIZE PROFILER_ABI_SIZE(struct profiler_abi_host, host)

/* CUpti_Profiler_Host_Deinitialize_Params */
struct profiler_abi_host_end {
	size_t size;
	void *priv;
	void *host;
};
#define PROFILER_ABI_HOST_END_SIZE PROFILER_ABI_SIZE(struct profiler_abi_host_end, host)

/* CUpti_Profiler_Host_GetSupportedChips_Params */
struct profiler_abi_chips {
	size_t size;
	void *priv;
	size_t count;             /* [out] */
	const char *const *names; /* [out] */
};
#define PROFILER_ABI_CHIPS_SIZE PROFILER_ABI_SIZE(struct profiler_abi_chips, names)

/* CUpti_Profiler_Host_GetBaseMetrics_Params */
struct profiler_abi_base_metrics {
	size_t size;
	void *priv;
	void *host;
	int type;
	const char **names; /* [out] */
	size_t count;       /* [out] */
};
#define PROFILER_ABI_BASE_METRICS_SIZE PROFILER_ABI_SIZE(struct profiler_abi_base_metrics, count)

/* CUpti_Profiler_Host_GetSubMetrics_Params */
struct profiler_abi_sub_metrics {
	size_t size;
	void *priv;
	void *host;
	int type;
	const char *metric;
	size_t count;       /* [out] */
	const char **names; /* [out] ".sum", ".avg.per_second" */
};
#define PROFILER_ABI_SUB_METRICS_SIZE PROFILER_ABI_SIZE(struct profiler_abi_sub_metrics, names)

/* CUpti_Profiler_Host_GetMetricProperties_Params */
struct profiler_abi_properties {
	size_t size;
	void *priv;
	void *host;
	const char *metric;
	const char *description; /* [out], as are the members below */
	const char *hardware_unit, *unit;
	int type;
};
#define PROFILER_ABI_PROPERTIES_SIZE PROFILER_ABI_SIZE(struct profiler_abi_properties, type)

/* CUpti_Profiler_Host_ConfigAddMetrics_Params */
struct profiler_abi_add_metrics {
	size_t size;
	void *priv;
	void *host;
	const char **names;
	size_t count;
};
#define PROFILER_ABI_ADD_METRICS_SIZE PROFILER_ABI_SIZE(struct profiler_abi_add_metrics, count)

/* CUpti_Profiler_Host_GetConfigImageSize_Params */
struct profiler_abi_config_size {
	size_t size;
	void *priv;
	void *host;
	size_t image_size; /* [out] */
};
#define PROFILER_ABI_CONFIG_SIZE_SIZE PROFILER_ABI_SIZE(struct profiler_abi_config_size, image_size)

/* CUpti_Profiler_Host_GetConfigImage_Params */
struct profiler_abi_config {
	size_t size;
	void *priv;
	void *host;
	size_t image_size;
	uint8_t *image;
};
#define PROFILER_ABI_CONFIG_SIZE PROFILER_ABI_SIZE(struct profiler_abi_config, image)

/* CUpti_Profiler_Host_GetNumOfPasses_Params */
struct profiler_abi_passes {
	size_t size;
	void *priv;
	size_t image_size;
	uint8_t *image;
	size_t count; /* [out] */
};
#define PROFILER_ABI_PASSES_SIZE PROFILER_ABI_SIZE(struct profiler_abi_passes, count)

/* CUpti_Profiler_Host_EvaluateToGpuValues_Params */
struct profiler_abi_evaluate {
	size_t size;
	void *priv;
	void *host;
	const uint8_t *image; /* the counter data */
	size_t image_size;
	size_t range;
	const char **names;
	size_t count;
	double *values; /* [out] as many */
};
#define PROFILER_ABI_EVALUATE_SIZE PROFILER_ABI_SIZE(struct profiler_abi_evaluate, values)

/* ---- the range profiler ---- */

/* CUpti_RangeProfiler_Enable_Params */
struct profiler_abi_enable {
	size_t size;
	void *priv;
	void *context;
	void *profiler; /* [out] */
};
#define PROFILER_ABI_ENABLE_SIZE PROFILER_ABI_SIZE(struct profiler_abi_enable, profiler)

/* CUpti_RangeProfiler_Disable_Params, ..._Start_Params */
struct profiler_abi_ranges {
	size_t size;
	void *priv;
	void *profiler;
};
#define PROFILER_ABI_RANGES_SIZE PROFILER_ABI_SIZE(struct profiler_abi_ranges, profiler)

/* CUpti_RangeProfiler_SetConfig_Params */
struct profiler_abi_set_config {
	size_t size;
	void *priv;
	void *profiler;
	size_t config_size;
	const uint8_t *config;
	size_t data_size;
	uint8_t *data; /* stays in use */
	int range;
	int replay;
	size_t ranges_per_pass;
	uint16_t nesting_levels; /* 1 */
	uint16_t first_level;    /* 1 */
	size_t pass;             /* both 0: number of the replay session's pass */
	uint16_t target_level;
};
#define PROFILER_ABI_SET_CONFIG_SIZE PROFILER_ABI_SIZE(struct profiler_abi_set_config, target_level)

/* CUpti_RangeProfiler_Stop_Params */
struct profiler_abi_stop {
	size_t size;
	void *priv;
	void *profiler;
	size_t pass, target_level; /* [out] */
	uint8_t all_submitted;     /* [out] no pass is missing */
};
#define PROFILER_ABI_STOP_SIZE PROFILER_ABI_SIZE(struct profiler_abi_stop, all_submitted)

/* CUpti_RangeProfiler_DecodeData_Params */
struct profiler_abi_decode {
	size_t size;
	void *priv;
	void *profiler;
	size_t dropped; /* [out] ranges */
};
#define PROFILER_ABI_DECODE_SIZE PROFILER_ABI_SIZE(struct profiler_abi_decode, dropped)

/* CUpti_RangeProfiler_GetCounterDataSize_Params */
struct profiler_abi_data_size {
	size_t size;
	void *priv;
	void *profiler;
	const char **names;
	size_t count;
	size_t ranges;
	uint32_t range_nodes; /* not fewer than ranges */
	size_t data_size;     /* [out] */
};
#define PROFILER_ABI_DATA_SIZE_SIZE PROFILER_ABI_SIZE(struct profiler_abi_data_size, data_size)

/* CUpti_RangeProfiler_CounterDataImage_Initialize_Params */
struct profiler_abi_data {
	size_t size;
	void *priv;
	void *profiler;
	size_t data_size;
	uint8_t *data;
};
#define PROFILER_ABI_DATA_SIZE PROFILER_ABI_SIZE(struct profiler_abi_data, data)

/* CUpti_RangeProfiler_GetCounterDataInfo_Params */
struct profiler_abi_data_info {
	size_t size;
	void *priv;
	const uint8_t *data;
	size_t data_size;
	size_t ranges; /* [out] */
};
#define PROFILER_ABI_DATA_INFO_SIZE PROFILER_ABI_SIZE(struct profiler_abi_data_info, ranges)

/*
 * The functions, as X(name, parameter, is_target). Each returns CUptiResult (an int). Functions of
 * the target need a GPU.
 */
#define PROFILER_ABI_FUNCTIONS(X)                                                      \
	X(cuptiProfilerInitialize, struct profiler_abi_initialize *, 1)                \
	X(cuptiDeviceGetChipName, struct profiler_abi_chip *, 1)                       \
	X(cuptiProfilerGetCounterAvailability, struct profiler_abi_availability *, 1)  \
	X(cuptiProfilerHostInitialize, struct profiler_abi_host *, 0)                  \
	X(cuptiProfilerHostDeinitialize, struct profiler_abi_host_end *, 0)            \
	X(cuptiProfilerHostGetSupportedChips, struct profiler_abi_chips *, 0)          \
	X(cuptiProfilerHostGetBaseMetrics, struct profiler_abi_base_metrics *, 0)      \
	X(cuptiProfilerHostGetSubMetrics, struct profiler_abi_sub_metrics *, 0)        \
	X(cuptiProfilerHostGetMetricProperties, struct profiler_abi_properties *, 0)   \
	X(cuptiProfilerHostConfigAddMetrics, struct profiler_abi_add_metrics *, 0)     \
	X(cuptiProfilerHostGetConfigImageSize, struct profiler_abi_config_size *, 0)   \
	X(cuptiProfilerHostGetConfigImage, struct profiler_abi_config *, 0)            \
	X(cuptiProfilerHostGetNumOfPasses, struct profiler_abi_passes *, 0)            \
	X(cuptiProfilerHostEvaluateToGpuValues, struct profiler_abi_evaluate *, 0)     \
	X(cuptiRangeProfilerEnable, struct profiler_abi_enable *, 1)                   \
	X(cuptiRangeProfilerDisable, struct profiler_abi_ranges *, 1)                  \
	X(cuptiRangeProfilerSetConfig, struct profiler_abi_set_config *, 1)            \
	X(cuptiRangeProfilerStart, struct profiler_abi_ranges *, 1)                    \
	X(cuptiRangeProfilerStop, struct profiler_abi_stop *, 1)                       \
	X(cuptiRangeProfilerDecodeData, struct profiler_abi_decode *, 1)               \
	X(cuptiRangeProfilerGetCounterDataSize, struct profiler_abi_data_size *, 1)    \
	X(cuptiRangeProfilerCounterDataImageInitialize, struct profiler_abi_data *, 1) \
	X(cuptiRangeProfilerGetCounterDataInfo, struct profiler_abi_data_info *, 1)

#endif
