/* SPDX-License-Identifier: MIT */
/*
 * Shared by tests of the collecting side: options, a program in the target as seen through the
 * pipe, and the collected data as folded text.
 */
#ifndef TESTS_UNIT_COLLECT_TEXT_H
#define TESTS_UNIT_COLLECT_TEXT_H

#include "unit.h"
#include "profiler/join/collect.h"
#include "profiler/shape/result_naming.h"
#include "profiler/formats/writer.h"
#include "profiler/sources/gpu_pipe.h"

#define SAMPLE_NS 1000

/* Makes a collect without places and waits. */
static inline struct collect *new_collect(void)
{
	struct collect *c = collect_new(&(struct collect_options){.sample_ns = SAMPLE_NS});

	assert_non_null(c);
	return c;
}

/* Says hello as a traced program. Returns NULL if the program is refused. */
static inline struct process *say_hello(struct collect *c, uint32_t pid)
{
	return collect_hello(c,
			     &(struct gpu_event_hello){.version = 2, .pid = pid, .wants_ack = 1});
}

/* Sends an event of a program in the target; kernels are called "k". */
static inline void send_event(struct collect *c, struct process *process,
			      const struct gpu_event *event)
{
	collect_gpu_event(c, process, event, collect_text(c, "k"));
}

/* The contents of programs' goodbyes. */
struct goodbyes {
	uint64_t count, operations, ns;
};

/* Takes in all whole lines that the pipe has at hand, as the session does. */
static inline void take_pipe(struct collect *c, struct gpu_pipe *pipe, uint64_t now_ns,
			     struct goodbyes *goodbyes)
{
	const struct gpu_event *event;
	struct process *process;
	struct tracee *tracee;
	const char *kernel;

	while ((event = gpu_pipe_next(pipe, &tracee, &kernel))) {
		if (event->type == GPU_EVENT_HELLO) {
			process = collect_hello(c, &event->hello);
			if (process)
				gpu_pipe_accept(pipe, tracee, process);
			continue;
		}
		process = tracee_process(tracee);
		collect_gpu_event(c, process, event, kernel);
		if (event->type != GPU_EVENT_GOODBYE)
			continue;
		goodbyes->count++;
		goodbyes->operations += event->goodbye.kernels;
		goodbyes->ns += event->goodbye.kernel_ns;
		gpu_pipe_close(pipe, tracee);
		collect_goodbye(c, process, now_ns);
	}
}

/* Ends it all at `now_ns`. The folded stacks in ns, to be freed. */
static inline char *folded_text(struct collect *c, uint64_t now_ns, struct written *written)
{
	const struct writer_options in_ns = {.unit_ns = 1};
	const struct naming_options naming = {.raw_names = false};
	struct collected collected;
	struct totals totals = {.sample_ns = SAMPLE_NS};
	struct result *result;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	collect_finish(c, now_ns);
	collected = collect_results(c);
	totals.ledger = collected.ledger;
	result = result_new(&collected, &naming, &totals);
	assert_non_null(result);
	assert_int_equal(folded_writer.write(result, &in_ns, out, written), 0);
	fclose(out);
	result_free(result);
	return text;
}

#endif
