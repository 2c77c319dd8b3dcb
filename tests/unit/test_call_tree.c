/* SPDX-License-Identifier: MIT */
/* The tree, and whole numbers that add up. */
#include <math.h>
#include "unit.h"
#include "profiler/output/call_tree.h"

static void equal_paths_are_one_node(void **state)
{
	struct call_tree *t = call_tree_new();
	char name[] = "main"; /* compared by text, not by address */
	uint32_t main_node = call_tree_child(t, CALL_TREE_ROOT, "main");
	uint32_t count;

	(void)state;
	assert_int_equal(call_tree_child(t, CALL_TREE_ROOT, name), main_node);
	assert_int_not_equal(call_tree_child(t, main_node, "main"), main_node);
	assert_int_not_equal(call_tree_child(t, CALL_TREE_ROOT, "main2"), main_node);
	call_tree_nodes(t, &count);
	assert_int_equal(count, 4);
	call_tree_free(t);
	call_tree_free(NULL);
}

static void children_are_sorted_by_name(void **state)
{
	struct call_tree *t = call_tree_new();
	const struct call_node *nodes;
	struct prng p = prng_round(0);
	static char names[500][8];
	uint32_t count, seen = 0, last = CALL_TREE_NONE;

	(void)state;
	for (uint32_t i = 0; i < 500; i++) {
		snprintf(names[i], sizeof(names[i]), "%c%u", (int)(prng_u64(&p) | 1) & 0xff,
			 i % 400);
		call_tree_child(t, call_tree_child(t, CALL_TREE_ROOT, "a"), names[i]);
		call_tree_child(t, CALL_TREE_ROOT, names[i]);
	}
	assert_int_equal(call_tree_sort(t), 0);
	assert_int_equal(call_tree_sort(t), 0); /* again changes nothing */
	nodes = call_tree_nodes(t, &count);
	for (uint32_t parent = 0; parent < count; parent++) {
		last = CALL_TREE_NONE;
		for (uint32_t at = nodes[parent].first_child; at != CALL_TREE_NONE;
		     at = nodes[at].next_sibling) {
			assert_int_equal(nodes[at].parent, parent);
			if (last != CALL_TREE_NONE)
				assert_true(strcmp(nodes[last].name, nodes[at].name) < 0);
			last = at;
			seen++;
		}
	}
	assert_int_equal(seen, count - 1);
	call_tree_free(t);
}

/* ---- rounding ---- */

static const double units[] = {1, 1000, 1e9 / 50, 1e9 / 49, 1e9 / 10000, 1e9 / 3};

static void check_rounding(struct prng *p, const struct call_tree *t, double unit)
{
	uint64_t *out, total, sum = 0;
	const struct call_node *nodes;
	double exact = 0;
	uint32_t count;

	nodes = call_tree_nodes(t, &count);
	out = calloc(count, sizeof(*out));
	assert_non_null(out);
	assert_int_equal(call_tree_round(t, WEIGHT_GPU, unit, out, &total), 0);
	for (uint32_t i = 0; i < count; i++) {
		double units_here = nodes[i].weight_ns[WEIGHT_GPU] / unit;

		exact += units_here;
		sum += out[i];
		EXPECT(p, (double)out[i] >= floor(units_here));
		EXPECT(p, (double)out[i] <= floor(units_here) + 1);
		if (units_here == 0)
			EXPECT(p, out[i] == 0);
	}
	EXPECT(p, sum == total);
	EXPECT(p, fabs((double)total - exact) <= 0.5 + 1e-9 * exact);
	free(out);
}

static void rounding_conserves_the_total(void **state)
{
	static char names[2000][8];

	(void)state;
	for (uint32_t i = 0; i < 2000; i++)
		snprintf(names[i], sizeof(names[i]), "%u", i);
	for (uint64_t round = 0; round < unit_number("UNIT_ROUNDS", 500); round++) {
		struct prng p = prng_round(round);
		struct call_tree *t = call_tree_new();
		uint32_t n = (uint32_t)prng_below(&p, round % 20 ? 60 : 2000);
		uint32_t bits = 1 + (uint32_t)prng_below(&p, 40);
		uint64_t whole = 0;

		for (uint32_t i = 0; i < n; i++) {
			uint32_t node = call_tree_child(t, CALL_TREE_ROOT, names[i]);
			uint64_t ns = prng_bits(&p, bits);

			call_tree_add_weight(t, node, WEIGHT_GPU, (double)ns);
			call_tree_add_weight(t, node, WEIGHT_CPU, 1e6);
			whole += ns;
		}
		EXPECT(&p, call_tree_total(t, WEIGHT_GPU) == (double)whole);
		for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++)
			check_rounding(&p, t, units[u]);
		call_tree_free(t);
	}
}

static void small_weights_are_not_lost_together(void **state)
{
	struct call_tree *t = call_tree_new();
	static char names[1000][8];
	uint64_t out[1001], total, sum = 0;

	(void)state;
	/* a thousand times a tenth of a sample is a hundred samples, and none has more than one */
	for (uint32_t i = 0; i < 1000; i++) {
		snprintf(names[i], sizeof(names[i]), "%u", i);
		call_tree_add_weight(t, call_tree_child(t, CALL_TREE_ROOT, names[i]), WEIGHT_CPU,
				     2000000);
	}
	assert_int_equal(call_tree_round(t, WEIGHT_CPU, 20000000, out, &total), 0);
	assert_int_equal(total, 100);
	for (uint32_t i = 0; i < 1001; i++) {
		assert_true(out[i] <= 1);
		sum += out[i];
	}
	assert_int_equal(sum, 100);
	call_tree_free(t);
}

static void the_largest_remainders_are_rounded_up(void **state)
{
	struct call_tree *t = call_tree_new();
	uint64_t out[5], total;

	(void)state;
	call_tree_add_weight(t, call_tree_child(t, CALL_TREE_ROOT, "a"), WEIGHT_GPU, 1.25);
	call_tree_add_weight(t, call_tree_child(t, CALL_TREE_ROOT, "b"), WEIGHT_GPU, 2.75);
	call_tree_add_weight(t, call_tree_child(t, CALL_TREE_ROOT, "c"), WEIGHT_GPU, 0.25);
	call_tree_add_weight(t, call_tree_child(t, CALL_TREE_ROOT, "d"), WEIGHT_GPU, 0.25);
	assert_int_equal(call_tree_round(t, WEIGHT_GPU, 1, out, &total), 0);
	assert_int_equal(total, 5); /* 4.5: b goes up, and of the equal ones the first */
	assert_int_equal(out[1], 2);
	assert_int_equal(out[2], 3);
	assert_int_equal(out[3], 0);
	assert_int_equal(out[4], 0);
	call_tree_free(t);
}

static void whole_weights_stay_as_they_are(void **state)
{
	struct call_tree *t = call_tree_new();
	uint64_t out[2], total;

	(void)state;
	call_tree_add_weight(t, call_tree_child(t, CALL_TREE_ROOT, "a"), WEIGHT_GPU,
			     9007199254740991.0); /* 2^53 - 1 ns: 104 days */
	assert_int_equal(call_tree_round(t, WEIGHT_GPU, 1, out, &total), 0);
	assert_int_equal(out[1], 9007199254740991);
	assert_int_equal(total, 9007199254740991);
	call_tree_free(t);
}

static void an_empty_tree_rounds_to_nothing(void **state)
{
	struct call_tree *t = call_tree_new();
	uint64_t out[1], total = 5;

	(void)state;
	assert_int_equal(call_tree_round(t, WEIGHT_CPU, 1, out, &total), 0);
	assert_int_equal(total, 0);
	assert_int_equal(call_tree_sort(t), 0);
	assert_true(call_tree_total(t, WEIGHT_CPU) == 0);
	call_tree_free(t);
}

static void a_tree_may_be_very_deep(void **state)
{
	enum { DEPTH = 100000 };
	struct call_tree *t = call_tree_new();
	uint32_t node = CALL_TREE_ROOT, count;
	uint64_t *out, total;

	(void)state;
	for (int i = 0; i < DEPTH; i++) {
		node = call_tree_child(t, node, i % 2 ? "a" : "b");
		call_tree_add_weight(t, node, WEIGHT_CPU, 1.5);
	}
	assert_int_equal(call_tree_sort(t), 0);
	call_tree_nodes(t, &count);
	assert_int_equal(count, DEPTH + 1);
	out = calloc(count, sizeof(*out));
	assert_non_null(out);
	assert_int_equal(call_tree_round(t, WEIGHT_CPU, 1, out, &total), 0);
	assert_int_equal(total, DEPTH * 3 / 2);
	free(out);
	call_tree_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_paths_are_one_node),
		cmocka_unit_test(children_are_sorted_by_name),
		cmocka_unit_test(rounding_conserves_the_total),
		cmocka_unit_test(small_weights_are_not_lost_together),
		cmocka_unit_test(the_largest_remainders_are_rounded_up),
		cmocka_unit_test(whole_weights_stay_as_they_are),
		cmocka_unit_test(an_empty_tree_rounds_to_nothing),
		cmocka_unit_test(a_tree_may_be_very_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
