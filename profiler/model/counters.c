// SPDX-License-Identifier: MIT
#include "profiler/model/counters.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cupti_trace/hw/metric_list.h"
#include "symbolize/util/array.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/text.h"

void counters_release(struct counter_table *c)
{
	record_set_release(&c->rows.set);
	free(c->values);
	memset(c, 0, sizeof(*c));
}

uint32_t counters_metric(struct counter_table *c, const char *name, const char *unit)
{
	for (uint32_t i = 0; i < c->metric_count; i++)
		if (strcmp(c->metrics[i].name, name) == 0)
			return i;
	if (c->metric_count == COUNTERS_METRICS_MAX)
		return COUNTERS_NONE;
	c->metrics[c->metric_count] = (struct counter_metric){name, unit};
	return c->metric_count++;
}

/* Returns NULL if there is no room. */
static struct counter_row *row_of(struct counter_table *c, uint32_t stack, uint32_t metric)
{
	const struct counter_row row = {.stack = stack, .metric = metric};
	const uint32_t key[] = {stack, metric};
	uint32_t at = record_find(&c->rows, &key);

	if (at == RECORD_NONE && c->rows.count < COUNTERS_ROWS_MAX &&
	    quota_take(c->memory, 2 * sizeof(row) + HASH_INDEX_ENTRY_BYTES))
		at = record_add(&c->rows, &key, &row);
	return at == RECORD_NONE ? NULL : &c->rows.list[at];
}

void counters_add_row(struct counter_table *c, const struct counter_row *more)
{
	struct counter_row *row = more->count ? row_of(c, more->stack, more->metric) : NULL;

	if (!row || !isfinite(row->sum + more->sum)) {
		saturated_add(&c->not_kept, more->count);
		return;
	}
	if (row->count == 0 || more->least < row->least)
		row->least = more->least;
	if (row->count == 0 || more->most > row->most)
		row->most = more->most;
	saturated_add(&row->count, more->count);
	row->sum += more->sum;
}

void counters_add(struct counter_table *c, uint32_t stack, uint32_t metric, double value)
{
	if (isfinite(value))
		counters_add_row(c, &(struct counter_row){stack, metric, 1, value, value, value});
}

bool counters_make_room(struct counter_table *c, uint32_t values)
{
	return values <= COUNTERS_VALUES_MAX - c->value_count &&
	       quota_take(c->memory, 2 * values * sizeof(*c->values)) &&
	       array_reserve(&c->values, c->value_count, values, &c->value_capacity,
			     sizeof(*c->values));
}

void counters_add_value(struct counter_table *c, const struct counter_value *value)
{
	if (isfinite(value->value))
		c->values[c->value_count++] = *value;
}

bool counters_is_additive(const char *metric)
{
	const char *dot = strchr(metric, '.');

	return dot && strcmp(dot, ".sum") == 0;
}

static void add_sum(char sums[COUNTERS_SUMS_BYTES], const char *name)
{
	size_t used = strlen(sums);

	if (counters_is_additive(name) && used + strlen(name) + 3 < COUNTERS_SUMS_BYTES)
		snprintf(sums + used, COUNTERS_SUMS_BYTES - used, "%s%s", used ? ", " : "", name);
}

static void end_sums(char sums[COUNTERS_SUMS_BYTES])
{
	if (!sums[0])
		snprintf(sums, COUNTERS_SUMS_BYTES, "none");
}

bool counters_are_asked(const char *list, const char *metric, char sums[COUNTERS_SUMS_BYTES])
{
	static const char *const defaults[] = {METRIC_LIST_DEFAULT};
	bool is_asked = false;

	sums[0] = '\0';
	while (*list) {
		char name[COUNTERS_SUMS_BYTES] = "";
		size_t length = strcspn(list, ",");

		snprintf(name, sizeof(name), "%.*s", (int)length, list);
		for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
			if (strcmp(name, "default") == 0) {
				add_sum(sums, defaults[i]);
				is_asked |= strcmp(defaults[i], metric) == 0;
			}
		add_sum(sums, name);
		is_asked |= strcmp(name, metric) == 0;
		list += length + (list[length] == ',');
	}
	end_sums(sums);
	return is_asked;
}

bool counters_were_read(const struct counter_table *c, const char *metric,
			char sums[COUNTERS_SUMS_BYTES])
{
	bool was_read = false;

	sums[0] = '\0';
	for (uint32_t i = 0; i < c->metric_count; i++) {
		add_sum(sums, c->metrics[i].name);
		was_read |= strcmp(c->metrics[i].name, metric) == 0;
	}
	end_sums(sums);
	return was_read;
}
