/* SPDX-License-Identifier: MIT */
/* Launches of operations, in whatever order the timeline has both. */
#include "made_timeline.h"
#include "profiler/model/launch_finder.h"

static void add(struct made_timeline *m, uint8_t kind, uint32_t process, uint32_t correlation,
		uint64_t start_ns)
{
	made_record(m, (struct timeline_record){.kind = kind,
						.start_ns = start_ns,
						.duration_ns = 1,
						.place = made_place(m, process, 1, NOT, NOT),
						.correlation = correlation});
}

/* Returns the start of the launch of each record as a text: "- 10 -"; "-" without a launch. */
static const char *launches_of(struct made_timeline *m)
{
	static char text[1024];
	const struct timeline_record *record;
	const struct indexed_launch *launch;
	struct launch_finder *finder;
	int more;

	m->made.result.timeline = m->timeline;
	assert_int_equal(timeline_finish(m->timeline), 0);
	finder = launch_finder_new(&m->made.result, NULL, NULL);
	assert_non_null(finder);
	text[0] = '\0';
	while ((more = launch_finder_next(finder, &record, &launch)) == 1) {
		size_t length = strlen(text);

		if (launch)
			snprintf(text + length, sizeof(text) - length, " %" PRIu64,
				 launch->start_ns);
		else
			snprintf(text + length, sizeof(text) - length, " -");
	}
	assert_int_equal(more, 0);
	launch_finder_free(finder);
	return text;
}

static void an_operation_may_come_before_its_launch(void **state)
{
	struct made_timeline m;

	(void)state;
	made_timeline_begin(&m);
	add(&m, TIMELINE_GPU_OPERATION, 1, 5, 30);
	add(&m, TIMELINE_LAUNCH, 1, 5, 10);
	add(&m, TIMELINE_GPU_OPERATION, 1, 5, 31);
	add(&m, TIMELINE_GPU_OPERATION, 2, 5, 32);
	add(&m, TIMELINE_WAIT, 1, 5, 32);
	add(&m, TIMELINE_GPU_OPERATION, 1, 0, 33);
	assert_string_equal(launches_of(&m), " 10 - 10 - - -");
	made_timeline_end(&m);
}

static void a_later_launch_is_another_one(void **state)
{
	struct made_timeline m;

	(void)state;
	made_timeline_begin(&m);
	add(&m, TIMELINE_LAUNCH, 1, 5, 40);
	add(&m, TIMELINE_GPU_OPERATION, 1, 5, 39);
	add(&m, TIMELINE_GPU_OPERATION, 1, 5, 40);
	assert_string_equal(launches_of(&m), " - - 40");
	made_timeline_end(&m);
}

static int count_launch(void *context, const struct timeline_record *launch)
{
	uint64_t *count = context;

	++*count;
	return launch->kind == TIMELINE_LAUNCH && launch->correlation == *count ? 0 : -EINVAL;
}

/* Operations lag behind their launches by so many launches, or precede them. */
static void check_lag(int64_t lag)
{
	enum { COUNT = 3 * LAUNCH_INDEX_ENTRIES };
	struct made_timeline m;
	const struct timeline_record *record;
	const struct indexed_launch *launch;
	struct launch_finder *finder;
	uint64_t launches = 0;
	int more;
	uint64_t found = 0, operations = 0;

	made_timeline_begin(&m);
	for (int64_t i = 1; i <= COUNT; i++) {
		add(&m, TIMELINE_LAUNCH, 1, (uint32_t)i, (uint64_t)i);
		if (i - lag >= 1 && i - lag <= COUNT)
			add(&m, TIMELINE_GPU_OPERATION, 1, (uint32_t)(i - lag), COUNT + 1);
	}
	m.made.result.timeline = m.timeline;
	assert_int_equal(timeline_finish(m.timeline), 0);
	finder = launch_finder_new(&m.made.result, count_launch, &launches);
	while ((more = launch_finder_next(finder, &record, &launch)) == 1) {
		operations += record->kind == TIMELINE_GPU_OPERATION;
		found += launch && launch->start_ns == record->correlation;
	}
	assert_true(operations > COUNT / 2);
	assert_int_equal(more, 0);
	assert_int_equal(launches, COUNT);
	assert_int_equal(found, operations);
	launch_finder_free(finder);
	made_timeline_end(&m);
}

static void launches_are_far_away(void **state)
{
	(void)state;
	if (getenv("UNDER_VALGRIND"))
		return;
	check_lag(LAUNCH_INDEX_ENTRIES - LAUNCH_FINDER_AHEAD - 2);
	check_lag(2 - (int64_t)LAUNCH_FINDER_AHEAD / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_operation_may_come_before_its_launch),
		cmocka_unit_test(a_later_launch_is_another_one),
		cmocka_unit_test(launches_are_far_away),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
