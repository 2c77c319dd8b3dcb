/* SPDX-License-Identifier: MIT */
/* What was collected, as it would be in a file: for tests of the collecting side. */
#ifndef TESTS_UNIT_COLLECT_TEXT_H
#define TESTS_UNIT_COLLECT_TEXT_H

#include "unit.h"
#include "profiler/collect/collect.h"
#include "profiler/output/resolve.h"
#include "profiler/output/writer.h"

/* Ends it all at `now_ns`. The folded stacks in ns, to be freed. */
static inline char *collect_text(struct collect *c, uint64_t now_ns, struct writer_result *result)
{
	const struct writer_options options = {.unit_ns = {1, 1, 1, 1}};
	struct resolve_input input = {.profile = c->profile,
				      .stacks = c->stacks,
				      .symbolizer = c->symbolizer,
				      .strings = &c->strings,
				      .sample_period_ns = 1};
	struct call_tree *tree;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	collect_finish(c, now_ns);
	tree = resolve(&input);
	assert_non_null(out);
	assert_non_null(tree);
	assert_int_equal(folded_writer.write(tree, &options, out, result), 0);
	fclose(out);
	call_tree_free(tree);
	return text;
}

#endif
