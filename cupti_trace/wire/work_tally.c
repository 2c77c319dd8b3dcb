// SPDX-License-Identifier: MIT
#include "cupti_trace/wire/work_tally.h"

#include <string.h>

static uint32_t hash_key(const struct work_key *key)
{
	return hash_four(key->device, key->context, key->stream, key->work);
}

/* Adds an empty sum for a new key. Returns NULL when out of memory, with nothing changed. */
static struct work_sum *add_sum(struct work_tally *t, const struct work_key *key)
{
	uint32_t at = record_add_hashed(t, hash_key(key), &((struct work_sum){.key = *key}));

	return at == RECORD_NONE ? NULL : &t->list[at];
}

struct work_sum *work_tally_find(const struct work_tally *tally, const struct work_key *key)
{
	uint32_t at = record_find_hashed(tally, hash_key(key), key);

	return at == RECORD_NONE ? NULL : &tally->list[at];
}

struct work_sum *work_tally_again(struct work_tally *tally, const struct work_key *key)
{
	struct work_sum *sum = tally->last < tally->count ? &tally->list[tally->last] : NULL;

	if (sum && sum->key.device == key->device && sum->key.context == key->context &&
	    sum->key.stream == key->stream && sum->key.work == key->work)
		return sum;
	sum = work_tally_find(tally, key);
	if (sum)
		tally->last = (uint32_t)(sum - tally->list);
	return sum;
}

struct work_sum *work_tally_get(struct work_tally *tally, const struct work_key *key)
{
	const struct work_key rest = {WORK_TALLY_REST, WORK_TALLY_REST, WORK_TALLY_REST, key->work};
	struct work_sum *sum = work_tally_again(tally, key);

	if (sum)
		return sum;
	if (!tally->overflowed && tally->count < (tally->max ? tally->max : WORK_TALLY_MAX))
		sum = add_sum(tally, key);
	if (sum)
		return sum;
	/* for good: a later key would get only a part of its work */
	tally->overflowed = true;
	sum = work_tally_find(tally, &rest);
	return sum ? sum : add_sum(tally, &rest);
}

const struct work_sum *work_tally_next(const struct work_tally *tally, uint32_t *at)
{
	return *at < tally->count ? &tally->list[(*at)++] : NULL;
}

void work_tally_release(struct work_tally *tally)
{
	record_set_release(&tally->set);
	memset(tally, 0, sizeof(*tally));
}

/* ---- comparing ---- */

static bool is_rest(const struct work_key *key)
{
	return key->device == WORK_TALLY_REST && key->context == WORK_TALLY_REST &&
	       key->stream == WORK_TALLY_REST;
}

/* Returns whether work under this key may have been reported in a rest. */
static bool may_be_in_rest(const struct work_tally *reported, const struct work_key *key)
{
	const struct work_key rest = {WORK_TALLY_REST, WORK_TALLY_REST, WORK_TALLY_REST, key->work};

	return reported->overflowed || work_tally_find(reported, &rest);
}

static void note_difference(struct work_comparison *c, const struct work_sum *reported,
			    const struct work_sum *counted)
{
	if (c->different++ > 0)
		return;
	c->reported = *reported;
	c->counted = *counted;
}

/* Compares a sum of the profile that was not reported. */
static void compare_counted(struct work_comparison *c, const struct work_sum *counted,
			    const struct work_tally *reported)
{
	const struct work_sum none = {.key = counted->key};

	if (is_rest(&counted->key))
		c->not_compared++;
	else if (work_tally_find(reported, &counted->key))
		return;
	else if (may_be_in_rest(reported, &counted->key))
		c->not_compared++;
	else
		note_difference(c, &none, counted);
}

static void compare_reported(struct work_comparison *c, const struct work_sum *reported,
			     const struct work_tally *counted)
{
	const struct work_sum none = {.key = reported->key}, *here;

	here = work_tally_find(counted, &reported->key);
	if (is_rest(&reported->key))
		c->not_compared += reported->count > 0;
	else if (!here && counted->overflowed)
		c->not_compared++;
	else if (here && here->count == reported->count && here->ns == reported->ns &&
		 here->bytes == reported->bytes)
		c->equal++;
	else
		note_difference(c, reported, here ? here : &none);
}

struct work_comparison work_tally_compare(const struct work_tally *counted,
					  const struct work_tally *reported)
{
	struct work_comparison c = {0};

	for (uint32_t i = 0; i < counted->count; i++)
		compare_counted(&c, &counted->list[i], reported);
	for (uint32_t i = 0; i < reported->count; i++)
		compare_reported(&c, &reported->list[i], counted);
	return c;
}
