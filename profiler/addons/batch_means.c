// SPDX-License-Identifier: MIT
#include "profiler/addons/batch_means.h"

#include <math.h>
#include <stddef.h>

#define LEAST_BATCHES 5

void batch_axis_note(struct batch_axis *axis, uint64_t begin_ns, uint64_t period_ns)
{
	uint64_t period;

	if (!axis->period_ns) {
		axis->begin_ns = begin_ns;
		axis->period_ns = period_ns;
	}
	/* the wall clock may have been set since: to the nearest period */
	period = begin_ns > axis->begin_ns
			 ? (begin_ns - axis->begin_ns + axis->period_ns / 2) / axis->period_ns
			 : 0;
	if (period < axis->periods)
		return;
	axis->periods = period + 1;
	while ((axis->periods - 1) >> axis->shift >= BATCH_MEANS_MAX)
		axis->shift++;
}

/* Makes batches as long as the axis has them. */
static void fold(struct batch_sum *sum, const struct batch_axis *axis)
{
	for (; sum->shift < axis->shift; sum->shift++)
		for (uint32_t i = 0; i < BATCH_MEANS_MAX; i++) {
			double pair = 2 * i < BATCH_MEANS_MAX
					      ? sum->batches[2 * i] + sum->batches[2 * i + 1]
					      : 0;

			sum->batches[i] = pair;
		}
}

/* Counts a window once, though those of several threads and streams come in turns. */
static void count_window(struct batch_sum *sum, uint64_t period)
{
	uint64_t later = period > sum->last ? period - sum->last : 0, bit;

	if (later) {
		sum->seen = later < 64 ? sum->seen << later : 0;
		sum->last = period;
	}
	if (sum->last - period >= 64)
		return;
	bit = UINT64_C(1) << (sum->last - period);
	sum->windows += !(sum->seen & bit);
	sum->seen |= bit;
}

void batch_sum_add(struct batch_sum *sum, const struct batch_axis *axis, uint64_t time_ns,
		   double amount)
{
	uint64_t period;

	if (!axis->period_ns)
		return;
	period = time_ns > axis->begin_ns ? (time_ns - axis->begin_ns) / axis->period_ns : 0;
	if (period >= axis->periods)
		period = axis->periods - 1;
	fold(sum, axis);
	sum->batches[period >> axis->shift] += amount;
	count_window(sum, period + 1);
}

double batch_sum_total(const struct batch_sum *sum)
{
	double total = 0;

	for (uint32_t i = 0; i < BATCH_MEANS_MAX; i++)
		total += sum->batches[i];
	return total;
}

/* Returns the 97.5 % point of Student's distribution, to 1 % from 4 degrees on. */
static double student(double degrees)
{
	return 1.96 + 2.37 / degrees + 2.82 / (degrees * degrees);
}

double batch_error(const struct batch_axis *axis, const struct batch_term *terms, uint32_t count)
{
	uint64_t whole = axis->periods >> axis->shift; /* the last batch may be shorter */
	double n = ldexp((double)axis->periods, -(int)axis->shift), squares = 0, before = 0;

	if (whole < LEAST_BATCHES)
		return -1;
	for (uint32_t i = 0; i < count; i++)
		fold(terms[i].sum, axis);
	for (uint64_t at = 0; at < whole; at++) {
		double value = 0;

		for (uint32_t i = 0; i < count; i++)
			value += terms[i].factor * terms[i].sum->batches[at];
		if (at > 0)
			squares += (value - before) * (value - before);
		before = value;
	}
	return sqrt(squares * n / (2 * ((double)whole - 1))) * student(((double)whole - 1) * 2 / 3);
}

double batch_sum_bound(const struct batch_sum *sum)
{
	/* half of the chi-squared distribution's 97.5 % point with 2 (n + 1) degrees */
	static const double most[BATCH_MEANS_LEAST_WINDOWS] = {3.69,  5.57,  7.22,  8.77,  10.24,
							       11.67, 13.06, 14.42, 15.76, 17.08};

	if (sum->windows == 0 || sum->windows >= BATCH_MEANS_LEAST_WINDOWS)
		return batch_sum_total(sum);
	return batch_sum_total(sum) * most[sum->windows] / sum->windows;
}
