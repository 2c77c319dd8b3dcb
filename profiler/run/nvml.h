/* SPDX-License-Identifier: MIT */
/*
 * Reads the state of GPUs through NVIDIA's management library (NVML), which is loaded at run time.
 *
 * Only for processes without capabilities (docs/security.md): calls run code of the library, and
 * may block. What a driver or a GPU does not tell stays 0. A reading takes some 170 us on an H200.
 *
 * The PCIe bytes are counters of the GPU, for nvmlDeviceGetPcieThroughput waits 20 ms in each call.
 * A MIG instance has memory of its own; all else is its GPU's.
 */
#ifndef PROFILER_RUN_NVML_H
#define PROFILER_RUN_NVML_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/model/gpu_state.h"
#include "profiler/run/nvml_abi.h"

#define NVML_WHY_BYTES 120
#define NVML_FIELDS 4

/* The loaded library. Functions that it does not have are NULL. */
struct nvml {
#define NVML_MEMBER(member, name, type, parameters) type(*member) parameters;
	NVML_ABI_FUNCTIONS(NVML_MEMBER)
#undef NVML_MEMBER
};

/* A GPU that is read. Members are set by nvml_find() and nvml_read(). */
struct nvml_gpu {
	nvml_abi_device own, gpu; /* differ for a MIG instance: `own` is the instance */
	uint32_t absent;          /* bits of what the GPU does not tell */
	uint32_t counted;         /* bits of counters with a value */
	uint32_t most_sm_mhz;
	uint64_t read_ns;                   /* time of the last reading; 0: none */
	uint64_t counters[1 + NVML_FIELDS]; /* last values: energy, then fields */
};

/* Loads the library. Returns false with the reason in `why`. */
bool nvml_load(struct nvml *nvml, char why[NVML_WHY_BYTES]);

/* Initialises the loaded library. Returns false with the reason in `why`. */
bool nvml_begin(const struct nvml *nvml, char why[NVML_WHY_BYTES]);

/* Finds a device by its UUID, "GPU-..." or "MIG-...". Returns false with the reason in `why`. */
bool nvml_find(const struct nvml *nvml, const char *uuid, struct nvml_gpu *gpu,
	       char why[NVML_WHY_BYTES]);

/*
 * Reads a GPU. Returns false for the first reading of a GPU, from which energy and bytes count, and
 * if the GPU tells nothing.
 */
bool nvml_read(const struct nvml *nvml, struct nvml_gpu *gpu, struct gpu_reading *reading);

#endif
