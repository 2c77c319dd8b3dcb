/* SPDX-License-Identifier: MIT */
/*
 * The lines of all types of events, byte for byte. Keys, and the members that keys stand for, are
 * shared by encoder and decoder. Only this test finds errors in them.
 */
#include "unit.h"
#include "cupti_trace/wire/gpu_wire.h"

static const struct gpu_event_frame frames[] = {{.value = 0x1a, .kind = GPU_FRAME_RETURN},
						{.value = 2, .kind = GPU_FRAME_PYTHON, .line = 3},
						{.value = 4, .kind = GPU_FRAME_PYTHON},
						{.value = 5, .kind = GPU_FRAME_NVTX}};
static const struct gpu_call_error errors[] = {{.code = 1, .count = 2}, {.code = 3, .count = 4}};
static const struct gpu_call_bucket buckets[] = {{.bucket = 5, .count = 6},
						 {.bucket = 7, .count = 8}};
static const struct gpu_pc_count counts[] = {{.pc = 1, .stall = 2, .samples = 3},
					     {.pc = 4, .stall = 5, .samples = 6}};
static const uint8_t bytes[] = {0x0a, 0xb0, 0xff};
static const double values[] = {1, -2.5};
static const struct gpu_node_step steps[] = {
	{.node = 5, .start_ns = -6, .duration_ns = 7, .work_id = 8},
	{.node = -9, .start_ns = 10, .duration_ns = 11, .work_id = 12}};

/* Each member has another value. */
static const struct {
	struct gpu_event event;
	const char *line;
} cases[] = {
	{{.type = GPU_EVENT_BATCH,
	  .batch = {.pid = 1, .bytes = 2, .instance = 0xabc, .sequence = 3}},
	 "{\"t\":\"batch\",\"pid\":1,\"id\":\"0000000000000abc\",\"seq\":3,\"len\":2}\n"},
	{{.type = GPU_EVENT_HELLO,
	  .hello = {.version = 1,
		    .pid = 2,
		    .instance = 0xabc,
		    .pid_namespace = 3,
		    .start_ticks = 4,
		    .executable = "a",
		    .cupti_path = "b",
		    .cupti_version = 5,
		    .clock_offset_ns = -6,
		    .clock_error_ns = 7,
		    .libraries = "c\nd",
		    .wants_ack = 8,
		    .is_off = 1}},
	 "{\"t\":\"hello\",\"version\":1,\"pid\":2,\"id\":\"0000000000000abc\",\"ns\":3,"
	 "\"started\":4,\"exe\":\"a\",\"cupti\":\"b\",\"cupti_version\":5,\"clock_offset\":\"-6\","
	 "\"clock_error\":7,\"libs\":\"c\\u000ad\",\"ack\":8,\"off\":1}\n"},
	{{.type = GPU_EVENT_RUN,
	  .run = {.time_ns = 1,
		  .unix_ns = 2,
		  .boot = "a",
		  .host = "b",
		  .folder = "c",
		  .arguments = "d",
		  .job = "e"}},
	 "{\"t\":\"run\",\"s\":\"1\",\"unix\":\"2\",\"boot\":\"a\",\"host\":\"b\",\"cwd\":\"c\","
	 "\"args\":\"d\",\"job\":\"e\"}\n"},
	{{.type = GPU_EVENT_RUN,
	  .run = {.time_ns = 1,
		  .boot = "a",
		  .host = "b",
		  .folder = "c",
		  .arguments = "d",
		  .job = "e"}},
	 "{\"t\":\"run\",\"s\":\"1\"}\n"},
	{{.type = GPU_EVENT_MAPS, .maps = {.generation = 1, .wants_ack = 2}},
	 "{\"t\":\"maps\",\"generation\":1,\"ack\":2}\n"},
	{{.type = GPU_EVENT_NAME, .name = {.id = 1, .more = 2, .name = "a"}},
	 "{\"t\":\"name\",\"i\":1,\"more\":2,\"n\":\"a\"}\n"},
	{{.type = GPU_EVENT_CODE,
	  .code = {.start = 0x1a,
		   .end = 0x2a,
		   .file_offset = 0x3a,
		   .inode = 0x4a,
		   .dev_major = 5,
		   .dev_minor = 6,
		   .path = "a",
		   .build_id = "7b",
		   .text_hash = 0x8a}},
	 "{\"t\":\"code\",\"s\":\"1a\",\"e\":\"2a\",\"o\":\"3a\",\"ino\":\"4a\",\"dev\":[5,6],"
	 "\"b\":\"7b\",\"x\":\"8a\",\"p\":\"a\"}\n"},
	{{.type = GPU_EVENT_PYCODE,
	  .pycode = {.id = 1, .name = "a", .qualname = "b", .path = "c", .first_line = 2}},
	 "{\"t\":\"pycode\",\"i\":1,\"f\":\"a\",\"q\":\"b\",\"p\":\"c\",\"l\":2}\n"},
	{{.type = GPU_EVENT_STACK,
	  .stack = {.id = 1,
		    .is_whole = 2,
		    .function = "a",
		    .count = 4,
		    .frames = frames,
		    .is_unordered = 3,
		    .handed_from = 4,
		    .handed_to = "b"}},
	 "{\"t\":\"stack\",\"i\":1,\"whole\":2,\"u\":3,\"f\":\"a\",\"to\":\"b\",\"from\":4,\"a\":"
	 "\"1a,p2:3,p4,n5\"}\n"},
	{{.type = GPU_EVENT_LAUNCH,
	  .launch = {.time_ns = 3,
		     .tid = 4,
		     .correlation_id = 5,
		     .family = 1,
		     .flags = 6,
		     .stack_id = 7,
		     .stands_for = 8}},
	 "{\"t\":\"l\",\"s\":3,\"h\":4,\"c\":5,\"f\":1,\"x\":6,\"k\":7,\"n\":8}\n"},
	{{.type = GPU_EVENT_KERNEL,
	  .kernel = {.start_ns = 1,
		     .duration_ns = 2,
		     .name_id = 3,
		     .correlation_id = 4,
		     .device_id = 5,
		     .context_id = 6,
		     .stream_id = 7,
		     .grid = {8, 9, 10},
		     .block = {11, 12, 13},
		     .static_shared = 14,
		     .dynamic_shared = 15,
		     .registers = 16,
		     .graph_id = 17,
		     .graph_node_id = 18,
		     .bad_time = 1,
		     .outside = 2}},
	 "{\"t\":\"k\",\"n\":3,\"s\":1,\"d\":2,\"c\":4,\"v\":[5,6,7],\"g\":[8,9,10],\"b\":[11,12,"
	 "13],\"m\":[14,15],\"r\":16,\"gr\":[17,18],\"bad\":1,\"out\":2}\n"},
	{{.type = GPU_EVENT_KERNEL,
	  .kernel = {.start_ns = 1,
		     .duration_ns = 2,
		     .name_id = 3,
		     .correlation_id = 4,
		     .graph_node_id = 5}},
	 "{\"t\":\"k\",\"n\":3,\"s\":1,\"d\":2,\"c\":4,\"v\":[0,0,0],\"g\":[0,0,0],\"b\":[0,0,0],"
	 "\"m\":[0,0],\"r\":0,\"gr\":[0,5]}\n"},
	{{.type = GPU_EVENT_DROPS,
	  .drops = {.kernels = 1,
		    .launches = 2,
		    .batches = 3,
		    .unsent_kernels = 4,
		    .unsent_launches = 5,
		    .unknown = 6,
		    .early = 7,
		    .early_ns = 8,
		    .late = 9,
		    .late_ns = 10,
		    .ranges = 11,
		    .folded_ranges = 12}},
	 "{\"t\":\"drops\",\"kernels\":1,\"launches\":2,\"batches\":3,\"unsent_kernels\":4,"
	 "\"unsent_launches\":5,\"unknown\":6,\"early\":7,\"early_ns\":8,\"late\":9,\"late_ns\":10,"
	 "\"ranges\":11,\"folded_ranges\":12}\n"},
	{{.type = GPU_EVENT_DROPS, .drops = {.early = 1, .late_ns = 2}},
	 "{\"t\":\"drops\",\"kernels\":0,\"launches\":0,\"batches\":0,\"unsent_kernels\":0,"
	 "\"unsent_launches\":0,\"unknown\":0,\"early\":1,\"early_ns\":0}\n"},
	{{.type = GPU_EVENT_NOTICE, .notice = {.code = 1, .detail = "a"}},
	 "{\"t\":\"notice\",\"code\":1,\"detail\":\"a\"}\n"},
	{{.type = GPU_EVENT_GOODBYE,
	  .goodbye = {.kernels = 1, .kernel_ns = 2, .launches = 3, .own_ns = 4}},
	 "{\"t\":\"bye\",\"kernels\":1,\"kernel_ns\":2,\"launches\":3,\"own_ns\":4}\n"},
	{{.type = GPU_EVENT_WORK,
	  .work = {.start_ns = 1,
		   .duration_ns = 2,
		   .bytes = 3,
		   .work = GPU_WORK_MEMCPY_HTOD,
		   .correlation_id = 4,
		   .device_id = 5,
		   .context_id = 6,
		   .stream_id = 7,
		   .graph_id = 8,
		   .graph_node_id = 9,
		   .source_memory = 10,
		   .destination_memory = 11,
		   .address = 0xc,
		   .bad_time = 1,
		   .outside = 2}},
	 "{\"t\":\"m\",\"w\":2,\"s\":1,\"d\":2,\"c\":4,\"v\":[5,6,7],\"b\":3,\"p\":[10,11],\"a\":"
	 "\"c\",\"gr\":[8,9],\"bad\":1,\"out\":2}\n"},
	{{.type = GPU_EVENT_NODE,
	  .node = {.id = 0x1a,
		   .origin = 0x2a,
		   .is_moved = 1,
		   .time_ns = 0x3a,
		   .tid = 4,
		   .stack_id = 5}},
	 "{\"t\":\"node\",\"n\":\"1a\",\"o\":\"2a\",\"moved\":1,\"s\":\"3a\",\"h\":4,\"k\":5}\n"},
	{{.type = GPU_EVENT_NODE_WORK,
	  .node_work = {.id = 1,
			.of = {.device_id = 2,
			       .context_id = 3,
			       .stream_id = 4,
			       .name_id = 5,
			       .grid = {6, 7, 8},
			       .block = {9, 10, 11},
			       .static_shared = 12,
			       .dynamic_shared = 13,
			       .registers = 14}}},
	 "{\"t\":\"nw\",\"i\":1,\"v\":[2,3,4],\"n\":5,\"g\":[6,7,8],\"b\":[9,10,11],\"m\":[12,13],"
	 "\"r\":14}\n"},
	{{.type = GPU_EVENT_NODE_WORK,
	  .node_work = {.id = 1,
			.of = {.work = 2,
			       .device_id = 3,
			       .context_id = 4,
			       .stream_id = 5,
			       .bytes = 6,
			       .source_memory = 7,
			       .destination_memory = 8}}},
	 "{\"t\":\"nw\",\"i\":1,\"w\":2,\"v\":[3,4,5],\"bytes\":6,\"p\":[7,8]}\n"},
	{{.type = GPU_EVENT_NODE_RUN,
	  .node_run = {.start_ns = 30,
		       .node_id = 20,
		       .correlation_id = 1,
		       .graph_id = 2,
		       .count = 2,
		       .steps = steps}},
	 "{\"t\":\"nr\",\"c\":1,\"gr\":[2,20],\"s\":30,\"x\":[8,5,-6,7,12,-9,10,11]}\n"},
	{{.type = GPU_EVENT_SUM,
	  .sum = {.device_id = 1,
		  .context_id = 2,
		  .stream_id = 3,
		  .work = 4,
		  .count = 5,
		  .ns = 0x6a,
		  .bytes = 0x7a}},
	 "{\"t\":\"sum\",\"v\":[1,2,3],\"w\":4,\"count\":5,\"ns\":\"6a\",\"b\":\"7a\"}\n"},
	{{.type = GPU_EVENT_NVTX,
	  .nvtx = {.id = 1, .color = 2, .domain = "a", .name = "b", .kind = 1}},
	 "{\"t\":\"nvtx\",\"i\":1,\"d\":\"a\",\"n\":\"b\",\"color\":2,\"op\":1}\n"},
	{{.type = GPU_EVENT_WAIT,
	  .wait = {.start_ns = 1,
		   .duration_ns = 2,
		   .computed_ns = 3,
		   .tid = 4,
		   .stack_id = 5,
		   .has_stream = 1,
		   .context_id = 6,
		   .stream_id = 7,
		   .error = 8}},
	 "{\"t\":\"w\",\"s\":1,\"d\":2,\"u\":3,\"h\":4,\"k\":5,\"v\":[6,7],\"e\":8}\n"},
	{{.type = GPU_EVENT_WAIT, .wait = {.start_ns = 1, .duration_ns = 2, .tid = 3}},
	 "{\"t\":\"w\",\"s\":1,\"d\":2,\"h\":3}\n"},
	{{.type = GPU_EVENT_DEVICE,
	  .device = {.id = 1,
		     .is_mig = 1,
		     .gpu_instance = 2,
		     .compute_instance = 3,
		     .uuid = {0xab, [15] = 0xcd},
		     .name = "a",
		     .limits = {.multiprocessors = 4,
				.warps = 5,
				.blocks = 6,
				.registers = 7,
				.shared_bytes = 8,
				.major = 9,
				.minor = 10}}},
	 "{\"t\":\"device\",\"i\":1,\"n\":\"a\",\"mig\":[2,3],\"sm\":[4,5,6,7,8,9,10],\"u\":"
	 "\"ab0000000000000000000000000000cd\"}\n"},
	{{.type = GPU_EVENT_CONTEXT,
	  .context = {.id = 1, .device_id = 2, .is_mps = 3, .end_ns = 0x4a}},
	 "{\"t\":\"context\",\"i\":1,\"d\":2,\"mps\":3,\"end\":\"4a\"}\n"},
	{{.type = GPU_EVENT_VOID, .voids = {.launches = 1}}, "{\"t\":\"void\",\"launches\":1}\n"},
	{{.type = GPU_EVENT_VOID, .voids = {.launches = 1, .correlation_id = 2}},
	 "{\"t\":\"void\",\"c\":2}\n"},
	{{.type = GPU_EVENT_LAUNCH_END,
	  .launch_end = {.duration_ns = 1, .tid = 2, .correlation_id = 3, .error = 4}},
	 "{\"t\":\"ld\",\"h\":2,\"c\":3,\"d\":1,\"e\":4}\n"},
	{{.type = GPU_EVENT_GRAPH, .graph = {.number = 1, .holder = 0x2a, .time_ns = 0x3a}},
	 "{\"t\":\"graph\",\"i\":1,\"n\":\"2a\",\"s\":\"3a\"}\n"},
	{{.type = GPU_EVENT_GRAPH, .graph = {.number = 1, .correlation_id = 2, .time_ns = 0x3a}},
	 "{\"t\":\"graph\",\"i\":1,\"c\":2,\"s\":\"3a\"}\n"},
	{{.type = GPU_EVENT_CALLS,
	  .calls = {.function = "a",
		    .family = 1,
		    .kind = 2,
		    .calls = 3,
		    .ns = 4,
		    .bytes = 5,
		    .nested = 6,
		    .nested_ns = 7,
		    .shortest_ns = 8,
		    .longest_ns = 9,
		    .error_count = 2,
		    .bucket_count = 2,
		    .errors = errors,
		    .buckets = buckets}},
	 "{\"t\":\"api\",\"f\":\"a\",\"family\":1,\"kind\":2,\"c\":[3,4,5,6,7,8,9],\"e\":[1,2,3,4],"
	 "\"h\":[5,6,7,8]}\n"},
	{{.type = GPU_EVENT_ERROR,
	  .error = {.code = 1, .tid = 2, .correlation_id = 3, .function = "a"}},
	 "{\"t\":\"error\",\"code\":1,\"h\":2,\"c\":3,\"f\":\"a\"}\n"},
	{{.type = GPU_EVENT_POOL,
	  .pool = {.address = 0x1a,
		   .time_ns = 0x2a,
		   .held = 0x3a,
		   .used = 0x4a,
		   .keeps = 0x5a,
		   .device_id = 6,
		   .memory = 7}},
	 "{\"t\":\"pool\",\"a\":\"1a\",\"d\":6,\"k\":7,\"s\":\"2a\",\"held\":\"3a\",\"used\":"
	 "\"4a\",\"keeps\":\"5a\"}\n"},
	{{.type = GPU_EVENT_CUBIN,
	  .cubin = {.crc = 0x1a, .size = 9, .offset = 2, .count = 3, .bytes = bytes}},
	 "{\"t\":\"cubin\",\"i\":\"1a\",\"size\":9,\"o\":2,\"b\":\"0ab0ff\"}\n"},
	{{.type = GPU_EVENT_STALL, .stall = {.id = 1, .name = "a"}},
	 "{\"t\":\"stall\",\"i\":1,\"n\":\"a\"}\n"},
	{{.type = GPU_EVENT_PCS,
	  .pcs = {.name_id = 1,
		  .cubin_crc = 0x2a,
		  .correlation_id = 3,
		  .count = 2,
		  .counts = counts}},
	 "{\"t\":\"pc\",\"n\":1,\"i\":\"2a\",\"c\":3,\"s\":[1,2,3,4,5,6]}\n"},
	{{.type = GPU_EVENT_PC_TOTALS,
	  .pc_totals = {.period = 1,
			.taken = 2,
			.dropped = 3,
			.other = 4,
			.lost = 5,
			.overflows = 6,
			.cubins_left_out = 7}},
	 "{\"t\":\"pcs\",\"period\":1,\"taken\":2,\"dropped\":3,\"other\":4,\"lost\":5,"
	 "\"overflows\":6,\"cubins_left_out\":7}\n"},
	{{.type = GPU_EVENT_METRIC, .metric = {.id = 1, .name = "a", .unit = "b"}},
	 "{\"t\":\"metric\",\"i\":1,\"n\":\"a\",\"u\":\"b\"}\n"},
	{{.type = GPU_EVENT_COUNTERS,
	  .counters =
		  {.correlation_id = 1, .state = GPU_COUNTERS_READ, .count = 2, .values = values}},
	 "{\"t\":\"hc\",\"c\":1,\"s\":1,\"v\":\"3ff0000000000000c004000000000000\"}\n"},
	{{.type = GPU_EVENT_COUNTERS,
	  .counters = {.correlation_id = 1, .state = GPU_COUNTERS_NONE}},
	 "{\"t\":\"hc\",\"c\":1,\"s\":2}\n"},
	{{.type = GPU_EVENT_UNMEASURED, .unmeasured = {.counts = {1, 2, 3, 4, 5, 6}}},
	 "{\"t\":\"unmeasured\",\"n\":[1,2,3,4,5,6]}\n"},
	{{.type = GPU_EVENT_RANGE, .range = {.time_ns = 0x1a, .is_open = 1}},
	 "{\"t\":\"range\",\"s\":\"1a\",\"open\":1}\n"},
	{{.type = GPU_EVENT_WINDOW_END,
	  .window_end = {.recorded_ns = 5000000,
			 .recorded_calls = 12,
			 .counted_ns = 10000000,
			 .counted_calls = 26,
			 .represents = 100}},
	 "{\"t\":\"window_end\",\"r\":5000000,\"rc\":12,\"c\":10000000,\"cc\":26,\"n\":100}\n"},
	{{.type = GPU_EVENT_WINDOW,
	  .window = {.from_ns = 0x1a,
		     .to_ns = 0x1b,
		     .period_from_ns = 0x10,
		     .period_ns = 500000000,
		     .represents = 100}},
	 "{\"t\":\"window\",\"s\":\"1a\",\"e\":\"1b\",\"b\":\"10\",\"p\":500000000,\"n\":100}\n"},
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

static void lines_have_their_form(void **state)
{
	(void)state;
	for (size_t i = 0; i < CASES; i++) {
		char line[GPU_WIRE_LINE_MAX];
		int n = gpu_wire_encode(&cases[i].event, line, sizeof(line) - 1);

		assert_in_range(n, 1, sizeof(line) - 1);
		line[n] = '\0';
		assert_string_equal(line, cases[i].line);
	}
}

static void such_lines_are_read(void **state)
{
	struct gpu_wire_decoder *decoder = gpu_wire_decoder_new();

	(void)state;
	assert_non_null(decoder);
	for (size_t i = 0; i < CASES; i++) {
		struct gpu_event event;
		char again[GPU_WIRE_LINE_MAX];
		int n;

		assert_int_equal(
			gpu_wire_decode(decoder, cases[i].line, strlen(cases[i].line) - 1, &event),
			0);
		assert_int_equal(event.type, cases[i].event.type);
		n = gpu_wire_encode(&event, again, sizeof(again) - 1);
		assert_in_range(n, 1, sizeof(again) - 1);
		again[n] = '\0';
		assert_string_equal(again, cases[i].line);
	}
	gpu_wire_decoder_free(decoder);
}

static void all_types_are_here(void **state)
{
	bool is_here[GPU_EVENT_TYPES] = {false};

	(void)state;
	for (size_t i = 0; i < CASES; i++)
		is_here[cases[i].event.type] = true;
	for (int type = GPU_EVENT_NONE + 1; type < GPU_EVENT_TYPES; type++)
		if (!is_here[type])
			fail_msg("no line of type %d", type);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_have_their_form),
		cmocka_unit_test(such_lines_are_read),
		cmocka_unit_test(all_types_are_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
