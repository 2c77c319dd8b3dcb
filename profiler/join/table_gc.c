// SPDX-License-Identifier: MIT
#include "profiler/join/table_gc.h"

#include <stdlib.h>
#include <string.h>
#include "profiler/join/collect_private.h"
#include "profiler/model/id_remap.h"

/* Numbers of stacks and places: first marked as used, then renumbered. */
struct numbers {
	uint32_t *stacks, *places;
	uint32_t stack_count, place_count;
	const struct stack_table *table;
};

static uint32_t *unused_numbers(uint32_t count)
{
	uint32_t *numbers = malloc(count * sizeof(*numbers));

	if (numbers)
		memset(numbers, 0xff, count * sizeof(*numbers));
	return numbers;
}

/* ---- the two visits ---- */

static void use_stack(void *context, struct stack_id *stack)
{
	struct numbers *n = context;

	if (stack->number < n->stack_count)
		stack_table_use(n->table, *stack, n->stacks);
}

static void use_place(void *context, struct place_id *place)
{
	struct numbers *n = context;

	if (place->number < n->place_count)
		n->places[place->number] = 0;
}

static void renumber_stack(void *context, struct stack_id *stack)
{
	const struct numbers *n = context;

	if (stack->number < n->stack_count)
		stack->number = n->stacks[stack->number];
}

static void renumber_place(void *context, struct place_id *place)
{
	const struct numbers *n = context;

	if (place->number < n->place_count)
		place->number = n->places[place->number];
}

static void visit_all(struct collect *c, const struct id_visitor *v)
{
	struct profile_item *item;
	uint64_t position = 0, value;
	uint32_t at = 0, id;

	while ((item = flight_recorder_next(c->sink.recorder, &position))) {
		visit_stack(v, &item->record.stack);
		visit_place(v, &item->record.place);
		if (item->record.kind == NOTE_SHARE)
			visit_stack_or_mark(v, &item->record.shape);
	}
	open_launches_visit(&c->open_launches, v);
	open_calls_visit(&c->open_calls, v);
	async_samples_visit(&c->async_samples, v);
	collect_visit_samples(c, v);
	thread_origins_visit(&c->origins, v);
	attribution_visit(&c->attribution, c->join, v);
	addons_visit(&c->addons, v);
	while (id_map_next(&c->processes.by_id, &at, &id, &value))
		target_stacks_visit(&((struct process *)(uintptr_t)value)->sent, v);
}

/* ---- processes ---- */

struct processes_in_use {
	const struct collect *collect;
	struct id_map by_place;
};

static bool is_in_use(const void *context, uint32_t process)
{
	const struct processes_in_use *p = context;

	return processes_get(&p->collect->processes, process) || id_map_find(&p->by_place, process);
}

/* Finds the processes that places refer to. Returns false if memory is exhausted. */
static bool find_processes(struct collect *c, struct processes_in_use *p)
{
	*p = (struct processes_in_use){.collect = c};
	for (uint32_t i = 0; i < c->places.count; i++)
		if (!id_map_get(&p->by_place, c->places.list[i].part[PLACE_PROCESS]))
			return false;
	return true;
}

static void forget_processes(struct collect *c)
{
	struct processes_in_use p;

	if (find_processes(c, &p) &&
	    place_names_forget(&c->place_names, &c->places, is_in_use, &p)) {
		devices_forget(&c->devices, is_in_use, &p);
		collect_renew_name_texts(c);
	}
	id_map_release(&p.by_place);
}

/* ---- all ---- */

static uint32_t entries(const struct collect *c)
{
	return stack_table_count(c->stacks) + stack_table_frame_count(c->stacks) + c->places.count +
	       c->place_names.process_count + c->place_names.thread_count +
	       c->attribution.origins.count;
}

/* Drops unused entries. Without memory drops nothing: the tables have limits of their own. */
static void forget(struct collect *c)
{
	struct numbers n = {.stacks = unused_numbers(stack_table_count(c->stacks)),
			    .places = unused_numbers(c->places.count),
			    .stack_count = stack_table_count(c->stacks),
			    .place_count = c->places.count,
			    .table = c->stacks};
	const struct id_visitor use = {use_stack, use_place, &n},
				renumber = {renumber_stack, renumber_place, &n};

	attribution_forget_origins(&c->attribution, c->join);
	if (n.stacks && n.places) {
		visit_all(c, &use);
		if (stack_table_forget(c->stacks, n.stacks)) {
			places_forget(&c->places, n.places);
			visit_all(c, &renumber);
			forget_processes(c);
		}
	}
	free(n.stacks);
	free(n.places);
}

void table_gc_run(struct collect *c)
{
	uint32_t left = entries(c);

	if (left < (c->gc.at ? c->gc.at : TABLE_GC_LEAST))
		return;
	forget(c);
	left = entries(c);
	c->gc.at = left + (left < TABLE_GC_LEAST  ? TABLE_GC_LEAST
			   : left > TABLE_GC_MOST ? TABLE_GC_MOST
						  : left);
	c->gc.times++;
}
