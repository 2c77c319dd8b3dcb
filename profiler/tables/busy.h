/* SPDX-License-Identifier: MIT */
/*
 * When GPUs worked, and when none did: the union of the times of their operations, from the
 * timeline. Work of several streams or processes at once counts once.
 *
 * Times are in ns, CLOCK_MONOTONIC, and within the time that the result shows (result_time_range):
 * what is before or after it does not count. Operations without a duration do not count either.
 *
 * One device is one UUID, also if several processes number it differently; without a UUID it is
 * the number. Work whose device is unknown counts for all GPUs together only.
 *
 * Sorts all operations: 16 million take some seconds and up to 0.8 GB for the moment. Beyond
 * a number of spans that do not touch, there is no result.
 */
#ifndef PROFILER_TABLES_BUSY_H
#define PROFILER_TABLES_BUSY_H

#include <stdbool.h>
#include "profiler/model/result.h"

#define BUSY_SPANS_MAX (UINT64_C(1) << 24)

struct busy_span {
	uint64_t start, end; /* end > start */
	uint32_t device;     /* while it is made */
};

struct busy_device {
	const struct device *device; /* one of those that are this device */
	uint64_t ns;
};

struct busy {
	struct busy_device *devices; /* that worked, by label */
	uint32_t device_count;
	uint64_t ns;             /* at least one GPU worked */
	struct busy_span *spans; /* the same: in order, with gaps between them */
	uint64_t span_count;
};

/*
 * Finds when GPUs worked, as at most so many spans, usually BUSY_SPANS_MAX. NULL: there is no
 * timeline, it could not be read, too many spans, or out of memory.
 */
struct busy *busy_new(const struct result *result, uint64_t spans_max);
void busy_free(struct busy *busy);

/*
 * The same spans of some operations: united and in order, by `device`, which is at first the number
 * of the first of the result's devices that is the same, or BUSY_NO_DEVICE, and then what `key`
 * makes of it. `key` returns false for operations that do not count. False: as NULL above. The
 * caller frees the spans.
 */
#define BUSY_NO_DEVICE UINT32_MAX
typedef bool (*busy_key)(const void *context, const struct timeline_record *record,
			 uint32_t *device);
bool busy_gather(const struct result *result, busy_key key, const void *context,
		 struct busy_span **spans, uint64_t *count);

/* Returns whether some GPU worked at that moment. */
bool busy_at(const struct busy *busy, uint64_t ns);

/* The longest times without work, the longest first, of at most `max`; returns how many there are.
 */
uint32_t busy_gaps(const struct busy *busy, const struct result *result, struct busy_span *gaps,
		   uint32_t max);

#endif
