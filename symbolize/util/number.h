/* SPDX-License-Identifier: MIT */
/*
 * Loads and stores unsigned numbers of 1 to 8 bytes in structs that a table describes by offsets
 * and sizes.
 */
#ifndef SYMBOLIZE_UTIL_NUMBER_H
#define SYMBOLIZE_UTIL_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Returns the number of `size` bytes at `offset`. */
static inline uint64_t number_load(const void *from, size_t offset, uint8_t size)
{
	const char *at = (const char *)from + offset;
	uint16_t two;
	uint32_t four;
	uint64_t eight;

	switch (size) {
	case 1:
		return *(const uint8_t *)at;
	case 2:
		memcpy(&two, at, sizeof(two));
		return two;
	case 4:
		memcpy(&four, at, sizeof(four));
		return four;
	default:
		memcpy(&eight, at, sizeof(eight));
		return eight;
	}
}

/* Stores a number of `size` bytes at `offset`. Returns false if the number is too large. */
static inline bool number_store(void *to, size_t offset, uint8_t size, uint64_t value)
{
	char *at = (char *)to + offset;

	if (size < 8 && value >> (8 * size))
		return false;
	switch (size) {
	case 1:
		*(uint8_t *)at = (uint8_t)value;
		break;
	case 2:
		memcpy(at, &(uint16_t){(uint16_t)value}, sizeof(uint16_t));
		break;
	case 4:
		memcpy(at, &(uint32_t){(uint32_t)value}, sizeof(uint32_t));
		break;
	default:
		memcpy(at, &value, sizeof(value));
	}
	return true;
}

#endif
