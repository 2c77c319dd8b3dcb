// SPDX-License-Identifier: MIT
#include "profiler/tables/busy.h"

#include <stdlib.h>
#include <string.h>
#include "symbolize/util/sorted.h"

/* Spans while they are gathered. */
struct gathering {
	const struct result *result;
	uint64_t from, to;   /* the time that counts */
	uint32_t *device_of; /* by place: the first of equal devices */
	busy_key key;
	const void *context;
	struct busy_span *spans;
	uint64_t count, capacity, max;
};

/* ---- devices ---- */

static uint32_t find_device(const struct result *r, const struct place *place)
{
	uint32_t at = 0, first = 0;

	while (at < r->device_count && (r->devices[at].process != place->part[PLACE_PROCESS] ||
					r->devices[at].id != place->part[PLACE_DEVICE]))
		at++;
	if (at == r->device_count)
		return BUSY_NO_DEVICE;
	while (!device_is_same(&r->devices[first], &r->devices[at]))
		first++;
	return first;
}

/* Looks up only devices that differ from the place before. */
uint32_t *busy_devices_of_places(const struct result *r)
{
	uint32_t *devices = malloc((r->place_count + (size_t)1) * sizeof(*devices));

	for (uint32_t i = 0; devices && i < r->place_count; i++) {
		const uint32_t *part = r->places[i].part, *before = i ? part - PLACE_PARTS : NULL;

		if (before && before[PLACE_PROCESS] == part[PLACE_PROCESS] &&
		    before[PLACE_DEVICE] == part[PLACE_DEVICE])
			devices[i] = devices[i - 1];
		else
			devices[i] = find_device(r, &r->places[i]);
	}
	return devices;
}

/* ---- spans ---- */

static int by_device_and_start(const void *a, const void *b)
{
	const struct busy_span *x = a, *y = b;
	int order = compare_numbers(x->device, y->device);

	return order ? order : compare_numbers(x->start, y->start);
}

/* Sorts spans, and joins spans that overlap or touch. */
static void unite(struct busy_span *spans, uint64_t *count)
{
	uint64_t kept = 0;

	if (*count > 1)
		qsort(spans, *count, sizeof(*spans), by_device_and_start);
	for (uint64_t i = 0; i < *count; i++) {
		struct busy_span *last = kept ? &spans[kept - 1] : NULL;

		if (!last || last->device != spans[i].device || last->end < spans[i].start)
			spans[kept++] = spans[i];
		else if (last->end < spans[i].end)
			last->end = spans[i].end;
	}
	*count = kept;
}

/* Makes room for one more span, if possible by uniting the spans so far. */
static bool make_room(struct gathering *g)
{
	struct busy_span *spans;
	uint64_t capacity;

	if (g->count < g->capacity)
		return true;
	unite(g->spans, &g->count);
	if (g->capacity && g->count <= g->capacity / 2)
		return true;
	if (g->count >= g->max)
		return false;
	capacity = g->capacity ? 2 * g->capacity : 64;
	spans = realloc(g->spans, capacity * sizeof(*spans));
	if (!spans)
		return false;
	g->spans = spans;
	g->capacity = capacity;
	return true;
}

static bool add_operation(struct gathering *g, const struct timeline_record *record)
{
	struct busy_span span = {record->start_ns, record->start_ns + record->duration_ns,
				 BUSY_NO_DEVICE};

	if (span.end < span.start)
		span.end = UINT64_MAX;
	if (span.start < g->from)
		span.start = g->from;
	if (span.end > g->to)
		span.end = g->to;
	if (span.start >= span.end)
		return true;
	if (record->place.number < g->result->place_count)
		span.device = g->device_of[record->place.number];
	if (g->key && !g->key(g->context, record, &span.device))
		return true;
	if (!make_room(g))
		return false;
	g->spans[g->count++] = span;
	return true;
}

static bool read_operations(struct gathering *g)
{
	struct timeline_reader *reader = timeline_reader_new(g->result->timeline);
	const struct timeline_record *record;
	int more = reader ? 1 : -1;

	while (more == 1 && (more = timeline_reader_next(reader, &record)) == 1) {
		if (record->kind == TIMELINE_GPU_OPERATION && !add_operation(g, record))
			more = -1;
	}
	timeline_reader_free(reader);
	return more == 0;
}

/* Gathers the united spans, which the caller frees. Returns false if some are missing. */
static bool gather(struct gathering *g)
{
	bool has_all;

	result_time_range(g->result, &g->from, &g->to);
	g->device_of = busy_devices_of_places(g->result);
	has_all = g->device_of && read_operations(g);
	free(g->device_of);
	if (has_all)
		unite(g->spans, &g->count);
	else
		free(g->spans);
	return has_all;
}

/* ---- the result ---- */

static int by_label(const void *a, const void *b)
{
	const struct busy_device *x = a, *y = b;
	char one[DEVICE_LABEL_BYTES], other[DEVICE_LABEL_BYTES];

	device_label(x->device, one);
	device_label(y->device, other);
	return device_label_compare(one, other);
}

/* Sums up each device's spans, which are in order of devices. */
static bool sum_devices(struct busy *b, const struct gathering *g)
{
	b->devices = calloc(g->result->device_count + 1, sizeof(*b->devices));
	if (!b->devices)
		return false;
	for (uint64_t i = 0; i < g->count; i++) {
		const struct busy_span *span = &g->spans[i];

		if (span->device == BUSY_NO_DEVICE)
			break; /* unknown devices come last */
		if (i == 0 || g->spans[i - 1].device != span->device)
			b->devices[b->device_count++].device = &g->result->devices[span->device];
		b->devices[b->device_count - 1].ns += span->end - span->start;
	}
	if (b->device_count > 1)
		qsort(b->devices, b->device_count, sizeof(*b->devices), by_label);
	return true;
}

bool busy_gather(const struct result *result, busy_key key, const void *context,
		 struct busy_span **spans, uint64_t *count)
{
	struct gathering g = {
		.result = result, .key = key, .context = context, .max = BUSY_SPANS_MAX};

	if (!gather(&g))
		return false;
	*spans = g.spans;
	*count = g.count;
	return true;
}

struct busy *busy_new(const struct result *result, uint64_t spans_max)
{
	struct gathering g = {.result = result, .max = spans_max};
	struct busy *b = result->timeline ? calloc(1, sizeof(*b)) : NULL;

	if (!b || !gather(&g)) {
		free(b);
		return NULL;
	}
	if (!sum_devices(b, &g)) {
		free(g.spans);
		free(b);
		return NULL;
	}
	if (g.count && g.spans[0].device != g.spans[g.count - 1].device) {
		for (uint64_t i = 0; i < g.count; i++)
			g.spans[i].device = BUSY_NO_DEVICE;
		unite(g.spans, &g.count);
	}
	b->spans = g.spans;
	b->span_count = g.count;
	for (uint64_t i = 0; i < b->span_count; i++)
		b->ns += b->spans[i].end - b->spans[i].start;
	return b;
}

void busy_free(struct busy *busy)
{
	if (!busy)
		return;
	free(busy->devices);
	free(busy->spans);
	free(busy);
}

bool busy_at(const struct busy *busy, uint64_t ns)
{
	uint64_t low = 0, high = busy->span_count; /* around the span that ends after `ns` */

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (busy->spans[middle].end > ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low < busy->span_count && busy->spans[low].start <= ns;
}

uint32_t busy_gaps(const struct busy *busy, const struct result *result, struct busy_span *gaps,
		   uint32_t max)
{
	uint64_t from, end;
	uint32_t count = 0;

	result_time_range(result, &from, &end);
	for (uint64_t i = 0; i <= busy->span_count; i++) {
		bool is_end = i == busy->span_count;
		uint64_t to = is_end ? end : busy->spans[i].start;
		uint32_t at = count < max ? count++ : max;

		/* inserts the gap among the longest so far */
		for (; at > 0 && gaps[at - 1].end - gaps[at - 1].start < to - from; at--)
			if (at < max)
				gaps[at] = gaps[at - 1];
		if (at < max)
			gaps[at] = (struct busy_span){from, to, BUSY_NO_DEVICE};
		if (!is_end)
			from = busy->spans[i].end;
	}
	while (count > 0 && gaps[count - 1].end == gaps[count - 1].start)
		count--;
	return count;
}
