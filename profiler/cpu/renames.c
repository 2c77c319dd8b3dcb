// SPDX-License-Identifier: MIT
#include "profiler/cpu/renames.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct waiting {
	uint32_t count;
	struct {
		uint64_t time_ns;
		char comm[PROCESS_COMM_BYTES];
	} list[RENAMES_KEPT]; /* sorted by time */
};

#define WAITING_BYTES                                                              \
	(sizeof(struct waiting) + 2 * sizeof(uint64_t) + 16) /* includes the index \
							      */

static void drop(struct quota *quota, struct waiting *w)
{
	free(w);
	quota_return(quota, WAITING_BYTES);
}

void renames_release(struct renames *r, struct quota *quota)
{
	uint32_t position = 0, thread;
	uint64_t value;

	while (id_map_next(&r->by_thread, &position, &thread, &value))
		drop(quota, (struct waiting *)(uintptr_t)value);
	id_map_release(&r->by_thread);
	*r = (struct renames){0};
}

static struct waiting *find(const struct renames *r, uint32_t thread)
{
	uint64_t *value = id_map_find(&r->by_thread, thread);

	return value ? (struct waiting *)(uintptr_t)*value : NULL;
}

int renames_add(struct renames *r, struct quota *quota, uint32_t thread, uint64_t time_ns,
		const char *comm)
{
	struct waiting *w = find(r, thread);
	uint64_t *value;

	if (!w) {
		if (!quota_take(quota, WAITING_BYTES))
			return 0;
		w = calloc(1, sizeof(*w));
		value = w ? id_map_get(&r->by_thread, thread) : NULL;
		if (!value) {
			drop(quota, w);
			return -ENOMEM;
		}
		*value = (uint64_t)(uintptr_t)w;
	}
	if (w->count == RENAMES_KEPT) {
		memmove(w->list, w->list + 1, sizeof(w->list) - sizeof(w->list[0]));
		w->count--;
	}
	w->list[w->count].time_ns = time_ns;
	snprintf(w->list[w->count].comm, PROCESS_COMM_BYTES, "%s", comm);
	w->count++;
	return 0;
}

bool renames_take(struct renames *r, struct quota *quota, uint32_t thread, uint64_t time_ns,
		  char comm[PROCESS_COMM_BYTES])
{
	struct waiting *w = r->by_thread.count ? find(r, thread) : NULL;
	uint32_t taken = 0;

	while (w && taken < w->count && w->list[taken].time_ns <= time_ns)
		taken++;
	if (taken == 0)
		return false;
	memcpy(comm, w->list[taken - 1].comm, PROCESS_COMM_BYTES);
	w->count -= taken;
	memmove(w->list, w->list + taken, w->count * sizeof(w->list[0]));
	if (w->count == 0)
		renames_forget(r, quota, thread);
	return true;
}

void renames_forget(struct renames *r, struct quota *quota, uint32_t thread)
{
	struct waiting *w = r->by_thread.count ? find(r, thread) : NULL;

	if (!w)
		return;
	drop(quota, w);
	id_map_remove(&r->by_thread, thread);
}
