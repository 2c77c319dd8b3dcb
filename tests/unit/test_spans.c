// SPDX-License-Identifier: MIT
/*
 * cJSON parses the written spans. tests/cli/otlp.bats compares spans with the schema that
 * OpenTelemetry publishes, in both encodings.
 */
#include "made_timeline.h"
#include <cjson/cJSON.h>
#include "profiler/formats/spans.h"

#define TRACEPARENT "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
#define KERNEL "[GPU_Kernel]"

static struct span_options spans;
static struct made_timeline m;
static struct written written;
static uint64_t total;

static int begin(void **state)
{
	(void)state;
	spans = (struct span_options){.service = NULL};
	assert_int_equal(trace_context_continue(&spans.context, TRACEPARENT, NULL), 0);
	made_timeline_begin(&m);
	return 0;
}

static int end(void **state)
{
	(void)state;
	made_timeline_end(&m);
	return 0;
}

/* Parses each request into an element of an array. */
static int parse(void *context, const void *request, size_t size, uint32_t count)
{
	cJSON *tree = cJSON_ParseWithLength(request, size);

	assert_non_null(tree);
	assert_in_range(count, 1, SPANS_IN_REQUEST);
	cJSON_AddItemToArray(context, tree);
	return 0;
}

static cJSON *write_spans(void)
{
	cJSON *requests = cJSON_CreateArray();

	m.made.result.timeline = m.timeline;
	timeline_finish(m.timeline);
	assert_int_equal(
		spans_write(&m.made.result, &spans, OTLP_JSON, parse, requests, &written, &total),
		0);
	return requests;
}

static const cJSON *item(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

static const char *text_of(const cJSON *object, const char *key)
{
	return cJSON_GetStringValue(item(object, key));
}

static const cJSON *resource_of(const cJSON *requests, int request, int at)
{
	return cJSON_GetArrayItem(item(cJSON_GetArrayItem(requests, request), "resourceSpans"), at);
}

/* Returns span number `at` of a request, over its resources, or NULL if there are fewer. */
static const cJSON *span_of(const cJSON *requests, int request, int at)
{
	const cJSON *resource;

	for (int i = 0; (resource = resource_of(requests, request, i)); i++) {
		const cJSON *list =
			item(cJSON_GetArrayItem(item(resource, "scopeSpans"), 0), "spans");

		if (at < cJSON_GetArraySize(list))
			return cJSON_GetArrayItem(list, at);
		at -= cJSON_GetArraySize(list);
	}
	return NULL;
}

/* Returns the value as JSON, or NULL if there is none. */
static const char *attribute(const cJSON *object, const char *key)
{
	static char text[OTLP_TEXT_BYTES + 64]; /* cJSON wants some more */
	const cJSON *a;

	cJSON_ArrayForEach(a, item(object, "attributes"))
	{
		if (strcmp(text_of(a, "key"), key) == 0) {
			assert_true(cJSON_PrintPreallocated(item(a, "value")->child, text,
							    sizeof(text), false));
			return text;
		}
	}
	return NULL;
}

#define assert_attribute(object, key, value)                \
	do {                                                \
		const char *found = attribute(object, key); \
                                                            \
		if (!found)                                 \
			fail_msg("no %s", key);             \
		assert_string_equal(found, value);          \
	} while (0)

#define assert_text(object, key, value) assert_string_equal(text_of(object, key), value)

static void a_launch_and_its_kernel(void **state)
{
	const cJSON *run, *launch, *kernel, *resource;
	cJSON *requests;

	(void)state;
	made_kernel(&m, KERNEL "void short<float>(float*)");
	m.made.frames[2].class = CLASS_API;
	m.made.result.totals.command = "./bin/app 'a b'";
	m.made.result.totals.command_pid = 4711;
	m.made.result.totals.host = "node7";
	m.made.result.totals.folder = "/work";
	m.made.result.totals.elapsed_ns = 9000;
	requests = write_spans();
	assert_int_equal(cJSON_GetArraySize(requests), 2);
	assert_int_equal(total, 3);
	assert_int_equal(written.items, 3);
	assert_int_equal(written.total[ROW_GPU], 2345);

	launch = span_of(requests, 0, 0);
	assert_text(launch, "name", "cudaLaunchKernel");
	assert_text(launch, "traceId", "0af7651916cd43dd8448eb211c80319c");
	assert_text(launch, "startTimeUnixNano", "5001000");
	assert_text(launch, "endTimeUnixNano", "5002500");
	assert_true(item(launch, "kind")->valueint == 1);
	assert_true(item(launch, "flags")->valueint == 0x101);
	assert_null(item(launch, "traceState"));
	assert_null(item(launch, "status"));
	assert_attribute(launch, "cuda.call", "\"launch\"");
	assert_attribute(launch, "cuda.api", "\"runtime\"");
	assert_attribute(launch, "thread.id", "\"12\"");
	assert_attribute(launch, "cuda.correlation_id", "\"9\"");
	assert_null(attribute(launch, "cuda.end_unknown"));
	assert_null(attribute(launch, "code.stacktrace"));

	kernel = span_of(requests, 0, 1);
	assert_text(kernel, "name", "short");
	assert_text(kernel, "parentSpanId", text_of(launch, "spanId"));
	assert_text(kernel, "startTimeUnixNano", "5003001");
	assert_text(kernel, "endTimeUnixNano", "5005346");
	assert_attribute(kernel, "cuda.operation", "\"kernels\"");
	assert_attribute(kernel, "cuda.kernel.name", "\"void short<float>(float*)\"");
	assert_attribute(kernel, "cuda.kernel.grid",
			 "{\"values\":[{\"intValue\":\"4\"},{\"intValue\":\"2\"},"
			 "{\"intValue\":\"1\"}]}");
	assert_attribute(kernel, "cuda.kernel.registers", "\"32\"");
	assert_attribute(kernel, "cuda.kernel.shared_memory", "\"8\"");
	assert_attribute(kernel, "cuda.device.id", "\"0\"");
	assert_attribute(kernel, "cuda.context.id", "\"1\"");
	assert_attribute(kernel, "cuda.stream.id", "\"7\"");
	assert_attribute(kernel, "cuda.graph.id", "\"3\"");
	assert_attribute(kernel, "cuda.graph.node_id", "\"4\"");
	assert_null(attribute(kernel, "cuda.launch_unknown"));
	assert_null(span_of(requests, 0, 2));

	run = span_of(requests, 1, 0);
	assert_text(run, "name", "app");
	assert_text(run, "parentSpanId", "b7ad6b7169203331");
	assert_text(launch, "parentSpanId", text_of(run, "spanId"));
	assert_true(item(run, "flags")->valueint == 0x301);
	assert_text(run, "startTimeUnixNano", "5000000");
	assert_text(run, "endTimeUnixNano", "5009000");
	assert_attribute(run, "process.exit.code", "\"0\"");
	assert_attribute(run, "profile.gpu_ns", "\"2345\"");
	assert_null(item(run, "status"));
	for (int i = 0; i < 2; i++) {
		resource = item(resource_of(requests, i, 0), "resource");
		assert_attribute(resource, "service.name", "\"app\"");
		assert_attribute(resource, "host.name", "\"node7\"");
		assert_attribute(resource, "process.pid", "\"4711\"");
		assert_attribute(resource, "process.executable.name", "\"app\"");
		assert_attribute(resource, "process.working_directory", "\"/work\"");
		assert_attribute(resource, "process.command_args",
				 "{\"values\":[{\"stringValue\":\"./bin/app\"},"
				 "{\"stringValue\":\"a b\"}]}");
		assert_attribute(resource, "telemetry.sdk.name", "\"profile\"");
		assert_null(resource_of(requests, i, 1));
	}
	cJSON_Delete(requests);
}

static void what_the_user_says_of_the_resource(void **state)
{
	const struct span_attribute given[] = {
		{"service.name", "mine"}, {"host.name", "h"}, {"k", "v"}};
	const cJSON *resource;
	cJSON *requests;

	(void)state;
	spans.resource = given;
	spans.resource_count = 3;
	m.made.result.totals.host = "node7";
	requests = write_spans();
	resource = item(resource_of(requests, 0, 0), "resource");
	assert_attribute(resource, "service.name", "\"mine\"");
	assert_attribute(resource, "host.name", "\"h\"");
	assert_attribute(resource, "k", "\"v\"");
	cJSON_Delete(requests);
	spans.service = "other";
	requests = write_spans();
	resource = item(resource_of(requests, 0, 0), "resource");
	assert_attribute(resource, "service.name", "\"other\"");
	/* each key is there once */
	for (const cJSON *a = item(resource, "attributes")->child; a; a = a->next)
		for (const cJSON *b = a->next; b; b = b->next)
			assert_string_not_equal(text_of(a, "key"), text_of(b, "key"));
	cJSON_Delete(requests);
}

static uint32_t add_call(uint8_t kind, uint64_t start_ns, uint64_t duration_ns, uint32_t thread)
{
	made_record(&m, (struct timeline_record){.kind = kind,
						 .start_ns = start_ns,
						 .duration_ns = duration_ns,
						 .place = made_place(&m, 1, thread, NOT, NOT)});
	return 0;
}

/* A wait in a launch, and a launch in a wait; what follows them, and another thread, are not. */
static void calls_within_calls(void **state)
{
	const cJSON *run;
	cJSON *requests;

	(void)state;
	add_call(TIMELINE_LAUNCH, 2000, 1000, 12);
	add_call(TIMELINE_WAIT, 2001, 1001, 12);
	add_call(TIMELINE_WAIT, 2500, 100, 13);
	add_call(TIMELINE_WAIT, 4000, 1000, 12);
	add_call(TIMELINE_LAUNCH, 4001, 0, 12);
	add_call(TIMELINE_LAUNCH, 4900, 50, 12);
	add_call(TIMELINE_LAUNCH, 5000, 0, 12);
	add_call(TIMELINE_CALL, 5000, 10, 12);
	requests = write_spans();
	run = span_of(requests, 1, 0);
	for (int i = 0; i < 8; i++) {
		static const int parents[] = {-1, 0, -1, -1, 3, 3, -1, -1};
		const cJSON *parent = parents[i] < 0 ? run : span_of(requests, 0, parents[i]);

		assert_text(span_of(requests, 0, i), "parentSpanId", text_of(parent, "spanId"));
	}
	assert_attribute(span_of(requests, 0, 4), "cuda.end_unknown", "true");
	assert_attribute(span_of(requests, 0, 1), "cuda.call", "\"wait\"");
	assert_attribute(span_of(requests, 0, 7), "cuda.call", "\"call\"");
	assert_int_equal(written.total[ROW_WAIT], 2101);
	assert_int_equal(written.total[ROW_CALL], 10);
	assert_int_equal(written.total[ROW_GPU], 0);
	cJSON_Delete(requests);
}

static void add_failed(uint8_t kind, const char *function, enum frame_class class, uint16_t error)
{
	static uint64_t start_ns = 2000;
	uint32_t stack = function ? MADE_STACK(&m.made, "main", function) : RESULT_ROOT;

	if (function)
		m.made.frames[m.made.stacks[stack].frame].class = class;
	made_record(&m, (struct timeline_record){.kind = kind,
						 .start_ns = start_ns += 100,
						 .duration_ns = 10,
						 .place = made_place(&m, 1, 12, NOT, NOT),
						 .stack = {stack},
						 .error = error});
}

static void calls_that_fail(void **state)
{
	static const char *const names[] = {
		"cudaErrorInvalidValue",
		"CUDA_ERROR_ILLEGAL_ADDRESS",
		NULL,
		"error 65535",
		"error 700",
	};
	cJSON *requests;

	(void)state;
	add_failed(TIMELINE_LAUNCH, "cudaLaunchKernel", CLASS_API, 1);
	add_failed(TIMELINE_WAIT, "cuStreamSynchronize", CLASS_API, 700);
	add_failed(TIMELINE_WAIT, "cudaStreamSynchronize", CLASS_API, 0);
	add_failed(TIMELINE_LAUNCH, "cudaMemcpy", CLASS_API, UINT16_MAX);
	add_failed(TIMELINE_LAUNCH, NULL, CLASS_API, 700); /* the stack is not known */
	requests = write_spans();
	for (int i = 0; i < 5; i++) {
		const cJSON *span = span_of(requests, 0, i), *status = item(span, "status");
		char quoted[64];

		if (!names[i]) {
			assert_null(status);
			assert_null(attribute(span, "error.type"));
			continue;
		}
		assert_int_equal(item(status, "code")->valueint, 2);
		assert_text(status, "message", names[i]);
		snprintf(quoted, sizeof(quoted), "\"%s\"", names[i]);
		assert_attribute(span, "error.type", quoted);
	}
	cJSON_Delete(requests);
}

/* All nodes of a graph below its launch, across requests and processes; CPU samples are no spans.
 */
static void many_operations_of_one_launch(void **state)
{
	enum { NODES = 1300 };
	const char *launches[3] = {NULL};
	int seen = 0, resources;
	cJSON *requests;

	(void)state;
	for (uint32_t id = 1; id <= 2; id++) {
		place_names_add_process(
			&m.made.place_names,
			&(struct process_info){.id = id,
					       .pid = (pid_t)(100 + id),
					       .name = id == 1 ? "a 101" : "b 102"});
		made_record(&m, (struct timeline_record){.kind = TIMELINE_LAUNCH,
							 .start_ns = 1999 + id,
							 .duration_ns = 5,
							 .place = made_place(&m, id, 12, NOT, NOT),
							 .correlation = 9});
		made_record(&m,
			    (struct timeline_record){.kind = TIMELINE_CPU_SAMPLE,
						     .start_ns = 2000,
						     .duration_ns = 20,
						     .place = made_place(&m, id, 12, NOT, NOT)});
	}
	for (uint32_t i = 0; i < NODES; i++)
		made_record(&m,
			    (struct timeline_record){.kind = TIMELINE_GPU_OPERATION,
						     .start_ns = 3000 + i,
						     .duration_ns = 1,
						     .place = made_place(&m, 1 + i % 2, 12, 0, 7),
						     .correlation = 9});
	made_record(&m, (struct timeline_record){.kind = TIMELINE_GPU_OPERATION,
						 .start_ns = 5000,
						 .place = made_place(&m, 2, 12, 0, 7),
						 .correlation = 10});
	requests = write_spans();
	assert_int_equal(total, NODES + 4);
	assert_int_equal(written.items, total);
	assert_int_equal(written.total[ROW_CPU], 0);
	assert_int_equal(written.total[ROW_GPU], NODES);
	assert_int_equal(cJSON_GetArraySize(requests), (NODES + 3) / SPANS_IN_REQUEST + 2);
	for (int r = 0; r < cJSON_GetArraySize(requests) - 1; r++) {
		for (resources = 0; resource_of(requests, r, resources); resources++) {
			const cJSON *resource = resource_of(requests, r, resources), *span;
			bool is_first = strcmp(attribute(item(resource, "resource"), "process.pid"),
					       "\"101\"") == 0;

			assert_attribute(item(resource, "resource"), "process.executable.name",
					 is_first ? "\"a\"" : "\"b\"");
			assert_null(attribute(item(resource, "resource"), "process.command_args"));
			cJSON_ArrayForEach(span, item(item(resource, "scopeSpans")->child, "spans"))
			{
				seen++;
				if (attribute(span, "cuda.call"))
					launches[is_first] = text_of(span, "spanId");
				else if (attribute(span, "cuda.launch_unknown"))
					launches[2] = text_of(span, "parentSpanId");
				else
					assert_text(span, "parentSpanId", launches[is_first]);
			}
		}
		assert_int_equal(resources, 2);
	}
	assert_int_equal(seen, NODES + 3);
	assert_string_equal(
		launches[2],
		text_of(span_of(requests, cJSON_GetArraySize(requests) - 1, 0), "spanId"));
	cJSON_Delete(requests);
}

static void names_and_stacks(void **state)
{
	enum { SIZE = 1 << 20 };
	char *huge = malloc(SIZE + 1), name[257] = "";
	const char *stack;
	cJSON *requests;

	(void)state;
	memset(huge, '\xe2', SIZE);
	memcpy(huge, KERNEL, strlen(KERNEL));
	huge[SIZE] = '\0';
	made_kernel(&m, huge);
	m.made.frames[3].short_name = huge;
	m.made.result.totals.command = "\xc3\"\n";
	m.made.result.totals.exit_status = 139;
	m.made.result.totals.command_pid = 4711;
	spans.has_stacks = true;
	memcpy(spans.context.state, "a=1", 4);
	requests = write_spans();
	memset(name, '?', sizeof(name) - 1);
	memcpy(name, KERNEL, strlen(KERNEL));
	assert_text(span_of(requests, 0, 1), "name", name);
	assert_int_equal(strlen(attribute(span_of(requests, 0, 1), "cuda.kernel.name")),
			 OTLP_TEXT_BYTES + 2);
	stack = attribute(span_of(requests, 0, 0), "code.stacktrace");
	assert_string_equal(stack, "\"cudaLaunchKernel\\nmain\"");
	assert_null(attribute(span_of(requests, 0, 1), "code.stacktrace"));
	assert_text(span_of(requests, 0, 1), "traceState", "a=1");
	assert_text(span_of(requests, 1, 0), "name", "?\"\n");
	assert_attribute(span_of(requests, 1, 0), "process.exit.code", "\"139\"");
	assert_true(item(item(span_of(requests, 1, 0), "status"), "code")->valueint == 2);
	assert_text(item(span_of(requests, 1, 0), "status"), "message", "exit status 139");
	cJSON_Delete(requests);
	free(huge);
}

/* Times before the run, and at the end of all time: the run's span includes them. */
static void odd_times(void **state)
{
	cJSON *requests;

	(void)state;
	add_call(TIMELINE_LAUNCH, 400, 1, 12);
	add_call(TIMELINE_LAUNCH, UINT64_MAX - 5, 100, 12);
	requests = write_spans();
	assert_text(span_of(requests, 0, 0), "startTimeUnixNano", "4999400");
	assert_text(span_of(requests, 0, 1), "endTimeUnixNano", "18446744073709551615");
	assert_text(span_of(requests, 1, 0), "startTimeUnixNano", "4999400");
	assert_text(span_of(requests, 1, 0), "endTimeUnixNano", "18446744073709551615");
	cJSON_Delete(requests);
}

static void an_empty_run(void **state)
{
	cJSON *requests;

	(void)state;
	m.made.result.totals = (struct totals){0};
	requests = write_spans();
	assert_int_equal(cJSON_GetArraySize(requests), 1);
	assert_text(span_of(requests, 0, 0), "name", "unknown");
	assert_null(attribute(span_of(requests, 0, 0), "process.exit.code"));
	assert_null(attribute(item(resource_of(requests, 0, 0), "resource"), "process.pid"));
	assert_int_equal(written.items, 1);
	cJSON_Delete(requests);
}

static void a_trace_that_is_not_sampled(void **state)
{
	cJSON *requests;

	(void)state;
	made_kernel(&m, KERNEL "k");
	spans.context.flags = TRACE_ID_IS_RANDOM;
	requests = write_spans();
	assert_int_equal(cJSON_GetArraySize(requests), 0);
	assert_int_equal(written.items, 0);
	assert_int_equal(total, 0);
	cJSON_Delete(requests);
}

static int refuse(void *context, const void *request, size_t size, uint32_t count)
{
	(void)request;
	(void)size;
	(void)count;
	return ++*(int *)context == 2 ? -EPIPE : 0;
}

/* After a failure, `written` counts the spans sent before it, and `total` all spans. */
static void putting_fails(void **state)
{
	int calls = 0;

	(void)state;
	for (uint32_t i = 0; i < 3 * SPANS_IN_REQUEST; i++)
		add_call(TIMELINE_WAIT, 2000 + i, 1, 12);
	m.made.result.timeline = m.timeline;
	timeline_finish(m.timeline);
	assert_int_equal(spans_write(&m.made.result, &spans, OTLP_PROTOBUF, refuse, &calls,
				     &written, &total),
			 -EPIPE);
	assert_int_equal(calls, 2);
	assert_int_equal(total, 3 * SPANS_IN_REQUEST + 1);
	assert_int_equal(written.items, SPANS_IN_REQUEST);
	assert_int_equal(written.total[ROW_WAIT], SPANS_IN_REQUEST);
}

static void a_full_disk_is_an_error(void **state)
{
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	if (!full)
		SKIP("no /dev/full here");
	setvbuf(full, NULL, _IONBF, 0);
	made_kernel(&m, KERNEL "k");
	m.made.result.timeline = m.timeline;
	timeline_finish(m.timeline);
	assert_int_equal(otlp_json_writer.write(&m.made.result,
						&(struct writer_options){.spans = &spans}, full,
						&written),
			 -ENOSPC);
	fclose(full);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_launch_and_its_kernel),
		TEST(what_the_user_says_of_the_resource),
		TEST(calls_within_calls),
		TEST(calls_that_fail),
		TEST(many_operations_of_one_launch),
		TEST(names_and_stacks),
		TEST(odd_times),
		TEST(an_empty_run),
		TEST(a_trace_that_is_not_sampled),
		TEST(putting_fails),
		TEST(a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
