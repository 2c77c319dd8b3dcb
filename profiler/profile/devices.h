/* SPDX-License-Identifier: MIT */
/*
 * What the devices are called that processes run their work on: "GPU 0", "GPU 0 MIG 3/0" of a MIG
 * instance (its GPU instance's and compute instance's ids), "GPU 0 MPS" where the process shares
 * the GPU by the MPS server; with CUPTI's name and the UUID.
 *
 * Device ids are a process's own, so a device is known by process and id. What CUPTI says of it may
 * come after operations on it: names are asked for when all has come.
 *
 * Bounded: DEVICES_MAX of all processes; those that come later have no more than their number.
 */
#ifndef PROFILER_PROFILE_DEVICES_H
#define PROFILER_PROFILE_DEVICES_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/gpu_event.h"
#include "symbolize/hash_index.h"

#ifndef DEVICES_MAX /* tests have a smaller one */
#define DEVICES_MAX 16384u
#endif

#define DEVICE_LABEL_BYTES 64
#define DEVICE_NAME_BYTES 128

struct device {
	uint32_t process, id;
	bool is_used;      /* something ran on it */
	bool is_described; /* `name` and `uuid` hold */
	bool is_mig, is_mps;
	uint32_t gpu_instance, compute_instance;
	uint8_t uuid[GPU_UUID_BYTES]; /* all 0: not known */
	char name[DEVICE_NAME_BYTES];
};

/* Zero-initialised is empty. */
struct devices {
	struct device *list;
	uint32_t count, capacity;
	struct hash_index index;
};

void devices_release(struct devices *d);

/* What a process says of its device, and of a context on it. 0 or -ENOMEM. */
int devices_describe(struct devices *d, uint32_t process, const struct gpu_event_device *event);
int devices_note_context(struct devices *d, uint32_t process,
			 const struct gpu_event_context *event);

/* Something ran on it. */
void devices_use(struct devices *d, uint32_t process, uint32_t id);

/* What a device is called; by process and number, whether it is known or not. */
void device_label(const struct device *device, char label[DEVICE_LABEL_BYTES]);
void devices_label(const struct devices *d, uint32_t process, uint32_t id,
		   char label[DEVICE_LABEL_BYTES]);

#endif
