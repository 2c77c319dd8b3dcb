/* SPDX-License-Identifier: MIT */
/*
 * Creation sites of graph nodes: announcements and their times, then random lives of graphs
 * compared with a model. The module is built into this test, with small limits.
 */
#include "unit.h"

#include "profiler/join/graph_nodes.h"

enum { PROCESS = 100, OTHER = 200, TID = 101 };
#define UNKNOWN CAPTURE_UNSEEN
#define ID(graph, index) ((uint64_t)(graph) << 32 | (index))

enum { FEW = 4096 }; /* graphs, and nodes */

static uint64_t now; /* clock of the directed tests; advances at each node */

static int begin(void **state)
{
	struct graph_nodes *g = calloc(1, sizeof(*g));

	now = 0;
	*state = g;
	if (!g)
		return -1;
	g->nodes_max = g->graphs_max = FEW;
	return 0;
}

static int end(void **state)
{
	graph_nodes_release(*state);
	free(*state);
	return 0;
}

static void made(struct graph_nodes *g, uint64_t id, uint32_t stack)
{
	assert_int_equal(graph_nodes_made(g, PROCESS, TID, id, ++now, CAPTURE_STACK(stack)), 0);
}

/* Clones a node as CUPTI reports it: the cloning call makes the new node, which then becomes a
 * clone. */
static void cloned(struct graph_nodes *g, uint64_t id, uint64_t origin)
{
	made(g, id, 666);
	assert_int_equal(graph_nodes_cloned(g, PROCESS, TID, id, origin), 0);
}

#define FOUND_AT(g, id, time_ns, stack) \
	assert_int_equal(graph_nodes_find(g, PROCESS, id, time_ns).number, stack)
#define FOUND(g, id, stack) FOUND_AT(g, id, GRAPH_NODES_NEWEST, stack)
#define FOUND_OTHER(g, id, stack) \
	assert_int_equal(graph_nodes_find(g, OTHER, id, GRAPH_NODES_NEWEST).number, stack)

/* ---- one by one ---- */

static void a_node_has_the_stack_that_made_it(void **state)
{
	struct graph_nodes *g = *state;

	made(g, ID(1, 0), 10);
	made(g, ID(1, 1), 11);
	made(g, ID(2, 0), 20);
	FOUND(g, ID(1, 0), 10);
	FOUND(g, ID(1, 1), 11);
	FOUND(g, ID(2, 0), 20);
}

static void unannounced_nodes_are_unknown(void **state)
{
	struct graph_nodes *g = *state;

	FOUND(g, ID(1, 0), CAPTURE_UNSEEN.number);
	FOUND(g, 0, CAPTURE_UNSEEN.number);
	FOUND(g, UINT64_MAX, CAPTURE_UNSEEN.number);
	made(g, ID(1, 0), 10);
	FOUND(g, ID(1, 1), CAPTURE_UNSEEN.number);
	FOUND(g, ID(0, 1), CAPTURE_UNSEEN.number);
	FOUND_OTHER(g, ID(1, 0), CAPTURE_UNSEEN.number);
	/* a node that was made out of sight */
	made(g, ID(3, 0), UNKNOWN.number);
	FOUND(g, ID(3, 0), CAPTURE_UNSEEN.number);
	cloned(g, ID(4, 0), ID(9, 9));
	FOUND(g, ID(4, 0), CAPTURE_UNSEEN.number);
}

static void no_node_has_the_id_0(void **state)
{
	struct graph_nodes *g = *state;

	made(g, 0, 1);
	FOUND(g, 0, CAPTURE_UNSEEN.number);
	assert_int_equal(graph_nodes_cloned(g, PROCESS, TID, 0, ID(1, 0)), 0);
	FOUND(g, 0, CAPTURE_UNSEEN.number);
	assert_int_equal(g->node_count, 0);
}

static void a_clone_has_its_origins_stack(void **state)
{
	struct graph_nodes *g = *state;

	made(g, ID(1, 0), 10);
	made(g, ID(1, 1), 11);
	for (uint32_t graph = 2; graph < 50; graph++) {
		cloned(g, ID(graph, 0), ID(graph - 1, 0));
		cloned(g, ID(graph, 1), ID(graph - 1, 1));
	}
	for (uint32_t graph = 1; graph < 50; graph++) {
		FOUND(g, ID(graph, 0), 10);
		FOUND(g, ID(graph, 1), 11);
	}
}

static void an_origin_may_change_later(void **state)
{
	struct graph_nodes *g = *state;

	made(g, ID(1, 0), 10);
	cloned(g, ID(2, 0), ID(1, 0));
	made(g, ID(1, 0), 99); /* another graph by now */
	FOUND(g, ID(2, 0), 10);
	FOUND(g, ID(1, 0), 99);
	cloned(g, ID(2, 0), ID(1, 0));
	FOUND(g, ID(2, 0), 99);
}

static void a_reused_number_is_another_graph(void **state)
{
	struct graph_nodes *g = *state;
	uint64_t then;

	for (uint32_t i = 0; i < 5; i++)
		made(g, ID(1, i), 10 + i);
	then = now;
	made(g, ID(1, 0), 20);
	FOUND(g, ID(1, 0), 20);
	for (uint32_t i = 1; i < 5; i++)
		FOUND(g, ID(1, i), CAPTURE_UNSEEN.number);
	made(g, ID(1, 1), 21);
	FOUND(g, ID(1, 1), 21);
	FOUND(g, ID(1, 2), CAPTURE_UNSEEN.number);
	for (uint32_t i = 0; i < 5; i++)
		FOUND_AT(g, ID(1, i), then, 10 + i);
	FOUND_AT(g, ID(1, 0), then + 1, 20);
}

static void each_time_has_its_graph(void **state)
{
	const uint32_t lives = 1000;
	struct graph_nodes *g = *state;
	struct prng random = prng_round(0);

	for (uint32_t i = 0; i < lives; i++) {
		now = 10 * i + 10;
		cloned(g, ID(3, 0), ID(9, 9));
		assert_int_equal(
			graph_nodes_made(g, PROCESS, TID, ID(4, 0), 10 * i + 15, CAPTURE_STACK(i)),
			0);
		assert_int_equal(graph_nodes_made(g, PROCESS, TID, ID(3, 1), 10 * i + 16,
						  CAPTURE_STACK(5000 + i)),
				 0);
	}
	FOUND_AT(g, ID(4, 0), 14, CAPTURE_UNSEEN.number); /* before a node existed */
	for (uint32_t i = 0; i < 20 * lives; i++) {
		uint32_t life = (uint32_t)prng_below(&random, lives);
		uint64_t begun = 10 * (uint64_t)life + 15;

		FOUND_AT(g, ID(4, 0), begun + prng_below(&random, 10), life);
		FOUND_AT(g, ID(3, 1), begun, 5000 + life);
		FOUND_AT(g, ID(3, 0), begun, CAPTURE_UNSEEN.number); /* a clone of an unseen node */
	}
}

/* Two threads: an announcement about one number precedes an earlier one about another. */
static void order_between_numbers_does_not_matter(void **state)
{
	struct graph_nodes *g = *state;

	assert_int_equal(graph_nodes_made(g, PROCESS, TID, ID(1, 0), 100, CAPTURE_STACK(10)), 0);
	assert_int_equal(graph_nodes_made(g, PROCESS, TID, ID(2, 0), 50, CAPTURE_STACK(20)), 0);
	assert_int_equal(graph_nodes_made(g, PROCESS, TID, ID(1, 0), 200, CAPTURE_STACK(11)), 0);
	assert_int_equal(graph_nodes_made(g, PROCESS, TID, ID(2, 0), 150, CAPTURE_STACK(21)), 0);
	FOUND_AT(g, ID(1, 0), 199, 10);
	FOUND_AT(g, ID(1, 0), 200, 11);
	FOUND_AT(g, ID(2, 0), 149, 20);
	FOUND_AT(g, ID(2, 0), 150, 21);
	FOUND_AT(g, ID(1, 0), 99, CAPTURE_UNSEEN.number);
	FOUND_AT(g, ID(2, 0), 50, 20);
}

/* Unless times are invalid or missing: then the latest announcement counts. */
static void times_of_a_number_do_not_go_back(void **state)
{
	struct graph_nodes *g = *state;

	assert_int_equal(graph_nodes_made(g, PROCESS, TID, ID(1, 0), 100, CAPTURE_STACK(10)), 0);
	assert_int_equal(graph_nodes_made(g, PROCESS, TID, ID(1, 0), 50, CAPTURE_STACK(11)), 0);
	FOUND_AT(g, ID(1, 0), 100, 11);
	FOUND_AT(g, ID(1, 0), 99, CAPTURE_UNSEEN.number);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(
			graph_nodes_made(g, PROCESS, TID, ID(2, 0), 0, CAPTURE_STACK(20 + i)), 0);
		FOUND_AT(g, ID(2, 0), 0, 20 + i);
		FOUND_AT(g, ID(2, 0), 12345, 20 + i);
	}
}

/*
 * CUDA creates and drops a graph when it inlines a child. Only one node of that graph is announced,
 * with number 1.
 */
static void an_incidental_node_also_begins_a_graph(void **state)
{
	struct graph_nodes *g = *state;
	uint64_t then;

	for (uint32_t i = 0; i < 3; i++)
		made(g, ID(1, i), 10 + i);
	then = now;
	made(g, ID(1, 1), 666);
	for (uint32_t i = 0; i < 3; i++)
		FOUND_AT(g, ID(1, i), then, 10 + i);
	FOUND(g, ID(1, 1), 666);
	FOUND(g, ID(1, 2), 12); /* in case the node is this graph's after all */
	then = now;
	made(g, ID(1, 0), 20);
	FOUND(g, ID(1, 1), CAPTURE_UNSEEN.number);
	FOUND_AT(g, ID(1, 1), then, 666);
	made(g, ID(2, 1), 21); /* nothing was known of its number */
	made(g, ID(2, 1), 22);
	FOUND_AT(g, ID(2, 1), now - 1, 21);
	FOUND_AT(g, ID(2, 1), now, 22);
	FOUND(g, ID(2, 0), CAPTURE_UNSEEN.number);
}

/* However many of these there are, a lookup visits only a few. */
static void parts_without_end_are_bounded(void **state)
{
	struct graph_nodes *g = *state;

	made(g, ID(1, 2), 10);
	for (uint32_t i = 1; i <= GRAPH_NODES_MOST_PARTS + 1; i++) {
		made(g, ID(1, 1), i);
		FOUND(g, ID(1, 1), i);
		FOUND(g, ID(1, 2), i <= GRAPH_NODES_MOST_PARTS ? 10 : CAPTURE_UNSEEN.number);
	}
}

static void node_ids_are_per_process(void **state)
{
	struct graph_nodes *g = *state;

	made(g, ID(1, 0), 10);
	assert_int_equal(graph_nodes_made(g, OTHER, TID, ID(1, 0), ++now, CAPTURE_STACK(90)), 0);
	assert_int_equal(graph_nodes_made(g, OTHER, TID, ID(1, 1), ++now, CAPTURE_STACK(91)), 0);
	assert_int_equal(graph_nodes_cloned(g, OTHER, TID, ID(2, 0), ID(1, 0)), 0);
	FOUND(g, ID(1, 0), 10);
	FOUND(g, ID(2, 0), CAPTURE_UNSEEN.number);
	FOUND_OTHER(g, ID(2, 0), 90);
	graph_nodes_forget(g, OTHER);
	FOUND(g, ID(1, 0), 10);
	for (uint32_t graph = 1; graph <= 2; graph++)
		FOUND_OTHER(g, ID(graph, 0), CAPTURE_UNSEEN.number);
	assert_int_equal(graph_nodes_made(g, OTHER, TID, ID(1, 0), ++now, CAPTURE_STACK(92)), 0);
	FOUND_OTHER(g, ID(1, 0), 92);
	FOUND_OTHER(g, ID(1, 1), CAPTURE_UNSEEN.number);
	graph_nodes_forget(g, 12345);
	FOUND(g, ID(1, 0), 10);
}

static void the_newest_are_known(void **state)
{
	struct graph_nodes *g = *state;
	uint32_t last = 3 * FEW + 7;

	for (uint32_t graph = 1; graph <= last; graph++)
		made(g, ID(graph, 0), graph);
	assert_int_equal(g->node_count, FEW);
	for (uint32_t graph = 1; graph <= last; graph++)
		FOUND(g, ID(graph, 0), graph + FEW > last ? graph : CAPTURE_UNSEEN.number);
	/* removing a process harms no other */
	graph_nodes_forget(g, PROCESS);
	for (uint32_t graph = 1; graph <= last; graph++)
		FOUND(g, ID(graph, 0), CAPTURE_UNSEEN.number);
	for (uint32_t graph = 1; graph <= 2 * FEW; graph++)
		made(g, ID(graph, 0), graph);
	FOUND(g, ID(FEW, 0), CAPTURE_UNSEEN.number);
	FOUND(g, ID(FEW + 1, 0), FEW + 1);
	FOUND(g, ID(2 * FEW, 0), 2 * FEW);
	assert_int_equal(g->node_count, FEW);
	assert_int_equal(g->graph_count, FEW);
}

/* A graph that is larger than all there is room for: its newest nodes. */
static void the_newest_nodes_of_a_graph_are_known(void **state)
{
	struct graph_nodes *g = *state;

	made(g, ID(2, 0), 1);
	for (uint32_t i = 0; i < 2 * FEW; i++)
		made(g, ID(1, i), i);
	for (uint32_t i = 0; i < 2 * FEW; i++)
		FOUND(g, ID(1, i), i >= FEW ? i : CAPTURE_UNSEEN.number);
	FOUND(g, ID(2, 0), CAPTURE_UNSEEN.number);
	made(g, ID(2, 0), 2);
	FOUND(g, ID(2, 0), 2);
	FOUND(g, ID(1, FEW), CAPTURE_UNSEEN.number);
}

/* Ids used again and again: the oldest of those are forgotten, and no graph that there still is. */
static void a_numbers_newest_graphs_are_known(void **state)
{
	const uint32_t rounds = 10 * FEW, kept = FEW / 2 - 1;
	struct graph_nodes *g = *state;

	SKIP_UNDER_VALGRIND();
	made(g, ID(1, 0), 10);
	made(g, ID(1, 1), 11);
	for (uint32_t i = 0; i < rounds; i++) {
		now = 10 * (uint64_t)i + 10;
		assert_int_equal(graph_nodes_made(g, PROCESS, TID, ID(2, 0), now, CAPTURE_STACK(i)),
				 0);
		assert_int_equal(graph_nodes_made(g, PROCESS, TID, ID(2, 1), now + 1,
						  CAPTURE_STACK(rounds + i)),
				 0);
		if (i % 97)
			continue;
		for (uint32_t back = 0; back < kept && back <= i; back += 13) {
			uint64_t then = now - 10 * back + 9;

			FOUND_AT(g, ID(2, 0), then, i - back);
			FOUND_AT(g, ID(2, 1), then, rounds + i - back);
		}
		if (i > kept)
			FOUND_AT(g, ID(2, 0), now - 10 * (kept + 1), CAPTURE_UNSEEN.number);
		FOUND(g, ID(1, 0), 10);
		FOUND(g, ID(1, 1), 11);
		FOUND_AT(g, ID(1, 1), 5, 11);
	}
	assert_int_equal(g->node_count, FEW);
	assert_true(g->graph_count <= FEW / 2 + 1);
}

/* The search among known graphs is bounded. A graph past the bound counts as forgotten. */
static void looking_back_is_bounded(void **state)
{
	enum { GRAPHS_MAX = GRAPH_NODES_OLDER_MAX + 1000 };
	struct graph_nodes *g = *state;

	g->nodes_max = g->graphs_max = GRAPHS_MAX;
	for (uint32_t i = 0; i < GRAPHS_MAX; i++)
		assert_int_equal(
			graph_nodes_made(g, PROCESS, TID, ID(2, 0), 10 * i + 10, CAPTURE_STACK(i)),
			0);
	for (uint32_t i = 0; i < GRAPHS_MAX; i++) {
		uint32_t newer = GRAPHS_MAX - 1 - i;

		FOUND_AT(g, ID(2, 0), 10 * i + 15,
			 newer <= GRAPH_NODES_OLDER_MAX ? i : CAPTURE_UNSEEN.number);
	}
	/* lost to the bound on steps, not to memory */
	assert_int_equal(g->graph_count, GRAPHS_MAX);
	assert_int_equal(g->node_count, GRAPHS_MAX);
	FOUND(g, ID(2, 0), GRAPHS_MAX - 1);
}

/* ---- children ---- */

/*
 * Makes graph 1, of four nodes, a child of graph 5, after its only node, as observed with CUDA
 * 13.0.
 */
static void add_measured_child(struct graph_nodes *g)
{
	for (uint32_t i = 0; i < 4; i++)
		made(g, ID(1, i), 10 + i);
	made(g, ID(5, 0), 50);
	for (uint32_t i = 0; i < 4; i++)
		cloned(g, ID(6, i), ID(1, i));
	made(g, ID(5, 1), 51);
}

/* Announces the nodes that instantiating makes. `exec` is the instance's number, 7 when
 * observed. */
static void instantiate_measured(struct graph_nodes *g, uint32_t exec)
{
	cloned(g, ID(exec, 0), ID(5, 0));
	for (uint32_t i = 0; i < 4; i++)
		cloned(g, ID(exec + 1, i), ID(6, i));
	cloned(g, ID(exec, 1), ID(5, 1));
	made(g, ID(exec + 2, 1), 666);
	made(g, ID(exec, 6), 666);
	made(g, ID(exec, 7), 666);
}

static void nodes_in_a_childs_place_are_found_by_number(void **state)
{
	struct graph_nodes *g = *state;

	add_measured_child(g);
	for (uint32_t exec = 7; exec < 70; exec += 3) {
		instantiate_measured(g, exec);
		FOUND(g, ID(exec, 3), 11); /* lookups in any order, repeatedly */
		FOUND(g, ID(exec, 0), 50);
		for (uint32_t i = 0; i < 4; i++)
			FOUND(g, ID(exec, 2 + i), 10 + i);
		FOUND(g, ID(exec, 3), 11);
		FOUND(g, ID(exec, 1), 51);
		FOUND(g, ID(exec, 8), CAPTURE_UNSEEN.number);
		FOUND(g, ID(exec + 1, 2), 12);
	}
}

static void several_children_follow_each_other(void **state)
{
	struct graph_nodes *g = *state;

	made(g, ID(1, 0), 10);
	made(g, ID(1, 1), 11);
	made(g, ID(2, 0), 20);
	/* graph 3: child 1, own, child 2, child 1 */
	cloned(g, ID(4, 0), ID(1, 0));
	cloned(g, ID(4, 1), ID(1, 1));
	made(g, ID(3, 0), 30);
	made(g, ID(3, 1), 31);
	cloned(g, ID(5, 0), ID(2, 0));
	made(g, ID(3, 2), 32);
	cloned(g, ID(6, 0), ID(1, 0));
	cloned(g, ID(6, 1), ID(1, 1));
	made(g, ID(3, 3), 33);
	/* graph 7 is the executable */
	cloned(g, ID(8, 0), ID(4, 0));
	cloned(g, ID(8, 1), ID(4, 1));
	cloned(g, ID(7, 0), ID(3, 0));
	cloned(g, ID(7, 1), ID(3, 1));
	cloned(g, ID(9, 0), ID(5, 0));
	cloned(g, ID(7, 2), ID(3, 2));
	cloned(g, ID(10, 0), ID(6, 0));
	cloned(g, ID(10, 1), ID(6, 1));
	cloned(g, ID(7, 3), ID(3, 3));
	FOUND(g, ID(7, 1), 31);
	FOUND(g, ID(7, 4), 10);
	FOUND(g, ID(7, 8), 11);
	FOUND(g, ID(7, 5), 11);
	FOUND(g, ID(7, 6), 20);
	FOUND(g, ID(7, 7), 10);
	FOUND(g, ID(7, 9), CAPTURE_UNSEEN.number);
}

/*
 * Announces a family in one thread, step by step: graph 1 becomes a child of graph 2, after its
 * node; both are cloned.
 */
static void announce_family(struct graph_nodes *g, uint32_t tid, int step)
{
	uint32_t first = tid * 100;
	const struct {
		uint64_t id, origin;
		uint32_t stack;
	} steps[] = {
		{ID(first + 1, 0), 0, first + 10},
		{ID(first + 2, 0), 0, first + 20},
		{ID(first + 3, 0), 0, 666},
		{ID(first + 3, 0), ID(first + 1, 0), 0},
		{ID(first + 2, 1), 0, first + 21},
		{ID(first + 4, 0), 0, 666},
		{ID(first + 4, 0), ID(first + 2, 0), 0},
		{ID(first + 5, 0), 0, 666},
		{ID(first + 5, 0), ID(first + 3, 0), 0},
		{ID(first + 4, 1), 0, 666},
		{ID(first + 4, 1), ID(first + 2, 1), 0},
	};

	if (steps[step].origin)
		assert_int_equal(
			graph_nodes_cloned(g, PROCESS, tid, steps[step].id, steps[step].origin), 0);
	else
		assert_int_equal(graph_nodes_made(g, PROCESS, tid, steps[step].id, ++now,
						  CAPTURE_STACK(steps[step].stack)),
				 0);
}

static void threads_do_not_disturb_each_others_children(void **state)
{
	enum { THREADS = 3, STEPS = 11 };
	struct graph_nodes *g = *state;

	for (uint64_t round = 0; round < 500; round++) {
		struct prng prng = prng_round(round);
		int step[THREADS] = {0}, left = THREADS * STEPS;

		while (left > 0) {
			uint32_t thread = (uint32_t)prng_below(&prng, THREADS);

			if (step[thread] == STEPS)
				continue;
			announce_family(g, thread + 1, step[thread]++);
			left--;
		}
		for (uint32_t first = 100; first <= THREADS * 100; first += 100) {
			FOUND(g, ID(first + 4, 0), first + 20);
			FOUND(g, ID(first + 4, 1), first + 21);
			FOUND(g, ID(first + 4, 2), first + 10);
			FOUND(g, ID(first + 4, 3), CAPTURE_UNSEEN.number);
		}
		graph_nodes_release(g);
	}
}

static void graphs_without_children_have_none_inferred(void **state)
{
	struct graph_nodes *g = *state;

	made(g, ID(1, 0), 10);
	made(g, ID(1, 1), 11);
	cloned(g, ID(3, 0), ID(1, 0)); /* two executables of one graph */
	cloned(g, ID(3, 1), ID(1, 1));
	cloned(g, ID(2, 0), ID(1, 0)); /* whose number is used again */
	cloned(g, ID(2, 1), ID(1, 1));
	FOUND(g, ID(2, 2), CAPTURE_UNSEEN.number);
	cloned(g, ID(9, 0), ID(1, 0)); /* a clone, and an executable of it */
	cloned(g, ID(8, 0), ID(9, 0));
	FOUND(g, ID(8, 1), CAPTURE_UNSEEN.number);
	cloned(g, ID(20, 0), ID(1, 0)); /* a clone, then another matter */
	made(g, ID(19, 0), 190);
	cloned(g, ID(18, 0), ID(19, 0));
	FOUND(g, ID(18, 1), CAPTURE_UNSEEN.number);
	assert_int_equal(g->child_count, 0);
}

/* Nodes in a child's place belong to their time too, whatever happens to the numbers later. */
static void children_belong_to_their_graphs_time(void **state)
{
	struct graph_nodes *g = *state;
	uint64_t then, later;

	add_measured_child(g);
	instantiate_measured(g, 7);
	then = now;
	for (uint32_t i = 0; i < 4; i++)
		made(g, ID(8, i), 80 + i); /* the child's number */
	for (uint32_t i = 0; i < 4; i++)
		FOUND_AT(g, ID(7, 2 + i), then, 10 + i);
	made(g, ID(7, 3), 666); /* a node by the way */
	FOUND(g, ID(7, 3), 666);
	FOUND_AT(g, ID(7, 3), then, 11);
	made(g, ID(7, 0), 70);
	later = now;
	FOUND_AT(g, ID(7, 3), later, CAPTURE_UNSEEN.number);
	instantiate_measured(g, 7);
	for (uint32_t i = 0; i < 4; i++) {
		FOUND_AT(g, ID(7, 2 + i), then, 10 + i);
		FOUND_AT(g, ID(7, 2 + i), later, CAPTURE_UNSEEN.number);
		FOUND_AT(g, ID(7, 2 + i), now, 10 + i);
		FOUND_AT(g, ID(8, i), later, 80 + i);
	}
}

/* When all places are taken, a lookup evicts nothing. */
static void asking_forgets_nothing(void **state)
{
	struct graph_nodes *g = *state;

	add_measured_child(g);
	instantiate_measured(g, 7);
	for (uint32_t graph = 100; g->node_count < FEW; graph++)
		made(g, ID(graph, 0), graph);
	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 4; i++)
			FOUND(g, ID(7, 2 + i), 10 + i);
		for (uint32_t i = 0; i < 4; i++)
			FOUND(g, ID(1, i), 10 + i);
	}
}

static void a_reused_number_has_its_own_children(void **state)
{
	struct graph_nodes *g = *state;

	add_measured_child(g);
	instantiate_measured(g, 7);
	FOUND(g, ID(7, 3), 11);
	FOUND(g, ID(7, 5), 13);
	made(g, ID(7, 0), 70);
	FOUND(g, ID(7, 0), 70);
	for (uint32_t i = 1; i < 10; i++)
		FOUND(g, ID(7, i), CAPTURE_UNSEEN.number);
	instantiate_measured(g, 7);
	for (uint32_t i = 0; i < 4; i++)
		FOUND(g, ID(7, 2 + i), 10 + i);
}

static void a_process_that_has_ended_has_no_children(void **state)
{
	struct graph_nodes *g = *state;

	add_measured_child(g);
	instantiate_measured(g, 7);
	for (uint32_t i = 0; i < 4; i++)
		cloned(g, ID(11, i), ID(6, i));
	graph_nodes_forget(g, PROCESS);
	FOUND(g, ID(7, 3), CAPTURE_UNSEEN.number);
	cloned(g, ID(7, 0), ID(1, 0));
	FOUND(g, ID(7, 1), CAPTURE_UNSEEN.number);
	FOUND(g, ID(7, 3), CAPTURE_UNSEEN.number);
}

static void the_newest_children_are_known(void **state)
{
	struct graph_nodes *g = *state;
	uint32_t exec = 7;

	g->nodes_max = g->graphs_max = 0; /* all that there may be */
	add_measured_child(g);
	for (uint32_t i = 0; i < 3 * GRAPH_CHILDREN_MAX; i++, exec += 3)
		instantiate_measured(g, exec);
	exec -= 3;
	for (uint32_t i = 0; i < GRAPH_CHILDREN_MAX; i++)
		FOUND(g, ID(exec - 3 * i, 3), 11);
	FOUND(g, ID(exec - 3 * GRAPH_CHILDREN_MAX, 3), CAPTURE_UNSEEN.number);
	FOUND(g, ID(exec - 3 * GRAPH_CHILDREN_MAX, 0), 50);
}

/* ---- random lives ---- */

enum { GRAPHS = 80, MOST_NODES = 12, PROCESSES = 3, RECORDS = 400 };

/* A graph as the model knows it: node i holds a child, or was made at stack[i]. */
struct life {
	bool lives, is_executable;
	uint32_t process, id, count;
	uint64_t since_ns; /* the number was free */
	uint32_t stack[MOST_NODES];
	int child[MOST_NODES]; /* index of a graph that only this one has, or -1 */
	bool is_child;
};

/* A node run by a launch, looked up some time later. */
struct record {
	uint32_t process, stack;
	uint64_t id, launched_ns;
};

struct world {
	struct prng *prng;
	uint64_t now;
	struct record records[RECORDS];
	uint32_t record_count;
	struct graph_nodes nodes;
	struct life graphs[GRAPHS];
	bool reuses;
	uint32_t next_id[PROCESSES], free_ids[PROCESSES][GRAPHS * 64], free_count[PROCESSES];
	uint64_t free_since[PROCESSES][GRAPHS * 64];
	uint32_t next_stack;
};

/* Takes a free id. Nobody has had the id since `*since_ns`. */
static uint32_t take_id(struct world *w, uint32_t process, uint64_t *since_ns)
{
	*since_ns = 0;
	if (w->reuses && w->free_count[process] && prng_chance(w->prng, 80)) {
		*since_ns = w->free_since[process][--w->free_count[process]];
		return w->free_ids[process][w->free_count[process]];
	}
	return ++w->next_id[process];
}

/*
 * Returns a time for an announcement: after `since_ns`, but perhaps before the latest announcement,
 * as by another thread.
 */
static uint64_t time_of(struct world *w, uint64_t since_ns)
{
	w->now += 1 + prng_below(w->prng, 3);
	return since_ns + 1 + prng_below(w->prng, w->now - since_ns);
}

static int new_graph(struct world *w, uint32_t process)
{
	for (int i = 0; i < GRAPHS; i++) {
		if (w->graphs[i].lives)
			continue;
		w->graphs[i] = (struct life){.lives = true, .process = process};
		w->graphs[i].id = take_id(w, process, &w->graphs[i].since_ns);
		return i;
	}
	return -1;
}

static void drop_life(struct world *w, int at)
{
	struct life *g = &w->graphs[at];

	g->lives = false;
	if (w->free_count[g->process] < GRAPHS * 64) {
		w->free_since[g->process][w->free_count[g->process]] = ++w->now;
		w->free_ids[g->process][w->free_count[g->process]++] = g->id;
	}
	for (uint32_t i = 0; i < g->count; i++)
		if (g->child[i] >= 0)
			drop_life(w, g->child[i]);
}

static int any_graph(struct world *w, bool executable, bool may_have_children)
{
	for (int tries = 0; tries < 200; tries++) {
		int at = (int)prng_below(w->prng, GRAPHS);
		const struct life *g = &w->graphs[at];
		bool has_children = false;

		for (uint32_t i = 0; i < g->count; i++)
			has_children |= g->child[i] >= 0;
		if (g->lives && !g->is_child && g->is_executable == executable &&
		    (may_have_children || !has_children))
			return at;
	}
	return -1;
}

static void announce_made(struct world *w, struct life *g)
{
	g->child[g->count] = -1;
	g->stack[g->count] = w->next_stack++;
	graph_nodes_made(&w->nodes, g->process, TID, ID(g->id, g->count), time_of(w, g->since_ns),
			 CAPTURE_STACK(g->stack[g->count]));
	g->count++;
}

/* Numbers are assigned from the outside in, clones announced from the inside out. */
static int copy(struct world *w, int from)
{
	const struct life *o = &w->graphs[from];
	int at = new_graph(w, o->process);
	struct life *g;

	if (at < 0)
		return -1;
	g = &w->graphs[at];
	g->count = o->count;
	for (uint32_t i = 0; i < o->count; i++) {
		g->stack[i] = o->stack[i];
		g->child[i] = o->child[i] < 0 ? -1 : copy(w, o->child[i]);
		if (g->child[i] >= 0)
			w->graphs[g->child[i]].is_child = true;
		graph_nodes_made(&w->nodes, g->process, TID, ID(g->id, i), time_of(w, g->since_ns),
				 CAPTURE_STACK(666));
		graph_nodes_cloned(&w->nodes, g->process, TID, ID(g->id, i), ID(o->id, i));
	}
	return at;
}

static uint32_t children_size(const struct world *w, const struct life *g)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->count; i++)
		n += g->child[i] >= 0 ? w->graphs[g->child[i]].count : 0;
	return n;
}

static void instantiate(struct world *w)
{
	int from = any_graph(w, false, true), at = from < 0 ? -1 : copy(w, from);
	struct life *g;
	uint64_t since_ns;
	uint32_t after;

	if (at < 0)
		return;
	g = &w->graphs[at];
	g->is_executable = true;
	after = g->count + children_size(w, g);
	if (after > g->count || (w->reuses && prng_chance(w->prng, 30))) {
		/* the only node ever announced of a passing graph */
		uint32_t passing = take_id(w, g->process, &since_ns);

		graph_nodes_made(&w->nodes, g->process, TID, ID(passing, 1), time_of(w, since_ns),
				 CAPTURE_STACK(666));
	}
	for (uint32_t i = 0; after > g->count && i < 2; i++)
		graph_nodes_made(&w->nodes, g->process, TID, ID(g->id, after + i), ++w->now,
				 CAPTURE_STACK(666));
}

static void embed(struct world *w)
{
	int whole = any_graph(w, false, true), child = any_graph(w, false, false), copied;
	struct life *g;

	if (w->reuses || whole < 0 || child < 0 || whole == child)
		return;
	g = &w->graphs[whole];
	if (g->count == MOST_NODES || w->graphs[child].count == 0 ||
	    g->process != w->graphs[child].process)
		return;
	copied = copy(w, child);
	if (copied < 0)
		return;
	w->graphs[copied].is_child = true;
	announce_made(w, g);
	g->child[g->count - 1] = copied;
}

static void capture(struct world *w)
{
	int at = new_graph(w, (uint32_t)prng_below(w->prng, PROCESSES));

	for (uint64_t n = prng_below(w->prng, MOST_NODES / 2); at >= 0 && n > 0; n--)
		announce_made(w, &w->graphs[at]);
}

static void extend(struct world *w)
{
	int at = any_graph(w, false, true);

	if (at >= 0 && w->graphs[at].count < MOST_NODES)
		announce_made(w, &w->graphs[at]);
}

static void forget(struct world *w)
{
	uint32_t process = (uint32_t)prng_below(w->prng, PROCESSES);

	graph_nodes_forget(&w->nodes, process);
	for (int i = 0; i < GRAPHS; i++)
		if (w->graphs[i].process == process)
			w->graphs[i].lives = false;
	w->next_id[process] = w->free_count[process] = 0;
	for (uint32_t i = 0; i < w->record_count;)
		if (w->records[i].process == process)
			w->records[i] = w->records[--w->record_count];
		else
			i++;
}

static void add_record(struct world *w, const struct life *g, uint32_t index, uint32_t stack)
{
	if (w->record_count < RECORDS)
		w->records[w->record_count++] =
			(struct record){g->process, stack, ID(g->id, index), w->now};
}

/* Launches a graph, whose records may come after the graph's end. */
static void launch(struct world *w)
{
	int at = any_graph(w, true, true);
	const struct life *g = at < 0 ? NULL : &w->graphs[at];
	uint32_t index = g ? g->count : 0;

	w->now++;
	for (uint32_t i = 0; g && i < g->count; i++) {
		const struct life *c = g->child[i] < 0 ? NULL : &w->graphs[g->child[i]];

		if (!c)
			add_record(w, g, i, g->stack[i]);
		for (uint32_t n = 0; c && n < c->count; n++)
			add_record(w, g, index++, c->stack[n]);
	}
}

static void take_records(struct world *w, uint64_t percent)
{
	for (uint32_t i = 0; i < w->record_count;) {
		const struct record *r = &w->records[i];

		if (!prng_chance(w->prng, (uint32_t)percent)) {
			i++;
			continue;
		}
		EXPECT(w->prng,
		       graph_nodes_find(&w->nodes, r->process, r->id, r->launched_ns).number ==
			       r->stack);
		w->records[i] = w->records[--w->record_count];
	}
}

static void step(struct world *w)
{
	int at;

	switch (prng_below(w->prng, 18)) {
	case 0:
	case 1:
		capture(w);
		break;
	case 2:
		extend(w);
		break;
	case 3:
		at = any_graph(w, false, true);
		if (at >= 0)
			copy(w, at);
		break;
	case 4:
	case 5:
		embed(w);
		break;
	case 6:
	case 7:
	case 8:
		instantiate(w);
		break;
	case 9:
	case 10:
	case 11:
	case 12:
		at = any_graph(w, prng_chance(w->prng, 70), true);
		if (at >= 0)
			drop_life(w, at);
		break;
	case 13:
	case 14:
	case 15:
		launch(w);
		break;
	case 16:
		take_records(w, prng_below(w->prng, 60));
		break;
	default:
		if (prng_chance(w->prng, 8))
			forget(w);
	}
}

static void check_graph(struct world *w, const struct life *g)
{
	uint32_t at = g->count;

	for (uint32_t i = 0; i < g->count; i++)
		EXPECT(w->prng,
		       graph_nodes_find(&w->nodes, g->process, ID(g->id, i), w->now).number ==
			       g->stack[i]);
	for (uint32_t i = 0; g->is_executable && i < g->count; i++) {
		const struct life *c;

		if (g->child[i] < 0)
			continue;
		c = &w->graphs[g->child[i]];
		for (uint32_t n = 0; n < c->count; n++, at++)
			if (prng_chance(w->prng, 50))
				EXPECT(w->prng, graph_nodes_find(&w->nodes, g->process,
								 ID(g->id, at), w->now)
								.number == c->stack[n]);
	}
}

/* Children are distinguished only where numbers grow. */
static void random_lives(void **state)
{
	uint64_t rounds = unit_number("UNIT_ROUNDS", getenv("UNDER_VALGRIND") ? 10 : 200);

	(void)state;
	for (uint64_t round = 0; round < rounds; round++) {
		struct prng prng = prng_round(round);
		struct world *w = calloc(1, sizeof(*w));

		assert_non_null(w);
		w->prng = &prng;
		w->reuses = round % 2;
		w->next_stack = 1000;
		for (int i = 0; i < 200; i++) {
			step(w);
			for (int n = 0; n < GRAPHS; n++)
				if (w->graphs[n].lives)
					check_graph(w, &w->graphs[n]);
		}
		take_records(w, 100);
		EXPECT(&prng, w->nodes.node_count < FEW); /* nothing was forgotten */
		graph_nodes_release(&w->nodes);
		free(w);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_node_has_the_stack_that_made_it),
		TEST(unannounced_nodes_are_unknown),
		TEST(no_node_has_the_id_0),
		TEST(a_clone_has_its_origins_stack),
		TEST(an_origin_may_change_later),
		TEST(a_reused_number_is_another_graph),
		TEST(each_time_has_its_graph),
		TEST(order_between_numbers_does_not_matter),
		TEST(times_of_a_number_do_not_go_back),
		TEST(an_incidental_node_also_begins_a_graph),
		TEST(parts_without_end_are_bounded),
		TEST(node_ids_are_per_process),
		TEST(the_newest_are_known),
		TEST(the_newest_nodes_of_a_graph_are_known),
		TEST(a_numbers_newest_graphs_are_known),
		TEST(looking_back_is_bounded),
		TEST(nodes_in_a_childs_place_are_found_by_number),
		TEST(several_children_follow_each_other),
		TEST(threads_do_not_disturb_each_others_children),
		TEST(graphs_without_children_have_none_inferred),
		TEST(children_belong_to_their_graphs_time),
		TEST(asking_forgets_nothing),
		TEST(a_reused_number_has_its_own_children),
		TEST(a_process_that_has_ended_has_no_children),
		TEST(the_newest_children_are_known),
		cmocka_unit_test(random_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
