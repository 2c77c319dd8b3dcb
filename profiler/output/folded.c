// SPDX-License-Identifier: MIT
#include "profiler/output/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A path under construction: the text from the root to the current node. */
struct path {
	char *text;
	size_t length;
	size_t capacity;
};

static int push_name(struct path *path, const char *name)
{
	size_t n = strlen(name), needed = path->length + n + 2;

	if (needed > path->capacity) {
		char *text = realloc(path->text, needed * 2);

		if (!text)
			return -ENOMEM;
		path->text = text;
		path->capacity = needed * 2;
	}
	if (path->length)
		path->text[path->length++] = ';';
	for (size_t i = 0; i < n; i++) {
		/* ';' separates frames and '\n' lines: neither may be in a name */
		char c = name[i] == ';' ? ':' : name[i] == '\n' || name[i] == '\r' ? '?' : name[i];

		path->text[path->length++] = c;
	}
	path->text[path->length] = '\0';
	return 0;
}

struct walk {
	const struct call_node *nodes;
	uint64_t *weight[WEIGHT_KINDS];
	size_t *length_before; /* by node: the path's length without the node's name */
	struct path path;
	FILE *out;
	struct writer_result *result;
};

static void print_node(struct walk *w, uint32_t at)
{
	uint64_t weight = 0;

	for (int k = 0; k < WEIGHT_KINDS; k++)
		weight += w->weight[k][at];
	if (weight == 0 || at == CALL_TREE_ROOT)
		return;
	fprintf(w->out, "%s %" PRIu64 "\n", w->path.text, weight);
	w->result->stacks++;
}

/* Depth first without recursion: a tree may be as deep as a recursive program's stack. */
static int print_all(struct walk *w)
{
	uint32_t at = w->nodes[CALL_TREE_ROOT].first_child;

	while (at != CALL_TREE_NONE && at != CALL_TREE_ROOT) {
		w->length_before[at] = w->path.length;
		if (push_name(&w->path, w->nodes[at].name) != 0)
			return -ENOMEM;
		print_node(w, at);
		if (w->nodes[at].first_child != CALL_TREE_NONE) {
			at = w->nodes[at].first_child;
			continue;
		}
		while (at != CALL_TREE_ROOT) {
			w->path.length = w->length_before[at];
			if (w->nodes[at].next_sibling != CALL_TREE_NONE)
				break;
			at = w->nodes[at].parent;
		}
		if (at != CALL_TREE_ROOT)
			at = w->nodes[at].next_sibling;
	}
	return 0;
}

static int write_folded(const struct call_tree *tree, const struct writer_options *options,
			FILE *out, struct writer_result *result)
{
	struct walk w = {.out = out, .result = result};
	uint32_t count;
	int err = -ENOMEM;

	memset(result, 0, sizeof(*result));
	w.nodes = call_tree_nodes(tree, &count);
	w.length_before = calloc(count, sizeof(*w.length_before));
	if (!w.length_before)
		goto out;
	for (int k = 0; k < WEIGHT_KINDS; k++) {
		result->exact_ns += call_tree_total(tree, (enum weight_kind)k);
		w.weight[k] = calloc(count, sizeof(*w.weight[k]));
		if (!w.weight[k])
			goto out;
		err = call_tree_round(tree, (enum weight_kind)k, options->unit_ns[k], w.weight[k],
				      &result->total[k]);
		if (err)
			goto out;
	}
	err = print_all(&w);
	if (!err && ferror(out))
		err = -EIO;
out:
	for (int k = 0; k < WEIGHT_KINDS; k++)
		free(w.weight[k]);
	free(w.length_before);
	free(w.path.text);
	return err;
}

const struct writer folded_writer = {.name = "folded", .write = write_folded};
