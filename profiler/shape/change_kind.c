// SPDX-License-Identifier: MIT
#include "profiler/shape/change_kind.h"

#include <math.h>

enum change_kind change_kind_of(const struct change *change)
{
	double ratio;

	if (!change->is_significant)
		return CHANGE_NOISE;
	if (change->before <= 0)
		return CHANGE_NEW;
	if (change->after <= 0)
		return CHANGE_GONE;
	ratio = change_difference(change) / change->before;
	if (fabs(ratio) > 0.5)
		return ratio > 0 ? CHANGE_MORE3 : CHANGE_LESS3;
	if (fabs(ratio) > 0.1)
		return ratio > 0 ? CHANGE_MORE2 : CHANGE_LESS2;
	return ratio > 0 ? CHANGE_MORE1 : CHANGE_LESS1;
}

static const struct {
	const char *word, *label;
} kinds[CHANGE_KINDS] = {
	[CHANGE_NEW] = {"new", "new"},
	[CHANGE_MORE3] = {"more3", "over 50 % more"},
	[CHANGE_MORE2] = {"more2", "10 to 50 % more"},
	[CHANGE_MORE1] = {"more1", "up to 10 % more"},
	[CHANGE_NOISE] = {"noise", "same, or noise"},
	[CHANGE_LESS1] = {"less1", "up to 10 % less"},
	[CHANGE_LESS2] = {"less2", "10 to 50 % less"},
	[CHANGE_LESS3] = {"less3", "over 50 % less"},
	[CHANGE_GONE] = {"gone", "gone"},
};

const char *change_kind_word(enum change_kind kind)
{
	return kinds[kind].word;
}

const char *change_kind_label(enum change_kind kind)
{
	return kinds[kind].label;
}
