/* SPDX-License-Identifier: MIT */
/*
 * Chooses when GPU work is recorded, so that recording takes at most a share of the program's time
 * (--budget).
 *
 * Time is divided into periods. In each period one window is recorded. Its length is chosen at the
 * period's begin, and its start is random. A window that reaches beyond the period's end continues
 * at the period's begin. So each moment has one probability of being recorded, 1 / `represents`,
 * whatever the program does. A launch in a window represents so many launches. The length depends
 * only on what was known before. So sums of launches, each taken so many times, are unbiased
 * (Horvitz and Thompson, 1952).
 *
 * Recording makes a program slower. To find by how much, calls that launch are also counted without
 * being recorded: in a window of its own, with another random start, outside of the recorded one.
 *
 * Recording is assumed to take DUTY_RECORD_NS of the program's time for each record, and all of the
 * time at most: twice as long, like a graph of the shortest kernels. docs/budget.md has the
 * measurements. A period whose records took more than the budget makes the next ones shorter.
 *
 * Periods are numbered by the wall clock, and starts are a function of the number. So processes of
 * one job record at equal moments, on all hosts, without a message. A rank that waits for a slower
 * one is recorded itself meanwhile.
 *
 * Pure: no clock, no CUPTI. Times are ns, CLOCK_MONOTONIC.
 */
#ifndef CUPTI_TRACE_CORE_DUTY_SCHEDULE_H
#define CUPTI_TRACE_CORE_DUTY_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#define DUTY_RECORD_NS 2000u
#define DUTY_LEAST_REPRESENTS 4u   /* the longest window: a part of the period */
#define DUTY_MOST_REPRESENTS 1000u /* the shortest one */
#define DUTY_PERIOD_NS 500000000u  /* with a budget of 1 %; in inverse proportion to it */
#define DUTY_COUNTED_LENGTHS 2u    /* counting takes so many times the length of recording */
#define DUTY_LEAST_PERIOD_NS 100000000u
#define DUTY_MOST_PERIOD_NS 5000000000u

#define DUTY_PARTS_MAX 6u /* two of the recorded window, and two of counting in three pieces */

/* A window, or a part of it. */
struct duty_window {
	uint64_t from_ns, to_ns;
	uint64_t period_from_ns; /* begin of the period; 0 if before the machine started */
	uint32_t represents;     /* period / length of the whole window */
	bool only_counts;        /* calls are counted, and nothing is recorded */
};

struct duty_schedule {
	uint64_t period_ns;
	double budget;     /* share of time */
	uint64_t begun_ns; /* no window begins before */
	/* the present period */
	uint64_t number;
	int64_t starts_ns;
	struct duty_window parts[DUTY_PARTS_MAX]; /* in order of time */
	uint32_t part, parts_count;
	uint32_t represents; /* 0: no period yet */
	/* costs: recent ones count more, each period halves them */
	double records, on_ns;
	double lag_ns;  /* time of recording beyond a window's end */
	double debt_ns; /* spent beyond the budget */
	uint64_t new_records, new_on_ns, new_window_ns; /* since the last period's begin */
};

/*
 * Initialises. `budget` is in 1/1000 %, from 1 on. `wall_ns` is the wall clock's time at `now_ns`;
 * 0: unknown.
 */
void duty_schedule_init(struct duty_schedule *s, uint32_t budget, uint64_t now_ns,
			uint64_t wall_ns);

/*
 * Returns the next part of a window. It may have begun. One to record may be over, by less than a
 * period: it is recorded late, at its whole length. Others that are over are left out.
 */
struct duty_window duty_schedule_next(struct duty_schedule *s, uint64_t now_ns);

/* Notes that a window of `window_ns` was recorded for `on_ns`, which is longer. */
void duty_schedule_recorded(struct duty_schedule *s, uint64_t window_ns, uint64_t on_ns);

/* Notes records, which may come long after their window. */
void duty_schedule_count(struct duty_schedule *s, uint64_t records);

#endif
