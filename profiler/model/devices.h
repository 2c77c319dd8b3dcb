/* SPDX-License-Identifier: MIT */
/*
 * The devices that processes run work on, and their labels.
 *
 * CUDA numbers devices anew in each process, after CUDA_VISIBLE_DEVICES. An entry is a number of a
 * process. Entries with one UUID, and one MIG instance, are one device. Entries without a UUID are
 * one device if they have one number: they have the keys of process 0, which is none.
 *
 * A label is "GPU 0", "GPU 0 MIG 3/0" for a MIG instance (the ids of its GPU instance and compute
 * instance), or "GPU 0 MPS" for a GPU that is shared through the MPS server. The number is the
 * largest that a process uses for the device: a process that sees fewer devices has smaller ones.
 * Devices whose labels would be equal have the beginning of their UUIDs: "GPU 0 (6b1ad9c5)".
 *
 * CUPTI's description may arrive after operations on the device, so labels are made at the end.
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
	bool is_used;      /* something ran on it */
	bool is_described; /* `name` and `uuid` are valid */
	bool is_mig, is_mps;
	uint32_t gpu_instance, compute_instance;
	uint8_t uuid[GPU_UUID_BYTES]; /* all 0: unknown */
	char name[DEVICE_NAME_BYTES];
	struct gpu_limits limits;
	/* set by struct devices */
	uint32_t key;
	bool is_referred_to;            /* by its key */
	uint32_t first;                 /* entry of the same device: a place in the list */
	uint32_t number;                /* in the label */
	char label[DEVICE_LABEL_BYTES]; /* "": not made yet */
};

#define DEVICES_NO_KEY UINT32_MAX

/* Zero-initialised is empty. */
struct devices {
	RECORD_SET(struct device); /* in order of keys */
	uint32_t next_key, last;   /* `last`: place of the entry whose key was asked for */
	bool is_labelled;          /* nothing has changed since */
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

/* Makes the labels of all devices; without memory they stay numbers. */
void devices_make_labels(struct devices *d);

/* Returns true if two processes mean the same one. */
bool device_is_same(const struct device *a, const struct device *b);
bool device_has_uuid(const struct device *device);

/*
 * Returns the key of a process's device, which stays that device's. All devices of one number that
 * are not described have one key, also before they are. DEVICES_NO_KEY: there is no such number, or
 * no memory.
 */
uint32_t devices_key(struct devices *d, uint32_t process, uint32_t id);

/* NULL: there is no such key. */
const struct device *devices_of_key(const struct devices *d, uint32_t key);

/* Copies the label; "other GPUs" where there is no such key. */
void devices_label_of_key(const struct devices *d, uint32_t key, char label[DEVICE_LABEL_BYTES]);

/* NULL: nothing is known of it. */
const struct device *devices_find(const struct devices *d, uint32_t process, uint32_t id);

/* "GPU-6b1ad9c5-...", as nvidia-smi shows it; "": unknown. */
#define DEVICE_UUID_BYTES 48
const char *device_uuid(const struct device *device, char text[DEVICE_UUID_BYTES]);

/* Copies the label of a device; by process and number, also of one that is not known. */
void device_label(const struct device *device, char label[DEVICE_LABEL_BYTES]);
void devices_label(const struct devices *d, uint32_t process, uint32_t id,
		   char label[DEVICE_LABEL_BYTES]);

/* Forgets those of a process, but for those that keys refer to. */
void devices_end_process(struct devices *d, uint32_t process);

/* Orders labels: "GPU 10" after "GPU 9". */
int device_label_compare(const char *a, const char *b);

/* Forgets those of processes that are not in use, but for those that keys refer to. */
void devices_forget(struct devices *d, bool (*is_in_use)(const void *context, uint32_t process),
		    const void *context);

#endif
