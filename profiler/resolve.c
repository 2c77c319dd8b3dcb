// SPDX-License-Identifier: MIT
#include "profiler/resolve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bpf/stack_event.h"
#include "profiler/correlate.h"
#include "profiler/launch_functions.h"
#include "symbolize/demangle.h"

/* The names that a frame stands for, outermost first; valid until the next call. */
static uint32_t frame_names(const struct resolve_input *in, const struct frame *frame,
			    const char *const **names, const char **single)
{
	bool is_return = frame->kind == FRAME_RETURN;

	if (in->inlines && frame->kind != FRAME_TEXT)
		return symbolizer_names(in->symbolizer, frame->code, is_return, names);
	*single = frame->kind == FRAME_TEXT
			  ? frame->text
			  : symbolizer_name(in->symbolizer, frame->code, is_return);
	*names = single;
	return 1;
}

/*
 * A kernel belongs under the outermost launch function of its stack: where only a nested driver
 * call was probed, the way from the runtime's function down to it is CUDA's business.
 */
static bool ends_launch(const char *name)
{
	return launch_function_of(name) != LAUNCH_NONE;
}

static uint32_t add_stack(const struct resolve_input *in, struct call_tree *tree, uint32_t stack,
			  bool is_launch)
{
	uint32_t count, node = CALL_TREE_ROOT;
	const struct frame *frames = stack_table_get(in->stacks, stack, &count);

	if (count == 0)
		return call_tree_child(tree, node, RESOLVE_NO_STACK);
	while (count-- > 0) {
		const char *const *names, *single;
		uint32_t name_count = frame_names(in, &frames[count], &names, &single);

		for (uint32_t i = 0; i < name_count; i++) {
			node = call_tree_child(tree, node, names[i]);
			if (node == CALL_TREE_NONE || (is_launch && ends_launch(names[i])))
				return node;
		}
	}
	return node;
}

/* "[GPU_Kernel]softmax(float const*)", interned. */
static const char *kernel_label(const struct resolve_input *in, const char *kernel)
{
	char *name = in->raw_names ? strdup(kernel) : demangle(kernel, DEMANGLE_SIGNATURE);
	const char *label = NULL;
	char *text = NULL;

	if (name && asprintf(&text, RESOLVE_KERNEL_PREFIX "%s", name) >= 0)
		label = intern_string(in->strings, text);
	else
		text = NULL;
	free(text);
	free(name);
	return label;
}

static bool add_entry(const struct resolve_input *in, struct call_tree *tree,
		      const struct profile_entry *e)
{
	const char *label = e->kernel ? kernel_label(in, e->kernel) : NULL;
	uint32_t node;

	if (e->kernel && !label)
		return false;
	node = e->stack == STACK_NONE ? call_tree_child(tree, CALL_TREE_ROOT, RESOLVE_NO_LAUNCH)
				      : add_stack(in, tree, e->stack, label != NULL);
	if (node != CALL_TREE_NONE && label)
		node = call_tree_child(tree, node, label);
	if (node == CALL_TREE_NONE)
		return false;
	if (label)
		call_tree_add_weight(tree, node, WEIGHT_GPU, (double)e->gpu_ns);
	else
		call_tree_add_weight(tree, node, WEIGHT_CPU,
				     (double)e->count * in->sample_period_ns);
	return true;
}

struct call_tree *resolve(const struct resolve_input *input)
{
	struct call_tree *tree = call_tree_new();
	uint32_t count;
	const struct profile_entry *entries = profile_entries(input->profile, &count);

	for (uint32_t i = 0; tree && i < count; i++) {
		if (!add_entry(input, tree, &entries[i])) {
			call_tree_free(tree);
			tree = NULL;
		}
	}
	if (tree && call_tree_sort(tree) != 0) {
		call_tree_free(tree);
		tree = NULL;
	}
	return tree;
}
