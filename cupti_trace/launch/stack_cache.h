/* SPDX-License-Identifier: MIT */
/*
 * Caches a thread's recent stacks: the id of each, by the hash of the stack. In sets of four, a
 * cache line each; a new stack in a full set replaces one.
 *
 * One thread uses a table, and its signal handlers, at any instruction. Whatever they write, a
 * stack is found under its own hash with its own id, or not at all.
 *
 * Inline, because each launch uses it.
 */
#ifndef CUPTI_TRACE_LAUNCH_STACK_CACHE_H
#define CUPTI_TRACE_LAUNCH_STACK_CACHE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include "symbolize/util/likely.h"

#define STACK_CACHE_SLOTS 512

struct known_stack {
	uint64_t hash; /* 0: free */
	uint32_t id;
	uint32_t base; /* launch_stack.c's */
};

/* Zero-initialised is empty. */
struct stack_cache {
	_Alignas(64) struct known_stack slots[STACK_CACHE_SLOTS];
};

/* Returns the place of a stack: its own, or that of the stack it replaces. */
static inline struct known_stack *stack_cache_slot(struct stack_cache *recent, uint64_t hash)
{
	struct known_stack *set = &recent->slots[(hash >> 40) % STACK_CACHE_SLOTS & ~3u];

	for (uint32_t i = 0; i < 4; i++)
		if (likely(set[i].hash == hash || set[i].hash == 0))
			return &set[i];
	return &set[hash >> 32 & 3];
}

/* Returns the place of a known stack; NULL: none. */
static inline const struct known_stack *stack_cache_find(struct stack_cache *recent, uint64_t hash,
							 uint32_t *id)
{
	const struct known_stack *slot = stack_cache_slot(recent, hash);

	*id = slot->id;
	/* a launch in a signal handler may have taken the slot just before */
	atomic_signal_fence(memory_order_acq_rel);
	return likely(slot->hash == hash) ? slot : NULL;
}

/* Keeps the id of a stack. */
static inline void stack_cache_keep(struct stack_cache *recent, uint64_t hash, uint32_t id)
{
	struct known_stack *slot = stack_cache_slot(recent, hash);

	/* a launch in a signal handler finds either stack under its own hash, or none */
	slot->hash = 0;
	atomic_signal_fence(memory_order_acq_rel);
	slot->id = id;
	atomic_signal_fence(memory_order_acq_rel);
	slot->hash = hash;
	atomic_signal_fence(memory_order_acq_rel);
	if (slot->id != id)
		slot->hash = 0; /* a handler has used this slot meanwhile */
}

#endif
