// SPDX-License-Identifier: MIT
#include "profiler/model/devices.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/sorted.h"

void devices_release(struct devices *d)
{
	record_set_release(&d->set);
	*d = (struct devices){0};
}

static struct device *find(const struct devices *d, uint32_t process, uint32_t id)
{
	const uint32_t key[] = {process, id};
	uint32_t at = record_find(d, &key);

	return at == RECORD_NONE ? NULL : &d->list[at];
}

/* Finds or adds the device. Sets NULL if there are too many. Returns 0 or -ENOMEM. */
static int get(struct devices *d, uint32_t process, uint32_t id, struct device **device)
{
	const uint32_t key[] = {process, id};
	struct device added;

	*device = find(d, process, id);
	/* entries of process 0 are bounded by GPU_DEVICE_MAX_ID */
	if (*device || id >= GPU_DEVICE_MAX_ID || (process != 0 && d->count >= DEVICES_MAX))
		return 0;
	added = (struct device){
		.process = process, .id = id, .key = d->next_key, .first = d->count, .number = id};
	if (record_add(d, &key, &added) == RECORD_NONE)
		return -ENOMEM;
	d->is_labelled = false;
	d->next_key++;
	*device = &d->list[added.first];
	return 0;
}

/* Links the entries of one device, after a UUID became known. */
static void link_entries(struct devices *d, struct device *device)
{
	uint32_t own = (uint32_t)(device - d->list);

	d->is_labelled = false;
	device->first = 0;
	while (device->first < own && (!device_has_uuid(&d->list[device->first]) ||
				       !device_is_same(&d->list[device->first], device)))
		device->first++;
	for (uint32_t i = own + 1; i < d->count && device->first == own; i++)
		if (device_has_uuid(&d->list[i]) && device_is_same(&d->list[i], device))
			d->list[i].first = own;
}

/* Returns the entry of the device, or the shared one of process 0 if it is undescribed, or NULL. */
static struct device *find_described(struct devices *d, uint32_t process, uint32_t id)
{
	struct device *device = find(d, process, id);

	if (!device || !device->is_described)
		get(d, 0, id, &device);
	return device;
}

/* Copies a GPU name, with '?' for bytes that CUPTI would not send. */
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
	added->first = count;
	added->key = d->next_key - 1;
	added->is_referred_to = false;
	added->number = device->id;
	added->label[0] = '\0';
	copy_name(added->name, sizeof(added->name), device->name);
	if (device_has_uuid(added))
		link_entries(d, added);
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
	if (device_has_uuid(device))
		link_entries(d, device);
	return 0;
}

int devices_note_context(struct devices *d, uint32_t process, const struct gpu_event_context *event)
{
	struct device *device;
	int err = get(d, process, event->device_id, &device);

	if (device && event->is_mps) {
		device->is_mps = true;
		d->is_labelled = false;
	}
	return err;
}

void devices_use(struct devices *d, uint32_t process, uint32_t id)
{
	struct device *device = find_described(d, process, id);

	if (device && !device->is_used) {
		device->is_used = true;
		d->is_labelled = false;
	}
}

bool device_has_uuid(const struct device *device)
{
	static const uint8_t none[GPU_UUID_BYTES];

	return device->is_described && memcmp(device->uuid, none, sizeof(none)) != 0;
}

/* Returns whether two entries of one GPU are not MIG instances, or one MIG instance. */
static bool is_same_instance(const struct device *a, const struct device *b)
{
	return a->is_mig == b->is_mig &&
	       (!a->is_mig ||
		(a->gpu_instance == b->gpu_instance && a->compute_instance == b->compute_instance));
}

bool device_is_same(const struct device *a, const struct device *b)
{
	bool has_uuid = device_has_uuid(a);

	if (has_uuid != device_has_uuid(b) || !is_same_instance(a, b))
		return false;
	return has_uuid ? memcmp(a->uuid, b->uuid, sizeof(a->uuid)) == 0 : a->id == b->id;
}

static void plain_label(const struct device *device, char label[DEVICE_LABEL_BYTES])
{
	char mig[32] = "";

	if (device->is_mig)
		snprintf(mig, sizeof(mig), " MIG %u/%u", device->gpu_instance,
			 device->compute_instance);
	snprintf(label, DEVICE_LABEL_BYTES, "GPU %u%s%s", device->number, mig,
		 device->is_mps ? " MPS" : "");
}

void device_label(const struct device *device, char label[DEVICE_LABEL_BYTES])
{
	struct device unlabelled = *device;

	unlabelled.number = device->id;
	if (device->label[0])
		snprintf(label, DEVICE_LABEL_BYTES, "%s", device->label);
	else
		plain_label(&unlabelled, label);
}

const struct device *devices_find(const struct devices *d, uint32_t process, uint32_t id)
{
	return find(d, process, id);
}

uint32_t devices_key(struct devices *d, uint32_t process, uint32_t id)
{
	struct device *device = d->last < d->count ? &d->list[d->last] : NULL;

	if (!device || device->process != process || device->id != id || !device_has_uuid(device))
		device = find_described(d, process, id);
	if (!device)
		return DEVICES_NO_KEY;
	d->last = (uint32_t)(device - d->list);
	device = &d->list[device->first];
	if (!device->is_referred_to) {
		device->is_referred_to = true;
		d->is_labelled = false;
	}
	return device->key;
}

static int by_key(const void *key, const void *device)
{
	uint32_t wanted = *(const uint32_t *)key, found = ((const struct device *)device)->key;

	return compare_numbers(wanted, found);
}

const struct device *devices_of_key(const struct devices *d, uint32_t key)
{
	return d && d->count ? bsearch(&key, d->list, d->count, sizeof(*d->list), by_key) : NULL;
}

void devices_label_of_key(const struct devices *d, uint32_t key, char label[DEVICE_LABEL_BYTES])
{
	const struct device *device = devices_of_key(d, key);

	if (device)
		device_label(device, label);
	else
		snprintf(label, DEVICE_LABEL_BYTES, "other GPUs");
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

/* ---- labels ---- */

static int by_label(const void *a, const void *b)
{
	const struct device *x = *(const struct device *const *)a;
	const struct device *y = *(const struct device *const *)b;
	int order = strcmp(x->label, y->label);

	return order ? order : memcmp(x->uuid, y->uuid, sizeof(x->uuid));
}

/*
 * Appends to each label the part of the UUID that distinguishes these devices, which are sorted by
 * UUID.
 */
static void add_uuids(struct device **devices, uint32_t count)
{
	enum { BEGINNING = 4 };
	bool is_short = true;

	for (uint32_t i = 1; i < count; i++)
		is_short = is_short && memcmp(devices[i - 1]->uuid, devices[i]->uuid, BEGINNING);
	for (uint32_t i = 0; i < count; i++) {
		size_t length = strlen(devices[i]->label);
		char text[DEVICE_UUID_BYTES];

		device_uuid(devices[i], text);
		snprintf(devices[i]->label + length, DEVICE_LABEL_BYTES - length,
			 is_short ? " (%.8s)" : " (%s)", text + strlen("GPU-"));
	}
}

/* Sums up all entries of a device in its first one. Returns true if any device is used. */
static bool collect_entries(struct devices *d)
{
	bool any = false;

	for (uint32_t i = 0; i < d->count; i++) {
		d->list[i].number = d->list[i].id;
		d->list[i].any_used = d->list[i].any_mps = false;
	}
	for (uint32_t i = 0; i < d->count; i++) {
		const struct device *device = &d->list[i];
		struct device *first = &d->list[device->first];

		if (device->id > first->number)
			first->number = device->id;
		first->any_used |= device->is_used || device->is_referred_to;
		first->any_mps |= device->is_mps;
		any |= first->any_used;
	}
	return any;
}

/* Makes the labels of first entries. `firsts` has room for all devices. */
static void label_firsts(struct devices *d, struct device **firsts)
{
	bool any_used = collect_entries(d);
	uint32_t count = 0;

	for (uint32_t i = 0; i < d->count; i++) {
		struct device named = d->list[i];

		if (named.first != i)
			continue;
		named.is_mps = named.any_mps;
		plain_label(&named, d->list[i].label);
		/* unused devices need no distinct labels */
		if (named.any_used || !any_used)
			firsts[count++] = &d->list[i];
	}
	if (count)
		qsort(firsts, count, sizeof(struct device *), by_label);
	for (uint32_t from = 0, to; from < count; from = to) {
		to = from + 1;
		while (to < count && strcmp(firsts[to]->label, firsts[from]->label) == 0)
			to++;
		/* a device without UUID may be any of these */
		while (from < to && !device_has_uuid(firsts[from]))
			from++;
		if (to - from > 1)
			add_uuids(firsts + from, to - from);
	}
}

void devices_make_labels(struct devices *d)
{
	struct device **firsts;

	if (d->is_labelled)
		return;
	firsts = calloc(d->count + (size_t)1, sizeof(*firsts));
	if (!firsts)
		return;
	label_firsts(d, firsts);
	free(firsts);
	for (uint32_t i = 0; i < d->count; i++) {
		const struct device *first = &d->list[d->list[i].first];

		d->list[i].number = first->number;
		if (first != &d->list[i])
			memcpy(d->list[i].label, first->label, DEVICE_LABEL_BYTES);
	}
	d->is_labelled = true;
}

void devices_label(const struct devices *d, uint32_t process, uint32_t id,
		   char label[DEVICE_LABEL_BYTES])
{
	const struct device unknown = {.id = id}, *device = find(d, process, id);

	device_label(device ? device : &unknown, label);
}

int device_label_compare(const char *a, const char *b)
{
	return strverscmp(a, b);
}

static bool is_another(const void *context, uint32_t process)
{
	return process != *(const uint32_t *)context;
}

void devices_end_process(struct devices *d, uint32_t process)
{
	devices_forget(d, is_another, &process);
}

void devices_forget(struct devices *d, bool (*is_in_use)(const void *context, uint32_t process),
		    const void *context)
{
	uint32_t left = 0;

	d->is_labelled = false; /* indexes change */
	for (uint32_t i = 0; i < d->count; i++) {
		const struct device *device = &d->list[i];

		if (!device->is_referred_to && !is_in_use(context, device->process))
			continue;
		d->list[left] = *device;
		d->list[left].first = left;
		left++;
	}
	d->count = left;
	record_reindex(d, uint32_t[2]);
	for (uint32_t i = 0; i < left; i++)
		if (device_has_uuid(&d->list[i]) && d->list[i].first == i)
			link_entries(d, &d->list[i]);
}
