// SPDX-License-Identifier: MIT
#include "profiler/tables/duration_spread.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static void spread_add(struct duration_spread *s, const struct result *r,
		       const struct timeline_record *record)
{
	double value = (double)record->duration_ns, difference = value - s->mean;

	if (result_record_is_cut(r, record))
		s->cut += value * value;
	s->count++;
	s->mean += difference / (double)s->count;
	s->squares += difference * (value - s->mean);
}

static bool is_call(const struct timeline_record *record)
{
	return record->kind == TIMELINE_LAUNCH || record->kind == TIMELINE_WAIT;
}

int duration_spreads_read(struct duration_spreads *s, const struct result *r)
{
	struct timeline_reader *reader;
	const struct timeline_record *record;
	double squares = 0, means = 0;
	int more;

	*s = (struct duration_spreads){.relative = 1, .sample = (double)r->totals.sample_ns};
	s->sample *= s->sample;
	if (!r->timeline)
		return 0;
	s->operations = calloc(r->stack_count + 1u, sizeof(*s->operations));
	s->calls = calloc(r->stack_count + 1u, sizeof(*s->calls));
	if (!s->operations || !s->calls)
		return ENOMEM;
	reader = timeline_reader_new(r->timeline);
	if (!reader)
		return errno;
	while ((more = timeline_reader_next(reader, &record)) == 1) {
		uint32_t stack = result_record_stack(r, record);

		if (record->kind == TIMELINE_GPU_OPERATION)
			spread_add(&s->operations[stack], r, record);
		else if (is_call(record))
			spread_add(&s->calls[stack], r, record);
	}
	timeline_reader_free(reader);
	for (uint32_t i = 0; i < r->stack_count; i++) {
		const struct duration_spread *o = &s->operations[i];

		if (o->count < 2)
			continue;
		squares += o->squares * (double)o->count / (double)(o->count - 1);
		means += o->mean * o->mean * (double)o->count;
	}
	if (means > 0)
		s->relative = squares / means;
	return more ? -more : 0;
}

void duration_spreads_release(struct duration_spreads *s)
{
	free(s->operations);
	free(s->calls);
}

double duration_spread_variance(const struct duration_spread *spread, double relative,
				uint64_t count, double sum)
{
	double cut = spread ? spread->cut : 0;

	if (count == 0)
		return fmax(sum * sum, cut);
	if (spread && spread->count > 1)
		return spread->squares / (double)(spread->count - 1) * (double)count + cut;
	return relative * sum * sum / (double)count + cut;
}
