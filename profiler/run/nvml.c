// SPDX-License-Identifier: MIT
#include "profiler/run/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "symbolize/util/monotonic.h"

/* Parts of a reading that a GPU may not tell. */
enum {
	PART_SM_CLOCK,
	PART_MEMORY_CLOCK,
	PART_POWER,
	PART_TEMPERATURE,
	PART_MEMORY,
	PART_REASONS,
	PART_ENERGY,
	PART_FIELDS, /* the first of them */
	PARTS = PART_FIELDS + NVML_FIELDS
};
_Static_assert(PARTS <= 32, "each has a bit");

static const struct {
	unsigned int id, scope, unit;
} fields[NVML_FIELDS] = {
	{NVML_ABI_FIELD_PCIE_TX_BYTES, 0, 1},
	{NVML_ABI_FIELD_PCIE_RX_BYTES, 0, 1},
	{NVML_ABI_FIELD_NVLINK_DATA_TX, NVML_ABI_ALL_LINKS, 1024},
	{NVML_ABI_FIELD_NVLINK_DATA_RX, NVML_ABI_ALL_LINKS, 1024},
};

/* ---- the library ---- */

bool nvml_load(struct nvml *nvml, char why[NVML_WHY_BYTES])
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

	memset(nvml, 0, sizeof(*nvml));
	if (!library) {
		snprintf(why, NVML_WHY_BYTES, "%s", dlerror());
		return false;
	}
#define FIND(member, name, type, parameters) *(void **)&nvml->member = dlsym(library, name);
	NVML_ABI_FUNCTIONS(FIND)
#undef FIND
	if (!nvml->reasons)
		nvml->reasons = nvml->old_reasons;
	snprintf(why, NVML_WHY_BYTES, "libnvidia-ml.so.1 is too old");
	return nvml->init && nvml->error_string && nvml->find;
}

static void explain(const struct nvml *nvml, const char *call, int result, char why[NVML_WHY_BYTES])
{
	const char *text = nvml->error_string(result);

	snprintf(why, NVML_WHY_BYTES, "%s: %s", call, text ? text : "unknown error");
}

bool nvml_begin(const struct nvml *nvml, char why[NVML_WHY_BYTES])
{
	int result = nvml->init();

	if (result != NVML_ABI_SUCCESS)
		explain(nvml, "nvmlInit_v2", result, why);
	return result == NVML_ABI_SUCCESS;
}

bool nvml_find(const struct nvml *nvml, const char *uuid, struct nvml_gpu *gpu,
	       char why[NVML_WHY_BYTES])
{
	int result;

	memset(gpu, 0, sizeof(*gpu));
	result = nvml->find(uuid, &gpu->own);
	if (result != NVML_ABI_SUCCESS) {
		explain(nvml, "nvmlDeviceGetHandleByUUID", result, why);
		return false;
	}
	gpu->gpu = gpu->own;
	if (strncmp(uuid, "MIG", 3) == 0 && nvml->gpu_of_mig &&
	    nvml->gpu_of_mig(gpu->own, &gpu->gpu) != NVML_ABI_SUCCESS)
		gpu->gpu = gpu->own;
	if (nvml->most_clock &&
	    nvml->most_clock(gpu->gpu, NVML_ABI_CLOCK_SM, &gpu->most_sm_mhz) != NVML_ABI_SUCCESS)
		gpu->most_sm_mhz = 0;
	return true;
}

/* ---- readings ---- */

static bool has(const struct nvml_gpu *gpu, uint32_t part)
{
	return !(gpu->absent & 1u << part);
}

/* Returns whether a call succeeded. What is not supported is not asked again. */
static bool is_told(struct nvml_gpu *gpu, uint32_t part, int result)
{
	if (result == NVML_ABI_ERROR_NOT_SUPPORTED)
		gpu->absent |= 1u << part;
	return result == NVML_ABI_SUCCESS;
}

/* Calls a function if the library and the GPU have it. Returns whether it succeeded. */
#define TELLS(nvml, gpu, part, function, ...) \
	((nvml)->function && has(gpu, part) && is_told(gpu, part, (nvml)->function(__VA_ARGS__)))

#define FOR_POWER (NVML_ABI_REASON_SW_POWER_CAP | NVML_ABI_REASON_HW_POWER_BRAKE)
#define FOR_HEAT (NVML_ABI_REASON_SW_THERMAL | NVML_ABI_REASON_HW_THERMAL)

static bool has_any(unsigned long long reasons, unsigned long long bits)
{
	return (reasons & bits) != 0;
}

static bool read_now(const struct nvml *nvml, struct nvml_gpu *g, struct gpu_reading *r)
{
	unsigned int sm = 0, memory_clock = 0, mw = 0, celsius = 0;
	struct nvml_abi_memory memory = {0, 0, 0};
	unsigned long long reasons = 0;
	bool is_any = false;

	if (TELLS(nvml, g, PART_SM_CLOCK, clock, g->gpu, NVML_ABI_CLOCK_SM, &sm))
		is_any = true, r->sm_mhz = sm;
	if (TELLS(nvml, g, PART_MEMORY_CLOCK, clock, g->gpu, NVML_ABI_CLOCK_MEM, &memory_clock))
		is_any = true, r->memory_mhz = memory_clock;
	if (TELLS(nvml, g, PART_POWER, power, g->gpu, &mw))
		is_any = true, r->power_mw = mw;
	if (TELLS(nvml, g, PART_TEMPERATURE, temperature, g->gpu, NVML_ABI_TEMPERATURE_GPU,
		  &celsius))
		is_any = true, r->celsius = celsius;
	if (TELLS(nvml, g, PART_MEMORY, memory, g->own, &memory))
		is_any = true, r->memory_bytes = memory.used;
	if (TELLS(nvml, g, PART_REASONS, reasons, g->gpu, &reasons)) {
		is_any = true;
		r->is_idle = has_any(reasons, NVML_ABI_REASON_GPU_IDLE);
		r->is_power_capped = has_any(reasons, FOR_POWER);
		r->is_hot = has_any(reasons, FOR_HEAT);
		/* the GPU slows itself for heat and power, too */
		r->is_slowed = has_any(reasons, NVML_ABI_REASON_HW_SLOWDOWN) &&
			       !has_any(reasons, NVML_ABI_REASON_HW_THERMAL |
							 NVML_ABI_REASON_HW_POWER_BRAKE);
	}
	return is_any;
}

static uint64_t value_of(const struct nvml_abi_field_value *value)
{
	switch (value->value_type) {
	case NVML_ABI_VALUE_UNSIGNED_INT:
		return value->value.ui;
	case NVML_ABI_VALUE_UNSIGNED_LONG:
		return value->value.ul;
	case NVML_ABI_VALUE_UNSIGNED_LONG_LONG:
		return value->value.ull;
	default:
		return 0;
	}
}

/*
 * Returns whether a counter cannot be used. One of bytes that has 32 bits wraps in 70 ms at the
 * full speed of PCIe 5, which is between two readings: on an H200 it told half of what was copied.
 */
static bool is_too_small(const struct nvml_abi_field_value *value, uint32_t unit)
{
	return unit == 1 && value_of(value) <= UINT32_MAX;
}

/* Returns how far a counter went since its last value, which it keeps. It may have wrapped. */
static uint64_t advance(struct nvml_gpu *g, uint32_t part, uint64_t now, bool has_32_bits)
{
	uint64_t from = g->counters[part - PART_ENERGY];

	g->counters[part - PART_ENERGY] = now;
	if (!(g->counted & 1u << part)) {
		g->counted |= 1u << part;
		return 0;
	}
	if (now >= from)
		return now - from;
	return has_32_bits ? now + (UINT64_C(1) << 32) - from : 0;
}

static void read_counters(const struct nvml *nvml, struct nvml_gpu *g, struct gpu_reading *r)
{
	struct nvml_abi_field_value values[NVML_FIELDS];
	uint64_t *bytes[NVML_FIELDS] = {&r->pcie_sent, &r->pcie_received, &r->nvlink_sent,
					&r->nvlink_received};
	uint32_t places[NVML_FIELDS], count = 0;
	unsigned long long energy = 0;

	if (TELLS(nvml, g, PART_ENERGY, energy, g->gpu, &energy))
		r->energy_mj = advance(g, PART_ENERGY, energy, false);
	for (uint32_t i = 0; i < NVML_FIELDS; i++) {
		if (!has(g, PART_FIELDS + i))
			continue;
		values[count] = (struct nvml_abi_field_value){.field_id = fields[i].id,
							      .scope_id = fields[i].scope};
		places[count++] = i;
	}
	if (count == 0 || !nvml->fields ||
	    nvml->fields(g->gpu, (int)count, values) != NVML_ABI_SUCCESS)
		return;
	for (uint32_t i = 0; i < count; i++)
		if (is_told(g, PART_FIELDS + places[i], (int)values[i].result) &&
		    !is_too_small(&values[i], fields[places[i]].unit))
			*bytes[places[i]] =
				fields[places[i]].unit *
				advance(g, PART_FIELDS + places[i], value_of(&values[i]),
					values[i].value_type == NVML_ABI_VALUE_UNSIGNED_INT);
}

bool nvml_read(const struct nvml *nvml, struct nvml_gpu *gpu, struct gpu_reading *reading)
{
	uint64_t before_ns = gpu->read_ns;
	bool is_any;

	memset(reading, 0, sizeof(*reading));
	is_any = read_now(nvml, gpu, reading);
	read_counters(nvml, gpu, reading);
	gpu->read_ns = monotonic_ns();
	reading->start_ns = before_ns;
	reading->end_ns = gpu->read_ns;
	reading->most_sm_mhz = gpu->most_sm_mhz;
	return is_any && before_ns;
}
