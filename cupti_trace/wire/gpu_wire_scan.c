// SPDX-License-Identifier: MIT
#include "cupti_trace/wire/gpu_wire_scan.h"

#include <string.h>

struct scan {
	const char *at;
	const char *end;
	bool failed;
};

static bool scan_try(struct scan *s, const char *text, size_t n)
{
	if (s->failed || (size_t)(s->end - s->at) < n || memcmp(s->at, text, n) != 0)
		return false;
	s->at += n;
	return true;
}

#define TRY(s, literal) scan_try(s, literal, sizeof(literal) - 1)

static void scan_expect(struct scan *s, const char *text, size_t n)
{
	if (!scan_try(s, text, n))
		s->failed = true;
}

#define EXPECT(s, literal) scan_expect(s, literal, sizeof(literal) - 1)

static uint64_t scan_u64(struct scan *s, uint64_t max)
{
	uint64_t value = 0;
	const char *start = s->at;

	while (s->at < s->end && *s->at >= '0' && *s->at <= '9') {
		uint64_t digit = (uint64_t)(*s->at++ - '0');

		if (value > (max - digit) / 10) {
			s->failed = true;
			return 0;
		}
		value = value * 10 + digit;
	}
	if (s->at == start || (s->at - start > 1 && *start == '0'))
		s->failed = true;
	return value;
}

static uint32_t scan_u32(struct scan *s)
{
	return (uint32_t)scan_u64(s, UINT32_MAX);
}

static void scan_triple(struct scan *s, uint32_t out[3])
{
	out[0] = scan_u32(s);
	EXPECT(s, ",");
	out[1] = scan_u32(s);
	EXPECT(s, ",");
	out[2] = scan_u32(s);
	EXPECT(s, "]");
}

static bool scan_launch(struct scan *s, struct gpu_event_launch *e)
{
	EXPECT(s, "\"s\":");
	e->time_ns = scan_u64(s, INT64_MAX);
	EXPECT(s, ",\"h\":");
	e->tid = scan_u32(s);
	EXPECT(s, ",\"c\":");
	e->correlation_id = scan_u32(s);
	EXPECT(s, ",\"f\":");
	e->family = scan_u32(s);
	e->flags = TRY(s, ",\"x\":") ? scan_u32(s) : 0;
	e->stack_id = TRY(s, ",\"k\":") ? scan_u32(s) : 0;
	e->stands_for = TRY(s, ",\"n\":") ? scan_u32(s) : 0;
	EXPECT(s, "}");
	return !s->failed && s->at == s->end;
}

static bool scan_launch_end(struct scan *s, struct gpu_event_launch_end *e)
{
	EXPECT(s, "\"h\":");
	e->tid = scan_u32(s);
	EXPECT(s, ",\"c\":");
	e->correlation_id = scan_u32(s);
	EXPECT(s, ",\"d\":");
	e->duration_ns = scan_u64(s, INT64_MAX);
	e->error = TRY(s, ",\"e\":") ? scan_u32(s) : 0;
	EXPECT(s, "}");
	return !s->failed && s->at == s->end;
}

static void scan_graph(struct scan *s, uint32_t *graph, uint64_t *node)
{
	if (!TRY(s, ",\"gr\":["))
		return;
	*graph = scan_u32(s);
	EXPECT(s, ",");
	*node = scan_u64(s, INT64_MAX);
	EXPECT(s, "]");
}

/* Scans what lines of operations have in common: when and because of which call, and where. */
static void scan_when(struct scan *s, uint64_t *start_ns, uint64_t *duration_ns,
		      uint32_t *correlation_id)
{
	EXPECT(s, ",\"s\":");
	*start_ns = scan_u64(s, INT64_MAX);
	EXPECT(s, ",\"d\":");
	*duration_ns = scan_u64(s, INT64_MAX);
	EXPECT(s, ",\"c\":");
	*correlation_id = scan_u32(s);
}

static void scan_where(struct scan *s, uint32_t *device, uint32_t *context, uint32_t *stream)
{
	uint32_t v[3];

	EXPECT(s, ",\"v\":[");
	scan_triple(s, v);
	*device = v[0];
	*context = v[1];
	*stream = v[2];
}

static bool scan_kernel(struct scan *s, struct gpu_event_kernel *e)
{
	EXPECT(s, "\"n\":");
	e->name_id = scan_u32(s);
	scan_when(s, &e->start_ns, &e->duration_ns, &e->correlation_id);
	scan_where(s, &e->device_id, &e->context_id, &e->stream_id);
	EXPECT(s, ",\"g\":[");
	scan_triple(s, e->grid);
	EXPECT(s, ",\"b\":[");
	scan_triple(s, e->block);
	EXPECT(s, ",\"m\":[");
	e->static_shared = scan_u32(s);
	EXPECT(s, ",");
	e->dynamic_shared = scan_u32(s);
	EXPECT(s, "],\"r\":");
	e->registers = scan_u32(s);
	scan_graph(s, &e->graph_id, &e->graph_node_id);
	if (TRY(s, ",\"bad\":"))
		e->bad_time = scan_u32(s);
	if (TRY(s, ",\"out\":"))
		e->outside = scan_u32(s);
	EXPECT(s, "}");
	return !s->failed && s->at == s->end;
}

/* As put_hex writes it: 1 to 16 digits, without zeros ahead. */
static uint64_t scan_hex(struct scan *s)
{
	const char *start = s->at;
	uint64_t value = 0;

	for (; s->at < s->end && s->at - start < 16; s->at++) {
		char c = *s->at;

		if (c >= '0' && c <= '9')
			value = value << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uint64_t)(c - 'a' + 10);
		else
			break;
	}
	s->failed |= s->at == start || *start == '0';
	return value;
}

static bool scan_work(struct scan *s, struct gpu_event_work *e)
{
	EXPECT(s, "\"w\":");
	e->work = scan_u32(s);
	scan_when(s, &e->start_ns, &e->duration_ns, &e->correlation_id);
	scan_where(s, &e->device_id, &e->context_id, &e->stream_id);
	EXPECT(s, ",\"b\":");
	e->bytes = scan_u64(s, INT64_MAX);
	if (TRY(s, ",\"p\":[")) {
		e->source_memory = scan_u32(s);
		EXPECT(s, ",");
		e->destination_memory = scan_u32(s);
		EXPECT(s, "]");
	}
	if (TRY(s, ",\"a\":\"")) {
		e->address = scan_hex(s);
		EXPECT(s, "\"");
	}
	scan_graph(s, &e->graph_id, &e->graph_node_id);
	if (TRY(s, ",\"bad\":"))
		e->bad_time = scan_u32(s);
	if (TRY(s, ",\"out\":"))
		e->outside = scan_u32(s);
	EXPECT(s, "}");
	return !s->failed && s->at == s->end;
}

static bool scan_wait(struct scan *s, struct gpu_event_wait *e)
{
	EXPECT(s, "\"s\":");
	e->start_ns = scan_u64(s, INT64_MAX);
	EXPECT(s, ",\"d\":");
	e->duration_ns = scan_u64(s, INT64_MAX);
	e->computed_ns = TRY(s, ",\"u\":") ? scan_u64(s, INT64_MAX) : 0;
	EXPECT(s, ",\"h\":");
	e->tid = scan_u32(s);
	e->stack_id = TRY(s, ",\"k\":") ? scan_u32(s) : 0;
	if (TRY(s, ",\"v\":[")) {
		e->has_stream = 1;
		e->context_id = scan_u32(s);
		EXPECT(s, ",");
		e->stream_id = scan_u32(s);
		EXPECT(s, "]");
	}
	e->error = TRY(s, ",\"e\":") ? scan_u32(s) : 0;
	EXPECT(s, "}");
	return !s->failed && s->at == s->end;
}

/* 16 hexadecimal digits */
static uint64_t scan_instance(struct scan *s)
{
	uint64_t value = 0;

	for (int i = 0; i < 16; i++) {
		char c = s->at < s->end ? *s->at++ : '\0';

		if (c >= '0' && c <= '9')
			value = value << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uint64_t)(c - 'a' + 10);
		else
			s->failed = true;
	}
	return value;
}

static bool scan_batch(struct scan *s, struct gpu_event_batch *e)
{
	EXPECT(s, "\"pid\":");
	e->pid = scan_u32(s);
	EXPECT(s, ",\"id\":\"");
	e->instance = scan_instance(s);
	EXPECT(s, "\",\"seq\":");
	e->sequence = scan_u64(s, INT64_MAX);
	e->bytes = TRY(s, ",\"len\":") ? scan_u32(s) : 0;
	while (TRY(s, " ")) /* written later into the room of the longest number */
		;
	EXPECT(s, "}");
	return !s->failed && s->at == s->end;
}

/* Not hot, but its sums must be exact, which cJSON's doubles are not. */
static bool scan_goodbye(struct scan *s, struct gpu_event_goodbye *e)
{
	EXPECT(s, "\"kernels\":");
	e->kernels = scan_u64(s, INT64_MAX);
	EXPECT(s, ",\"kernel_ns\":");
	e->kernel_ns = scan_u64(s, INT64_MAX);
	EXPECT(s, ",\"launches\":");
	e->launches = scan_u64(s, INT64_MAX);
	e->own_ns = TRY(s, ",\"own_ns\":") ? scan_u64(s, INT64_MAX) : 0;
	EXPECT(s, "}");
	return !s->failed && s->at == s->end;
}

bool gpu_wire_scan(const char *line, size_t length, struct gpu_event *event)
{
	struct scan s = {.at = line, .end = line + length};

	if (TRY(&s, "{\"t\":\"k\",")) {
		event->type = GPU_EVENT_KERNEL;
		return scan_kernel(&s, &event->kernel);
	}
	if (TRY(&s, "{\"t\":\"l\",")) {
		event->type = GPU_EVENT_LAUNCH;
		return scan_launch(&s, &event->launch);
	}
	if (TRY(&s, "{\"t\":\"m\",")) {
		event->type = GPU_EVENT_WORK;
		return scan_work(&s, &event->work);
	}
	if (TRY(&s, "{\"t\":\"w\",")) {
		event->type = GPU_EVENT_WAIT;
		return scan_wait(&s, &event->wait);
	}
	if (TRY(&s, "{\"t\":\"ld\",")) {
		event->type = GPU_EVENT_LAUNCH_END;
		return scan_launch_end(&s, &event->launch_end);
	}
	if (TRY(&s, "{\"t\":\"batch\",")) {
		event->type = GPU_EVENT_BATCH;
		return scan_batch(&s, &event->batch);
	}
	if (TRY(&s, "{\"t\":\"bye\",")) {
		event->type = GPU_EVENT_GOODBYE;
		return scan_goodbye(&s, &event->goodbye);
	}
	return false;
}
