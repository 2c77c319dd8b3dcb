// SPDX-License-Identifier: MIT
#include "symbolize/util/budget.h"

#define CLOSED (UINT64_C(1) << 63)

void budget_share_open(struct budget_share *share, uint64_t bytes)
{
	share->given = bytes;
	atomic_init(&share->left, bytes);
	atomic_init(&share->total, 0);
	atomic_init(&share->was_refused, false);
}

bool budget_take(struct budget_share *share, uint64_t bytes)
{
	uint64_t left;

	if (!share)
		return true;
	left = atomic_load(&share->left);
	do {
		if (left & CLOSED || left < bytes) {
			atomic_store(&share->was_refused, true);
			return false;
		}
	} while (!atomic_compare_exchange_weak(&share->left, &left, left - bytes));
	atomic_fetch_add(&share->total, bytes);
	return true;
}

void budget_return(struct budget_share *share, uint64_t bytes)
{
	if (share)
		atomic_fetch_add(&share->left, bytes);
}

uint64_t budget_share_close(struct budget_share *share)
{
	return share->given - (atomic_fetch_or(&share->left, CLOSED) & ~CLOSED);
}

void budget_open(struct budget *budget)
{
	*budget = (struct budget){
		.resident_left = BUDGET_RESIDENT_BYTES,
		.run_left = BUDGET_RUN_BYTES,
		.maps_left = MAPS_MAX_BYTES,
	};
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t shared_left(const struct budget *budget)
{
	if (!budget->shared_used)
		return UINT64_MAX;
	return budget->shared_most - smaller(budget->shared_most, *budget->shared_used);
}

void budget_lend(const struct budget *budget, struct budget_share *share, uint64_t most)
{
	most = smaller(most, shared_left(budget));
	budget_share_open(share, smaller(most, smaller(budget->resident_left, budget->run_left)));
}

uint64_t budget_settle(struct budget *budget, struct budget_share *share, bool keeps)
{
	uint64_t held = budget_share_close(share);

	budget->run_left -= smaller(budget->run_left, atomic_load(&share->total));
	budget->refused += atomic_load(&share->was_refused);
	if (!keeps)
		return 0;
	budget->resident_left -= smaller(budget->resident_left, held);
	if (budget->shared_used)
		*budget->shared_used += held;
	return held;
}

void budget_free(struct budget *budget, uint64_t bytes)
{
	budget->resident_left += bytes;
	if (budget->shared_used)
		*budget->shared_used -= bytes;
}

bool budget_take_maps(struct budget *budget, uint64_t bytes)
{
	if (bytes > smaller(budget->maps_left, shared_left(budget)))
		return false;
	budget->maps_left -= bytes;
	if (budget->shared_used)
		*budget->shared_used += bytes;
	return true;
}

void budget_free_maps(struct budget *budget, uint64_t bytes)
{
	budget->maps_left += bytes;
	if (budget->shared_used)
		*budget->shared_used -= bytes;
}
