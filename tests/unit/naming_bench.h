/* SPDX-License-Identifier: MIT */
/* Builds the collected data of a run, and its result, for tests of the stages after collecting. */
#ifndef TESTS_UNIT_NAMING_BENCH_H
#define TESTS_UNIT_NAMING_BENCH_H

#include "unit.h"
#include "profiler/model/gpu_stack.h"
#include "profiler/shape/call_tree.h"
#include "profiler/shape/result_naming.h"
#include "profiler/model/pseudo_frames.h"
#include "profiler/model/work_names.h"
#include "symbolize/util/intern.h"

struct naming_bench {
	struct stack_table *stacks;
	struct profile *profile;
	struct places places; /* places of all parts */
	struct place_names place_names;
	struct devices devices;
	struct symbolizer *symbolizer;
	struct address_space *self; /* address space of this process */
	struct gpu_stacks gpu_stacks;
	struct intern strings; /* strings of the collecting side */
	struct ledger ledger;
	struct collected collected;
	struct naming_options options;
	struct totals totals;
};

static int bench_begin(void **state)
{
	struct naming_bench *b = calloc(1, sizeof(*b));

	*state = b;
	if (!b)
		return -1;
	b->stacks = stack_table_new();
	b->profile = profile_new();
	b->symbolizer = symbolizer_new();
	b->self = address_space_new(1, getpid(), false);
	if (!b->stacks || !b->profile || !b->symbolizer || !b->self ||
	    places_init(&b->places, (1u << PLACE_PARTS) - 1) != 0)
		return -1;
	gpu_stack_init(&b->gpu_stacks, b->stacks);
	b->collected = (struct collected){.stacks = b->stacks,
					  .profile = b->profile,
					  .places = &b->places,
					  .place_names = &b->place_names,
					  .devices = &b->devices,
					  .symbolizer = b->symbolizer,
					  .ledger = &b->ledger};
	b->totals.ledger = &b->ledger;
	return 0;
}

static int bench_end(void **state)
{
	struct naming_bench *b = *state;

	gpu_stack_release(&b->gpu_stacks);
	stack_table_free(b->stacks);
	profile_free(b->profile);
	places_release(&b->places);
	place_names_release(&b->place_names);
	devices_release(&b->devices);
	address_space_free(b->self);
	symbolizer_free(b->symbolizer);
	intern_release(&b->strings);
	ledger_release(&b->ledger);
	free(b);
	return 0;
}

#define BENCH_TEST(name) cmocka_unit_test_setup_teardown(name, bench_begin, bench_end)

static inline struct result *bench_result(struct naming_bench *b)
{
	struct result *result = result_new(&b->collected, &b->options, &b->totals);

	assert_non_null(result);
	return result;
}

/* ---- stacks ---- */

/* Frames with these names, the outermost first: they keep the pointers. */
static inline struct stack_id bench_stack(struct naming_bench *b, const char *const *names)
{
	struct stack_id stack = STACK_EMPTY;

	for (; *names; names++)
		stack = stack_table_push_text(b->stacks, stack, FRAME_PYTHON, *names);
	return stack;
}

#define STACK(b, ...) bench_stack(b, (const char *const[]){__VA_ARGS__, NULL})

/* Returns the stack of a call of a CUDA function from `from`. */
static inline struct stack_id bench_call(struct naming_bench *b, struct stack_id from,
					 const char *function)
{
	return stack_table_push_text(b->stacks, from, FRAME_API, function);
}

/* ---- the tree ---- */

/* Returns the weight of a path from the root, or -1 if there is no such path. */
static inline double bench_weight(const struct call_tree *tree, const char *const *names,
				  enum row_kind kind)
{
	uint32_t count, at = CALL_TREE_ROOT;
	const struct call_node *nodes = call_tree_nodes(tree, &count);

	for (; *names; names++) {
		at = nodes[at].first_child;
		while (at != CALL_TREE_NONE && strcmp(nodes[at].name, *names) != 0)
			at = nodes[at].next_sibling;
		if (at == CALL_TREE_NONE)
			return -1;
	}
	return nodes[at].weight_ns[kind];
}

#define assert_weight(tree, kind, ns, ...) \
	assert_true(bench_weight(tree, (const char *const[]){__VA_ARGS__, NULL}, kind) == (ns))

#endif
