// SPDX-License-Identifier: MIT
#include "profiler/sources/node_works.h"

#include <stdlib.h>
#include <string.h>

#define FIRST 64u

/* Makes room for a definition at `at`. Returns false if refused or out of memory. */
static bool make_room(struct node_works *w, struct quota *quota, uint32_t at)
{
	uint32_t end = w->end ? w->end : FIRST;
	struct node_work *list;
	size_t bytes;

	while (end <= at)
		end *= 2;
	if (end == w->end)
		return true;
	bytes = (end - w->end) * sizeof(*list);
	if (!quota_take(quota, bytes))
		return false;
	list = realloc(w->list, end * sizeof(*list));
	if (!list) {
		quota_return(quota, bytes);
		return false;
	}
	memset(list + w->end, 0, bytes);
	w->list = list;
	w->end = end;
	return true;
}

void node_works_add(struct node_works *w, struct quota *quota,
		    const struct gpu_event_node_work *event)
{
	uint32_t at = event->id % GPU_NODE_WORKS;

	if (make_room(w, quota, at))
		w->list[at] = (struct node_work){.event = *event};
}

void node_works_release(struct node_works *w, struct quota *quota)
{
	quota_return(quota, w->end * sizeof(*w->list));
	free(w->list);
	*w = (struct node_works){.list = NULL};
}

static struct node_work *find(const struct node_works *w, uint32_t id)
{
	uint32_t at = id % GPU_NODE_WORKS;

	return at < w->end && w->list[at].event.id == id ? &w->list[at] : NULL;
}

void node_run_open(struct node_run *open, const struct gpu_event_node_run *run)
{
	*open = (struct node_run){.run = *run, .at = node_run_start(run)};
}

bool node_run_next(struct node_run *open, const struct node_works *works, struct node_work **work,
		   struct gpu_event *event)
{
	const struct gpu_node_step *step;

	if (open->done >= open->run.count)
		return false;
	step = &open->run.steps[open->done++];
	*work = find(works, step->work_id);
	/* decoding has checked where the steps lead */
	if (!node_run_move(&open->at, step))
		*work = NULL;
	if (*work)
		node_run_event(&open->run, &open->at, &(*work)->event.of, event);
	return true;
}
