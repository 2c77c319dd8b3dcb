/* SPDX-License-Identifier: MIT */
/* Options that name a part of a run. */
#include "made_result.h"
#include "profiler/shape/slice.h"

static void assert_time(const char *text, uint64_t from_ns, uint64_t to_ns)
{
	struct slice slice = {.has_time = false};

	if (!slice_parse_time(text, &slice) || slice.from_ns != from_ns || slice.to_ns != to_ns)
		fail_msg("%s: %" PRIu64 " to %" PRIu64, text, slice.from_ns, slice.to_ns);
	assert_true(slice.has_time);
}

static void times_are_in_seconds_or_with_a_unit(void **state)
{
	(void)state;
	assert_time("1..2", 1000000000, 2000000000);
	assert_time("1.5..2.25", 1500000000, 2250000000);
	assert_time(".5..1.", 500000000, 1000000000);
	assert_time("..10s", 0, 10000000000);
	assert_time("500ms..", 500000000, UINT64_MAX);
	assert_time("20us..30us", 20000, 30000);
	assert_time("7ns..1m", 7, 60000000000);
	assert_time("0..99999999999", 0, UINT64_MAX);
	assert_time("0.1..0.3", 100000000, 300000000);
}

static void what_is_no_time_is_refused(void **state)
{
	static const char *const wrong[] = {"",       "..",       "1",     "1.2",     "2..1",
					    "1..1",   "-1..2",    "a..b",  "1 ..2",   "1..2x",
					    "1ss..2", "0x1..2",   "1e3..", "1..2..3", "nan..",
					    "inf..",  "1.2.3..4", "....1"};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct slice slice = {.has_time = false};

		if (slice_parse_time(wrong[i], &slice))
			fail_msg("'%s' is taken for %" PRIu64 "..%" PRIu64, wrong[i], slice.from_ns,
				 slice.to_ns);
	}
}

static void assert_steps(const char *text, uint32_t first, uint32_t end)
{
	struct slice slice = {.has_time = false};

	if (!slice_parse_steps(text, &slice.steps) || slice.steps.first != first ||
	    slice.steps.end != end)
		fail_msg("%s: %" PRIu32 " to %" PRIu32, text, slice.steps.first, slice.steps.end);
	assert_true(slice_has_steps(&slice) && slice_is_part(&slice));
	assert_int_equal(slice_needs(&slice), NEEDS_TIMELINE);
}

static void steps_are_numbers(void **state)
{
	static const char *const wrong[] = {"",
					    "..",
					    "-1",
					    "1..1",
					    "2..1",
					    "a",
					    "1..b",
					    "1.2",
					    " 1",
					    "1 ",
					    "1...2",
					    "1..2..3",
					    "+1",
					    "0x1",
					    "1e3",
					    "..0",
					    "4294967295",
					    "1..4294967295",
					    "99999999999999999999..",
					    "18446744073709551617"};

	(void)state;
	assert_steps("5", 5, 6);
	assert_steps("0", 0, 1);
	assert_steps("0..10", 0, 10);
	assert_steps("10..", 10, UINT32_MAX);
	assert_steps("..7", 0, 7);
	assert_steps("0..", 0, UINT32_MAX);
	assert_steps("4294967294", UINT32_MAX - 1, UINT32_MAX);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct slice slice = {.has_time = false};

		if (slice_parse_steps(wrong[i], &slice.steps))
			fail_msg("'%s' is taken for steps", wrong[i]);
	}
}

static void moments_are_found_in_ranges(void **state)
{
	struct slice_range ranges[] = {{10, 20}, {20, 30}, {40, 41}};
	struct slice_steps steps = {.ranges = ranges, .range_count = 3};

	(void)state;
	for (uint64_t ns = 0; ns < 50; ns++)
		assert_int_equal(slice_has_moment(&steps, ns), (ns >= 10 && ns < 30) || ns == 40);
	assert_int_equal(slice_range_after(&steps, 0), 0);
	assert_int_equal(slice_range_after(&steps, 20), 1);
	assert_int_equal(slice_range_after(&steps, 30), 2);
	assert_int_equal(slice_range_after(&steps, 41), 3);
	assert_false(slice_has_moment(&steps, UINT64_MAX));
	steps.range_count = 0;
	assert_false(slice_has_moment(&steps, 10));
}

static void parse(struct slice_match *match, const char *text)
{
	char error[SLICE_ERROR_BYTES];

	assert_true(slice_parse_match(text, true, match, error));
}

static void places_match_by_number_or_name(void **state)
{
	struct made_result m;
	struct place place = {{1, 4712, 0, 1, 7}};
	struct slice slice = {.has_time = false};
	uint32_t at;

	(void)state;
	made_begin(&m);
	place_names_add_process(
		&m.place_names,
		&(struct process_info){.id = 1, .pid = 4711, .name = "train.py 4711"});
	place_names_add_thread(&m.place_names, &(struct thread_info){1, 4712, "loader 4712"});
	{
		const struct gpu_event_device h200 = {
			.id = 0, .name = "NVIDIA H200", .uuid = {0x6b, 0x1a, 0xd9, 0xc5}};

		assert_int_equal(devices_describe(&m.devices, 1, &h200), 0);
	}
	at = places_add(&m.places, &place).number;
	m.result.places = m.places.list;
	m.result.place_count = m.places.count;
	assert_false(slice_is_part(&slice));
	assert_true(slice_has_place(&slice, &m.result, at));
	assert_true(slice_has_place(&slice, &m.result, PLACE_NOWHERE.number));
	static const struct {
		enum place_part part;
		const char *text;
		bool is_within;
	} cases[] = {
		{PLACE_PROCESS, "4711", true},
		{PLACE_PROCESS, "1", false},
		{PLACE_PROCESS, "train", true},
		{PLACE_PROCESS, "^rain", false},
		{PLACE_PROCESS, "471[0-9]", true},
		{PLACE_THREAD, "4712", true},
		{PLACE_THREAD, "^loader", true},
		{PLACE_THREAD, "4711", false},
		{PLACE_DEVICE, "0", true},
		{PLACE_DEVICE, "1", false},
		{PLACE_DEVICE, "GPU 0", true},
		{PLACE_STREAM, "7", true},
		{PLACE_DEVICE, "H200", true},
		{PLACE_DEVICE, "A100", false},
		{PLACE_DEVICE, "GPU-6b1ad9c5-0000", true},
		{PLACE_DEVICE, "^GPU-7", false},
		{PLACE_STREAM, "77", false},
		{PLACE_STREAM, "99999999999999999999", false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		parse(&slice.parts[cases[i].part], cases[i].text);
		assert_true(slice_is_part(&slice));
		if (slice_has_place(&slice, &m.result, at) != cases[i].is_within)
			fail_msg("part %d, %s", cases[i].part, cases[i].text);
		assert_false(slice_has_place(&slice, &m.result, PLACE_NOWHERE.number));
		slice_release(&slice);
		assert_false(slice_is_part(&slice));
	}
	/* all must hold */
	parse(&slice.parts[PLACE_STREAM], "7");
	parse(&slice.parts[PLACE_DEVICE], "1");
	assert_false(slice_has_place(&slice, &m.result, at));
	slice_release(&slice);
	made_end(&m);
}

static void kernels_match_without_their_prefix(void **state)
{
	struct slice slice = {.has_time = false};
	struct frame_info kernel = {.class = CLASS_GPU_KERNEL,
				    .name = "[GPU_Kernel]softmax<float>"};
	struct frame_info copy = {.class = CLASS_GPU_WORK, .name = "[GPU_Memcpy HtoD]"};

	(void)state;
	assert_true(slice_has_work(&slice, &copy));
	parse(&slice.kernel, "^softmax");
	assert_true(slice_has_work(&slice, &kernel));
	assert_false(slice_has_work(&slice, &copy));
	slice_release(&slice);
	parse(&slice.kernel, "Kernel|Memcpy");
	assert_false(slice_has_work(&slice, &kernel));
	assert_false(slice_has_work(&slice, &copy));
	slice_release(&slice);
}

static void bad_patterns_are_explained(void **state)
{
	struct slice_match match;
	char error[SLICE_ERROR_BYTES] = "";

	(void)state;
	assert_false(slice_parse_match("(", true, &match, error));
	assert_true(error[0]);
	assert_false(slice_parse_match("", true, &match, error));
	assert_true(slice_parse_match("7", false, &match, error));
	assert_false(match.is_number);
	regfree(&match.pattern);
}

static void the_text_is_that_of_the_options(void **state)
{
	struct slice slice = {.kinds = ~(1u << ROW_CPU)};
	char error[SLICE_ERROR_BYTES], *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	assert_true(slice_parse_time("1..2", &slice));
	parse(&slice.parts[PLACE_STREAM], "7");
	assert_true(slice_parse_match("a b", false, &slice.kernel, error));
	slice_print(&slice, out);
	fclose(out);
	assert_string_equal(text, " -gpu-only --time 1..2 --stream 7 --kernel a b");
	free(text);
	slice_release(&slice);
	slice = (struct slice){.steps.is_steady = true};
	assert_true(slice_parse_match("train", false, &slice.steps.name, error));
	assert_true(slice_parse_steps("3..5", &slice.steps));
	out = open_memstream(&text, &size);
	assert_non_null(out);
	slice_print(&slice, out);
	fclose(out);
	assert_string_equal(text, " --steps train --steady --step 3..5");
	free(text);
	slice_release(&slice);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_in_seconds_or_with_a_unit),
		cmocka_unit_test(what_is_no_time_is_refused),
		cmocka_unit_test(steps_are_numbers),
		cmocka_unit_test(moments_are_found_in_ranges),
		cmocka_unit_test(places_match_by_number_or_name),
		cmocka_unit_test(kernels_match_without_their_prefix),
		cmocka_unit_test(bad_patterns_are_explained),
		cmocka_unit_test(the_text_is_that_of_the_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
