/* SPDX-License-Identifier: MIT */
/*
 * Allocates large arrays in huge pages, if the system has any: page faults would take a fifth of
 * the time of filling them. Only what is used becomes memory.
 */
#ifndef SYMBOLIZE_UTIL_HUGE_MEMORY_H
#define SYMBOLIZE_UTIL_HUGE_MEMORY_H

#include <stddef.h>

/* Returns memory for free(), uninitialised, or NULL. */
void *huge_memory(size_t size);

#endif
