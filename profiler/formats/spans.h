/* SPDX-License-Identifier: MIT */
/*
 * The course of a run that is over as spans of OpenTelemetry (span_maker.h).
 *
 *	the run                     from the command's start to its end
 *	  call                      "cudaLaunchKernel": launches, copies and the like; waits
 *	    operation               kernels, copies, sets: what the call started, on the GPU
 *
 * A call that is within another one of its thread is that one's child. An operation whose launch is
 * not known is a child of the run.
 *
 * A call that waited for one stream is linked to the operation that it waited for, if that is
 * certain (span_links.h) and the run's operations are all there; what is not certain is a dropped
 * link.
 *
 * Spans are in the order in which they began, but calls that may have a link soon after their ends,
 * and the run's last. In memory are, besides what trace_model.h, span_maker.h and span_links.h say,
 * 24 bytes for each operation, and a span for each track if calls wait.
 */
#ifndef PROFILER_FORMATS_SPANS_H
#define PROFILER_FORMATS_SPANS_H

#include <stddef.h>
#include <stdint.h>
#include "profiler/formats/span_maker.h"
#include "profiler/formats/writer.h"

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
