/* SPDX-License-Identifier: MIT */
#include "made_result.h"
#include "profiler/formats/flame_layout.h"

static const struct flame_limits no_limits = {.boxes = UINT32_MAX, .depth = UINT32_MAX - 1};

struct laid_out {
	struct call_tree *tree;
	const struct call_node *nodes;
	uint32_t node_count;
	struct flame_layout layout;
};

static struct laid_out lay_out(const struct made_result *m, const struct flame_limits *limits)
{
	struct laid_out l = {.tree = call_tree_new(&m->result)};

	assert_non_null(l.tree);
	l.nodes = call_tree_nodes(l.tree, &l.node_count);
	assert_int_equal(flame_layout_make(&l.layout, l.tree, limits), 0);
	return l;
}

static void release(struct laid_out *l, struct made_result *m)
{
	flame_layout_release(&l->layout);
	call_tree_free(l->tree);
	made_end(m);
}

static uint32_t deepest(const struct flame_layout *layout)
{
	uint32_t depth = 0;

	for (uint32_t i = 0; i < layout->count; i++)
		if (layout->boxes[i].depth > depth)
			depth = layout->boxes[i].depth;
	return depth;
}

static const char *name_of(const struct laid_out *l, uint32_t box)
{
	return l->nodes[l->layout.boxes[box].node].name;
}

static void callees_follow_their_caller_the_largest_first(void **state)
{
	struct made_result m;
	struct laid_out l;

	(void)state;
	made_begin(&m);
	made_add(&m, MADE_STACK(&m, "a", "small"), ROW_CPU, 10);
	made_add(&m, MADE_STACK(&m, "a", "large"), ROW_GPU, 30);
	made_add(&m, MADE_STACK(&m, "b"), ROW_WAIT, 100);
	made_add(&m, MADE_STACK(&m, "a"), ROW_CPU, 5);
	made_add(&m, MADE_STACK(&m, "nothing"), ROW_CPU, 0);
	l = lay_out(&m, &no_limits);
	assert_int_equal(l.layout.count, 5);
	assert_string_equal(name_of(&l, 1), "b");
	assert_string_equal(name_of(&l, 2), "a");
	assert_string_equal(name_of(&l, 3), "large");
	assert_string_equal(name_of(&l, 4), "small");
	assert_true(l.layout.boxes[0].total_ns == 145);
	assert_true(l.layout.boxes[2].start_ns == 100 && l.layout.boxes[2].total_ns == 45);
	assert_true(l.layout.boxes[3].start_ns == 100);
	assert_true(l.layout.boxes[4].start_ns == 130);
	assert_int_equal(l.layout.boxes[4].depth, 2);
	assert_int_equal(l.layout.boxes[4].parent, 2);
	assert_int_equal(deepest(&l.layout), 2);
	assert_true(l.layout.boxes[2].all.ns[ROW_GPU] == 30);
	assert_true(l.layout.boxes[2].all.ns[ROW_CPU] == 15);
	assert_int_equal(l.layout.boxes[2].all.count[ROW_CPU], 2);
	assert_int_equal(l.layout.narrow + l.layout.deep, 0);
	release(&l, &m);
}

static void layers_stand_as_they_ran(void **state)
{
	static const char *const wanted[] = {"a", "[h.1]", "[h.0]", "[h.2]", "large", "small"};
	struct made_result m;
	struct laid_out l;

	(void)state;
	made_begin(&m);
	made_add(&m, MADE_STACK(&m, "a", "small"), ROW_CPU, 10);
	for (int i = 0; i < 3; i++) {
		static const char *const names[] = {"[h.1]", "[h.0]", "[h.2]"};
		uint32_t stack = MADE_STACK(&m, "a", names[i]);

		m.frames[m.stacks[stack].frame].class = CLASS_LAYER;
		made_add(&m, stack, ROW_GPU, 20 + 5 * (uint64_t)i);
	}
	made_add(&m, MADE_STACK(&m, "a", "large"), ROW_GPU, 100);
	l = lay_out(&m, &no_limits);
	assert_int_equal(l.layout.count, 7);
	for (uint32_t i = 0; i < 6; i++)
		assert_string_equal(name_of(&l, i + 1), wanted[i]);
	assert_true(l.layout.boxes[2].start_ns == 0 && l.layout.boxes[3].start_ns == 20);
	assert_true(l.layout.boxes[5].start_ns == 75);
	release(&l, &m);
}

static void equal_ones_are_in_the_order_of_their_names(void **state)
{
	struct made_result m;
	struct laid_out l;

	(void)state;
	made_begin(&m);
	made_add(&m, MADE_STACK(&m, "c"), ROW_CPU, 1);
	made_add(&m, MADE_STACK(&m, "a"), ROW_CPU, 1);
	made_add(&m, MADE_STACK(&m, "b"), ROW_CPU, 1);
	l = lay_out(&m, &no_limits);
	assert_string_equal(name_of(&l, 1), "a");
	assert_string_equal(name_of(&l, 2), "b");
	assert_string_equal(name_of(&l, 3), "c");
	release(&l, &m);
}

static void narrow_ones_stay_in_their_caller(void **state)
{
	const struct flame_limits limits = {.least_share = 0.01, .boxes = 100, .depth = 100};
	struct made_result m;
	struct laid_out l;

	(void)state;
	made_begin(&m);
	made_add(&m, MADE_STACK(&m, "a"), ROW_CPU, 980);
	made_add(&m, MADE_STACK(&m, "a", "enough"), ROW_CPU, 10);
	made_add(&m, MADE_STACK(&m, "a", "narrow", "inside"), ROW_GPU, 6);
	made_add(&m, MADE_STACK(&m, "a", "narrow"), ROW_CPU, 3);
	m.rows[m.result.row_count - 2].bytes = 77;
	made_add(&m, MADE_STACK(&m, "z"), ROW_CPU, 1);
	l = lay_out(&m, &limits);
	assert_int_equal(l.layout.count, 3);
	assert_int_equal(l.layout.narrow, 3);
	assert_true(l.layout.least_ns == 10);
	assert_true(l.layout.boxes[1].total_ns == 999);
	assert_int_equal(l.layout.boxes[1].left_out, 2);
	assert_true(l.layout.boxes[1].rest.ns[ROW_GPU] == 6);
	assert_true(l.layout.boxes[1].rest.ns[ROW_CPU] == 3);
	assert_int_equal(l.layout.boxes[1].rest.count[ROW_GPU], 1);
	assert_int_equal(l.layout.boxes[1].rest.bytes, 77);
	assert_int_equal(l.layout.boxes[0].left_out, 1);
	assert_true(l.layout.boxes[0].rest.ns[ROW_CPU] == 1);
	assert_true(l.layout.boxes[0].all.ns[ROW_CPU] == 994);
	release(&l, &m);
}

static void deep_ones_stay_in_their_caller(void **state)
{
	enum { DEPTH = 100000 };
	const struct flame_limits limits = {.boxes = UINT32_MAX, .depth = 400};
	uint32_t stack = RESULT_ROOT;
	struct made_result m;
	struct laid_out l;

	(void)state;
	made_begin(&m);
	for (int i = 0; i < DEPTH; i++)
		stack = made_push(&m, stack, "recursive");
	made_add(&m, stack, ROW_CPU, 7);
	l = lay_out(&m, &limits);
	assert_int_equal(l.layout.count, 401);
	assert_int_equal(deepest(&l.layout), 400);
	assert_int_equal(l.layout.deep, DEPTH - 400);
	assert_int_equal(l.layout.narrow, 0);
	assert_int_equal(l.layout.boxes[400].left_out, DEPTH - 400);
	assert_true(l.layout.boxes[400].total_ns == 7);
	assert_true(l.layout.boxes[400].rest.ns[ROW_CPU] == 7);
	release(&l, &m);
	made_begin(&m);
	stack = RESULT_ROOT;
	for (int i = 0; i < DEPTH; i++)
		stack = made_push(&m, stack, "recursive");
	made_add(&m, stack, ROW_CPU, 7);
	l = lay_out(&m, &no_limits);
	assert_int_equal(l.layout.count, DEPTH + 1);
	release(&l, &m);
}

static void an_empty_tree_has_its_root(void **state)
{
	struct made_result m;
	struct laid_out l;

	(void)state;
	made_begin(&m);
	l = lay_out(&m, &no_limits);
	assert_int_equal(l.layout.count, 1);
	assert_true(l.layout.boxes[0].total_ns == 0);
	assert_int_equal(l.layout.boxes[0].parent, FLAME_NO_BOX);
	release(&l, &m);
}

static void check_sums(struct prng *p, const struct laid_out *l, const uint64_t *ns)
{
	const struct flame_layout *layout = &l->layout;
	double sum[ROW_KINDS] = {0};
	uint32_t left_out = 0;

	for (uint32_t i = 0; i < layout->count; i++) {
		const struct flame_box *box = &layout->boxes[i];
		const struct flame_box *outer = i ? &layout->boxes[box->parent] : NULL;

		left_out += box->left_out;
		for (int k = 0; k < ROW_KINDS; k++)
			sum[k] += l->nodes[box->node].weight_ns[k] + box->rest.ns[k];
		EXPECT(p, !outer || (box->parent < i && box->depth == outer->depth + 1));
		EXPECT(p, !outer || (box->start_ns >= outer->start_ns &&
				     box->start_ns + box->total_ns <=
					     outer->start_ns + outer->total_ns));
		EXPECT(p, i < 2 || box->parent != layout->boxes[i - 1].parent ||
				  box->total_ns <= layout->boxes[i - 1].total_ns);
	}
	for (int k = 0; k < ROW_KINDS; k++) {
		EXPECT(p, sum[k] == (double)ns[k]);
		EXPECT(p, layout->boxes[0].all.ns[k] == (double)ns[k]);
	}
	EXPECT(p, left_out == layout->narrow + layout->deep);
}

/* Random trees and limits: nothing is lost, the limits hold, boxes lie within their callers. */
static void random_trees_add_up(void **state)
{
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g"};

	(void)state;
	for (uint64_t round = 0; round < unit_rounds(300); round++) {
		struct prng p = prng_round(round);
		const struct flame_limits limits = {
			.least_share =
				prng_chance(&p, 50) ? 0 : 1.0 / (double)(1 + prng_bits(&p, 12)),
			.boxes = (uint32_t)(1 + prng_bits(&p, 10)),
			.depth = (uint32_t)(1 + prng_below(&p, 12))};
		uint64_t ns[ROW_KINDS] = {0};
		struct made_result m;
		struct laid_out l;

		made_begin(&m);
		for (uint64_t n = prng_below(&p, 200); n > 0; n--) {
			uint64_t weight = prng_bits(&p, 30);
			enum row_kind kind = (enum row_kind)prng_below(&p, ROW_KINDS);
			uint32_t stack = RESULT_ROOT;

			for (uint64_t depth = 1 + prng_below(&p, 12); depth > 0; depth--)
				stack = made_push(&m, stack, names[prng_below(&p, 7)]);
			made_add(&m, stack, kind, weight);
			ns[kind] += weight;
		}
		l = lay_out(&m, &limits);
		check_sums(&p, &l, ns);
		EXPECT(&p, deepest(&l.layout) <= limits.depth);
		/* boxes that take all of the time stay */
		EXPECT(&p, l.layout.count <= limits.boxes ||
				   l.layout.least_ns >= l.layout.boxes[0].total_ns);
		release(&l, &m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(callees_follow_their_caller_the_largest_first),
		cmocka_unit_test(layers_stand_as_they_ran),
		cmocka_unit_test(equal_ones_are_in_the_order_of_their_names),
		cmocka_unit_test(narrow_ones_stay_in_their_caller),
		cmocka_unit_test(deep_ones_stay_in_their_caller),
		cmocka_unit_test(an_empty_tree_has_its_root),
		cmocka_unit_test(random_trees_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
