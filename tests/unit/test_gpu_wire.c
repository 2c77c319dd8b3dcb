/* SPDX-License-Identifier: MIT */
/*
 * The line format: an encoded event decodes to an equal event, and nothing else decodes.
 *
 * Launches, kernels, batches and goodbyes in canonical form have a reader of their own. cJSON reads
 * all other lines, where numbers are exact up to 2^53, and drawn from that range.
 */
#include "unit.h"
#include "cupti_trace/wire/gpu_wire.h"

#define EXACT_BITS 53
#define TIME_BITS 63 /* the reader takes times and sums below 2^63 */

static void assert_same_string(const char *a, const char *b)
{
	assert_string_equal(a ? a : "", b ? b : "");
}

static void assert_same_event(const struct gpu_event *a, const struct gpu_event *b)
{
	assert_int_equal(a->type, b->type);
	switch (a->type) {
	case GPU_EVENT_BATCH:
		assert_int_equal(a->batch.pid, b->batch.pid);
		assert_int_equal(a->batch.instance, b->batch.instance);
		assert_int_equal(a->batch.sequence, b->batch.sequence);
		assert_int_equal(a->batch.bytes, b->batch.bytes);
		break;
	case GPU_EVENT_HELLO:
		assert_int_equal(a->hello.version, b->hello.version);
		assert_int_equal(a->hello.pid, b->hello.pid);
		assert_int_equal(a->hello.instance, b->hello.instance);
		assert_int_equal(a->hello.pid_namespace, b->hello.pid_namespace);
		assert_int_equal(a->hello.start_ticks, b->hello.start_ticks);
		assert_same_string(a->hello.executable, b->hello.executable);
		assert_same_string(a->hello.cupti_path, b->hello.cupti_path);
		assert_int_equal(a->hello.cupti_version, b->hello.cupti_version);
		assert_int_equal(a->hello.clock_offset_ns, b->hello.clock_offset_ns);
		assert_int_equal(a->hello.clock_error_ns, b->hello.clock_error_ns);
		assert_same_string(a->hello.libraries, b->hello.libraries);
		assert_int_equal(a->hello.wants_ack, b->hello.wants_ack);
		break;
	case GPU_EVENT_MAPS:
		assert_int_equal(a->maps.generation, b->maps.generation);
		assert_int_equal(a->maps.wants_ack, b->maps.wants_ack);
		break;
	case GPU_EVENT_NAME:
		assert_int_equal(a->name.id, b->name.id);
		assert_int_equal(a->name.more, b->name.more);
		assert_same_string(a->name.name, b->name.name);
		break;
	case GPU_EVENT_CODE:
		assert_int_equal(a->code.start, b->code.start);
		assert_int_equal(a->code.end, b->code.end);
		assert_int_equal(a->code.file_offset, b->code.file_offset);
		assert_int_equal(a->code.inode, b->code.inode);
		assert_int_equal(a->code.dev_major, b->code.dev_major);
		assert_int_equal(a->code.dev_minor, b->code.dev_minor);
		assert_int_equal(a->code.text_hash, b->code.text_hash);
		assert_same_string(a->code.path, b->code.path);
		assert_string_equal(a->code.build_id ? a->code.build_id : "",
				    b->code.build_id ? b->code.build_id : "");
		break;
	case GPU_EVENT_STACK:
		assert_int_equal(a->stack.id, b->stack.id);
		assert_int_equal(a->stack.is_whole, b->stack.is_whole);
		assert_int_equal(a->stack.is_unordered, b->stack.is_unordered);
		assert_same_string(a->stack.function, b->stack.function);
		assert_same_string(a->stack.handed_to, b->stack.handed_to);
		assert_int_equal(a->stack.handed_from, b->stack.handed_from);
		assert_int_equal(a->stack.count, b->stack.count);
		for (uint32_t i = 0; i < a->stack.count; i++)
			assert_memory_equal(&a->stack.frames[i], &b->stack.frames[i],
					    sizeof(a->stack.frames[i]));
		break;
	case GPU_EVENT_PYCODE:
		assert_int_equal(a->pycode.id, b->pycode.id);
		assert_same_string(a->pycode.name, b->pycode.name);
		assert_same_string(a->pycode.qualname, b->pycode.qualname);
		assert_same_string(a->pycode.path, b->pycode.path);
		assert_int_equal(a->pycode.first_line, b->pycode.first_line);
		break;
	case GPU_EVENT_NVTX:
		assert_int_equal(a->nvtx.id, b->nvtx.id);
		assert_int_equal(a->nvtx.color, b->nvtx.color);
		assert_same_string(a->nvtx.domain, b->nvtx.domain);
		assert_same_string(a->nvtx.name, b->nvtx.name);
		break;
	case GPU_EVENT_LAUNCH:
		assert_int_equal(a->launch.time_ns, b->launch.time_ns);
		assert_int_equal(a->launch.tid, b->launch.tid);
		assert_int_equal(a->launch.correlation_id, b->launch.correlation_id);
		assert_int_equal(a->launch.family, b->launch.family);
		assert_int_equal(a->launch.flags, b->launch.flags);
		assert_int_equal(a->launch.stack_id, b->launch.stack_id);
		assert_int_equal(a->launch.stands_for, b->launch.stands_for);
		break;
	case GPU_EVENT_DROPS: /* no padding */
		assert_memory_equal(&a->drops, &b->drops, sizeof(a->drops));
		break;
	case GPU_EVENT_KERNEL:
		assert_int_equal(a->kernel.start_ns, b->kernel.start_ns);
		assert_int_equal(a->kernel.duration_ns, b->kernel.duration_ns);
		assert_int_equal(a->kernel.name_id, b->kernel.name_id);
		assert_int_equal(a->kernel.correlation_id, b->kernel.correlation_id);
		assert_int_equal(a->kernel.device_id, b->kernel.device_id);
		assert_int_equal(a->kernel.context_id, b->kernel.context_id);
		assert_int_equal(a->kernel.stream_id, b->kernel.stream_id);
		assert_memory_equal(a->kernel.grid, b->kernel.grid, sizeof(a->kernel.grid));
		assert_memory_equal(a->kernel.block, b->kernel.block, sizeof(a->kernel.block));
		assert_int_equal(a->kernel.static_shared, b->kernel.static_shared);
		assert_int_equal(a->kernel.dynamic_shared, b->kernel.dynamic_shared);
		assert_int_equal(a->kernel.registers, b->kernel.registers);
		assert_int_equal(a->kernel.graph_id, b->kernel.graph_id);
		assert_int_equal(a->kernel.graph_node_id, b->kernel.graph_node_id);
		assert_int_equal(a->kernel.bad_time, b->kernel.bad_time);
		assert_int_equal(a->kernel.outside, b->kernel.outside);
		break;
	case GPU_EVENT_NOTICE:
		assert_int_equal(a->notice.code, b->notice.code);
		assert_same_string(a->notice.detail, b->notice.detail);
		break;
	case GPU_EVENT_GOODBYE:
		assert_int_equal(a->goodbye.kernels, b->goodbye.kernels);
		assert_int_equal(a->goodbye.kernel_ns, b->goodbye.kernel_ns);
		assert_int_equal(a->goodbye.launches, b->goodbye.launches);
		assert_int_equal(a->goodbye.own_ns, b->goodbye.own_ns);
		break;
	case GPU_EVENT_WORK: /* no padding but at the end, and zeroed there */
		assert_memory_equal(&a->work, &b->work, offsetof(struct gpu_event_work, bad_time));
		assert_int_equal(a->work.bad_time, b->work.bad_time);
		assert_int_equal(a->work.outside, b->work.outside);
		break;
	case GPU_EVENT_NODE:
		assert_int_equal(a->node.id, b->node.id);
		assert_int_equal(a->node.origin, b->node.origin);
		assert_int_equal(a->node.is_moved, b->node.is_moved);
		assert_int_equal(a->node.time_ns, b->node.time_ns);
		assert_int_equal(a->node.tid, b->node.tid);
		assert_int_equal(a->node.stack_id, b->node.stack_id);
		break;
	case GPU_EVENT_NODE_WORK: /* no padding */
		assert_int_equal(a->node_work.id, b->node_work.id);
		assert_memory_equal(&a->node_work.of, &b->node_work.of, sizeof(a->node_work.of));
		break;
	case GPU_EVENT_NODE_RUN:
		assert_int_equal(a->node_run.start_ns, b->node_run.start_ns);
		assert_int_equal(a->node_run.node_id, b->node_run.node_id);
		assert_int_equal(a->node_run.correlation_id, b->node_run.correlation_id);
		assert_int_equal(a->node_run.graph_id, b->node_run.graph_id);
		assert_int_equal(a->node_run.count, b->node_run.count);
		for (uint32_t i = 0; i < a->node_run.count; i++) {
			const struct gpu_node_step *x = &a->node_run.steps[i];
			const struct gpu_node_step *y = &b->node_run.steps[i];

			assert_true(x->node == y->node && x->start_ns == y->start_ns);
			assert_true(x->duration_ns == y->duration_ns && x->work_id == y->work_id);
		}
		break;
	case GPU_EVENT_WAIT:
		assert_int_equal(a->wait.start_ns, b->wait.start_ns);
		assert_int_equal(a->wait.duration_ns, b->wait.duration_ns);
		assert_int_equal(a->wait.computed_ns, b->wait.computed_ns);
		assert_int_equal(a->wait.tid, b->wait.tid);
		assert_int_equal(a->wait.stack_id, b->wait.stack_id);
		assert_int_equal(a->wait.has_stream, b->wait.has_stream);
		assert_int_equal(a->wait.context_id, b->wait.context_id);
		assert_int_equal(a->wait.stream_id, b->wait.stream_id);
		assert_int_equal(a->wait.error, b->wait.error);
		break;
	case GPU_EVENT_CALLS:
		assert_same_string(a->calls.function, b->calls.function);
		assert_int_equal(a->calls.family, b->calls.family);
		assert_int_equal(a->calls.kind, b->calls.kind);
		assert_int_equal(a->calls.calls, b->calls.calls);
		assert_int_equal(a->calls.ns, b->calls.ns);
		assert_int_equal(a->calls.bytes, b->calls.bytes);
		assert_int_equal(a->calls.nested, b->calls.nested);
		assert_int_equal(a->calls.nested_ns, b->calls.nested_ns);
		assert_int_equal(a->calls.shortest_ns, b->calls.shortest_ns);
		assert_int_equal(a->calls.longest_ns, b->calls.longest_ns);
		assert_int_equal(a->calls.error_count, b->calls.error_count);
		for (uint32_t i = 0; i < a->calls.error_count; i++) {
			assert_int_equal(a->calls.errors[i].code, b->calls.errors[i].code);
			assert_int_equal(a->calls.errors[i].count, b->calls.errors[i].count);
		}
		assert_int_equal(a->calls.bucket_count, b->calls.bucket_count);
		for (uint32_t i = 0; i < a->calls.bucket_count; i++) {
			assert_int_equal(a->calls.buckets[i].bucket, b->calls.buckets[i].bucket);
			assert_int_equal(a->calls.buckets[i].count, b->calls.buckets[i].count);
		}
		break;
	case GPU_EVENT_DEVICE:
		assert_int_equal(a->device.id, b->device.id);
		assert_int_equal(a->device.is_mig, b->device.is_mig);
		assert_int_equal(a->device.gpu_instance, b->device.gpu_instance);
		assert_int_equal(a->device.compute_instance, b->device.compute_instance);
		assert_memory_equal(a->device.uuid, b->device.uuid, sizeof(a->device.uuid));
		assert_same_string(a->device.name, b->device.name);
		assert_memory_equal(&a->device.limits, &b->device.limits, sizeof(a->device.limits));
		break;
	case GPU_EVENT_CONTEXT:
		assert_int_equal(a->context.id, b->context.id);
		assert_int_equal(a->context.device_id, b->context.device_id);
		assert_int_equal(a->context.is_mps, b->context.is_mps);
		break;
	case GPU_EVENT_VOID:
		assert_int_equal(a->voids.launches, b->voids.launches);
		assert_int_equal(a->voids.correlation_id, b->voids.correlation_id);
		break;
	case GPU_EVENT_LAUNCH_END:
		assert_int_equal(a->launch_end.duration_ns, b->launch_end.duration_ns);
		assert_int_equal(a->launch_end.tid, b->launch_end.tid);
		assert_int_equal(a->launch_end.correlation_id, b->launch_end.correlation_id);
		assert_int_equal(a->launch_end.error, b->launch_end.error);
		break;
	case GPU_EVENT_GRAPH:
		assert_int_equal(a->graph.number, b->graph.number);
		assert_int_equal(a->graph.holder, b->graph.holder);
		assert_int_equal(a->graph.correlation_id, b->graph.correlation_id);
		assert_int_equal(a->graph.time_ns, b->graph.time_ns);
		break;
	case GPU_EVENT_METRIC:
		assert_int_equal(a->metric.id, b->metric.id);
		assert_same_string(a->metric.name, b->metric.name);
		assert_same_string(a->metric.unit, b->metric.unit);
		break;
	case GPU_EVENT_COUNTERS:
		assert_int_equal(a->counters.correlation_id, b->counters.correlation_id);
		assert_int_equal(a->counters.state, b->counters.state);
		assert_int_equal(a->counters.count, b->counters.count);
		assert_memory_equal(a->counters.values, b->counters.values,
				    a->counters.count * sizeof(double));
		break;
	case GPU_EVENT_UNMEASURED:
		assert_memory_equal(&a->unmeasured, &b->unmeasured, sizeof(a->unmeasured));
		break;
	case GPU_EVENT_ERROR:
		assert_int_equal(a->error.code, b->error.code);
		assert_int_equal(a->error.tid, b->error.tid);
		assert_int_equal(a->error.correlation_id, b->error.correlation_id);
		assert_string_equal(a->error.function, b->error.function);
		break;
	case GPU_EVENT_RANGE:
		assert_int_equal(a->range.time_ns, b->range.time_ns);
		assert_int_equal(a->range.is_open, b->range.is_open);
		break;
	case GPU_EVENT_WINDOW:
		assert_int_equal(a->window.from_ns, b->window.from_ns);
		assert_int_equal(a->window.to_ns, b->window.to_ns);
		assert_int_equal(a->window.period_from_ns, b->window.period_from_ns);
		assert_int_equal(a->window.period_ns, b->window.period_ns);
		assert_int_equal(a->window.represents, b->window.represents);
		break;
	case GPU_EVENT_WINDOW_END:
		assert_int_equal(a->window_end.recorded_ns, b->window_end.recorded_ns);
		assert_int_equal(a->window_end.recorded_calls, b->window_end.recorded_calls);
		assert_int_equal(a->window_end.counted_ns, b->window_end.counted_ns);
		assert_int_equal(a->window_end.counted_calls, b->window_end.counted_calls);
		assert_int_equal(a->window_end.represents, b->window_end.represents);
		break;
	case GPU_EVENT_RUN:
		assert_int_equal(a->run.time_ns, b->run.time_ns);
		assert_int_equal(a->run.unix_ns, b->run.unix_ns);
		if (!a->run.unix_ns)
			break;
		assert_same_string(a->run.boot, b->run.boot);
		assert_same_string(a->run.host, b->run.host);
		assert_same_string(a->run.folder, b->run.folder);
		assert_same_string(a->run.arguments, b->run.arguments);
		assert_same_string(a->run.job, b->run.job);
		break;
	case GPU_EVENT_POOL: /* no padding */
		assert_memory_equal(&a->pool, &b->pool, sizeof(a->pool));
		break;
	case GPU_EVENT_SUM: /* no padding */
		assert_memory_equal(&a->sum, &b->sum, sizeof(a->sum));
		break;
	case GPU_EVENT_CUBIN:
		assert_int_equal(a->cubin.crc, b->cubin.crc);
		assert_int_equal(a->cubin.size, b->cubin.size);
		assert_int_equal(a->cubin.offset, b->cubin.offset);
		assert_int_equal(a->cubin.count, b->cubin.count);
		assert_memory_equal(a->cubin.bytes, b->cubin.bytes, a->cubin.count);
		break;
	case GPU_EVENT_STALL:
		assert_int_equal(a->stall.id, b->stall.id);
		assert_same_string(a->stall.name, b->stall.name);
		break;
	case GPU_EVENT_PCS:
		assert_int_equal(a->pcs.name_id, b->pcs.name_id);
		assert_int_equal(a->pcs.cubin_crc, b->pcs.cubin_crc);
		assert_int_equal(a->pcs.correlation_id, b->pcs.correlation_id);
		assert_int_equal(a->pcs.count, b->pcs.count);
		for (uint32_t i = 0; i < a->pcs.count; i++) {
			assert_int_equal(a->pcs.counts[i].pc, b->pcs.counts[i].pc);
			assert_int_equal(a->pcs.counts[i].stall, b->pcs.counts[i].stall);
			assert_int_equal(a->pcs.counts[i].samples, b->pcs.counts[i].samples);
		}
		break;
	case GPU_EVENT_PC_TOTALS:
		assert_int_equal(a->pc_totals.period, b->pc_totals.period);
		assert_int_equal(a->pc_totals.taken, b->pc_totals.taken);
		assert_int_equal(a->pc_totals.dropped, b->pc_totals.dropped);
		assert_int_equal(a->pc_totals.other, b->pc_totals.other);
		assert_int_equal(a->pc_totals.lost, b->pc_totals.lost);
		assert_int_equal(a->pc_totals.overflows, b->pc_totals.overflows);
		assert_int_equal(a->pc_totals.cubins_left_out, b->pc_totals.cubins_left_out);
		break;
	case GPU_EVENT_NONE:
	case GPU_EVENT_TYPES:
		fail();
	}
}

static int make_decoder(void **state)
{
	*state = gpu_wire_decoder_new();
	return *state ? 0 : -1;
}

static int free_decoder(void **state)
{
	gpu_wire_decoder_free(*state);
	return 0;
}

/* Decodes the line in front of a guard, so that sanitizers and valgrind find a read past its
 * end. */
static int decode(struct gpu_wire_decoder *decoder, const char *line, size_t length,
		  struct gpu_event *event)
{
	char *copy = malloc(length ? length : 1);
	int err;

	assert_non_null(copy);
	memcpy(copy, line, length);
	err = gpu_wire_decode(decoder, copy, length, event);
	free(copy);
	return err;
}

static int decode_text(struct gpu_wire_decoder *decoder, const char *line)
{
	struct gpu_event event;

	return decode(decoder, line, strlen(line), &event);
}

static void check_round_trip(struct gpu_wire_decoder *decoder, const struct gpu_event *event)
{
	char line[GPU_WIRE_LINE_MAX];
	struct gpu_event back;
	int n = gpu_wire_encode(event, line, sizeof(line));

	assert_in_range(n, 1, GPU_WIRE_LINE_MAX);
	assert_int_equal(line[n - 1], '\n');
	assert_null(memchr(line, '\n', (size_t)n - 1));
	for (int i = 0; i < n - 1; i++)
		assert_true((unsigned char)line[i] >= 0x20 && line[i] != 0x7f);
	assert_int_equal(decode(decoder, line, (size_t)n - 1, &back), 0);
	assert_same_event(event, &back);
}

/* ---- random events ---- */

/*
 * Fills `out` with valid UTF-8 of all lengths, with characters that JSON must escape. `size`
 * includes the NUL.
 */
static const char *random_string(struct prng *p, char *out, size_t size)
{
	static const char *const parts[] = {
		"a",
		"Z",
		"0",
		" ",
		"\"",
		"\\",
		"/",
		"\n",
		"\r",
		"\t",
		"\b",
		"\x01",
		"\x1f",
		"\x7f",
		"{",
		"}",
		"[",
		",",
		":",
		"\xc2\x80",
		"\xdf\xbf",
		"\xe0\xa0\x80",
		"\xed\x9f\xbf",
		"\xef\xbf\xbd",
		"\xf0\x90\x80\x80",
		"\xf4\x8f\xbf\xbf",
		"\\u0000",
		"_Z6kernelPfi",
	};
	size_t used = 0;

	for (uint64_t n = prng_bits(p, 6); n > 0; n--) {
		const char *part = parts[prng_below(p, sizeof(parts) / sizeof(parts[0]))];
		size_t length = strlen(part);

		if (used + length >= size)
			break;
		memcpy(out + used, part, length);
		used += length;
	}
	out[used] = '\0';
	return out;
}

static uint32_t u32(struct prng *p)
{
	return (uint32_t)prng_bits(p, 32);
}

static uint64_t random_instance(struct prng *p)
{
	uint64_t instance = prng_bits(p, 64);

	return instance ? instance : 1;
}

static void random_kernel(struct prng *p, struct gpu_event_kernel *e)
{
	e->start_ns = prng_bits(p, TIME_BITS);
	e->duration_ns = prng_bits(p, 61);
	e->name_id = u32(p);
	e->correlation_id = u32(p);
	e->device_id = u32(p);
	e->context_id = u32(p);
	e->stream_id = u32(p);
	for (int i = 0; i < 3; i++) {
		e->grid[i] = u32(p);
		e->block[i] = u32(p);
	}
	e->static_shared = u32(p);
	e->dynamic_shared = u32(p);
	e->registers = u32(p);
	if (prng_chance(p, 50)) {
		e->graph_id = u32(p);
		e->graph_node_id = prng_bits(p, TIME_BITS);
	}
	e->bad_time = prng_chance(p, 20);
	e->outside = (uint32_t)prng_below(p, GPU_OUTSIDES);
}

struct random_event {
	struct gpu_event event;
	char strings[3][160];
	struct gpu_call_error errors[GPU_CALL_LINE_ERRORS];
	double values[GPU_METRICS_MAX];
	struct gpu_call_bucket buckets[GPU_CALL_LINE_BUCKETS];
	struct gpu_event_frame frames[GPU_STACK_MAX_FRAMES];
	uint8_t piece[GPU_CUBIN_PIECE];
	struct gpu_pc_count counts[GPU_PC_LINE_COUNTS];
	struct gpu_node_step steps[GPU_NODE_RUN_STEPS];
};

static void random_cubin(struct prng *p, struct random_event *r)
{
	struct gpu_event_cubin *e = &r->event.cubin;

	e->crc = prng_bits(p, 64);
	e->count = 1 + (uint32_t)prng_below(p, GPU_CUBIN_PIECE);
	e->size = e->count + (uint32_t)prng_below(p, GPU_CUBIN_MAX_BYTES - e->count + 1);
	e->offset = (uint32_t)prng_below(p, e->size - e->count + 1);
	e->bytes = r->piece;
	for (uint32_t i = 0; i < e->count; i++)
		r->piece[i] = (uint8_t)prng_bits(p, 8);
}

static void random_pcs(struct prng *p, struct random_event *r)
{
	struct gpu_event_pcs *e = &r->event.pcs;

	e->name_id = (uint32_t)prng_bits(p, 32);
	e->cubin_crc = prng_bits(p, 64);
	e->correlation_id = prng_chance(p, 50) ? u32(p) : 0;
	e->count = 1 + (uint32_t)prng_below(p, GPU_PC_LINE_COUNTS);
	e->counts = r->counts;
	for (uint32_t i = 0; i < e->count; i++)
		r->counts[i] = (struct gpu_pc_count){
			.pc = (uint32_t)prng_bits(p, 32),
			.stall = 1 + (uint32_t)prng_below(p, GPU_STALL_MAX_ID - 1),
			.samples = prng_bits(p, 53) | 1};
}

static void random_node_work(struct prng *p, struct gpu_event_node_work *e)
{
	struct gpu_node_work *of = &e->of;

	*e = (struct gpu_event_node_work){u32(p) | 1, {.device_id = u32(p), .stream_id = u32(p)}};
	of->context_id = u32(p);
	if (prng_chance(p, 50)) {
		of->work = 1 + (uint32_t)prng_below(p, GPU_WORKS - 1);
		of->bytes = prng_bits(p, EXACT_BITS);
		of->source_memory = u32(p);
		of->destination_memory = u32(p);
		return;
	}
	of->name_id = u32(p);
	for (int i = 0; i < 3; i++) {
		of->grid[i] = u32(p);
		of->block[i] = u32(p);
	}
	of->static_shared = u32(p);
	of->dynamic_shared = u32(p);
	of->registers = u32(p);
}

/* Makes a run of so few steps, or so small ones, that a line has room. Ids and times are valid. */
static void random_node_run(struct prng *p, struct random_event *r, unsigned int bits)
{
	struct gpu_event_node_run *e = &r->event.node_run;
	bool is_small = prng_chance(p, 50);
	uint64_t node, end, was;

	*e = (struct gpu_event_node_run){
		.start_ns = prng_bits(p, bits),
		.node_id = 1 + prng_bits(p, bits) / 2,
		.correlation_id = u32(p),
		.graph_id = u32(p),
		.count = 1 + (uint32_t)prng_below(p, is_small ? GPU_NODE_RUN_STEPS / 3 : 40),
		.steps = r->steps,
	};
	node = e->node_id;
	end = e->start_ns;
	for (uint32_t i = 0; i < e->count; i++) {
		struct gpu_node_step *step = &r->steps[i];

		was = node;
		node = is_small ? 1 + (node + prng_below(p, 3)) / 2 : 1 + prng_bits(p, bits - 2);
		step->node = (int64_t)(node - was);
		was = end;
		end = is_small && end > 10 && end >> (bits - 1) == 0
			      ? end - 10 + prng_below(p, 1000)
			      : prng_bits(p, bits - 2);
		step->start_ns = (int64_t)(end - was);
		step->duration_ns = is_small ? prng_below(p, 1000) : prng_bits(p, bits - 3);
		step->work_id = (is_small ? (uint32_t)prng_below(p, 100) : u32(p)) | 1;
		end += step->duration_ns;
	}
}

static struct gpu_event_frame random_frame(struct prng *p)
{
	if (prng_chance(p, 50))
		return (struct gpu_event_frame){.value = prng_bits(p, 64),
						.kind = GPU_FRAME_RETURN};
	if (prng_chance(p, 20))
		return (struct gpu_event_frame){.value = prng_below(p, GPU_NVTX_MAX_ID),
						.kind = GPU_FRAME_NVTX};
	return (struct gpu_event_frame){
		.value = prng_below(p, GPU_PYCODE_MAX_ID),
		.kind = GPU_FRAME_PYTHON,
		.line = prng_chance(p, 50) ? 1 + (uint32_t)prng_below(p, GPU_FRAME_MAX_LINE) : 0,
	};
}

static void random_event(struct prng *p, enum gpu_event_type type, struct random_event *r)
{
	struct gpu_event *e = &r->event;

	memset(e, 0, sizeof(*e));
	e->type = type;
	switch (type) {
	case GPU_EVENT_BATCH:
		e->batch = (struct gpu_event_batch){u32(p), u32(p), random_instance(p),
						    prng_bits(p, TIME_BITS)};
		break;
	case GPU_EVENT_HELLO:
		e->hello = (struct gpu_event_hello){
			.version = u32(p),
			.pid = u32(p),
			.instance = random_instance(p),
			.pid_namespace = prng_bits(p, EXACT_BITS),
			.start_ticks = prng_bits(p, EXACT_BITS),
			.executable = random_string(p, r->strings[0], sizeof(r->strings[0])),
			.cupti_path = random_string(p, r->strings[1], sizeof(r->strings[1])),
			.cupti_version = u32(p),
			.clock_offset_ns = (int64_t)prng_bits(p, 64),
			.clock_error_ns = prng_bits(p, EXACT_BITS),
			.libraries = random_string(p, r->strings[2], sizeof(r->strings[2])),
			.wants_ack = u32(p),
		};
		break;
	case GPU_EVENT_MAPS:
		e->maps = (struct gpu_event_maps){prng_bits(p, EXACT_BITS), u32(p)};
		break;
	case GPU_EVENT_NAME:
		e->name = (struct gpu_event_name){
			u32(p), u32(p), random_string(p, r->strings[0], sizeof(r->strings[0]))};
		break;
	case GPU_EVENT_LAUNCH:
		e->launch = (struct gpu_event_launch){prng_bits(p, TIME_BITS),
						      u32(p),
						      u32(p),
						      prng_chance(p, 50) ? GPU_LAUNCH_RUNTIME
									 : GPU_LAUNCH_DRIVER,
						      u32(p),
						      u32(p),
						      (uint32_t)prng_bits(p, 14)};
		break;
	case GPU_EVENT_CODE:
		e->code = (struct gpu_event_code){
			.start = prng_bits(p, 62),
			.file_offset = prng_bits(p, 64),
			.inode = prng_bits(p, 64),
			.dev_major = u32(p),
			.dev_minor = u32(p),
			.path = random_string(p, r->strings[0], sizeof(r->strings[0])),
		};
		e->code.end = e->code.start + 1 + prng_bits(p, 40);
		if (prng_chance(p, 50))
			e->code.build_id = "5f3c0e21a7b94d6688e1c2d3f4a5b6c7d8e9f0a1";
		if (prng_chance(p, 50))
			e->code.text_hash = prng_bits(p, 64);
		break;
	case GPU_EVENT_STACK:
		e->stack = (struct gpu_event_stack){
			.id = u32(p),
			.is_whole = prng_chance(p, 50),
			.is_unordered = prng_chance(p, 50),
			.function = "cudaLaunchKernel",
			.count = (uint32_t)prng_below(p, GPU_STACK_MAX_FRAMES + 1),
			.frames = r->frames,
			.handed_from = prng_chance(p, 50) ? u32(p) : 0,
			.handed_to = prng_chance(p, 50) ? "pt_autograd_\"0" : "",
		};
		for (uint32_t i = 0; i < e->stack.count; i++)
			r->frames[i] = random_frame(p);
		break;
	case GPU_EVENT_PYCODE:
		e->pycode = (struct gpu_event_pycode){
			.id = 1 + (uint32_t)prng_below(p, GPU_PYCODE_MAX_ID - 1),
			.name = random_string(p, r->strings[0], sizeof(r->strings[0])),
			.qualname = random_string(p, r->strings[1], sizeof(r->strings[1])),
			.path = random_string(p, r->strings[2], sizeof(r->strings[2])),
			.first_line = u32(p),
		};
		break;
	case GPU_EVENT_WORK:
		e->work = (struct gpu_event_work){
			.start_ns = prng_bits(p, TIME_BITS),
			.duration_ns = prng_bits(p, 60),
			.bytes = prng_bits(p, TIME_BITS),
			.work = 1 + (uint32_t)prng_below(p, GPU_WORKS - 1),
			.correlation_id = u32(p),
			.address = prng_chance(p, 30) ? prng_bits(p, 64) : 0,
			.device_id = u32(p),
			.context_id = u32(p),
			.stream_id = u32(p),
			.bad_time = prng_chance(p, 20),
			.outside = (uint32_t)prng_below(p, GPU_OUTSIDES),
		};
		if (prng_chance(p, 50)) {
			e->work.graph_id = u32(p);
			e->work.graph_node_id = prng_bits(p, TIME_BITS);
		}
		if (prng_chance(p, 50)) {
			e->work.source_memory = u32(p);
			e->work.destination_memory = u32(p);
		}
		break;
	case GPU_EVENT_NODE:
		e->node = (struct gpu_event_node){.id = 1 + prng_bits(p, 63)};
		if (prng_chance(p, 50))
			e->node.origin = prng_bits(p, 64), e->node.is_moved = prng_chance(p, 50);
		else
			e->node.stack_id = u32(p);
		if (prng_chance(p, 50))
			e->node.time_ns = prng_bits(p, 64);
		if (prng_chance(p, 50))
			e->node.tid = u32(p);
		break;
	case GPU_EVENT_NODE_WORK:
		random_node_work(p, &e->node_work);
		break;
	case GPU_EVENT_NODE_RUN:
		random_node_run(p, r, TIME_BITS - 1);
		break;
	case GPU_EVENT_SUM:
		e->sum = (struct gpu_event_sum){u32(p),
						u32(p),
						u32(p),
						(uint32_t)prng_below(p, GPU_WORKS),
						prng_bits(p, EXACT_BITS),
						prng_bits(p, 64),
						prng_bits(p, 64)};
		break;
	case GPU_EVENT_NVTX:
		e->nvtx = (struct gpu_event_nvtx){
			.id = 1 + (uint32_t)prng_below(p, GPU_NVTX_MAX_ID - 1),
			.color = u32(p),
			.domain = random_string(p, r->strings[0], sizeof(r->strings[0])),
			.name = random_string(p, r->strings[1], sizeof(r->strings[1])),
		};
		break;
	case GPU_EVENT_WAIT:
		e->wait = (struct gpu_event_wait){
			.start_ns = prng_bits(p, TIME_BITS),
			.duration_ns = prng_bits(p, 61),
			.computed_ns = prng_bits(p, 61),
			.tid = u32(p),
			.stack_id = u32(p),
		};
		if (prng_chance(p, 50)) {
			e->wait.has_stream = 1;
			e->wait.context_id = u32(p);
			e->wait.stream_id = u32(p);
		}
		if (prng_chance(p, 50))
			e->wait.error = u32(p);
		break;
	case GPU_EVENT_GRAPH:
		e->graph.number = u32(p) | 1;
		e->graph.time_ns = prng_bits(p, TIME_BITS);
		if (prng_chance(p, 50))
			e->graph.holder = prng_bits(p, 64) | 1;
		else
			e->graph.correlation_id = u32(p) | 1;
		break;
	case GPU_EVENT_VOID:
		e->voids = (struct gpu_event_void){.launches = prng_bits(p, EXACT_BITS)};
		if (prng_chance(p, 50))
			e->voids = (struct gpu_event_void){.correlation_id = u32(p) | 1};
		break;
	case GPU_EVENT_LAUNCH_END:
		e->launch_end = (struct gpu_event_launch_end){prng_bits(p, 61), u32(p), u32(p),
							      prng_chance(p, 50) ? u32(p) : 0};
		break;
	case GPU_EVENT_CALLS:
		e->calls = (struct gpu_event_calls){
			.function = random_string(p, r->strings[0], GPU_CALL_NAME_BYTES / 6),
			.family = GPU_LAUNCH_RUNTIME + (uint32_t)prng_below(p, 2),
			.kind = (uint32_t)prng_below(p, GPU_CALL_KINDS),
			.calls = prng_bits(p, 53),
			.ns = prng_bits(p, 53),
			.bytes = prng_bits(p, 53),
			.nested = prng_bits(p, 53),
			.nested_ns = prng_bits(p, 53),
			.shortest_ns = prng_bits(p, 53),
			.longest_ns = prng_bits(p, 53),
			.error_count = (uint32_t)prng_below(p, GPU_CALL_LINE_ERRORS + 1),
			.bucket_count = (uint32_t)prng_below(p, GPU_CALL_LINE_BUCKETS + 1),
			.errors = r->errors,
			.buckets = r->buckets};
		for (uint32_t i = 0; i < GPU_CALL_LINE_ERRORS; i++)
			r->errors[i] = (struct gpu_call_error){u32(p), prng_bits(p, 53)};
		for (uint32_t i = 0; i < GPU_CALL_LINE_BUCKETS; i++)
			r->buckets[i] = (struct gpu_call_bucket){
				(uint32_t)prng_below(p, GPU_CALL_BUCKETS), prng_bits(p, 53)};
		break;
	case GPU_EVENT_ERROR:
		e->error = (struct gpu_event_error){
			u32(p) | 1, u32(p), u32(p),
			random_string(p, r->strings[0], sizeof(r->strings[0]))};
		break;
	case GPU_EVENT_RANGE:
		e->range = (struct gpu_event_range){prng_bits(p, 64), (uint32_t)prng_below(p, 2)};
		break;
	case GPU_EVENT_WINDOW:
		e->window.from_ns = prng_bits(p, 63);
		e->window.to_ns = e->window.from_ns + 1 + prng_bits(p, 40);
		e->window.period_from_ns = prng_bits(p, 64);
		e->window.period_ns = GPU_WINDOW_PERIOD_MIN_NS + prng_bits(p, 40);
		e->window.represents = 1 + (uint32_t)prng_below(p, GPU_WINDOW_REPRESENTS_MAX);
		break;
	case GPU_EVENT_WINDOW_END:
		e->window_end.recorded_ns = prng_bits(p, 53);
		e->window_end.recorded_calls = prng_bits(p, 53);
		e->window_end.counted_ns = prng_bits(p, 53);
		e->window_end.counted_calls = prng_bits(p, 53);
		e->window_end.represents = 1 + (uint32_t)prng_below(p, GPU_WINDOW_REPRESENTS_MAX);
		break;
	case GPU_EVENT_RUN:
		e->run = (struct gpu_event_run){
			.time_ns = prng_bits(p, 63),
			.unix_ns = prng_bits(p, 63),
			.boot = "5c1be0d6-28a6-45a3-a2b6-7fdd58e9ab6f",
			.host = random_string(p, r->strings[0], sizeof(r->strings[0])),
			.folder = random_string(p, r->strings[1], sizeof(r->strings[1])),
			.arguments = random_string(p, r->strings[2], sizeof(r->strings[2])),
			.job = prng_chance(p, 50) ? "RANK=3\x1fWORLD_SIZE=8\x1f" : "",
		};
		break;
	case GPU_EVENT_POOL:
		e->pool = (struct gpu_event_pool){prng_bits(p, 64),
						  prng_bits(p, 64),
						  prng_bits(p, 63),
						  prng_bits(p, 63),
						  prng_bits(p, 64),
						  u32(p),
						  u32(p)};
		break;
	case GPU_EVENT_DEVICE:
		e->device = (struct gpu_event_device){
			.id = (uint32_t)prng_below(p, GPU_DEVICE_MAX_ID),
			.is_mig = prng_chance(p, 50),
			.name = random_string(p, r->strings[0], sizeof(r->strings[0])),
		};
		if (prng_chance(p, 50))
			e->device.limits = (struct gpu_limits){u32(p) | 1, u32(p), u32(p), u32(p),
							       u32(p),     u32(p), u32(p)};
		if (e->device.is_mig) {
			e->device.gpu_instance = u32(p);
			e->device.compute_instance = u32(p);
		}
		for (uint64_t i = 0; i < prng_below(p, GPU_UUID_BYTES + 1); i++)
			e->device.uuid[i] = (uint8_t)u32(p);
		break;
	case GPU_EVENT_CONTEXT:
		e->context = (struct gpu_event_context){
			u32(p), (uint32_t)prng_below(p, GPU_DEVICE_MAX_ID), u32(p),
			prng_chance(p, 50) ? prng_bits(p, 64) : 0};
		break;
	case GPU_EVENT_KERNEL:
		random_kernel(p, &e->kernel);
		break;
	case GPU_EVENT_DROPS:
		e->drops = (struct gpu_event_drops){
			.kernels = prng_bits(p, EXACT_BITS),
			.launches = prng_bits(p, EXACT_BITS),
			.batches = prng_bits(p, EXACT_BITS),
			.unsent_kernels = prng_bits(p, EXACT_BITS),
			.unsent_launches = prng_bits(p, EXACT_BITS),
			.unknown = prng_bits(p, EXACT_BITS),
			.early = 1 + prng_bits(p, EXACT_BITS - 1),
			.early_ns = prng_bits(p, EXACT_BITS),
			.late = 1 + prng_bits(p, EXACT_BITS - 1),
			.late_ns = prng_bits(p, EXACT_BITS),
			.ranges = prng_bits(p, EXACT_BITS),
			.folded_ranges = prng_bits(p, EXACT_BITS),
		};
		break;
	case GPU_EVENT_NOTICE:
		e->notice = (struct gpu_event_notice){
			u32(p), random_string(p, r->strings[0], sizeof(r->strings[0]))};
		break;
	case GPU_EVENT_GOODBYE:
		e->goodbye = (struct gpu_event_goodbye){
			prng_bits(p, TIME_BITS), prng_bits(p, TIME_BITS), prng_bits(p, TIME_BITS),
			prng_bits(p, TIME_BITS)};
		break;
	case GPU_EVENT_CUBIN:
		random_cubin(p, r);
		break;
	case GPU_EVENT_STALL:
		e->stall = (struct gpu_event_stall){
			1 + (uint32_t)prng_below(p, GPU_STALL_MAX_ID - 1),
			random_string(p, r->strings[0], sizeof(r->strings[0]) / 6)};
		break;
	case GPU_EVENT_PCS:
		random_pcs(p, r);
		break;
	case GPU_EVENT_PC_TOTALS:
		e->pc_totals = (struct gpu_event_pc_totals){(uint32_t)prng_below(p, 32),
							    prng_bits(p, 53),
							    prng_bits(p, 53),
							    prng_bits(p, 53),
							    prng_bits(p, 53),
							    prng_bits(p, 53),
							    prng_bits(p, 53)};
		break;
	case GPU_EVENT_METRIC:
		e->metric = (struct gpu_event_metric){
			.id = (uint32_t)prng_below(p, GPU_METRICS_MAX),
			.name = random_string(p, r->strings[0], 100),
			.unit = random_string(p, r->strings[1], 16),
		};
		r->strings[0][0] = 'm'; /* a name is required */
		r->strings[0][1] = '\0';
		break;
	case GPU_EVENT_COUNTERS:
		e->counters = (struct gpu_event_counters){
			.correlation_id = u32(p),
			.state = (uint32_t)prng_below(p, GPU_COUNTERS_STATES),
			.values = r->values};
		if (e->counters.state == GPU_COUNTERS_READ)
			e->counters.count = 1 + (uint32_t)prng_below(p, GPU_METRICS_MAX);
		for (uint32_t i = 0; i < GPU_METRICS_MAX; i++) {
			uint64_t bits = prng_bits(p, 64); /* including NaN */

			memcpy(&r->values[i], &bits, sizeof(bits));
		}
		break;
	case GPU_EVENT_UNMEASURED:
		for (uint32_t i = 0; i < GPU_UNMEASURED_REASONS; i++)
			e->unmeasured.counts[i] = prng_bits(p, 53);
		break;
	case GPU_EVENT_NONE:
	case GPU_EVENT_TYPES:
		break;
	}
}

static void every_event_survives_the_wire(void **state)
{
	uint64_t rounds = unit_rounds(3000);

	for (uint64_t round = 0; round < rounds; round++) {
		struct prng p = prng_round(round);
		struct random_event r;

		for (int type = GPU_EVENT_NONE + 1; type < GPU_EVENT_TYPES; type++) {
			random_event(&p, (enum gpu_event_type)type, &r);
			check_round_trip(*state, &r.event);
		}
	}
}

static void extreme_numbers_survive(void **state)
{
	struct gpu_event e = {.type = GPU_EVENT_KERNEL};

	memset(&e.kernel, 0xff, sizeof(e.kernel));
	e.kernel.start_ns = INT64_MAX;
	e.kernel.duration_ns = (UINT64_C(1) << 61) - 1;
	e.kernel.graph_node_id = INT64_MAX;
	e.kernel.bad_time = 1;
	e.kernel.outside = GPU_AFTER_TRACING;
	check_round_trip(*state, &e);
	e = (struct gpu_event){.type = GPU_EVENT_GOODBYE,
			       .goodbye = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}};
	check_round_trip(*state, &e);
	e = (struct gpu_event){.type = GPU_EVENT_BATCH,
			       .batch = {UINT32_MAX, UINT32_MAX, UINT64_MAX, INT64_MAX}};
	check_round_trip(*state, &e);
	e = (struct gpu_event){.type = GPU_EVENT_LAUNCH,
			       .launch = {INT64_MAX, UINT32_MAX, UINT32_MAX, GPU_LAUNCH_DRIVER,
					  UINT32_MAX, UINT32_MAX, GPU_LAUNCH_STANDS_MAX}};
	check_round_trip(*state, &e);
	e = (struct gpu_event){.type = GPU_EVENT_HELLO,
			       .hello = {.instance = 1, .clock_offset_ns = INT64_MIN}};
	check_round_trip(*state, &e);
	e.hello.clock_offset_ns = INT64_MAX;
	check_round_trip(*state, &e);
}

/* ---- both readers agree ---- */

/* Adds spaces and tabs wherever JSON allows them. Only the general reader takes such lines. */
static size_t add_spaces(struct prng *p, const char *line, size_t length, char *out)
{
	bool in_string = false;
	size_t n = 0;

	for (size_t i = 0; i < length; i++) {
		out[n++] = line[i];
		if (line[i] == '"')
			in_string = !in_string;
		if (!in_string && strchr("{}[],:\"", line[i]) && (i == 0 || prng_chance(p, 30)))
			out[n++] = prng_chance(p, 50) ? ' ' : '\t';
	}
	return n;
}

/* Reverses the order of members; arrays stay as they are. */
static size_t reverse_members(const char *line, size_t length, char *out)
{
	size_t ends[32], count = 0, n = 0;
	int depth = 0;

	for (size_t i = 0; i < length; i++) {
		depth += line[i] == '[' || line[i] == '{';
		depth -= line[i] == ']' || line[i] == '}';
		if ((line[i] == ',' && depth == 1) || i == length - 1)
			ends[count++] = i;
	}
	out[n++] = '{';
	while (count-- > 0) {
		size_t start = count ? ends[count - 1] + 1 : 1;

		memcpy(out + n, line + start, ends[count] - start);
		n += ends[count] - start;
		out[n++] = count ? ',' : '}';
	}
	return n;
}

static void other_forms_of_hot_lines_read_the_same(void **state)
{
	static const enum gpu_event_type hot[] = {GPU_EVENT_BATCH,      GPU_EVENT_LAUNCH,
						  GPU_EVENT_KERNEL,     GPU_EVENT_GOODBYE,
						  GPU_EVENT_LAUNCH_END, GPU_EVENT_NODE_RUN};
	uint64_t rounds = unit_rounds(3000);

	for (uint64_t round = 0; round < rounds; round++) {
		struct prng p = prng_round(round);
		char line[GPU_WIRE_LINE_MAX], other[2 * GPU_WIRE_LINE_MAX];
		struct random_event r;
		struct gpu_event fast, slow;
		size_t n, m;

		random_event(&p, hot[round % 6], &r);
		/* values that the general reader keeps as double must be exact there too */
		if (r.event.type == GPU_EVENT_NODE_RUN)
			random_node_run(&p, &r, EXACT_BITS);
		else
			r.event.kernel.start_ns &= (UINT64_C(1) << EXACT_BITS) - 1;
		if (r.event.type == GPU_EVENT_KERNEL) {
			r.event.kernel.duration_ns &= (UINT64_C(1) << EXACT_BITS) - 1;
			r.event.kernel.graph_node_id &= (UINT64_C(1) << EXACT_BITS) - 1;
		} else if (r.event.type == GPU_EVENT_GOODBYE) {
			r.event.goodbye.kernel_ns &= (UINT64_C(1) << EXACT_BITS) - 1;
			r.event.goodbye.launches &= (UINT64_C(1) << EXACT_BITS) - 1;
			r.event.goodbye.own_ns &= (UINT64_C(1) << EXACT_BITS) - 1;
		} else if (r.event.type == GPU_EVENT_LAUNCH_END) {
			r.event.launch_end.duration_ns &= (UINT64_C(1) << EXACT_BITS) - 1;
		} else if (r.event.type == GPU_EVENT_BATCH) {
			r.event.batch.sequence &= (UINT64_C(1) << EXACT_BITS) - 1;
		}
		n = (size_t)gpu_wire_encode(&r.event, line, sizeof(line)) - 1;
		EXPECT(&p, decode(*state, line, n, &fast) == 0);
		m = add_spaces(&p, line, n, other);
		EXPECT(&p, decode(*state, other, m, &slow) == 0);
		assert_same_event(&fast, &slow);
		m = reverse_members(line, n, other);
		EXPECT(&p, m == n && decode(*state, other, m, &slow) == 0);
		assert_same_event(&fast, &slow);
	}
}

static void unknown_keys_are_ignored(void **state)
{
	struct gpu_event e;
	static const char line[] = "{\"t\":\"l\",\"s\":1,\"new\":{\"a\":[1,null]},\"h\":2,\"c\":3,"
				   "\"f\":2,\"later\":true}";

	assert_int_equal(decode(*state, line, sizeof(line) - 1, &e), 0);
	assert_int_equal(e.launch.time_ns, 1);
	assert_int_equal(e.launch.tid, 2);
	assert_int_equal(e.launch.correlation_id, 3);
	assert_int_equal(e.launch.family, GPU_LAUNCH_DRIVER);
	assert_int_equal(e.launch.flags, 0);
}

/* ---- strings ---- */

static const char *name_after_the_wire(struct gpu_wire_decoder *decoder, const char *name)
{
	struct gpu_event e = {.type = GPU_EVENT_NAME, .name = {.id = 1, .name = name}};
	char line[GPU_WIRE_LINE_MAX];
	static struct gpu_event back;
	int n = gpu_wire_encode(&e, line, sizeof(line));

	assert_in_range(n, 1, GPU_WIRE_LINE_MAX);
	assert_int_equal(decode(decoder, line, (size_t)n - 1, &back), 0);
	return back.name.name;
}

#define BAD "\xef\xbf\xbd" /* U+FFFD */

static void invalid_utf8_is_replaced(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"\x80", BAD},
		{"a\xffz", "a" BAD "z"},
		{"\xc0\xaf", BAD BAD},                 /* overlong '/' */
		{"\xe0\x80\xaf", BAD BAD BAD},         /* again */
		{"\xed\xa0\x80", BAD BAD BAD},         /* a surrogate */
		{"\xf4\x90\x80\x80", BAD BAD BAD BAD}, /* past U+10FFFF */
		{"\xf5\x80\x80\x80", BAD BAD BAD BAD},
		{"\xe2\x82", BAD BAD}, /* cut off by the end */
		{"\xe2\x82z", BAD BAD "z"},
		{"\xf0\x9f\x98", BAD BAD BAD},
		{"\xe2\x82\xac", "\xe2\x82\xac"},
		{"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(name_after_the_wire(*state, cases[i].in), cases[i].out);
	assert_string_equal(name_after_the_wire(*state, NULL), "");
}

/* All pairs of bytes: always a line, always valid UTF-8 when decoded. */
static void all_byte_pairs_make_a_line(void **state)
{
	for (int a = 1; a < 256; a++) {
		for (int b = 0; b < 256; b++) {
			char text[3] = {(char)a, (char)b, 0};
			const char *back = name_after_the_wire(*state, text);

			if (a < 0x80 && b < 0x80)
				assert_string_equal(back, text);
			else
				assert_true(strlen(back) >= 1 && strlen(back) <= 6);
		}
	}
}

static void long_strings_are_cut_between_characters(void **state)
{
	static const char *const units[] = {"x",   "\"", "\x01", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
					    "\xff"};
	const size_t size = 20000;
	char *text = malloc(size + 1);

	assert_non_null(text);
	for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++) {
		size_t unit = strlen(units[u]);
		struct gpu_event all[] = {
			{.type = GPU_EVENT_NAME,
			 .name = {.id = UINT32_MAX, .more = UINT32_MAX, .name = text}},
			{.type = GPU_EVENT_NOTICE, .notice = {UINT32_MAX, text}},
			{.type = GPU_EVENT_HELLO,
			 .hello = {UINT32_MAX, UINT32_MAX, UINT64_MAX, UINT64_MAX >> 11,
				   UINT64_MAX >> 11, text, text, UINT32_MAX, INT64_MIN,
				   UINT64_MAX >> 11, text, UINT32_MAX, 1}},
		};

		for (size_t i = 0; i + unit <= size; i += unit)
			memcpy(text + i, units[u], unit);
		text[size / unit * unit] = '\0';
		for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
			char line[GPU_WIRE_LINE_MAX];
			int n = gpu_wire_encode(&all[i], line, sizeof(line));
			struct gpu_event back;

			assert_in_range(n, 3000, GPU_WIRE_LINE_MAX);
			assert_int_equal(decode(*state, line, (size_t)n - 1, &back), 0);
			if (all[i].type == GPU_EVENT_NAME && (unsigned char)units[u][0] != 0xff) {
				size_t length = strlen(back.name.name);

				assert_int_equal(length % unit, 0);
				assert_memory_equal(back.name.name, text, length);
			}
		}
	}
	free(text);
}

static void a_short_buffer_is_refused_as_a_whole(void **state)
{
	struct gpu_event e = {.type = GPU_EVENT_HELLO,
			      .hello = {.instance = 1, .executable = "abc\"\n\xff"}};
	char line[512], reference[512];
	int n = gpu_wire_encode(&e, reference, sizeof(reference));

	(void)state;
	assert_true(n > 0);
	for (int size = 0; size < n; size++) {
		memset(line, 'x', sizeof(line));
		assert_int_equal(gpu_wire_encode(&e, line, (size_t)size), -ENOSPC);
		for (size_t i = (size_t)size; i < sizeof(line); i++)
			assert_int_equal(line[i], 'x');
	}
	assert_int_equal(gpu_wire_encode(&e, line, (size_t)n), n);
	assert_memory_equal(line, reference, n);
}

static void unknown_types_are_not_encoded(void **state)
{
	struct gpu_event e = {.type = GPU_EVENT_NONE};
	char line[100];

	(void)state;
	assert_int_equal(gpu_wire_encode(&e, line, sizeof(line)), -EINVAL);
	e.type = GPU_EVENT_TYPES;
	assert_int_equal(gpu_wire_encode(&e, line, sizeof(line)), -EINVAL);
}

/* A line always fits behind the header of a batch. */
static void a_line_and_its_header_fit_into_a_batch(void **state)
{
	struct gpu_event e = {.type = GPU_EVENT_BATCH,
			      .batch = {UINT32_MAX, 9999, UINT64_MAX, UINT64_MAX}};
	char line[200];

	(void)state;
	assert_true(1 + gpu_wire_encode(&e, line, sizeof(line)) + GPU_WIRE_LINE_MAX <=
		    GPU_WIRE_BATCH_MAX);
}

/* ---- what is no event ---- */

#define HELLO_ID "\"id\":\"0123456789abcdef\","
#define KERNEL(fields) "{\"t\":\"k\"," fields "}"
#define REST ",\"v\":[0,1,7],\"g\":[1,2,3],\"b\":[4,5,6],\"m\":[0,0],\"r\":32"

#define BATCH_OF(id) "{\"t\":\"batch\",\"pid\":1,\"id\":" id ",\"seq\":0}"
#define HELLO_REST                                                                 \
	"\"version\":2,\"pid\":1,\"exe\":\"\",\"cupti\":\"\",\"cupti_version\":1," \
	"\"clock_offset\":\"5\",\"clock_error\":0,\"libs\":\"\",\"ack\":0}"

static void rubbish_is_refused(void **state)
{
	static const char *const lines[] = {
		"",
		" ",
		"x",
		"null",
		"true",
		"1",
		"\"t\"",
		"[]",
		"[{\"t\":\"maps\",\"generation\":1,\"ack\":0}]",
		"{}",
		"{\"t\":1}",
		"{\"t\":null}",
		"{\"t\":\"\"}",
		"{\"t\":\"K\"}",
		"{\"t\":\"nonsense\"}",
		"{\"T\":\"maps\",\"generation\":1,\"ack\":0}",
		/* trailing garbage, on both ways */
		"{\"t\":\"l\",\"s\":1,\"h\":2,\"c\":3,\"f\":1}x",
		"{\"t\":\"l\",\"s\":1,\"h\":2,\"c\":3,\"f\":1}{}",
		"{\"t\":\"l\",\"s\":1,\"h\":2,\"c\":3,\"f\":1},",
		"{\"t\":\"maps\",\"generation\":1,\"ack\":0}}",
		/* cut off */
		"{\"t\":\"l\",\"s\":1,\"h\":2,\"c\":3,\"f\":1",
		"{\"t\":\"l\",\"s\":1,\"h\":2,\"c\":3,\"f\":",
		"{\"t\":\"l\",\"s\":1,\"h\":2,\"c\":",
		"{\"t\":\"k\",",
		"{\"t\":\"name\",\"i\":1,\"n\":\"a",
		"{\"t\":\"name\",\"i\":1,\"n\":\"\\u12",
		"{\"t\":\"name\",\"i\":1,\"n\":\"\\ud800\"}",
		/* wrong types */
		"{\"t\":\"l\",\"s\":\"1\",\"h\":2,\"c\":3,\"f\":1}",
		"{\"t\":\"l\",\"s\":1,\"h\":null,\"c\":3,\"f\":1}",
		"{\"t\":\"l\",\"s\":1,\"h\":2,\"c\":[3],\"f\":1}",
		"{\"t\":\"l\",\"s\":1,\"h\":2,\"c\":3,\"f\":true}",
		"{\"t\":\"name\",\"i\":1,\"n\":5}",
		"{\"t\":\"name\",\"i\":\"1\",\"n\":\"a\"}",
		"{\"t\":\"hello\",\"version\":2,\"pid\":1," HELLO_ID "\"exe\":\"\",\"cupti\":\"\","
		"\"cupti_version\":1,\"clock_offset\":5,\"clock_error\":0,\"libs\":\"\",\"ack\":0}",
		"{\"t\":\"hello\",\"version\":2,\"pid\":1," HELLO_ID "\"exe\":\"\",\"cupti\":\"\","
		"\"cupti_version\":1,\"clock_offset\":\"5x\",\"clock_error\":0,\"libs\":\"\","
		"\"ack\":0}",
		"{\"t\":\"hello\",\"version\":2,\"pid\":1," HELLO_ID "\"exe\":\"\",\"cupti\":\"\","
		"\"cupti_version\":1,\"clock_offset\":\"9223372036854775808\",\"clock_error\":0,"
		"\"libs\":\"\",\"ack\":0}",
		/* missing */
		"{\"t\":\"l\",\"s\":1,\"h\":2,\"c\":3}",
		"{\"t\":\"batch\",\"pid\":1}",
		"{\"t\":\"batch\",\"pid\":1,\"id\":\"0123456789abcdef\"}",
		"{\"t\":\"batch\",\"pid\":1,\"seq\":0}",
		"{\"t\":\"hello\"," HELLO_REST,
		/* an id is 16 lowercase hexadecimal digits, not all 0 */
		"{\"t\":\"hello\",\"id\":\"\"," HELLO_REST,
		"{\"t\":\"hello\",\"id\":\"123456789abcdef\"," HELLO_REST,
		"{\"t\":\"hello\",\"id\":\"0000000000000000\"," HELLO_REST,
		"{\"t\":\"hello\",\"id\":81985529216486895," HELLO_REST,
		BATCH_OF("\"0123456789abcde\""),
		BATCH_OF("\"00123456789abcdef\""),
		BATCH_OF("\"0123456789abcdeF\""),
		BATCH_OF("\"0123456789abcdeg\""),
		BATCH_OF("\"0x23456789abcdef\""),
		BATCH_OF(" \"0x23456789abcdef\""),
		BATCH_OF("\" 123456789abcdef\""),
		BATCH_OF("\"-123456789abcdef\""),
		BATCH_OF("\"0000000000000000\""),
		BATCH_OF(" \"0000000000000000\""),
		BATCH_OF("1234567890123456"),
		BATCH_OF("0"),
		BATCH_OF("null"),
		"{\"t\":\"maps\",\"generation\":1}",
		"{\"t\":\"drops\",\"kernels\":1,\"launches\":0,\"batches\":0}",
		"{\"t\":\"notice\",\"code\":1}",
		/* overflow, negative, fractions, not quite numbers */
		"{\"t\":\"l\",\"s\":1,\"h\":4294967296,\"c\":3,\"f\":1}",
		"{\"t\":\"l\",\"s\":1,\"h\":2,\"c\":3,\"f\":1,\"k\":4,\"n\":16385}",
		"{\"t\":\"l\",\"s\":1,\"h\":2,\"c\":3,\"f\":1,\"k\":4,\"n\":-1}",
		"{\"t\":\"l\",\"s\":1,\"h\":99999999999999999999,\"c\":3,\"f\":1}",
		"{\"t\":\"l\",\"s\":9223372036854775808,\"h\":2,\"c\":3,\"f\":1}",
		"{\"t\":\"l\",\"s\":18446744073709551616,\"h\":2,\"c\":3,\"f\":1}",
		"{\"t\":\"l\",\"s\":1e400,\"h\":2,\"c\":3,\"f\":1}",
		"{\"t\":\"l\",\"s\":-1,\"h\":2,\"c\":3,\"f\":1}",
		"{\"t\":\"l\",\"s\":1.5,\"h\":2,\"c\":3,\"f\":1}",
		"{\"t\":\"l\",\"s\":1,\"h\":2,\"c\":3,\"f\":0.5}",
		"{\"t\":\"l\",\"s\":+1,\"h\":2,\"c\":3,\"f\":1}",
		"{\"t\":\"l\",\"s\":NaN,\"h\":2,\"c\":3,\"f\":1}",
		"{\"t\":\"l\",\"s\":Infinity,\"h\":2,\"c\":3,\"f\":1}",
		"{\"t\":\"l\",\"s\":,\"h\":2,\"c\":3,\"f\":1}",
		/* out of their meaning */
		"{\"t\":\"l\",\"s\":1,\"h\":2,\"c\":3,\"f\":0}",
		"{\"t\":\"l\",\"s\":1,\"h\":2,\"c\":3,\"f\":3}",
		KERNEL("\"n\":1,\"s\":5,\"d\":2305843009213693952,\"c\":1" REST),
		KERNEL("\"n\":1,\"s\":5,\"d\":10,\"c\":1" REST ",\"bad\":2"),
		KERNEL("\"n\":1,\"s\":5,\"d\":10,\"c\":1" REST ",\"out\":3"),
		KERNEL("\"n\":1, \"s\":5,\"d\":10,\"c\":1" REST ",\"out\":3"),
		"{\"t\":\"ld\",\"h\":2,\"c\":3}",
		"{\"t\":\"ld\",\"h\":2,\"c\":3,\"d\":2305843009213693952}",
		"{\"t\":\"ld\",\"h\":2,\"c\":4294967296,\"d\":1}",
		"{\"t\":\"ld\",\"c\":3,\"d\":1}",
		"{\"t\":\"void\"}",
		"{\"t\":\"void\",\"launches\":-1}",
		KERNEL("\"n\":1, \"s\":5,\"d\":2305843009213693952,\"c\":1" REST),
		/* arrays of another length or with other things in them */
		KERNEL("\"n\":1,\"s\":5,\"d\":1,\"c\":1,\"v\":[0,1],\"g\":[1,2,3],\"b\":[4,5,6],"
		       "\"m\":[0,0],\"r\":3"),
		KERNEL("\"n\":1,\"s\":5,\"d\":1,\"c\":1,\"v\":[0,1,2,3],\"g\":[1,2,3],\"b\":[4,5,6]"
		       ","
		       "\"m\":[0,0],\"r\":3"),
		KERNEL("\"n\":1,\"s\":5,\"d\":1,\"c\":1,\"v\":[0,1,-2],\"g\":[1,2,3],\"b\":[4,5,6],"
		       "\"m\":[0,0],\"r\":3"),
		KERNEL("\"n\":1,\"s\":5,\"d\":1,\"c\":1,\"v\":7,\"g\":[1,2,3],\"b\":[4,5,6],"
		       "\"m\":[0,0],\"r\":3"),
		KERNEL("\"n\":1,\"s\":5,\"d\":10,\"c\":1" REST ",\"gr\":[4294967296,1]"),
		KERNEL("\"n\":1,\"s\":5,\"d\":10,\"c\":1" REST ",\"gr\":[1]"),
		KERNEL("\"n\":1,\"s\":5,\"d\":10,\"c\":1" REST ",\"gr\":{}"),
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (decode_text(*state, lines[i]) != -EBADMSG)
			fail_msg("taken: %s", lines[i]);
}

static void ordinary_lines_are_taken(void **state)
{
	assert_int_equal(decode_text(*state, KERNEL("\"n\":1,\"s\":5,\"d\":10,\"c\":1" REST)), 0);
	assert_int_equal(decode_text(*state, KERNEL("\"n\":1,\"s\":5,\"d\":10,\"c\":1" REST
						    ",\"gr\":[1,2],\"bad\":1")),
			 0);
	assert_int_equal(decode_text(*state, "{\"t\":\"l\",\"s\":1,\"h\":2,\"c\":3,\"f\":1}"), 0);
	assert_int_equal(decode_text(*state, "{\"t\":\"ld\",\"h\":2,\"c\":3,\"d\":0}"), 0);
	assert_int_equal(decode_text(*state, BATCH_OF("\"0123456789abcdef\"")), 0);
	assert_int_equal(decode_text(*state, BATCH_OF(" \"fedcba9876543210\"")), 0);
	assert_int_equal(decode_text(*state, "{\"t\":\"hello\"," HELLO_ID HELLO_REST), 0);
	assert_int_equal(decode_text(*state, "{\"t\":\"l\",\"s\":1,\"h\":2,\"c\":3,\"f\":1} \t\r"),
			 0);
}

static void deep_nesting_is_refused(void **state)
{
	char line[GPU_WIRE_LINE_MAX + 1];
	size_t n = (size_t)snprintf(line, sizeof(line), "{\"t\":\"maps\",\"x\":");
	struct gpu_event e;

	memset(line + n, '[', sizeof(line) - n);
	assert_int_equal(decode(*state, line, GPU_WIRE_LINE_MAX, &e), -EBADMSG);
	for (size_t i = n; i < GPU_WIRE_LINE_MAX - 4; i += 5)
		memcpy(line + i, "{\"a\":", 5);
	assert_int_equal(decode(*state, line, GPU_WIRE_LINE_MAX, &e), -EBADMSG);
}

static void lines_have_a_longest_length(void **state)
{
	static const char head[] = "{\"t\":\"maps\",\"generation\":1,\"ack\":0}";
	char line[GPU_WIRE_LINE_MAX + 1];
	struct gpu_event e;

	memset(line, ' ', sizeof(line));
	memcpy(line, head, sizeof(head) - 1);
	assert_int_equal(decode(*state, line, GPU_WIRE_LINE_MAX, &e), 0);
	assert_int_equal(decode(*state, line, GPU_WIRE_LINE_MAX + 1, &e), -EBADMSG);
}

#define STACK_LINE(frames) \
	"{\"t\":\"stack\",\"i\":1,\"whole\":1,\"f\":\"cudaLaunchKernel\",\"a\":\"" frames "\"}"

static void frames_of_stacks_are_checked(void **state)
{
	static const char *const good[] = {STACK_LINE(""), STACK_LINE("7f00"), STACK_LINE("p1"),
					   STACK_LINE("p0,1,p1048575:16777215"),
					   STACK_LINE("ffffffffffffffff,p2:1")};
	static const char *const bad[] = {
		STACK_LINE(","),      STACK_LINE("1,"),       STACK_LINE(",1"),
		STACK_LINE("1,,2"),   STACK_LINE("p"),        STACK_LINE("pp1"),
		STACK_LINE("p1:"),    STACK_LINE("p1:0"),     STACK_LINE("p1:16777216"),
		STACK_LINE("p1:2:3"), STACK_LINE("p1048576"), STACK_LINE("p-1"),
		STACK_LINE("p1:-1"),  STACK_LINE("pa"),       STACK_LINE("1:2"),
		STACK_LINE("0x12"),   STACK_LINE("-1"),       STACK_LINE(" 1"),
		STACK_LINE("1 ,2"),   STACK_LINE("p 1"),      STACK_LINE("10000000000000000"),
		STACK_LINE("1;2"),    STACK_LINE("p1,p"),     STACK_LINE("P1"),
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(decode_text(*state, good[i]), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(decode_text(*state, bad[i]), -EBADMSG);
}

static void the_longest_stack_fits_a_line(void **state)
{
	struct gpu_event_frame frames[GPU_STACK_MAX_FRAMES];
	char function[200], name[16]; /* the length of the kernel's thread names */
	char line[GPU_WIRE_LINE_MAX];
	struct gpu_event back, event = {.type = GPU_EVENT_STACK,
					.stack = {.id = UINT32_MAX,
						  .is_whole = 1,
						  .function = function,
						  .count = GPU_STACK_MAX_FRAMES,
						  .frames = frames,
						  .handed_from = UINT32_MAX,
						  .handed_to = name}};

	memset(name, 1, sizeof(name) - 1); /* six bytes each on the wire */
	name[sizeof(name) - 1] = '\0';
	memset(function, 'f', sizeof(function) - 1);
	function[sizeof(function) - 1] = '\0';
	for (int python = 0; python < 2; python++) {
		int n;

		for (uint32_t i = 0; i < GPU_STACK_MAX_FRAMES; i++)
			frames[i] =
				python ? (struct gpu_event_frame){GPU_PYCODE_MAX_ID - 1,
								  GPU_FRAME_PYTHON,
								  GPU_FRAME_MAX_LINE}
				       : (struct gpu_event_frame){UINT64_MAX, GPU_FRAME_RETURN, 0};
		n = gpu_wire_encode(&event, line, sizeof(line));
		assert_in_range(n, 1, GPU_WIRE_LINE_MAX);
		assert_int_equal(decode(*state, line, (size_t)n - 1, &back), 0);
		assert_int_equal(back.stack.count, GPU_STACK_MAX_FRAMES);
	}
}

static void the_longest_python_function_fits_a_line(void **state)
{
	static char text[3000];
	struct gpu_event event = {.type = GPU_EVENT_PYCODE,
				  .pycode = {GPU_PYCODE_MAX_ID - 1, text, text, text, UINT32_MAX}};
	char line[GPU_WIRE_LINE_MAX];
	struct gpu_event back;
	int n;

	memset(text, 1, sizeof(text) - 1); /* six bytes each on the wire */
	n = gpu_wire_encode(&event, line, sizeof(line));
	assert_in_range(n, 1, GPU_WIRE_LINE_MAX);
	assert_int_equal(decode(*state, line, (size_t)n - 1, &back), 0);
	assert_int_equal(decode_text(*state, "{\"t\":\"pycode\",\"i\":0,\"f\":\"f\",\"q\":\"\","
					     "\"p\":\"f.py\",\"l\":1}"),
			 -EBADMSG);
	assert_int_equal(decode_text(*state, "{\"t\":\"pycode\",\"i\":1048576,\"f\":\"f\","
					     "\"q\":\"\",\"p\":\"f.py\",\"l\":1}"),
			 -EBADMSG);
}

static void the_longest_nvtx_name_fits_a_line(void **state)
{
	static char text[3000];
	struct gpu_event event = {.type = GPU_EVENT_NVTX,
				  .nvtx = {GPU_NVTX_MAX_ID - 1, UINT32_MAX, text, text}};
	char line[GPU_WIRE_LINE_MAX];
	struct gpu_event back;
	int n;

	memset(text, 1, sizeof(text) - 1); /* six bytes each on the wire */
	n = gpu_wire_encode(&event, line, sizeof(line));
	assert_in_range(n, 1, GPU_WIRE_LINE_MAX);
	assert_int_equal(decode(*state, line, (size_t)n - 1, &back), 0);
	assert_int_equal(decode_text(*state, "{\"t\":\"nvtx\",\"i\":0,\"d\":\"\",\"n\":\"step\"}"),
			 -EBADMSG);
	assert_int_equal(
		decode_text(*state, "{\"t\":\"nvtx\",\"i\":32768,\"d\":\"\",\"n\":\"step\"}"),
		-EBADMSG);
}

static void calls_are_checked(void **state)
{
#define CALLS(more) "{\"t\":\"api\",\"f\":\"f\",\"family\":1,\"c\":[1,2,3,4,5,6,7]" more "}"
	static const char *const bad[] = {
		"{\"t\":\"api\",\"f\":\"f\",\"c\":[1,2,3,4,5,6,7]}",
		"{\"t\":\"api\",\"f\":\"f\",\"family\":3,\"c\":[1,2,3,4,5,6,7]}",
		"{\"t\":\"api\",\"f\":\"f\",\"family\":1,\"c\":[1,2,3,4,5,6]}",
		"{\"t\":\"api\",\"f\":\"f\",\"family\":1,\"c\":[1,2,3,4,5,6,-1]}",
		CALLS(",\"kind\":6"),
		CALLS(",\"e\":[]"),
		CALLS(",\"e\":[1]"),
		CALLS(",\"e\":[1,2,3]"),
		CALLS(",\"e\":{\"a\":1,\"b\":2}"),
		CALLS(",\"e\":[1,2,1,2,1,2,1,2,1,2,1,2,1,2,1,2,1,2,1,2]"),
		CALLS(",\"h\":[305,1]"),
		CALLS(",\"h\":[1,-1]"),
		CALLS(",\"h\":[1.5,1]"),
		CALLS(",\"h\":\"1\""),
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(decode_text(*state, bad[i]), -EBADMSG);
	assert_int_equal(decode_text(*state, CALLS(",\"h\":[304,1],\"e\":[2,9]")), 0);
	assert_int_equal(decode_text(*state, CALLS("")), 0);
}

static void broken_samples_are_refused(void **state)
{
	static const char *const good[] = {
		"{\"t\":\"cubin\",\"i\":\"ff\",\"size\":2,\"o\":1,\"b\":\"0a\"}",
		"{\"t\":\"stall\",\"i\":255,\"n\":\"\"}",
		"{\"t\":\"pc\",\"n\":0,\"i\":\"0\",\"s\":[0,1,1]}",
		"{\"t\":\"pc\",\"n\":0,\"i\":\"0\",\"c\":4294967295,\"s\":[0,1,1]}",
	};
	static const char *const bad[] = {
		"{\"t\":\"cubin\",\"i\":\"ff\",\"size\":2,\"o\":2,\"b\":\"0a\"}",
		"{\"t\":\"cubin\",\"i\":\"ff\",\"size\":2,\"o\":3,\"b\":\"0a\"}",
		"{\"t\":\"cubin\",\"i\":\"ff\",\"size\":2,\"o\":0,\"b\":\"\"}",
		"{\"t\":\"cubin\",\"i\":\"ff\",\"size\":2,\"o\":0,\"b\":\"0\"}",
		"{\"t\":\"cubin\",\"i\":\"ff\",\"size\":2,\"o\":0,\"b\":\"0g\"}",
		"{\"t\":\"cubin\",\"i\":\"\",\"size\":2,\"o\":0,\"b\":\"00\"}",
		"{\"t\":\"cubin\",\"i\":\"1\",\"size\":268435457,\"o\":0,\"b\":\"00\"}",
		"{\"t\":\"stall\",\"i\":0,\"n\":\"\"}",
		"{\"t\":\"stall\",\"i\":256,\"n\":\"\"}",
		"{\"t\":\"pc\",\"n\":0,\"i\":\"0\",\"c\":4294967296,\"s\":[0,1,1]}",
		"{\"t\":\"pc\",\"n\":0,\"i\":\"0\",\"s\":[]}",
		"{\"t\":\"pc\",\"n\":0,\"i\":\"0\",\"s\":[0,1]}",
		"{\"t\":\"pc\",\"n\":0,\"i\":\"0\",\"s\":[0,0,1]}",
		"{\"t\":\"pc\",\"n\":0,\"i\":\"0\",\"s\":[0,256,1]}",
		"{\"t\":\"pc\",\"n\":0,\"i\":\"0\",\"s\":[0,1,0]}",
		"{\"t\":\"pc\",\"n\":0,\"i\":\"0\",\"s\":[4294967296,1,1]}",
		"{\"t\":\"pc\",\"n\":0,\"i\":\"0\",\"s\":{\"a\":0,\"b\":1,\"c\":1}}",
		"{\"t\":\"pc\",\"n\":0,\"i\":\"0\",\"s\":\"0,1,1\"}",
		"{\"t\":\"pcs\",\"period\":32,\"taken\":0,\"dropped\":0,\"other\":0,\"lost\":0,"
		"\"overflows\":0,\"cubins_left_out\":0}",
		"{\"t\":\"pcs\",\"period\":14}",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(decode_text(*state, good[i]), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(decode_text(*state, bad[i]), -EBADMSG);
}

static void the_longest_samples_and_pieces_fit_a_line(void **state)
{
	static uint8_t piece[GPU_CUBIN_PIECE];
	struct gpu_pc_count counts[GPU_PC_LINE_COUNTS + 1];
	struct gpu_event back,
		pcs = {.type = GPU_EVENT_PCS,
		       .pcs = {UINT32_MAX, UINT64_MAX, UINT32_MAX, GPU_PC_LINE_COUNTS, counts}};
	struct gpu_event cubin = {.type = GPU_EVENT_CUBIN,
				  .cubin = {.crc = UINT64_MAX,
					    .size = GPU_CUBIN_MAX_BYTES,
					    .offset = GPU_CUBIN_MAX_BYTES - GPU_CUBIN_PIECE,
					    .count = GPU_CUBIN_PIECE,
					    .bytes = piece}};
	char line[2 * GPU_WIRE_LINE_MAX];
	int n;

	for (uint32_t i = 0; i <= GPU_PC_LINE_COUNTS; i++)
		counts[i] =
			(struct gpu_pc_count){UINT32_MAX, GPU_STALL_MAX_ID - 1, UINT64_C(1) << 62};
	n = gpu_wire_encode(&pcs, line, sizeof(line));
	assert_in_range(n, 1, GPU_WIRE_LINE_MAX);
	assert_int_equal(decode(*state, line, (size_t)n - 1, &back), 0);
	assert_int_equal(back.pcs.count, GPU_PC_LINE_COUNTS);
	n = gpu_wire_encode(&cubin, line, sizeof(line));
	assert_in_range(n, 1, GPU_WIRE_LINE_MAX);
	assert_int_equal(decode(*state, line, (size_t)n - 1, &back), 0);
	assert_int_equal(back.cubin.count, GPU_CUBIN_PIECE);
	/* one more is no line of ours, even if it is short */
	for (uint32_t i = 0; i <= GPU_PC_LINE_COUNTS; i++)
		counts[i] = (struct gpu_pc_count){1, 1, 1};
	pcs.pcs.count = GPU_PC_LINE_COUNTS + 1;
	n = gpu_wire_encode(&pcs, line, sizeof(line));
	assert_in_range(n, 1, GPU_WIRE_LINE_MAX);
	assert_int_equal(decode(*state, line, (size_t)n - 1, &back), -EBADMSG);
}

/* Lines of steps: their limits, numbers without other forms, ids and times that may be. */
static void runs_are_checked(void **state)
{
#define RUN(head, steps) "{\"t\":\"nr\",\"c\":1,\"gr\":[1," head ",\"x\":[" steps "]}"
#define HEAD "5],\"s\":100"
	static const char *const good[] = {
		RUN(HEAD, "1,0,0,0"),
		RUN(HEAD, "1,-4,-100,7,1,0,-7,0"),
		RUN(HEAD, "1,0,0,0, 1,1,1,1"),
		RUN(HEAD, "1,-0,-0,0"),
		RUN("9223372036854775806],\"s\":9223372036854775806", "1,1,1,2305843009213693951"),
		RUN("1],\"s\":0", "1,0,4611686018427387903,2305843009213693951,2,0,1,2,3,0,-9,1"),
	};
	static const char *const bad[] = {
		RUN(HEAD, ""),
		RUN(HEAD, "1,0,0"),
		RUN(HEAD, "1,0,0,0,"),
		RUN(HEAD, "1,0,0,0,1"),
		RUN(HEAD, "0,0,0,0"),
		RUN(HEAD, "-1,0,0,0"),
		RUN(HEAD, "4294967296,0,0,0"),
		RUN(HEAD, "1,0,0,-1"),
		RUN(HEAD, "1,0,0,2305843009213693952"),
		RUN(HEAD, "1,-5,0,0"),
		RUN(HEAD, "1,-6,0,0"),
		RUN(HEAD, "1,0,-101,0"),
		RUN(HEAD, "1,0,0,50,1,0,-151,0"),
		RUN(HEAD, "1,0.5,0,0"),
		RUN(HEAD, "1,\"0\",0,0"),
		RUN(HEAD, "1,4611686018427387904,0,0"),
		RUN(HEAD, "1,-4611686018427387904,0,0"),
		RUN("9223372036854775807],\"s\":0", "1,1,0,0"),
		RUN("1],\"s\":9223372036854775807", "1,0,1,0"),
		RUN("1],\"s\":9223372036854775807", "1,0,0,9,1,0,0,0"),
		RUN("0],\"s\":0", "1,1,0,0"),
		"{\"t\":\"nr\",\"c\":1,\"gr\":[1,5],\"s\":1,\"x\":{\"a\":1,\"b\":0,\"c\":0,\"d\":0}"
		"}",
		"{\"t\":\"nr\",\"c\":1,\"gr\":[1,5],\"s\":1}",
		"{\"t\":\"nr\",\"gr\":[1,5],\"s\":1,\"x\":[1,0,0,0]}",
		"{\"t\":\"nw\",\"i\":0,\"v\":[0,1,2],\"n\":1,\"g\":[1,1,1],\"b\":[1,1,1],\"m\":[0,"
		"0],"
		"\"r\":1}",
		"{\"t\":\"nw\",\"i\":1,\"w\":99,\"v\":[0,1,2],\"bytes\":1}",
		"{\"t\":\"nw\",\"i\":1,\"w\":1,\"v\":[0,1,2]}",
		"{\"t\":\"nw\",\"i\":1,\"v\":[0,1,2],\"n\":1}",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(decode_text(*state, good[i]), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(decode_text(*state, bad[i]), -EBADMSG);
}

/* As many steps as a line may have; one more, or a line that would be too long in its own form. */
static void the_longest_run_fits_a_line(void **state)
{
	char line[GPU_WIRE_LINE_MAX];
	struct gpu_event back;
	int head = snprintf(line, sizeof(line), "%s",
			    "{\"t\":\"nr\",\"c\":1,\"gr\":[1,1],\"s\":1,\"x\":[");
	int most = (int)sizeof(line) - head - 2, n;

	for (n = 0; n + 8 <= most; n += 8)
		memcpy(line + head + n, "1,0,0,0,", 8);
	memcpy(line + head + n - 1, "]}", 2);
	assert_in_range(n / 8, GPU_NODE_RUN_STEPS - 10, GPU_NODE_RUN_STEPS);
	assert_int_equal(decode(*state, line, (size_t)(head + n + 1), &back), 0);
	assert_int_equal(back.node_run.count, n / 8);
	/* in the other form: each step takes 11 bytes, and would take 45 */
	for (n = 0; n + 11 <= most; n += 11)
		memcpy(line + head + n, "1,0,0,9e17,", 11);
	memcpy(line + head + n - 1, "]}", 2);
	assert_int_equal(decode(*state, line, (size_t)(head + n + 1), &back), -EBADMSG);
	n = 11;
	memcpy(line + head + n - 1, "]}", 2);
	assert_int_equal(decode(*state, line, (size_t)(head + n + 1), &back), 0);
}

/* Each duration is in one bucket, which is not longer than an eighth of it. */
static void buckets_hold_all_durations(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < GPU_CALL_BUCKETS; i++) {
		uint64_t longest = gpu_call_bucket_longest(i);

		assert_int_equal(gpu_call_bucket(longest), i);
		if (longest == UINT64_MAX)
			break;
		assert_int_equal(gpu_call_bucket(longest + 1), i + 1);
		if (i > 16)
			assert_true(longest - gpu_call_bucket_longest(i - 1) <= longest / 8);
	}
	assert_int_equal(gpu_call_bucket(UINT64_MAX), GPU_CALL_BUCKETS - 1);
	assert_int_equal(gpu_call_bucket(0), 0);
}

static void devices_are_checked(void **state)
{
	static const char *const bad[] = {
		"{\"t\":\"device\",\"i\":256,\"n\":\"x\"}",
		"{\"t\":\"device\",\"i\":0}",
		"{\"t\":\"device\",\"n\":\"x\"}",
		"{\"t\":\"device\",\"i\":0,\"n\":\"x\",\"mig\":3}",
		"{\"t\":\"device\",\"i\":0,\"n\":\"x\",\"mig\":[3]}",
		"{\"t\":\"device\",\"i\":0,\"n\":\"x\",\"sm\":[1,2,3,4,5,6]}",
		"{\"t\":\"device\",\"i\":0,\"n\":\"x\",\"sm\":[0,2,3,4,5,6,7]}",
		"{\"t\":\"device\",\"i\":0,\"n\":\"x\",\"sm\":[1,2,3,4,5,6,4294967296]}",
		"{\"t\":\"device\",\"i\":0,\"n\":\"x\",\"sm\":[1,2,3,4,5,6,-7]}",
		"{\"t\":\"device\",\"i\":0,\"n\":\"x\",\"mig\":[3,4294967296]}",
		"{\"t\":\"device\",\"i\":0,\"n\":\"x\",\"u\":\"\"}",
		"{\"t\":\"device\",\"i\":0,\"n\":\"x\",\"u\":\"00112233445566778899aabbccddee\"}",
		"{\"t\":\"device\",\"i\":0,\"n\":\"x\",\"u\":"
		"\"00112233445566778899aabbccddeeff0\"}",
		"{\"t\":\"device\",\"i\":0,\"n\":\"x\",\"u\":\"00112233445566778899aabbccddeefg\"}",
		"{\"t\":\"context\",\"i\":1,\"d\":256,\"mps\":1}",
		"{\"t\":\"context\",\"i\":1,\"mps\":1}",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (decode_text(*state, bad[i]) != -EBADMSG)
			fail_msg("was taken: %s", bad[i]);
	assert_int_equal(decode_text(*state, "{\"t\":\"device\",\"i\":255,\"n\":\"\",\"mig\":[3,0],"
					     "\"u\":\"00112233445566778899aabbccddeeff\"}"),
			 0);
	assert_int_equal(decode_text(*state, "{\"t\":\"context\",\"i\":1,\"d\":255}"), 0);
}

/* Each byte of good lines replaced by each other: taken or refused, but never a crash. */
static void damaged_lines_do_no_harm(void **state)
{
	uint64_t rounds = unit_rounds(3000);

	for (uint64_t round = 0; round < rounds; round++) {
		struct prng p = prng_round(round);
		char line[GPU_WIRE_LINE_MAX];
		struct random_event r;
		struct gpu_event e;
		size_t n;

		random_event(&p, (enum gpu_event_type)(1 + round % (GPU_EVENT_TYPES - 1)), &r);
		n = (size_t)gpu_wire_encode(&r.event, line, sizeof(line)) - 1;
		for (uint64_t i = 1 + prng_below(&p, 4); i > 0; i--)
			line[prng_below(&p, n)] = (char)prng_u64(&p);
		if (prng_chance(&p, 30))
			n = prng_below(&p, n);
		if (decode(*state, line, n, &e) == 0)
			EXPECT(&p, e.type > GPU_EVENT_NONE && e.type < GPU_EVENT_TYPES);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_decoder, free_decoder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_event_survives_the_wire),
		TEST(extreme_numbers_survive),
		TEST(other_forms_of_hot_lines_read_the_same),
		TEST(unknown_keys_are_ignored),
		TEST(invalid_utf8_is_replaced),
		TEST(all_byte_pairs_make_a_line),
		TEST(long_strings_are_cut_between_characters),
		TEST(a_short_buffer_is_refused_as_a_whole),
		TEST(unknown_types_are_not_encoded),
		TEST(a_line_and_its_header_fit_into_a_batch),
		TEST(rubbish_is_refused),
		TEST(ordinary_lines_are_taken),
		TEST(deep_nesting_is_refused),
		TEST(lines_have_a_longest_length),
		TEST(frames_of_stacks_are_checked),
		TEST(the_longest_stack_fits_a_line),
		TEST(the_longest_python_function_fits_a_line),
		TEST(the_longest_nvtx_name_fits_a_line),
		TEST(calls_are_checked),
		TEST(broken_samples_are_refused),
		TEST(the_longest_samples_and_pieces_fit_a_line),
		TEST(runs_are_checked),
		TEST(the_longest_run_fits_a_line),
		TEST(buckets_hold_all_durations),
		TEST(devices_are_checked),
		TEST(damaged_lines_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
