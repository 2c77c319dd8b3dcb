/* SPDX-License-Identifier: MIT */
/*
 * Writes a finished run as OpenTelemetry spans (span_maker.h).
 *
 *	the run                     from the command's start to its end
 *	  call                      "cudaLaunchKernel": launches, copies and the like; waits
 *	    operation               kernels, copies, sets: what the call started, on the GPU
 *
 * A call that is nested in another call of its thread is a child of that call. An operation whose
 * launch is unknown is a child of the run.
 *
 * A call that waited for one stream is linked to the operation that it waited for. The link must
 * be certain (span_links.h), and no operation of the run may be missing; else it is a dropped
 * link.
 *
 * Spans are in order of their starts, with two exceptions: calls that may have a link come soon
 * after their ends, and the run's span is the last. Memory is that of trace_model.h, span_maker.h
 * and span_links.h, 24 bytes for each operation, and a span for each track with waits.
 */
#ifndef PROFILER_FORMATS_SPANS_H
#define PROFILER_FORMATS_SPANS_H

#include <stddef.h>
#include <stdint.h>
#include "profiler/formats/span_maker.h"
#include "profiler/formats/writer.h"

/*
 * Calls `put` with each request and the number of its spans. `put` returns 0, or -errno to stop.
 * Sets `written` to what was put, and `total` to the number of spans that there are. Returns 0,
 * or -errno.
 */
int spans_write(const struct result *result, const struct span_options *options,
		enum otlp_encoding encoding,
		int (*put)(void *context, const void *request, size_t size, uint32_t spans),
		void *context, struct written *written, uint64_t *total);

/*
 * Span files. JSON has a line for each request, as the OpenTelemetry Protocol File Exporter
 * specifies. Requests in protocol buffers follow each other, and together are one message
 * (TracesData).
 */
extern const struct writer otlp_json_writer, otlp_protobuf_writer;

#endif
