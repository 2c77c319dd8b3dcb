// SPDX-License-Identifier: MIT
#include "cupti_trace/memory/followed_memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include "symbolize/util/array.h"
#include "symbolize/util/hash_index.h"

static _Atomic uint64_t last_id;
static _Atomic bool has_calls; /* saves taking the lock if there are none */

/* Under the lock: a ring of the last calls, and their index. */
static struct {
	pthread_mutex_t lock;
	uint32_t *ids;
	uint32_t count, capacity, oldest;
	struct hash_index index;
} calls = {.lock = PTHREAD_MUTEX_INITIALIZER};

uint64_t followed_memory_new_id(void)
{
	return atomic_fetch_add(&last_id, 1) + 1;
}

static bool is_equal(const void *ids, uint32_t position, const void *id)
{
	return ((const uint32_t *)ids)[position] == *(const uint32_t *)id;
}

static uint32_t find(uint32_t id)
{
	return hash_index_find(&calls.index, hash_number(id), is_equal, calls.ids, &id);
}

/* Returns the place for one more call; removes the oldest if all are used. */
static uint32_t make_place(void)
{
	uint32_t at = calls.oldest;

	if (calls.count < FOLLOWED_CALLS_MAX &&
	    array_make_room(&calls.ids, calls.count, &calls.capacity, sizeof(*calls.ids)))
		return calls.count++;
	if (calls.count == 0)
		return HASH_INDEX_NONE; /* out of memory */
	hash_index_remove(&calls.index, hash_number(calls.ids[at]), at);
	calls.oldest = (at + 1) % calls.count;
	return at;
}

void followed_memory_note(uint32_t correlation_id)
{
	uint32_t at;

	atomic_store_explicit(&has_calls, true, memory_order_relaxed);
	pthread_mutex_lock(&calls.lock);
	if (find(correlation_id) == HASH_INDEX_NONE) {
		at = make_place();
		if (at != HASH_INDEX_NONE) {
			calls.ids[at] = correlation_id;
			hash_index_add(&calls.index, hash_number(correlation_id), at);
		}
	}
	pthread_mutex_unlock(&calls.lock);
}

bool followed_memory_has(uint32_t correlation_id)
{
	bool has;

	if (!atomic_load_explicit(&has_calls, memory_order_relaxed))
		return false;
	pthread_mutex_lock(&calls.lock);
	has = find(correlation_id) != HASH_INDEX_NONE;
	pthread_mutex_unlock(&calls.lock);
	return has;
}
