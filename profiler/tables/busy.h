/* SPDX-License-Identifier: MIT */
/*
 * Finds when GPUs worked: the union of the times of their operations, from the timeline.
 *
 * Simultaneous work of several streams or processes counts once. Times are in ns, CLOCK_MONOTONIC,
 * clipped to the time that the result shows (result_time_range). Operations without a duration do
 * not count.
 *
 * Devices with one UUID are one device, even if processes number it differently. Without a UUID the
 * number identifies it. Work of an unknown device counts only for all GPUs together.
 *
 * Sorts all operations: 16 million take some seconds and temporarily up to 0.8 GB. There is no
 * result beyond a number of disjoint spans.
 */
#ifndef PROFILER_TABLES_BUSY_H
#define PROFILER_TABLES_BUSY_H

#include <stdbool.h>
#include "profiler/model/result.h"

#define BUSY_SPANS_MAX (UINT64_C(1) << 24)

struct busy_span {
	uint64_t start, end; /* end > start */
	uint32_t device;     /* used while spans are gathered */
};

struct busy_device {
	const struct device *device; /* one description of this device */
	uint64_t ns;
};

struct busy {
	struct busy_device *devices; /* devices that worked, by label */
	uint32_t device_count;
	uint64_t ns;             /* time in which at least one GPU worked */
	struct busy_span *spans; /* spans of that time, in order, with gaps between */
	uint64_t span_count;
};

/*
 * Finds when GPUs worked, as at most `spans_max` spans, usually BUSY_SPANS_MAX. Returns NULL
 * without a readable timeline, with more spans, or if out of memory.
 */
struct busy *busy_new(const struct result *result, uint64_t spans_max);
void busy_free(struct busy *busy);

/*
 * Finds the spans of some operations, united, by `device` and then in order. `key` gets the
 * device's number in the result, or BUSY_NO_DEVICE, and may replace it. The number of equal devices
 * is that of the first. `key` returns false for operations that do not count. Returns false where
 * busy_new returns NULL. The caller frees the spans.
 */
#define BUSY_NO_DEVICE UINT32_MAX
typedef bool (*busy_key)(const void *context, const struct timeline_record *record,
			 uint32_t *device);
bool busy_gather(const struct result *result, busy_key key, const void *context,
		 struct busy_span **spans, uint64_t *count);

/*
 * Returns for each place the index of its device in the result, or BUSY_NO_DEVICE. Equal devices
 * have the index of the first. The caller frees the list. Returns NULL if out of memory.
 */
uint32_t *busy_devices_of_places(const struct result *result);

/* Returns true if a GPU worked at that moment. */
bool busy_at(const struct busy *busy, uint64_t ns);

/* Lists the `max` longest times without work, the longest first. Returns their count. */
uint32_t busy_gaps(const struct busy *busy, const struct result *result, struct busy_span *gaps,
		   uint32_t max);

#endif
