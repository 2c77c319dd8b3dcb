// SPDX-License-Identifier: MIT
#include "profiler/shape/rounding.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct remainder {
	double part;
	uint32_t position;
};

static int by_larger_part(const void *a, const void *b)
{
	const struct remainder *x = a, *y = b;

	if (x->part != y->part)
		return x->part < y->part ? 1 : -1;
	return x->position < y->position ? -1 : x->position > y->position;
}

int round_to_units(const double *weights, uint32_t count, double unit_ns, uint64_t *out,
		   uint64_t *total)
{
	struct remainder *remainders = malloc((count + 1) * sizeof(*remainders));
	double exact = 0;
	uint64_t floors = 0, left;
	uint32_t n = 0;

	if (!remainders)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		double units = weights[i] > 0 ? weights[i] / unit_ns : 0;

		exact += units;
		out[i] = (uint64_t)units;
		floors += out[i];
		if (units > 0)
			remainders[n++] = (struct remainder){units - floor(units), i};
	}
	*total = (uint64_t)round(exact);
	left = *total > floors ? *total - floors : 0;
	qsort(remainders, n, sizeof(*remainders), by_larger_part);
	for (uint32_t i = 0; i < n && i < left; i++)
		out[remainders[i].position]++;
	free(remainders);
	return 0;
}
