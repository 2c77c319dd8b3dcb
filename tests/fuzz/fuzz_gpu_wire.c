/* SPDX-License-Identifier: MIT */
/*
 * Any line into the decoder. What decodes is encoded, and the result decodes to the same event
 * again, except that strings may be cut or cleaned by the first encoding. Operations of a run that
 * decodes go into a line again, which leads to the same operations.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cupti_trace/wire/gpu_wire.h"
#include "cupti_trace/wire/node_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(int so)
{
	if (!so)
		abort();
}

/* Decodes a copy of exactly this size, so that reading past its end is seen. */
static int decode(struct gpu_wire_decoder *decoder, const void *line, size_t length,
		  struct gpu_event *event)
{
	char *copy = malloc(length ? length : 1);
	int err;

	expect(copy != NULL);
	memcpy(copy, line, length);
	err = gpu_wire_decode(decoder, copy, length, event);
	free(copy);
	return err;
}

/* Makes the event of a step: its work has the step's id as a device, and every other is a set. */
static void event_of(const struct gpu_event_node_run *run, struct node_run_at *at, uint32_t i,
		     struct gpu_event *event)
{
	struct gpu_node_work work = {.device_id = run->steps[i].work_id,
				     .work = i % 2 ? GPU_WORK_MEMSET : GPU_WORK_KERNEL};

	expect(node_run_move(at, &run->steps[i]));
	memset(event, 0, sizeof(*event));
	node_run_event(run, at, &work, event);
}

/* Writes a run's operations anew. Returns the length of the line. */
static size_t write_run(const struct gpu_event_node_run *run, char *line)
{
	struct node_runs *runs = calloc(1, sizeof(*runs));
	struct node_run_at at = node_run_start(run);
	struct gpu_event event;
	size_t n = 0;
	bool is_new;

	expect(runs != NULL);
	for (uint32_t i = 0; i < run->count; i++) {
		uint32_t id;

		event_of(run, &at, i, &event);
		id = node_runs_define(runs, &event, &is_new);
		expect(id > 0 && id <= i + 1);
		expect(i == 0 || node_runs_continues(runs, &event));
		n += i ? node_runs_add(runs, &event, id, line + n)
		       : node_runs_begin(runs, &event, id, line, NODE_RUN_LINE_BYTES);
	}
	node_runs_end(runs, line + n);
	n += NODE_RUN_END_BYTES;
	expect(node_run_steps_of(line, n) == run->count);
	node_runs_release(runs);
	free(runs);
	return n;
}

static void check_run(struct gpu_wire_decoder *decoder, const struct gpu_event_node_run *run)
{
	static char line[NODE_RUN_LINE_BYTES + GPU_NODE_RUN_STEPS * NODE_RUN_STEP_BYTES];
	struct node_run_at a = node_run_start(run), b;
	size_t n = write_run(run, line);
	struct gpu_event back;

	if (n > GPU_WIRE_LINE_MAX)
		return; /* a sink begins another line */
	expect(decode(decoder, line, n - 1, &back) == 0 && back.type == GPU_EVENT_NODE_RUN);
	expect(back.node_run.count == run->count && back.node_run.graph_id == run->graph_id &&
	       back.node_run.correlation_id == run->correlation_id);
	b = node_run_start(&back.node_run);
	for (uint32_t i = 0; i < run->count; i++) {
		expect(node_run_move(&a, &run->steps[i]));
		expect(node_run_move(&b, &back.node_run.steps[i]));
		expect(a.node_id == b.node_id && a.start_ns == b.start_ns && a.end_ns == b.end_ns);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gpu_wire_decoder *first = gpu_wire_decoder_new(), *second = gpu_wire_decoder_new();
	char line[GPU_WIRE_LINE_MAX], again[GPU_WIRE_LINE_MAX], third[GPU_WIRE_LINE_MAX];
	struct gpu_event event, same;
	int n, m;

	expect(first && second);
	if (decode(first, data, size, &event) == 0) {
		expect(event.type > GPU_EVENT_NONE && event.type < GPU_EVENT_TYPES);
		if (event.type == GPU_EVENT_NODE_RUN)
			check_run(second, &event.node_run);
		n = gpu_wire_encode(&event, line, sizeof(line));
		expect(n > 0 && line[n - 1] == '\n' && !memchr(line, '\n', (size_t)n - 1));
		expect(decode(second, line, (size_t)n - 1, &same) == 0);
		expect(same.type == event.type);
		/* an escaped U+FFFD becomes the character itself; after that nothing changes */
		m = gpu_wire_encode(&same, again, sizeof(again));
		expect(m > 0 && m <= n);
		expect(decode(first, again, (size_t)m - 1, &event) == 0);
		expect(event.type == same.type);
		n = gpu_wire_encode(&event, third, sizeof(third));
		expect(n == m && memcmp(again, third, (size_t)n) == 0);
	}
	gpu_wire_decoder_free(first);
	gpu_wire_decoder_free(second);
	return 0;
}
