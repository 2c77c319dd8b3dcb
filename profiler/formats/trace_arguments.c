// SPDX-License-Identifier: MIT
#include "profiler/formats/trace_arguments.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "profiler/tables/occupancy.h"
#include "symbolize/util/radix_sort.h"
#include "symbolize/util/sorted.h"

enum { KNOWN_SHAPES = 1024 }; /* a power of two */

/* Cached occupancy of a shape on a device. */
struct known_shape {
	const struct device *device;
	uint32_t shape; /* 0: empty entry */
	unsigned int limits;
	double occupancy_percent, waves;
};

struct trace_arguments {
	const struct result *result;
	struct known_shape known[KNOWN_SHAPES]; /* by hash */
	/* values of launches, sorted by process and correlation id */
	uint64_t *keys;
	uint32_t *values, value_count;
	uint8_t *given; /* by the first value of a launch */
};

static uint64_t key_of(uint32_t process, uint32_t correlation)
{
	return (uint64_t)process << 32 | correlation;
}

/* Sorts the values of launches. Returns 0, or -ENOMEM. */
static int sort_values(struct trace_arguments *a)
{
	const struct counter_table *c = a->result->counters;

	a->value_count = c ? c->value_count : 0;
	a->keys = malloc((a->value_count + (size_t)1) * sizeof(*a->keys));
	a->values = malloc((a->value_count + (size_t)1) * sizeof(*a->values));
	a->given = calloc(a->value_count + (size_t)1, 1);
	if (!a->keys || !a->values || !a->given)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->value_count; i++) {
		a->keys[i] = key_of(c->values[i].process, c->values[i].correlation);
		a->values[i] = i;
	}
	return radix_sort(&a->keys, &a->values, a->value_count);
}

struct trace_arguments *trace_arguments_new(const struct result *result)
{
	struct trace_arguments *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->result = result;
	if (sort_values(a) == 0)
		return a;
	trace_arguments_free(a);
	errno = ENOMEM;
	return NULL;
}

void trace_arguments_free(struct trace_arguments *a)
{
	if (!a)
		return;
	free(a->keys);
	free(a->values);
	free(a->given);
	free(a);
}

/* Rounds to 4 significant digits. */
static double rounded(double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.4g", value);
	return strtod(text, NULL);
}

/* ---- kernels ---- */

static void find_occupancy(struct trace_arguments *a, const struct timeline_record *record,
			   struct trace_operation *found)
{
	const struct place *place = &a->result->places[record->place.number];
	const struct device *device =
		a->result->device_names
			? devices_find(a->result->device_names, place->part[PLACE_PROCESS],
				       place->part[PLACE_DEVICE])
			: NULL;
	struct known_shape *known;

	if (!device)
		return;
	known = &a->known[hash_four(record->shape, device->process, device->id, 0) &
			  (KNOWN_SHAPES - 1)];
	if (known->shape != record->shape || known->device != device) {
		struct occupancy o = occupancy_of(&device->limits, found->shape);

		*known = (struct known_shape){.device = device,
					      .shape = record->shape,
					      .limits = o.limits,
					      .occupancy_percent = 100 * occupancy_share(&o),
					      .waves = rounded(occupancy_waves(&o))};
	}
	found->limits = known->limits;
	found->occupancy_percent = known->occupancy_percent;
	found->waves = known->waves;
}

/* Returns the position of the first sorted value with this key, or a larger one. */
static uint32_t first_value(const struct trace_arguments *a, uint64_t key)
{
	return (uint32_t)sorted_find(&key, a->keys, a->value_count, sizeof(key), sorted_compare);
}

/* Finds the values of a kernel's launch. Nodes of graphs have none: they are not measured. */
static void find_values(struct trace_arguments *a, const struct timeline_record *record,
			struct trace_operation *found)
{
	uint64_t key = key_of(a->result->places[record->place.number].part[PLACE_PROCESS],
			      record->correlation);
	uint32_t first = first_value(a, key), end = first;

	if (record->graph_node || first == a->value_count || a->keys[first] != key ||
	    a->given[first])
		return;
	a->given[first] = 1;
	while (end < a->value_count && a->keys[end] == key)
		end++;
	found->values = &a->values[first];
	found->value_count = end - first;
}

/* ---- copies ---- */

static bool moves_bytes(unsigned int work)
{
	return gpu_work_is_copy(work) || work == GPU_WORK_MEMSET ||
	       (work >= GPU_WORK_UVM_HTOD && work <= GPU_WORK_UVM_DTOD);
}

struct trace_operation trace_arguments_of(struct trace_arguments *a,
					  const struct timeline_record *record)
{
	struct trace_operation found = {.shape =
						timeline_shape(a->result->timeline, record->shape)};

	if (record->kind != TIMELINE_GPU_OPERATION)
		return found;
	if (record->work == GPU_WORK_KERNEL) {
		if (found.shape)
			find_occupancy(a, record, &found);
		find_values(a, record, &found);
	} else if (moves_bytes(record->work) && record->duration_ns &&
		   !result_record_is_cut(a->result,
					 record)) { /* a part has all bytes of the whole */
		found.bytes_per_ns = rounded((double)record->bytes / (double)record->duration_ns);
	}
	return found;
}

const char *trace_metric_name(const struct counter_metric *metric, char text[TRACE_METRIC_BYTES])
{
	if (metric->unit && metric->unit[0])
		snprintf(text, TRACE_METRIC_BYTES, "%s (%s)", metric->name, metric->unit);
	else
		snprintf(text, TRACE_METRIC_BYTES, "%s", metric->name);
	return text;
}
