/* SPDX-License-Identifier: MIT */
/*
 * How a frame changed between two runs, for pictures: colours diverge from grey, red for more time
 * and blue for less. What is within the noise bound has no colour.
 */
#ifndef PROFILER_SHAPE_CHANGE_KIND_H
#define PROFILER_SHAPE_CHANGE_KIND_H

#include "profiler/tables/comparison.h"

/* In the order of a legend. */
enum change_kind {
	CHANGE_NEW,   /* it has time after only */
	CHANGE_MORE3, /* by more than half */
	CHANGE_MORE2, /* by more than a tenth */
	CHANGE_MORE1,
	CHANGE_NOISE, /* the difference is within the bound */
	CHANGE_LESS1,
	CHANGE_LESS2,
	CHANGE_LESS3,
	CHANGE_GONE, /* it has time before only */
	CHANGE_KINDS
};

enum change_kind change_kind_of(const struct change *change);

/* One word, for style sheets: "more2". */
const char *change_kind_word(enum change_kind kind);

/* For people: "10 to 50 % more". */
const char *change_kind_label(enum change_kind kind);

#endif
