/* SPDX-License-Identifier: MIT */
/*
 * Calls that launch and have not returned: a timeline's record of a launch waits here for how long
 * the call took.
 *
 * A process sends the start of each such call and, from the same thread, its end: always of the
 * thread's last one (docs/wire-format.md). So a thread is in one at most, also where the runtime's
 * call makes the driver's. One whose end never comes (its thread was cancelled, or launched again
 * from within) is recorded without a duration. Threads are told apart by their places, so there are
 * no more than these (places.h), of 80 bytes each with the index.
 */
#ifndef PROFILER_COLLECT_OPEN_LAUNCHES_H
#define PROFILER_COLLECT_OPEN_LAUNCHES_H

#include <stdint.h>
#include "profiler/profile/timeline.h"
#include "symbolize/hash_index.h"

struct open_launch {
	struct timeline_record record; /* without a duration */
	uint32_t process;
};

/* Zero-initialise, then set the timeline. */
struct open_launches {
	struct timeline *timeline; /* borrowed: where records go; NULL: nobody may launch */
	struct open_launch *launches;
	uint32_t count, capacity;
	struct hash_index index; /* by place */
};

void open_launches_release(struct open_launches *open);

/*
 * A thread of `process`, the record's place, has entered a call. 0, or -ENOMEM: then the launch is
 * recorded at once.
 */
int open_launches_begin(struct open_launches *open, uint32_t process,
			const struct timeline_record *record);

/* Its call with this id has returned. Without effect if the thread's last launch is another. */
void open_launches_end(struct open_launches *open, uint32_t place, uint32_t correlation,
		       uint64_t duration_ns);

/* Nothing more comes of the process. */
void open_launches_forget(struct open_launches *open, uint32_t process);

#endif
