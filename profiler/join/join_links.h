/* SPDX-License-Identifier: MIT */
/*
 * Keeps the join's table of launches by correlation id.
 *
 * The table has each launch's state and waiting operations, and evicts launches over its limits.
 *
 * A link is created by a launch, or by an operation that arrives before its launch. Once its stack
 * is known, it is in one of three lists, oldest first, each with its own limit:
 *
 *   idle   no operation yet; in order of decision, limit I = LINKS_IDLE_TIMES N
 *   plain  had its operation, rarely gets a second; by first operation, limit N
 *   graph  had an operation, more will come; by first operation, limit I + N less the idle ones
 *
 * N is join.h's JOIN_REMEMBERED. So a launch that waits on a busy stream is not evicted by launches
 * that run meanwhile on other streams. An operation whose launch is among the newest N always finds
 * it. Fewer than N newer launches can be idle. A graph that has begun is followed by fewer than N
 * newer launches, begun or idle. Fewer than I older ones were idle when it began. (A plain launch's
 * further operations arrive with its first.)
 *
 * The idle limit is higher because CUPTI delivers records late, for many processes at once: 64
 * processes that launch 60,000 kernels each before the first record arrives lose none.
 */
#ifndef PROFILER_JOIN_JOIN_LINKS_H
#define PROFILER_JOIN_JOIN_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profiler/base/quota.h"
#include "profiler/join/join.h"
#include "symbolize/util/hash_index.h"

#define NO_LINK UINT32_MAX
#define LINKS_IDLE_TIMES 4
#define LINK_PROCESSES (1u << 14)

enum link_state {
	LINK_FREE,
	LINK_NO_LAUNCH, /* operations arrived before their launch */
	LINK_UNDECIDED, /* the launch waits for its probe */
	LINK_IDLE,      /* the stack is known, here and below */
	LINK_PLAIN,
	LINK_GRAPH,
	LINK_STATES
};

/* One correlation id of one process: joins a launch to its operations. */
struct link {
	uint64_t launched_ns; /* 0: no launch yet */
	uint32_t process;
	uint32_t correlation_id;
	struct origin_id origin;
	/* one word, which keeps a link at 32 bytes */
	uint32_t age : 24;    /* distinguishes the uses of a slot */
	uint32_t state : 5;   /* enum link_state */
	uint32_t expects : 2; /* enum expected_record */
	uint32_t is_graph : 1;
	union {
		struct { /* while the stack is unknown: list of waiting operations */
			uint32_t first_waiting;
			uint32_t last_waiting;
		};
		struct { /* afterwards: list of the link's state */
			uint32_t previous;
			uint32_t next;
		};
	};
};

struct waiting_operation {
	struct gpu_operation operation;
	uint32_t next;
};

struct link_list {
	uint32_t first, last;
	uint32_t length, limit;
};

/* Zero-initialise, then links_init. */
struct links {
	struct link *links;
	uint32_t used, capacity;
	uint32_t free; /* list through `next` */
	struct hash_index index;
	uint32_t last;                       /* the link that was found last */
	struct link_list lists[LINK_STATES]; /* used from LINK_IDLE on */
	uint32_t of_process[LINK_PROCESSES]; /* links per process, by process modulo size */

	struct waiting_operation *waiting;
	uint32_t waiting_used, waiting_capacity;
	uint32_t waiting_free;
	uint32_t waiting_count;

	struct quota *memory; /* borrowed; NULL: no limit */
	uint32_t paid, paid_waiting;
};

/*
 * Bytes charged to the quota, never returned. They include the queues of join.c: an undecided
 * launch, and an operation without a launch. Queues may have twice the capacity of their contents.
 */
#define LINK_BYTES (sizeof(struct link) + HASH_INDEX_ENTRY_BYTES)
#define LINK_WAITING_BYTES (sizeof(struct waiting_operation) + 48)

/* Weak reference to a link. */
struct link_ref {
	uint32_t position;
	uint32_t age;
};

void links_init(struct links *l);
void links_release(struct links *l);
void links_limit(struct links *l, uint32_t newest);
size_t links_memory(const struct links *l);

/* Returns the link of this id, or NULL. */
struct link *links_find(struct links *l, uint32_t process, uint32_t correlation_id);

/*
 * Adds a link with a new id; the caller sets its state. Over the quota the link replaces the oldest
 * with an operation, else the oldest idle one. Returns NULL if there is none, or memory is
 * exhausted.
 */
struct link *links_add(struct links *l, uint32_t process, uint32_t correlation_id);
void links_remove(struct links *l, struct link *link);

/* Returns false if the process certainly has no link. */
bool links_may_have(const struct links *l, uint32_t process);

struct link_ref links_ref(const struct links *l, const struct link *link);
struct link *links_deref(struct links *l, struct link_ref ref);

/* Queues an operation on an undecided link. Returns false if memory or the quota is exhausted. */
bool links_wait(struct links *l, struct link *link, const struct gpu_operation *operation);

/* Removes the first operation that waits for the link. Returns false if there is none. */
bool links_take_waiting(struct links *l, struct link *link, struct gpu_operation *operation);

/*
 * Appends a link without waiting operations to the list of `state`. If the list exceeds its limit,
 * forgets its oldest link.
 */
void links_list(struct links *l, struct link *link, enum link_state state);

static inline bool link_is_decided(const struct link *link)
{
	return link->state >= LINK_IDLE;
}

#endif
