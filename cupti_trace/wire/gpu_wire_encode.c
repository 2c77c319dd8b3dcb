// SPDX-License-Identifier: MIT
/* Events -> JSON lines. Runs inside the user's program: no allocation, no stdio, no locale. */
#include "cupti_trace/wire/gpu_wire.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "symbolize/util/text.h"

static const char hex[] = "0123456789abcdef";

/* Output cursor: once `full`, further writes are ignored and the event is refused as a whole. */
struct line {
	char *at;
	char *end;
	bool full;
};

static void put_bytes(struct line *l, const char *bytes, size_t n)
{
	if (l->full || (size_t)(l->end - l->at) < n) {
		l->full = true;
		return;
	}
	memcpy(l->at, bytes, n);
	l->at += n;
}

static void put_literal(struct line *l, const char *text)
{
	put_bytes(l, text, strlen(text));
}

static void put_u64(struct line *l, uint64_t value)
{
	char digits[20];
	size_t i = sizeof(digits);

	do {
		digits[--i] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	put_bytes(l, digits + i, sizeof(digits) - i);
}

static void put_key(struct line *l, const char *key)
{
	put_bytes(l, ",\"", 2);
	put_literal(l, key);
	put_bytes(l, "\":", 2);
}

static void put_uint(struct line *l, const char *key, uint64_t value)
{
	put_key(l, key);
	put_u64(l, value);
}

/* A string of digits: most JSON readers keep numbers as double and lose bits above 2^53. */
static void put_exact_int(struct line *l, const char *key, int64_t value)
{
	put_key(l, key);
	put_bytes(l, value < 0 ? "\"-" : "\"", value < 0 ? 2 : 1);
	put_u64(l, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
	put_bytes(l, "\"", 1);
}

static void put_array(struct line *l, const char *key, const uint64_t *values, size_t n)
{
	put_key(l, key);
	for (size_t i = 0; i < n; i++) {
		put_bytes(l, i ? "," : "[", 1);
		put_u64(l, values[i]);
	}
	put_bytes(l, "]", 1);
}

/*
 * Writes what one character becomes inside a JSON string (RFC 8259): bytes written to `out`, at
 * most 6.
 */
static size_t escape(const unsigned char *s, size_t length, char *out)
{
	if (length == 0) {
		memcpy(out, "\\ufffd", 6);
		return 6;
	}
	if (s[0] == '"' || s[0] == '\\') {
		out[0] = '\\';
		out[1] = (char)s[0];
		return 2;
	}
	if (s[0] < 0x20 || s[0] == 0x7f) {
		memcpy(out, "\\u00", 4);
		out[4] = hex[s[0] >> 4];
		out[5] = hex[s[0] & 15];
		return 6;
	}
	memcpy(out, s, length);
	return length;
}

/* A string of which at most `limit` bytes are written; what is longer is cut between characters. */
static void put_string(struct line *l, const char *key, const char *text, size_t limit)
{
	const unsigned char *s = (const unsigned char *)(text ? text : "");
	size_t written = 0;

	put_key(l, key);
	put_bytes(l, "\"", 1);
	while (*s) {
		char escaped[6];
		size_t length = count_utf8_bytes(s);
		size_t n = escape(s, length, escaped);

		if (written + n > limit)
			break;
		put_bytes(l, escaped, n);
		written += n;
		s += length ? length : 1;
	}
	put_bytes(l, "\"", 1);
}

/* Always 16 hexadecimal digits, so that a batch's line has a fixed form. */
static void put_instance(struct line *l, uint64_t instance)
{
	put_key(l, "id");
	put_bytes(l, "\"", 1);
	for (int shift = 60; shift >= 0; shift -= 4)
		put_bytes(l, &hex[instance >> shift & 15], 1);
	put_bytes(l, "\"", 1);
}

static void put_hello(struct line *l, const struct gpu_event_hello *e)
{
	put_uint(l, "version", e->version);
	put_uint(l, "pid", e->pid);
	put_instance(l, e->instance);
	if (e->pid_namespace)
		put_uint(l, "ns", e->pid_namespace);
	if (e->start_ticks)
		put_uint(l, "started", e->start_ticks);
	put_string(l, "exe", e->executable, 1000);
	put_string(l, "cupti", e->cupti_path, 1000);
	put_uint(l, "cupti_version", e->cupti_version);
	put_exact_int(l, "clock_offset", e->clock_offset_ns);
	put_uint(l, "clock_error", e->clock_error_ns);
	put_string(l, "libs", e->libraries, 1500);
	put_uint(l, "ack", e->wants_ack);
	if (e->is_off)
		put_uint(l, "off", 1);
}

static void put_run(struct line *l, const struct gpu_event_run *e)
{
	put_exact_int(l, "s", (int64_t)e->time_ns);
	if (!e->unix_ns)
		return;
	put_exact_int(l, "unix", (int64_t)e->unix_ns);
	put_string(l, "boot", e->boot, 40);
	put_string(l, "host", e->host, 300);
	put_string(l, "cwd", e->folder, 1000);
	put_string(l, "args", e->arguments, 1600);
	if (e->job && e->job[0])
		put_string(l, "job", e->job, 700);
}

/* A third shorter than decimal, and exact in every JSON reader. */
static void put_digits(struct line *l, uint64_t value)
{
	char digits[16];
	size_t at = sizeof(digits);

	do {
		digits[--at] = hex[value & 15];
		value >>= 4;
	} while (value);
	put_bytes(l, digits + at, sizeof(digits) - at);
}

static void put_hex(struct line *l, const char *key, uint64_t value)
{
	put_key(l, key);
	put_bytes(l, "\"", 1);
	put_digits(l, value);
	put_bytes(l, "\"", 1);
}

/* "7f0012ab,p12,n2,p3:42,401000" */
static void put_frames(struct line *l, const char *key, const struct gpu_event_frame *frames,
		       uint32_t n)
{
	put_key(l, key);
	put_bytes(l, "\"", 1);
	for (uint32_t i = 0; i < n && i < GPU_STACK_MAX_FRAMES; i++) {
		if (i)
			put_bytes(l, ",", 1);
		if (frames[i].kind == GPU_FRAME_NVTX) {
			put_bytes(l, "n", 1);
			put_u64(l, frames[i].value < GPU_NVTX_MAX_ID ? frames[i].value : 0);
			continue;
		}
		if (frames[i].kind != GPU_FRAME_PYTHON) {
			put_digits(l, frames[i].value);
			continue;
		}
		put_bytes(l, "p", 1);
		put_u64(l, frames[i].value < GPU_PYCODE_MAX_ID ? frames[i].value : 0);
		if (frames[i].line == 0 || frames[i].line > GPU_FRAME_MAX_LINE)
			continue;
		put_bytes(l, ":", 1);
		put_u64(l, frames[i].line);
	}
	put_bytes(l, "\"", 1);
}

static void put_code(struct line *l, const struct gpu_event_code *e)
{
	put_hex(l, "s", e->start);
	put_hex(l, "e", e->end);
	put_hex(l, "o", e->file_offset);
	put_hex(l, "ino", e->inode);
	put_array(l, "dev", (uint64_t[]){e->dev_major, e->dev_minor}, 2);
	if (e->build_id && e->build_id[0])
		put_string(l, "b", e->build_id, GPU_BUILD_ID_DIGITS);
	if (e->text_hash)
		put_hex(l, "x", e->text_hash);
	put_string(l, "p", e->path, GPU_WIRE_LINE_MAX - 400);
}

static void put_stack(struct line *l, const struct gpu_event_stack *e)
{
	put_uint(l, "i", e->id);
	put_uint(l, "whole", e->is_whole);
	if (e->is_unordered)
		put_uint(l, "u", e->is_unordered);
	put_string(l, "f", e->function, 100);
	if (e->handed_to && e->handed_to[0])
		put_string(l, "to", e->handed_to, 24);
	if (e->handed_from)
		put_uint(l, "from", e->handed_from);
	put_frames(l, "a", e->frames, e->count);
}

static void put_pycode(struct line *l, const struct gpu_event_pycode *e)
{
	put_uint(l, "i", e->id);
	put_string(l, "f", e->name, 800);
	put_string(l, "q", e->qualname, 1200);
	put_string(l, "p", e->path, 1800);
	put_uint(l, "l", e->first_line);
}

static void put_launch(struct line *l, const struct gpu_event_launch *e)
{
	put_uint(l, "s", e->time_ns);
	put_uint(l, "h", e->tid);
	put_uint(l, "c", e->correlation_id);
	put_uint(l, "f", e->family);
	if (e->flags)
		put_uint(l, "x", e->flags);
	if (e->stack_id)
		put_uint(l, "k", e->stack_id);
	if (e->stands_for)
		put_uint(l, "n", e->stands_for);
}

static void put_launch_end(struct line *l, const struct gpu_event_launch_end *e)
{
	put_uint(l, "h", e->tid);
	put_uint(l, "c", e->correlation_id);
	put_uint(l, "d", e->duration_ns);
	if (e->error)
		put_uint(l, "e", e->error);
}

static void put_kernel(struct line *l, const struct gpu_event_kernel *e)
{
	put_uint(l, "n", e->name_id);
	put_uint(l, "s", e->start_ns);
	put_uint(l, "d", e->duration_ns);
	put_uint(l, "c", e->correlation_id);
	put_array(l, "v", (uint64_t[]){e->device_id, e->context_id, e->stream_id}, 3);
	put_array(l, "g", (uint64_t[]){e->grid[0], e->grid[1], e->grid[2]}, 3);
	put_array(l, "b", (uint64_t[]){e->block[0], e->block[1], e->block[2]}, 3);
	put_array(l, "m", (uint64_t[]){e->static_shared, e->dynamic_shared}, 2);
	put_uint(l, "r", e->registers);
	if (e->graph_id || e->graph_node_id)
		put_array(l, "gr", (uint64_t[]){e->graph_id, e->graph_node_id}, 2);
	if (e->bad_time)
		put_uint(l, "bad", e->bad_time);
	if (e->outside)
		put_uint(l, "out", e->outside);
}

static void put_work(struct line *l, const struct gpu_event_work *e)
{
	put_uint(l, "w", e->work);
	put_uint(l, "s", e->start_ns);
	put_uint(l, "d", e->duration_ns);
	put_uint(l, "c", e->correlation_id);
	put_array(l, "v", (uint64_t[]){e->device_id, e->context_id, e->stream_id}, 3);
	put_uint(l, "b", e->bytes);
	if (e->source_memory || e->destination_memory)
		put_array(l, "p", (uint64_t[]){e->source_memory, e->destination_memory}, 2);
	if (e->address)
		put_hex(l, "a", e->address);
	if (e->graph_id || e->graph_node_id)
		put_array(l, "gr", (uint64_t[]){e->graph_id, e->graph_node_id}, 2);
	if (e->bad_time)
		put_uint(l, "bad", e->bad_time);
	if (e->outside)
		put_uint(l, "out", e->outside);
}

static void put_node(struct line *l, const struct gpu_event_node *e)
{
	put_hex(l, "n", e->id);
	if (e->origin)
		put_hex(l, "o", e->origin);
	if (e->is_moved)
		put_uint(l, "moved", 1);
	if (e->time_ns)
		put_hex(l, "s", e->time_ns);
	if (e->tid)
		put_uint(l, "h", e->tid);
	if (e->stack_id)
		put_uint(l, "k", e->stack_id);
}

static void put_graph(struct line *l, const struct gpu_event_graph *e)
{
	put_uint(l, "i", e->number);
	if (e->holder)
		put_hex(l, "n", e->holder);
	if (e->correlation_id)
		put_uint(l, "c", e->correlation_id);
	put_hex(l, "s", e->time_ns);
}

static void put_sum(struct line *l, const struct gpu_event_sum *e)
{
	put_array(l, "v", (uint64_t[]){e->device_id, e->context_id, e->stream_id}, 3);
	put_uint(l, "w", e->work);
	put_uint(l, "count", e->count);
	put_hex(l, "ns", e->ns);
	put_hex(l, "b", e->bytes);
}

static void put_drops(struct line *l, const struct gpu_event_drops *e)
{
	put_uint(l, "kernels", e->kernels);
	put_uint(l, "launches", e->launches);
	put_uint(l, "batches", e->batches);
	put_uint(l, "unsent_kernels", e->unsent_kernels);
	put_uint(l, "unsent_launches", e->unsent_launches);
	put_uint(l, "unknown", e->unknown);
	if (e->early) {
		put_uint(l, "early", e->early);
		put_uint(l, "early_ns", e->early_ns);
	}
	if (e->late) {
		put_uint(l, "late", e->late);
		put_uint(l, "late_ns", e->late_ns);
	}
	if (e->ranges)
		put_uint(l, "ranges", e->ranges);
	if (e->folded_ranges)
		put_uint(l, "folded_ranges", e->folded_ranges);
}

static void put_nvtx(struct line *l, const struct gpu_event_nvtx *e)
{
	put_uint(l, "i", e->id);
	put_string(l, "d", e->domain, 1200);
	put_string(l, "n", e->name, 2400);
	if (e->color)
		put_uint(l, "color", e->color);
}

static void put_wait(struct line *l, const struct gpu_event_wait *e)
{
	put_uint(l, "s", e->start_ns);
	put_uint(l, "d", e->duration_ns);
	if (e->computed_ns)
		put_uint(l, "u", e->computed_ns);
	put_uint(l, "h", e->tid);
	if (e->stack_id)
		put_uint(l, "k", e->stack_id);
	if (e->has_stream)
		put_array(l, "v", (uint64_t[]){e->context_id, e->stream_id}, 2);
	if (e->error)
		put_uint(l, "e", e->error);
}

/* A list of pairs: [1,2,3,4] */
static void put_pair(struct line *l, bool is_first, uint64_t a, uint64_t b)
{
	put_bytes(l, is_first ? "[" : ",", 1);
	put_u64(l, a);
	put_bytes(l, ",", 1);
	put_u64(l, b);
}

static void put_calls(struct line *l, const struct gpu_event_calls *e)
{
	put_string(l, "f", e->function, GPU_CALL_NAME_BYTES);
	put_uint(l, "family", e->family);
	if (e->kind)
		put_uint(l, "kind", e->kind);
	put_array(l, "c",
		  (uint64_t[]){e->calls, e->ns, e->bytes, e->nested, e->nested_ns, e->shortest_ns,
			       e->longest_ns},
		  7);
	if (e->error_count) {
		put_key(l, "e");
		for (uint32_t i = 0; i < e->error_count; i++)
			put_pair(l, i == 0, e->errors[i].code, e->errors[i].count);
		put_bytes(l, "]", 1);
	}
	if (e->bucket_count) {
		put_key(l, "h");
		for (uint32_t i = 0; i < e->bucket_count; i++)
			put_pair(l, i == 0, e->buckets[i].bucket, e->buckets[i].count);
		put_bytes(l, "]", 1);
	}
}

/* 16 hexadecimal digits for each value: its bits, so that it is exact. */
static void put_counters(struct line *l, const struct gpu_event_counters *e)
{
	put_uint(l, "c", e->correlation_id);
	put_uint(l, "s", e->state);
	if (e->count == 0)
		return;
	put_key(l, "v");
	put_bytes(l, "\"", 1);
	for (uint32_t i = 0; i < e->count; i++) {
		uint64_t bits;

		memcpy(&bits, &e->values[i], sizeof(bits));
		for (int shift = 60; shift >= 0; shift -= 4)
			put_bytes(l, &hex[bits >> shift & 15], 1);
	}
	put_bytes(l, "\"", 1);
}

static void put_device(struct line *l, const struct gpu_event_device *e)
{
	static const uint8_t none[GPU_UUID_BYTES];

	put_uint(l, "i", e->id);
	put_string(l, "n", e->name, 600);
	if (e->is_mig)
		put_array(l, "mig", (uint64_t[]){e->gpu_instance, e->compute_instance}, 2);
	if (e->limits.multiprocessors)
		put_array(l, "sm",
			  (uint64_t[]){e->limits.multiprocessors, e->limits.warps, e->limits.blocks,
				       e->limits.registers, e->limits.shared_bytes, e->limits.major,
				       e->limits.minor},
			  7);
	if (memcmp(e->uuid, none, sizeof(none)) == 0)
		return;
	put_key(l, "u");
	put_bytes(l, "\"", 1);
	for (size_t i = 0; i < GPU_UUID_BYTES; i++)
		put_bytes(l, (char[]){hex[e->uuid[i] >> 4], hex[e->uuid[i] & 15]}, 2);
	put_bytes(l, "\"", 1);
}

static void put_context(struct line *l, const struct gpu_event_context *e)
{
	put_uint(l, "i", e->id);
	put_uint(l, "d", e->device_id);
	if (e->is_mps)
		put_uint(l, "mps", e->is_mps);
	if (e->end_ns)
		put_hex(l, "end", e->end_ns);
}

static void put_range(struct line *l, const struct gpu_event_range *e)
{
	put_hex(l, "s", e->time_ns);
	put_uint(l, "open", e->is_open);
}

static void put_pool(struct line *l, const struct gpu_event_pool *e)
{
	put_hex(l, "a", e->address);
	put_uint(l, "d", e->device_id);
	if (e->memory)
		put_uint(l, "k", e->memory);
	put_hex(l, "s", e->time_ns);
	put_hex(l, "held", e->held);
	put_hex(l, "used", e->used);
	put_hex(l, "keeps", e->keeps);
}

static void put_cubin(struct line *l, const struct gpu_event_cubin *e)
{
	put_hex(l, "i", e->crc);
	put_uint(l, "size", e->size);
	put_uint(l, "o", e->offset);
	put_key(l, "b");
	put_bytes(l, "\"", 1);
	for (uint32_t i = 0; i < e->count; i++)
		put_bytes(l, (char[]){hex[e->bytes[i] >> 4], hex[e->bytes[i] & 15]}, 2);
	put_bytes(l, "\"", 1);
}

static void put_pcs(struct line *l, const struct gpu_event_pcs *e)
{
	put_uint(l, "n", e->name_id);
	put_hex(l, "i", e->cubin_crc);
	if (e->correlation_id)
		put_uint(l, "c", e->correlation_id);
	put_key(l, "s");
	for (uint32_t i = 0; i < e->count; i++) {
		put_bytes(l, i ? "," : "[", 1);
		put_u64(l, e->counts[i].pc);
		put_bytes(l, ",", 1);
		put_u64(l, e->counts[i].stall);
		put_bytes(l, ",", 1);
		put_u64(l, e->counts[i].samples);
	}
	put_bytes(l, "]", 1);
}

static void put_pc_totals(struct line *l, const struct gpu_event_pc_totals *e)
{
	put_uint(l, "period", e->period);
	put_uint(l, "taken", e->taken);
	put_uint(l, "dropped", e->dropped);
	put_uint(l, "other", e->other);
	put_uint(l, "lost", e->lost);
	put_uint(l, "overflows", e->overflows);
	put_uint(l, "cubins_left_out", e->cubins_left_out);
}

static void put_fields(struct line *l, const struct gpu_event *e)
{
	switch (e->type) {
	case GPU_EVENT_BATCH:
		put_uint(l, "pid", e->batch.pid);
		put_instance(l, e->batch.instance);
		put_uint(l, "seq", e->batch.sequence);
		if (e->batch.bytes)
			put_uint(l, "len", e->batch.bytes);
		break;
	case GPU_EVENT_HELLO:
		put_hello(l, &e->hello);
		break;
	case GPU_EVENT_MAPS:
		put_uint(l, "generation", e->maps.generation);
		put_uint(l, "ack", e->maps.wants_ack);
		break;
	case GPU_EVENT_NAME:
		put_uint(l, "i", e->name.id);
		if (e->name.more)
			put_uint(l, "more", e->name.more);
		put_string(l, "n", e->name.name, GPU_WIRE_LINE_MAX - 100);
		break;
	case GPU_EVENT_CODE:
		put_code(l, &e->code);
		break;
	case GPU_EVENT_PYCODE:
		put_pycode(l, &e->pycode);
		break;
	case GPU_EVENT_STACK:
		put_stack(l, &e->stack);
		break;
	case GPU_EVENT_LAUNCH:
		put_launch(l, &e->launch);
		break;
	case GPU_EVENT_KERNEL:
		put_kernel(l, &e->kernel);
		break;
	case GPU_EVENT_DROPS:
		put_drops(l, &e->drops);
		break;
	case GPU_EVENT_NOTICE:
		put_uint(l, "code", e->notice.code);
		put_string(l, "detail", e->notice.detail, GPU_WIRE_LINE_MAX - 100);
		break;
	case GPU_EVENT_GOODBYE:
		put_uint(l, "kernels", e->goodbye.kernels);
		put_uint(l, "kernel_ns", e->goodbye.kernel_ns);
		put_uint(l, "launches", e->goodbye.launches);
		if (e->goodbye.own_ns)
			put_uint(l, "own_ns", e->goodbye.own_ns);
		break;
	case GPU_EVENT_WORK:
		put_work(l, &e->work);
		break;
	case GPU_EVENT_NODE:
		put_node(l, &e->node);
		break;
	case GPU_EVENT_SUM:
		put_sum(l, &e->sum);
		break;
	case GPU_EVENT_NVTX:
		put_nvtx(l, &e->nvtx);
		break;
	case GPU_EVENT_WAIT:
		put_wait(l, &e->wait);
		break;
	case GPU_EVENT_CALLS:
		put_calls(l, &e->calls);
		break;
	case GPU_EVENT_DEVICE:
		put_device(l, &e->device);
		break;
	case GPU_EVENT_CONTEXT:
		put_context(l, &e->context);
		break;
	case GPU_EVENT_VOID:
		if (e->voids.correlation_id)
			put_uint(l, "c", e->voids.correlation_id);
		else
			put_uint(l, "launches", e->voids.launches);
		break;
	case GPU_EVENT_LAUNCH_END:
		put_launch_end(l, &e->launch_end);
		break;
	case GPU_EVENT_GRAPH:
		put_graph(l, &e->graph);
		break;
	case GPU_EVENT_ERROR:
		put_uint(l, "code", e->error.code);
		put_uint(l, "h", e->error.tid);
		put_uint(l, "c", e->error.correlation_id);
		put_string(l, "f", e->error.function, GPU_WIRE_LINE_MAX - 200);
		break;
	case GPU_EVENT_RANGE:
		put_range(l, &e->range);
		break;
	case GPU_EVENT_RUN:
		put_run(l, &e->run);
		break;
	case GPU_EVENT_POOL:
		put_pool(l, &e->pool);
		break;
	case GPU_EVENT_CUBIN:
		put_cubin(l, &e->cubin);
		break;
	case GPU_EVENT_STALL:
		put_uint(l, "i", e->stall.id);
		put_string(l, "n", e->stall.name, 600);
		break;
	case GPU_EVENT_PCS:
		put_pcs(l, &e->pcs);
		break;
	case GPU_EVENT_PC_TOTALS:
		put_pc_totals(l, &e->pc_totals);
		break;
	case GPU_EVENT_METRIC:
		put_uint(l, "i", e->metric.id);
		put_string(l, "n", e->metric.name, 600);
		put_string(l, "u", e->metric.unit, 100);
		break;
	case GPU_EVENT_COUNTERS:
		put_counters(l, &e->counters);
		break;
	case GPU_EVENT_UNMEASURED:
		put_array(l, "n", e->unmeasured.counts, GPU_UNMEASURED_REASONS);
		break;
	case GPU_EVENT_NONE:
	case GPU_EVENT_TYPES:
		break;
	}
}

int gpu_wire_encode(const struct gpu_event *event, char *buffer, size_t size)
{
	static const char *const names[] = GPU_WIRE_TYPE_NAMES;
	struct line l = {.at = buffer, .end = buffer + size};

	_Static_assert(sizeof(names) / sizeof(names[0]) == GPU_EVENT_TYPES, "one name a type");
	if (event->type <= GPU_EVENT_NONE || event->type >= GPU_EVENT_TYPES)
		return -EINVAL;
	put_literal(&l, "{\"t\":\"");
	put_literal(&l, names[event->type]);
	put_bytes(&l, "\"", 1);
	put_fields(&l, event);
	put_bytes(&l, "}\n", 2);
	return l.full ? -ENOSPC : (int)(l.at - buffer);
}
