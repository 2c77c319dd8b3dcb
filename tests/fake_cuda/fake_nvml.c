// SPDX-License-Identifier: MIT
/*
 * NVML's stand-in, libnvidia-ml.so.1, in the folder nvml/: tests that want it put this folder on
 * LD_LIBRARY_PATH. Its GPUs are those of the other stand-ins, by their UUIDs, and of none else.
 *
 * It is as strict as the real library: before nvmlInit_v2, and with handles that it did not give,
 * calls fail. README.md has its settings.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../profiler/run/nvml_abi.h"

#define EXPORT __attribute__((visibility("default")))
#define GPUS 8u

enum {
	UNINITIALIZED = 1,
	INVALID_ARGUMENT = 2,
	NOT_SUPPORTED = NVML_ABI_ERROR_NOT_SUPPORTED,
	NOT_FOUND = 6,
	DRIVER_NOT_LOADED = 9,
	UNKNOWN = 999
};

struct nvml_abi_device {
	uint32_t gpu;
	bool is_mig;
};

static struct nvml_abi_device gpus[GPUS], instance = {.is_mig = true};
static bool is_initialized;
static struct timespec began;

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static bool fails_in(const char *what)
{
	const char *how = getenv("FAKE_NVML");

	return how && strcmp(how, what) == 0;
}

/* Returns ns since the library was initialised. */
static uint64_t age_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)(now.tv_sec - began.tv_sec) * 1000000000u + (uint64_t)now.tv_nsec -
	       (uint64_t)began.tv_nsec;
}

static void hang(void)
{
	for (;;)
		pause();
}

/* Returns the error of a call with this handle, or success. */
static int check(nvml_abi_device device, const void *result)
{
	if (!is_initialized)
		return UNINITIALIZED;
	if (fails_in("hang-later") && age_ns() > 300000000u)
		hang();
	if (!result || (device != &instance && (device < gpus || device >= gpus + GPUS)))
		return INVALID_ARGUMENT;
	return fails_in("lost") && age_ns() > 300000000u ? UNKNOWN : NVML_ABI_SUCCESS;
}

/* The same, of what a MIG instance does not tell. */
static int check_gpu(nvml_abi_device device, const void *result)
{
	int error = check(device, result);

	return error ? error : device->is_mig ? NOT_SUPPORTED : NVML_ABI_SUCCESS;
}

/* The clock is low in the last FAKE_NVML_LIMITED_PERCENT of each 500 ms. */
static bool is_limited(void)
{
	return age_ns() / 1000000 % 500 >= 500 - 5 * setting("FAKE_NVML_LIMITED_PERCENT", 0);
}

EXPORT int nvmlInit_v2(void)
{
	if (fails_in("hang"))
		hang();
	if (fails_in("refuse"))
		return DRIVER_NOT_LOADED;
	for (uint32_t i = 0; i < GPUS; i++)
		gpus[i].gpu = i;
	clock_gettime(CLOCK_MONOTONIC, &began);
	is_initialized = true;
	return NVML_ABI_SUCCESS;
}

EXPORT const char *nvmlErrorString(int result)
{
	switch (result) {
	case NVML_ABI_SUCCESS:
		return "Success";
	case UNINITIALIZED:
		return "Uninitialized";
	case INVALID_ARGUMENT:
		return "Invalid Argument";
	case NOT_SUPPORTED:
		return "Not Supported";
	case NOT_FOUND:
		return "Not Found";
	case DRIVER_NOT_LOADED:
		return "Driver Not Loaded";
	default:
		return "Unknown Error";
	}
}

/* Returns the bytes of a UUID as `first`, `first` + 1, ..., as the other stand-ins make them. */
static void print_uuid(char text[48], const char *word, unsigned int first, unsigned int last)
{
	int used = snprintf(text, 48, "%s-", word);

	for (unsigned int i = 0; i < 16; i++)
		used += snprintf(text + used, 48 - (size_t)used, "%s%02x",
				 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
				 i == 15 ? last : first + i);
}

EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, nvml_abi_device *device)
{
	char text[48];

	if (!is_initialized)
		return UNINITIALIZED;
	if (!uuid || !device)
		return INVALID_ARGUMENT;
	print_uuid(text, "MIG", 0xa0, 0);
	if (getenv("FAKE_CUDA_MIG") && strcmp(uuid, text) == 0) {
		*device = &instance;
		return NVML_ABI_SUCCESS;
	}
	for (unsigned int i = 0; i < setting("FAKE_CUDA_DEVICES", 1) && i < GPUS; i++) {
		print_uuid(text, "GPU", 0x10, i);
		if (strcmp(uuid, text) == 0) {
			*device = &gpus[i];
			return NVML_ABI_SUCCESS;
		}
	}
	return NOT_FOUND;
}

EXPORT int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvml_abi_device mig,
							nvml_abi_device *device)
{
	int error = check(mig, device);

	if (!error && !mig->is_mig)
		return INVALID_ARGUMENT;
	if (!error)
		*device = &gpus[0];
	return error;
}

EXPORT int nvmlDeviceGetClockInfo(nvml_abi_device device, int type, unsigned int *mhz)
{
	int error = check_gpu(device, mhz);

	if (error)
		return error;
	if (type != NVML_ABI_CLOCK_SM && type != NVML_ABI_CLOCK_MEM)
		return INVALID_ARGUMENT;
	if (type == NVML_ABI_CLOCK_MEM)
		*mhz = 3201;
	else if (setting("FAKE_NVML_IDLE", 0))
		*mhz = 345;
	else
		*mhz = is_limited() ? 1410 : (unsigned int)setting("FAKE_NVML_SM_MHZ", 1980);
	return NVML_ABI_SUCCESS;
}

EXPORT int nvmlDeviceGetMaxClockInfo(nvml_abi_device device, int type, unsigned int *mhz)
{
	int error = check_gpu(device, mhz);

	if (error)
		return error;
	*mhz = type == NVML_ABI_CLOCK_MEM ? 3201 : 1980;
	return NVML_ABI_SUCCESS;
}

EXPORT int nvmlDeviceGetPowerUsage(nvml_abi_device device, unsigned int *mw)
{
	int error = check_gpu(device, mw);

	if (error)
		return error;
	*mw = (is_limited() ? 700000 : 400000) + device->gpu * 1000;
	return NVML_ABI_SUCCESS;
}

EXPORT int nvmlDeviceGetTemperature(nvml_abi_device device, int sensor, unsigned int *celsius)
{
	int error = check_gpu(device, celsius);

	if (error)
		return error;
	if (sensor != NVML_ABI_TEMPERATURE_GPU)
		return INVALID_ARGUMENT;
	*celsius = 47;
	return NVML_ABI_SUCCESS;
}

EXPORT int nvmlDeviceGetMemoryInfo(nvml_abi_device device, struct nvml_abi_memory *memory)
{
	int error = check(device, memory);

	if (error)
		return error;
	memory->total = UINT64_C(80) << 30;
	memory->used = (device->is_mig ? UINT64_C(1) : UINT64_C(5)) << 30;
	memory->free = memory->total - memory->used;
	return NVML_ABI_SUCCESS;
}

static int get_reasons(nvml_abi_device device, unsigned long long *reasons)
{
	int error = check_gpu(device, reasons);

	if (error)
		return error;
	*reasons = setting("FAKE_NVML_IDLE", 0) ? NVML_ABI_REASON_GPU_IDLE
		   : is_limited() ? setting("FAKE_NVML_REASONS", NVML_ABI_REASON_SW_POWER_CAP)
				  : 0;
	return NVML_ABI_SUCCESS;
}

#ifndef FAKE_NVML_OLD
EXPORT int nvmlDeviceGetCurrentClocksEventReasons(nvml_abi_device device,
						  unsigned long long *reasons)
{
	return get_reasons(device, reasons);
}

EXPORT int nvmlDeviceGetTotalEnergyConsumption(nvml_abi_device device, unsigned long long *mj)
{
	int error = check_gpu(device, mj);

	if (error)
		return error;
	*mj = 5000000000u + age_ns() / 1000000 * 400; /* 400 W */
	return NVML_ABI_SUCCESS;
}

/*
 * PCIe counters have 64 bits, or with FAKE_NVML_PCIE_BITS=32, as an H200's, so many, which wrap
 * after 100 ms. Without NVLink, its fields are refused.
 */
static void set_field(struct nvml_abi_field_value *value)
{
	uint64_t us = age_ns() / 1000;

	value->result = NVML_ABI_SUCCESS;
	switch (value->field_id) {
	case NVML_ABI_FIELD_PCIE_TX_BYTES:
	case NVML_ABI_FIELD_PCIE_RX_BYTES:
		value->value_type = NVML_ABI_VALUE_UNSIGNED_LONG_LONG;
		value->value.ull = (UINT64_C(1) << 40) - 100000000u + us * 1000;
		if (setting("FAKE_NVML_PCIE_BITS", 64) != 32)
			break;
		value->value_type = NVML_ABI_VALUE_UNSIGNED_INT;
		value->value.ui = (unsigned int)value->value.ull;
		break;
	case NVML_ABI_FIELD_NVLINK_DATA_TX:
	case NVML_ABI_FIELD_NVLINK_DATA_RX:
		if (value->scope_id != NVML_ABI_ALL_LINKS || !setting("FAKE_NVML_NVLINK", 1)) {
			value->result = NOT_SUPPORTED;
			break;
		}
		value->value_type = NVML_ABI_VALUE_UNSIGNED_LONG_LONG;
		value->value.ull = us * 10; /* KiB */
		break;
	default:
		value->result = INVALID_ARGUMENT;
	}
}

EXPORT int nvmlDeviceGetFieldValues(nvml_abi_device device, int count,
				    struct nvml_abi_field_value *values)
{
	int error = check_gpu(device, values);

	if (error)
		return error;
	if (count <= 0)
		return INVALID_ARGUMENT;
	for (int i = 0; i < count; i++)
		set_field(&values[i]);
	return NVML_ABI_SUCCESS;
}
#else
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(nvml_abi_device device,
						     unsigned long long *reasons)
{
	return get_reasons(device, reasons);
}
#endif
