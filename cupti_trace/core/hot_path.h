/* SPDX-License-Identifier: MIT */
/*
 * What each launch reads of the library's state lies together, on one page and few cache lines:
 * between launches the program uses the caches for itself, so each page more costs a miss. So does
 * the code that each launch runs.
 */
#ifndef CUPTI_TRACE_CORE_HOT_PATH_H
#define CUPTI_TRACE_CORE_HOT_PATH_H

#include "symbolize/util/likely.h"

#define HOT_PATH_DATA __attribute__((section("read_at_launch")))

/* Of a function: the linker puts those that are hot side by side. */
#define HOT_PATH __attribute__((hot))

/* Of a function that is in a header for the launches' sake. */
#define HOT_PATH_INLINE inline __attribute__((always_inline))

/*
 * Finds the address of a thread's variable once. The compiler would find it again at each use,
 * which calls the loader.
 */
#define OF_THREAD(variable)                                      \
	__extension__({                                          \
		__typeof__(&(variable)) of_thread = &(variable); \
		__asm__("" : "+r"(of_thread));                   \
		of_thread;                                       \
	})

#endif
