/* SPDX-License-Identifier: MIT */
/*
 * Keeps the devices of all processes, and makes their labels.
 *
 * CUDA numbers devices separately in each process, after applying CUDA_VISIBLE_DEVICES. An entry is
 * a device number in a process. Entries with equal UUIDs and MIG instances are one device. Entries
 * without a UUID are one device if their numbers are equal: they share an entry of process 0, which
 * does not exist.
 *
 * A label is "GPU 0". A MIG instance is "GPU 0 MIG 3/0", with the ids of its GPU instance
 * and compute instance. For a GPU shared through the MPS server it is "GPU 0 MPS". The number is
 * the largest that any process has for the device: a process that sees fewer devices has smaller
 * numbers. Equal labels of different devices get the start of the UUID: "GPU 0 (6b1ad9c5)".
 *
 * CUPTI may describe a device after its operations, so labels are made at the end.
 *
 * Bounded by DEVICES_MAX over all processes; further devices are shown by number only.
 */
#ifndef PROFILER_MODEL_DEVICES_H
#define PROFILER_MODEL_DEVICES_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/wire/gpu_event.h"
#include "symbolize/util/record_set.h"

#define DEVICES_MAX 16384u

#define DEVICE_LABEL_BYTES 128
#define DEVICE_NAME_BYTES 128

struct device {
	uint32_t process, id;
	bool is_used;      /* an operation ran on the device */
	bool is_described; /* `name` and `uuid` are valid */
	bool is_mig, is_mps;
	uint32_t gpu_instance, compute_instance;
	uint8_t uuid[GPU_UUID_BYTES]; /* all 0: unknown */
	char name[DEVICE_NAME_BYTES];
	struct gpu_limits limits;
	/* members below are set by struct devices */
	uint32_t key;
	bool is_referred_to;            /* its key was given out */
	uint32_t first;                 /* index of the first entry of the device */
	uint32_t number;                /* in the label */
	bool any_used, any_mps;         /* first entry: if any entry of the device is */
	char label[DEVICE_LABEL_BYTES]; /* "" until it is made */
};

#define DEVICES_NO_KEY UINT32_MAX

/* Zero-initialise: an empty table. */
struct devices {
	RECORD_SET(struct device); /* sorted by key */
	uint32_t next_key, last;   /* `last`: index of the entry of the last devices_key() */
	bool is_labelled;          /* no change since labels were made */
};

void devices_release(struct devices *d);

/* Record a process's description of its device, and of a context on it. Return 0 or -ENOMEM. */
int devices_describe(struct devices *d, uint32_t process, const struct gpu_event_device *event);
int devices_note_context(struct devices *d, uint32_t process,
			 const struct gpu_event_context *event);

/* Adds a complete device. Returns 0, -ENOMEM, or -EINVAL for a duplicate or too large an id. */
int devices_add(struct devices *d, const struct device *device);

/* Notes that an operation ran on the device. */
void devices_use(struct devices *d, uint32_t process, uint32_t id);

/* Makes the labels of all devices. Without memory, devices show as numbers. */
void devices_make_labels(struct devices *d);

/* Returns true if two processes mean one device. */
bool device_is_same(const struct device *a, const struct device *b);
bool device_has_uuid(const struct device *device);

/*
 * Returns the key of a process's device, which never changes. All undescribed devices with one
 * number share a key, even if described later. Returns DEVICES_NO_KEY if the number is too large,
 * or memory is short.
 */
uint32_t devices_key(struct devices *d, uint32_t process, uint32_t id);

/* Returns NULL if there is no such key. */
const struct device *devices_of_key(const struct devices *d, uint32_t key);

/* Copies the label, or "other GPUs" if there is no such key. */
void devices_label_of_key(const struct devices *d, uint32_t key, char label[DEVICE_LABEL_BYTES]);

/* Returns NULL if the device is unknown. */
const struct device *devices_find(const struct devices *d, uint32_t process, uint32_t id);

/* Returns "GPU-6b1ad9c5-...", as nvidia-smi shows it, or "" if the UUID is unknown. */
#define DEVICE_UUID_BYTES 48
const char *device_uuid(const struct device *device, char text[DEVICE_UUID_BYTES]);

/* Copy the label of a device. devices_label() also takes unknown devices. */
void device_label(const struct device *device, char label[DEVICE_LABEL_BYTES]);
void devices_label(const struct devices *d, uint32_t process, uint32_t id,
		   char label[DEVICE_LABEL_BYTES]);

/* Removes the entries of a process, except those whose keys were given out. */
void devices_end_process(struct devices *d, uint32_t process);

/* Compares labels for sorting: "GPU 10" after "GPU 9". */
int device_label_compare(const char *a, const char *b);

/* Removes the entries of unused processes, except those whose keys were given out. */
void devices_forget(struct devices *d, bool (*is_in_use)(const void *context, uint32_t process),
		    const void *context);

#endif
