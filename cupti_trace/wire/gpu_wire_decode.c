// SPDX-License-Identifier: MIT
/*
 * JSON lines -> events. Used by the profiler and tests only, never inside the target.
 *
 * Lines that come by the million have a scanner of their own (gpu_wire_scan.h); everything else,
 * and any such line in another form, goes through cJSON. Both ways give the same result
 * (tests/unit/test_gpu_wire.c).
 */
#include "cupti_trace/wire/gpu_wire.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "cupti_trace/wire/gpu_wire_scan.h"

struct gpu_wire_decoder {
	cJSON *tree; /* the last line's, kept because events borrow its strings */
	struct gpu_event_frame frames[GPU_STACK_MAX_FRAMES]; /* the last stack's */
	struct gpu_call_error errors[GPU_CALL_LINE_ERRORS];  /* those of the last calls */
	struct gpu_call_bucket buckets[GPU_CALL_LINE_BUCKETS];
	uint8_t piece[GPU_CUBIN_PIECE];              /* of the last cubin */
	struct gpu_pc_count pcs[GPU_PC_LINE_COUNTS]; /* the last samples */
	double values[GPU_METRICS_MAX];              /* the last counters' */
};

struct gpu_wire_decoder *gpu_wire_decoder_new(void)
{
	return calloc(1, sizeof(struct gpu_wire_decoder));
}

void gpu_wire_decoder_free(struct gpu_wire_decoder *decoder)
{
	if (!decoder)
		return;
	cJSON_Delete(decoder->tree);
	free(decoder);
}

/* ---- the general way ---- */

/* Reads members of one object; the first thing that is missing or wrong makes all of it bad. */
struct reader {
	const cJSON *object;
	bool bad;
};

/*
 * cJSON keeps numbers as double: whole numbers are exact up to 2^53, which is 104 days of
 * nanoseconds since boot. Times and sums in canonical lines do not come this way and stay exact.
 */
static double number(struct reader *r, const cJSON *item, double min, double max)
{
	if (!cJSON_IsNumber(item) || !(item->valuedouble >= min && item->valuedouble <= max) ||
	    item->valuedouble != floor(item->valuedouble)) {
		r->bad = true;
		return 0;
	}
	return item->valuedouble;
}

static const cJSON *member(struct reader *r, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(r->object, key);
}

#define U64_LIMIT 9223372036854774784.0 /* the largest double below 2^63 */

static uint64_t get_u64(struct reader *r, const char *key)
{
	return (uint64_t)number(r, member(r, key), 0, U64_LIMIT);
}

static uint32_t get_u32(struct reader *r, const char *key)
{
	return (uint32_t)number(r, member(r, key), 0, UINT32_MAX);
}

static uint32_t get_u32_or_0(struct reader *r, const char *key)
{
	return member(r, key) ? get_u32(r, key) : 0;
}

static uint64_t get_u64_or_0(struct reader *r, const char *key)
{
	return member(r, key) ? get_u64(r, key) : 0;
}

static const char *get_string(struct reader *r, const char *key)
{
	const cJSON *item = member(r, key);

	if (!cJSON_IsString(item)) {
		r->bad = true;
		return "";
	}
	return item->valuestring;
}

static void get_array(struct reader *r, const char *key, uint64_t *out, int n, double max)
{
	const cJSON *array = member(r, key);

	if (!cJSON_IsArray(array) || cJSON_GetArraySize(array) != n) {
		r->bad = true;
		return;
	}
	for (int i = 0; i < n; i++)
		out[i] = (uint64_t)number(r, cJSON_GetArrayItem(array, i), 0, max);
}

static void get_triple(struct reader *r, const char *key, uint32_t out[3])
{
	uint64_t v[3] = {0};

	get_array(r, key, v, 3, UINT32_MAX);
	for (int i = 0; i < 3; i++)
		out[i] = (uint32_t)v[i];
}

static int64_t get_exact_int(struct reader *r, const char *key)
{
	const char *text = get_string(r, key);
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (end == text || *end || errno)
		r->bad = true;
	return value;
}

static uint8_t hex_digit(struct reader *r, char c)
{
	if (c >= '0' && c <= '9')
		return (uint8_t)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (uint8_t)(c - 'a' + 10);
	r->bad = true;
	return 0;
}

/* Exactly 16 hexadecimal digits. */
static uint64_t get_instance(struct reader *r)
{
	const char *text = get_string(r, "id");
	uint64_t instance = 0;

	if (strlen(text) != 16)
		r->bad = true;
	for (int i = 0; i < 16 && !r->bad; i++)
		instance = instance << 4 | hex_digit(r, text[i]);
	return instance;
}

static void get_hello(struct reader *r, struct gpu_event_hello *e)
{
	e->version = get_u32(r, "version");
	e->pid = get_u32(r, "pid");
	e->instance = get_instance(r);
	e->pid_namespace = get_u64_or_0(r, "ns");
	e->start_ticks = get_u64_or_0(r, "started");
	e->executable = get_string(r, "exe");
	e->cupti_path = get_string(r, "cupti");
	e->cupti_version = get_u32(r, "cupti_version");
	e->clock_offset_ns = get_exact_int(r, "clock_offset");
	e->clock_error_ns = get_u64(r, "clock_error");
	e->libraries = get_string(r, "libs");
	e->wants_ack = get_u32(r, "ack");
	e->is_off = get_u32_or_0(r, "off");
}

/* A time, of which no sum wraps. */
static uint64_t get_time(struct reader *r, const char *key)
{
	int64_t time = get_exact_int(r, key);

	if (time < 0)
		r->bad = true;
	return (uint64_t)time;
}

static void get_run(struct reader *r, struct gpu_event_run *e)
{
	e->time_ns = get_time(r, "s");
	e->boot = e->host = e->folder = e->arguments = e->job = "";
	if (!member(r, "unix"))
		return;
	e->unix_ns = get_time(r, "unix");
	e->boot = get_string(r, "boot");
	e->host = get_string(r, "host");
	e->folder = get_string(r, "cwd");
	e->arguments = get_string(r, "args");
	if (member(r, "job"))
		e->job = get_string(r, "job");
	if (!e->unix_ns)
		r->bad = true;
}

/* "v": where something ran */
static void get_where(struct reader *r, uint32_t *device, uint32_t *context, uint32_t *stream)
{
	uint32_t v[3] = {0};

	get_triple(r, "v", v);
	*device = v[0];
	*context = v[1];
	*stream = v[2];
}

static void get_graph(struct reader *r, uint32_t *graph_id, uint64_t *graph_node_id)
{
	uint64_t graph[2] = {0};

	if (member(r, "gr"))
		get_array(r, "gr", graph, 2, U64_LIMIT);
	if (graph[0] > UINT32_MAX)
		r->bad = true;
	*graph_id = (uint32_t)graph[0];
	*graph_node_id = graph[1];
}

static void get_kernel(struct reader *r, struct gpu_event_kernel *e)
{
	uint64_t shared[2] = {0};

	e->name_id = get_u32(r, "n");
	e->start_ns = get_u64(r, "s");
	e->duration_ns = get_u64(r, "d");
	e->correlation_id = get_u32(r, "c");
	get_where(r, &e->device_id, &e->context_id, &e->stream_id);
	get_triple(r, "g", e->grid);
	get_triple(r, "b", e->block);
	get_array(r, "m", shared, 2, UINT32_MAX);
	e->static_shared = (uint32_t)shared[0];
	e->dynamic_shared = (uint32_t)shared[1];
	e->registers = get_u32(r, "r");
	get_graph(r, &e->graph_id, &e->graph_node_id);
	e->bad_time = get_u32_or_0(r, "bad");
	e->outside = get_u32_or_0(r, "out");
}

static uint64_t get_hex(struct reader *r, const char *key);

static void get_work(struct reader *r, struct gpu_event_work *e)
{
	uint64_t memory[2] = {0};

	e->work = get_u32(r, "w");
	e->start_ns = get_u64(r, "s");
	e->duration_ns = get_u64(r, "d");
	e->correlation_id = get_u32(r, "c");
	get_where(r, &e->device_id, &e->context_id, &e->stream_id);
	e->bytes = get_u64(r, "b");
	if (member(r, "p"))
		get_array(r, "p", memory, 2, UINT32_MAX);
	e->source_memory = (uint32_t)memory[0];
	e->destination_memory = (uint32_t)memory[1];
	e->address = member(r, "a") ? get_hex(r, "a") : 0;
	get_graph(r, &e->graph_id, &e->graph_node_id);
	e->bad_time = get_u32_or_0(r, "bad");
	e->outside = get_u32_or_0(r, "out");
}

static void get_launch(struct reader *r, struct gpu_event_launch *e)
{
	e->time_ns = get_u64(r, "s");
	e->tid = get_u32(r, "h");
	e->correlation_id = get_u32(r, "c");
	e->family = get_u32(r, "f");
	e->flags = get_u32_or_0(r, "x");
	e->stack_id = get_u32_or_0(r, "k");
	e->stands_for = get_u32_or_0(r, "n");
}

static void get_launch_end(struct reader *r, struct gpu_event_launch_end *e)
{
	e->tid = get_u32(r, "h");
	e->correlation_id = get_u32(r, "c");
	e->duration_ns = get_u64(r, "d");
	e->error = get_u32_or_0(r, "e");
}

/* Digits of a number up to `max`, from *at on. */
static uint64_t take_digits(struct reader *r, const char **at, int base, uint64_t max)
{
	unsigned char first = (unsigned char)**at;
	uint64_t value = 0;
	char *end;

	/* strtoull would take a sign, white space, or "0x" */
	if ((base == 16 ? !isxdigit(first) : !isdigit(first)) ||
	    (first == '0' && ((*at)[1] | 0x20) == 'x')) {
		r->bad = true;
		return 0;
	}
	errno = 0;
	value = strtoull(*at, &end, base);
	if (errno || value > max)
		r->bad = true;
	*at = end;
	return value;
}

static uint64_t get_hex(struct reader *r, const char *key)
{
	const char *text = get_string(r, key);
	uint64_t value = take_digits(r, &text, 16, UINT64_MAX);

	if (*text)
		r->bad = true;
	return value;
}

/* "7f0012ab" or "p12" or "p3:42" or "n2" */
static struct gpu_event_frame take_frame(struct reader *r, const char **at)
{
	struct gpu_event_frame frame = {.kind = GPU_FRAME_RETURN};

	if (**at == 'n') {
		(*at)++;
		frame.kind = GPU_FRAME_NVTX;
		frame.value = take_digits(r, at, 10, GPU_NVTX_MAX_ID - 1);
		return frame;
	}
	if (**at != 'p') {
		frame.value = take_digits(r, at, 16, UINT64_MAX);
		return frame;
	}
	(*at)++;
	frame.kind = GPU_FRAME_PYTHON;
	frame.value = take_digits(r, at, 10, GPU_PYCODE_MAX_ID - 1);
	if (**at == ':') {
		(*at)++;
		frame.line = (uint32_t)take_digits(r, at, 10, GPU_FRAME_MAX_LINE);
		if (frame.line == 0)
			r->bad = true;
	}
	return frame;
}

static void get_frames(struct reader *r, const char *key, struct gpu_event_frame *out,
		       uint32_t *count)
{
	const char *text = get_string(r, key);

	*count = 0;
	while (*text && !r->bad) {
		if (*count == GPU_STACK_MAX_FRAMES) {
			r->bad = true;
			return;
		}
		out[(*count)++] = take_frame(r, &text);
		if (*text == ',' && text[1])
			text++;
		else if (*text)
			r->bad = true;
	}
}

static void get_node(struct reader *r, struct gpu_event_node *e)
{
	e->id = get_hex(r, "n");
	e->origin = member(r, "o") ? get_hex(r, "o") : 0;
	e->is_moved = get_u32_or_0(r, "moved") != 0;
	e->time_ns = member(r, "s") ? get_hex(r, "s") : 0;
	e->tid = get_u32_or_0(r, "h");
	e->stack_id = get_u32_or_0(r, "k");
}

static void get_sum(struct reader *r, struct gpu_event_sum *e)
{
	get_where(r, &e->device_id, &e->context_id, &e->stream_id);
	e->work = get_u32(r, "w");
	e->count = get_u64(r, "count");
	e->ns = get_hex(r, "ns");
	e->bytes = get_hex(r, "b");
}

static void get_graph_event(struct reader *r, struct gpu_event_graph *e)
{
	e->number = get_u32(r, "i");
	if (member(r, "n"))
		e->holder = get_hex(r, "n");
	e->correlation_id = get_u32_or_0(r, "c");
	e->time_ns = get_hex(r, "s");
}

static void get_code(struct reader *r, struct gpu_event_code *e)
{
	uint64_t dev[2] = {0};

	e->start = get_hex(r, "s");
	e->end = get_hex(r, "e");
	e->file_offset = get_hex(r, "o");
	e->inode = get_hex(r, "ino");
	get_array(r, "dev", dev, 2, UINT32_MAX);
	e->dev_major = (uint32_t)dev[0];
	e->dev_minor = (uint32_t)dev[1];
	e->path = get_string(r, "p");
	e->build_id = member(r, "b") ? get_string(r, "b") : "";
	e->text_hash = member(r, "x") ? get_hex(r, "x") : 0;
	if (e->start >= e->end || strlen(e->build_id) > GPU_BUILD_ID_DIGITS ||
	    e->build_id[strspn(e->build_id, "0123456789abcdef")])
		r->bad = true;
}

static void get_stack(struct reader *r, struct gpu_wire_decoder *decoder, struct gpu_event_stack *e)
{
	e->id = get_u32(r, "i");
	e->is_whole = get_u32(r, "whole");
	e->is_unordered = get_u32_or_0(r, "u");
	e->function = get_string(r, "f");
	e->frames = decoder->frames;
	get_frames(r, "a", decoder->frames, &e->count);
	e->handed_from = get_u32_or_0(r, "from");
	e->handed_to = member(r, "to") ? get_string(r, "to") : "";
}

static void get_pycode(struct reader *r, struct gpu_event_pycode *e)
{
	e->id = get_u32(r, "i");
	e->name = get_string(r, "f");
	e->qualname = get_string(r, "q");
	e->path = get_string(r, "p");
	e->first_line = get_u32(r, "l");
	if (e->id == 0 || e->id >= GPU_PYCODE_MAX_ID)
		r->bad = true;
}

static void get_nvtx(struct reader *r, struct gpu_event_nvtx *e)
{
	e->id = get_u32(r, "i");
	e->domain = get_string(r, "d");
	e->name = get_string(r, "n");
	e->color = get_u32_or_0(r, "color");
	if (e->id == 0 || e->id >= GPU_NVTX_MAX_ID)
		r->bad = true;
}

static void get_wait(struct reader *r, struct gpu_event_wait *e)
{
	uint64_t v[2] = {0};

	e->start_ns = get_u64(r, "s");
	e->duration_ns = get_u64(r, "d");
	e->computed_ns = get_u64_or_0(r, "u");
	e->tid = get_u32(r, "h");
	e->stack_id = get_u32_or_0(r, "k");
	e->has_stream = member(r, "v") != NULL;
	if (e->has_stream)
		get_array(r, "v", v, 2, UINT32_MAX);
	e->context_id = (uint32_t)v[0];
	e->stream_id = (uint32_t)v[1];
	e->error = get_u32_or_0(r, "e");
}

static void get_uuid(struct reader *r, const char *key, uint8_t out[GPU_UUID_BYTES])
{
	const char *text = get_string(r, key);

	if (strlen(text) != 2 * GPU_UUID_BYTES) {
		r->bad = true;
		return;
	}
	for (size_t i = 0; i < GPU_UUID_BYTES; i++)
		out[i] = (uint8_t)(hex_digit(r, text[2 * i]) << 4 | hex_digit(r, text[2 * i + 1]));
}

/* How many pairs a list has that may be missing; the caller reads them with get_pair. */
static uint32_t count_pairs(struct reader *r, const char *key, uint32_t most)
{
	const cJSON *list = member(r, key);
	int numbers = cJSON_GetArraySize(list);

	if (!list)
		return 0;
	if (!cJSON_IsArray(list) || numbers % 2 != 0 || numbers < 2 ||
	    (uint32_t)numbers / 2 > most) {
		r->bad = true;
		return 0;
	}
	return (uint32_t)numbers / 2;
}

/* The next pair of a list. */
static const cJSON *get_pair(struct reader *r, const cJSON *item, double max, uint32_t *a,
			     uint64_t *b)
{
	*a = (uint32_t)number(r, item, 0, max);
	*b = (uint64_t)number(r, item->next, 0, U64_LIMIT);
	return item->next->next;
}

static void get_calls(struct reader *r, struct gpu_wire_decoder *decoder, struct gpu_event_calls *e)
{
	uint64_t c[7] = {0};
	const cJSON *item;

	e->function = get_string(r, "f");
	e->family = get_u32(r, "family");
	e->kind = get_u32_or_0(r, "kind");
	get_array(r, "c", c, 7, U64_LIMIT);
	e->calls = c[0];
	e->ns = c[1];
	e->bytes = c[2];
	e->nested = c[3];
	e->nested_ns = c[4];
	e->shortest_ns = c[5];
	e->longest_ns = c[6];
	e->errors = decoder->errors;
	e->buckets = decoder->buckets;
	e->error_count = count_pairs(r, "e", GPU_CALL_LINE_ERRORS);
	item = e->error_count ? member(r, "e")->child : NULL;
	for (uint32_t i = 0; i < e->error_count; i++)
		item = get_pair(r, item, UINT32_MAX, &decoder->errors[i].code,
				&decoder->errors[i].count);
	e->bucket_count = count_pairs(r, "h", GPU_CALL_LINE_BUCKETS);
	item = e->bucket_count ? member(r, "h")->child : NULL;
	for (uint32_t i = 0; i < e->bucket_count; i++)
		item = get_pair(r, item, GPU_CALL_BUCKETS - 1, &decoder->buckets[i].bucket,
				&decoder->buckets[i].count);
}

static void get_limits(struct reader *r, struct gpu_limits *l)
{
	uint64_t v[7];

	get_array(r, "sm", v, 7, UINT32_MAX);
	if (r->bad)
		return;
	*l = (struct gpu_limits){.multiprocessors = (uint32_t)v[0],
				 .warps = (uint32_t)v[1],
				 .blocks = (uint32_t)v[2],
				 .registers = (uint32_t)v[3],
				 .shared_bytes = (uint32_t)v[4],
				 .major = (uint32_t)v[5],
				 .minor = (uint32_t)v[6]};
	r->bad = l->multiprocessors == 0;
}

static void get_device(struct reader *r, struct gpu_event_device *e)
{
	uint64_t mig[2] = {0};

	e->id = get_u32(r, "i");
	e->name = get_string(r, "n");
	e->is_mig = member(r, "mig") != NULL;
	if (e->is_mig)
		get_array(r, "mig", mig, 2, UINT32_MAX);
	e->gpu_instance = (uint32_t)mig[0];
	e->compute_instance = (uint32_t)mig[1];
	if (member(r, "u"))
		get_uuid(r, "u", e->uuid);
	if (member(r, "sm"))
		get_limits(r, &e->limits);
}

static void get_context(struct reader *r, struct gpu_event_context *e)
{
	e->id = get_u32(r, "i");
	e->device_id = get_u32(r, "d");
	e->is_mps = get_u32_or_0(r, "mps");
	e->end_ns = member(r, "end") ? get_hex(r, "end") : 0;
}

static void get_range(struct reader *r, struct gpu_event_range *e)
{
	e->time_ns = get_hex(r, "s");
	e->is_open = get_u32(r, "open");
}

static void get_pool(struct reader *r, struct gpu_event_pool *e)
{
	e->address = get_hex(r, "a");
	e->device_id = get_u32(r, "d");
	e->memory = get_u32_or_0(r, "k");
	e->time_ns = get_hex(r, "s");
	e->held = get_hex(r, "held");
	e->used = get_hex(r, "used");
	e->keeps = get_hex(r, "keeps");
}

static void get_cubin(struct reader *r, struct gpu_wire_decoder *decoder, struct gpu_event_cubin *e)
{
	const char *text = get_string(r, "b");
	size_t digits = strlen(text);

	e->crc = get_hex(r, "i");
	e->size = get_u32(r, "size");
	e->offset = get_u32(r, "o");
	if (digits == 0 || digits % 2 != 0 || digits > 2 * sizeof(decoder->piece)) {
		r->bad = true;
		return;
	}
	e->count = (uint32_t)digits / 2;
	for (uint32_t i = 0; i < e->count; i++)
		decoder->piece[i] =
			(uint8_t)(hex_digit(r, text[2 * i]) << 4 | hex_digit(r, text[2 * i + 1]));
	e->bytes = decoder->piece;
}

static void get_pcs(struct reader *r, struct gpu_wire_decoder *decoder, struct gpu_event_pcs *e)
{
	const cJSON *list = member(r, "s"), *item;
	int numbers = cJSON_GetArraySize(list);

	e->name_id = get_u32(r, "n");
	e->cubin_crc = get_hex(r, "i");
	e->correlation_id = get_u32_or_0(r, "c");
	if (!cJSON_IsArray(list) || numbers % 3 != 0 || numbers < 3 ||
	    numbers / 3 > (int)GPU_PC_LINE_COUNTS) {
		r->bad = true;
		return;
	}
	e->count = (uint32_t)numbers / 3;
	e->counts = decoder->pcs;
	item = list->child;
	for (uint32_t i = 0; i < e->count; i++, item = item->next->next->next)
		decoder->pcs[i] = (struct gpu_pc_count){
			.pc = (uint32_t)number(r, item, 0, UINT32_MAX),
			.stall = (uint32_t)number(r, item->next, 1, GPU_STALL_MAX_ID - 1),
			.samples = (uint64_t)number(r, item->next->next, 1, U64_LIMIT)};
}

static void get_pc_totals(struct reader *r, struct gpu_event_pc_totals *e)
{
	e->period = get_u32(r, "period");
	e->taken = get_u64(r, "taken");
	e->dropped = get_u64(r, "dropped");
	e->other = get_u64(r, "other");
	e->lost = get_u64(r, "lost");
	e->overflows = get_u64(r, "overflows");
	e->cubins_left_out = get_u64(r, "cubins_left_out");
}

static void get_counters(struct reader *r, struct gpu_wire_decoder *decoder,
			 struct gpu_event_counters *e)
{
	const char *text = member(r, "v") ? get_string(r, "v") : "";
	size_t length = strlen(text);

	e->correlation_id = get_u32(r, "c");
	e->state = get_u32(r, "s");
	if (length % 16 != 0 || length / 16 > GPU_METRICS_MAX) {
		r->bad = true;
		return;
	}
	e->count = (uint32_t)(length / 16);
	e->values = decoder->values;
	for (uint32_t i = 0; i < e->count; i++) {
		uint64_t bits = 0;

		for (int k = 0; k < 16; k++)
			bits = bits << 4 | hex_digit(r, *text++);
		memcpy(&decoder->values[i], &bits, sizeof(bits));
	}
}

static void get_fields(struct reader *r, struct gpu_wire_decoder *decoder, struct gpu_event *e)
{
	switch (e->type) {
	case GPU_EVENT_BATCH:
		e->batch.pid = get_u32(r, "pid");
		e->batch.instance = get_instance(r);
		e->batch.sequence = get_u64(r, "seq");
		e->batch.bytes = get_u32_or_0(r, "len");
		break;
	case GPU_EVENT_HELLO:
		get_hello(r, &e->hello);
		break;
	case GPU_EVENT_MAPS:
		e->maps.generation = get_u64(r, "generation");
		e->maps.wants_ack = get_u32(r, "ack");
		break;
	case GPU_EVENT_NAME:
		e->name.id = get_u32(r, "i");
		e->name.more = get_u32_or_0(r, "more");
		e->name.name = get_string(r, "n");
		break;
	case GPU_EVENT_CODE:
		get_code(r, &e->code);
		break;
	case GPU_EVENT_PYCODE:
		get_pycode(r, &e->pycode);
		break;
	case GPU_EVENT_STACK:
		get_stack(r, decoder, &e->stack);
		break;
	case GPU_EVENT_LAUNCH:
		get_launch(r, &e->launch);
		break;
	case GPU_EVENT_KERNEL:
		get_kernel(r, &e->kernel);
		break;
	case GPU_EVENT_DROPS:
		e->drops.kernels = get_u64(r, "kernels");
		e->drops.launches = get_u64(r, "launches");
		e->drops.batches = get_u64(r, "batches");
		e->drops.unsent_kernels = get_u64(r, "unsent_kernels");
		e->drops.unsent_launches = get_u64(r, "unsent_launches");
		e->drops.unknown = get_u64(r, "unknown");
		e->drops.early = get_u64_or_0(r, "early");
		e->drops.early_ns = get_u64_or_0(r, "early_ns");
		e->drops.late = get_u64_or_0(r, "late");
		e->drops.late_ns = get_u64_or_0(r, "late_ns");
		e->drops.ranges = get_u64_or_0(r, "ranges");
		e->drops.folded_ranges = get_u64_or_0(r, "folded_ranges");
		break;
	case GPU_EVENT_NOTICE:
		e->notice.code = get_u32(r, "code");
		e->notice.detail = get_string(r, "detail");
		break;
	case GPU_EVENT_GOODBYE:
		e->goodbye.kernels = get_u64(r, "kernels");
		e->goodbye.kernel_ns = get_u64(r, "kernel_ns");
		e->goodbye.launches = get_u64(r, "launches");
		e->goodbye.own_ns = get_u64_or_0(r, "own_ns");
		break;
	case GPU_EVENT_WORK:
		get_work(r, &e->work);
		break;
	case GPU_EVENT_NODE:
		get_node(r, &e->node);
		break;
	case GPU_EVENT_SUM:
		get_sum(r, &e->sum);
		break;
	case GPU_EVENT_NVTX:
		get_nvtx(r, &e->nvtx);
		break;
	case GPU_EVENT_WAIT:
		get_wait(r, &e->wait);
		break;
	case GPU_EVENT_DEVICE:
		get_device(r, &e->device);
		break;
	case GPU_EVENT_CALLS:
		get_calls(r, decoder, &e->calls);
		break;
	case GPU_EVENT_CONTEXT:
		get_context(r, &e->context);
		break;
	case GPU_EVENT_VOID:
		e->voids.correlation_id = get_u32_or_0(r, "c");
		if (!e->voids.correlation_id)
			e->voids.launches = get_u64(r, "launches");
		break;
	case GPU_EVENT_LAUNCH_END:
		get_launch_end(r, &e->launch_end);
		break;
	case GPU_EVENT_GRAPH:
		get_graph_event(r, &e->graph);
		break;
	case GPU_EVENT_ERROR:
		e->error.code = get_u32(r, "code");
		e->error.tid = get_u32(r, "h");
		e->error.correlation_id = get_u32(r, "c");
		e->error.function = get_string(r, "f");
		break;
	case GPU_EVENT_RANGE:
		get_range(r, &e->range);
		break;
	case GPU_EVENT_RUN:
		get_run(r, &e->run);
		break;
	case GPU_EVENT_POOL:
		get_pool(r, &e->pool);
		break;
	case GPU_EVENT_CUBIN:
		get_cubin(r, decoder, &e->cubin);
		break;
	case GPU_EVENT_STALL:
		e->stall.id = get_u32(r, "i");
		e->stall.name = get_string(r, "n");
		break;
	case GPU_EVENT_PCS:
		get_pcs(r, decoder, &e->pcs);
		break;
	case GPU_EVENT_PC_TOTALS:
		get_pc_totals(r, &e->pc_totals);
		break;
	case GPU_EVENT_METRIC:
		e->metric.id = get_u32(r, "i");
		e->metric.name = get_string(r, "n");
		e->metric.unit = get_string(r, "u");
		break;
	case GPU_EVENT_COUNTERS:
		get_counters(r, decoder, &e->counters);
		break;
	case GPU_EVENT_UNMEASURED:
		get_array(r, "n", e->unmeasured.counts, GPU_UNMEASURED_REASONS, U64_LIMIT);
		break;
	case GPU_EVENT_NONE:
	case GPU_EVENT_TYPES:
		r->bad = true;
		break;
	}
}

static enum gpu_event_type type_of(const char *name)
{
	static const char *const names[] = GPU_WIRE_TYPE_NAMES;

	for (int i = 1; i < GPU_EVENT_TYPES; i++)
		if (strcmp(name, names[i]) == 0)
			return (enum gpu_event_type)i;
	return GPU_EVENT_NONE;
}

/* Values that would break arithmetic further on, whichever way they were read. */
static bool is_sane(const struct gpu_event *e)
{
	switch (e->type) {
	case GPU_EVENT_BATCH:
		return e->batch.instance != 0;
	case GPU_EVENT_HELLO:
		return e->hello.instance != 0;
	case GPU_EVENT_LAUNCH:
		return (e->launch.family == GPU_LAUNCH_RUNTIME ||
			e->launch.family == GPU_LAUNCH_DRIVER) &&
		       e->launch.stands_for <= GPU_LAUNCH_STANDS_MAX;
	case GPU_EVENT_KERNEL:
		return e->kernel.duration_ns < GPU_EVENT_DURATION_LIMIT_NS &&
		       e->kernel.bad_time <= 1 && e->kernel.outside < GPU_OUTSIDES;
	case GPU_EVENT_WORK:
		return e->work.duration_ns < GPU_EVENT_DURATION_LIMIT_NS && e->work.bad_time <= 1 &&
		       e->work.outside < GPU_OUTSIDES && e->work.work != GPU_WORK_KERNEL &&
		       e->work.work < GPU_WORKS;
	case GPU_EVENT_NODE:
		return e->node.id != 0;
	case GPU_EVENT_GRAPH:
		return e->graph.number != 0 && !e->graph.holder != !e->graph.correlation_id;
	case GPU_EVENT_SUM:
		return e->sum.work < GPU_WORKS;
	case GPU_EVENT_ERROR:
		return e->error.code != 0;
	case GPU_EVENT_WAIT:
		return e->wait.duration_ns < GPU_EVENT_DURATION_LIMIT_NS;
	case GPU_EVENT_LAUNCH_END:
		return e->launch_end.duration_ns < GPU_EVENT_DURATION_LIMIT_NS;
	case GPU_EVENT_CALLS:
		return e->calls.family >= GPU_LAUNCH_RUNTIME &&
		       e->calls.family <= GPU_LAUNCH_DRIVER && e->calls.kind < GPU_CALL_KINDS;
	case GPU_EVENT_DEVICE:
		return e->device.id < GPU_DEVICE_MAX_ID;
	case GPU_EVENT_CONTEXT:
		return e->context.device_id < GPU_DEVICE_MAX_ID;
	case GPU_EVENT_RANGE:
		return e->range.is_open <= 1;
	case GPU_EVENT_POOL:
		return e->pool.held <= INT64_MAX && e->pool.used <= INT64_MAX;
	case GPU_EVENT_CUBIN:
		return e->cubin.size <= GPU_CUBIN_MAX_BYTES && e->cubin.offset <= e->cubin.size &&
		       e->cubin.count <= e->cubin.size - e->cubin.offset;
	case GPU_EVENT_STALL:
		return e->stall.id != 0 && e->stall.id < GPU_STALL_MAX_ID;
	case GPU_EVENT_PC_TOTALS:
		return e->pc_totals.period < 32;
	case GPU_EVENT_METRIC:
		return e->metric.id < GPU_METRICS_MAX && e->metric.name[0];
	case GPU_EVENT_COUNTERS:
		return e->counters.state < GPU_COUNTERS_STATES &&
		       !e->counters.count == (e->counters.state != GPU_COUNTERS_READ);
	default:
		return true;
	}
}

int gpu_wire_decode(struct gpu_wire_decoder *decoder, const char *line, size_t length,
		    struct gpu_event *event)
{
	const char *parsed_end = NULL;
	struct reader r = {0};

	memset(event, 0, sizeof(*event));
	if (length > GPU_WIRE_LINE_MAX)
		return -EBADMSG;
	if (gpu_wire_scan(line, length, event))
		return is_sane(event) ? 0 : -EBADMSG;

	memset(event, 0, sizeof(*event));
	cJSON_Delete(decoder->tree);
	decoder->tree = cJSON_ParseWithLengthOpts(line, length, &parsed_end, false);
	if (!decoder->tree)
		return -EBADMSG;
	/* JSON allows white space after the object, and nothing else */
	for (; parsed_end < line + length; parsed_end++)
		if (*parsed_end != ' ' && *parsed_end != '\t' && *parsed_end != '\r')
			return -EBADMSG;
	if (!cJSON_IsObject(decoder->tree))
		return -EBADMSG;
	r.object = decoder->tree;
	event->type = type_of(get_string(&r, "t"));
	if (!r.bad)
		get_fields(&r, decoder, event);
	return r.bad || !is_sane(event) ? -EBADMSG : 0;
}
