// SPDX-License-Identifier: MIT
#include "cupti_trace/unwind/unwind_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "cupti_trace/unwind/stack_fingerprint.h"

#define FIRST_NODES 256u       /* powers of two */
#define MOST_NODES 8192u       /* 256 KiB, and 64 KiB for the index */
#define MOST_BYTES (16u << 20) /* limit for all threads */

/* Addresses are kept as distances from the stack's end; 32 bytes, two to a cache line. */
struct node {
	uint64_t pc;
	uint32_t rsp;
	uint32_t rbp_at;
	uint32_t next;   /* number of the next node; 0: unknown */
	uint32_t bucket; /* the next node of this bucket; 0: none */
	int32_t offset;
	int16_t rbp_offset;
	uint16_t rule; /* enum frame_rule */
};

struct unwind_cache {
	uint64_t high;
	uint32_t count;     /* number of nodes; node 0 is none */
	uint32_t capacity;  /* a power of two; also the number of buckets */
	bool is_full;       /* a state did not fit */
	uint32_t *buckets;  /* node numbers; 0: empty */
	struct node *nodes; /* aligned to 64 */
};

static _Atomic size_t bytes_in_use;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end;
static bool has_key;
static __thread struct unwind_cache_thread own;

/* ---- memory ---- */

static size_t bytes_of(uint32_t capacity)
{
	return capacity * (sizeof(struct node) + sizeof(uint32_t));
}

static void release(struct unwind_cache *cache)
{
	free(cache->nodes);
	free(cache->buckets);
	atomic_fetch_sub(&bytes_in_use, bytes_of(cache->capacity));
	cache->capacity = 0;
}

static void at_thread_end(void *cache)
{
	own.cache = NULL;
	release(cache);
	stack_fingerprint_release(&own.words);
	free(cache);
}

static void make_key(void)
{
	has_key = pthread_key_create(&thread_end, at_thread_end) == 0;
}

/* Makes an empty cache of `capacity` nodes, if the limit for all threads allows it. */
static bool allocate(struct unwind_cache *cache, uint32_t capacity)
{
	struct node *nodes;
	uint32_t *buckets;

	if (atomic_fetch_add(&bytes_in_use, bytes_of(capacity)) + bytes_of(capacity) > MOST_BYTES) {
		atomic_fetch_sub(&bytes_in_use, bytes_of(capacity));
		return false;
	}
	nodes = aligned_alloc(64, capacity * sizeof(*nodes));
	buckets = calloc(capacity, sizeof(*buckets));
	if (!nodes || !buckets) {
		free(nodes);
		free(buckets);
		atomic_fetch_sub(&bytes_in_use, bytes_of(capacity));
		return false;
	}
	if (cache->capacity)
		release(cache);
	cache->nodes = nodes;
	cache->buckets = buckets;
	cache->capacity = capacity;
	cache->count = 1;
	cache->is_full = false;
	return true;
}

static void forget(struct unwind_cache *cache)
{
	memset(cache->buckets, 0, cache->capacity * sizeof(*cache->buckets));
	cache->count = 1;
	cache->is_full = false;
}

static struct unwind_cache *make(struct unwind_cache_thread *thread, uint64_t high,
				 uint32_t generation)
{
	struct unwind_cache *cache;

	pthread_once(&once, make_key);
	cache = has_key ? calloc(1, sizeof(*cache)) : NULL;
	if (!cache)
		return NULL;
	cache->high = high;
	if (!allocate(cache, FIRST_NODES) || pthread_setspecific(thread_end, cache) != 0) {
		if (cache->capacity)
			release(cache);
		free(cache);
		return NULL;
	}
	thread->cache = cache;
	thread->generation = generation;
	return cache;
}

struct unwind_cache_thread *unwind_cache_thread(void)
{
	return &own;
}

struct unwind_cache *unwind_cache_begin(struct unwind_cache_thread *thread, uint64_t high,
					uint32_t generation)
{
	struct unwind_cache *cache = thread->cache;

	if (!cache)
		return make(thread, high, generation);
	if (thread->generation != generation || cache->high != high) {
		forget(cache);
		stack_fingerprint_forget(&thread->words);
		thread->generation = generation;
		cache->high = high;
	} else if (cache->is_full) {
		if (cache->capacity == MOST_NODES || !allocate(cache, cache->capacity * 2))
			forget(cache);
	}
	return cache;
}

/* ---- nodes ---- */

static uint32_t bucket_of(const struct unwind_cache *cache, uint64_t pc, uint32_t rsp)
{
	return (uint32_t)((pc ^ (uint64_t)rsp << 32) * 0x9e3779b97f4a7c15u >> 40) &
	       (cache->capacity - 1);
}

uint32_t unwind_cache_node(struct unwind_cache *cache, const struct frame_state *state)
{
	uint64_t rsp = cache->high - state->rsp, rbp_at = cache->high - state->rbp_at;
	uint32_t *bucket, at;

	if (rsp > UINT32_MAX || rbp_at > UINT32_MAX)
		return 0;
	bucket = &cache->buckets[bucket_of(cache, state->pc, (uint32_t)rsp)];
	for (at = *bucket; at; at = cache->nodes[at].bucket) {
		const struct node *node = &cache->nodes[at];

		if (node->pc == state->pc && node->rsp == rsp && node->rbp_at == rbp_at)
			return at;
	}
	if (cache->count == cache->capacity) {
		cache->is_full = true;
		return 0;
	}
	at = cache->count++;
	cache->nodes[at] = (struct node){.pc = state->pc,
					 .rsp = (uint32_t)rsp,
					 .rbp_at = (uint32_t)rbp_at,
					 .bucket = *bucket};
	*bucket = at;
	return at;
}

void unwind_cache_set_rule(struct unwind_cache *cache, uint32_t node, enum frame_rule rule,
			   int32_t offset, int16_t rbp_offset)
{
	struct node *at = &cache->nodes[node];

	at->rule = (uint16_t)rule;
	at->offset = offset;
	at->rbp_offset = rbp_offset;
}

void unwind_cache_set_next(struct unwind_cache *cache, uint32_t node, uint32_t next)
{
	cache->nodes[node].next = next;
}

bool unwind_cache_is_outermost(const struct unwind_cache *cache, uint32_t node)
{
	return cache->nodes[node].rule == FRAME_OUTERMOST;
}

/* Reads a word of the stack, at a distance from its end. */
static uint64_t word(const struct unwind_cache *cache, uint32_t distance)
{
	uint64_t value;

	memcpy(&value, (const void *)(uintptr_t)(cache->high - distance), sizeof(value));
	return value;
}

/* Returns whether rbp leads where it led before, as far as the rule needs it. */
static bool rbp_agrees(const struct unwind_cache *cache, const struct node *at,
		       const struct node *next)
{
	uint64_t rbp = word(cache, at->rbp_at);
	uint64_t place = rbp + (uint64_t)(int64_t)at->offset;
	uint64_t low = cache->high - at->rsp, next_rsp = cache->high - next->rsp;

	if (at->rule == FRAME_BY_RBP)
		return place == next_rsp;
	return place >= low && place <= cache->high - 8 && (place & 7) == 0 &&
	       word(cache, (uint32_t)(cache->high - place)) == next_rsp &&
	       rbp + (uint64_t)(int64_t)at->rbp_offset == cache->high - next->rbp_at;
}

uint32_t unwind_cache_follow(const struct unwind_cache *cache, uint32_t node, uint64_t *pcs,
			     uint32_t *count, uint32_t max, struct frame_state *state)
{
	const struct node *at = &cache->nodes[node];
	uint32_t n = *count;

	while (at->next && n < max) {
		const struct node *next = &cache->nodes[at->next];

		if (at->rule != FRAME_BY_RSP && !rbp_agrees(cache, at, next))
			break;
		if (word(cache, next->rsp + 8) != next->pc)
			break;
		pcs[n++] = next->pc;
		at = next;
	}
	*count = n;
	*state = (struct frame_state){
		.pc = at->pc, .rsp = cache->high - at->rsp, .rbp_at = cache->high - at->rbp_at};
	return (uint32_t)(at - cache->nodes);
}

void unwind_cache_read_sps(const struct unwind_cache *cache, uint32_t node, uint64_t *sps,
			   uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		node = cache->nodes[node].next;
		sps[i] = cache->high - cache->nodes[node].rsp;
	}
}

/* Returns the words that decide what follows `at`, as distances from the stack's end. */
static uint32_t deciding_words(const struct unwind_cache *cache, const struct node *at,
			       uint64_t distances[3])
{
	uint32_t count = 0;

	if (at->rule != FRAME_BY_RSP)
		distances[count++] = at->rbp_at;
	if (at->rule == FRAME_AT_RBP)
		distances[count++] =
			cache->high - word(cache, at->rbp_at) - (uint64_t)(int64_t)at->offset;
	distances[count++] = cache->nodes[at->next].rsp + UINT64_C(8);
	return count;
}

uint32_t unwind_cache_read_words(const struct unwind_cache *cache, uint32_t node, uint64_t frame,
				 uint16_t *offsets, uint32_t max)
{
	const struct node *at = &cache->nodes[node];
	uint64_t distances[3] = {at->rsp + UINT64_C(8)}; /* place of the first return address */
	uint32_t count = 0, more = 1;

	for (;;) {
		for (uint32_t i = 0; i < more; i++) {
			uint64_t offset = cache->high - distances[i] - frame;

			if (count == max || offset % STACK_FINGERPRINT_UNIT ||
			    offset / STACK_FINGERPRINT_UNIT > STACK_FINGERPRINT_REACH)
				return 0;
			offsets[count++] = (uint16_t)(offset / STACK_FINGERPRINT_UNIT);
		}
		if (at->rule == FRAME_OUTERMOST)
			return count;
		if (at->rule == FRAME_UNKNOWN || !at->next)
			return 0;
		more = deciding_words(cache, at, distances);
		at = &cache->nodes[at->next];
	}
}
