/* SPDX-License-Identifier: MIT */
/* The union of operations' times, compared with one that marks every nanosecond. */
#include "made_result.h"
#include "profiler/tables/busy.h"

#define RUN_NS 2000u
#define START_NS 500u
#define DEVICES 4u

/* Devices 0 and 2 are one GPU in two processes. Devices 1 and 3 have no UUID, and one number. */
static struct device devices[DEVICES] = {
	{.process = 0, .id = 0, .is_described = true, .uuid = {7}},
	{.process = 0, .id = 1},
	{.process = 1, .id = 5, .is_described = true, .uuid = {7}},
	{.process = 1, .id = 1},
};

static void begin(struct made_result *m)
{
	made_begin(m);
	m->result.devices = devices;
	m->result.device_count = DEVICES;
	m->result.totals.start_ns = START_NS;
	m->result.totals.elapsed_ns = RUN_NS;
	for (uint32_t i = 0; i <= DEVICES; i++) {
		struct place place = place_unknown();

		place.part[PLACE_PROCESS] = i < DEVICES ? devices[i].process : 9;
		place.part[PLACE_DEVICE] = i < DEVICES ? devices[i].id : 9;
		assert_int_equal(places_add(&m->places, &place).number, i + 1);
	}
	m->result.places = m->places.list;
	m->result.place_count = m->places.count;
}

static struct timeline *new_timeline(const struct timeline_record *records, uint32_t count)
{
	struct timeline *t = timeline_new("/tmp", NULL);

	assert_non_null(t);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(timeline_add(t, &records[i]), 0);
	assert_int_equal(timeline_finish(t), 0);
	return t;
}

/* Expected busy times: by device, and in the last row for all devices together. */
static bool worked[DEVICES + 1][RUN_NS];

static void mark(const struct timeline_record *r)
{
	for (uint64_t at = r->start_ns; at < r->start_ns + r->duration_ns; at++) {
		if (at < START_NS || at >= START_NS + RUN_NS)
			continue;
		worked[DEVICES][at - START_NS] = true;
		if (r->place.number >= 1 && r->place.number <= DEVICES)
			worked[(r->place.number - 1) % 2 ? 1 : 0][at - START_NS] = true;
	}
}

static uint64_t count_marked(const bool *marked)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < RUN_NS; i++)
		count += marked[i];
	return count;
}

/* Checks the longest runs of unmarked nanoseconds, by repeated search. */
static void check_gaps(struct prng *p, const struct made_result *m, const struct busy *b)
{
	static bool taken[RUN_NS];
	struct busy_span gaps[5];
	uint32_t count = busy_gaps(b, &m->result, gaps, 5);

	memcpy(taken, worked[DEVICES], sizeof(taken));
	for (uint32_t i = 0; i <= count && i < 5; i++) {
		uint32_t longest = 0, length = 0, start;

		for (uint32_t at = 0; at < RUN_NS; at++) {
			length = taken[at] ? 0 : length + 1;
			if (length > longest)
				longest = length;
		}
		if (i == count) {
			EXPECT(p, longest == 0);
			return;
		}
		start = (uint32_t)(gaps[i].start - START_NS);
		EXPECT(p, gaps[i].end - gaps[i].start == longest);
		EXPECT(p, start == 0 || taken[start - 1]);
		for (uint32_t at = start; at < start + longest; at++) {
			EXPECT(p, !taken[at]);
			taken[at] = true;
		}
	}
}

static void a_random_timeline(uint64_t round)
{
	struct prng p = prng_round(round);
	struct timeline_record records[300];
	uint32_t count = (uint32_t)prng_below(&p, 300);
	struct made_result m;
	struct timeline *t;
	struct busy *b;
	uint64_t devices_that_worked = 0;

	begin(&m);
	if (prng_chance(&p, 50)) { /* a part of a longer run */
		m.result.totals.start_ns = prng_below(&p, START_NS);
		m.result.totals.elapsed_ns = START_NS + RUN_NS + prng_below(&p, 500);
		m.result.shown_from_ns = START_NS;
		m.result.shown_to_ns = START_NS + RUN_NS;
	}
	memset(worked, 0, sizeof(worked));
	for (uint32_t i = 0; i < count; i++) {
		bool is_work = prng_chance(&p, 90);

		/* some before the run, some after it, some at its borders; instants, too */
		records[i] = (struct timeline_record){
			.kind = is_work ? TIMELINE_GPU_OPERATION : TIMELINE_LAUNCH,
			.start_ns = prng_below(&p, START_NS + RUN_NS + 300),
			.duration_ns = prng_below(&p, prng_chance(&p, 10) ? 400 : 20),
			.place = {(uint32_t)prng_below(&p, DEVICES + 2)},
		};
		if (is_work)
			mark(&records[i]);
	}
	t = new_timeline(records, count);
	m.result.timeline = t;
	b = busy_new(&m.result, 1000);
	assert_non_null(b);
	EXPECT(&p, b->ns == count_marked(worked[DEVICES]));
	for (uint32_t i = 0; i < RUN_NS; i++)
		EXPECT(&p, busy_at(b, START_NS + i) == worked[DEVICES][i]);
	EXPECT(&p, !busy_at(b, START_NS + RUN_NS));
	for (uint32_t i = 0; i < 2; i++)
		devices_that_worked += count_marked(worked[i]) > 0;
	EXPECT(&p, b->device_count == devices_that_worked);
	for (uint32_t i = 0; i < b->device_count; i++)
		EXPECT(&p, b->devices[i].ns == count_marked(worked[b->devices[i].device->id == 1]));
	for (uint64_t i = 1; i < b->span_count; i++)
		EXPECT(&p, b->spans[i - 1].end < b->spans[i].start);
	check_gaps(&p, &m, b);
	busy_free(b);
	timeline_free(t);
	made_end(&m);
}

static void random_timelines(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(200); round++)
		a_random_timeline(round);
}

static void without_a_timeline_nothing_is_known(void **state)
{
	struct made_result m;

	(void)state;
	begin(&m);
	assert_null(busy_new(&m.result, 1000));
	made_end(&m);
}

static void times_may_overflow(void **state)
{
	const struct timeline_record record = {.kind = TIMELINE_GPU_OPERATION,
					       .start_ns = START_NS + 10,
					       .duration_ns = UINT64_MAX - 5,
					       .place = {1}};
	struct made_result m;
	struct timeline *t = new_timeline(&record, 1);
	struct busy *b;

	(void)state;
	begin(&m);
	m.result.timeline = t;
	b = busy_new(&m.result, 1000);
	assert_non_null(b);
	assert_int_equal(b->ns, RUN_NS - 10);
	busy_free(b);
	timeline_free(t);
	made_end(&m);
}

/* Any number that touch, but not any number that do not. */
static void spans_are_bounded(void **state)
{
	static struct timeline_record records[4000];
	struct made_result m;
	struct timeline *t;
	struct busy *b;

	(void)state;
	for (uint32_t apart = 0; apart < 2; apart++) {
		begin(&m);
		m.result.totals.elapsed_ns = 20000;
		for (uint32_t i = 0; i < 4000; i++)
			records[i] = (struct timeline_record){.kind = TIMELINE_GPU_OPERATION,
							      .start_ns = START_NS + 2 * i,
							      .duration_ns = 2 - apart,
							      .place = {1}};
		t = new_timeline(records, 4000);
		m.result.timeline = t;
		b = busy_new(&m.result, 1000);
		assert_true(apart ? b == NULL : b && b->ns == 8000 && b->span_count == 1);
		busy_free(b);
		timeline_free(t);
		made_end(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_timelines),
		cmocka_unit_test(without_a_timeline_nothing_is_known),
		cmocka_unit_test(times_may_overflow),
		cmocka_unit_test(spans_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
