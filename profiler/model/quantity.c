// SPDX-License-Identifier: MIT
#include "profiler/model/quantity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct time_unit {
	double below, unit;
	const char *word;
};

static const struct time_unit *time_unit_of(double ns)
{
	static const struct time_unit units[] = {
		{1e3, 1, "ns"}, {1e6, 1e3, "us"}, {1e9, 1e6, "ms"}, {0, 1e9, "s"}};
	const struct time_unit *unit = units;

	while (unit->below > 0 && ns >= unit->below)
		unit++;
	return unit;
}

const char *time_text(char text[QUANTITY_BYTES], double ns)
{
	const struct time_unit *unit = time_unit_of(ns);

	snprintf(text, QUANTITY_BYTES, unit->unit > 1 ? "%.3f %s" : "%.0f %s", ns / unit->unit,
		 unit->word);
	return text;
}

const char *brief_time_text(char text[QUANTITY_BYTES], double ns)
{
	const struct time_unit *unit = time_unit_of(ns);
	double value = ns / unit->unit;

	snprintf(text, QUANTITY_BYTES, unit->unit > 1 && value < 99.95 ? "%.1f %s" : "%.0f %s",
		 value, unit->word);
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

const char *number_text(char text[QUANTITY_BYTES], double number)
{
	double size = fabs(number);

	if (size >= 1e12 || (size < 0.01 && size > 0))
		snprintf(text, QUANTITY_BYTES, "%.5g", number);
	else
		snprintf(text, QUANTITY_BYTES, "%.*f", size >= 1000 || size == floor(size) ? 0 : 2,
			 number);
	return text;
}

const char *weight_text(char text[QUANTITY_BYTES], const struct weight *weight, uint64_t amount)
{
	static const char *const prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
	const char *unit = weight->unit, *space = unit[0] ? " " : "";
	double value = (double)amount;
	int prefix = 0;

	if (strcmp(unit, WEIGHT_NS) == 0)
		return time_text(text, value);
	if (strcmp(unit, WEIGHT_BYTES) == 0)
		return bytes_text(text, amount);
	while (value >= 1000 && prefix < 6) {
		value /= 1000;
		prefix++;
	}
	snprintf(text, QUANTITY_BYTES, prefix ? "%.2f %s%s%s" : "%.0f%s%s%s", value,
		 prefixes[prefix], space, unit);
	return text;
}
