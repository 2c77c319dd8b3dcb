/* SPDX-License-Identifier: MIT */
/*
 * Frames at the root that show where something ran: lists of parts, names of parts, the
 * distinguished places, and launches that carry their thread.
 */
#include "naming_bench.h"
#include "profiler/join/attribution.h"
#include "profiler/shape/view.h"

static struct view_options options; /* the order under test */

static void order(const char *text)
{
	assert_true(grouping_parse(text, &options.by));
}

static void name_process(struct naming_bench *b, uint32_t id, const char *name)
{
	place_names_add_process(&b->place_names, &(struct process_info){.id = id, .name = name});
}

static void name_thread(struct naming_bench *b, uint32_t process, uint32_t tid, const char *name)
{
	place_names_add_thread(&b->place_names,
			       &(struct thread_info){.process = process, .tid = tid, .name = name});
}

/* Returns a place of which a process and a thread are known, and nothing else. */
static struct place thread_place(uint32_t process, uint32_t tid)
{
	return (struct place){{process, tid, PLACE_UNKNOWN, PLACE_UNKNOWN, PLACE_UNKNOWN}};
}

static struct place gpu_place(uint32_t process, uint32_t device, uint32_t context, uint32_t stream)
{
	return (struct place){{process, PLACE_UNKNOWN, device, context, stream}};
}

/* Returns the frames above "main" of a row at this place, as "outermost;...;innermost". */
static const char *group(struct naming_bench *b, struct place place)
{
	static char text[2048];
	struct place_id number = places_add(&b->places, &place);
	uint32_t stack = UINT32_MAX;
	struct result *base;
	struct view *view;
	const struct result *r;
	char before[sizeof(text)];

	profile_add(b->profile, ROW_GPU, STACK(b, "main"), number, 1, 0);
	base = bench_result(b);
	view = view_new(base, &options, "/tmp", NULL);
	assert_non_null(view);
	r = view_result(view);
	for (uint32_t i = 0; i < r->row_count; i++)
		if (r->rows[i].place == number.number)
			stack = r->rows[i].stack;
	assert_int_not_equal(stack, UINT32_MAX);
	assert_string_equal(r->frames[r->stacks[stack].frame].name, "main");
	text[0] = '\0';
	for (stack = r->stacks[stack].outer; stack != RESULT_ROOT; stack = r->stacks[stack].outer) {
		const struct frame_info *frame = &r->frames[r->stacks[stack].frame];

		assert_int_equal(frame->class, CLASS_PLACE);
		memcpy(before, text, sizeof(text));
		snprintf(text, sizeof(text), "%s%s%.1500s", frame->name, before[0] ? ";" : "",
			 before);
	}
	view_free(view);
	result_free(base);
	return text[0] ? text : "(none)";
}

/* ---- lists ---- */

static void good_lists(void **state)
{
	static const char *const words[] = {"process", "thread", "device", "context", "stream"};
	struct grouping g;
	uint32_t lists = 0;

	(void)state;
	for (uint8_t i = 0; i < PLACE_PARTS; i++) {
		assert_true(grouping_parse(words[i], &g));
		assert_int_equal(g.count, 1);
		assert_int_equal(g.parts[0], i);
	}
	/* all orders of all five */
	for (uint32_t n = 0; n < 5 * 5 * 5 * 5 * 5; n++) {
		uint32_t at[5] = {n % 5, n / 5 % 5, n / 25 % 5, n / 125 % 5, n / 625};
		uint32_t seen = 0;
		char text[64];

		for (int i = 0; i < 5; i++)
			seen |= 1u << at[i];
		snprintf(text, sizeof(text), "%s,%s,%s,%s,%s", words[at[0]], words[at[1]],
			 words[at[2]], words[at[3]], words[at[4]]);
		assert_int_equal(grouping_parse(text, &g), seen == 0x1f);
		for (int i = 0; seen == 0x1f && i < 5; i++)
			assert_int_equal(g.parts[i], at[i]);
		lists += seen == 0x1f;
	}
	assert_int_equal(lists, 120);
	assert_true(grouping_parse("class,rank,operator,layer-kind,layer", &g));
	assert_int_equal(g.count, 5);
	assert_true(grouping_has(&g, GROUPING_LAYER));
	assert_false(grouping_has(&g, PLACE_DEVICE));
	assert_int_equal(g.parts[3], GROUPING_LAYER_KIND);
}

static void bad_lists(void **state)
{
	static const char *const bad[] = {
		"",
		",",
		"process,",
		",process",
		"process,,thread",
		"process,process",
		"process,thread,process",
		"proc",
		"processes",
		"Process",
		" process",
		"process thread",
		"process;thread",
		"process,thread,device,context,stream,process",
		"process,thread,device,context,stream,",
		"stack",
		"layers",
		"class,operator,class",
	};
	struct grouping g;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (grouping_parse(bad[i], &g))
			fail_msg("'%s' was taken", bad[i]);
}

/* ---- distinguished places ---- */

static void threads_and_devices_need_their_process(void **state)
{
	static const struct {
		const char *list;
		uint32_t mask;
	} cases[] = {
		{"process", 1u << PLACE_PROCESS},
		{"thread", 1u << PLACE_PROCESS | 1u << PLACE_THREAD},
		{"device", 1u << PLACE_PROCESS | 1u << PLACE_DEVICE},
		{"context", 1u << PLACE_CONTEXT},
		{"stream", 1u << PLACE_STREAM},
		{"class,operator,layer,layer-kind", 0},
		{"stream,context", 1u << PLACE_CONTEXT | 1u << PLACE_STREAM},
		{"stream,context,device,thread,process", (1u << PLACE_PARTS) - 1},
	};
	struct grouping g;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(grouping_parse(cases[i].list, &g));
		assert_int_equal(grouping_mask(&g), cases[i].mask);
	}
	memset(&g, 0, sizeof(g));
	assert_int_equal(grouping_mask(&g), 0);
}

/* Keeps the places that the order needs, from here on. */
static void keep_what_is_needed(struct naming_bench *b)
{
	places_release(&b->places);
	profile_free(b->profile); /* rows have places of before */
	b->profile = profile_new();
	assert_non_null(b->profile);
	b->collected.profile = b->profile;
	assert_int_equal(places_init(&b->places, grouping_mask(&options.by)), 0);
}

static void no_groups_unless_requested(void **state)
{
	struct naming_bench *b = *state;
	struct place place = {{1, 1, 1, 1, 1}};

	name_process(b, 1, "app 1");
	assert_string_equal(group(b, place), "(none)");
	keep_what_is_needed(b);
	assert_same_number(places_add(&b->places, &place), PLACE_NOWHERE);
	assert_string_equal(group(b, place), "(none)");
}

/* Places that differ only in parts not wanted are one group; others are not. */
static void groups_are_kept(void **state)
{
	struct naming_bench *b = *state;
	struct stack_id stack = STACK(b, "main");
	uint32_t count, leaves = 0;
	struct place place = gpu_place(1, 0, 0, 0);
	const struct call_node *nodes;
	struct call_tree *tree;
	struct result *base;
	struct view *view;

	order("device,stream");
	keep_what_is_needed(b);
	profile_add(b->profile, ROW_GPU, stack, places_add(&b->places, &place), 1, 0);
	place = gpu_place(9, 0, 9, 0);
	place.part[PLACE_THREAD] = 9;
	profile_add(b->profile, ROW_GPU, stack, places_add(&b->places, &place), 1, 0);
	place.part[PLACE_STREAM] = 1;
	profile_add(b->profile, ROW_GPU, stack, places_add(&b->places, &place), 1, 0);
	place.part[PLACE_DEVICE] = 1;
	for (uint32_t i = 0; i < 10000; i++) {
		place.part[PLACE_STREAM] = i % 500;
		place.part[PLACE_THREAD] = i; /* distinguishes nothing */
		profile_add(b->profile, ROW_GPU, stack, places_add(&b->places, &place), 1, 0);
	}
	assert_int_equal(b->places.count, 1 + 3 + 500);
	base = bench_result(b);
	view = view_new(base, &options, "/tmp", NULL);
	assert_non_null(view);
	tree = call_tree_new(view_result(view));
	assert_non_null(tree);
	nodes = call_tree_nodes(tree, &count);
	for (uint32_t i = 0; i < count; i++)
		leaves += nodes[i].weight_ns[ROW_GPU] > 0;
	assert_int_equal(leaves, 502);
	assert_weight(tree, ROW_GPU, 2, "GPU 0", "stream 0", "main");
	assert_weight(tree, ROW_GPU, 1, "GPU 0", "stream 1", "main");
	assert_weight(tree, ROW_GPU, 20, "GPU 1", "stream 499", "main");
	call_tree_free(tree);
	view_free(view);
	result_free(base);
}

/* ---- what parts are called ---- */

static void gpu_work_has_all_parts(void **state)
{
	struct naming_bench *b = *state;

	order("device,context,stream");
	assert_string_equal(group(b, gpu_place(1, 3, 2, 1)), "GPU 3;context 2;stream 1");
}

/* Every part at every place. */
static void groups_in_the_requested_order(void **state)
{
	static const char *const words[] = {"process", "thread", "device", "context", "stream"};
	static const char *const frames[] = {"app 4194305", "main 4194306", "GPU 3", "context 2",
					     "stream 1"};
	struct place place = {{7, 4194306, 3, 2, 1}};
	struct naming_bench *b = *state;

	name_process(b, 7, "app 4194305");
	name_thread(b, 7, 4194306, "main 4194306");
	for (int shift = 0; shift < 5; shift++) {
		char parts[128] = "", want[128] = "";

		for (int i = 0; i < 5; i++) {
			int at = (i * 2 + shift) % 5;

			snprintf(parts + strlen(parts), sizeof(parts) - strlen(parts), "%s%s",
				 i ? "," : "", words[at]);
			snprintf(want + strlen(want), sizeof(want) - strlen(want), "%s%s",
				 i ? ";" : "", frames[at]);
		}
		order(parts);
		assert_string_equal(group(b, place), want);
	}
}

static void cpu_samples_have_process_and_thread(void **state)
{
	struct naming_bench *b = *state;
	struct place place = gpu_place(7, 5, 0, 6);

	name_process(b, 7, "[process 4194305]");
	order("device,thread,stream,process,context");
	assert_string_equal(group(b, thread_place(7, 4194306)),
			    "[thread 4194306];[process 4194305]");
	place.part[PLACE_THREAD] = 4194306;
	assert_string_equal(group(b, place),
			    "GPU 5;[thread 4194306];stream 6;[process 4194305];context 0");
	place.part[PLACE_THREAD] = PLACE_UNKNOWN; /* no launch was found */
	assert_string_equal(group(b, place), "GPU 5;stream 6;[process 4194305];context 0");
}

static void a_thread_is_named_by_its_process(void **state)
{
	struct naming_bench *b = *state;

	name_thread(b, 1, 12, "loader 12");
	name_thread(b, 2, 12, "reader 12"); /* the kernel gave the number again */
	order("thread");
	assert_string_equal(group(b, thread_place(1, 12)), "loader 12");
	assert_string_equal(group(b, thread_place(2, 12)), "reader 12");
	assert_string_equal(group(b, thread_place(3, 12)), "[thread 12]");
	assert_string_equal(group(b, thread_place(1, 0)), "[thread 0]");
}

static void unknown_code_has_no_frame(void **state)
{
	struct naming_bench *b = *state;

	order("process,thread,device,context,stream");
	assert_string_equal(group(b, place_unknown()), "(none)");
	assert_string_equal(group(b, thread_place(8, PLACE_UNKNOWN)), "(none)"); /* not noted */
	assert_string_equal(group(b, gpu_place(8, PLACE_UNKNOWN, PLACE_UNKNOWN, 4)), "stream 4");
}

static void a_device_is_its_label(void **state)
{
	struct gpu_event_device mig = {
		.id = 0, .name = "x", .is_mig = 1, .gpu_instance = 3, .compute_instance = 0};
	struct place place = gpu_place(1, 0, 0, 0), other = gpu_place(2, 0, 0, 0);
	struct naming_bench *b = *state;

	order("device,stream");
	assert_string_equal(group(b, place), "GPU 0;stream 0");
	/* a later report gives this place another name */
	assert_int_equal(devices_describe(&b->devices, 1, &mig), 0);
	assert_string_equal(group(b, place), "GPU 0 MIG 3/0;stream 0");
	/* another process's device with this number */
	assert_other_number(places_add(&b->places, &other), places_add(&b->places, &place));
	assert_string_equal(group(b, other), "GPU 0;stream 0");
	/* without devices in the order, devices do not distinguish places */
	order("stream");
	keep_what_is_needed(b);
	assert_same_number(places_add(&b->places, &other), places_add(&b->places, &place));
}

static void samples_have_no_device(void **state)
{
	struct naming_bench *b = *state;

	order("device");
	assert_string_equal(group(b, thread_place(1, 1)), "(none)");
	assert_string_equal(group(b, gpu_place(1, 0, 0, 0)), "GPU 0");
}

static void a_long_name_is_cut(void **state)
{
	struct naming_bench *b = *state;
	static char name[1000];

	memset(name, 'x', sizeof(name) - 1);
	name_process(b, 1, name);
	order("process,stream");
	assert_string_equal(group(b, gpu_place(1, 0, 0, 5)) + GROUPING_TEXT_BYTES - 1, ";stream 5");
}

/* ---- launches ---- */

struct launches {
	struct naming_bench *b;
	struct processes processes;
	struct quota quota;
	struct profile_sink sink;
	struct addons addons; /* none */
	struct attribution a;
};

static void begin_launches(struct launches *l, struct naming_bench *b, const char *parts)
{
	memset(l, 0, sizeof(*l));
	l->b = b;
	order(parts);
	keep_what_is_needed(b);
	l->quota.limit = 1 << 20;
	l->sink = (struct profile_sink){.profile = b->profile, .ledger = &b->ledger};
	attribution_init(&l->a, &(struct attribution_parts){.processes = &l->processes,
							    .stacks = b->stacks,
							    .sink = &l->sink,
							    .places = &b->places,
							    .ledger = &b->ledger,
							    .devices = &b->devices,
							    .quota = &l->quota,
							    .addons = &l->addons});
}

static void run_kernel(struct launches *l, struct origin_id origin)
{
	const struct gpu_operation kernel = {
		.work = GPU_WORK_KERNEL, .name = "k", .duration_ns = 1, .process = 3};

	attribution_add(&l->a, origin, 0, &kernel);
}

/* Returns the number of kernels in the only row for launches of this thread from this stack. */
static uint64_t kernels_of(struct launches *l, struct launch_stack launch, uint32_t tid)
{
	struct gpu_work_origin origin;
	struct stack_id stack;
	uint32_t count;
	const struct profile_row *rows;
	uint64_t found = 0;

	memset(&origin, 0, sizeof(origin));
	origin.launch = launch;
	origin.capture = CAPTURE_NONE;
	origin.work = GPU_WORK_KERNEL;
	origin.name = "k";
	stack = gpu_stack_work(&l->a.gpu_stacks, &origin);
	rows = profile_rows(l->b->profile, &count);
	for (uint32_t i = 0; i < count; i++) {
		const struct place *place = &l->b->places.list[rows[i].place.number];

		if (!same_id(rows[i].stack, stack) || place->part[PLACE_THREAD] != tid ||
		    !rows[i].count)
			continue;
		assert_int_equal(found, 0);
		found = rows[i].count;
	}
	return found;
}

static void launches_carry_their_thread(void **state)
{
	struct naming_bench *b = *state;
	struct stack_id stack = STACK(b, "main");
	struct origin_id one, two;
	struct launches l;

	begin_launches(&l, b, "process,thread");
	one = attribution_origin(&l.a, launched_at(stack), 11);
	two = attribution_origin(&l.a, launched_at(stack), 12);
	assert_other_number(one, two);
	assert_same_number(attribution_origin(&l.a, launched_at(stack), 11), one);
	run_kernel(&l, one);
	run_kernel(&l, one);
	run_kernel(&l, two);
	assert_int_equal(kernels_of(&l, launched_at(stack), 11), 2);
	assert_int_equal(kernels_of(&l, launched_at(stack), 12), 1);
	/* an origin without a launch is unchanged */
	assert_same_number(attribution_origin(&l.a, LAUNCH_UNKNOWN, 11), ORIGIN_UNKNOWN);
	run_kernel(&l, origin_of_mark(LAUNCH_UNKNOWN));
	run_kernel(&l, origin_of_mark(LAUNCH_NONE_NEEDED));
	assert_int_equal(kernels_of(&l, LAUNCH_UNKNOWN, PLACE_UNKNOWN), 1);
	assert_int_equal(kernels_of(&l, LAUNCH_NONE_NEEDED, PLACE_UNKNOWN), 1);
	attribution_release(&l.a);
}

static void launches_are_stacks_where_threads_are_not_wanted(void **state)
{
	struct naming_bench *b = *state;
	struct stack_id stack = STACK(b, "main");
	struct launches l;

	begin_launches(&l, b, "process,stream");
	assert_same_number(attribution_origin(&l.a, launched_at(stack), 11), stack);
	assert_int_equal(attribution_origin(&l.a, LAUNCH_STACK(500), 11).number, 500);
	run_kernel(&l, ORIGIN_ID(stack.number));
	assert_int_equal(kernels_of(&l, launched_at(stack), PLACE_UNKNOWN), 1);
	attribution_release(&l.a);
	/* nor without any requested parts */
	options.by.count = 0;
	begin_launches(&l, b, "stream");
	places_release(&b->places);
	assert_int_equal(places_init(&b->places, 0), 0);
	assert_int_equal(attribution_origin(&l.a, LAUNCH_STACK(17), 2).number, 17);
	attribution_release(&l.a);
}

static void random_launches(void **state)
{
	enum { STACKS = 50, THREADS = 40 };
	struct naming_bench *b = *state;
	struct prng prng = prng_round(0);
	static uint32_t ids[STACKS][THREADS];
	static uint64_t kernels[STACKS][THREADS];
	static char names[STACKS][8];
	struct stack_id stacks[STACKS];
	struct launches l;

	begin_launches(&l, b, "thread");
	memset(ids, 0xff, sizeof(ids));
	memset(kernels, 0, sizeof(kernels));
	for (uint32_t i = 0; i < STACKS; i++) {
		snprintf(names[i], sizeof(names[i]), "%u", i);
		stacks[i] = STACK(b, "main", names[i]);
	}
	for (int i = 0; i < 20000; i++) {
		uint32_t stack = (uint32_t)prng_below(&prng, STACKS);
		uint32_t thread = (uint32_t)prng_below(&prng, THREADS);
		struct origin_id id =
			attribution_origin(&l.a, launched_at(stacks[stack]), 4194306 + thread);

		EXPECT(&prng, ids[stack][thread] == UINT32_MAX || ids[stack][thread] == id.number);
		ids[stack][thread] = id.number;
		kernels[stack][thread]++;
		run_kernel(&l, id);
	}
	assert_int_equal(l.a.origins.count, STACKS * THREADS);
	for (uint32_t stack = 0; stack < STACKS; stack++)
		for (uint32_t thread = 0; thread < THREADS; thread++)
			EXPECT(&prng, kernels_of(&l, launched_at(stacks[stack]),
						 4194306 + thread) == kernels[stack][thread]);
	attribution_release(&l.a);
}

static int begin_without_order(void **state)
{
	options.by.count = 0;
	return bench_begin(state);
}

#define GROUPING_TEST(name) cmocka_unit_test_setup_teardown(name, begin_without_order, bench_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_lists),
		cmocka_unit_test(bad_lists),
		cmocka_unit_test(threads_and_devices_need_their_process),
		GROUPING_TEST(no_groups_unless_requested),
		GROUPING_TEST(groups_are_kept),
		GROUPING_TEST(gpu_work_has_all_parts),
		GROUPING_TEST(groups_in_the_requested_order),
		GROUPING_TEST(cpu_samples_have_process_and_thread),
		GROUPING_TEST(a_thread_is_named_by_its_process),
		GROUPING_TEST(unknown_code_has_no_frame),
		GROUPING_TEST(a_device_is_its_label),
		GROUPING_TEST(samples_have_no_device),
		GROUPING_TEST(a_long_name_is_cut),
		GROUPING_TEST(launches_carry_their_thread),
		GROUPING_TEST(launches_are_stacks_where_threads_are_not_wanted),
		GROUPING_TEST(random_launches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
