// SPDX-License-Identifier: MIT
#include "profiler/collect/devices.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 64 /* of the report */

struct device {
	uint32_t pid, id;
	bool used, described, is_mig, is_mps;
	uint32_t gpu_instance, compute_instance;
	uint8_t uuid[GPU_UUID_BYTES];
	char label[64];
	char name[128];
};

void devices_release(struct devices *d)
{
	for (uint32_t i = 0; i < d->count; i++)
		free(d->list[i]);
	free(d->list);
	hash_index_release(&d->index);
	memset(d, 0, sizeof(*d));
}

static uint32_t hash_of(uint32_t pid, uint32_t id)
{
	return hash_bytes((uint32_t[]){pid, id}, 8);
}

static bool device_equal(const void *records, uint32_t position, const void *key)
{
	const struct device *a = ((struct device *const *)records)[position], *b = key;

	return a->pid == b->pid && a->id == b->id;
}

static uint32_t find(const struct devices *d, uint32_t pid, uint32_t id)
{
	const struct device key = {.pid = pid, .id = id};

	return hash_index_find(&d->index, hash_of(pid, id), device_equal, d->list, &key);
}

static void set_label(struct device *device)
{
	char mig[32] = "";

	if (device->is_mig)
		snprintf(mig, sizeof(mig), " MIG %u/%u", device->gpu_instance,
			 device->compute_instance);
	snprintf(device->label, sizeof(device->label), "GPU %u%s%s", device->id, mig,
		 device->is_mps ? " MPS" : "");
}

/* Room for one more. */
static bool grow(struct devices *d)
{
	uint32_t capacity = d->capacity ? d->capacity * 2 : 16;
	struct device **list;

	if (d->count < d->capacity)
		return true;
	list = realloc(d->list, capacity * sizeof(struct device *));
	if (!list)
		return false;
	d->list = list;
	d->capacity = capacity;
	return true;
}

/* 0 with the device, which is NULL when there are too many; or -ENOMEM. */
static int get(struct devices *d, uint32_t pid, uint32_t id, struct device **device)
{
	uint32_t at = find(d, pid, id);

	*device = NULL;
	if (at != HASH_INDEX_NONE) {
		*device = d->list[at];
		return 0;
	}
	if (id >= GPU_DEVICE_MAX_ID || d->count == DEVICES_MAX)
		return 0;
	if (!grow(d))
		return -ENOMEM;
	*device = calloc(1, sizeof(struct device));
	if (!*device)
		return -ENOMEM;
	(*device)->pid = pid;
	(*device)->id = id;
	if (hash_index_add(&d->index, hash_of(pid, id), d->count) != 0) {
		free(*device);
		*device = NULL;
		return -ENOMEM;
	}
	set_label(*device);
	d->list[d->count++] = *device;
	return 0;
}

/* Names of GPUs are plain text; what is not, came from somewhere else. */
static void copy_name(char *out, size_t size, const char *name)
{
	size_t n = 0;

	for (; name[n] && n + 1 < size; n++)
		out[n] = (char)(name[n] >= 0x20 && name[n] < 0x7f ? name[n] : '?');
	out[n] = '\0';
}

int devices_describe(struct devices *d, uint32_t pid, const struct gpu_event_device *event)
{
	struct device *device;
	int err = get(d, pid, event->id, &device);

	if (!device)
		return err;
	device->described = true;
	device->is_mig = event->is_mig != 0;
	device->gpu_instance = event->gpu_instance;
	device->compute_instance = event->compute_instance;
	memcpy(device->uuid, event->uuid, sizeof(device->uuid));
	copy_name(device->name, sizeof(device->name), event->name);
	set_label(device);
	return 0;
}

int devices_note_context(struct devices *d, uint32_t pid, const struct gpu_event_context *event)
{
	struct device *device;
	int err = get(d, pid, event->device_id, &device);

	if (!device || !event->is_mps)
		return err;
	device->is_mps = true;
	set_label(device);
	return 0;
}

const char *devices_use(struct devices *d, uint32_t pid, uint32_t id)
{
	struct device *device = d->last < d->count ? d->list[d->last] : NULL;

	/* mostly the same as before */
	if (device && device->pid == pid && device->id == id && device->used)
		return device->label;
	get(d, pid, id, &device);
	if (!device)
		return NULL;
	device->used = true;
	d->last = find(d, pid, id);
	return device->label;
}

void devices_forget(struct devices *d, uint32_t pid)
{
	for (uint32_t id = 0; id < GPU_DEVICE_MAX_ID && d->count; id++) {
		uint32_t at = find(d, pid, id);

		if (at != HASH_INDEX_NONE)
			hash_index_remove(&d->index, hash_of(pid, id), at);
	}
	d->last = DEVICES_MAX;
}

/* ---- the report ---- */

static int by_label(const void *a, const void *b)
{
	const struct device *x = *(struct device *const *)a, *y = *(struct device *const *)b;
	int order = strcmp(x->label, y->label);

	if (!order)
		order = memcmp(x->uuid, y->uuid, sizeof(x->uuid));
	return order ? order : strcmp(x->name, y->name);
}

static void report_one(struct log *log, const struct device *device)
{
	static const uint8_t none[GPU_UUID_BYTES];
	const uint8_t *u = device->uuid;
	char uuid[64] = "";

	if (memcmp(u, none, sizeof(none)) != 0)
		snprintf(
			uuid, sizeof(uuid),
			", %s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
			device->is_mig ? "MIG" : "GPU", u[0], u[1], u[2], u[3], u[4], u[5], u[6],
			u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
	log_verbose(log, "%s: %s%s", device->label,
		    device->described ? device->name : "CUPTI did not tell its name", uuid);
}

void devices_report(const struct devices *d, struct log *log)
{
	struct device **used = calloc(d->count + 1, sizeof(*used));
	uint32_t count = 0, lines = 0;

	for (uint32_t i = 0; used && i < d->count; i++)
		if (d->list[i]->used)
			used[count++] = d->list[i];
	if (count)
		qsort(used, count, sizeof(*used), by_label);
	for (uint32_t i = 0; i < count; i++) {
		if (i > 0 && by_label(&used[i - 1], &used[i]) == 0)
			continue;
		if (lines++ < LINES_MAX)
			report_one(log, used[i]);
	}
	if (lines > LINES_MAX)
		log_verbose(log, "and %u more devices", lines - LINES_MAX);
	free(used);
}
