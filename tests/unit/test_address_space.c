/* SPDX-License-Identifier: MIT */
/*
 * The mappings of one process: forks and their parents, completion from /proc and its frequency,
 * and code that stays known after its space is freed.
 */
#include "unit.h"
#include "symbolize/address_space.h"
#include "symbolize/util/monotonic.h"
#include "symbolize/symbolizer.h"

#define GHOST 0x3fff0000 /* above the largest pid_max: nothing in /proc */

static void insert(struct address_space *space, uint64_t start, uint64_t end, uint32_t module)
{
	struct map_entry entry = {.start = start, .end = end, .module = module};

	assert_int_equal(map_table_insert(&space->maps, entry), 0);
}

/* Returns the module of the mapping that holds `address`, or 0 if none does. */
static uint32_t module_at(const struct address_space *space, uint64_t address)
{
	const struct map_entry *entry = map_table_find(space->maps, address);

	return entry ? entry->module : 0;
}

static __attribute__((noinline)) int local_function(int x)
{
	__asm__ volatile("");
	return x + 1;
}

static struct code_mapping anonymous(uint64_t start, uint64_t end)
{
	return (struct code_mapping){.start = start, .end = end, .path = "//anon"};
}

/* ---- spaces and their mappings ---- */

static void a_new_space_is_empty(void **state)
{
	struct address_space *space = address_space_new(17, GHOST, true);
	struct address_space *other = address_space_new(18, GHOST + 1, false);

	(void)state;
	assert_int_equal(space->id, 17);
	assert_int_equal(space->pid, GHOST);
	assert_true(space->is_complete);
	assert_false(other->is_complete);
	assert_int_equal(space->maps->count, 0);
	assert_int_equal(module_at(space, 0x1000), 0);
	address_space_free(space);
	address_space_free(other);
	address_space_free(NULL);
}

static void each_space_has_its_own_mappings(void **state)
{
	enum { SPACES = 5000 };
	static struct address_space *spaces[SPACES];

	(void)state;
	for (uint32_t i = 0; i < SPACES; i++) {
		spaces[i] = address_space_new(i + 1, (pid_t)i + 1, true);
		assert_non_null(spaces[i]);
		insert(spaces[i], 0x1000, 0x2000, i + 1);
	}
	for (uint32_t i = 0; i < SPACES; i += 3) {
		address_space_free(spaces[i]);
		spaces[i] = NULL;
	}
	for (uint32_t i = 0; i < SPACES; i++) {
		if (!spaces[i])
			continue;
		assert_int_equal(spaces[i]->id, i + 1);
		assert_int_equal(spaces[i]->pid, i + 1);
		assert_int_equal(module_at(spaces[i], 0x1000), i + 1);
		address_space_free(spaces[i]);
	}
}

static void a_fork_inherits_its_parents_mappings(void **state)
{
	struct address_space *parent = address_space_new(1, GHOST, true), *child, *other;

	(void)state;
	insert(parent, 0x1000, 0x2000, 5);
	child = address_space_fork(parent, 2, GHOST + 1);
	assert_int_equal(child->id, 2);
	assert_int_equal(child->pid, GHOST + 1);
	assert_true(child->is_complete);
	/* one table for both, until one of them changes */
	assert_ptr_equal(child->maps, parent->maps);
	insert(child, 0x1000, 0x2000, 6);
	assert_int_equal(module_at(child, 0x1000), 6);
	assert_int_equal(module_at(parent, 0x1000), 5);
	insert(parent, 0x3000, 0x4000, 7);
	assert_int_equal(module_at(child, 0x3000), 0);
	/* the space outlives its parent */
	address_space_free(parent);
	assert_int_equal(module_at(child, 0x1000), 6);
	child->is_complete = false;
	other = address_space_fork(child, 3, GHOST + 2);
	assert_false(other->is_complete);
	address_space_free(child);
	assert_int_equal(module_at(other, 0x1000), 6);
	address_space_free(other);
}

/* ---- any order of forks, mappings and ends, against plain arrays of pages ---- */

enum { SPACES = 12, PAGES = 24 };

struct model {
	struct address_space *space;
	uint32_t module[PAGES]; /* 0: nothing is mapped */
};

static void map_pages(struct prng *p, struct model *m, uint32_t module)
{
	uint32_t from = (uint32_t)prng_below(p, PAGES);
	uint32_t to = from + 1 + (uint32_t)prng_below(p, PAGES - from);

	insert(m->space, (from + 1) * 4096, (to + 1) * 4096, module);
	for (uint32_t page = from; page < to; page++)
		m->module[page] = module;
}

/* Puts a space in the place of `m`: a new one, or a fork of another. */
static void begin_space(struct prng *p, struct model *models, struct model *m, uint32_t id)
{
	struct model *parent = &models[prng_below(p, SPACES)];

	address_space_free(m->space);
	m->space = NULL;
	memset(m->module, 0, sizeof(m->module));
	if (parent->space && prng_chance(p, 70)) {
		m->space = address_space_fork(parent->space, id, GHOST);
		memcpy(m->module, parent->module, sizeof(m->module));
	} else {
		m->space = address_space_new(id, GHOST, true);
	}
	assert_non_null(m->space);
}

static void check_space(struct prng *p, const struct model *m)
{
	for (uint32_t page = 0; m->space && page < PAGES; page++)
		EXPECT(p, module_at(m->space, (page + 1) * 4096 + 5) == m->module[page]);
}

static void random_lives_match_a_model(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(60); round++) {
		struct prng p = prng_round(round);
		struct model models[SPACES];

		memset(models, 0, sizeof(models));
		for (uint32_t step = 1; step < 200; step++) {
			struct model *m = &models[prng_below(&p, SPACES)];

			if (!m->space || prng_chance(&p, 25))
				begin_space(&p, models, m, step);
			else
				map_pages(&p, m, step);
			for (uint32_t i = 0; i < SPACES; i++)
				check_space(&p, &models[i]);
		}
		for (uint32_t i = 0; i < SPACES; i++)
			address_space_free(models[i].space);
	}
}

/* ---- how often /proc is asked ---- */

static void garbage_makes_waits_longer(void **state)
{
	struct address_space *space = address_space_new(1, GHOST, true);
	uint64_t first, wait, before, after;

	(void)state;
	assert_true(address_space_may_snapshot(space));
	first = space->snapshot_wait_ns;
	assert_in_range(first, 1000000, 100000000);
	for (int i = 0; i < 100; i++) {
		wait = space->snapshot_wait_ns;
		before = monotonic_ns();
		address_space_snapshot_done(space, false);
		after = monotonic_ns();
		assert_true(space->snapshot_wait_ns == wait * 2 || space->snapshot_wait_ns == wait);
		assert_true(space->snapshot_wait_ns == wait * 2 || wait >= 1000000000);
		assert_in_range(space->next_snapshot_ns, before + space->snapshot_wait_ns,
				after + space->snapshot_wait_ns);
	}
	assert_in_range(space->snapshot_wait_ns, 1000000000, 10000000000);
	space->next_snapshot_ns = UINT64_MAX;
	assert_false(address_space_may_snapshot(space));
	space->next_snapshot_ns = monotonic_ns();
	assert_true(address_space_may_snapshot(space));
	/* something was found: a library that is loaded next is found soon */
	before = monotonic_ns();
	address_space_snapshot_done(space, true);
	assert_int_equal(space->snapshot_wait_ns, first);
	assert_in_range(space->next_snapshot_ns, before + first, monotonic_ns() + first);
	address_space_free(space);
}

static void a_fork_does_not_wait_for_its_parents_garbage(void **state)
{
	struct address_space *parent = address_space_new(1, GHOST, true), *child;

	(void)state;
	for (int i = 0; i < 20; i++)
		address_space_snapshot_done(parent, false);
	child = address_space_fork(parent, 2, GHOST + 1);
	assert_true(address_space_may_snapshot(child));
	assert_true(child->snapshot_wait_ns < parent->snapshot_wait_ns);
	address_space_free(parent);
	address_space_free(child);
}

/* Two thousand unknown addresses of a living process: /proc is read once or twice, not each time.
 */
static void unknown_addresses_cost_few_readings(void **state)
{
	struct symbolizer *s = symbolizer_new();
	struct address_space *space = address_space_new(1, getpid(), false);
	const struct map_table *last = NULL;
	uint32_t readings = 0;
	uint64_t before = monotonic_ns();

	(void)state;
	for (uint64_t i = 0; i < 2000; i++) {
		assert_int_equal(symbolizer_locate(s, space, 0x1000 + i).module, MODULE_UNKNOWN);
		readings += space->maps != last;
		last = space->maps;
	}
	/* 10 ms, 20 ms, 40 ms... apart: so many fit into the time that it took */
	assert_in_range(readings, 1, 40);
	assert_true((UINT64_C(1) << (readings - 1)) * 10000000 <=
		    monotonic_ns() - before + 20000000);
	/* impossible addresses are not looked up at all */
	space->next_snapshot_ns = 0;
	last = space->maps;
	assert_int_equal(symbolizer_locate(s, space, UINT64_MAX).module, MODULE_UNKNOWN);
	assert_ptr_equal(space->maps, last);
	assert_int_equal(space->next_snapshot_ns, 0);
	address_space_free(space);
	symbolizer_free(s);
}

/* ---- what /proc adds ---- */

static void earlier_mappings_are_read(void **state)
{
	struct symbolizer *s = symbolizer_new();
	struct address_space *from_the_middle = address_space_new(1, getpid(), false);
	struct address_space *from_the_start = address_space_new(2, getpid(), true);
	struct address_space *gone = address_space_new(3, GHOST, false);
	const struct code_mapping mapping = anonymous(0x1000, 0x2000);

	(void)state;
	assert_int_equal(symbolizer_map(s, from_the_middle, &mapping), 0);
	assert_true(from_the_middle->maps->count > 1);
	assert_true(module_at(from_the_middle, (uintptr_t)local_function) > MODULE_JIT);
	assert_int_equal(module_at(from_the_middle, 0x1800), MODULE_JIT);
	assert_true(from_the_middle->is_complete);
	/* all mappings of this one were reported, so /proc is not read */
	assert_int_equal(symbolizer_map(s, from_the_start, &mapping), 0);
	assert_int_equal(from_the_start->maps->count, 1);
	/* /proc of this process is unreadable: only reported mappings count from then on */
	assert_int_equal(symbolizer_map(s, gone, &mapping), 0);
	assert_int_equal(gone->maps->count, 1);
	assert_true(gone->is_complete);
	address_space_free(from_the_middle);
	address_space_free(from_the_start);
	address_space_free(gone);
	symbolizer_free(s);
}

static void a_snapshot_replaces_known_mappings(void **state)
{
	struct symbolizer *s = symbolizer_new();
	struct address_space *space = address_space_new(1, getpid(), true);
	struct address_space *gone = address_space_new(2, GHOST, true), *fork;

	(void)state;
	insert(space, 0x1000, 0x2000, MODULE_JIT);
	insert(gone, 0x1000, 0x2000, MODULE_JIT);
	fork = address_space_fork(space, 3, GHOST);
	assert_int_equal(symbolizer_snapshot(s, space), 0);
	assert_int_equal(module_at(space, 0x1800), 0);
	assert_true(module_at(space, (uintptr_t)local_function) > MODULE_JIT);
	/* other spaces that shared the list keep theirs */
	assert_int_equal(module_at(fork, 0x1800), MODULE_JIT);
	assert_int_equal(fork->maps->count, 1);
	/* the mappings of an ended process are still useful */
	assert_int_equal(symbolizer_snapshot(s, gone), -ESRCH);
	assert_int_equal(module_at(gone, 0x1800), MODULE_JIT);
	address_space_free(space);
	address_space_free(gone);
	address_space_free(fork);
	symbolizer_free(s);
}

/* ---- code_refs ---- */

static void code_outlives_its_space(void **state)
{
	struct symbolizer *s = symbolizer_new();
	struct address_space *space = address_space_new(1, getpid(), false);
	struct address_space *other = address_space_new(2, getpid(), false);
	struct code_ref ref = symbolizer_locate(s, space, (uintptr_t)local_function + 1);
	struct code_ref same = symbolizer_locate(s, other, (uintptr_t)local_function + 1);

	(void)state;
	assert_memory_equal(&ref, &same, sizeof(ref)); /* one file, whoever maps it */
	address_space_free(space);
	address_space_free(other);
	assert_string_equal(symbolizer_name(s, ref, false), "local_function");
	symbolizer_free(s);
}

/* Two processes with one pid, one after the other, keep their generated code apart. */
static void generated_code_belongs_to_one_process(void **state)
{
	struct symbolizer *s = symbolizer_new();
	const struct code_mapping mapping = anonymous(0x1000, 0x2000);
	struct address_space *first = address_space_new(41, GHOST + 5, true);
	struct address_space *second = address_space_new(42, GHOST + 5, true);
	struct code_ref one, two;
	char path[64];
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", GHOST + 5);
	assert_int_equal(symbolizer_map(s, first, &mapping), 0);
	assert_int_equal(symbolizer_map(s, second, &mapping), 0);
	one = symbolizer_locate(s, first, 0x1100);
	two = symbolizer_locate(s, second, 0x1100);
	assert_int_equal(one.module, MODULE_JIT);
	assert_int_equal(one.process, 41);
	assert_int_equal(two.process, 42);
	assert_int_equal(one.offset, 0x1100);
	address_space_free(first);
	assert_string_equal(symbolizer_name(s, one, false), "[jit]");
	/* the second process writes its names late: the lookup is for this process alone */
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("1100 100 second\n", file);
	fclose(file);
	address_space_free(second);
	assert_string_equal(symbolizer_name(s, two, false), "second");
	assert_string_equal(symbolizer_name(s, one, false), "[jit]");
	unlink(path);
	symbolizer_free(s);
}

/* A mapping that the process described itself adds nothing to its space. */
static void locating_in_a_given_mapping_changes_nothing(void **state)
{
	struct symbolizer *s = symbolizer_new();
	struct address_space *space = address_space_new(9, GHOST, false);
	const struct code_mapping mapping = anonymous(0x1000, 0x2000);
	struct code_ref ref = symbolizer_locate_in(s, space, &mapping, 0x1234);

	(void)state;
	assert_int_equal(ref.module, MODULE_JIT);
	assert_int_equal(ref.process, 9);
	assert_int_equal(ref.offset, 0x1234);
	assert_int_equal(space->maps->count, 0);
	assert_false(space->is_complete);
	address_space_free(space);
	symbolizer_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_space_is_empty),
		cmocka_unit_test(each_space_has_its_own_mappings),
		cmocka_unit_test(a_fork_inherits_its_parents_mappings),
		cmocka_unit_test(random_lives_match_a_model),
		cmocka_unit_test(garbage_makes_waits_longer),
		cmocka_unit_test(a_fork_does_not_wait_for_its_parents_garbage),
		cmocka_unit_test(unknown_addresses_cost_few_readings),
		cmocka_unit_test(earlier_mappings_are_read),
		cmocka_unit_test(a_snapshot_replaces_known_mappings),
		cmocka_unit_test(code_outlives_its_space),
		cmocka_unit_test(generated_code_belongs_to_one_process),
		cmocka_unit_test(locating_in_a_given_mapping_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
