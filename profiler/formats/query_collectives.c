// SPDX-License-Identifier: MIT
#include "profiler/formats/query_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/model/quantity.h"
#include "profiler/tables/collective_calls.h"

/* Adds the command that shows the stacks of an entry, of all communicators, roots and peers. */
static void look_at(struct answer *a, const struct collective_call *e)
{
	char *pattern = query_pattern(e->frame);
	size_t length = pattern ? strlen(pattern) : 0;

	if (length && pattern[length - 1] == '$')
		pattern[length - 1] = '\0'; /* the ranks follow */
	if (pattern)
		answer_look(a, "--under", pattern, false, "collective.html");
	free(pattern);
}

static void put_entry(struct answer *a, struct json *j, const struct collective_call *e,
		      uint64_t whole_ns)
{
	answer_text(a, "operation", e->operation);
	answer_text(a, "reduction", e->reduction[0] ? e->reduction : NULL);
	if (e->has_bytes)
		json_uint(j, "bytes", e->bytes);
	if (e->ranks)
		json_uint(j, "ranks", e->ranks);
	if (e->executions)
		json_uint(j, "executions", e->executions);
	json_uint(j, "ns", e->ns);
	query_put_share(j, e->ns, whole_ns);
	if (e->executions)
		json_uint(j, "mean_ns", e->ns / e->executions);
	if (e->waited_ns)
		json_uint(j, "waited_ns", e->waited_ns);
	if (e->algorithm >= 0)
		json_real(j, "algorithm_gb_per_s", e->algorithm);
	if (e->bus >= 0)
		json_real(j, "bus_gb_per_s", e->bus);
	look_at(a, e);
}

static void say_collectives(struct answer *a, const struct query_input *in,
			    const struct collective_calls *all)
{
	char whole[QUANTITY_BYTES], most[QUANTITY_BYTES], size[QUANTITY_BYTES];
	const struct collective_call *first = all->list;

	if (all->count == 0)
		answer_say(a, in->result->totals.measure.nvtx
				      ? "No GPU work was started in ranges of NCCL."
				      : "Collectives have no names and sizes: run with --nvtx.");
	else
		answer_say(a, "Collectives: %s. Most, %s (%.1f %%), is of %s%s%s.",
			   time_text(whole, (double)all->whole_ns),
			   time_text(most, (double)first->ns), percent_of(first->ns, all->whole_ns),
			   first->operation, first->has_bytes && !first->is_group ? " of " : "",
			   first->has_bytes && !first->is_group ? bytes_text(size, first->bytes)
								: "");
}

int query_answer_collectives(struct answer *a, const struct query_input *in, const char *argument)
{
	struct collective_calls *all = collective_calls_new(in->result);
	struct json *j;

	(void)argument;
	if (!all)
		return -ENOMEM;
	say_collectives(a, in, all);
	json_uint(answer_sums(a), "collectives", all->count);
	json_uint(answer_sums(a), "ns", all->whole_ns);
	for (uint32_t i = 0; i < all->count; i++) {
		if (!(j = answer_row(a))) {
			answer_leave_out(a, all->count - i);
			break;
		}
		put_entry(a, j, &all->list[i], all->whole_ns);
		answer_end_row(a);
	}
	collective_calls_free(all);
	return 0;
}
