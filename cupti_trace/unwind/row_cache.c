// SPDX-License-Identifier: MIT
#include "cupti_trace/unwind/row_cache.h"

#include <stdatomic.h>
#include <stdbool.h>

#define PROBES 8

struct slot {
	_Atomic uint64_t row; /* 0: empty */
	_Atomic uint64_t check;
};

static struct slot slots[ROW_CACHE_SLOTS];

static struct slot *slot_at(uint64_t pc, uint32_t probe)
{
	uint32_t first = (uint32_t)((pc * 0x9e3779b97f4a7c15u) >> 40);

	return &slots[(first + probe) & (ROW_CACHE_SLOTS - 1)];
}

/*
 * Returns the check word. Multiplies, because pcs and rows have similar bits: so two rows differ in
 * other bits than two pcs.
 */
static uint64_t check_of(uint64_t pc, uint64_t row)
{
	return pc ^ row * 0xd6e8feb86659fd93u;
}

static bool holds(const struct slot *slot, uint64_t pc, uint64_t row)
{
	return atomic_load_explicit(&slot->check, memory_order_relaxed) == check_of(pc, row);
}

uint64_t row_cache_get(uint64_t pc)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		const struct slot *slot = slot_at(pc, i);
		uint64_t row = atomic_load_explicit(&slot->row, memory_order_relaxed);

		if (row == 0)
			return 0;
		if (holds(slot, pc, row))
			return row;
	}
	return 0;
}

void row_cache_put(uint64_t pc, uint64_t row)
{
	struct slot *slot = slot_at(pc, 0);

	for (uint32_t i = 0; i < PROBES; i++) {
		uint64_t there;

		slot = slot_at(pc, i); /* all taken: replace the last */
		there = atomic_load_explicit(&slot->row, memory_order_relaxed);
		if (there == 0 || holds(slot, pc, there))
			break;
	}
	atomic_store_explicit(&slot->row, row, memory_order_relaxed);
	atomic_store_explicit(&slot->check, check_of(pc, row), memory_order_relaxed);
}

void row_cache_forget(void)
{
	for (uint32_t i = 0; i < ROW_CACHE_SLOTS; i++) {
		atomic_store_explicit(&slots[i].row, 0, memory_order_relaxed);
		atomic_store_explicit(&slots[i].check, 0, memory_order_relaxed);
	}
}
