// SPDX-License-Identifier: MIT
#include "profiler/formats/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/shape/call_tree.h"
#include "profiler/shape/rounding.h"
#include "profiler/tables/comparison.h"
#include "symbolize/util/array.h"

struct walk {
	const struct call_node *nodes;
	uint64_t *weight[ROW_KINDS]; /* NULL: all 0 */
	uint32_t *path;              /* nodes from a child of the root to the current one */
	uint32_t depth, path_capacity;
	FILE *out;
	struct written *result;
	const struct comparison *comparison; /* NULL: each stack has one weight */
};

static void print_name(FILE *out, const char *name)
{
	/* ';' separates frames, and '\n' lines: replace both */
	for (size_t n; *name; name += n) {
		n = strcspn(name, ";\n\r");
		fwrite(name, 1, n, out);
		if (!name[n])
			return;
		fputc(name[n++] == ';' ? ':' : '?', out);
	}
}

/* Prints the current path by name: a text of the whole path may be too large to keep. */
static void print_path(struct walk *w)
{
	for (uint32_t i = 0; i < w->depth; i++) {
		if (i > 0)
			fputc(';', w->out);
		print_name(w->out, w->nodes[w->path[i]].name);
	}
	w->result->items++;
}

/* Prints both sides, each rounded. Nodes have the numbers of the comparison's stacks. */
static void print_change(struct walk *w, uint32_t at)
{
	const struct change *change = &w->comparison->own[at];
	double before = round(change->before), after = round(change->after);

	if (before <= 0 && after <= 0) {
		w->result->omitted += change->before > 0 || change->after > 0;
		w->result->omitted_ns += change->after;
		return;
	}
	print_path(w);
	fprintf(w->out, " %.0f %.0f\n", before, after);
}

static void print_node(struct walk *w, uint32_t at)
{
	uint64_t weight = 0;
	double exact_ns = 0;

	for (int k = 0; k < ROW_KINDS; k++) {
		weight += w->weight[k] ? w->weight[k][at] : 0;
		exact_ns += w->nodes[at].weight_ns[k];
	}
	if (weight == 0) {
		w->result->omitted += exact_ns > 0;
		w->result->omitted_ns += exact_ns;
		return;
	}
	print_path(w);
	fprintf(w->out, " %" PRIu64 "\n", weight);
}

/* Prints depth first. No recursion: the tree of a recursive program is deep. */
static int print_all(struct walk *w)
{
	uint32_t at = w->nodes[CALL_TREE_ROOT].first_child;

	while (at != CALL_TREE_NONE && at != CALL_TREE_ROOT) {
		if (!array_make_room(&w->path, w->depth, &w->path_capacity, sizeof(*w->path)))
			return -ENOMEM;
		w->path[w->depth++] = at;
		if (w->comparison)
			print_change(w, at);
		else
			print_node(w, at);
		if (w->nodes[at].first_child != CALL_TREE_NONE) {
			at = w->nodes[at].first_child;
			continue;
		}
		while (at != CALL_TREE_ROOT) {
			w->depth--;
			if (w->nodes[at].next_sibling != CALL_TREE_NONE)
				break;
			at = w->nodes[at].parent;
		}
		if (at != CALL_TREE_ROOT)
			at = w->nodes[at].next_sibling;
	}
	return 0;
}

/* Rounds the nodes' weights of one kind to units. Returns 0, or -ENOMEM. */
static int round_kind(struct walk *w, const struct call_tree *tree, enum row_kind kind,
		      double unit_ns)
{
	uint32_t count;
	const struct call_node *nodes = call_tree_nodes(tree, &count);
	double *exact, total = call_tree_total(tree, kind);
	int err = -ENOMEM;

	if (total <= 0)
		return 0;
	exact = malloc((count + 1) * sizeof(*exact));
	w->weight[kind] = calloc(count, sizeof(*w->weight[kind]));
	if (exact && w->weight[kind]) {
		for (uint32_t i = 0; i < count; i++)
			exact[i] = nodes[i].weight_ns[kind];
		err = round_to_units(exact, count, unit_ns, w->weight[kind],
				     &w->result->total[kind]);
	}
	w->result->exact_ns += total;
	free(exact);
	return err;
}

static int write_folded(const struct result *result, const struct writer_options *options,
			FILE *out, struct written *written)
{
	struct call_tree *tree = call_tree_new(result);
	struct walk w = {.out = out, .result = written, .comparison = options->comparison};
	uint32_t count;
	int err = -ENOMEM;

	memset(written, 0, sizeof(*written));
	if (!tree)
		goto out;
	w.nodes = call_tree_nodes(tree, &count);
	if (w.comparison)
		*written = written_in_ns(result);
	for (int kind = 0; kind < ROW_KINDS && !w.comparison; kind++) {
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
	free(w.path);
	call_tree_free(tree);
	return err;
}

const struct writer folded_writer = {.name = "folded",
				     .suffix = ".folded",
				     .other_suffix = ".txt",
				     .item = "stack",
				     .has_units = true,
				     .shows_weights = true,
				     .write = write_folded};
