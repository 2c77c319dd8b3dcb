/* SPDX-License-Identifier: MIT */
/*
 * Keeps launch calls that have not returned, until the duration of the call is known. Used with a
 * timeline.
 *
 * A process sends the start and the end of each launch call from one thread (docs/wire-format.md).
 * The end is always of the thread's last call. So a thread is in at most one, even if a runtime
 * call makes a driver call. A call may never end: its thread was cancelled, or launched again
 * inside the call. It is recorded without a duration. Threads are identified by place, so
 * PLACES_MAX (places.h) bounds them. Each takes 88 bytes with the index.
 */
#ifndef PROFILER_JOIN_OPEN_LAUNCHES_H
#define PROFILER_JOIN_OPEN_LAUNCHES_H

#include <stdint.h>
#include "cupti_trace/wire/gpu_event.h"
#include "profiler/model/id_remap.h"
#include "profiler/model/profile_sink.h"
#include "symbolize/util/record_set.h"

struct open_launch {
	struct place_id place; /* key */
	uint32_t process;
	struct profile_item item; /* without a duration */
};

/* Zero-initialise, then set the sink. */
struct open_launches {
	struct profile_sink *sink; /* receives the launches; borrowed */
	RECORD_SET(struct open_launch) launches;
};

void open_launches_release(struct open_launches *open);

/*
 * Notes that a thread of `process`, identified by the item's place, has entered a call. Returns 0,
 * or -ENOMEM with the launch recorded at once.
 */
int open_launches_begin(struct open_launches *open, uint32_t process,
			const struct profile_item *item);

/*
 * Records the call with this id, which has returned. Has no effect if the thread's last launch is
 * another.
 */
void open_launches_end(struct open_launches *open, struct place_id place,
		       const struct gpu_event_launch_end *end);

/* Passes the numbers in use to the visitor. */
void open_launches_visit(struct open_launches *open, const struct id_visitor *visitor);

/* Records the open launches of a process that sends nothing more. */
void open_launches_forget(struct open_launches *open, uint32_t process);

#endif
