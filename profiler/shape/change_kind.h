/* SPDX-License-Identifier: MIT */
/*
 * Sorts frames by how much they changed between two runs, for pictures.
 *
 * Colours diverge from grey: red for more time, blue for less. A change within the noise bound has
 * no colour.
 */
#ifndef PROFILER_SHAPE_CHANGE_KIND_H
#define PROFILER_SHAPE_CHANGE_KIND_H

#include "profiler/tables/comparison.h"

/* In the order of a legend. */
enum change_kind {
	CHANGE_NEW,   /* no time before */
	CHANGE_MORE3, /* more than half */
	CHANGE_MORE2, /* more than a tenth */
	CHANGE_MORE1,
	CHANGE_NOISE, /* the difference is within the bound */
	CHANGE_LESS1,
	CHANGE_LESS2,
	CHANGE_LESS3,
	CHANGE_GONE, /* no time after */
	CHANGE_KINDS
};

enum change_kind change_kind_of(const struct change *change);

/* Returns one word, for style sheets: "more2". */
const char *change_kind_word(enum change_kind kind);

/* Returns a text for people: "10 to 50 % more". */
const char *change_kind_label(enum change_kind kind);

#endif
