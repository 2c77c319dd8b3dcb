/* SPDX-License-Identifier: MIT */
/*
 * The course of a run as spans of OpenTelemetry: docs/otlp.md has all that is in them.
 *
 *	the run                     from the command's start to its end
 *	  call                      "cudaLaunchKernel": launches, copies and the like; waits
 *	    operation               kernels, copies, sets: what the call started, on the GPU
 *
 * A call that is within another one of its thread is that one's child. An operation whose launch is
 * not known is a child of the run.
 *
 * Spans are in the order in which they began, the run's last, in requests of SPANS_IN_REQUEST at
 * most: each is a whole ExportTraceServiceRequest (opentelemetry/proto/collector/trace/v1), with a
 * resource for each process. Besides what the model of the trace takes (trace_model.h), 4 bytes for
 * each operation and one request are in memory.
 */
#ifndef PROFILER_OUTPUT_SPANS_H
#define PROFILER_OUTPUT_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profiler/base/trace_context.h"
#include "profiler/output/otlp.h"
#include "profiler/output/writer.h"

#define SPANS_IN_REQUEST 512u

struct span_attribute {
	const char *key, *value;
};

/* Strings are borrowed. */
struct span_options {
	struct trace_context context; /* without TRACE_SAMPLED there are no spans */
	const char *service;          /* NULL: the name of the command's executable */
	/* of all resources, in place of ours with the same key; no key is there twice */
	const struct span_attribute *resource;
	uint32_t resource_count;
	bool has_stacks; /* calls have their stacks */
};

/*
 * Calls `put` with each request and the number of its spans; it returns 0, or -errno to end it.
 * `written`: what was put; `total`: how many spans there are. 0 or -errno.
 */
int spans_write(const struct result *result, const struct span_options *options,
		enum otlp_encoding encoding,
		int (*put)(void *context, const void *request, size_t size, uint32_t spans),
		void *context, struct written *written, uint64_t *total);

/*
 * Files: JSON, a line for each request, as the OpenTelemetry Protocol File Exporter specifies; or
 * the requests in protocol buffers, one behind the other, which is one message (TracesData).
 */
extern const struct writer otlp_json_writer, otlp_protobuf_writer;

#endif
