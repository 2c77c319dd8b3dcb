// SPDX-License-Identifier: MIT
#include "profiler/formats/trace_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum kind {
	SM_CLOCK,
	MEMORY_CLOCK,
	POWER,
	TEMPERATURE,
	MEMORY,
	LIMITED,
	PCIE_SENT,
	PCIE_RECEIVED,
	NVLINK_SENT,
	NVLINK_RECEIVED,
	KINDS
};

static const char *const names[KINDS] = {
	[SM_CLOCK] = "SM clock (MHz)",
	[MEMORY_CLOCK] = "memory clock (MHz)",
	[POWER] = "power (W)",
	[TEMPERATURE] = "temperature (C)",
	[MEMORY] = "memory in use (bytes)",
	[LIMITED] = "clocks limited by power or heat (%)",
	[PCIE_SENT] = "PCIe sent (bytes/s)",
	[PCIE_RECEIVED] = "PCIe received (bytes/s)",
	[NVLINK_SENT] = "NVLink sent (bytes/s)",
	[NVLINK_RECEIVED] = "NVLink received (bytes/s)",
};

static double value_of(const struct gpu_state *row, uint32_t kind)
{
	switch (kind) {
	case SM_CLOCK:
		return gpu_state_sm_mhz(row);
	case MEMORY_CLOCK:
		return gpu_state_memory_mhz(row);
	case POWER:
		return gpu_state_watts(row);
	case TEMPERATURE:
		return row->celsius_most;
	case MEMORY:
		return (double)row->memory_most;
	case LIMITED:
		return 100.0 * row->limited / row->readings;
	case PCIE_SENT:
		return gpu_state_rate(row, row->pcie_sent);
	case PCIE_RECEIVED:
		return gpu_state_rate(row, row->pcie_received);
	case NVLINK_SENT:
		return gpu_state_rate(row, row->nvlink_sent);
	default:
		return gpu_state_rate(row, row->nvlink_received);
	}
}

/* Returns a whole number that formats can carry, also of impossible rows in a capture. */
static uint64_t whole(double value)
{
	return value < 9e15 ? (uint64_t)(value + 0.5) : UINT64_C(9000000000000000);
}

static bool is_ever_told(const struct gpu_course *course, uint32_t kind)
{
	for (uint32_t i = 0; i < course->count; i++)
		if (whole(value_of(&course->rows[i], kind)))
			return true;
	return false;
}

static void find_next(struct trace_state *s)
{
	s->next_ns = UINT64_MAX;
	for (uint32_t i = 0; i < s->courses.count; i++) {
		const struct gpu_course *course = &s->courses.list[i];

		if (s->next[i] < course->count && course->rows[s->next[i]].start_ns < s->next_ns)
			s->next_ns = course->rows[s->next[i]].start_ns;
	}
}

int trace_state_init(struct trace_state *s, const struct result *result)
{
	int err;

	*s = (struct trace_state){.count = 0};
	err = gpu_courses_of(result, &s->courses);
	if (err)
		return err;
	s->next = calloc(s->courses.count + 1u, sizeof(*s->next));
	s->counters = calloc((size_t)s->courses.count * KINDS + 1, sizeof(*s->counters));
	s->first = calloc(s->courses.count + 1u, sizeof(*s->first));
	if (!s->next || !s->counters || !s->first) {
		trace_state_release(s);
		return -ENOMEM;
	}
	for (uint32_t gpu = 0; gpu < s->courses.count; gpu++) {
		s->first[gpu] = s->count;
		for (uint32_t kind = 0; kind < KINDS; kind++)
			if (is_ever_told(&s->courses.list[gpu], kind))
				s->counters[s->count++] =
					(struct trace_counter){.gpu = gpu, .kind = kind};
	}
	s->first[s->courses.count] = s->count;
	find_next(s);
	return 0;
}

void trace_state_release(struct trace_state *s)
{
	gpu_courses_release(&s->courses);
	free(s->counters);
	free(s->first);
	free(s->next);
	*s = (struct trace_state){.count = 0};
}

const char *trace_counter_name(const struct trace_counter *counter)
{
	return names[counter->kind];
}

bool trace_counter_is_main(const struct trace_counter *counter)
{
	return counter->kind == SM_CLOCK || counter->kind == POWER;
}

const char *trace_state_name(const struct trace_state *s, uint32_t gpu,
			     char name[TRACE_STATE_NAME_BYTES])
{
	snprintf(name, TRACE_STATE_NAME_BYTES, "%s: state", s->courses.list[gpu].label);
	return name;
}

/* Gives the next row of a GPU. */
static void give_row(struct trace_state *s, uint32_t gpu, trace_state_visitor visit, void *context)
{
	const struct gpu_state *row = &s->courses.list[gpu].rows[s->next[gpu]++];

	for (uint32_t i = s->first[gpu]; i < s->first[gpu + 1]; i++) {
		struct trace_counter *c = &s->counters[i];
		uint64_t value = whole(value_of(row, c->kind));

		if (c->has_shown && value == c->shown)
			continue;
		c->has_shown = true;
		c->shown = value;
		visit(context, i, row->start_ns, value);
	}
}

void trace_state_until(struct trace_state *s, uint64_t until_ns, trace_state_visitor visit,
		       void *context)
{
	while (s->next_ns <= until_ns && s->next_ns != UINT64_MAX) {
		for (uint32_t i = 0; i < s->courses.count; i++)
			if (s->next[i] < s->courses.list[i].count &&
			    s->courses.list[i].rows[s->next[i]].start_ns == s->next_ns)
				give_row(s, i, visit, context);
		find_next(s);
	}
}
