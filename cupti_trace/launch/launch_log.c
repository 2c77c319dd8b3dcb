// SPDX-License-Identifier: MIT
#include "cupti_trace/launch/launch_log.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "cupti_trace/core/hot_path.h"
#include "cupti_trace/core/guest.h"
#include "cupti_trace/core/ticks.h"

/* Four to a cache line. */
struct entry {
	uint64_t time : 59;  /* entry of the launch, in ticks; for an end, its time in ns */
	uint64_t family : 2; /* enum gpu_launch_family, or a kind below */
	uint64_t flags : 3;
	uint32_t correlation_id;
	uint32_t stack_id; /* for an end: the error */
};
_Static_assert(sizeof(struct entry) == 16, "four to a line");
#define END_OF_LAUNCH 0
#define IS_WAITED 1 /* instead of flags: not an end, but launch_log_waited */
#define WEIGHT 3    /* `stack_id` is the number of launches that the next one stands for */
_Static_assert((GPU_LAUNCH_IS_GRAPH | GPU_LAUNCH_IS_OTHER | GPU_LAUNCH_HAS_RECORD) < 8,
	       "three bits");

struct ring {
	/* used by each launch, on one cache line */
	_Alignas(64) _Atomic uint32_t head; /* written by the owner */
	_Atomic uint32_t tail;              /* written under drain_lock */
	/* changed by the owner, under drain_lock */
	uint32_t capacity;     /* a power of two */
	struct entry *entries; /* `first`, or allocated */

	uint32_t tid;
	_Atomic bool orphaned; /* the owner has ended */
	struct ring *next;
	/* under drain_lock: the weight of the launch with this id; 0: none */
	uint32_t weighed_id, weight;
	uint64_t last_ns; /* time of the launch that was sent last */
	struct entry first[LAUNCH_LOG_FIRST];
};

/*
 * State of the process: the library has one instance, and its hooks carry no context for a thread's
 * state.
 */
static pthread_mutex_t drain_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct ring *) rings;
static struct ticks_line line;      /* under drain_lock */
static _Atomic uint64_t drained_ns; /* start of the last complete drain of all rings */
static pthread_key_t thread_end;
static __thread struct launch_log_thread {
	struct ring *ring; /* NULL: none yet */
	bool is_ending;    /* the thread's ring is orphaned */
} own;

/*
 * Held to orphan a ring, and before freeing one. For ThreadSanitizer in the program: it sees locks
 * and free, but not the atomics of a library that is built without it.
 */
static pthread_mutex_t end_lock = PTHREAD_MUTEX_INITIALIZER;

static void orphan(void *ring)
{
	struct guest guest;

	guest_enter(&guest);
	own.ring = NULL;
	own.is_ending = true;
	pthread_mutex_lock(&end_lock);
	atomic_store(&((struct ring *)ring)->orphaned, true);
	pthread_mutex_unlock(&end_lock);
	guest_leave(&guest);
}

int launch_log_init(void)
{
	static bool has_key;
	struct ticks_point now;
	int err = 0;

	ticks_init();
	now = ticks_read_point();
	ticks_line_add(&line, &now);
	if (!has_key)
		err = pthread_key_create(&thread_end, orphan);
	has_key |= err == 0;
	return -err;
}

uint32_t launch_log_tid(void)
{
	static __thread uint32_t tid;

	if (!tid)
		tid = (uint32_t)syscall(SYS_gettid);
	return tid;
}

static struct ring *new_ring(void)
{
	struct ring *ring = aligned_alloc(64, sizeof(*ring));

	if (!ring)
		return NULL;
	memset(ring, 0, sizeof(*ring));
	ring->capacity = LAUNCH_LOG_FIRST;
	ring->entries = ring->first;
	ring->tid = launch_log_tid();
	ring->next = atomic_load(&rings);
	while (!atomic_compare_exchange_weak(&rings, &ring->next, ring))
		;
	pthread_setspecific(thread_end, ring);
	own.ring = ring;
	return ring;
}

/* Replaces the ring, for launches by destructors. A thread's launches are sent in order. */
static struct ring *another_ring(struct sink *sink)
{
	struct guest guest;

	guest_enter(&guest);
	launch_log_drain(sink);
	guest_leave(&guest);
	return new_ring();
}

/* Returns whether a later entry marks the launch as waited for; its end may come first. */
static bool is_waited(const struct ring *ring, uint32_t at, uint32_t head)
{
	uint32_t id = ring->entries[at % ring->capacity].correlation_id;

	for (uint32_t next = at + 1; next != head && next - at <= 2; next++) {
		const struct entry *entry = &ring->entries[next % ring->capacity];

		if (entry->family != END_OF_LAUNCH || entry->correlation_id != id)
			return false;
		if (entry->flags & IS_WAITED)
			return true;
	}
	return false;
}

static void send_launch(struct sink *sink, struct ring *ring, const struct entry *entry,
			bool is_waited_for)
{
	uint64_t ns = ticks_line_ns(&line, entry->time);
	struct gpu_event event = {
		.type = GPU_EVENT_LAUNCH,
		/* two lines may differ by a few ns where they meet */
		.launch = {.time_ns = ns > ring->last_ns ? ns : ring->last_ns,
			   .tid = ring->tid,
			   .correlation_id = entry->correlation_id,
			   .family = entry->family,
			   .flags = entry->flags,
			   .stack_id = entry->stack_id},
	};

	ring->last_ns = event.launch.time_ns;
	if (is_waited_for)
		event.launch.flags |= GPU_LAUNCH_WAITED;
	if (entry->stack_id == LAUNCH_LOG_SKIPPED) {
		event.launch.stack_id = 0;
		event.launch.flags |= GPU_LAUNCH_SKIPPED;
	} else if (ring->weight && ring->weighed_id == entry->correlation_id) {
		event.launch.stands_for = ring->weight;
		ring->weight = 0;
	}
	sink_put(sink, &event);
}

static void note_weight(struct ring *ring, const struct entry *entry)
{
	ring->weighed_id = entry->correlation_id;
	ring->weight = entry->stack_id;
}

/* Sends the end of the launch that was sent last. */
static void send_end(struct sink *sink, const struct ring *ring, const struct entry *entry)
{
	struct gpu_event event = {
		.type = GPU_EVENT_LAUNCH_END,
		.launch_end = {.duration_ns = entry->time > ring->last_ns
						      ? entry->time - ring->last_ns
						      : 0,
			       .tid = ring->tid,
			       .correlation_id = entry->correlation_id,
			       .error = entry->stack_id},
	};

	sink_put(sink, &event);
}

/* Extends the line to the present, so that it spans the entries to drain. */
static uint64_t extend_line(void)
{
	struct ticks_point now = ticks_read_point();

	ticks_line_add(&line, &now);
	return now.ns;
}

static void drain_ring(struct sink *sink, struct ring *ring)
{
	uint32_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
	uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	for (; tail != head; tail++) {
		const struct entry *entry = &ring->entries[tail % ring->capacity];

		if (entry->family == END_OF_LAUNCH && !(entry->flags & IS_WAITED))
			send_end(sink, ring, entry);
		else if (entry->family == END_OF_LAUNCH)
			continue; /* taken into account with the launch */
		else if (entry->family == WEIGHT)
			note_weight(ring, entry);
		else
			send_launch(sink, ring, entry, is_waited(ring, tail, head));
	}
	atomic_store_explicit(&ring->tail, tail, memory_order_release);
}

static void free_ring(struct ring *ring)
{
	pthread_mutex_lock(&end_lock);
	pthread_mutex_unlock(&end_lock);
	if (ring->entries != ring->first)
		free(ring->entries);
	free(ring);
}

/* Unlinks `ring`. New rings are only pushed at the front, so `link` is stable otherwise. */
static void remove_ring(struct ring *ring)
{
	struct ring *front = ring;
	struct ring *at;

	if (atomic_compare_exchange_strong(&rings, &front, ring->next)) {
		free_ring(ring);
		return;
	}
	for (at = front; at && at->next != ring;)
		at = at->next;
	if (at)
		at->next = ring->next;
	free_ring(ring);
}

void launch_log_drain(struct sink *sink)
{
	struct ring *ring, *next;
	uint64_t now;

	pthread_mutex_lock(&drain_lock);
	now = extend_line();
	for (ring = atomic_load(&rings); ring; ring = next) {
		bool orphaned = atomic_load(&ring->orphaned);

		next = ring->next;
		drain_ring(sink, ring);
		if (orphaned)
			remove_ring(ring);
	}
	atomic_store(&drained_ns, now);
	pthread_mutex_unlock(&drain_lock);
}

void launch_log_drain_until(struct sink *sink, uint64_t ns)
{
	if (ns > atomic_load(&drained_ns))
		launch_log_drain(sink);
}

/* Enlarges an empty ring that was full: its thread launches fast. */
static void grow(struct ring *ring)
{
	struct entry *bigger;

	if (ring->capacity == LAUNCH_LOG_CAPACITY)
		return;
	bigger = malloc(2 * ring->capacity * sizeof(*bigger));
	if (!bigger)
		return;
	if (ring->entries != ring->first)
		free(ring->entries);
	ring->entries = bigger;
	ring->capacity *= 2;
}

static void empty_ring(struct sink *sink, struct ring *ring)
{
	struct guest guest;

	guest_enter(&guest);
	pthread_mutex_lock(&drain_lock);
	extend_line();
	drain_ring(sink, ring);
	grow(ring);
	pthread_mutex_unlock(&drain_lock);
	guest_leave(&guest);
}

/* Returns the head, for the owner. */
static HOT_PATH_INLINE uint32_t head_of(const struct ring *ring)
{
	return atomic_load_explicit(&ring->head, memory_order_relaxed);
}

static HOT_PATH_INLINE bool is_full(const struct ring *ring, uint32_t head)
{
	return head - atomic_load_explicit(&ring->tail, memory_order_acquire) == ring->capacity;
}

static HOT_PATH_INLINE struct entry *entry_at(const struct ring *ring, uint32_t head)
{
	return &ring->entries[head & (ring->capacity - 1)];
}

/*
 * Returns the entry that the calling thread fills in next, then publishes. Drains its ring if it is
 * full.
 */
static struct entry *claim_entry(struct sink *sink, struct ring *ring)
{
	uint32_t head = head_of(ring);

	if (is_full(ring, head))
		empty_ring(sink, ring);
	return entry_at(ring, head);
}

static HOT_PATH_INLINE void publish_entry(struct ring *ring)
{
	atomic_store_explicit(&ring->head, head_of(ring) + 1, memory_order_release);
}

/* Counts a launch that was lost for lack of memory. */
static void count_lost(struct sink *sink)
{
	struct guest guest;

	guest_enter(&guest);
	sink_count_drops(sink, &(struct gpu_event_drops){.launches = 1});
	guest_leave(&guest);
}

static struct ring *make_ring(struct sink *sink)
{
	return own.is_ending ? another_ring(sink) : new_ring();
}

void launch_log_weigh(struct sink *sink, uint32_t correlation_id, uint32_t stands_for)
{
	struct ring *ring = own.ring ? own.ring : make_ring(sink);

	if (!ring)
		return; /* the launch itself is lost, and counted */
	*claim_entry(sink, ring) = (struct entry){
		.family = WEIGHT, .correlation_id = correlation_id, .stack_id = stands_for};
	publish_entry(ring);
}

struct launch_log_thread *launch_log_thread(void)
{
	return &own;
}

static HOT_PATH_INLINE void write_launch(struct entry *entry,
					 const struct launch_log_launch *launch, uint64_t now)
{
	*entry = (struct entry){.time = now,
				.family = launch->family,
				.flags = launch->flags,
				.correlation_id = launch->correlation_id,
				.stack_id = launch->stack_id};
}

/* Adds a launch if it is the thread's first, its ring is full, or there is no counter. */
static __attribute__((noinline)) void add_slowly(struct ring *ring, struct sink *sink,
						 struct launch_log_launch launch)
{
	uint64_t now = ticks_now(); /* before any waiting for room */

	if (!ring)
		ring = make_ring(sink);
	if (!ring) {
		count_lost(sink);
		return;
	}
	write_launch(claim_entry(sink, ring), &launch, now);
	publish_entry(ring);
}

HOT_PATH void launch_log_add(const struct launch_log_thread *me, struct sink *sink,
			     struct launch_log_launch launch)
{
	struct ring *ring = me->ring;
	uint32_t head = likely(ring) ? head_of(ring) : 0;

	if (unlikely(!ring || is_full(ring, head) || !ticks_source.is_counter)) {
		add_slowly(ring, sink, launch);
		return;
	}
	write_launch(entry_at(ring, head), &launch, ticks_counted());
	publish_entry(ring);
}

void launch_log_end(struct sink *sink, uint32_t correlation_id, uint64_t end_ns, uint32_t error)
{
	struct ring *ring = own.ring;
	struct entry *entry;

	if (!ring)
		return;
	/* the owner alone writes entries, so the last one is intact, drained or not */
	entry = entry_at(ring, head_of(ring) - 1);
	if (entry->family == END_OF_LAUNCH || entry->correlation_id != correlation_id)
		return;
	entry = claim_entry(sink, ring);
	*entry =
		(struct entry){.time = end_ns, .correlation_id = correlation_id, .stack_id = error};
	publish_entry(ring);
}

void launch_log_waited(struct sink *sink, uint32_t correlation_id)
{
	struct ring *ring = own.ring;

	if (!ring)
		return;
	*claim_entry(sink, ring) =
		(struct entry){.flags = IS_WAITED, .correlation_id = correlation_id};
	publish_entry(ring);
}
