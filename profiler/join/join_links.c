// SPDX-License-Identifier: MIT
#include "profiler/join/join_links.h"

#include <stdlib.h>
#include "symbolize/util/array.h"

void links_init(struct links *l)
{
	l->free = NO_LINK;
	l->waiting_free = NO_LINK;
	for (int i = 0; i < LINK_STATES; i++)
		l->lists[i] = (struct link_list){.first = NO_LINK, .last = NO_LINK};
	links_limit(l, JOIN_REMEMBERED);
}

void links_limit(struct links *l, uint32_t newest)
{
	l->lists[LINK_IDLE].limit = LINKS_IDLE_TIMES * newest;
	l->lists[LINK_PLAIN].limit = newest;
	/* minus the idle ones */
	l->lists[LINK_GRAPH].limit = (LINKS_IDLE_TIMES + 1) * newest;
}

void links_release(struct links *l)
{
	free(l->links);
	free(l->waiting);
	hash_index_release(&l->index);
}

size_t links_memory(const struct links *l)
{
	return l->capacity * sizeof(*l->links) + l->index.capacity * sizeof(*l->index.slots) +
	       l->waiting_capacity * sizeof(*l->waiting);
}

/* ---- links ---- */

struct key {
	uint32_t process;
	uint32_t id;
};

static bool link_equal(const void *records, uint32_t position, const void *key)
{
	const struct link *link = (const struct link *)records + position;
	const struct key *k = key;

	return link->process == k->process && link->correlation_id == k->id;
}

struct link *links_find(struct links *l, uint32_t process, uint32_t correlation_id)
{
	struct key key = {process, correlation_id};
	uint32_t at = l->last;

	/* the operations of a graph's launch come one after the other */
	if (at < l->used && l->links[at].state != LINK_FREE && link_equal(l->links, at, &key))
		return &l->links[at];
	at = hash_index_find(&l->index, hash_pair(process, correlation_id), link_equal, l->links,
			     &key);
	if (at == HASH_INDEX_NONE)
		return NULL;
	l->last = at;
	return &l->links[at];
}

/* Forgets the link that is least likely to be needed, if there is one. */
static void forget_any(struct links *l)
{
	static const enum link_state order[] = {LINK_PLAIN, LINK_GRAPH, LINK_IDLE};

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		const struct link_list *list = &l->lists[order[i]];

		if (list->length > 0) {
			links_remove(l, &l->links[list->first]);
			return;
		}
	}
}

/* Returns a free slot, or NO_LINK if memory is exhausted. */
static uint32_t free_slot(struct links *l)
{
	if (l->free == NO_LINK && !quota_extend(l->memory, l->used, &l->paid, LINK_BYTES)) {
		forget_any(l);
		return l->free;
	}
	if (l->free != NO_LINK)
		return l->free;
	return array_make_room(&l->links, l->used, &l->capacity, sizeof(*l->links)) ? l->used
										    : NO_LINK;
}

struct link *links_add(struct links *l, uint32_t process, uint32_t correlation_id)
{
	uint32_t at = free_slot(l), age = 0;
	struct link *link;

	if (at == NO_LINK || hash_index_add(&l->index, hash_pair(process, correlation_id), at) != 0)
		return NULL;
	l->of_process[process % LINK_PROCESSES]++;
	link = &l->links[at];
	if (at == l->used) {
		l->used++;
	} else {
		l->free = link->next;
		age = link->age;
	}
	*link = (struct link){.process = process,
			      .correlation_id = correlation_id,
			      .origin = ORIGIN_UNKNOWN,
			      .first_waiting = NO_LINK,
			      .last_waiting = NO_LINK,
			      .age = age};
	return link;
}

static void unlist(struct links *l, struct link *link)
{
	struct link_list *list = &l->lists[link->state];

	if (!link_is_decided(link))
		return;
	if (link->previous == NO_LINK)
		list->first = link->next;
	else
		l->links[link->previous].next = link->next;
	if (link->next == NO_LINK)
		list->last = link->previous;
	else
		l->links[link->next].previous = link->previous;
	list->length--;
}

void links_remove(struct links *l, struct link *link)
{
	uint32_t at = (uint32_t)(link - l->links);

	unlist(l, link);
	hash_index_remove(&l->index, hash_pair(link->process, link->correlation_id), at);
	l->of_process[link->process % LINK_PROCESSES]--;
	link->state = LINK_FREE;
	link->age++;
	link->next = l->free;
	l->free = at;
}

static void forget_oldest(struct links *l, const struct link_list *list, uint32_t limit)
{
	while (list->length > limit)
		links_remove(l, &l->links[list->first]);
}

void links_list(struct links *l, struct link *link, enum link_state state)
{
	struct link_list *list = &l->lists[state], *graphs = &l->lists[LINK_GRAPH];
	uint32_t at = (uint32_t)(link - l->links);

	unlist(l, link);
	link->state = state;
	link->previous = list->last;
	link->next = NO_LINK;
	if (list->last == NO_LINK)
		list->first = at;
	else
		l->links[list->last].next = at;
	list->last = at;
	list->length++;
	forget_oldest(l, list, list->limit);
	forget_oldest(l, graphs, graphs->limit - l->lists[LINK_IDLE].length);
}

bool links_may_have(const struct links *l, uint32_t process)
{
	return l->of_process[process % LINK_PROCESSES] > 0;
}

struct link_ref links_ref(const struct links *l, const struct link *link)
{
	return (struct link_ref){(uint32_t)(link - l->links), link->age};
}

struct link *links_deref(struct links *l, struct link_ref ref)
{
	struct link *link = &l->links[ref.position];

	return link->state != LINK_FREE && link->age == ref.age ? link : NULL;
}

/* ---- waiting operations ---- */

static uint32_t new_waiting(struct links *l)
{
	uint32_t at = l->waiting_free;

	if (at != NO_LINK) {
		l->waiting_free = l->waiting[at].next;
		return at;
	}
	if (!quota_extend(l->memory, l->waiting_used, &l->paid_waiting, LINK_WAITING_BYTES))
		return NO_LINK;
	if (!array_make_room(&l->waiting, l->waiting_used, &l->waiting_capacity,
			     sizeof(*l->waiting)))
		return NO_LINK;
	return l->waiting_used++;
}

bool links_wait(struct links *l, struct link *link, const struct gpu_operation *operation)
{
	uint32_t at = new_waiting(l);

	if (at == NO_LINK)
		return false;
	l->waiting[at].operation = *operation;
	l->waiting[at].next = NO_LINK;
	if (link->last_waiting == NO_LINK)
		link->first_waiting = at;
	else
		l->waiting[link->last_waiting].next = at;
	link->last_waiting = at;
	l->waiting_count++;
	return true;
}

bool links_take_waiting(struct links *l, struct link *link, struct gpu_operation *operation)
{
	uint32_t at = link->first_waiting;
	struct waiting_operation *w;

	if (at == NO_LINK)
		return false;
	w = &l->waiting[at];
	*operation = w->operation;
	link->first_waiting = w->next;
	if (w->next == NO_LINK)
		link->last_waiting = NO_LINK;
	w->next = l->waiting_free;
	l->waiting_free = at;
	l->waiting_count--;
	return true;
}
