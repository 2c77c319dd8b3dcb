/* SPDX-License-Identifier: MIT */
/*
 * Declares the part of NVIDIA's management library (NVML) that profile uses.
 *
 * Building needs no CUDA toolkit, and one binary serves all drivers. Layouts and values are those
 * of nvml.h; where a toolkit is installed, test_nvml compares them. Functions and fields that a
 * driver does not have are not read.
 */
#ifndef PROFILER_RUN_NVML_ABI_H
#define PROFILER_RUN_NVML_ABI_H

/* nvmlReturn_t */
enum { NVML_ABI_SUCCESS = 0, NVML_ABI_ERROR_NOT_SUPPORTED = 3 };

/* nvmlClockType_t, nvmlTemperatureSensors_t */
enum { NVML_ABI_CLOCK_SM = 1, NVML_ABI_CLOCK_MEM = 2 };
enum { NVML_ABI_TEMPERATURE_GPU = 0 };

/* nvmlClocksEventReasons, which old drivers call nvmlClocksThrottleReasons */
#define NVML_ABI_REASON_GPU_IDLE 0x1ull
#define NVML_ABI_REASON_SW_POWER_CAP 0x4ull
#define NVML_ABI_REASON_HW_SLOWDOWN 0x8ull
#define NVML_ABI_REASON_SW_THERMAL 0x20ull
#define NVML_ABI_REASON_HW_THERMAL 0x40ull
#define NVML_ABI_REASON_HW_POWER_BRAKE 0x80ull

/* NVML_FI_DEV_...: NVLink in KiB, of all links by scope NVML_ABI_ALL_LINKS; PCIe in bytes */
#define NVML_ABI_FIELD_NVLINK_DATA_TX 138u
#define NVML_ABI_FIELD_NVLINK_DATA_RX 139u
#define NVML_ABI_FIELD_PCIE_TX_BYTES 197u
#define NVML_ABI_FIELD_PCIE_RX_BYTES 198u
#define NVML_ABI_ALL_LINKS 0xffffffffu

/* nvmlValueType_t: members of the union */
enum {
	NVML_ABI_VALUE_UNSIGNED_INT = 1,
	NVML_ABI_VALUE_UNSIGNED_LONG = 2,
	NVML_ABI_VALUE_UNSIGNED_LONG_LONG = 3,
};

/* nvmlFieldValue_t */
struct nvml_abi_field_value {
	unsigned int field_id, scope_id;
	long long timestamp, latency_us;
	unsigned int value_type, result;
	union {
		double real;
		unsigned int ui;
		unsigned long ul;
		unsigned long long ull;
	} value;
};

/* nvmlMemory_t, bytes */
struct nvml_abi_memory {
	unsigned long long total, free, used;
};

/* nvmlDevice_t */
typedef struct nvml_abi_device *nvml_abi_device;

/* Functions, as members of struct nvml. All but the text of an error return nvmlReturn_t. */
#define NVML_ABI_FUNCTIONS(X)                                                                  \
	X(init, "nvmlInit_v2", int, (void))                                                    \
	X(error_string, "nvmlErrorString", const char *, (int result))                         \
	X(find, "nvmlDeviceGetHandleByUUID", int, (const char *uuid, nvml_abi_device *device)) \
	X(gpu_of_mig, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle", int,                     \
	  (nvml_abi_device mig, nvml_abi_device * device))                                     \
	X(clock, "nvmlDeviceGetClockInfo", int,                                                \
	  (nvml_abi_device device, int type, unsigned int *mhz))                               \
	X(most_clock, "nvmlDeviceGetMaxClockInfo", int,                                        \
	  (nvml_abi_device device, int type, unsigned int *mhz))                               \
	X(power, "nvmlDeviceGetPowerUsage", int, (nvml_abi_device device, unsigned int *mw))   \
	X(temperature, "nvmlDeviceGetTemperature", int,                                        \
	  (nvml_abi_device device, int sensor, unsigned int *celsius))                         \
	X(memory, "nvmlDeviceGetMemoryInfo", int,                                              \
	  (nvml_abi_device device, struct nvml_abi_memory * memory))                           \
	X(reasons, "nvmlDeviceGetCurrentClocksEventReasons", int,                              \
	  (nvml_abi_device device, unsigned long long *reasons))                               \
	X(old_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons", int,                       \
	  (nvml_abi_device device, unsigned long long *reasons))                               \
	X(energy, "nvmlDeviceGetTotalEnergyConsumption", int,                                  \
	  (nvml_abi_device device, unsigned long long *mj))                                    \
	X(fields, "nvmlDeviceGetFieldValues", int,                                             \
	  (nvml_abi_device device, int count, struct nvml_abi_field_value *values))

#endif
