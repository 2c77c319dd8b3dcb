// SPDX-License-Identifier: MIT
#include "cupti_trace/core/exit_guard.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "cupti_trace/core/clock.h"

/* Longest time from removing the handler from the list to its first instruction. */
#define BEGIN_MS 100

static void (*the_handler)(void);
static pid_t owner;
static uint32_t timeout_ms = EXIT_GUARD_TIMEOUT_MS, stay_ms = EXIT_GUARD_STAY_MS;
static _Atomic bool begun, ended;
static _Atomic uint32_t held;          /* a bit for each thread; bit 0 is furthest down the list */
static _Atomic uint64_t first_held_ms; /* time when the first thread came */
static __thread bool was_first;        /* this thread has called the handler */

_Static_assert(EXIT_GUARD_THREADS <= 32, "a bit each");

static uint64_t now_ms(void)
{
	return clock_now_ns() / 1000000;
}

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static void stay_until(uint64_t ms)
{
	while (now_ms() < ms)
		sleep_ms(10);
}

static void *end_anyway(void *status)
{
	stay_until(now_ms() + stay_ms / 2);
	_exit((int)(intptr_t)status);
}

static void stay(int status)
{
	pthread_t other;

	stay_until(now_ms() + stay_ms);
	/* another thread may hold a stream's lock for good */
	pthread_create(&other, NULL, end_anyway, (void *)(intptr_t)status);
	fflush(NULL);
	_exit(status);
}

static void run_handler(int status, void *unused)
{
	int cancel;

	(void)unused;
	if (getpid() != owner)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	was_first = true; /* it may come back to exit from a signal handler */
	atomic_store(&begun, true);
	the_handler();
	atomic_store(&ended, true);
	if (atomic_load(&held))
		stay(status);
	pthread_setcancelstate(cancel, NULL);
}

/* Waits until the handler has finished. Stops at the timeout, or if no thread calls the handler. */
static void wait_for_handler(void)
{
	uint64_t came = now_ms(), first = 0;

	if (atomic_compare_exchange_strong(&first_held_ms, &first, came))
		first = came;
	while (!atomic_load(&ended)) {
		uint64_t now = now_ms();

		if (now - first >= timeout_ms || (!atomic_load(&begun) && now - came >= BEGIN_MS))
			break;
		sleep_ms(1);
	}
}

static void hold_thread(int status, void *argument)
{
	uint32_t bit = (uint32_t)(uintptr_t)argument;

	if (was_first || getpid() != owner)
		return;
	/* cancelling this thread would end the process early */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	atomic_fetch_or(&held, bit);
	wait_for_handler();
	if (atomic_load(&held) & (bit - 1))
		stay(status); /* another thread is further down the list */
}

int exit_guard_add(void (*handler)(void))
{
	the_handler = handler;
	owner = getpid();
	for (uint32_t i = 0; i < EXIT_GUARD_THREADS; i++)
		on_exit(hold_thread, (void *)(uintptr_t)(UINT32_C(1) << i));
	return on_exit(run_handler, NULL) ? -ENOMEM : 0;
}

void exit_guard_set_times(uint32_t timeout, uint32_t stay)
{
	timeout_ms = timeout;
	stay_ms = stay;
}

uint32_t exit_guard_held(void)
{
	return (uint32_t)__builtin_popcount(atomic_load(&held));
}
