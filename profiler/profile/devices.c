// SPDX-License-Identifier: MIT
#include "profiler/profile/devices.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/array.h"

void devices_release(struct devices *d)
{
	free(d->list);
	hash_index_release(&d->index);
	*d = (struct devices){0};
}

static bool device_equal(const void *records, uint32_t position, const void *key)
{
	const struct device *a = (const struct device *)records + position, *b = key;

	return a->process == b->process && a->id == b->id;
}

static struct device *find(const struct devices *d, uint32_t process, uint32_t id)
{
	const struct device key = {.process = process, .id = id};
	uint32_t at =
		hash_index_find(&d->index, hash_pair(process, id), device_equal, d->list, &key);

	return at == HASH_INDEX_NONE ? NULL : &d->list[at];
}

/* Finds or adds the device; NULL if there are too many. 0 or -ENOMEM. */
static int get(struct devices *d, uint32_t process, uint32_t id, struct device **device)
{
	*device = find(d, process, id);
	if (*device || id >= GPU_DEVICE_MAX_ID || d->count == DEVICES_MAX)
		return 0;
	if (!array_make_room(&d->list, d->count, &d->capacity, sizeof(**device)) ||
	    hash_index_add(&d->index, hash_pair(process, id), d->count) != 0)
		return -ENOMEM;
	*device = &d->list[d->count++];
	**device = (struct device){.process = process, .id = id};
	return 0;
}

/* GPU names are plain text; other bytes did not come from CUPTI. */
static void copy_name(char *out, size_t size, const char *name)
{
	size_t n = 0;

	for (; name[n] && n + 1 < size; n++)
		out[n] = (char)(name[n] >= 0x20 && name[n] < 0x7f ? name[n] : '?');
	out[n] = '\0';
}

int devices_add(struct devices *d, const struct device *device)
{
	uint32_t count = d->count;
	struct device *added;
	int err = get(d, device->process, device->id, &added);

	if (err)
		return err;
	if (d->count == count)
		return -EINVAL;
	*added = *device;
	copy_name(added->name, sizeof(added->name), device->name);
	return 0;
}

int devices_describe(struct devices *d, uint32_t process, const struct gpu_event_device *event)
{
	struct device *device;
	int err = get(d, process, event->id, &device);

	if (!device)
		return err;
	device->is_described = true;
	device->is_mig = event->is_mig != 0;
	device->gpu_instance = event->gpu_instance;
	device->compute_instance = event->compute_instance;
	device->limits = event->limits;
	memcpy(device->uuid, event->uuid, sizeof(device->uuid));
	copy_name(device->name, sizeof(device->name), event->name);
	return 0;
}

int devices_note_context(struct devices *d, uint32_t process, const struct gpu_event_context *event)
{
	struct device *device;
	int err = get(d, process, event->device_id, &device);

	if (device && event->is_mps)
		device->is_mps = true;
	return err;
}

void devices_use(struct devices *d, uint32_t process, uint32_t id)
{
	struct device *device;

	get(d, process, id, &device);
	if (device)
		device->is_used = true;
}

bool device_has_uuid(const struct device *device)
{
	static const uint8_t none[GPU_UUID_BYTES];

	return device->is_described && memcmp(device->uuid, none, sizeof(none)) != 0;
}

/* Of a GPU: neither is a MIG instance, or both are the same one. */
static bool is_same_instance(const struct device *a, const struct device *b)
{
	return a->is_mig == b->is_mig &&
	       (!a->is_mig ||
		(a->gpu_instance == b->gpu_instance && a->compute_instance == b->compute_instance));
}

bool device_is_named_same(const struct device *a, const struct device *b)
{
	return a->id == b->id && is_same_instance(a, b);
}

bool device_is_same(const struct device *a, const struct device *b)
{
	bool has_uuid = device_has_uuid(a);

	if (has_uuid != device_has_uuid(b) || !is_same_instance(a, b))
		return false;
	return has_uuid ? memcmp(a->uuid, b->uuid, sizeof(a->uuid)) == 0 : a->id == b->id;
}

void device_label(const struct device *device, char label[DEVICE_LABEL_BYTES])
{
	char mig[32] = "";

	if (device->is_mig)
		snprintf(mig, sizeof(mig), " MIG %u/%u", device->gpu_instance,
			 device->compute_instance);
	snprintf(label, DEVICE_LABEL_BYTES, "GPU %u%s%s", device->id, mig,
		 device->is_mps ? " MPS" : "");
}

const struct device *devices_find(const struct devices *d, uint32_t process, uint32_t id)
{
	return find(d, process, id);
}

const char *device_uuid(const struct device *device, char text[DEVICE_UUID_BYTES])
{
	const uint8_t *u = device->uuid;

	if (!device_has_uuid(device))
		text[0] = '\0';
	else
		snprintf(text, DEVICE_UUID_BYTES,
			 "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
			 device->is_mig ? "MIG" : "GPU", u[0], u[1], u[2], u[3], u[4], u[5], u[6],
			 u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
	return text;
}

void devices_label(const struct devices *d, uint32_t process, uint32_t id,
		   char label[DEVICE_LABEL_BYTES])
{
	const struct device unknown = {.id = id}, *device = find(d, process, id);

	device_label(device ? device : &unknown, label);
}

void devices_forget(struct devices *d, bool (*is_in_use)(const void *context, uint32_t process),
		    const void *context)
{
	uint32_t left = 0;

	hash_index_clear(&d->index);
	for (uint32_t i = 0; i < d->count; i++) {
		const struct device *device = &d->list[i];

		if (!is_in_use(context, device->process))
			continue;
		/* cannot fail: there were more */
		hash_index_add(&d->index, hash_pair(device->process, device->id), left);
		d->list[left++] = *device;
	}
	d->count = left;
}
