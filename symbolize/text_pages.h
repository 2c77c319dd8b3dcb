/* SPDX-License-Identifier: MIT */
/*
 * Chooses the pages of a text that are compared to recognize a file's text, and hashes them.
 *
 * The profiler has the file, and the program has the text in memory (moved_text.h). [from, to) are
 * bytes in memory or in the file: whole pages but for the first and the last. Both sides choose
 * equal pages, since the places differ by whole pages.
 */
#ifndef SYMBOLIZE_TEXT_PAGES_H
#define SYMBOLIZE_TEXT_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TEXT_PAGE UINT64_C(4096)
#define TEXT_PAGES_MAX 16u

/* Returns how many pages are compared. */
static inline uint32_t text_pages_count(uint64_t from, uint64_t to)
{
	uint64_t pages = (to - 1) / TEXT_PAGE - from / TEXT_PAGE + 1;

	return pages < TEXT_PAGES_MAX ? (uint32_t)pages : TEXT_PAGES_MAX;
}

/* Gets the bytes of chosen page `i`. Pages are spread evenly. */
static inline void text_pages_get(uint64_t from, uint64_t to, uint32_t i, uint64_t *first,
				  uint64_t *end)
{
	uint64_t pages = (to - 1) / TEXT_PAGE - from / TEXT_PAGE + 1;
	uint64_t page = from / TEXT_PAGE + (2 * i + 1) * pages / (2 * text_pages_count(from, to));

	*first = page * TEXT_PAGE > from ? page * TEXT_PAGE : from;
	*end = (page + 1) * TEXT_PAGE < to ? (page + 1) * TEXT_PAGE : to;
}

/* Adds the bytes of a page to a hash, which begins as 0. Fast, and easily fooled. */
static inline uint64_t text_pages_hash(uint64_t hash, const uint8_t *bytes, size_t size)
{
	uint64_t word = 0;

	for (; size > 0; bytes += sizeof(word)) {
		size_t part = size < sizeof(word) ? size : sizeof(word);

		word = 0;
		memcpy(&word, bytes, part);
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
		size -= part;
		if (part < sizeof(word))
			break;
	}
	return hash ? hash : 1;
}

#endif
