/* SPDX-License-Identifier: MIT */
/* Maps of ids that somebody else chose: single rules, then random changes beside a plain array. */
#include "unit.h"
#include "symbolize/util/id_map.h"

static void an_empty_map_has_nothing(void **state)
{
	struct id_map map = {0};
	uint32_t position = 0, id;
	uint64_t value;

	(void)state;
	assert_null(id_map_find(&map, 0));
	assert_null(id_map_find(&map, UINT32_MAX));
	id_map_remove(&map, 7);
	assert_false(id_map_next(&map, &position, &id, &value));
	assert_int_equal(map.count, 0);
	assert_int_equal(map.capacity, 0);
	id_map_release(&map);
}

static void a_value_is_made_once(void **state)
{
	struct id_map map = {0};
	uint64_t *value = id_map_get(&map, 7);

	(void)state;
	assert_non_null(value);
	assert_int_equal(*value, 0);
	*value = UINT64_MAX;
	assert_int_equal(*id_map_get(&map, 7), UINT64_MAX);
	assert_int_equal(*id_map_find(&map, 7), UINT64_MAX);
	assert_int_equal(map.count, 1);
	assert_null(id_map_find(&map, 8));
	assert_int_equal(map.count, 1);
	id_map_remove(&map, 7);
	id_map_remove(&map, 7);
	assert_null(id_map_find(&map, 7));
	assert_int_equal(map.count, 0);
	assert_int_equal(*id_map_get(&map, 7), 0); /* the new value, not the old */
	id_map_release(&map);
	assert_null(id_map_find(&map, 7));
	assert_int_equal(*id_map_get(&map, 7), 0);
	id_map_release(&map);
}

static void the_ends_of_the_range_are_ordinary(void **state)
{
	static const uint32_t ids[] = {0, 1, UINT32_MAX, UINT32_MAX - 1, 1u << 31};
	struct id_map map = {0};

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		*id_map_get(&map, ids[i]) = 10 + i;
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(*id_map_find(&map, ids[i]), 10 + i);
	assert_int_equal(map.count, 5);
	id_map_release(&map);
}

static uint32_t capacity_with(uint32_t count, uint32_t step)
{
	struct id_map map = {0};
	uint32_t capacity;

	for (uint32_t i = 0; i < count; i++)
		assert_non_null(id_map_get(&map, i * step));
	assert_int_equal(map.count, count);
	for (uint32_t i = 0; i < count; i++)
		assert_non_null(id_map_find(&map, i * step));
	capacity = map.capacity;
	id_map_release(&map);
	return capacity;
}

static void sparse_ids_cost_no_more_than_dense_ones(void **state)
{
	(void)state;
	for (uint32_t count = 1; count < 5000; count = count * 3 + 1) {
		uint32_t dense = capacity_with(count, 1);

		assert_true(dense <= 16 || dense <= 4 * count);
		assert_int_equal(capacity_with(count, 1u << 12), dense);
		assert_int_equal(capacity_with(count, 0x9e3779b1), dense);
	}
}

/* Adding and removing takes no more room than the largest number at a time. */
static void places_are_used_again(void **state)
{
	struct id_map map = {0};

	(void)state;
	for (uint32_t i = 0; i < 100000; i++) {
		*id_map_get(&map, i * 977) = i;
		if (i >= 5)
			id_map_remove(&map, (i - 5) * 977);
	}
	assert_int_equal(map.count, 5);
	assert_true(map.capacity <= 16);
	id_map_release(&map);
}

/* ---- beside a plain array ---- */

enum { IDS = 300 };

struct model {
	struct prng random;
	struct id_map map;
	uint32_t ids[IDS]; /* distinct */
	bool is_there[IDS];
	uint64_t values[IDS];
	uint32_t count;
};

/* Runs of neighbours, multiples of large powers of two, anything. */
static void choose_ids(struct model *m)
{
	struct prng *p = &m->random;
	uint32_t base = (uint32_t)prng_u64(p), shift = (uint32_t)prng_below(p, 23);
	uint64_t kind = prng_below(p, 3);

	for (uint32_t i = 0; i < IDS; i++)
		if (kind == 0)
			m->ids[i] = base + i;
		else if (kind == 1)
			m->ids[i] = base + (i << shift);
		else
			m->ids[i] = base ^ i * 0x9e3779b1u; /* odd: distinct for distinct i */
}

static void check_all(struct model *m)
{
	uint32_t position = 0, id, n = 0, i;
	uint64_t value;
	bool seen[IDS] = {false};

	while (id_map_next(&m->map, &position, &id, &value)) {
		for (i = 0; i < IDS && m->ids[i] != id; i++)
			;
		EXPECT(&m->random, i < IDS && m->is_there[i] && !seen[i]);
		EXPECT(&m->random, m->values[i] == value);
		seen[i] = true;
		n++;
	}
	EXPECT(&m->random, n == m->count && m->map.count == m->count);
}

static void change(struct model *m, uint32_t removals)
{
	struct prng *p = &m->random;
	uint32_t i = (uint32_t)prng_below(p, IDS);
	uint64_t *value = id_map_find(&m->map, m->ids[i]);

	EXPECT(p, (value != NULL) == m->is_there[i]);
	EXPECT(p, !value || *value == m->values[i]);
	if (prng_chance(p, removals)) {
		id_map_remove(&m->map, m->ids[i]);
		m->count -= m->is_there[i];
		m->is_there[i] = false;
		return;
	}
	value = id_map_get(&m->map, m->ids[i]);
	EXPECT(p, value && *value == (m->is_there[i] ? m->values[i] : 0));
	m->count += !m->is_there[i];
	m->is_there[i] = true;
	*value = m->values[i] = prng_u64(p);
}

static void random_changes(void **state)
{
	uint64_t rounds = unit_number("UNIT_ROUNDS", getenv("UNDER_VALGRIND") ? 20 : 400);
	struct model *m = malloc(sizeof(*m));

	(void)state;
	assert_non_null(m);
	for (uint64_t round = 0; round < rounds; round++) {
		memset(m, 0, sizeof(*m));
		m->random = prng_round(round);
		choose_ids(m);
		for (uint32_t phase = 0; phase < 6; phase++) {
			uint32_t removals = (uint32_t)prng_below(&m->random, 101);

			for (int i = 0; i < 200; i++)
				change(m, removals);
			check_all(m);
		}
		id_map_release(&m->map);
	}
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_map_has_nothing),
		cmocka_unit_test(a_value_is_made_once),
		cmocka_unit_test(the_ends_of_the_range_are_ordinary),
		cmocka_unit_test(sparse_ids_cost_no_more_than_dense_ones),
		cmocka_unit_test(places_are_used_again),
		cmocka_unit_test(random_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
