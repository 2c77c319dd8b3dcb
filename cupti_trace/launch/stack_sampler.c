// SPDX-License-Identifier: MIT
#include "cupti_trace/launch/stack_sampler.h"

#include <emmintrin.h>
#include <stdlib.h>
#include <string.h>
#include "cupti_trace/wire/trace_config.h"

#define FIRST_CAPACITY 64u
#define PAY_BACK_NS 200e6 /* a debt is paid back in about this time */
#define LEAST_SHARE 0.25  /* minimum share of the limit, whatever the debt */
#define MOST_SHARE 2.0    /* maximum share of the limit, whatever was left over */
#define SHARING_ROUNDS 8  /* rounds of redistributing stacks that rare kernels do not need */

void stack_sampler_init(struct stack_sampler *s, uint32_t limit, uint64_t seed, uint32_t interval,
			uint64_t now_ns)
{
	*s = (struct stack_sampler){.limit = limit / (double)TRACE_CONFIG_WHOLE,
				    .random = seed,
				    .begun_ns = now_ns,
				    .interval = interval,
				    .longest = STACK_SAMPLER_FIRST,
				    .others = {.interval = interval}};
}

void stack_sampler_release(struct stack_sampler *s)
{
	free(s->kernels);
	s->kernels = NULL;
	s->count = s->capacity = 0;
}

/*
 * Returns a random number by xorshift64*: the upper half is random enough for any loop of a
 * program.
 */
static uint32_t draw(struct stack_sampler *s)
{
	uint64_t x = s->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	s->random = x;
	return (uint32_t)(x * 0x2545f4914f6cdd1du >> 32);
}

/* Returns true once in `n` times, on average. */
static bool happens(struct stack_sampler *s, uint32_t n)
{
	return (uint64_t)draw(s) * n >> 32 == 0;
}

/* ---- kernels ---- */

/* Returns the kernel's place, or a free one; kernels are numbers that were hashed. */
static struct stack_sampler_kernel *place_of(struct stack_sampler_kernel *kernels,
					     uint32_t capacity, uint64_t kernel)
{
	uint32_t at = (uint32_t)(kernel >> 32) & (capacity - 1);

	while (kernels[at].kernel != 0 && kernels[at].kernel != kernel)
		at = (at + 1) & (capacity - 1);
	return &kernels[at];
}

/* Makes room for one more kernel. Returns false when out of memory, or if there are too many. */
static bool make_room(struct stack_sampler *s)
{
	uint32_t capacity = s->capacity ? s->capacity * 2 : FIRST_CAPACITY;
	struct stack_sampler_kernel *bigger;

	if (s->count < s->capacity / 4 * 3)
		return true;
	bigger = s->count < STACK_SAMPLER_KERNELS ? calloc(capacity, sizeof(*bigger)) : NULL;
	if (!bigger)
		return false;
	for (uint32_t i = 0; i < s->capacity; i++)
		if (s->kernels[i].kernel != 0)
			*place_of(bigger, capacity, s->kernels[i].kernel) = s->kernels[i];
	free(s->kernels);
	s->kernels = bigger;
	s->capacity = capacity;
	return true;
}

static struct stack_sampler_kernel *find_kernel(struct stack_sampler *s, uint64_t kernel,
						bool *is_new)
{
	struct stack_sampler_kernel *k;

	*is_new = false;
	kernel += kernel == 0;
	if (s->capacity > 0) {
		k = place_of(s->kernels, s->capacity, kernel);
		if (k->kernel != 0)
			return k;
	}
	if (!make_room(s))
		return &s->others;
	k = place_of(s->kernels, s->capacity, kernel);
	*k = (struct stack_sampler_kernel){.kernel = kernel, .interval = s->interval};
	s->count++;
	*is_new = true;
	return k;
}

static void forget_kernels(struct stack_sampler *s)
{
	if (s->count > 0)
		memset(s->kernels, 0, s->capacity * sizeof(*s->kernels));
	s->count = 0;
	s->others = (struct stack_sampler_kernel){.interval = 1};
}

/* ---- choosing ---- */

uint32_t stack_sampler_choose(struct stack_sampler *s, uint64_t kernel)
{
	struct stack_sampler_kernel *k;
	bool is_new;

	s->launches++;
	if (s->interval <= 1)
		return 1;
	k = find_kernel(s, kernel, &is_new);
	k->launches++;
	if (is_new)
		return 1;
	return k->interval <= 1 || happens(s, k->interval) ? k->interval : 0;
}

bool stack_sampler_times(struct stack_sampler *s)
{
	return happens(s, STACK_SAMPLER_TIMED);
}

void stack_sampler_spent(struct stack_sampler *s, uint64_t ns)
{
	s->has_timed = true;
	s->timed++;
	s->timed_ns += ns < STACK_SAMPLER_LONGEST_NS ? ns : STACK_SAMPLER_LONGEST_NS;
}

/* ---- the end of a window ---- */

/*
 * Rounds an interval up to one of few: four between a power of two and the next. So a stack stands
 * for one of 50 numbers.
 */
static uint32_t interval_of(double launches)
{
	uint32_t step = 1, n;

	if (launches <= 1)
		return 1;
	if (launches >= GPU_LAUNCH_STANDS_MAX)
		return GPU_LAUNCH_STANDS_MAX;
	n = (uint32_t)launches;
	n += n < launches;
	while (n / step >= 8)
		step *= 2;
	return (n + step - 1) / step * step;
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

/* Returns the square root of a number of launches, without libm. */
static double root_of(double n)
{
	const __m128d x = _mm_set_sd(n);

	return _mm_cvtsd_f64(_mm_sqrt_sd(x, x));
}

/*
 * Returns the factor c that gives kernels `share` of their launches as stacks. Each kernel has c *
 * sqrt(launches) stacks, or all. 0: no kernel is known.
 */
static double find_factor(const struct stack_sampler *s, double share)
{
	double all = 0, factor = 0;

	for (uint32_t i = 0; i < s->capacity; i++)
		all += s->kernels[i].launches;
	for (int round = 0; round < SHARING_ROUNDS; round++) {
		double left = share * all, roots = 0, next;

		for (uint32_t i = 0; i < s->capacity; i++) {
			double root = root_of(s->kernels[i].launches);

			if (root > factor)
				roots += root;
			else
				left -= s->kernels[i].launches;
		}
		next = roots > 0 && left > 0 ? left / roots : 0;
		if (next <= factor)
			break;
		factor = next;
	}
	return factor;
}

static void share_out(struct stack_sampler *s, double share)
{
	double factor = find_factor(s, share);

	s->interval = s->others.interval = interval_of(1 / share);
	for (uint32_t i = 0; i < s->capacity && factor > 0; i++) {
		struct stack_sampler_kernel *k = &s->kernels[i];

		k->interval = interval_of(root_of(k->launches) / factor);
		k->launches /= 2;
	}
}

/* Returns the share of the coming time that may be spent. */
static double quota_of(struct stack_sampler *s, double window_ns)
{
	double most = s->limit * STACK_SAMPLER_MEMORY_NS, allowed;

	s->debt_ns += (double)s->timed_ns * STACK_SAMPLER_TIMED - s->limit * window_ns;
	s->debt_ns = s->debt_ns > most ? most : s->debt_ns < -most ? -most : s->debt_ns;
	allowed = s->limit - s->debt_ns / PAY_BACK_NS;
	if (allowed < s->limit * LEAST_SHARE)
		return s->limit * LEAST_SHARE;
	return least(allowed, s->limit * MOST_SHARE);
}

/* Returns the share of the coming launches that may have a stack. */
static double compute_share(const struct stack_sampler *s, double allowed)
{
	double needed;

	/* none was timed: so few were taken that more may be */
	if (s->known_timed <= 0)
		return 2.0 / s->interval;
	needed = s->known_timed_ns / s->known_timed * s->known_launches / s->known_ns;
	return needed > 0 ? allowed / needed : 1;
}

void stack_sampler_end_window(struct stack_sampler *s, uint64_t now_ns)
{
	double window_ns = now_ns > s->begun_ns ? (double)(now_ns - s->begun_ns) : 1;
	double allowed = quota_of(s, window_ns), share;

	s->known_timed = s->known_timed / 2 + s->timed;
	s->known_timed_ns = s->known_timed_ns / 2 + (double)s->timed_ns;
	s->known_launches = s->known_launches / 2 + s->launches;
	s->known_ns = s->known_ns / 2 + window_ns;
	s->begun_ns = now_ns;
	s->launches = s->timed = 0;
	s->timed_ns = 0;
	s->longest = STACK_SAMPLER_LAUNCHES;
	share = compute_share(s, allowed);
	if (share >= 1) {
		if (s->interval > 1)
			forget_kernels(s);
		s->interval = 1;
		return;
	}
	share_out(s, share);
}
