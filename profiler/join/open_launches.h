/* SPDX-License-Identifier: MIT */
/*
 * Launch calls that have not returned: where there is a timeline, a launch waits here for the
 * duration of its call.
 *
 * A process sends the start of each launch call and, from the same thread, its end, always for the
 * thread's last call (docs/wire-format.md). So a thread is in at most one, even if a runtime call
 * makes a driver call. A call whose end never comes (its thread was cancelled, or launched again
 * from inside the call) is recorded without a duration. Threads are identified by place, so
 * PLACES_MAX (places.h) bounds them; each takes 88 bytes with the index.
 */
#ifndef PROFILER_JOIN_OPEN_LAUNCHES_H
#define PROFILER_JOIN_OPEN_LAUNCHES_H

#include <stdint.h>
#include "cupti_trace/wire/gpu_event.h"
#include "profiler/model/id_remap.h"
#include "profiler/model/profile_sink.h"
#include "symbolize/util/hash_index.h"

struct open_launch {
	struct profile_item item; /* without a duration */
	uint32_t process;
};

/* Zero-initialise, then set the sink. */
struct open_launches {
	struct profile_sink *sink; /* gets them; borrowed */
	struct open_launch *launches;
	uint32_t count, capacity;
	struct hash_index index; /* by place */
};

void open_launches_release(struct open_launches *open);

/*
 * A thread of `process`, identified by the item's place, has entered a call. 0, or -ENOMEM: then
 * the launch is recorded at once.
 */
int open_launches_begin(struct open_launches *open, uint32_t process,
			const struct profile_item *item);

/* The call with this id has returned. No effect if the thread's last launch is another. */
void open_launches_end(struct open_launches *open, struct place_id place,
		       const struct gpu_event_launch_end *end);

/* Shows the numbers in use. */
void open_launches_visit(struct open_launches *open, const struct id_visitor *visitor);

/* The process sends nothing more. */
void open_launches_forget(struct open_launches *open, uint32_t process);

#endif
