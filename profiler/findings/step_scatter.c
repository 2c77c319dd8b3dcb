// SPDX-License-Identifier: MIT
#include "profiler/findings/step_scatter.h"

#include <math.h>
#include <stdlib.h>
#include "symbolize/util/sorted.h"

#define LEFT_OUT 16u   /* one of so many numbers */
#define FEW_NUMBERS 7u /* if there are so many, one is left out at least */
#define MOST_MEDIANS 3u
#define RANDOM_NUMBERS 240u
#define DEVIATION 0.6 /* standard deviation of the scatter of one random number */
#define SURE 2.5      /* standard deviations between times and random ones */
#define SHORT_SORT 24u

static void sort_numbers(uint64_t *numbers, uint32_t count)
{
	if (count > SHORT_SORT) {
		qsort(numbers, count, sizeof(*numbers), sorted_compare);
		return;
	}
	for (uint32_t i = 1; i < count; i++) {
		uint64_t number = numbers[i];
		uint32_t at = i;

		for (; at > 0 && numbers[at - 1] > number; at--)
			numbers[at] = numbers[at - 1];
		numbers[at] = number;
	}
}

double step_scatter(uint64_t *numbers, uint32_t count, double *mean)
{
	double sum = 0, differences = 0, most;

	*mean = 0;
	if (count == 0)
		return 0;
	sort_numbers(numbers, count);
	most = MOST_MEDIANS * (double)numbers[count / 2];
	if (count >= FEW_NUMBERS)
		count -= count >= LEFT_OUT ? count / LEFT_OUT : 1;
	for (uint32_t i = 0; i < count; i++) {
		double number = fmin((double)numbers[i], most);

		sum += number;
		differences += number * (2.0 * i - count + 1);
	}
	*mean = sum / count;
	return sum > 0 ? 2 * differences / (sum * count) : 0;
}

/* Makes numbers as the gaps between random events are, evenly over their distribution. */
void step_random_init(struct step_random *random)
{
	uint64_t gaps[RANDOM_NUMBERS];
	double mean;

	for (uint32_t i = 0; i <= STEP_CHANCES; i++) {
		double chance = fmax((double)i / STEP_CHANCES, 0.5 / STEP_CHANCES);

		for (uint32_t j = 0; j < RANDOM_NUMBERS; j++) {
			double gap =
				chance < 1 ? ceil(log((j + 0.5) / RANDOM_NUMBERS) / log1p(-chance))
					   : 1;

			gaps[j] = gap > 1 ? (uint64_t)gap : 1;
		}
		random->scatter[i] = step_scatter(gaps, RANDOM_NUMBERS, &mean);
	}
}

/* The mean without the largest gaps is about a tenth less than that of all. */
double step_random_scatter(const struct step_random *random, double mean)
{
	double chance = mean > 1 ? 0.9 / mean : 0.9, at = chance * STEP_CHANCES;
	uint32_t below = (uint32_t)at;

	return random->scatter[below] +
	       (at - below) * (random->scatter[below + 1] - random->scatter[below]);
}

double step_regularity(const struct step_random *random, double scatter, double mean,
		       uint32_t count)
{
	return (step_random_scatter(random, mean) - scatter) * sqrt(count) / DEVIATION;
}

/*
 * Exponential times have a median deviation of 0.69 medians. A third of them is within half a
 * median of the median, and a fifth is less than a third of it.
 */
bool step_times_regular(const struct step_random *random, uint64_t *times, uint32_t count,
			double most)
{
	uint64_t median, within = 0, brief = 0;
	double mean, scatter = step_scatter(times, count, &mean);

	if (count == 0)
		return true;
	if (step_regularity(random, scatter, mean, count) < SURE && scatter > 0)
		return false;
	median = times[count / 2];
	for (uint32_t i = 0; i < count; i++) {
		brief += times[i] < median / 3;
		times[i] = times[i] > median ? times[i] - median : median - times[i];
		within += times[i] <= median / 2;
	}
	sort_numbers(times, count);
	return (double)times[count / 2] <= most * (double)median && within >= 0.6 * count &&
	       brief <= 0.15 * count;
}
