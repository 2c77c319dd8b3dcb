// SPDX-License-Identifier: MIT
/* The part of collect that keeps books of GPU work: what is in the profile, what CUPTI reported. */
#include <errno.h>
#include "profiler/collect/collect.h"

void collect_count_work(struct collect *c, uint32_t stack, const struct gpu_operation *o)
{
	struct work_sum *sum =
		work_tally_get(&c->counted, &(struct work_key){o->process, o->device, o->context,
							       o->stream, o->work});

	if (!sum)
		return;
	sum->count++;
	sum->ns += o->duration_ns;
	sum->bytes += o->bytes;
	sum->bad_times += o->bad_time;
	sum->staged += o->staged;
	if (o->outside == GPU_BEFORE_TRACING) {
		sum->before++;
		sum->before_ns += o->duration_ns;
	} else if (o->outside == GPU_AFTER_TRACING) {
		sum->after++;
		sum->after_ns += o->duration_ns;
	}
	if (stack == STACK_NONE) {
		sum->unmatched++;
		sum->unmatched_ns += o->duration_ns;
	}
}

int collect_sum(struct collect *c, uint32_t pid, const struct gpu_event_sum *e)
{
	struct work_sum *sum =
		work_tally_get(&c->told, &(struct work_key){pid, e->device_id, e->context_id,
							    e->stream_id, e->work});

	if (!sum)
		return -ENOMEM;
	sum->count += e->count;
	sum->ns += e->ns;
	sum->bytes += e->bytes;
	return 0;
}
