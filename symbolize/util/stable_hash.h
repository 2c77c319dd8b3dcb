/* SPDX-License-Identifier: MIT */
/*
 * Hashes bytes alike in each run (FNV-1a), for names that people see. Not for tables: colliding
 * keys are easily chosen (symbolize/util/hash.h).
 */
#ifndef SYMBOLIZE_UTIL_STABLE_HASH_H
#define SYMBOLIZE_UTIL_STABLE_HASH_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t stable_hash(const void *data, size_t size)
{
	const unsigned char *bytes = data;
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3u;
	return hash;
}

#endif
