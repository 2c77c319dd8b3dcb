/* SPDX-License-Identifier: MIT */
/*
 * A process's code and stacks, kept by its own ids, within an quota, with memory that can run
 * out.
 */
#include "unit.h"
#include "failing_memory.h"
#include "profiler/cpu/target_stacks.h"

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
	return fails_now() ? NULL : __real_malloc(size);
}

static struct code_mapping mapping(uint64_t start, uint64_t end, const char *path)
{
	return (struct code_mapping){.start = start, .end = end, .inode = 7, .path = path};
}

static int add(struct target_stacks *t, uint64_t start, uint64_t end, const char *path)
{
	struct code_mapping m = mapping(start, end, path);

	return target_stacks_add_code(t, &m);
}

/* Returns the path at an address, or "-" if there is none. */
static const char *path_at(struct target_stacks *t, uint64_t address)
{
	const struct code_mapping *m = target_stacks_find_code(t, address);

	return m ? m->path : "-";
}

/* ---- code ---- */

static void the_latest_report_counts(void **state)
{
	struct target_stacks t = {0};

	(void)state;
	assert_string_equal(path_at(&t, 0x1001), "-");
	assert_int_equal(add(&t, 0x1000, 0x3000, "a"), 0);
	assert_int_equal(add(&t, 0x3000, 0x4000, "b"), 0);
	assert_string_equal(path_at(&t, 0x1000), "-"); /* the byte before */
	assert_string_equal(path_at(&t, 0x1001), "a");
	assert_string_equal(path_at(&t, 0x3000), "a");
	assert_string_equal(path_at(&t, 0x3001), "b");
	assert_int_equal(add(&t, 0x2000, 0x4000, "c"), 0);
	assert_string_equal(path_at(&t, 0x2001), "c");
	assert_string_equal(path_at(&t, 0x3001), "c");
	/* the mapping that it overlapped has changed: it is sent again before it is used */
	assert_string_equal(path_at(&t, 0x1001), "-");
	assert_int_equal(add(&t, 0x1000, 0x2000, "a"), 0);
	assert_string_equal(path_at(&t, 0x1001), "a");
	assert_string_equal(path_at(&t, 0x2001), "c");
	target_stacks_release(&t);
}

/* A process with many libraries sends them all again at each that it loads. */
static void repeating_everything_costs_nothing(void **state)
{
	struct quota quota = {.limit = 1 << 20};
	struct target_stacks t = {.quota = &quota};
	size_t used = 0;
	char path[32];

	(void)state;
	for (uint64_t loaded = 1; loaded <= 400; loaded++) {
		for (uint64_t i = 0; i < loaded; i++) {
			snprintf(path, sizeof(path), "lib%d.so", (int)i);
			assert_int_equal(
				add(&t, 0x10000 * (i + 1), 0x10000 * (i + 1) + 0x8000, path), 0);
		}
		/* each that is new costs alike, but for its name's length */
		assert_true(quota.used - used < 256);
		used = quota.used;
	}
	for (uint64_t i = 0; i < 400; i++) {
		snprintf(path, sizeof(path), "lib%d.so", (int)i);
		assert_string_equal(path_at(&t, 0x10000 * (i + 1) + 8), path);
	}
	target_stacks_release(&t);
	assert_int_equal(quota.used, 0);
	assert_int_equal(quota.refused, 0);
}

/* A mapping that is replaced as a whole frees its bytes. */
static void replaced_mappings_are_freed(void **state)
{
	struct quota quota = {.limit = 4096};
	struct target_stacks t = {.quota = &quota};

	(void)state;
	for (int i = 0; i < 10000; i++) {
		assert_int_equal(add(&t, 0x1000, 0x3000, i % 2 ? "a" : "another"), 0);
		assert_int_equal(add(&t, 0x3000, 0x4000, i % 2 ? "another" : "a"), 0);
	}
	assert_string_equal(path_at(&t, 0x2000), "a");
	assert_string_equal(path_at(&t, 0x4000), "another");
	assert_int_equal(add(&t, 0, UINT64_MAX, "all"), 0);
	assert_string_equal(path_at(&t, 0x2000), "all");
	assert_true(quota.used < 512);
	target_stacks_release(&t);
	assert_int_equal(quota.used, 0);
}

static void there_is_a_bound_for_mappings(void **state)
{
	struct quota quota = {.limit = 64 << 20};
	struct target_stacks t = {.quota = &quota};
	size_t used;

	(void)state;
	for (uint64_t i = 1; i <= TARGET_STACKS_MAX_CODE; i++)
		assert_int_equal(add(&t, 0x10000 * i, 0x10000 * i + 0x8000, "x"), 0);
	used = quota.used;
	assert_int_equal(add(&t, 8, 16, "y"), -ENOSPC);
	assert_string_equal(path_at(&t, 12), "-");
	/* counted, and nothing is taken for it */
	assert_int_equal(quota.refused, 1);
	assert_int_equal(quota.used, used);
	target_stacks_release(&t);
	assert_int_equal(quota.used, 0);
}

/* ---- by id ---- */

static const char *const names[] = {"a", "b", "c", "d"};

static void ids_are_the_process_s_choice(void **state)
{
	static const uint32_t ids[] = {0, 1, 7, 4096, 1u << 31, UINT32_MAX - 1, UINT32_MAX};
	struct target_stacks t = {0};
	struct sent_stack stack;

	(void)state;
	for (uint32_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		assert_null(target_stacks_get_python(&t, ids[i]));
		assert_null(target_stacks_get_nvtx(&t, ids[i]));
		assert_false(target_stacks_get(&t, ids[i], &stack));
		assert_int_equal(
			target_stacks_set(&t, ids[i], (struct sent_stack){{100 + i}, true}), 0);
		assert_int_equal(target_stacks_set_nvtx(&t, ids[i], names[i % 3]), 0);
		assert_int_equal(target_stacks_set_python(
					 &t, ids[i], &(struct target_python){names[i % 3], NULL}),
				 0);
	}
	for (uint32_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		assert_true(target_stacks_get(&t, ids[i], &stack));
		assert_int_equal(stack.stack.number, 100 + i);
		assert_ptr_equal(target_stacks_get_nvtx(&t, ids[i]), names[i % 3]);
		assert_ptr_equal(target_stacks_get_python(&t, ids[i])->name, names[i % 3]);
		assert_null(target_stacks_get_python(&t, ids[i])->file);
	}
	target_stacks_release(&t);
	assert_false(target_stacks_get(&t, 7, &stack));
}

/* 10,000 ids, one in each 400,000, take as much as 10,000 ids without gaps. */
static void sparse_ids_cost_no_more_than_dense_ones(void **state)
{
	struct quota quota[2] = {{.limit = 1 << 20}, {.limit = 1 << 20}};
	struct target_stacks t[2] = {{.quota = &quota[0]}, {.quota = &quota[1]}};

	(void)state;
	for (uint32_t i = 0; i < 10000; i++) {
		assert_int_equal(target_stacks_set(&t[0], i, (struct sent_stack){{i}, true}), 0);
		assert_int_equal(target_stacks_set(&t[1], UINT32_MAX - i * 400000,
						   (struct sent_stack){{i}, true}),
				 0);
	}
	assert_int_equal(quota[0].used, quota[1].used);
	for (int i = 0; i < 2; i++) {
		assert_true(t[i].stacks.capacity * 16 <= quota[i].used);
		target_stacks_release(&t[i]);
		assert_int_equal(quota[i].used, 0);
	}
}

static void oversized_data_is_refused(void **state)
{
	struct quota quota = {.limit = 1000};
	struct target_stacks t = {.quota = &quota}, other = {.quota = &quota};
	struct sent_stack stack;
	uint32_t kept = 0;
	size_t used;

	(void)state;
	while (target_stacks_set(&t, kept, (struct sent_stack){{kept}, true}) == 0)
		kept++;
	assert_in_range(kept, 2, 1000 / 16);
	assert_int_equal(target_stacks_set(&t, kept, (struct sent_stack){{1}, true}), -ENOSPC);
	assert_int_equal(target_stacks_set_nvtx(&t, 1, names[0]), -ENOSPC);
	assert_int_equal(target_stacks_set_python(&t, 1, &(struct target_python){0}), -ENOSPC);
	assert_int_equal(add(&t, 0x1000, 0x2000, "x"), -ENOSPC);
	assert_int_equal(target_stacks_set(&other, 1, (struct sent_stack){{1}, true}),
			 -ENOSPC); /* one quota for all */
	assert_int_equal(quota.refused, 6);
	assert_false(target_stacks_get(&t, kept, &stack));
	assert_null(target_stacks_get_nvtx(&t, 1));
	assert_null(target_stacks_get_python(&t, 1));
	assert_string_equal(path_at(&t, 0x1008), "-");
	/* an existing stack can change */
	used = quota.used;
	assert_int_equal(target_stacks_set(&t, 0, (struct sent_stack){{77}, true}), 0);
	assert_true(target_stacks_get(&t, 0, &stack));
	assert_int_equal(stack.stack.number, 77);
	assert_int_equal(quota.used, used);
	/* the room of a removed one is available to others */
	target_stacks_release(&t);
	assert_int_equal(quota.used, 0);
	assert_int_equal(target_stacks_set(&other, 1, (struct sent_stack){{5}, true}), 0);
	target_stacks_release(&other);
	assert_int_equal(quota.used, 0);
}

/* ---- beside a model ---- */

enum { IDS = 24, PLACES = 16 };

struct model {
	uint32_t stack[IDS];
	const char *range[IDS];
	struct target_python python[IDS];
	const char *path[PLACES]; /* path of each page; NULL: unknown */
	uint64_t mapping[PLACES]; /* number of the mapping, if the path is known */
	uint64_t mappings;
};

static uint32_t id_of(uint64_t n)
{
	return n % 2 ? (uint32_t)n : (uint32_t)(n * 0x9e3779b1u);
}

static void map_pages(struct model *m, uint64_t from, uint64_t to, const char *path)
{
	for (uint64_t i = from; i < to; i++)
		for (uint64_t k = 0; k < PLACES; k++)
			if (k != i && m->mapping[k] == m->mapping[i])
				m->path[k] = NULL;
	m->mappings++;
	for (uint64_t i = from; i < to; i++) {
		m->path[i] = path;
		m->mapping[i] = m->mappings;
	}
}

static void say_something(struct prng *r, struct target_stacks *t, struct model *m)
{
	uint64_t n = prng_below(r, IDS), from = prng_below(r, PLACES);
	uint64_t to = from + 1 + prng_below(r, PLACES - from);
	const char *name = names[prng_below(r, 4)];
	const struct target_python python = {name, names[0]};
	int err;

	switch (prng_below(r, 4)) {
	case 0:
		err = target_stacks_set(t, id_of(n),
					(struct sent_stack){{(uint32_t)from + 1}, true});
		if (!err)
			m->stack[n] = (uint32_t)from + 1;
		break;
	case 1:
		err = target_stacks_set_nvtx(t, id_of(n), name);
		if (!err)
			m->range[n] = name;
		break;
	case 2:
		err = target_stacks_set_python(t, id_of(n), &python);
		if (!err)
			m->python[n] = python;
		break;
	default:
		err = add(t, 0x1000 * from, 0x1000 * to, name);
		if (!err)
			map_pages(m, from, to, name);
	}
	EXPECT(r, err == 0 || err == -ENOSPC || err == -ENOMEM);
}

static void check(struct prng *r, struct target_stacks *t, const struct model *m, bool knows_code)
{
	for (uint32_t n = 0; n < IDS; n++) {
		const struct target_python *python = target_stacks_get_python(t, id_of(n));
		struct sent_stack stack = {{0}, false};

		EXPECT(r, target_stacks_get(t, id_of(n), &stack) == (m->stack[n] != 0));
		EXPECT(r, !m->stack[n] || (stack.stack.number == m->stack[n] && stack.is_whole));
		EXPECT(r, target_stacks_get_nvtx(t, id_of(n)) == m->range[n]);
		EXPECT(r, (python != NULL) == (m->python[n].name != NULL));
		EXPECT(r, !python || (python->name == m->python[n].name &&
				      python->file == m->python[n].file));
	}
	for (uint64_t i = 0; i < PLACES && knows_code; i++)
		EXPECT(r, strcmp(path_at(t, 0x1000 * i + 1), m->path[i] ? m->path[i] : "-") == 0);
}

/* Adds up the bytes of all entries. */
static size_t bytes_of(const struct target_stacks *t)
{
	size_t bytes = TARGET_STACKS_ID_BYTES *
		       (size_t)(t->python_ids.count + t->ranges.count + t->stacks.count);

	for (uint32_t i = 0; i < t->code_count; i++)
		bytes += target_stacks_code_bytes(&t->code[i]);
	return bytes;
}

/* Adds random entries, with any quota and failing memory. Accepted entries are found, and all
 * bytes are returned. */
static void random_words(struct prng *r)
{
	struct quota quota = {.limit = prng_chance(r, 50) ? prng_bits(r, 14) : 1 << 20};
	bool may_fail = prng_chance(r, 50);
	struct target_stacks t = {.quota = &quota};
	uint64_t words = prng_bits(r, 10);
	struct model m = {.stack = {0}};
	bool was_refused;

	failing_allocation = may_fail ? 1 + (uint32_t)prng_bits(r, 7) : 0;
	for (uint64_t i = 0; i < words; i++)
		say_something(r, &t, &m);
	was_refused = quota.refused > 0 || (may_fail && failing_allocation == 0);
	failing_allocation = 0;
	EXPECT(r, quota.used == t.held && t.held <= quota.limit);
	EXPECT(r, t.held == bytes_of(&t));
	/* a refused mapping has still replaced what it covers */
	check(r, &t, &m, !was_refused);
	target_stacks_release(&t);
	EXPECT(r, quota.used == 0 && t.held == 0);
}

static void reported_entries_are_found(void **state)
{
	uint64_t rounds = unit_number("UNIT_ROUNDS", getenv("UNDER_VALGRIND") ? 20 : 1000);

	(void)state;
	for (uint64_t round = 0; round < rounds; round++) {
		struct prng r = prng_round(round);

		random_words(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_latest_report_counts),
		cmocka_unit_test(repeating_everything_costs_nothing),
		cmocka_unit_test(replaced_mappings_are_freed),
		cmocka_unit_test(there_is_a_bound_for_mappings),
		cmocka_unit_test(ids_are_the_process_s_choice),
		cmocka_unit_test(sparse_ids_cost_no_more_than_dense_ones),
		cmocka_unit_test(oversized_data_is_refused),
		cmocka_unit_test(reported_entries_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
