/* SPDX-License-Identifier: MIT */
/*
 * Hashes keys that come from outside: ids, addresses and names that a program chooses.
 *
 * Hashes are keyed by random numbers that each process draws before main(). So nobody can choose
 * keys that collide and make a table's chains long. A key therefore has another hash in each run:
 * nothing that a run shows or keeps may depend on hashes, nor on the order of a table's slots.
 *
 * A step multiplies two words, each mixed with a secret, to 128 bits, and folds the halves. Without
 * the secrets, no difference between two keys is known to vanish in a step.
 */
#ifndef SYMBOLIZE_UTIL_HASH_H
#define SYMBOLIZE_UTIL_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Random numbers drawn before main(), constant later; all but the first are odd. The weights are
 * for four hashes that are added up, the last with the weight 1. The sum of the last two weights,
 * and the sum of all, is twice an odd number. So a difference that all four hashes share loses its
 * highest bit at most.
 */
struct hash_seed {
	uint64_t first, second, weights[3];
};
extern struct hash_seed hash_seed;

static inline uint64_t hash_step(uint64_t hash, uint64_t a, uint64_t b)
{
	__extension__ const unsigned __int128 product =
		(unsigned __int128)(hash ^ a) * (hash_seed.second ^ b);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/*
 * Mixes again: after one step, equidistant keys stay equidistant, in a few runs all too close
 * together.
 */
static inline uint32_t hash_finish(uint64_t hash)
{
	return (uint32_t)(hash * 0x9e3779b97f4a7c15u >> 32);
}

/*
 * Hashes a number. Eight consecutive numbers differ in the last three bits only, and share a cache
 * line of a table: most ids are consecutive.
 */
static inline uint32_t hash_number(uint64_t number)
{
	uint32_t hash = hash_finish(hash_step(hash_seed.first, number >> 3, 0));

	return hash ^ (uint32_t)(number & 7);
}

static inline uint32_t hash_pair(uint32_t a, uint32_t b)
{
	return hash_number((uint64_t)a << 32 | b);
}

/* Hashes four numbers. */
static inline uint32_t hash_four(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	return hash_finish(
		hash_step(hash_seed.first, (uint64_t)a << 32 | b, (uint64_t)c << 32 | d));
}

/* Hashes bytes, such as those of a structure without padding. */
static inline uint32_t hash_bytes(const void *data, size_t size)
{
	const unsigned char *at = data;
	uint64_t hash = hash_seed.first + size, words[2];

	for (; size >= sizeof(words); at += sizeof(words), size -= sizeof(words)) {
		memcpy(words, at, sizeof(words));
		hash = hash_step(hash, words[0], words[1]);
	}
	if (size > 0) {
		words[0] = words[1] = 0;
		memcpy(words, at, size);
		hash = hash_step(hash, words[0], words[1]);
	}
	return hash_finish(hash);
}

#endif
