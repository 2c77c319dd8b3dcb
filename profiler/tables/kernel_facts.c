// SPDX-License-Identifier: MIT
#include "profiler/tables/kernel_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/model/kernel_definitions.h"
#include "symbolize/util/intern.h"
#include "symbolize/util/sorted.h"

/* A kernel, by the definition that most of its time is of. */
struct known {
	const char *kernel; /* name of its frame */
	const struct kernel_definition *definition;
	const char *place; /* "/app/kernels.py:12" */
	const char *count; /* number of its definitions; NULL: one */
};

struct kernel_facts {
	struct known *list; /* by name */
	uint32_t count;
	struct intern strings;
};

static int by_name_and_time(const void *a, const void *b)
{
	const struct kernel_definition *x = ((const struct known *)a)->definition,
				       *y = ((const struct known *)b)->definition;
	int order = strcmp(x->kernel, y->kernel);

	return order ? order : compare_numbers(y->ns, x->ns);
}

static bool set_texts(struct kernel_facts *facts, struct known *known, uint32_t count)
{
	const struct kernel_definition *d = known->definition;
	char *place = NULL, number[16];
	bool is_known = d->file[0];

	if (is_known && asprintf(&place, "%s:%u", d->file, d->line) < 0)
		return false;
	known->place = place ? intern_string(&facts->strings, place) : NULL;
	free(place);
	snprintf(number, sizeof(number), "%u", count);
	known->count = count > 1 ? intern_string(&facts->strings, number) : NULL;
	return known->place || !is_known;
}

/* Joins the definitions of each kernel. Returns false if out of memory. */
static bool join(struct kernel_facts *facts)
{
	uint32_t kept = 0, next;

	if (facts->count)
		qsort(facts->list, facts->count, sizeof(*facts->list), by_name_and_time);
	for (uint32_t i = 0; i < facts->count; i = next) {
		struct known *known = &facts->list[kept++];

		*known = facts->list[i];
		for (next = i + 1; next < facts->count; next++)
			if (strcmp(facts->list[next].kernel, known->kernel) != 0)
				break;
		if (!set_texts(facts, known, next - i))
			return false;
	}
	facts->count = kept;
	return true;
}

struct kernel_facts *kernel_facts_new(const struct result *result)
{
	const struct table_kind *kind = &kernel_definitions_table;
	const struct result_table *table = result_tables_find(result->tables, kind);
	struct kernel_facts *facts = calloc(1, sizeof(*facts));
	uint32_t count = table ? table->count : 0;

	if (!facts)
		return NULL;
	facts->list = calloc(count + 1u, sizeof(*facts->list));
	for (uint32_t i = 0; facts->list && i < count; i++) {
		const struct kernel_definition *d = result_table_row(table, kind, i);

		facts->list[facts->count++] = (struct known){.kernel = d->kernel, .definition = d};
	}
	if (facts->list && join(facts))
		return facts;
	kernel_facts_free(facts);
	return NULL;
}

void kernel_facts_free(struct kernel_facts *facts)
{
	if (!facts)
		return;
	free(facts->list);
	intern_release(&facts->strings);
	free(facts);
}

static int compare_name(const void *key, const void *element)
{
	return strcmp(key, ((const struct known *)element)->kernel);
}

uint32_t kernel_facts_of(const struct kernel_facts *facts, const struct frame_info *frame,
			 struct kernel_fact list[KERNEL_FACTS_MAX])
{
	const struct kernel_definition *d;
	const struct known *k;
	uint32_t kept = 0;

	if (frame->class != CLASS_GPU_KERNEL || facts->count == 0)
		return 0;
	k = bsearch(frame->name, facts->list, facts->count, sizeof(*facts->list), compare_name);
	if (!k)
		return 0;
	d = k->definition;
	const struct kernel_fact all[KERNEL_FACTS_MAX] = {
		{"operators", strchr(d->operators, ',') ? "fused" : "operator", d->operators,
		 false},
		{"source_nodes", "made of", d->nodes, true},
		{"defined", "defined", k->place, false},
		{"definitions", "definitions", k->count, true},
		{"definition_unknown", "definition unknown", d->unknown, true},
	};

	for (uint32_t i = 0; i < KERNEL_FACTS_MAX; i++)
		if (all[i].text && all[i].text[0])
			list[kept++] = all[i];
	return kept;
}
