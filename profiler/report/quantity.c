// SPDX-License-Identifier: MIT
#include "profiler/report/quantity.h"

#include <stdio.h>

const char *time_text(char text[QUANTITY_BYTES], double ns)
{
	static const struct {
		double below, unit;
		const char *word;
	} units[] = {{1e3, 1, "ns"}, {1e6, 1e3, "us"}, {1e9, 1e6, "ms"}, {0, 1e9, "s"}};
	int i = 0;

	while (units[i].below > 0 && ns >= units[i].below)
		i++;
	snprintf(text, QUANTITY_BYTES, i ? "%.3f %s" : "%.0f %s", ns / units[i].unit,
		 units[i].word);
	return text;
}

const char *bytes_text(char text[QUANTITY_BYTES], uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	int unit = 0;

	while (value >= 1024 && unit < 6) {
		value /= 1024;
		unit++;
	}
	snprintf(text, QUANTITY_BYTES, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return text;
}
