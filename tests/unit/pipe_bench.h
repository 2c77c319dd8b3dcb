/* SPDX-License-Identifier: MIT */
/* A gpu_pipe as in a session, which keeps its output: for tests that feed it lines. */
#ifndef TESTS_UNIT_PIPE_BENCH_H
#define TESTS_UNIT_PIPE_BENCH_H

#include "unit.h"
#include "cupti_trace/wire/gpu_wire.h"
#include "profiler/sources/gpu_pipe.h"

enum { HEARD_MAX = 100, PROCESSES_MAX = 1024 };

struct heard {
	const struct process *process; /* NULL: a hello, not yet accepted */
	struct gpu_event event;
	char kernel[100];
	char text[200]; /* a string of the event */
};

/* Programs are accepted unless `refuses`, and closed when they say goodbye unless `lingers`. */
struct pipe_bench {
	struct collect *collect;
	struct ledger *ledger;
	struct gpu_pipe *pipe;
	bool refuses, lingers;
	struct process processes[PROCESSES_MAX]; /* accepted processes, in order */
	uint32_t process_count;
	struct heard heard[HEARD_MAX];
	uint32_t count;
};

static inline void keep_text(struct heard *h, const char *text)
{
	snprintf(h->text, sizeof(h->text), "%s", text);
}

static inline void hear(struct pipe_bench *b, struct tracee *tracee, const struct gpu_event *event,
			const char *kernel)
{
	struct heard *h = &b->heard[b->count];

	assert_true(b->count < HEARD_MAX);
	assert_true((kernel != NULL) == (event->type == GPU_EVENT_KERNEL));
	b->count++;
	h->process = tracee_process(tracee);
	assert_true((h->process == NULL) == (event->type == GPU_EVENT_HELLO));
	h->event = *event;
	snprintf(h->kernel, sizeof(h->kernel), "%s", kernel ? kernel : "");
	if (event->type == GPU_EVENT_NOTICE)
		keep_text(h, event->notice.detail);
	if (event->type == GPU_EVENT_HELLO)
		keep_text(h, event->hello.executable);
}

/* Answers a program as a session does. */
static inline void answer(struct pipe_bench *b, struct tracee *tracee,
			  const struct gpu_event *event)
{
	if (event->type == GPU_EVENT_HELLO && !b->refuses) {
		struct process *process = &b->processes[b->process_count];

		assert_true(b->process_count < PROCESSES_MAX);
		*process =
			(struct process){.id = ++b->process_count, .pid = (pid_t)event->hello.pid};
		gpu_pipe_accept(b->pipe, tracee, process);
		assert_ptr_equal(tracee_process(tracee), process);
	}
	if (event->type == GPU_EVENT_GOODBYE && !b->lingers)
		gpu_pipe_close(b->pipe, tracee);
}

static inline void drain(struct pipe_bench *b)
{
	const struct gpu_event *event;
	struct tracee *tracee;
	const char *kernel;

	while ((event = gpu_pipe_next(b->pipe, &tracee, &kernel))) {
		hear(b, tracee, event, kernel);
		answer(b, tracee, event);
	}
}

static inline int pipe_bench_begin(void **state)
{
	struct pipe_bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	b->collect = collect_new(&(struct collect_options){0});
	b->pipe = b->collect ? gpu_pipe_new(b->collect) : NULL;
	*state = b;
	if (!b->pipe)
		return -1;
	b->ledger = collect_ledger(b->collect);
	return 0;
}

static inline int pipe_bench_end(void **state)
{
	struct pipe_bench *b = *state;

	gpu_pipe_free(b->pipe);
	collect_free(b->collect);
	free(b);
	return 0;
}

static inline void feed_bytes(struct pipe_bench *b, const char *bytes, size_t size)
{
	gpu_pipe_feed(b->pipe, bytes, size);
	drain(b);
}

static inline void feed(struct pipe_bench *b, const char *text)
{
	feed_bytes(b, text, strlen(text));
}

#endif
