/* SPDX-License-Identifier: MIT */
/* A sink (sink.h) that writes to a fifo.h, as a program that has said hello. */
#ifndef TESTS_UNIT_FIFO_SINK_H
#define TESTS_UNIT_FIFO_SINK_H

#include "fifo.h"
#include "cupti_trace/core/sink.h"

/* Opens the sink with a reading thread, which passes each event to `heard`. */
static inline void fifo_open_sink(struct fifo *f, struct sink *sink, fifo_handler heard,
				  void *context)
{
	struct gpu_event hello = {
		.type = GPU_EVENT_HELLO,
		.hello = {.version = GPU_WIRE_VERSION, .instance = 1, .wants_ack = 1}};

	fifo_make(f, heard, context);
	fifo_start_reader(f);
	assert_int_equal(sink_open(sink, f->path, 1, 1), 0);
	sink_put(sink, &hello);
}

/* Afterwards everything is through. */
static inline void fifo_close_sink(struct fifo *f, struct sink *sink)
{
	sink_goodbye(sink);
	sink_abandon(sink);
	fifo_end_reader(f);
}

#endif
