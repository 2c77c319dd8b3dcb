/* SPDX-License-Identifier: MIT */
/*
 * Any bytes from the pipe, once as a whole and once in pieces: the same events and the same counts.
 * The first byte determines the pieces, and, odd, leaves out repeats. An instance's number
 * determines whether it is accepted, and whether it is closed when it says goodbye.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/sources/gpu_pipe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(int so)
{
	if (!so)
		abort();
}

enum { PROCESSES = 64 };

struct outcome {
	struct collect *collect;
	struct gpu_pipe *pipe;
	struct process processes[PROCESSES]; /* used again when there are more */
	uint64_t accepted, refused;
	uint64_t events[GPU_EVENT_TYPES];
	uint64_t hot_spots;
};

static void mix(struct outcome *o, uint64_t value)
{
	o->hot_spots = (o->hot_spots ^ value) * 0x9e3779b97f4a7c15u;
	o->hot_spots ^= o->hot_spots >> 29;
}

static void hear(struct outcome *o, const struct gpu_event *event, const char *kernel)
{
	expect(event->type != GPU_EVENT_BATCH && event->type != GPU_EVENT_NAME);
	o->events[event->type]++;
	mix(o, event->type);
	if (event->type == GPU_EVENT_KERNEL) {
		expect(kernel != NULL);
		mix(o, event->kernel.duration_ns);
		mix(o, event->kernel.correlation_id);
	} else {
		expect(kernel == NULL);
	}
	for (; kernel && *kernel; kernel++)
		mix(o, (unsigned char)*kernel);
	if (event->type == GPU_EVENT_LAUNCH)
		mix(o, event->launch.time_ns);
	if (event->type == GPU_EVENT_NOTICE)
		mix(o, strlen(event->notice.detail));
}

static void answer(struct outcome *o, struct tracee *tracee, const struct gpu_event_hello *hello)
{
	struct process *process = &o->processes[o->accepted % PROCESSES];

	mix(o, strlen(hello->executable));
	if (hello->instance % 4 == 0) {
		o->refused++;
		return;
	}
	*process = (struct process){.id = (uint32_t)++o->accepted,
				    .pid = (pid_t)hello->pid,
				    .ended_ns = hello->instance % 8};
	gpu_pipe_accept(o->pipe, tracee, process);
}

static void drain(struct outcome *o)
{
	const struct gpu_event *event;
	struct tracee *tracee;
	const char *kernel;

	while ((event = gpu_pipe_next(o->pipe, &tracee, &kernel))) {
		hear(o, event, kernel);
		if (event->type == GPU_EVENT_HELLO) {
			answer(o, tracee, &event->hello);
			continue;
		}
		mix(o, tracee_process(tracee)->id);
		if (event->type == GPU_EVENT_GOODBYE && tracee_process(tracee)->pid % 2)
			gpu_pipe_close(o->pipe, tracee);
		if (event->type == GPU_EVENT_MAPS &&
		    gpu_pipe_find_ended(o->pipe, event->maps.generation, &tracee))
			gpu_pipe_close(o->pipe, tracee);
	}
}

static void check(const struct outcome *o)
{
	const struct ledger *l = collect_ledger(o->collect);

	expect(l->pipe.malformed + l->pipe.refused <= l->pipe.lines);
	expect(l->pipe.too_long <= l->pipe.malformed);
	expect(l->pipe.refused >= o->refused);
	expect(l->pipe.processes == o->accepted && l->pipe.without_goodbye <= o->accepted);
	expect(l->gpu.kernels == o->events[GPU_EVENT_KERNEL]);
	expect(l->launches.unended <= o->events[GPU_EVENT_LAUNCH]);
	expect(l->bounds.out_of_memory == 0);
	for (const char *c = l->pipe.first_malformed; *c; c++)
		expect(*c >= 0x20 && *c <= 0x7e);
	for (const char *c = l->pipe.first_refused; *c; c++)
		expect(*c >= 0x20 && *c <= 0x7e);
}

/* `seed` 0: all at once. Feeds copies, so that reading past the end of a piece is seen. */
static void feed(struct outcome *o, const uint8_t *data, size_t size, uint32_t seed,
		 bool leaves_out_repeats)
{
	struct tracee *tracee;
	size_t at = 0;

	o->collect = collect_new(&(struct collect_options){0});
	expect(o->collect != NULL);
	o->pipe = gpu_pipe_new(o->collect);
	expect(o->pipe != NULL);
	if (leaves_out_repeats)
		gpu_pipe_leave_out_repeats(o->pipe);
	while (at < size) {
		size_t n = size - at;
		char *piece;

		if (seed) {
			seed = seed * 1664525 + 1013904223;
			n = 1 + (seed >> 16) % (seed & 0x8000 ? 16 : 5000);
			n = n < size - at ? n : size - at;
		}
		piece = malloc(n);
		expect(piece != NULL);
		memcpy(piece, data + at, n);
		gpu_pipe_feed(o->pipe, piece, n);
		drain(o);
		free(piece);
		at += n;
	}
	gpu_pipe_finish(o->pipe);
	while (gpu_pipe_find_ended(o->pipe, UINT64_MAX, &tracee))
		gpu_pipe_close(o->pipe, tracee);
	expect(gpu_pipe_list(o->pipe, NULL, 0) == 0);
	check(o);
}

static void release(struct outcome *o)
{
	gpu_pipe_free(o->pipe);
	collect_free(o->collect);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole = {0}, pieces = {0};
	const struct ledger *a, *b;

	if (size < 1)
		return 0;
	feed(&whole, data + 1, size - 1, 0, data[0] & 1);
	feed(&pieces, data + 1, size - 1, data[0] + 1u, data[0] & 1);
	a = collect_ledger(whole.collect);
	b = collect_ledger(pieces.collect);
	expect(whole.hot_spots == pieces.hot_spots && whole.accepted == pieces.accepted);
	expect(gpu_pipe_repeats(whole.pipe) == gpu_pipe_repeats(pieces.pipe) &&
	       gpu_pipe_conflicts(whole.pipe) == gpu_pipe_conflicts(pieces.pipe));
	expect(memcmp(whole.events, pieces.events, sizeof(whole.events)) == 0);
	expect(memcmp(&a->pipe, &b->pipe, sizeof(a->pipe)) == 0);
	expect(memcmp(&a->launches, &b->launches, sizeof(a->launches)) == 0);
	expect(memcmp(&a->gpu, &b->gpu, sizeof(a->gpu)) == 0);
	expect(memcmp(&a->bounds, &b->bounds, sizeof(a->bounds)) == 0);
	release(&whole);
	release(&pieces);
	return 0;
}
