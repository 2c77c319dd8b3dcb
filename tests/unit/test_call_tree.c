/* SPDX-License-Identifier: MIT */
/* The tree of a result: equal names are one node, children are sorted, nothing is lost. */
#include "made_result.h"
#include "profiler/shape/call_tree.h"
#include "profiler/shape/rounding.h"

static struct call_tree *tree_of(const struct made_result *m)
{
	struct call_tree *tree = call_tree_new(&m->result);

	assert_non_null(tree);
	return tree;
}

/* Returns the child of a node with this name, or CALL_TREE_NONE. */
static uint32_t child(const struct call_tree *t, uint32_t node, const char *name)
{
	uint32_t count, at;
	const struct call_node *nodes = call_tree_nodes(t, &count);

	at = nodes[node].first_child;
	while (at != CALL_TREE_NONE && strcmp(nodes[at].name, name) != 0)
		at = nodes[at].next_sibling;
	return at;
}

static void equal_paths_are_one_node(void **state)
{
	char name[] = "main"; /* compared by text, not by address */
	const struct call_node *nodes;
	struct made_result m;
	struct call_tree *t;
	uint32_t main_node, count;

	(void)state;
	made_begin(&m);
	made_add(&m, MADE_STACK(&m, "main"), ROW_CPU, 1);
	made_add(&m, MADE_STACK(&m, name), ROW_CPU, 2);
	made_add(&m, MADE_STACK(&m, "main", "main"), ROW_CPU, 4);
	made_add(&m, MADE_STACK(&m, name, "main"), ROW_CPU, 8);
	made_add(&m, MADE_STACK(&m, "main2"), ROW_CPU, 16);
	t = tree_of(&m);
	nodes = call_tree_nodes(t, &count);
	assert_int_equal(count, 4);
	assert_null(nodes[CALL_TREE_ROOT].name);
	assert_int_equal(nodes[CALL_TREE_ROOT].parent, CALL_TREE_NONE);
	main_node = child(t, CALL_TREE_ROOT, "main");
	assert_true(nodes[main_node].weight_ns[ROW_CPU] == 3);
	assert_true(nodes[child(t, main_node, "main")].weight_ns[ROW_CPU] == 12);
	assert_true(nodes[child(t, CALL_TREE_ROOT, "main2")].weight_ns[ROW_CPU] == 16);
	call_tree_free(t);
	call_tree_free(NULL);
	made_end(&m);
}

static void kinds_are_weighed_apart(void **state)
{
	struct made_result m;
	struct call_tree *t;
	const struct call_node *nodes;
	uint32_t stack, count, at;

	(void)state;
	made_begin(&m);
	stack = MADE_STACK(&m, "main", "work");
	for (uint32_t kind = 0; kind < ROW_KINDS; kind++) {
		made_add(&m, stack, (enum row_kind)kind, 10 + kind);
		made_add(&m, stack, (enum row_kind)kind, 100);
	}
	made_add(&m, MADE_STACK(&m, "main"), ROW_GPU, 1000);
	t = tree_of(&m);
	nodes = call_tree_nodes(t, &count);
	at = child(t, child(t, CALL_TREE_ROOT, "main"), "work");
	for (uint32_t kind = 0; kind < ROW_KINDS; kind++) {
		double own = 110 + kind;

		assert_true(nodes[at].weight_ns[kind] == own);
		assert_true(nodes[nodes[at].parent].weight_ns[kind] ==
			    (kind == ROW_GPU ? 1000 : 0));
		assert_true(call_tree_total(t, (enum row_kind)kind) ==
			    own + (kind == ROW_GPU ? 1000 : 0));
	}
	call_tree_free(t);
	made_end(&m);
}

static void children_are_sorted_by_name(void **state)
{
	const struct call_node *nodes;
	struct prng p = prng_round(0);
	static char names[500][8];
	uint32_t count, seen = 0, last = CALL_TREE_NONE;
	struct made_result m;
	struct call_tree *t;

	(void)state;
	made_begin(&m);
	for (uint32_t i = 0; i < 500; i++) {
		snprintf(names[i], sizeof(names[i]), "%c%u", (int)(prng_u64(&p) | 1) & 0xff,
			 i % 400);
		MADE_STACK(&m, "a", names[i]);
		MADE_STACK(&m, names[i]);
	}
	t = tree_of(&m);
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
	made_end(&m);
}

/* Random results: the weights of rows are in the tree, each in the node of its path. */
static void random_trees_hold_all_rows(void **state)
{
	static const char *const names[] = {"a", "b", "c", "d"};

	(void)state;
	for (uint64_t round = 0; round < unit_rounds(200); round++) {
		struct prng p = prng_round(round);
		double whole[ROW_KINDS] = {0}, by_path[5][5][5];
		const struct call_node *nodes;
		struct made_result m;
		struct call_tree *t;
		uint32_t count;

		memset(by_path, 0, sizeof(by_path));
		made_begin(&m);
		for (uint64_t n = prng_below(&p, 300); n > 0; n--) {
			enum row_kind kind = (enum row_kind)prng_below(&p, ROW_KINDS);
			uint64_t ns = prng_bits(&p, 30), path[3] = {4, 4, 4};
			uint32_t stack = RESULT_ROOT;

			for (uint64_t i = 0, depth = prng_below(&p, 4); i < depth; i++) {
				path[i] = prng_below(&p, 4);
				stack = made_push(&m, stack, names[path[i]]);
			}
			made_add(&m, stack, kind, ns);
			whole[kind] += (double)ns;
			by_path[path[0]][path[1]][path[2]] += (double)ns;
		}
		t = tree_of(&m);
		nodes = call_tree_nodes(t, &count);
		for (uint32_t kind = 0; kind < ROW_KINDS; kind++)
			EXPECT(&p, call_tree_total(t, (enum row_kind)kind) == whole[kind]);
		for (uint32_t i = 0; i < count; i++) {
			uint64_t path[3] = {4, 4, 4};
			uint32_t depth = 0, at;
			double own = 0;

			for (at = i; at != CALL_TREE_ROOT; at = nodes[at].parent)
				depth++;
			for (at = i; at != CALL_TREE_ROOT; at = nodes[at].parent)
				path[--depth] = (uint64_t)(nodes[at].name[0] - 'a');
			for (uint32_t kind = 0; kind < ROW_KINDS; kind++)
				own += nodes[i].weight_ns[kind];
			EXPECT(&p, own == by_path[path[0]][path[1]][path[2]]);
		}
		call_tree_free(t);
		made_end(&m);
	}
}

static void an_empty_result_is_an_empty_tree(void **state)
{
	struct made_result m;
	struct call_tree *t;
	uint32_t count;

	(void)state;
	made_begin(&m);
	t = tree_of(&m);
	assert_int_equal(call_tree_nodes(t, &count)[CALL_TREE_ROOT].first_child, CALL_TREE_NONE);
	assert_int_equal(count, 1);
	for (uint32_t kind = 0; kind < ROW_KINDS; kind++)
		assert_true(call_tree_total(t, (enum row_kind)kind) == 0);
	call_tree_free(t);
	made_end(&m);
}

static void a_tree_may_be_very_deep(void **state)
{
	enum { DEPTH = 100000 };
	uint32_t stack = RESULT_ROOT, count;
	const struct call_node *nodes;
	struct made_result m;
	struct call_tree *t;
	double *weights;
	uint64_t *out, total;

	(void)state;
	made_begin(&m);
	for (int i = 0; i < DEPTH; i++) {
		stack = made_push(&m, stack, i % 2 ? "a" : "b");
		made_add(&m, stack, ROW_CPU, 3);
	}
	t = tree_of(&m);
	nodes = call_tree_nodes(t, &count);
	assert_int_equal(count, DEPTH + 1);
	assert_true(call_tree_total(t, ROW_CPU) == 3.0 * DEPTH);
	out = calloc(count, sizeof(*out));
	weights = calloc(count, sizeof(*weights));
	assert_true(out && weights);
	for (uint32_t i = 0; i < count; i++)
		weights[i] = nodes[i].weight_ns[ROW_CPU];
	assert_int_equal(round_to_units(weights, count, 2, out, &total), 0);
	assert_int_equal(total, DEPTH * 3 / 2);
	free(out);
	free(weights);
	call_tree_free(t);
	made_end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_paths_are_one_node),
		cmocka_unit_test(kinds_are_weighed_apart),
		cmocka_unit_test(children_are_sorted_by_name),
		cmocka_unit_test(random_trees_hold_all_rows),
		cmocka_unit_test(an_empty_result_is_an_empty_tree),
		cmocka_unit_test(a_tree_may_be_very_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
