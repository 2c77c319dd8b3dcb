// SPDX-License-Identifier: MIT
#include "profiler/output/resolve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bpf/stack_event.h"
#include "profiler/collect/join.h"
#include "profiler/base/launch_functions.h"
#include "profiler/profile/work_names.h"
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
 * Work belongs under the outermost call that launched it: where only a nested driver call was
 * probed, or the runtime is linked statically, the way from that call inwards is CUDA's business.
 * `function` is what the stack itself says was called, or NULL.
 */
static bool ends_launch(const char *name, const char *function)
{
	return launch_function_of(name) != LAUNCH_NONE || (function && strcmp(name, function) == 0);
}

/* Adds a stack's frames below `node`, from the root on; those of a launch up to its call. */
static uint32_t add_stack(const struct resolve_input *in, struct call_tree *tree, uint32_t node,
			  uint32_t stack, bool is_launch)
{
	uint32_t count;
	const struct frame *frames = stack_table_get(in->stacks, stack, &count);
	const char *function = NULL;

	if (count == 0)
		return call_tree_child(tree, node, RESOLVE_NO_STACK);
	if (is_launch && frames[0].kind == FRAME_TEXT)
		function = frames[0].text;
	while (count-- > 0) {
		const char *const *names, *single;
		uint32_t name_count = frame_names(in, &frames[count], &names, &single);

		for (uint32_t i = 0; i < name_count; i++) {
			node = call_tree_child(tree, node, names[i]);
			if (node == CALL_TREE_NONE ||
			    (is_launch && ends_launch(names[i], function)))
				return node;
		}
	}
	return node;
}

/* "[GPU_Kernel]softmax(float const*)", interned. Other work has its frame as its name. */
static const char *work_label(const struct resolve_input *in, const struct profile_key *key)
{
	const char *label = NULL;
	char *name, *text = NULL;

	if (key->work != GPU_WORK_KERNEL)
		return key->name;
	name = in->raw_names ? strdup(key->name) : demangle(key->name, DEMANGLE_SIGNATURE);
	if (name && asprintf(&text, "%s%s", work_frame(GPU_WORK_KERNEL), name) >= 0)
		label = intern_string(in->strings, text);
	else
		text = NULL;
	free(text);
	free(name);
	return label;
}

/* Where a graph's node was made, below the graph's launch. */
static uint32_t add_capture(const struct resolve_input *in, struct call_tree *tree, uint32_t node,
			    uint32_t capture)
{
	if (capture == PROFILE_NO_CAPTURE)
		return node;
	if (capture == PROFILE_CAPTURE_UNSEEN)
		return call_tree_child(tree, node, RESOLVE_CAPTURE_UNSEEN);
	node = call_tree_child(tree, node, RESOLVE_CAPTURED);
	return node == CALL_TREE_NONE ? node : add_stack(in, tree, node, capture, true);
}

/* Where something was launched from, below `node`. */
static uint32_t add_launch(const struct resolve_input *in, struct call_tree *tree, uint32_t node,
			   const struct profile_key *key)
{
	if (key->stack == STACK_NONE)
		node = call_tree_child(tree, node, RESOLVE_NO_LAUNCH);
	else if (key->stack != PROFILE_STACK_ROOT)
		node = add_stack(in, tree, node, key->stack, true);
	return node == CALL_TREE_NONE ? node : add_capture(in, tree, node, key->capture);
}

/* The call that waits, then what it waits for. */
static uint32_t add_wait(const struct resolve_input *in, struct call_tree *tree, uint32_t node,
			 const struct profile_key *key)
{
	const char *label = key->name ? work_label(in, key) : NULL;

	if (key->name && !label)
		return CALL_TREE_NONE;
	node = add_stack(in, tree, node, key->waiter - 1, true);
	if (node != CALL_TREE_NONE)
		node = call_tree_child(tree, node, RESOLVE_WAITING);
	if (node == CALL_TREE_NONE || !label)
		return node;
	node = call_tree_child(tree, node, label);
	if (node == CALL_TREE_NONE || key->stack == PROFILE_STACK_ROOT)
		return node;
	node = call_tree_child(tree, node, RESOLVE_LAUNCHED);
	return node == CALL_TREE_NONE ? node : add_launch(in, tree, node, key);
}

/* A timed call, and the kernel it launched, if that is known: "[CUDA call, wall time]softmax". */
static uint32_t add_call(const struct resolve_input *in, struct call_tree *tree, uint32_t node,
			 const struct profile_key *key)
{
	const char *label = NULL, *kernel = "";
	const struct frame *frame;
	char *text = NULL;
	uint32_t count;

	if (key->capture != PROFILE_NO_CAPTURE) {
		frame = stack_table_get(in->stacks, key->capture, &count);
		if (count == 1)
			kernel = symbolizer_name(in->symbolizer, frame->code, false);
	}
	/* "[libfoo.so]" is where it is, not what it is called */
	if (asprintf(&text, "%s%s", RESOLVE_CALL, kernel[0] == '[' ? "" : kernel) >= 0)
		label = intern_string(in->strings, text);
	else
		text = NULL;
	free(text);
	node = label ? add_stack(in, tree, node, key->stack, true) : CALL_TREE_NONE;
	return node == CALL_TREE_NONE ? node : call_tree_child(tree, node, label);
}

static uint32_t add_path(const struct resolve_input *in, struct call_tree *tree,
			 const struct profile_key *key)
{
	uint32_t node = CALL_TREE_ROOT;
	const char *label;

	if (key->group != PROFILE_NO_GROUP)
		node = add_stack(in, tree, node, key->group, false);
	if (node == CALL_TREE_NONE)
		return node;
	if (key->waiter)
		return add_wait(in, tree, node, key);
	if (key->work == PROFILE_CALL)
		return add_call(in, tree, node, key);
	if (!key->name)
		return add_stack(in, tree, node, key->stack, false);
	label = work_label(in, key);
	if (!label)
		return CALL_TREE_NONE;
	node = add_launch(in, tree, node, key);
	return node == CALL_TREE_NONE ? node : call_tree_child(tree, node, label);
}

static bool add_entry(const struct resolve_input *in, struct call_tree *tree,
		      const struct profile_entry *e)
{
	uint32_t node;

	if (e->key.name && gpu_work_is_instant(e->key.work))
		return true; /* has no time */
	node = add_path(in, tree, &e->key);
	if (node == CALL_TREE_NONE)
		return false;
	if (e->key.waiter)
		call_tree_add_weight(tree, node, WEIGHT_WAIT, (double)e->gpu_ns);
	else if (e->key.work == PROFILE_CALL)
		call_tree_add_weight(tree, node, WEIGHT_CALL, (double)e->gpu_ns);
	else if (e->key.name)
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
