/* SPDX-License-Identifier: MIT */
/* What processes say of their code and stacks, kept by their own ids. */
#include "unit.h"
#include "profiler/collect/target_stacks.h"

static struct code_mapping mapping(uint64_t start, uint64_t end, const char *path)
{
	return (struct code_mapping){.start = start, .end = end, .inode = 7, .path = path};
}

static int add(struct target_stacks *w, uint64_t start, uint64_t end, const char *path)
{
	struct code_mapping m = mapping(start, end, path);

	return target_stacks_add_code(w, 1, &m);
}

/* The path at an address, "-" if there is none. */
static const char *path_at(struct target_stacks *w, uint64_t address)
{
	const struct code_mapping *m = target_stacks_find_code(w, 1, address);

	return m ? m->path : "-";
}

static void the_latest_word_counts(void **state)
{
	struct target_stacks w = {0};

	(void)state;
	assert_int_equal(add(&w, 0x1000, 0x3000, "a"), 0);
	assert_int_equal(add(&w, 0x3000, 0x4000, "b"), 0);
	assert_string_equal(path_at(&w, 0x1001), "a");
	assert_string_equal(path_at(&w, 0x3000), "a"); /* the byte before */
	assert_string_equal(path_at(&w, 0x3001), "b");
	assert_int_equal(add(&w, 0x2000, 0x4000, "c"), 0);
	assert_string_equal(path_at(&w, 0x1001), "a");
	assert_string_equal(path_at(&w, 0x2001), "c");
	assert_string_equal(path_at(&w, 0x3001), "c");
	/* said again after another word on part of it */
	assert_int_equal(add(&w, 0x1000, 0x3000, "a"), 0);
	assert_string_equal(path_at(&w, 0x2001), "a");
	assert_string_equal(path_at(&w, 0x3001), "c");
	target_stacks_release(&w);
}

/* A process with many libraries says them all again at each that it loads. */
static void saying_all_again_costs_nothing(void **state)
{
	struct target_stacks w = {0};
	char path[32];

	(void)state;
	for (uint64_t loaded = 1; loaded <= 400; loaded++)
		for (uint64_t i = 0; i < loaded; i++) {
			snprintf(path, sizeof(path), "lib%d.so", (int)i);
			assert_int_equal(
				add(&w, 0x10000 * (i + 1), 0x10000 * (i + 1) + 0x8000, path), 0);
		}
	for (uint64_t i = 0; i < 400; i++) {
		snprintf(path, sizeof(path), "lib%d.so", (int)i);
		assert_string_equal(path_at(&w, 0x10000 * (i + 1) + 8), path);
	}
	target_stacks_release(&w);
}

static void there_is_a_bound(void **state)
{
	struct target_stacks w = {0};
	int err = 0;

	(void)state;
	for (uint64_t i = 1; i <= TARGET_STACKS_MAX_CODE + 1 && !err; i++)
		err = add(&w, 0x10000 * i, 0x10000 * i + 0x8000, "x");
	assert_int_equal(err, -ENOSPC);
	target_stacks_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_latest_word_counts),
		cmocka_unit_test(saying_all_again_costs_nothing),
		cmocka_unit_test(there_is_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
