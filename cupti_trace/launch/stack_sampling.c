// SPDX-License-Identifier: MIT
#include "cupti_trace/launch/stack_sampling.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "cupti_trace/core/hot_path.h"
#include "cupti_trace/core/clock.h"
#include "cupti_trace/core/guest.h"
#include "cupti_trace/launch/launch_log.h"
#include "cupti_trace/launch/stack_sampler.h"
#include "symbolize/util/hash.h"

#define FEWEST_LAUNCHES 16u /* minimum of a thread that ends, to set first_interval */

static uint32_t time_limit;
static _Atomic uint32_t ticks HOT_PATH_DATA;
static _Atomic uint32_t first_interval = 1; /* interval of threads that have ended */

/* One variable: its address is found once a launch. */
static __thread struct {
	struct stack_sampler *sampler;
	bool is_in_use;
} own;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end;
static bool has_key;

/*
 * Ends a window. Separate, because it computes with floating-point numbers, as making a sampler
 * does.
 */
static __attribute__((noinline)) void end_window(struct stack_sampler *s)
{
	struct guest guest;

	guest_enter_briefly(&guest);
	stack_sampler_end_window(s, clock_now_ns());
	guest_leave(&guest);
}

static void at_thread_end(void *sampler)
{
	struct stack_sampler *s = sampler;

	own.sampler = NULL;
	if (s->launches >= FEWEST_LAUNCHES)
		end_window(s);
	if (stack_sampler_has_measured(s))
		atomic_store(&first_interval, s->interval);
	stack_sampler_release(s);
	free(s);
}

static void make_key(void)
{
	has_key = pthread_key_create(&thread_end, at_thread_end) == 0;
}

/* Makes the thread's sampler; NULL when out of memory. */
static struct stack_sampler *make(void)
{
	struct stack_sampler *s = NULL;
	uint64_t now = clock_now_ns(), seed;

	pthread_once(&once, make_key);
	if (has_key)
		s = malloc(sizeof(*s));
	if (!s)
		return NULL;
	seed = hash_step(hash_seed.first, now, launch_log_tid());
	stack_sampler_init(s, time_limit, seed ? seed : 1, atomic_load(&first_interval), now);
	s->tick = atomic_load(&ticks);
	if (pthread_setspecific(thread_end, s) != 0) {
		free(s);
		return NULL;
	}
	return s;
}

static __attribute__((noinline)) struct stack_sampler *make_own(void)
{
	struct guest guest;

	guest_enter_briefly(&guest);
	own.sampler = make();
	guest_leave(&guest);
	return own.sampler;
}

void stack_sampling_init(uint32_t limit)
{
	time_limit = limit;
}

void stack_sampling_tick(void)
{
	atomic_fetch_add_explicit(&ticks, 1, memory_order_relaxed);
}

uint32_t stack_sampling_choose(uint64_t kernel, bool *is_timed)
{
	struct stack_sampler *s;
	uint32_t stands_for, now;

	*is_timed = false;
	if (own.is_in_use)
		return 1;
	own.is_in_use = true;
	s = own.sampler ? own.sampler : make_own();
	if (!s) {
		own.is_in_use = false;
		return 1;
	}
	atomic_signal_fence(memory_order_acq_rel);
	now = atomic_load_explicit(&ticks, memory_order_relaxed);
	if (s->tick != now || stack_sampler_is_due(s)) {
		s->tick = now;
		end_window(s);
	}
	stands_for = stack_sampler_choose(s, kernel);
	*is_timed = stands_for > 0 && stack_sampler_times(s);
	atomic_signal_fence(memory_order_acq_rel);
	own.is_in_use = false;
	return stands_for;
}

void stack_sampling_spent(uint64_t ns)
{
	if (own.sampler && !own.is_in_use)
		stack_sampler_spent(own.sampler, ns);
}
