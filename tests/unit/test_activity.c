/* SPDX-License-Identifier: MIT */
/* Activity records of a stand-in for CUPTI, through a real pipe, as the profiler reads them. */
#include "fifo.h"
#include "cupti_trace/main/activity.h"
#include "cupti_trace/hw/counted_times.h"

enum { HEARD_MAX = 40 };

struct heard {
	struct gpu_event_work work; /* the last */
	struct gpu_event_device devices[HEARD_MAX];
	struct gpu_event_context contexts[HEARD_MAX];
	uint32_t device_count, context_count, notices;
	struct gpu_event_sum sums[HEARD_MAX];
	uint32_t sum_count;
	struct gpu_event_pool pools[HEARD_MAX];
	uint32_t pool_count;
	char device_names[HEARD_MAX][100];
	struct gpu_event_kernel kernels[HEARD_MAX];
	char *names[HEARD_MAX];
	uint32_t count;
};

static void hear(void *context, const struct gpu_event *event, const char *kernel)
{
	struct heard *h = context;

	assert_true(h->count < HEARD_MAX && h->device_count < HEARD_MAX &&
		    h->context_count < HEARD_MAX && h->sum_count < HEARD_MAX &&
		    h->pool_count < HEARD_MAX);
	if (event->type == GPU_EVENT_POOL)
		h->pools[h->pool_count++] = event->pool;
	if (event->type == GPU_EVENT_DEVICE) {
		snprintf(h->device_names[h->device_count], sizeof(h->device_names[0]), "%s",
			 event->device.name);
		h->devices[h->device_count++] = event->device;
	}
	if (event->type == GPU_EVENT_CONTEXT)
		h->contexts[h->context_count++] = event->context;
	if (event->type == GPU_EVENT_SUM)
		h->sums[h->sum_count++] = event->sum;
	h->notices += event->type == GPU_EVENT_NOTICE;
	if (event->type == GPU_EVENT_WORK)
		h->work = event->work;
	if (event->type != GPU_EVENT_KERNEL)
		return;
	h->kernels[h->count] = event->kernel;
	h->names[h->count++] = strdup(kernel);
}

/* Bytes of each record in a buffer. */
static size_t record_size = sizeof(struct cupti_abi_kernel);

/* Steps to the next record, which follows the last one directly. */
static int next_record(uint8_t *buffer, size_t valid_size, struct cupti_abi_activity **record)
{
	uint8_t *next = *record ? (uint8_t *)*record + record_size : buffer;

	if (next + record_size > buffer + valid_size)
		return CUPTI_ABI_ERROR_MAX_LIMIT_REACHED;
	*record = (struct cupti_abi_activity *)next;
	return CUPTI_ABI_SUCCESS;
}

struct bench {
	struct cupti_api api;
	struct fifo fifo;
	struct sink sink;
	struct names names;
	struct work_tally tally;
	struct clock_map clock;
	struct heard heard;
	bool verbose;
	uint64_t began_ns, now_ns;
	bool saw_device;
	bool follows_memory, reads_counters, skips_unended;
	uint64_t recorded_from_ns, recorded_to_ns;
	bool begins_whole;
};

static int begin(void **state)
{
	struct gpu_event hello = {
		.type = GPU_EVENT_HELLO,
		.hello = {.version = GPU_WIRE_VERSION, .instance = 1, .wants_ack = 1}};
	struct clock_point point = {.at_ns = 1000000, .offset_ns = -400000};
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	*state = b;
	b->api.cuptiActivityGetNextRecord = next_record;
	clock_map_add(&b->clock, &point);
	fifo_make(&b->fifo, hear, &b->heard);
	assert_true(fcntl(b->fifo.reader, F_SETPIPE_SZ, 1 << 18) > 0); /* nobody reads meanwhile */
	assert_int_equal(sink_open(&b->sink, b->fifo.path, 1, 1), 0);
	sink_put(&b->sink, &hello);
	return 0;
}

static int end(void **state)
{
	struct bench *b = *state;

	for (uint32_t i = 0; i < b->heard.count; i++)
		free(b->heard.names[i]);
	sink_abandon(&b->sink);
	sink_start_over(&b->sink);
	names_release(&b->names);
	work_tally_release(&b->tally);
	fifo_remove(&b->fifo);
	free(b);
	return 0;
}

static struct cupti_abi_kernel record(const char *name, uint64_t start, uint64_t ended)
{
	return (struct cupti_abi_kernel){
		.kind = CUPTI_ABI_ACTIVITY_KIND_CONCURRENT_KERNEL,
		.start = start,
		.end = ended,
		.name = name,
	};
}

/* Sends the records from memory that ends with them. */
static void send_records(struct bench *b, const void *records, size_t n, size_t size_of_one)
{
	size_t size = n * size_of_one;
	uint8_t *buffer = malloc(size ? size : 1);

	assert_non_null(buffer);
	if (n)
		memcpy(buffer, records, size);
	record_size = size_of_one;
	activity_send_buffer(
		&(struct activity_output){&b->clock, &b->api, &b->names, &b->tally, &b->sink,
					  b->verbose, b->began_ns, b->now_ns, &b->saw_device,
					  b->follows_memory, b->reads_counters, b->skips_unended,
					  b->recorded_from_ns, b->recorded_to_ns, b->begins_whole},
		buffer, size);
	free(buffer);
	sink_flush(&b->sink);
	fifo_drain(&b->fifo);
}

static void send(struct bench *b, const struct cupti_abi_kernel *records, size_t n)
{
	send_records(b, records, n, sizeof(*records));
}

/* With memory followed, pools are sent with memory, when trimmed and when destroyed. An imported
 * pool of another process is not sent. */
static void pools_are_sent_where_memory_is_followed(void **state)
{
	struct bench *b = *state;
	struct cupti_abi_memory m = {.kind = CUPTI_ABI_ACTIVITY_KIND_MEMORY2,
				     .operation = CUPTI_ABI_MEMORY_ALLOCATION,
				     .memory_kind = GPU_MEMORY_DEVICE,
				     .device_id = 3,
				     .timestamp = 1000000,
				     .pool_type = CUPTI_ABI_POOL_LOCAL,
				     .pool_address = 0x500,
				     .pool_size = 4096,
				     .pool_used = 512,
				     .pool_release_threshold = UINT64_MAX};
	struct cupti_abi_memory_pool p = {.kind = CUPTI_ABI_ACTIVITY_KIND_MEMORY_POOL,
					  .operation = CUPTI_ABI_POOL_TRIMMED,
					  .type = CUPTI_ABI_POOL_LOCAL,
					  .device_id = 3,
					  .timestamp = 1000100,
					  .address = 0x500,
					  .size = 1024,
					  .used = 100};
	const struct gpu_event_pool *e = b->heard.pools;

	send_records(b, &m, 1, sizeof(m));
	assert_int_equal(b->heard.pool_count, 0);
	b->follows_memory = true;
	send_records(b, &m, 1, sizeof(m));
	send_records(b, &p, 1, sizeof(p));
	p.operation = CUPTI_ABI_POOL_DESTROYED;
	send_records(b, &p, 1, sizeof(p));
	assert_int_equal(b->heard.pool_count, 3);
	assert_true(e[0].address == 0x500 && e[0].held == 4096 && e[0].used == 512);
	assert_true(e[0].device_id == 3 && e[0].memory == GPU_MEMORY_DEVICE);
	assert_true(e[0].keeps == UINT64_MAX && e[0].time_ns == 600000);
	assert_true(e[1].held == 1024 && e[1].used == 100 && e[1].time_ns == 600100);
	assert_true(e[2].held == 0 && e[2].used == 0);
	m.pool_type = p.type = 2; /* imported: the size is a process id */
	send_records(b, &m, 1, sizeof(m));
	send_records(b, &p, 1, sizeof(p));
	m.pool_type = p.type = CUPTI_ABI_POOL_LOCAL;
	m.pool_size = UINT64_MAX;
	p.timestamp = 0;
	send_records(b, &m, 1, sizeof(m));
	send_records(b, &p, 1, sizeof(p));
	assert_int_equal(b->heard.pool_count, 3);
}

static void every_field_arrives(void **state)
{
	struct bench *b = *state;
	struct cupti_abi_kernel r = record("_Z1kv", 1000000, 1000250);
	const struct gpu_event_kernel *k = &b->heard.kernels[0];

	r.correlation_id = 11;
	r.device_id = 1;
	r.context_id = 2;
	r.stream_id = 3;
	r.grid_x = 4;
	r.grid_y = 5;
	r.grid_z = 6;
	r.block_x = 7;
	r.block_y = 8;
	r.block_z = 9;
	r.static_shared_memory = 100;
	r.dynamic_shared_memory = 200;
	r.registers_per_thread = 255;
	r.graph_id = 12;
	r.graph_node_id = 13;
	send(b, &r, 1);
	assert_int_equal(b->heard.count, 1);
	assert_string_equal(b->heard.names[0], "_Z1kv");
	assert_int_equal(k->start_ns, 600000);
	assert_int_equal(k->duration_ns, 250);
	assert_int_equal(k->correlation_id, 11);
	assert_int_equal(k->device_id, 1);
	assert_int_equal(k->context_id, 2);
	assert_int_equal(k->stream_id, 3);
	assert_int_equal(k->grid[0] * 100 + k->grid[1] * 10 + k->grid[2], 456);
	assert_int_equal(k->block[0] * 100 + k->block[1] * 10 + k->block[2], 789);
	assert_int_equal(k->static_shared, 100);
	assert_int_equal(k->dynamic_shared, 200);
	assert_int_equal(k->registers, 255);
	assert_int_equal(k->graph_id, 12);
	assert_int_equal(k->graph_node_id, 13);
	assert_int_equal(k->bad_time, 0);
}

/* A kernel without usable times still counts; no record of CUPTI's makes a line malformed. */
static void senseless_times_are_marked(void **state)
{
	struct bench *b = *state;
	const struct cupti_abi_kernel r[] = {
		record("k", 0, 0),
		record("k", 0, 50),
		record("k", 50, 0),
		record("k", 2000, 1999),
		record("k", 1, UINT64_MAX),
		record("k", UINT64_MAX, UINT64_MAX), /* unusual, but a duration: 0 */
		record("k", 1, 5),                   /* long before CLOCK_MONOTONIC began */
		record("k", 2000000, 2000000),
	};
	const bool bad[] = {true, true, true, true, true, false, false, false};
	const size_t n = sizeof(r) / sizeof(r[0]);

	send(b, r, n);
	assert_int_equal(b->fifo.ledger->pipe.malformed, 0);
	assert_int_equal(b->heard.count, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(b->heard.kernels[i].bad_time, bad[i]);
		if (bad[i])
			assert_int_equal(b->heard.kernels[i].duration_ns, 0);
	}
	assert_int_equal(b->heard.kernels[6].duration_ns, 4);
	assert_int_equal(b->heard.kernels[7].start_ns, 1600000);
}

/* Times outside the time of tracing are marked, from a millisecond on; none is changed. */
static void times_outside_are_marked(void **state)
{
	const uint64_t ms = 1000000;
	/* times of CUPTI's clock, which is 0.4 ms ahead */
	const struct cupti_abi_kernel r[] = {
		record("k", 1, 5), /* before the machine started */
		record("k", 99 * ms, 99 * ms + 5),
		record("k", 99 * ms + 399999, 200 * ms), /* more than 1 ms before 100 ms */
		record("k", 99 * ms + 400000, 200 * ms),
		record("k", 150 * ms, 150 * ms),
		record("k", 150 * ms, 201 * ms + 400000),
		record("k", 150 * ms, 201 * ms + 400001),
		record("k", 900 * ms, 901 * ms),
		record("k", 0, 901 * ms), /* no times at all */
	};
	const uint32_t outside[] = {1, 1, 1, 0, 0, 0, 2, 2, 0};
	const struct cupti_abi_memset set = {
		.kind = CUPTI_ABI_ACTIVITY_KIND_MEMSET, .start = 1000 * ms, .end = 1001 * ms};
	struct bench *b = *state;

	b->began_ns = 100 * ms;
	b->now_ns = 200 * ms;
	send(b, r, 9);
	for (uint32_t i = 0; i < 9; i++)
		assert_int_equal(b->heard.kernels[i].outside, outside[i]);
	assert_int_equal(b->heard.kernels[7].start_ns, 900 * ms - 400000);
	assert_int_equal(b->heard.kernels[7].duration_ns, ms);
	send_records(b, &set, 1, sizeof(set));
	assert_int_equal(b->heard.work.outside, GPU_AFTER_TRACING);
	assert_int_equal(b->heard.work.duration_ns, ms);
	/* unknown bounds of tracing leave nothing outside */
	b->began_ns = b->now_ns = 0;
	send(b, r, 9);
	for (uint32_t i = 9; i < 18; i++)
		assert_int_equal(b->heard.kernels[i].outside, GPU_IN_TIME);
	assert_int_equal(b->fifo.ledger->pipe.malformed, 0);
}

static struct cupti_abi_memory released_at(uint64_t timestamp)
{
	return (struct cupti_abi_memory){.kind = CUPTI_ABI_ACTIVITY_KIND_MEMORY2,
					 .operation = CUPTI_ABI_MEMORY_RELEASE,
					 .address = 4096,
					 .bytes = 7,
					 .timestamp = timestamp};
}

/* Work that ended before the start is counted. Memory, followed from the start, is sent in any
 * case. */
static void work_before_the_recorded_is_counted(void **state)
{
	const uint64_t ms = 1000000, at = 100 * ms + 400000; /* 100 ms by our clock */
	const struct cupti_abi_kernel r[] = {
		record("early", 97 * ms, 98 * ms), record("early", at - 5 * ms, at - 1),
		record("late", at - 5 * ms, at),   record("late", at + 1, at + 2),
		record("untimed", 0, 0),
	};
	const struct cupti_abi_memset set = {
		.kind = CUPTI_ABI_ACTIVITY_KIND_MEMSET, .start = 50 * ms, .end = 52 * ms};
	const struct cupti_abi_memory memory = released_at(ms);
	struct bench *b = *state;

	b->recorded_from_ns = 100 * ms;
	send(b, r, 5);
	assert_int_equal(b->heard.count, 3);
	assert_string_equal(b->heard.names[0], "late");
	assert_string_equal(b->heard.names[2], "untimed");
	assert_int_equal(work_tally_next(&b->tally, &(uint32_t){0})->count, 3);
	send_records(b, &set, 1, sizeof(set));
	send_records(b, &memory, 1, sizeof(memory));
	assert_int_equal(b->heard.work.bytes, 0);
	b->follows_memory = true;
	send_records(b, &memory, 1, sizeof(memory));
	assert_int_equal(b->heard.work.bytes, 7);
	assert_int_equal(b->fifo.ledger->outside.before, 3);
	assert_int_equal(b->fifo.ledger->outside.before_ns, ms + 5 * ms - 1 + 2 * ms);
	assert_int_equal(b->fifo.ledger->gpu.dropped, 0);
}

static void work_under_way_can_be_counted_too(void **state)
{
	const uint64_t ms = 1000000, at = 100 * ms + 400000; /* 100 ms by our clock */
	const struct cupti_abi_kernel r[] = {
		record("under way", at - 1, at + 5 * ms),
		record("whole", at, at + ms),
	};
	struct bench *b = *state;

	b->recorded_from_ns = 100 * ms;
	b->begins_whole = true;
	send(b, r, 2);
	assert_int_equal(b->heard.count, 1);
	assert_string_equal(b->heard.names[0], "whole");
	assert_int_equal(work_tally_next(&b->tally, &(uint32_t){0})->count, 1);
	assert_int_equal(b->fifo.ledger->outside.before, 1);
	assert_int_equal(b->fifo.ledger->outside.before_ns, 1 + 5 * ms);
}

static void work_after_the_recorded_is_counted(void **state)
{
	const uint64_t ms = 1000000, at = 100 * ms + 400000; /* 100 ms by our clock */
	const struct cupti_abi_kernel r[] = {
		record("within", 97 * ms, 98 * ms),
		record("across", at - 1, at + 5 * ms),
		record("late", at, at + 3),
		record("later", at + ms, at + 2 * ms),
		record("untimed", 0, 0),
	};
	const struct cupti_abi_memory memory = released_at(200 * ms);
	struct bench *b = *state;

	b->recorded_to_ns = 100 * ms;
	send(b, r, 5);
	assert_int_equal(b->heard.count, 3);
	assert_string_equal(b->heard.names[0], "within");
	assert_string_equal(b->heard.names[1], "across");
	assert_string_equal(b->heard.names[2], "untimed");
	assert_int_equal(work_tally_next(&b->tally, &(uint32_t){0})->count, 3);
	b->follows_memory = true;
	send_records(b, &memory, 1, sizeof(memory));
	assert_int_equal(b->heard.work.bytes, 7);
	assert_int_equal(b->fifo.ledger->outside.after, 2);
	assert_int_equal(b->fifo.ledger->outside.after_ns, 3 + ms);
	assert_int_equal(b->fifo.ledger->gpu.dropped, 0);
}

/* Records from the end of recording may be of work that has not ended. */
static void what_has_not_ended_can_be_left_out(void **state)
{
	const struct cupti_abi_kernel r[] = {record("k", 0, 0), record("k", 100, 0),
					     record("k", 1000000, 2000000)};
	struct bench *b = *state;

	send(b, r, 3);
	assert_int_equal(b->heard.count, 3);
	b->skips_unended = true;
	send(b, r, 3);
	assert_int_equal(b->heard.count, 4);
	assert_int_equal(b->heard.kernels[3].bad_time, 0);
	/* the times of a kernel that is measured come from elsewhere */
	b->reads_counters = true;
	send(b, r, 3);
	assert_int_equal(b->heard.count, 7);
}

/* The clock may be off, the duration never is. */
static void drift_does_not_bend_durations(void **state)
{
	struct bench *b = *state;
	struct clock_point point = {.at_ns = 2000000, .offset_ns = 600000};
	struct cupti_abi_kernel r = record("k", 1000000, 2000000);

	clock_map_add(&b->clock, &point);
	send(b, &r, 1);
	assert_int_equal(b->heard.kernels[0].duration_ns, 1000000);
	assert_int_equal(b->heard.kernels[0].start_ns, 600000);
}

static void a_name_is_sent_once(void **state)
{
	struct bench *b = *state;
	char text[] = "same";
	const struct cupti_abi_kernel r[] = {record("same", 5, 6), record(text, 7, 8),
					     record("other", 7, 8), record("same", 9, 10)};

	send(b, r, 4);
	send(b, r, 4);
	/* batch, hello, 2 names, 4 kernels; batch, 4 kernels */
	assert_int_equal(b->fifo.ledger->pipe.lines, 8 + 5);
	for (uint32_t i = 0; i < 8; i++)
		assert_string_equal(b->heard.names[i], i % 4 == 2 ? "other" : "same");
}

static void a_record_without_a_name_counts_too(void **state)
{
	struct bench *b = *state;
	struct cupti_abi_kernel r = record(NULL, 1000000, 1000005);

	send(b, &r, 1);
	assert_string_equal(b->heard.names[0], GPU_PIPE_NAMES_FULL);
	assert_int_equal(b->heard.kernels[0].duration_ns, 5);
}

static const char *const units[] = {"x", "\"", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};

/* Around the length of a piece, with characters of all lengths across its end, and very long. */
static void long_names_arrive_whole(void **state)
{
	static const size_t sizes[] = {599, 600, 601, 1200, 1201, 2500, 50000};
	struct bench *b = *state;

	for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			size_t unit = strlen(units[u]), n = sizes[i] % unit;
			char *name = malloc(sizes[i] + 1);
			struct cupti_abi_kernel r = record(name, 5, 6);

			assert_non_null(name);
			memset(name, 'a', n);
			for (; n + unit <= sizes[i]; n += unit)
				memcpy(name + n, units[u], unit);
			name[n] = '\0';
			send(b, &r, 1);
			assert_int_equal(strcmp(b->heard.names[b->heard.count - 1], name), 0);
			free(name);
		}
	}
	assert_int_equal(b->fifo.ledger->pipe.malformed, 0);
}

/* Below 64 KiB (docs/wire-format.md), and between characters. */
static void longer_names_are_cut(void **state)
{
	struct bench *b = *state;

	for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++) {
		size_t unit = strlen(units[u]), n = 0, length;
		char *name = malloc(100001);
		struct cupti_abi_kernel r = record(name, 5, 6);
		const char *heard;

		assert_non_null(name);
		for (; n + unit <= 100000; n += unit)
			memcpy(name + n, units[u], unit);
		name[n] = '\0';
		send(b, &r, 1);
		heard = b->heard.names[b->heard.count - 1];
		length = strlen(heard);
		assert_true(length < 65536 && length + unit >= 65536 && length % unit == 0);
		assert_int_equal(strncmp(heard, name, length), 0);
		free(name);
	}
	assert_int_equal(b->fifo.ledger->pipe.malformed, 0);
}

static void unknown_records_are_counted(void **state)
{
	struct bench *b = *state;
	struct cupti_abi_kernel r[] = {record("k", 5, 6), record("k", 5, 6), record("k", 5, 6),
				       record("k", 5, 6)};

	r[0].kind = CUPTI_ABI_ACTIVITY_KIND_INVALID;
	r[1].kind = 12345;
	r[2].kind = CUPTI_ABI_ACTIVITY_KIND_KERNEL;
	send(b, r, 4);
	assert_int_equal(b->heard.count, 2);
	assert_int_equal(b->fifo.ledger->gpu.unknown_kinds, 2);
}

/* ---- devices and contexts ---- */

static struct cupti_abi_device device(uint32_t id)
{
	return (struct cupti_abi_device){
		.kind = CUPTI_ABI_ACTIVITY_KIND_DEVICE,
		.threads_per_warp = 32,
		.max_block_threads = 1024,
		.max_block_x = 1024,
		.compute_capability_major = 9,
		.id = id,
		.uuid = {1, 2, 3},
		.name = "A GPU",
		.is_cuda_visible = 1,
		.gpu_instance_id = UINT32_MAX,
		.compute_instance_id = UINT32_MAX,
		.mig_uuid = {4, 5, 6},
	};
}

static void send_device(struct bench *b, struct cupti_abi_device d)
{
	send_records(b, &d, 1, sizeof(d));
}

static void send_context(struct bench *b, const struct cupti_abi_context *c)
{
	send_records(b, c, 1, sizeof(*c));
}

static void a_plain_device(void **state)
{
	struct bench *b = *state;
	const struct gpu_event_device *e = &b->heard.devices[0];

	send_device(b, device(3));
	assert_int_equal(b->heard.device_count, 1);
	assert_true(b->saw_device);
	assert_int_equal(e->id, 3);
	assert_int_equal(e->is_mig, 0);
	assert_memory_equal(e->uuid, device(3).uuid, 16);
	assert_string_equal(b->heard.device_names[0], "A GPU");
	assert_int_equal(b->tally.count, 0); /* no work */
	assert_int_equal(b->fifo.ledger->gpu.unknown_kinds, 0);
}

static void an_instance_of_a_device(void **state)
{
	struct bench *b = *state;
	const struct gpu_event_device *e = b->heard.devices;
	struct cupti_abi_device d = device(0);

	d.is_mig_enabled = 1;
	d.gpu_instance_id = 3;
	d.compute_instance_id = 0;
	send_device(b, d);
	assert_int_equal(e[0].is_mig, 1);
	assert_int_equal(e[0].gpu_instance, 3);
	assert_int_equal(e[0].compute_instance, 0);
	assert_memory_equal(e[0].uuid, d.mig_uuid, 16);
	/* MIG is on, and this is none of its instances */
	d.compute_instance_id = UINT32_MAX;
	send_device(b, d);
	assert_int_equal(e[1].is_mig, 0);
	assert_memory_equal(e[1].uuid, d.uuid, 16);
}

static void a_hidden_device_is_none(void **state)
{
	struct bench *b = *state;
	struct cupti_abi_device d = device(0);

	d.is_cuda_visible = 0;
	send_device(b, d);
	assert_int_equal(b->heard.device_count, 0);
}

/* A record of another layout may have a name that is no pointer. */
static void a_device_of_another_layout_is_not_read(void **state)
{
	struct bench *b = *state;
	struct cupti_abi_device d[10];

	for (int i = 0; i < 10; i++) {
		d[i] = device(0);
		d[i].name = (const char *)(uintptr_t)8;
	}
	d[0].threads_per_warp = 31;
	d[1].max_block_threads = 32;
	d[2].max_block_threads = 1u << 20;
	d[3].max_block_x = 0;
	d[4].compute_capability_major = 0;
	d[5].compute_capability_major = 1024;
	d[6].id = GPU_DEVICE_MAX_ID;
	d[7].is_cuda_visible = 2;
	d[8].is_mig_enabled = 255;
	d[9].name = NULL;
	for (int i = 0; i < 10; i++) {
		b->verbose = i % 2;
		send_device(b, d[i]);
	}
	assert_int_equal(b->heard.device_count, 0);
	assert_false(b->saw_device);
	assert_int_equal(b->heard.notices, 5); /* one for each verbose try */
	assert_int_equal(b->fifo.ledger->gpu.unknown_kinds, 0);
	send_device(b, device(1)); /* the others go on */
	assert_int_equal(b->heard.device_count, 1);
}

static void only_contexts_under_mps_are_reported(void **state)
{
	struct bench *b = *state;
	struct cupti_abi_context c = {
		.kind = CUPTI_ABI_ACTIVITY_KIND_CONTEXT,
		.context_id = 5,
		.device_id = 2,
		.compute_api = CUPTI_ABI_COMPUTE_API_CUDA,
	};

	send_context(b, &c);
	assert_int_equal(b->heard.context_count, 0);
	c.compute_api = CUPTI_ABI_COMPUTE_API_CUDA_MPS;
	send_context(b, &c);
	assert_int_equal(b->heard.context_count, 1);
	assert_int_equal(b->heard.contexts[0].id, 5);
	assert_int_equal(b->heard.contexts[0].device_id, 2);
	assert_int_equal(b->heard.contexts[0].is_mps, 1);
	c.device_id = UINT32_MAX;
	send_context(b, &c);
	assert_int_equal(b->heard.context_count, 1);
	assert_int_equal(b->fifo.ledger->pipe.malformed, 0);
}

static void send_sums(struct bench *b)
{
	activity_send_sums(&(struct activity_output){
		.names = &b->names, .tally = &b->tally, .sink = &b->sink});
	sink_flush(&b->sink);
	fifo_drain(&b->fifo);
}

static void sums_are_of_all_records(void **state)
{
	struct bench *b = *state;
	struct cupti_abi_kernel r[] = {record("k", 5, 16), record("k", 20, 32),
				       record("k", 40, 50)};

	r[2].stream_id = 9;
	send(b, r, 3);
	send_sums(b);
	assert_int_equal(b->heard.sum_count, 2);
	assert_int_equal(b->heard.sums[0].stream_id, 0);
	assert_int_equal(b->heard.sums[0].count, 2);
	assert_int_equal(b->heard.sums[0].ns, 23);
	assert_int_equal(b->heard.sums[1].stream_id, 9);
	assert_int_equal(b->heard.sums[1].ns, 10);
}

/* The profiler must know that sums are missing, also if memory for the rest was lacking, too. */
static void an_overflow_adds_a_remainder_of_each_kind(void **state)
{
	struct bench *b = *state;
	struct cupti_abi_kernel r = record("k", 5, 16);

	send(b, &r, 1);
	b->tally.overflowed = true;
	send_sums(b);
	assert_int_equal(b->heard.sum_count, 1 + GPU_WORKS);
	for (uint32_t i = 0; i < GPU_WORKS; i++) {
		const struct gpu_event_sum *e = &b->heard.sums[1 + i];

		assert_int_equal(e->work, i);
		assert_int_equal(e->device_id, WORK_TALLY_REST);
		assert_int_equal(e->context_id, WORK_TALLY_REST);
		assert_int_equal(e->stream_id, WORK_TALLY_REST);
		assert_int_equal(e->count + e->ns + e->bytes, 0);
	}
}

static void decompression_is_work(void **state)
{
	struct bench *b = *state;
	const struct cupti_abi_decompress r = {.kind = CUPTI_ABI_ACTIVITY_KIND_MEM_DECOMPRESS,
					       .device_id = 1,
					       .context_id = 2,
					       .stream_id = 3,
					       .channel_id = 77,
					       .correlation_id = 4,
					       .operations = 8,
					       .source_bytes = 4096,
					       .start = 1000000,
					       .end = 1000250};
	const struct gpu_event_work *w = &b->heard.work;

	send_records(b, &r, 1, sizeof(r));
	assert_int_equal(w->work, GPU_WORK_DECOMPRESS);
	assert_int_equal(w->bytes, 4096);
	assert_int_equal(w->start_ns, 600000);
	assert_int_equal(w->duration_ns, 250);
	assert_int_equal(w->correlation_id, 4);
	assert_int_equal(w->device_id * 100 + w->context_id * 10 + w->stream_id, 123);
	assert_int_equal(b->tally.list[0].ns, 250);
	assert_false(gpu_work_has_no_launch(w->work));
}

static void graphs_that_kernels_launch_are_work(void **state)
{
	struct bench *b = *state;
	const struct cupti_abi_device_graph_trace r = {
		.kind = CUPTI_ABI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE,
		.device_id = 1,
		.context_id = 2,
		.stream_id = 3,
		.graph_id = 9,
		.launcher_graph_id = 8,
		.start = 1000000,
		.end = 1000250};
	const struct gpu_event_work *w = &b->heard.work;

	send_records(b, &r, 1, sizeof(r));
	assert_int_equal(w->work, GPU_WORK_DEVICE_GRAPH);
	assert_int_equal(w->start_ns, 600000);
	assert_int_equal(w->duration_ns, 250);
	assert_int_equal(w->graph_id, 9);
	assert_int_equal(w->device_id * 100 + w->context_id * 10 + w->stream_id, 123);
	assert_true(gpu_work_has_no_launch(w->work));
}

static struct cupti_abi_kernel untimed(uint32_t correlation_id)
{
	struct cupti_abi_kernel k = record("measured", 0, 0);

	k.correlation_id = correlation_id;
	return k;
}

static void expect_time(const struct bench *b, uint32_t i, uint32_t correlation_id,
			uint64_t start_ns, uint64_t duration_ns)
{
	const struct gpu_event_kernel *k = &b->heard.kernels[i];

	assert_true(i < b->heard.count);
	assert_int_equal(k->correlation_id, correlation_id);
	assert_int_equal(k->start_ns, start_ns);
	assert_int_equal(k->duration_ns, duration_ns);
	assert_int_equal(k->bad_time, duration_ns == 0);
	assert_string_equal(b->heard.names[i], "measured");
}

static void a_measured_kernel_has_the_time_that_was_counted(void **state)
{
	const double ns = 500;
	struct bench *b = *state;
	struct cupti_abi_kernel records[] = {untimed(101), untimed(102), untimed(103)};

	b->reads_counters = true;
	/* the first call has returned, the second returns later; the third is not measured */
	counted_times_begin(101);
	counted_times_end(101, &ns, 1000, 9000);
	counted_times_begin(102);
	send(b, records, 3);
	assert_int_equal(b->heard.count, 2);
	expect_time(b, 0, 101, 8500, 500);
	expect_time(b, 1, 103, 0, 0);
	send(b, NULL, 0);
	assert_int_equal(b->heard.count, 2);
	counted_times_end(102, &ns, 1000, 10000);
	send(b, NULL, 0);
	assert_int_equal(b->heard.count, 3);
	expect_time(b, 2, 102, 9500, 500);
	send_sums(b);
	assert_int_equal(b->heard.count, 3);
	assert_int_equal(b->heard.sum_count, 1);
	assert_int_equal(b->heard.sums[0].count, 3);
	assert_int_equal(b->heard.sums[0].ns, 1000);
}

static void a_measured_kernel_is_sent_at_the_end_in_any_case(void **state)
{
	struct bench *b = *state;
	struct cupti_abi_kernel records[] = {untimed(104), untimed(105)};

	b->reads_counters = true;
	counted_times_begin(104);
	counted_times_begin(105);
	send(b, records, 2);
	assert_int_equal(b->heard.count, 1);
	expect_time(b, 0, 104, 0, 0);
	send_sums(b);
	assert_int_equal(b->heard.count, 2);
	expect_time(b, 1, 105, 0, 0);
	assert_int_equal(b->heard.sums[0].count, 2);
	send_sums(b);
	assert_int_equal(b->heard.count, 2);
}

static void an_empty_buffer_sends_nothing(void **state)
{
	struct bench *b = *state;

	send(b, NULL, 0);
	assert_int_equal(b->heard.count, 0);
	assert_int_equal(b->fifo.ledger->gpu.unknown_kinds, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pools_are_sent_where_memory_is_followed),
		TEST(every_field_arrives),
		TEST(senseless_times_are_marked),
		TEST(times_outside_are_marked),
		TEST(work_before_the_recorded_is_counted),
		TEST(work_under_way_can_be_counted_too),
		TEST(work_after_the_recorded_is_counted),
		TEST(what_has_not_ended_can_be_left_out),
		TEST(drift_does_not_bend_durations),
		TEST(a_name_is_sent_once),
		TEST(a_record_without_a_name_counts_too),
		TEST(long_names_arrive_whole),
		TEST(longer_names_are_cut),
		TEST(unknown_records_are_counted),
		TEST(a_plain_device),
		TEST(an_instance_of_a_device),
		TEST(a_hidden_device_is_none),
		TEST(a_device_of_another_layout_is_not_read),
		TEST(only_contexts_under_mps_are_reported),
		TEST(sums_are_of_all_records),
		TEST(an_overflow_adds_a_remainder_of_each_kind),
		TEST(decompression_is_work),
		TEST(graphs_that_kernels_launch_are_work),
		TEST(a_measured_kernel_has_the_time_that_was_counted),
		TEST(a_measured_kernel_is_sent_at_the_end_in_any_case),
		TEST(an_empty_buffer_sends_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
