/* SPDX-License-Identifier: MIT */
#include "symbolize/hash.h"

#include <sys/auxv.h>
#include <sys/random.h>

struct hash_seed hash_seed = {0x9e3779b97f4a7c15u, 0xd1342543de82ef95u};

/* Where getrandom does not answer, the kernel's 16 random bytes for each program have to do. */
__attribute__((constructor)) static void draw_seed(void)
{
	const void *given = (const void *)(uintptr_t)getauxval(AT_RANDOM);
	struct hash_seed drawn;

	if (getrandom(&drawn, sizeof(drawn), GRND_NONBLOCK) == (ssize_t)sizeof(drawn))
		hash_seed = drawn;
	else if (given)
		memcpy(&hash_seed, given, sizeof(hash_seed));
	hash_seed.second |= 1;
}
