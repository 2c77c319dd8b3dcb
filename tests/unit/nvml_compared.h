/* SPDX-License-Identifier: MIT */
/*
 * Compares profiler/run/nvml_abi.h with NVIDIA's nvml.h while compiling, if that is installed: a
 * mistake does not build. tests/gpu/state compiles this header alone.
 */
#ifndef TESTS_UNIT_NVML_COMPARED_H
#define TESTS_UNIT_NVML_COMPARED_H

#if defined(__has_include) && __has_include(<nvml.h>)
#include <nvml.h>
#include <stddef.h>
#include "profiler/run/nvml_abi.h"

#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #theirs)
#define SAME_PLACE(ours, theirs) \
	SAME(offsetof(struct nvml_abi_field_value, ours), offsetof(nvmlFieldValue_t, theirs))

SAME(NVML_ABI_SUCCESS, NVML_SUCCESS);
SAME(NVML_ABI_ERROR_NOT_SUPPORTED, NVML_ERROR_NOT_SUPPORTED);
SAME(NVML_ABI_CLOCK_SM, NVML_CLOCK_SM);
SAME(NVML_ABI_CLOCK_MEM, NVML_CLOCK_MEM);
SAME(NVML_ABI_TEMPERATURE_GPU, NVML_TEMPERATURE_GPU);
SAME(NVML_ABI_REASON_GPU_IDLE, nvmlClocksThrottleReasonGpuIdle);
SAME(NVML_ABI_REASON_SW_POWER_CAP, nvmlClocksThrottleReasonSwPowerCap);
SAME(NVML_ABI_REASON_HW_SLOWDOWN, nvmlClocksThrottleReasonHwSlowdown);
SAME(NVML_ABI_REASON_SW_THERMAL, nvmlClocksThrottleReasonSwThermalSlowdown);
SAME(NVML_ABI_REASON_HW_THERMAL, nvmlClocksThrottleReasonHwThermalSlowdown);
SAME(NVML_ABI_REASON_HW_POWER_BRAKE, nvmlClocksThrottleReasonHwPowerBrakeSlowdown);
SAME(NVML_ABI_FIELD_NVLINK_DATA_TX, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX);
SAME(NVML_ABI_FIELD_NVLINK_DATA_RX, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX);
#ifdef NVML_FI_DEV_PCIE_COUNT_TX_BYTES
SAME(NVML_ABI_FIELD_PCIE_TX_BYTES, NVML_FI_DEV_PCIE_COUNT_TX_BYTES);
SAME(NVML_ABI_FIELD_PCIE_RX_BYTES, NVML_FI_DEV_PCIE_COUNT_RX_BYTES);
#endif
SAME(NVML_ABI_VALUE_UNSIGNED_INT, NVML_VALUE_TYPE_UNSIGNED_INT);
SAME(NVML_ABI_VALUE_UNSIGNED_LONG, NVML_VALUE_TYPE_UNSIGNED_LONG);
SAME(NVML_ABI_VALUE_UNSIGNED_LONG_LONG, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG);
SAME(sizeof(struct nvml_abi_field_value), sizeof(nvmlFieldValue_t));
SAME_PLACE(field_id, fieldId);
SAME_PLACE(scope_id, scopeId);
SAME_PLACE(timestamp, timestamp);
SAME_PLACE(value_type, valueType);
SAME_PLACE(result, nvmlReturn);
SAME_PLACE(value, value);
SAME(sizeof(struct nvml_abi_memory), sizeof(nvmlMemory_t));
SAME(offsetof(struct nvml_abi_memory, used), offsetof(nvmlMemory_t, used));
#endif

#endif
