/* SPDX-License-Identifier: MIT */
/*
 * Marks code and data that each launch uses, to keep them on few pages and cache lines. Between
 * launches the program fills the caches, so each page more costs a miss.
 */
#ifndef CUPTI_TRACE_CORE_HOT_PATH_H
#define CUPTI_TRACE_CORE_HOT_PATH_H

#include "symbolize/util/likely.h"

#define HOT_PATH_DATA __attribute__((section("read_at_launch")))

/* Marks a function for the linker, which puts hot ones side by side. */
#define HOT_PATH __attribute__((hot))

/* Keeps a function that is seldom called apart from the path of each call. */
#define SELDOM __attribute__((noinline, cold))

/* Marks a function that is in a header for the sake of launches. */
#define HOT_PATH_INLINE inline __attribute__((always_inline))

/*
 * Computes the address of a thread's variable once. The compiler would do so at each use, by a call
 * of the loader.
 */
#define OF_THREAD(variable)                                      \
	__extension__({                                          \
		__typeof__(&(variable)) of_thread = &(variable); \
		__asm__("" : "+r"(of_thread));                   \
		of_thread;                                       \
	})

#endif
