/* SPDX-License-Identifier: MIT */
/*
 * Rows of time, beside a model. The module is built into this test, with a bound that the tests
 * choose, and memory that can run out.
 */
#include "unit.h"
#include "unsure.h"
#include "profiler/model/profile.h"

static const uint32_t real_bound = PROFILE_ROWS_MAX;
static uint32_t bound = PROFILE_ROWS_MAX;
#undef PROFILE_ROWS_MAX
#define PROFILE_ROWS_MAX bound

#define record_set_add unsure_record
#include "profiler/model/profile.c"

static int free_bounds(void **state)
{
	(void)state;
	bound = real_bound;
	failing_allocation = 0;
	return 0;
}

/* Returns the row with this key, or NULL. */
static const struct profile_row *find(const struct profile *p, enum row_kind kind, uint32_t stack,
				      uint32_t place)
{
	const struct profile_row *found = NULL;
	uint32_t count;
	const struct profile_row *rows = profile_rows(p, &count);

	for (uint32_t i = 0; i < count; i++) {
		if (rows[i].kind != kind || rows[i].stack.number != stack ||
		    rows[i].place.number != place)
			continue;
		assert_null(found); /* each key once */
		found = &rows[i];
	}
	return found;
}

static void expect(const struct profile *p, enum row_kind kind, uint32_t stack, uint32_t place,
		   uint64_t count, uint64_t ns, uint64_t bytes)
{
	const struct profile_row *row = find(p, kind, stack, place);

	assert_non_null(row);
	assert_int_equal(row->count, count);
	assert_int_equal(row->ns, ns);
	assert_int_equal(row->bytes, bytes);
}

/* Rows that something counts under. */
static uint32_t used_rows(const struct profile *p)
{
	uint32_t count, used = 0;
	const struct profile_row *rows = profile_rows(p, &count);

	for (uint32_t i = 0; i < count; i++)
		used += rows[i].count > 0;
	return used;
}

static void nothing_is_in_an_empty_one(void **state)
{
	struct profile *p = profile_new();

	(void)state;
	assert_int_equal(used_rows(p), 0);
	profile_free(p);
	profile_free(NULL);
}

/* Any difference in the key makes a separate row. */
static void keys_are_kept_apart(void **state)
{
	static const uint32_t keys[][3] = {{ROW_CPU, 10, 0},  {ROW_GPU, 10, 0}, {ROW_WAIT, 10, 0},
					   {ROW_CALL, 10, 0}, {ROW_GPU, 11, 0}, {ROW_GPU, 10, 1},
					   {ROW_GPU, 0, 0}};
	enum { KEYS = sizeof(keys) / sizeof(keys[0]) };
	struct profile *p = profile_new();

	(void)state;
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < KEYS; i++)
			profile_add(p, keys[i][0], STACK_ID(keys[i][1]), PLACE_ID(keys[i][2]), i,
				    10 * (uint64_t)i);
	assert_int_equal(used_rows(p), KEYS);
	for (uint32_t i = 0; i < KEYS; i++)
		expect(p, keys[i][0], keys[i][1], keys[i][2], 2, 2 * i, 20 * i);
	profile_free(p);
}

static void a_part_moves(void **state)
{
	struct profile *p = profile_new();

	(void)state;
	profile_add(p, ROW_GPU, STACK_ID(4), PLACE_ID(1), 100, 64);
	profile_add(p, ROW_GPU, STACK_ID(4), PLACE_ID(1), 50, 6);
	profile_add(p, ROW_GPU, STACK_ID(4), PLACE_ID(2), 7, 0);
	assert_true(profile_move(p, ROW_GPU, PLACE_ID(1), STACK_ID(4), STACK_ID(5),
				 &(struct profile_row){.count = 1, .ns = 120, .bytes = 70}));
	expect(p, ROW_GPU, 4, 1, 1, 30, 0);
	expect(p, ROW_GPU, 5, 1, 1, 120, 70);
	expect(p, ROW_GPU, 4, 2, 1, 7, 0);
	/* a missing row is not moved */
	assert_false(profile_move(p, ROW_GPU, PLACE_ID(1), STACK_ID(4), STACK_ID(5),
				  &(struct profile_row){.count = 1, .ns = 31}));
	assert_false(profile_move(p, ROW_GPU, PLACE_ID(1), STACK_ID(4), STACK_ID(5),
				  &(struct profile_row){.count = 2}));
	assert_false(profile_move(p, ROW_GPU, PLACE_ID(1), STACK_ID(4), STACK_ID(5),
				  &(struct profile_row){.bytes = 1}));
	assert_false(profile_move(p, ROW_CPU, PLACE_ID(1), STACK_ID(4), STACK_ID(5),
				  &(struct profile_row){.count = 1}));
	assert_false(profile_move(p, ROW_GPU, PLACE_ID(3), STACK_ID(4), STACK_ID(5),
				  &(struct profile_row){.count = 1}));
	assert_true(profile_move(p, ROW_GPU, PLACE_ID(1), STACK_ID(4), STACK_ID(5),
				 &(struct profile_row){.count = 1, .ns = 30}));
	assert_int_equal(used_rows(p), 2);
	expect(p, ROW_GPU, 5, 1, 2, 150, 70);
	profile_free(p);
}

static void rows_add_up(void **state)
{
	struct profile *p = profile_new();

	(void)state;
	profile_add(p, ROW_CPU, STACK_ID(3), PLACE_ID(0), 1000, 0);
	profile_add(p, ROW_GPU, STACK_ID(4), PLACE_ID(0), 100, 64);
	profile_add(p, ROW_GPU, STACK_ID(5), PLACE_ID(0), 7, 0);
	profile_add(p, ROW_CPU, STACK_ID(3), PLACE_ID(0), 1000, 0);
	profile_add(p, ROW_GPU, STACK_ID(4), PLACE_ID(0), UINT64_C(1) << 60, 1);
	profile_add(p, ROW_GPU, STACK_ID(6), PLACE_ID(0), 0, 0); /* a row without time */
	assert_int_equal(used_rows(p), 4);
	expect(p, ROW_CPU, 3, 0, 2, 2000, 0);
	expect(p, ROW_GPU, 4, 0, 2, (UINT64_C(1) << 60) + 100, 65);
	expect(p, ROW_GPU, 5, 0, 1, 7, 0);
	expect(p, ROW_GPU, 6, 0, 1, 0, 0);
	profile_free(p);
}

static void rows_are_in_order_of_appearance(void **state)
{
	struct profile *p = profile_new();
	uint32_t count, last = 0;
	const struct profile_row *rows;

	(void)state;
	for (uint32_t i = 1; i <= 1000; i++) {
		profile_add(p, ROW_GPU, STACK_ID(1000 + i), PLACE_ID(0), 1, 0);
		profile_add(p, ROW_GPU, STACK_ID(1001), PLACE_ID(0), 1, 0);
	}
	rows = profile_rows(p, &count);
	for (uint32_t i = 0; i < count; i++) {
		if (!rows[i].count)
			continue;
		assert_int_equal(rows[i].stack.number, 1001 + last);
		last++;
	}
	assert_int_equal(last, 1000);
	profile_free(p);
}

static void the_bound_is_half_a_million(void **state)
{
	(void)state;
	assert_int_equal(real_bound, 1u << 19);
}

/* Past the limit, rows are kept by kind alone, without a place. Nothing is lost. */
static void past_the_bound_only_kinds_are_kept_apart(void **state)
{
	struct profile *p;

	(void)state;
	bound = 20;
	p = profile_new();
	for (uint32_t i = 0; i < 100; i++)
		profile_add(p, ROW_GPU, STACK_ID(100 + i), PLACE_ID(i), 2, 3);
	profile_add(p, ROW_CPU, STACK_ID(1000), PLACE_ID(5), 11, 0);
	profile_add(p, ROW_CPU, STACK_ID(1001), PLACE_ID(6), 11, 0);
	assert_true(used_rows(p) <= 20);
	expect(p, ROW_CPU, STACK_NOT_KEPT.number, PLACE_NOWHERE.number, 2, 22, 0);
	expect(p, ROW_GPU, 100, 0, 1, 2, 3);
	expect(p, ROW_GPU, STACK_NOT_KEPT.number, PLACE_NOWHERE.number, 100 - (20 - ROW_KINDS),
	       2 * (100 - (20 - ROW_KINDS)), 3 * (100 - (20 - ROW_KINDS)));
	/* existing ones continue */
	profile_add(p, ROW_GPU, STACK_ID(100), PLACE_ID(0), 5, 0);
	expect(p, ROW_GPU, 100, 0, 2, 7, 3);
	profile_free(p);
}

static void without_memory_there_is_none(void **state)
{
	(void)state;
	for (uint32_t i = 1; i <= ROW_KINDS; i++) {
		failing_allocation = i;
		assert_null(profile_new());
	}
}

/* ---- beside a model ---- */

enum { STACKS = 40, PLACES = 4 };

struct model {
	struct profile_row rows[ROW_KINDS][STACKS][PLACES];
	uint32_t count; /* rows that are there, the rests included */
	struct profile_row total[ROW_KINDS];
};

static void count_in(struct profile_row *row, uint64_t ns, uint64_t bytes)
{
	row->count++;
	row->ns += ns; /* wraps as in the profile */
	row->bytes += bytes;
}

static void add_to_model(struct model *m, uint32_t kind, uint32_t stack, uint32_t place,
			 uint64_t ns, uint64_t bytes)
{
	struct profile_row *row = &m->rows[kind][stack][place];
	bool is_rest = stack == STACK_NOT_KEPT.number && place == PLACE_NOWHERE.number;

	count_in(&m->total[kind], ns, bytes);
	if (!row->count && !is_rest) {
		if (m->count >= bound)
			row = &m->rows[kind][STACK_NOT_KEPT.number][PLACE_NOWHERE.number];
		else
			m->count++;
	}
	count_in(row, ns, bytes);
}

static bool same(const struct profile_row *a, const struct profile_row *b)
{
	return a->count == b->count && a->ns == b->ns && a->bytes == b->bytes;
}

static void check(struct prng *r, const struct profile *p, struct model *m, bool has_failed)
{
	struct profile_row total[ROW_KINDS] = {{0}};
	uint32_t count;
	const struct profile_row *rows = profile_rows(p, &count);

	EXPECT(r, count <= bound);
	for (uint32_t i = 0; i < count; i++) {
		const struct profile_row *row = &rows[i];

		EXPECT(r, row->kind < ROW_KINDS && row->stack.number < STACKS &&
				  row->place.number < PLACES);
		EXPECT(r, has_failed ||
				  same(row,
				       &m->rows[row->kind][row->stack.number][row->place.number]));
		m->rows[row->kind][row->stack.number][row->place.number].count = 0; /* seen */
		total[row->kind].count += row->count;
		total[row->kind].ns += row->ns;
		total[row->kind].bytes += row->bytes;
	}
	for (uint32_t kind = 0; kind < ROW_KINDS; kind++) {
		EXPECT(r, same(&total[kind], &m->total[kind]));
		for (uint32_t i = 0; i < STACKS * PLACES; i++)
			EXPECT(r, has_failed || !m->rows[kind][i / PLACES][i % PLACES].count);
	}
}

/* Adds random rows, with any bound and failing memory. The sums equal the input. */
static void random_rows(struct prng *r)
{
	struct model *m = calloc(1, sizeof(*m));
	uint64_t events = prng_bits(r, 12);
	bool may_fail = prng_chance(r, 50), has_failed;
	struct profile *p;

	assert_non_null(m);
	bound = ROW_KINDS + (uint32_t)prng_bits(r, 10);
	m->count = ROW_KINDS;
	p = profile_new();
	assert_non_null(p);
	failing_allocation = may_fail ? 1 + (uint32_t)prng_bits(r, 8) : 0;
	for (uint64_t i = 0; i < events; i++) {
		uint32_t kind = (uint32_t)prng_below(r, ROW_KINDS);
		uint32_t stack = (uint32_t)prng_below(r, STACKS);
		uint32_t place = (uint32_t)prng_below(r, PLACES);
		uint64_t ns = prng_bits(r, 64), bytes = prng_bits(r, 64);

		profile_add(p, (enum row_kind)kind, STACK_ID(stack), PLACE_ID(place), ns, bytes);
		add_to_model(m, kind, stack, place, ns, bytes);
	}
	has_failed = may_fail && failing_allocation == 0;
	failing_allocation = 0;
	check(r, p, m, has_failed);
	profile_free(p);
	free(m);
}

static void sums_are_exact(void **state)
{
	uint64_t rounds = unit_number("UNIT_ROUNDS", getenv("UNDER_VALGRIND") ? 10 : 500);

	(void)state;
	for (uint64_t round = 0; round < rounds; round++) {
		struct prng r = prng_round(round);

		random_rows(&r);
	}
}

/* Samples alone are samples. */
static void time_without_a_sample_counts_none(void **state)
{
	struct profile *p = profile_new();
	const struct profile_row *rows;
	uint32_t count;

	(void)state;
	assert_non_null(p);
	profile_add_time(p, ROW_CPU, STACK_ID(7), PLACE_ID(3), 500);
	profile_add_time(p, ROW_CPU, STACK_ID(7), PLACE_ID(3), 11);
	rows = profile_rows(p, &count);
	assert_int_equal(rows[count - 1].stack.number, 7);
	assert_int_equal(rows[count - 1].ns, 511);
	assert_int_equal(rows[count - 1].count, 0);
	profile_add(p, ROW_CPU, STACK_ID(7), PLACE_ID(3), 20, 0);
	rows = profile_rows(p, &count);
	assert_int_equal(rows[count - 1].ns, 531);
	assert_int_equal(rows[count - 1].count, 1);
	profile_free(p);
}

#define TEST(name) cmocka_unit_test_teardown(name, free_bounds)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_in_an_empty_one),
		TEST(keys_are_kept_apart),
		TEST(a_part_moves),
		TEST(rows_add_up),
		TEST(rows_are_in_order_of_appearance),
		TEST(the_bound_is_half_a_million),
		TEST(past_the_bound_only_kinds_are_kept_apart),
		TEST(without_memory_there_is_none),
		TEST(time_without_a_sample_counts_none),
		TEST(sums_are_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
