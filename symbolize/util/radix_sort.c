// SPDX-License-Identifier: MIT
#include "symbolize/util/radix_sort.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { DIGIT_BITS = 8, DIGITS = 64 / DIGIT_BITS, VALUES = 1 << DIGIT_BITS };

static uint32_t digit_of(uint64_t key, int digit)
{
	return key >> (digit * DIGIT_BITS) & (VALUES - 1);
}

static bool is_sorted(const uint64_t *keys, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (keys[i] < keys[i - 1])
			return false;
	return true;
}

/* Counts how often each digit has each value, in one pass. */
static void count_digits(const uint64_t *keys, uint32_t count, uint32_t (*counts)[VALUES])
{
	memset(counts, 0, DIGITS * sizeof(*counts));
	for (uint32_t i = 0; i < count; i++)
		for (int digit = 0; digit < DIGITS; digit++)
			counts[digit][digit_of(keys[i], digit)]++;
}

/* Turns counts into positions: that of the first key with each value. */
static void find_places(uint32_t *counts)
{
	uint32_t place = 0;

	for (int value = 0; value < VALUES; value++) {
		uint32_t count = counts[value];

		counts[value] = place;
		place += count;
	}
}

int radix_sort(uint64_t **keys, uint32_t **values, uint32_t count)
{
	uint32_t counts[DIGITS][VALUES];
	uint64_t *to_keys;
	uint32_t *to_values;

	if (is_sorted(*keys, count))
		return 0;
	to_keys = malloc(count * sizeof(*to_keys));
	to_values = malloc(count * sizeof(*to_values));
	if (!to_keys || !to_values) {
		free(to_keys);
		free(to_values);
		return -ENOMEM;
	}
	count_digits(*keys, count, counts);
	for (int digit = 0; digit < DIGITS; digit++) {
		uint64_t *from_keys = *keys;
		uint32_t *from_values = *values;

		if (counts[digit][digit_of(from_keys[0], digit)] == count)
			continue; /* all keys share this digit */
		find_places(counts[digit]);
		for (uint32_t i = 0; i < count; i++) {
			uint32_t place = counts[digit][digit_of(from_keys[i], digit)]++;

			to_keys[place] = from_keys[i];
			to_values[place] = from_values[i];
		}
		*keys = to_keys;
		*values = to_values;
		to_keys = from_keys;
		to_values = from_values;
	}
	free(to_keys);
	free(to_values);
	return 0;
}
