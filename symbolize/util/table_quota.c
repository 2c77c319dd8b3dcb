// SPDX-License-Identifier: MIT
#include "symbolize/util/table_quota.h"

#include "symbolize/util/sorted.h"

#define CLOSED (UINT64_C(1) << 63)

void quota_share_open(struct quota_share *share, uint64_t bytes)
{
	share->given = bytes;
	atomic_init(&share->left, bytes);
	atomic_init(&share->total, 0);
	atomic_init(&share->was_refused, false);
}

bool quota_share_take(struct quota_share *share, uint64_t bytes)
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

void quota_share_return(struct quota_share *share, uint64_t bytes)
{
	if (share)
		atomic_fetch_add(&share->left, bytes);
}

uint64_t quota_share_close(struct quota_share *share)
{
	return share->given - (atomic_fetch_or(&share->left, CLOSED) & ~CLOSED);
}

void table_quota_open(struct table_quota *quota)
{
	*quota = (struct table_quota){
		.resident_left = TABLE_QUOTA_RESIDENT_BYTES,
		.run_left = TABLE_QUOTA_RUN_BYTES,
		.maps_left = MAPS_MAX_BYTES,
	};
}

static uint64_t shared_left(const struct table_quota *quota)
{
	if (!quota->shared_used)
		return UINT64_MAX;
	return quota->shared_most - smaller_of(quota->shared_most, *quota->shared_used);
}

void table_quota_lend(const struct table_quota *quota, struct quota_share *share, uint64_t most)
{
	most = smaller_of(most, shared_left(quota));
	quota_share_open(share,
			 smaller_of(most, smaller_of(quota->resident_left, quota->run_left)));
}

uint64_t table_quota_settle(struct table_quota *quota, struct quota_share *share, bool keeps)
{
	uint64_t held = quota_share_close(share);

	quota->run_left -= smaller_of(quota->run_left, atomic_load(&share->total));
	quota->refused += atomic_load(&share->was_refused);
	if (!keeps)
		return 0;
	quota->resident_left -= smaller_of(quota->resident_left, held);
	if (quota->shared_used)
		*quota->shared_used += held;
	return held;
}

void table_quota_free(struct table_quota *quota, uint64_t bytes)
{
	quota->resident_left += bytes;
	if (quota->shared_used)
		*quota->shared_used -= bytes;
}

bool table_quota_take_maps(struct table_quota *quota, uint64_t bytes)
{
	if (bytes > smaller_of(quota->maps_left, shared_left(quota)))
		return false;
	quota->maps_left -= bytes;
	if (quota->shared_used)
		*quota->shared_used += bytes;
	return true;
}

void table_quota_free_maps(struct table_quota *quota, uint64_t bytes)
{
	quota->maps_left += bytes;
	if (quota->shared_used)
		*quota->shared_used -= bytes;
}
