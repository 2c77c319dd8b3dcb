// SPDX-License-Identifier: MIT
#include "cupti_trace/exit_guard.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

/* What atexit is made of (Itanium C++ ABI, 3.3.6.3): it gives an argument. */
extern int __cxa_atexit(void (*function)(void *), void *argument, void *dso_handle);
extern void *__dso_handle __attribute__((visibility("hidden")));

static void (*the_handler)(void);
static pid_t owner;
static _Atomic bool ended;
static _Atomic uint32_t held;   /* a bit for each thread; bit 0 is furthest down the list */
static __thread bool was_first; /* this thread has called the handler */

_Static_assert(EXIT_GUARD_THREADS <= 32, "a bit each");

static void wait_a_little(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void stay(void)
{
	for (;;)
		pause();
}

static void run_handler(void *unused)
{
	(void)unused;
	if (getpid() != owner)
		return;
	was_first = true; /* it may come back to exit from a signal handler */
	the_handler();
	atomic_store(&ended, true);
	if (atomic_load(&held))
		stay();
}

static void hold_thread(void *argument)
{
	uint32_t bit = (uint32_t)(uintptr_t)argument;

	if (was_first || getpid() != owner)
		return;
	atomic_fetch_or(&held, bit);
	for (int ms = 0; ms < EXIT_GUARD_PATIENCE_MS && !atomic_load(&ended); ms++)
		wait_a_little();
	if (atomic_load(&held) & (bit - 1))
		stay(); /* another one is further down */
}

int exit_guard_add(void (*handler)(void))
{
	the_handler = handler;
	owner = getpid();
	for (uint32_t i = 0; i < EXIT_GUARD_THREADS; i++)
		if (__cxa_atexit(hold_thread, (void *)(uintptr_t)(UINT32_C(1) << i), &__dso_handle))
			return -ENOMEM;
	return __cxa_atexit(run_handler, NULL, &__dso_handle) ? -ENOMEM : 0;
}
