// SPDX-License-Identifier: MIT
#include "profiler/output/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/output/call_tree.h"
#include "profiler/output/rounding.h"

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
	uint64_t *weight[ROW_KINDS];
	size_t *length_before; /* by node: the path's length without the node's name */
	struct path path;
	FILE *out;
	struct written *result;
};

static void print_node(struct walk *w, uint32_t at)
{
	uint64_t weight = 0;

	for (int k = 0; k < ROW_KINDS; k++)
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

/* The nodes' weights of one kind in units. 0 or -ENOMEM. */
static int round_kind(struct walk *w, const struct call_tree *tree, enum row_kind kind,
		      double unit_ns)
{
	uint32_t count;
	const struct call_node *nodes = call_tree_nodes(tree, &count);
	double *exact = malloc((count + 1) * sizeof(*exact));
	int err = -ENOMEM;

	w->weight[kind] = calloc(count, sizeof(*w->weight[kind]));
	if (exact && w->weight[kind]) {
		for (uint32_t i = 0; i < count; i++)
			exact[i] = nodes[i].weight_ns[kind];
		err = round_to_units(exact, count, unit_ns, w->weight[kind],
				     &w->result->total[kind]);
	}
	w->result->exact_ns += call_tree_total(tree, kind);
	free(exact);
	return err;
}

static int write_folded(const struct result *result, const struct writer_options *options,
			FILE *out, struct written *written)
{
	struct call_tree *tree = call_tree_new(result);
	struct walk w = {.out = out, .result = written};
	uint32_t count;
	int err = -ENOMEM;

	memset(written, 0, sizeof(*written));
	if (!tree)
		goto out;
	w.nodes = call_tree_nodes(tree, &count);
	w.length_before = calloc(count, sizeof(*w.length_before));
	if (!w.length_before)
		goto out;
	for (int kind = 0; kind < ROW_KINDS; kind++) {
		err = round_kind(&w, tree, (enum row_kind)kind, options->unit_ns);
		if (err)
			goto out;
	}
	err = print_all(&w);
	if (!err && ferror(out))
		err = -EIO;
out:
	for (int kind = 0; kind < ROW_KINDS; kind++)
		free(w.weight[kind]);
	free(w.length_before);
	free(w.path.text);
	call_tree_free(tree);
	return err;
}

const struct writer folded_writer = {.name = "folded", .suffix = ".folded", .write = write_folded};
