/* SPDX-License-Identifier: MIT */
/*
 * Names of the devices that processes run work on: "GPU 0", "GPU 0 MIG 3/0" for a MIG instance (the
 * ids of its GPU instance and compute instance), "GPU 0 MPS" if the process shares the GPU through
 * the MPS server; with CUPTI's name and the UUID.
 *
 * Device ids are per process, so a device is identified by process and id. CUPTI's description may
 * arrive after operations on the device, so fetch labels at the end.
 *
 * Bounded by DEVICES_MAX over all processes; further devices are shown by number only.
 */
#ifndef PROFILER_PROFILE_DEVICES_H
#define PROFILER_PROFILE_DEVICES_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/gpu_event.h"
#include "symbolize/hash_index.h"

#ifndef DEVICES_MAX /* tests use a smaller one */
#define DEVICES_MAX 16384u
#endif

#define DEVICE_LABEL_BYTES 64
#define DEVICE_NAME_BYTES 128

struct device {
	uint32_t process, id;
	bool is_used;      /* something ran on it */
	bool is_described; /* `name` and `uuid` are valid */
	bool is_mig, is_mps;
	uint32_t gpu_instance, compute_instance;
	uint8_t uuid[GPU_UUID_BYTES]; /* all 0: unknown */
	char name[DEVICE_NAME_BYTES];
	struct gpu_limits limits;
};

/* Zero-initialised is empty. */
struct devices {
	struct device *list;
	uint32_t count, capacity;
	struct hash_index index;
};

void devices_release(struct devices *d);

/* A process's description of its device, and of a context on it. 0 or -ENOMEM. */
int devices_describe(struct devices *d, uint32_t process, const struct gpu_event_device *event);
int devices_note_context(struct devices *d, uint32_t process,
			 const struct gpu_event_context *event);

/* A whole device, which is not there yet. 0, -ENOMEM, or -EINVAL: there is one, or its id is too
 * large. */
int devices_add(struct devices *d, const struct device *device);

/* Work ran on the device. */
void devices_use(struct devices *d, uint32_t process, uint32_t id);

/*
 * Whether two processes mean the same one: by their UUIDs; without UUIDs, by their numbers.
 * Instances of MIG are devices of their own.
 */
bool device_is_same(const struct device *a, const struct device *b);
bool device_has_uuid(const struct device *device);

/* Whether their labels are the same, but for MPS. */
bool device_is_named_same(const struct device *a, const struct device *b);

/* NULL: nothing is known of it. */
const struct device *devices_find(const struct devices *d, uint32_t process, uint32_t id);

/* "GPU-6b1ad9c5-...", as nvidia-smi shows it; "": unknown. */
#define DEVICE_UUID_BYTES 48
const char *device_uuid(const struct device *device, char text[DEVICE_UUID_BYTES]);

/* The name of a device; by process and number, whether it is known or not. */
void device_label(const struct device *device, char label[DEVICE_LABEL_BYTES]);
void devices_label(const struct devices *d, uint32_t process, uint32_t id,
		   char label[DEVICE_LABEL_BYTES]);

/* Forgets those of processes that are not in use. */
void devices_forget(struct devices *d, bool (*is_in_use)(const void *context, uint32_t process),
		    const void *context);

#endif
