/* SPDX-License-Identifier: MIT */
/* The memory that the test itself holds: for tests of freeing. */
#ifndef TESTS_UNIT_HEAP_H
#define TESTS_UNIT_HEAP_H

#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>

/* glibc keeps small pieces that were freed, and counts them as held: up to some 100 KiB. */
#define HEAP_NOISE (256u << 10)

#ifdef __SANITIZE_ADDRESS__
size_t __sanitizer_get_current_allocated_bytes(void);
#endif

/* Bytes held. Under valgrind, which has its own heap, always 0. */
static inline size_t heap_bytes(void)
{
#ifdef __SANITIZE_ADDRESS__
	return __sanitizer_get_current_allocated_bytes();
#else
	struct mallinfo2 info = mallinfo2();

	return getenv("UNDER_VALGRIND") ? 0 : info.uordblks + info.hblkhd;
#endif
}

#endif
