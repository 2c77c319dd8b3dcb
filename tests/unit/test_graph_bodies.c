/* SPDX-License-Identifier: MIT */
/*
 * Bodies of conditional nodes, as graph_nodes keeps them. Tests the nodes around a node, and its
 * launch, for clones, moved nodes, nesting and reused numbers.
 */
#include "unit.h"
#include "profiler/join/graph_nodes.h"

enum { P = 7, OTHER = 8, TID = 1 };

#define NODE(graph, index) ((uint64_t)(graph) << 32 | (index))
/* Stack of a node, from the graph and index that it had first. */
#define STACK(graph, index) ((graph)*100 + (index))

static uint64_t now;

static int begin(void **state)
{
	now = 100;
	*state = calloc(1, sizeof(struct graph_nodes));
	return *state ? 0 : -1;
}

static int end(void **state)
{
	graph_nodes_release(*state);
	free(*state);
	return 0;
}

static void make(struct graph_nodes *g, uint32_t graph, uint32_t index)
{
	assert_int_equal(graph_nodes_made(g, P, TID, NODE(graph, index), ++now,
					  CAPTURE_STACK(STACK(graph, index))),
			 0);
}

/* Clones a node as CUPTI reports it: made, then cloned. */
static void copy(struct graph_nodes *g, uint64_t id, uint64_t origin)
{
	graph_nodes_made(g, P, TID, id, ++now, CAPTURE_STACK(9999));
	graph_nodes_cloned(g, P, TID, id, origin);
}

/* Reports a body made now, as CUPTI does when the body's node has been created. */
static void body(struct graph_nodes *g, uint32_t number, uint64_t holder)
{
	assert_int_equal(graph_nodes_body(g, P, number, holder, ++now), 0);
}

/* Makes graph 1, whose node 1 has bodies 2 and 3. Graph 3 has a node 1 with body 4. */
static void make_nested(struct graph_nodes *g)
{
	make(g, 1, 0);
	make(g, 1, 1);
	body(g, 2, NODE(1, 1));
	body(g, 3, NODE(1, 1));
	make(g, 2, 0);
	make(g, 3, 0);
	make(g, 3, 1);
	body(g, 4, NODE(3, 1));
	make(g, 4, 0);
	make(g, 4, 1);
}

/* Clones nested bodies as CUPTI reports them: nodes of a body first, then the body's owner when
 * its node is made. */
static void copy_nested(struct graph_nodes *g, uint32_t first)
{
	uint64_t since = ++now;

	copy(g, NODE(first, 0), NODE(1, 0));
	copy(g, NODE(first + 1, 0), NODE(2, 0));
	copy(g, NODE(first + 2, 0), NODE(3, 0));
	copy(g, NODE(first + 3, 0), NODE(4, 0));
	copy(g, NODE(first + 3, 1), NODE(4, 1));
	graph_nodes_made(g, P, TID, NODE(first + 2, 1), ++now, CAPTURE_STACK(9999));
	graph_nodes_body(g, P, first + 3, NODE(first + 2, 1), since);
	graph_nodes_cloned(g, P, TID, NODE(first + 2, 1), NODE(3, 1));
	graph_nodes_made(g, P, TID, NODE(first, 1), ++now, CAPTURE_STACK(9999));
	graph_nodes_body(g, P, first + 1, NODE(first, 1), since);
	graph_nodes_body(g, P, first + 2, NODE(first, 1), since);
	graph_nodes_cloned(g, P, TID, NODE(first, 1), NODE(1, 1));
}

/* Instantiates a clone: nodes of its bodies become the graph's, after the graph's own nodes. */
static void move_nested(struct graph_nodes *g, uint32_t first)
{
	graph_nodes_made(g, P, TID, NODE(first, 7), ++now, CAPTURE_STACK(9999));
	graph_nodes_made(g, P, TID, NODE(first, 8), ++now, CAPTURE_STACK(9999));
	graph_nodes_moved(g, P, NODE(first, 2), NODE(first + 1, 0));
	graph_nodes_moved(g, P, NODE(first, 3), NODE(first + 2, 0));
	graph_nodes_moved(g, P, NODE(first, 5), NODE(first + 3, 0));
	graph_nodes_moved(g, P, NODE(first, 6), NODE(first + 3, 1));
	graph_nodes_moved(g, P, NODE(first, 4), NODE(first + 2, 1));
}

static void expect_around(struct graph_nodes *g, uint64_t id, uint64_t time, uint32_t count,
			  uint32_t inner, uint32_t outer)
{
	struct stack_id stacks[GRAPH_NODES_DEPTH];

	assert_int_equal(graph_nodes_enclosing(g, P, id, time, stacks), count);
	if (count > 0)
		assert_int_equal(stacks[0].number, inner);
	if (count > 1)
		assert_int_equal(stacks[1].number, outer);
}

static void expect_nested(struct graph_nodes *g, uint32_t first)
{
	expect_around(g, NODE(first, 0), now, 0, 0, 0);
	expect_around(g, NODE(first + 1, 0), now, 1, STACK(1, 1), 0);
	expect_around(g, NODE(first + 2, 0), now, 1, STACK(1, 1), 0);
	expect_around(g, NODE(first + 3, 1), now, 2, STACK(3, 1), STACK(1, 1));
	assert_int_equal(graph_nodes_find(g, P, NODE(first + 3, 1), now).number, STACK(4, 1));
	assert_int_equal(graph_nodes_find(g, P, NODE(first, 0), now).number, STACK(1, 0));
}

static void nodes_of_bodies_are_within_conditional_nodes(void **state)
{
	struct graph_nodes *g = *state;
	struct stack_id stacks[GRAPH_NODES_DEPTH];

	assert_false(graph_nodes_has_bodies(g));
	expect_around(g, NODE(2, 0), now, 0, 0, 0);
	make_nested(g);
	assert_true(graph_nodes_has_bodies(g));
	expect_nested(g, 1);
	assert_int_equal(graph_nodes_enclosing(g, OTHER, NODE(4, 0), now, stacks), 0);
}

static void expect_moved(struct graph_nodes *g, uint32_t first)
{
	expect_around(g, NODE(first, 0), now, 0, 0, 0);
	expect_around(g, NODE(first, 2), now, 1, STACK(1, 1), 0);
	expect_around(g, NODE(first, 3), now, 1, STACK(1, 1), 0);
	expect_around(g, NODE(first, 5), now, 2, STACK(3, 1), STACK(1, 1));
	expect_around(g, NODE(first, 6), now, 2, STACK(3, 1), STACK(1, 1));
	assert_int_equal(graph_nodes_find(g, P, NODE(first, 2), now).number, STACK(2, 0));
	assert_int_equal(graph_nodes_find(g, P, NODE(first, 6), now).number, STACK(4, 1));
}

static void moved_nodes_stay_within_conditional_nodes(void **state)
{
	struct graph_nodes *g = *state;

	make_nested(g);
	for (uint32_t first = 10; first <= 40; first += 10) {
		copy_nested(g, first);
		move_nested(g, first);
		graph_nodes_launched(g, P, first, ++now, first);
	}
	for (uint32_t first = 10; first <= 40; first += 10) {
		expect_moved(g, first);
		for (uint32_t index = 0; index <= 6; index++)
			assert_int_equal(graph_nodes_launch(g, P, NODE(first, index), now), first);
	}
	/* the numbers of bodies are free again */
	for (uint32_t first = 10; first <= 40; first += 10)
		for (uint32_t n = 1; n <= 3; n++)
			make(g, first + n, 0);
	for (uint32_t first = 10; first <= 40; first += 10)
		expect_moved(g, first);
	/* unknown nodes, and a node moved onto itself */
	graph_nodes_moved(g, P, NODE(10, 9), NODE(99, 0));
	graph_nodes_moved(g, P, NODE(99, 0), NODE(10, 2));
	graph_nodes_moved(g, P, NODE(10, 9), NODE(10, 2));
	expect_around(g, NODE(10, 9), now, 0, 0, 0);
	assert_int_equal(graph_nodes_find(g, P, NODE(10, 9), now).number, CAPTURE_UNSEEN.number);
}

static void clones_of_bodies_belong_to_clones_of_nodes(void **state)
{
	struct graph_nodes *g = *state;

	make_nested(g);
	for (uint32_t first = 10; first <= 40; first += 10)
		copy_nested(g, first);
	for (uint32_t first = 10; first <= 40; first += 10) {
		expect_nested(g, first);
		graph_nodes_launched(g, P, first, ++now, first);
	}
	for (uint32_t first = 10; first <= 40; first += 10)
		for (uint32_t body = 1; body <= 3; body++)
			assert_int_equal(graph_nodes_launch(g, P, NODE(first + body, 0), now),
					 first);
}

static void a_number_used_again_is_no_body(void **state)
{
	struct graph_nodes *g = *state;
	uint64_t before;

	make_nested(g);
	copy_nested(g, 10);
	graph_nodes_launched(g, P, 10, ++now, 77);
	before = now;
	now += 10;
	make(g, 2, 0);
	copy(g, NODE(13, 0), NODE(2, 0));
	expect_around(g, NODE(13, 0), now, 0, 0, 0);
	assert_int_equal(graph_nodes_launch(g, P, NODE(13, 0), now), 0);
	/* earlier work keeps its place */
	expect_around(g, NODE(13, 0), before, 2, STACK(3, 1), STACK(1, 1));
	assert_int_equal(graph_nodes_launch(g, P, NODE(13, 0), before), 77);
	/* a body once more, of another node */
	make(g, 70, 0);
	body(g, 2, NODE(70, 0));
	make(g, 2, 0);
	expect_around(g, NODE(2, 0), now, 1, STACK(70, 0), 0);
}

static void launches_are_found_by_time(void **state)
{
	struct graph_nodes *g = *state;

	make_nested(g);
	copy_nested(g, 10);
	copy_nested(g, 20);
	now = 1000;
	assert_int_equal(graph_nodes_launch(g, P, NODE(13, 0), now), 0);
	graph_nodes_launched(g, P, 10, 1100, 1);
	graph_nodes_launched(g, P, 20, 1200, 2);
	graph_nodes_launched(g, P, 10, 1300, 3);
	graph_nodes_launched(g, P, 10, 1310, 3); /* told twice */
	graph_nodes_launched(g, P, 99, 1300, 4); /* an unknown graph */
	graph_nodes_launched(g, P, 13, 1300, 5); /* is a body */
	graph_nodes_launched(g, P, 10, 1300, 0);
	assert_int_equal(graph_nodes_launch(g, P, NODE(13, 0), 1099), 0);
	assert_int_equal(graph_nodes_launch(g, P, NODE(13, 0), 1100), 1);
	assert_int_equal(graph_nodes_launch(g, P, NODE(13, 0), 1299), 1);
	assert_int_equal(graph_nodes_launch(g, P, NODE(13, 0), 1300), 3);
	assert_int_equal(graph_nodes_launch(g, P, NODE(11, 0), GRAPH_NODES_NEWEST), 3);
	assert_int_equal(graph_nodes_launch(g, P, NODE(23, 0), 1500), 2);
	assert_int_equal(graph_nodes_launch(g, P, NODE(10, 0), 1500), 3);
	assert_int_equal(graph_nodes_launch(g, P, NODE(1, 0), 1500), 0); /* was not launched */
	assert_int_equal(graph_nodes_launch(g, OTHER, NODE(13, 0), 1500), 0);
}

static void launches_are_bounded(void **state)
{
	struct graph_nodes *g = *state;

	make_nested(g);
	copy_nested(g, 10);
	for (uint32_t i = 1; i <= 2 * GRAPH_NODES_LAUNCHES; i++)
		graph_nodes_launched(g, P, 10, 1000 + i, i);
	assert_int_equal(graph_nodes_launch(g, P, NODE(11, 0), GRAPH_NODES_NEWEST),
			 2 * GRAPH_NODES_LAUNCHES);
	assert_int_equal(graph_nodes_launch(g, P, NODE(11, 0), 1005), 0);
	for (uint32_t i = 0; i < 3 * GRAPH_NODES_NEW_BODIES; i++)
		body(g, 1000 + i, NODE(1, 1));
	make(g, 1000, 0);
	expect_around(g, NODE(1000, 0), now, 0, 0, 0);
	make(g, 1000 + 3 * GRAPH_NODES_NEW_BODIES - 1, 0);
	expect_around(g, NODE(1000 + 3 * GRAPH_NODES_NEW_BODIES - 1, 0), now, 1, STACK(1, 1), 0);
}

/* Whatever a process claims: bodies of themselves, of each other, clones of all of these. */
static void nonsense_ends(void **state)
{
	struct stack_id stacks[GRAPH_NODES_DEPTH];
	struct graph_nodes *g = *state;

	make(g, 1, 0);
	body(g, 1, NODE(1, 0));
	graph_nodes_body(g, P, 1, NODE(1, 0), 0);
	body(g, 2, NODE(1, 0));
	body(g, 1, NODE(2, 0));
	for (uint64_t round = 1; round < 200; round++) {
		struct prng random = prng_round(round);

		for (int i = 0; i < 300; i++) {
			uint64_t id = NODE(1 + prng_below(&random, 6), prng_below(&random, 3));
			uint64_t other = NODE(1 + prng_below(&random, 6), prng_below(&random, 3));
			uint64_t time = prng_below(&random, now + 10);

			switch (prng_below(&random, 7)) {
			case 0:
				graph_nodes_body(g, P, (uint32_t)(id >> 32), other, time);
				break;
			case 5:
				graph_nodes_moved(g, P, id, other);
				break;
			case 1:
				graph_nodes_made(g, P, TID, id, ++now, CAPTURE_STACK(5));
				break;
			case 2:
				graph_nodes_launched(g, P, (uint32_t)(id >> 32), time, 1);
				break;
			case 3:
				graph_nodes_launch(g, P, id, time);
				break;
			case 4:
				EXPECT(&random, graph_nodes_enclosing(g, P, id, time, stacks) <=
							GRAPH_NODES_DEPTH);
				break;
			default:
				graph_nodes_cloned(g, P, TID, id, other);
				break;
			}
		}
	}
	graph_nodes_forget(g, P);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nodes_of_bodies_are_within_conditional_nodes),
		TEST(clones_of_bodies_belong_to_clones_of_nodes),
		TEST(moved_nodes_stay_within_conditional_nodes),
		TEST(a_number_used_again_is_no_body),
		TEST(launches_are_found_by_time),
		TEST(launches_are_bounded),
		TEST(nonsense_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
