// SPDX-License-Identifier: MIT
#include "symbolize/util/time_sort.h"

#include <stdbool.h>
#include <string.h>

#define BUCKETS 256
#define BYTE_BITS 8
#define FEW 48 /* records that insertion sorts faster */

struct sorting {
	char *records;
	size_t size;
};

static uint64_t number_at(const struct sorting *s, size_t at)
{
	uint64_t number;

	memcpy(&number, s->records + at * s->size, sizeof(number));
	return number;
}

static void copy(const struct sorting *s, void *to, size_t at)
{
	memcpy(to, s->records + at * s->size, s->size);
}

static void put(const struct sorting *s, size_t at, const void *record)
{
	memcpy(s->records + at * s->size, record, s->size);
}

static void insertion_sort(const struct sorting *s, size_t from, size_t to)
{
	char record[TIME_SORT_SIZE_MAX];

	for (size_t i = from + 1; i < to; i++) {
		uint64_t number = number_at(s, i);
		size_t at = i;

		while (at > from && number_at(s, at - 1) > number)
			at--;
		if (at == i)
			continue;
		copy(s, record, i);
		memmove(s->records + (at + 1) * s->size, s->records + at * s->size,
			(i - at) * s->size);
		put(s, at, record);
	}
}

/* Returns the bits that differ between numbers, or 0 if all are in order. */
static uint64_t differing_bits(const struct sorting *s, size_t from, size_t to)
{
	uint64_t bits = 0, first = number_at(s, from), last = first;
	bool is_sorted = true;

	for (size_t i = from + 1; i < to; i++) {
		uint64_t number = number_at(s, i);

		bits |= number ^ first;
		is_sorted &= number >= last;
		last = number;
	}
	return is_sorted ? 0 : bits;
}

/* Moves each record into the bucket of its byte. `ends` receives the end of each bucket. */
static void distribute(const struct sorting *s, size_t from, size_t to, unsigned int shift,
		       size_t ends[BUCKETS])
{
	size_t next[BUCKETS], counts[BUCKETS] = {0};
	char record[TIME_SORT_SIZE_MAX], other[TIME_SORT_SIZE_MAX];

	for (size_t i = from; i < to; i++)
		counts[number_at(s, i) >> shift & (BUCKETS - 1)]++;
	for (size_t bucket = 0, at = from; bucket < BUCKETS; bucket++) {
		next[bucket] = at;
		at += counts[bucket];
		ends[bucket] = at;
	}
	for (size_t bucket = 0; bucket < BUCKETS; bucket++) {
		while (next[bucket] < ends[bucket]) {
			size_t byte = number_at(s, next[bucket]) >> shift & (BUCKETS - 1);

			if (byte == bucket) {
				next[bucket]++;
				continue;
			}
			copy(s, record, next[bucket]);
			copy(s, other, next[byte]);
			put(s, next[byte]++, record);
			put(s, next[bucket], other);
		}
	}
}

/* Recurses at most once for each byte of a number. */
static void sort(const struct sorting *s, size_t from, size_t to)
{
	size_t ends[BUCKETS];
	unsigned int shift = 0;
	uint64_t bits;

	if (to - from <= FEW) {
		insertion_sort(s, from, to);
		return;
	}
	bits = differing_bits(s, from, to);
	if (!bits)
		return;
	while (bits >> shift >= BUCKETS)
		shift += BYTE_BITS;
	distribute(s, from, to, shift, ends);
	for (size_t bucket = 0, at = from; shift && bucket < BUCKETS; at = ends[bucket++])
		sort(s, at, ends[bucket]);
}

void time_sort(void *records, size_t count, size_t size)
{
	const struct sorting s = {records, size};

	if (count > 1)
		sort(&s, 0, count);
}
