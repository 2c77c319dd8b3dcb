// SPDX-License-Identifier: MIT
#include "cupti_trace/launch_log.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "cupti_trace/clock.h"

struct ring {
	struct ring *next;
	uint32_t tid;
	uint32_t last_correlation;
	bool seen;
	_Atomic uint32_t head; /* written by the owner */
	_Atomic uint32_t tail; /* written under drain_lock */
	_Atomic bool orphaned; /* the owner ended */
	/* changed by the owner, under drain_lock */
	uint32_t capacity; /* a power of two */
	struct launch_log_entry *entries;
};

/*
 * State for the whole process: the library has one instance and its hooks carry no context that
 * could hold it for each thread.
 */
static pthread_mutex_t drain_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct ring *) rings;
static pthread_key_t thread_end;
static __thread struct ring *own_ring;

static void orphan(void *ring)
{
	own_ring = NULL;
	atomic_store(&((struct ring *)ring)->orphaned, true);
}

int launch_log_init(void)
{
	return -pthread_key_create(&thread_end, orphan);
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
	struct ring *ring = calloc(1, sizeof(*ring));

	if (!ring)
		return NULL;
	ring->capacity = LAUNCH_LOG_FIRST;
	ring->entries = malloc(ring->capacity * sizeof(*ring->entries));
	if (!ring->entries) {
		free(ring);
		return NULL;
	}
	ring->tid = launch_log_tid();
	ring->next = atomic_load(&rings);
	while (!atomic_compare_exchange_weak(&rings, &ring->next, ring))
		;
	pthread_setspecific(thread_end, ring);
	own_ring = ring;
	return ring;
}

static void drain_ring(struct sink *sink, struct ring *ring)
{
	uint32_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
	uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	for (; tail != head; tail++) {
		const struct launch_log_entry *entry = &ring->entries[tail % ring->capacity];
		struct gpu_event event = {
			.type = GPU_EVENT_LAUNCH,
			.launch = {.time_ns = entry->time_ns,
				   .tid = ring->tid,
				   .correlation_id = entry->correlation_id,
				   .family = entry->family,
				   .flags = entry->flags,
				   .stack_id = entry->stack_id},
		};

		sink_put(sink, &event);
	}
	atomic_store_explicit(&ring->tail, tail, memory_order_release);
}

static void free_ring(struct ring *ring)
{
	free(ring->entries);
	free(ring);
}

/* Unlinks `ring`; new rings are only ever pushed at the front, so `link` is stable but for that. */
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

	pthread_mutex_lock(&drain_lock);
	for (ring = atomic_load(&rings); ring; ring = next) {
		bool orphaned = atomic_load(&ring->orphaned);

		next = ring->next;
		drain_ring(sink, ring);
		if (orphaned)
			remove_ring(ring);
	}
	pthread_mutex_unlock(&drain_lock);
}

/* An empty ring that was full: its thread launches fast. */
static void grow(struct ring *ring)
{
	struct launch_log_entry *bigger;

	if (ring->capacity == LAUNCH_LOG_CAPACITY)
		return;
	bigger = malloc(2 * ring->capacity * sizeof(*bigger));
	if (!bigger)
		return;
	free(ring->entries);
	ring->entries = bigger;
	ring->capacity *= 2;
}

void launch_log_add(struct sink *sink, const struct gpu_event_launch *launch)
{
	struct ring *ring = own_ring ? own_ring : new_ring();
	uint64_t now = clock_now_ns(); /* before any waiting for room */
	struct launch_log_entry *entry;
	uint32_t head;

	if (!ring) {
		sink_count_drops(sink, &(struct gpu_event_drops){.launches = 1});
		return;
	}
	head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	if (head - atomic_load_explicit(&ring->tail, memory_order_acquire) == ring->capacity) {
		pthread_mutex_lock(&drain_lock);
		drain_ring(sink, ring);
		grow(ring);
		pthread_mutex_unlock(&drain_lock);
	}
	entry = &ring->entries[head % ring->capacity];
	entry->time_ns = now;
	entry->correlation_id = launch->correlation_id;
	entry->family = (uint16_t)launch->family;
	entry->flags = (uint16_t)launch->flags;
	entry->stack_id = launch->stack_id;
	ring->last_correlation = launch->correlation_id;
	ring->seen = true;
	atomic_store_explicit(&ring->head, head + 1, memory_order_release);
}

uint32_t launch_log_last_correlation(bool *seen)
{
	*seen = own_ring && own_ring->seen;
	return *seen ? own_ring->last_correlation : 0;
}
