/* SPDX-License-Identifier: MIT */
/* Views of steps: GPU work belongs to the step that launched it, and steps add up to the run. */
#include "random_result.h"
#include "profiler/shape/view.h"

#define RUN_END_NS (RANDOM_START_NS + RANDOM_RUN_NS)
#define RECORDS_MAX 400u
#define RANGES_MAX 12u

struct sums {
	uint64_t count, ns, bytes;
};

/* A run with launches and their operations, and what else threads do. */
struct steps_run {
	struct made_result made;
	struct ledger ledger;
	struct timeline *timeline;
	struct timeline_record records[RECORDS_MAX];
	uint64_t launched_ns[RECORDS_MAX]; /* of operations */
	uint32_t count;
	uint32_t call, kernel, sample, wait; /* stacks */
};

static uint32_t push(struct made_result *m, uint32_t outer, enum frame_class class,
		     const char *name)
{
	uint32_t stack = made_push(m, outer, name);

	m->frames[m->result.frame_count - 1].class = class;
	return stack;
}

static void begin(struct steps_run *r)
{
	struct made_result *m = &r->made;

	memset(r, 0, sizeof(*r));
	made_begin(m);
	m->frames[0].name = m->frames[0].short_name = "";
	r->sample = made_push(m, RESULT_ROOT, "main");
	r->call = push(m, r->sample, CLASS_API, "cudaLaunchKernel");
	r->kernel = push(m, r->call, CLASS_GPU_KERNEL, "[GPU_Kernel]k");
	r->wait = push(m, r->call, CLASS_WAIT, PSEUDO_WAITING);
	r->timeline = timeline_new(folder, NULL);
	assert_non_null(r->timeline);
}

/* Adds a record, and what it is in the rows of the whole run. */
static void add(struct steps_run *r, struct timeline_record record, uint64_t launched_ns)
{
	static const enum row_kind kinds[TIMELINE_KINDS] = {[TIMELINE_CPU_SAMPLE] = ROW_CPU,
							    [TIMELINE_GPU_OPERATION] = ROW_GPU,
							    [TIMELINE_WAIT] = ROW_WAIT,
							    [TIMELINE_CALL] = ROW_CALL};
	struct place place = place_unknown();
	struct row row = {.kind = kinds[record.kind],
			  .stack = record.kind == TIMELINE_WAIT ? r->wait : record.stack.number,
			  .count = 1,
			  .ns = record.duration_ns,
			  .bytes = record.bytes};

	assert_true(r->count < RECORDS_MAX);
	place.part[PLACE_PROCESS] = record.work;
	record.place = places_add(&r->made.places, &place);
	record.work = 0;
	if (record.kind == TIMELINE_WAIT) {
		row.ns -= record.bytes;
		row.bytes = 0;
	}
	if (record.kind != TIMELINE_LAUNCH && record.kind != TIMELINE_OFF_CPU)
		made_add_at(&r->made, &row, place);
	r->launched_ns[r->count] = launched_ns;
	r->records[r->count++] = record;
	assert_int_equal(timeline_add(r->timeline, &record), 0);
}

/* Adds a launch and its operations, before or after it in the timeline; some have no launch. */
static void add_work(struct prng *p, struct steps_run *r, uint32_t correlation)
{
	uint64_t start = RANDOM_START_NS + prng_below(p, RANDOM_RUN_NS);
	uint32_t process = (uint32_t)prng_below(p, 2);
	bool is_first = prng_chance(p, 50), is_known = prng_chance(p, 80);
	struct timeline_record launch = {.kind = TIMELINE_LAUNCH,
					 .start_ns = start,
					 .duration_ns = prng_bits(p, 14),
					 .stack = {r->call},
					 .correlation = correlation,
					 .work = process};

	if (is_first && is_known)
		add(r, launch, 0);
	for (uint64_t i = prng_below(p, 4); i > 0; i--) {
		struct timeline_record o = {.kind = TIMELINE_GPU_OPERATION,
					    .start_ns = start + prng_bits(p, 19),
					    .duration_ns = prng_bits(p, 17),
					    .bytes = prng_bits(p, 20),
					    .stack = {r->kernel},
					    .correlation = correlation,
					    .work = process};

		add(r, o, is_known ? start : o.start_ns);
	}
	if (!is_first && is_known)
		add(r, launch, 0);
}

static void add_activity(struct prng *p, struct steps_run *r)
{
	static const uint8_t kinds[] = {TIMELINE_CPU_SAMPLE, TIMELINE_WAIT, TIMELINE_CALL};
	struct timeline_record record = {.kind = kinds[prng_below(p, 3)],
					 .start_ns = RANDOM_START_NS + prng_below(p, RANDOM_RUN_NS),
					 .duration_ns = prng_chance(p, 10) ? 0 : prng_bits(p, 18),
					 .stack = {r->call}};

	if (record.kind == TIMELINE_WAIT)
		record.bytes = prng_below(p, record.duration_ns + 1);
	if (record.kind == TIMELINE_CPU_SAMPLE)
		record.stack.number = r->sample;
	add(r, record, 0);
}

static void make_random(struct prng *p, struct steps_run *r)
{
	begin(r);
	for (uint32_t i = 1; i < 60; i++) {
		add_work(p, r, i);
		add_activity(p, r);
	}
}

static const struct result *finish(struct steps_run *r)
{
	struct made_result *m = &r->made;

	assert_int_equal(timeline_finish(r->timeline), 0);
	m->result.places = m->places.list;
	m->result.place_count = m->places.count;
	m->result.timeline = r->timeline;
	m->result.record_stack_count = m->result.stack_count;
	m->result.totals = (struct totals){.ledger = &r->ledger,
					   .command = "app",
					   .start_ns = RANDOM_START_NS,
					   .elapsed_ns = RANDOM_RUN_NS,
					   .sample_ns = 20000000};
	return &m->result;
}

static void end(struct steps_run *r)
{
	timeline_free(r->timeline);
	made_end(&r->made);
}

static void sum_rows(const struct result *r, struct sums sums[ROW_KINDS])
{
	memset(sums, 0, ROW_KINDS * sizeof(*sums));
	for (uint32_t i = 0; i < r->row_count; i++) {
		struct sums *sum = &sums[r->rows[i].kind];

		sum->count += r->rows[i].count;
		sum->ns += r->rows[i].ns;
		sum->bytes += r->rows[i].bytes;
	}
}

/* Adds the rows of a part to the sums. */
static void add_part(const struct result *result, const struct view_options *options,
		     struct sums sums[ROW_KINDS])
{
	struct view *view = view_new(result, options, folder, NULL);
	struct sums part[ROW_KINDS];

	assert_non_null(view);
	sum_rows(view_result(view), part);
	for (int kind = 0; kind < ROW_KINDS; kind++) {
		sums[kind].count += part[kind].count;
		sums[kind].ns += part[kind].ns;
		sums[kind].bytes += part[kind].bytes;
	}
	view_free(view);
}

/* Cuts all time into ranges that adjoin. Returns their number. */
static uint32_t cut_time(struct prng *p, struct slice_range ranges[RANGES_MAX])
{
	uint64_t at = 0, next = RANDOM_START_NS;
	uint32_t count = 0;

	for (; count < RANGES_MAX - 1 && next < RUN_END_NS; count++) {
		ranges[count] = (struct slice_range){at, next};
		at = next;
		next += 1 + prng_below(p, RANDOM_RUN_NS / 4);
	}
	ranges[count++] = (struct slice_range){at, UINT64_MAX};
	return count;
}

static void steps_add_up_to_the_run(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(40); round++) {
		struct prng p = prng_round(round);
		struct steps_run r;
		struct slice_range ranges[RANGES_MAX];
		struct sums whole[ROW_KINDS], parts[ROW_KINDS] = {{0, 0, 0}};
		const struct result *result;
		uint32_t count = cut_time(&p, ranges);

		make_random(&p, &r);
		result = finish(&r);
		sum_rows(result, whole);
		for (uint32_t i = 0; i < count;) { /* one range, or several that adjoin */
			uint32_t more = 1 + (uint32_t)prng_below(&p, count - i);
			struct view_options options = {
				.slice.steps = {.ranges = &ranges[i], .range_count = more}};

			add_part(result, &options, parts);
			i += more;
		}
		EXPECT(&p, memcmp(whole, parts, sizeof(whole)) == 0);
		end(&r);
	}
}

/* Two parts of every second range, with gaps, add up, too; and a view of a view has the same time.
 */
static void steps_with_gaps_add_up(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(40); round++) {
		struct prng p = prng_round(round);
		struct steps_run r;
		struct slice_range ranges[RANGES_MAX], list[2][RANGES_MAX];
		uint32_t counts[2] = {0, 0}, count = cut_time(&p, ranges);
		struct sums whole[ROW_KINDS], parts[ROW_KINDS] = {{0, 0, 0}};
		const struct result *result;

		for (uint32_t i = 0; i < count; i++)
			list[i % 2][counts[i % 2]++] = ranges[i];
		make_random(&p, &r);
		result = finish(&r);
		sum_rows(result, whole);
		for (int side = 0; side < 2; side++) {
			struct view_options options = {
				.slice.steps = {.ranges = list[side], .range_count = counts[side]}};
			struct sums once[ROW_KINDS] = {{0, 0, 0}}, twice[ROW_KINDS] = {{0, 0, 0}};
			struct view *view = view_new(result, &options, folder, NULL);

			assert_non_null(view);
			add_part(result, &options, once);
			for (uint32_t i = 0; i < counts[side]; i++) {
				struct view_options one = {.slice.steps = {.ranges = &list[side][i],
									   .range_count = 1}};

				add_part(view_result(view), &one, twice);
			}
			for (int kind = 0; kind < ROW_KINDS; kind++) {
				EXPECT(&p, once[kind].ns == twice[kind].ns);
				EXPECT(&p, once[kind].bytes == twice[kind].bytes);
				/* a piece of a record begins anew in the second view */
				EXPECT(&p, once[kind].count <= twice[kind].count);
			}
			EXPECT(&p, once[ROW_GPU].count == twice[ROW_GPU].count);
			view_free(view);
			add_part(result, &options, parts);
		}
		EXPECT(&p, memcmp(whole, parts, sizeof(whole)) == 0);
		end(&r);
	}
}

/* Returns the part of a record in a range, in ns, as the manual says. */
static uint64_t want_ns(const struct steps_run *r, uint32_t i, struct slice_range range)
{
	const struct timeline_record *record = &r->records[i];
	uint64_t from = record->start_ns, to = from + record->duration_ns;

	if (record->kind == TIMELINE_GPU_OPERATION)
		return r->launched_ns[i] >= range.from_ns && r->launched_ns[i] < range.to_ns
			       ? record->duration_ns
			       : 0;
	from = from < range.from_ns ? range.from_ns : from;
	to = to > range.to_ns ? range.to_ns : to;
	if (to <= from)
		return 0;
	if (record->kind == TIMELINE_WAIT)
		return timeline_off_cpu_until(record, to - record->start_ns) -
		       timeline_off_cpu_until(record, from - record->start_ns);
	return to - from;
}

static void work_is_of_the_step_that_launched_it(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(40); round++) {
		static const enum row_kind kinds[] = {ROW_CPU, ROW_KINDS, ROW_GPU, ROW_WAIT,
						      ROW_CALL};
		struct prng p = prng_round(round);
		uint64_t from = RANDOM_START_NS + prng_below(&p, RANDOM_RUN_NS);
		struct slice_range range = {from, from + 1 + prng_below(&p, RANDOM_RUN_NS / 2)};
		struct view_options options = {
			.slice.steps = {.ranges = &range, .range_count = 1, .shown = "--step 7"}};
		uint64_t want[ROW_KINDS + 1] = {0};
		struct sums sums[ROW_KINDS];
		struct steps_run r;
		struct view *view;

		make_random(&p, &r);
		view = view_new(finish(&r), &options, folder, NULL);
		assert_non_null(view);
		sum_rows(view_result(view), sums);
		for (uint32_t i = 0; i < r.count; i++)
			want[kinds[r.records[i].kind]] += want_ns(&r, i, range);
		for (int kind = 0; kind < ROW_KINDS; kind++)
			EXPECT(&p, sums[kind].ns == want[kind]);
		EXPECT(&p, view_result(view)->shown_from_ns == range.from_ns);
		EXPECT(&p, view_result(view)->shown_to_ns == range.to_ns);
		EXPECT(&p, view_result(view)->is_part);
		EXPECT(&p, strcmp(view_result(view)->totals.shown, "--step 7") == 0);
		view_free(view);
		end(&r);
	}
}

/* Launches are in a view if their operations are, and neither is cut. */
static void launches_stay_with_their_work(void **state)
{
	struct steps_run r;
	struct slice_range range = {RANDOM_START_NS + 100, RANDOM_START_NS + 200};
	struct view_options options = {.slice.steps = {.ranges = &range, .range_count = 1}};
	struct timeline_record record;
	struct view *view;
	const struct result *shown;

	(void)state;
	begin(&r);
	for (uint32_t i = 0; i < 3; i++) { /* launched at 50, 150 and 250 */
		add(&r,
		    (struct timeline_record){.kind = TIMELINE_LAUNCH,
					     .start_ns = RANDOM_START_NS + 50 + 100 * i,
					     .duration_ns = 100,
					     .stack = {r.call},
					     .correlation = i + 1},
		    0);
		add(&r,
		    (struct timeline_record){.kind = TIMELINE_GPU_OPERATION,
					     .start_ns = RANDOM_START_NS + 120 + 100 * i,
					     .duration_ns = 100,
					     .stack = {r.kernel},
					     .correlation = i + 1},
		    RANDOM_START_NS + 50 + 100 * i);
	}
	view = view_new(finish(&r), &options, folder, NULL);
	assert_non_null(view);
	shown = view_result(view);
	assert_int_equal(timeline_stats(shown->timeline).records, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(timeline_read(shown->timeline, i, 1, &record), 0);
		assert_int_equal(record.correlation, 2);
		assert_int_equal(record.duration_ns, 100);
		assert_false(result_record_is_cut(shown, &record));
	}
	assert_int_equal(record.start_ns, RANDOM_START_NS + 220); /* behind the end of the step */
	view_free(view);
	end(&r);
}

static void time_and_steps_are_both_fulfilled(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(20); round++) {
		struct prng p = prng_round(round);
		struct slice_range ranges[RANGES_MAX];
		uint32_t count = cut_time(&p, ranges);
		uint64_t middle = 1 + prng_below(&p, RANDOM_RUN_NS);
		struct sums whole[ROW_KINDS], parts[ROW_KINDS] = {{0, 0, 0}};
		struct steps_run r;
		const struct result *result;

		make_random(&p, &r);
		result = finish(&r);
		sum_rows(result, whole);
		for (uint32_t i = 0; i < count; i++) {
			struct view_options options = {
				.slice = {.has_time = true,
					  .time_text = "x",
					  .to_ns = middle,
					  .steps = {.ranges = &ranges[i], .range_count = 1}}};

			add_part(result, &options, parts);
			options.slice.from_ns = middle;
			options.slice.to_ns = UINT64_MAX;
			add_part(result, &options, parts);
		}
		EXPECT(&p, memcmp(whole, parts, sizeof(whole)) == 0);
		end(&r);
	}
}

/* Returns total / count, rounded, half up. */
static uint64_t mean_of(uint64_t total, uint64_t count)
{
	return (2 * total + count) / (2 * count);
}

static void a_mean_step_is_the_sum_by_the_number(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(40); round++) {
		struct prng p = prng_round(round);
		uint32_t steps = 1 + (uint32_t)prng_below(&p, 50);
		struct slice_range range = {RANDOM_START_NS, RUN_END_NS};
		struct view_options options = {
			.slice.steps = {.ranges = &range, .range_count = 1, .shown = "--steady"}};
		struct sums all[ROW_KINDS], mean[ROW_KINDS];
		struct steps_run r;
		struct view *sum, *view;

		make_random(&p, &r);
		sum = view_new(finish(&r), &options, folder, NULL);
		options.step_count = steps;
		view = view_new(&r.made.result, &options, folder, NULL);
		assert_true(sum && view);
		sum_rows(view_result(sum), all);
		sum_rows(view_result(view), mean);
		for (int kind = 0; kind < ROW_KINDS; kind++) {
			EXPECT(&p, mean[kind].ns == mean_of(all[kind].ns, steps));
			EXPECT(&p, mean[kind].count == mean_of(all[kind].count, steps));
			EXPECT(&p, mean[kind].bytes == mean_of(all[kind].bytes, steps));
		}
		EXPECT(&p, view_result(sum)->row_count == view_result(view)->row_count);
		for (uint32_t i = 0; i < view_result(sum)->row_count; i++) {
			uint64_t ns = view_result(sum)->rows[i].ns / steps;
			uint64_t got = view_result(view)->rows[i].ns;

			EXPECT(&p, got == ns || got == ns + 1);
		}
		EXPECT(&p, !view_result(view)->timeline);
		EXPECT(&p, view_result(view)->shown_to_ns - view_result(view)->shown_from_ns ==
				   RANDOM_RUN_NS / steps);
		EXPECT(&p, strcmp(view_result(view)->totals.shown, "--steady --per-step") == 0);
		view_free(sum);
		view_free(view);
		end(&r);
	}
}

static void steps_need_a_timeline(void **state)
{
	struct steps_run r;
	struct slice_range range = {0, 1};
	struct view_options options = {.slice.steps = {.ranges = &range, .range_count = 1}};

	(void)state;
	begin(&r);
	finish(&r);
	r.made.result.timeline = NULL;
	assert_null(view_new(&r.made.result, &options, folder, NULL));
	assert_int_equal(errno, ENODATA);
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_add_up_to_the_run),
		cmocka_unit_test(steps_with_gaps_add_up),
		cmocka_unit_test(work_is_of_the_step_that_launched_it),
		cmocka_unit_test(launches_stay_with_their_work),
		cmocka_unit_test(time_and_steps_are_both_fulfilled),
		cmocka_unit_test(a_mean_step_is_the_sum_by_the_number),
		cmocka_unit_test(steps_need_a_timeline),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
