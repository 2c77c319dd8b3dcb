// SPDX-License-Identifier: MIT
#include "profiler/model/gpu_load.h"

#include <stdlib.h>
#include <string.h>
#include "symbolize/util/array.h"

void gpu_load_release(struct gpu_load *load)
{
	for (uint32_t i = 0; i < load->count; i++)
		free(load->devices[i].spans);
	free(load->owners);
	memset(load, 0, sizeof(*load));
}

/* Finds or adds a device. Returns NULL if there are too many, or memory is short. */
static struct gpu_load_device *find_device(struct gpu_load *load, uint32_t key)
{
	struct gpu_load_device *d;

	for (uint32_t i = 0; i < load->count; i++)
		if (load->devices[i].key == key)
			return &load->devices[i];
	if (load->count == GPU_LOAD_DEVICES)
		return NULL;
	d = &load->devices[load->count];
	*d = (struct gpu_load_device){.key = key,
				      .spans = calloc(GPU_LOAD_SPANS, sizeof(*d->spans))};
	if (!d->spans)
		return NULL;
	load->count++;
	return d;
}

/* ---- time ---- */

/* Adds a time range that no earlier operation covers. */
static void add_busy(struct gpu_load_device *d, uint64_t from_ns, uint64_t until_ns)
{
	uint64_t last = (until_ns - 1) / GPU_LOAD_BIN_NS, first = from_ns / GPU_LOAD_BIN_NS;

	d->busy_ns += until_ns - from_ns;
	if (last - first >= GPU_LOAD_BINS)
		first = last - (GPU_LOAD_BINS - 1);
	for (uint64_t number = first; number <= last; number++) {
		uint64_t start = number * GPU_LOAD_BIN_NS, end = start + GPU_LOAD_BIN_NS;
		uint32_t at = (uint32_t)(number % GPU_LOAD_BINS);

		if (d->bins[at].number > number)
			continue; /* older than the bins */
		if (d->bins[at].number < number)
			d->bins[at].ns = 0;
		d->bins[at].number = number;
		d->bins[at].ns +=
			(until_ns < end ? until_ns : end) - (from_ns > start ? from_ns : start);
	}
}

/* Drops the older half of the spans. */
static void forget_half(struct gpu_load_device *d)
{
	uint32_t half = d->count / 2;

	d->floor_ns = d->spans[half - 1].end_ns;
	d->count -= half;
	memmove(d->spans, d->spans + half, d->count * sizeof(*d->spans));
}

void gpu_load_run(struct gpu_load *load, uint32_t device, uint64_t start_ns, uint64_t duration_ns)
{
	struct gpu_load_device *d = find_device(load, device);
	struct gpu_load_span merged = {start_ns, start_ns + duration_ns};
	uint64_t uncovered;
	uint32_t end, begin;

	if (!d || merged.end_ns < start_ns)
		return;
	if (merged.start_ns < d->floor_ns)
		merged.start_ns = d->floor_ns;
	if (merged.start_ns >= merged.end_ns)
		return;
	if (d->count == GPU_LOAD_SPANS)
		forget_half(d);
	end = d->count;
	while (end > 0 && d->spans[end - 1].start_ns > merged.end_ns)
		end--;
	/* the spans from `begin` to `end` touch the operation: merge them */
	uncovered = merged.end_ns;
	start_ns = merged.start_ns;
	for (begin = end; begin > 0 && d->spans[begin - 1].end_ns >= start_ns; begin--) {
		const struct gpu_load_span *span = &d->spans[begin - 1];

		if (span->end_ns < uncovered)
			add_busy(d, span->end_ns, uncovered);
		if (span->start_ns < uncovered)
			uncovered = span->start_ns;
		if (span->start_ns < merged.start_ns)
			merged.start_ns = span->start_ns;
		if (span->end_ns > merged.end_ns)
			merged.end_ns = span->end_ns;
	}
	if (uncovered > start_ns)
		add_busy(d, start_ns, uncovered);
	if (end != begin + 1)
		memmove(d->spans + begin + 1, d->spans + end, (d->count - end) * sizeof(*d->spans));
	d->count = d->count - (end - begin) + 1;
	d->spans[begin] = merged;
}

uint64_t gpu_load_busy(const struct gpu_load_device *d, uint64_t from_ns, uint64_t until_ns)
{
	uint64_t from = from_ns / GPU_LOAD_BIN_NS, until = until_ns / GPU_LOAD_BIN_NS, ns = 0;

	for (uint32_t i = 0; i < GPU_LOAD_BINS; i++)
		if (d->bins[i].number >= from && d->bins[i].number < until)
			ns += d->bins[i].ns;
	return ns;
}

/* ---- memory ---- */

void gpu_load_allocate(struct gpu_load *load, uint32_t process, uint32_t device, int64_t bytes)
{
	struct gpu_load_owner *owner = NULL;

	find_device(load, device);
	for (uint32_t i = 0; i < load->owner_count && !owner; i++)
		if (load->owners[i].process == process && load->owners[i].device == device)
			owner = &load->owners[i];
	if (!owner) {
		if (load->owner_count == GPU_LOAD_OWNERS ||
		    !array_make_room(&load->owners, load->owner_count, &load->owner_capacity,
				     sizeof(*owner)))
			return;
		owner = &load->owners[load->owner_count++];
		*owner = (struct gpu_load_owner){process, device, 0};
	}
	if (__builtin_add_overflow(owner->bytes, bytes, &owner->bytes))
		owner->bytes = 0;
}

void gpu_load_forget(struct gpu_load *load, uint32_t process)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < load->owner_count; i++)
		if (load->owners[i].process != process)
			load->owners[kept++] = load->owners[i];
	load->owner_count = kept;
}

uint64_t gpu_load_memory(const struct gpu_load *load, uint32_t device)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < load->owner_count; i++)
		if (load->owners[i].device == device && load->owners[i].bytes > 0)
			sum += (uint64_t)load->owners[i].bytes;
	return sum;
}
