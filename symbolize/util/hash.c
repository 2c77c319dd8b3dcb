/* SPDX-License-Identifier: MIT */
#include "symbolize/util/hash.h"

#include <sys/auxv.h>
#include <sys/random.h>

/* Seed, on one cache line. */
struct hash_seed hash_seed __attribute__((aligned(64))) = {
	0x9e3779b97f4a7c15u,
	0xd1342543de82ef95u,
	{0xaf251af3b0f025b5u, 0xb564ef22ec7aece7u, 0x9fb21c651e98df25u},
};

/*
 * Draws the seed. If getrandom does not answer, takes the 16 random bytes that the kernel gives
 * each program; then the weights are public.
 */
__attribute__((constructor)) static void draw_seed(void)
{
	const void *given = (const void *)(uintptr_t)getauxval(AT_RANDOM);
	struct hash_seed drawn;

	if (getrandom(&drawn, sizeof(drawn), GRND_NONBLOCK) == (ssize_t)sizeof(drawn))
		hash_seed = drawn;
	else if (given)
		memcpy(&hash_seed, given, offsetof(struct hash_seed, weights));
	hash_seed.second |= 1;
	hash_seed.weights[0] = (hash_seed.weights[0] & ~UINT64_C(3)) | 1;
	hash_seed.weights[1] |= 3;
	hash_seed.weights[2] = (hash_seed.weights[2] & ~UINT64_C(3)) | 1;
}
