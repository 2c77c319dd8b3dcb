// SPDX-License-Identifier: MIT
#include "cupti_trace/core/duty_schedule.h"

#include <stddef.h>
#include <string.h>
#include "cupti_trace/wire/trace_config.h"

/* The part of the budget that windows aim at. The rest is for switching and counting. */
#define AIMED_AT 0.75

/* A window is at most so many times as long as the one before. */
#define MOST_GROWTH 2u

/* Limit of the lag, a part of the period: a program may be stopped for long in a window. */
#define MOST_LAG_PART 0.125

/* Limits of the debt, in budgets of a period. */
#define MOST_DEBT 20
#define MOST_CREDIT 2

static double clamp(double value, double least, double most)
{
	return value < least ? least : value > most ? most : value;
}

/* Returns a random number that depends on `n` alone: the output of SplitMix64 (Steele et al.,
 * 2014). */
static uint64_t mix(uint64_t n)
{
	n += 1;
	n *= 0x9e3779b97f4a7c15u;
	n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9u;
	n = (n ^ n >> 27) * 0x94d049bb133111ebu;
	return n ^ n >> 31;
}

void duty_schedule_init(struct duty_schedule *s, uint32_t budget, uint64_t now_ns, uint64_t wall_ns)
{
	memset(s, 0, sizeof(*s));
	s->budget = AIMED_AT * budget / (double)TRACE_CONFIG_WHOLE;
	s->period_ns = (uint64_t)clamp(DUTY_PERIOD_NS * 0.01 * TRACE_CONFIG_WHOLE / budget,
				       DUTY_LEAST_PERIOD_NS, DUTY_MOST_PERIOD_NS);
	s->begun_ns = now_ns;
	s->number = wall_ns / s->period_ns;
	s->starts_ns = (int64_t)(now_ns - wall_ns % s->period_ns);
}

/* ---- length ---- */

/* Returns the share of its time that the program loses while it is recorded. */
static double price(const struct duty_schedule *s)
{
	return s->on_ns > 0 ? clamp(s->records * DUTY_RECORD_NS / s->on_ns, 0.001, 1) : 1;
}

/* Adds what the last period has cost to earlier ones. */
static void settle(struct duty_schedule *s)
{
	double allowed = s->budget * (double)s->period_ns;

	s->records = s->records / 2 + (double)s->new_records;
	s->on_ns = s->on_ns / 2 + (double)s->new_on_ns;
	if (s->new_on_ns)
		s->lag_ns = clamp(s->lag_ns / 2 + (double)(s->new_on_ns - s->new_window_ns) / 2, 0,
				  MOST_LAG_PART * (double)s->period_ns);
	s->debt_ns = clamp(s->debt_ns + price(s) * (double)s->new_on_ns - allowed,
			   -MOST_CREDIT * allowed, MOST_DEBT * allowed);
	s->new_records = s->new_on_ns = s->new_window_ns = 0;
}

/* Returns the number of launches that one in the next window represents. */
static uint32_t choose_length(const struct duty_schedule *s)
{
	double allowed = s->budget * (double)s->period_ns;
	double on_ns = (allowed - clamp(s->debt_ns, -allowed, allowed)) / price(s) - s->lag_ns;
	double represents = on_ns > 0 ? (double)s->period_ns / on_ns : DUTY_MOST_REPRESENTS;
	double least = s->represents ? (double)s->represents / MOST_GROWTH : 0;

	represents = clamp(represents, least, DUTY_MOST_REPRESENTS);
	return (uint32_t)clamp(represents + 0.999, DUTY_LEAST_REPRESENTS, DUTY_MOST_REPRESENTS);
}

/* ---- windows ---- */

/* A part of a period, ns from its begin. */
struct part {
	uint64_t from_ns, to_ns;
};

/* Adds a part in order of time, unless it is empty or over. */
static void add_part(struct duty_schedule *s, struct part part, bool only_counts)
{
	int64_t from = s->starts_ns + (int64_t)part.from_ns;
	int64_t to = s->starts_ns + (int64_t)part.to_ns, begun = (int64_t)s->begun_ns;
	uint32_t at = s->parts_count;
	struct duty_window window;

	from = from < begun ? begun : from;
	if (to <= from || part.to_ns <= part.from_ns)
		return;
	window = (struct duty_window){.from_ns = (uint64_t)from,
				      .to_ns = (uint64_t)to,
				      .period_from_ns =
					      s->starts_ns < 0 ? 0 : (uint64_t)s->starts_ns,
				      .represents = s->represents,
				      .only_counts = only_counts};
	for (; at > 0 && s->parts[at - 1].from_ns > window.from_ns; at--)
		s->parts[at] = s->parts[at - 1];
	s->parts[at] = window;
	s->parts_count++;
}

/* Places a window at random. A second part, or an empty one, begins with the period. */
static void place(const struct duty_schedule *s, uint64_t random, uint64_t length,
		  struct part parts[2])
{
	uint64_t start = random % s->period_ns, end = start + length;

	parts[0] = (struct part){start, end < s->period_ns ? end : s->period_ns};
	parts[1] = (struct part){0, end > s->period_ns ? end - s->period_ns : 0};
}

/* Adds a part of counting, except where work is recorded. */
static void add_around(struct duty_schedule *s, struct part part, const struct part recorded[2])
{
	/* the second recorded part is the first in time */
	const struct part gaps[] = {{recorded[1].to_ns, recorded[0].from_ns},
				    {recorded[0].to_ns, s->period_ns}};

	for (size_t i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++)
		add_part(s,
			 (struct part){part.from_ns > gaps[i].from_ns ? part.from_ns
								      : gaps[i].from_ns,
				       part.to_ns < gaps[i].to_ns ? part.to_ns : gaps[i].to_ns},
			 true);
}

/* Chooses the windows of the present period. */
static void choose_windows(struct duty_schedule *s)
{
	struct part recorded[2], counted[2];
	uint64_t length;

	settle(s);
	s->represents = choose_length(s);
	length = s->period_ns / s->represents;
	place(s, mix(s->number), length, recorded);
	place(s, mix(~s->number), length * DUTY_COUNTED_LENGTHS, counted);
	s->part = s->parts_count = 0;
	for (int i = 0; i < 2; i++) {
		add_part(s, recorded[i], false);
		add_around(s, counted[i], recorded);
	}
}

/* Goes to the next period, or to the one that is present at `now_ns`. */
static void go_on(struct duty_schedule *s, uint64_t now_ns)
{
	int64_t passed = (int64_t)now_ns - s->starts_ns;
	uint64_t periods = passed > 0 ? (uint64_t)passed / s->period_ns : 0;

	if (s->represents && periods == 0)
		periods = 1;
	s->number += periods;
	s->starts_ns += (int64_t)(periods * s->period_ns);
	choose_windows(s);
}

static bool is_over(const struct duty_schedule *s, const struct duty_window *part, uint64_t now_ns)
{
	return part->to_ns + (part->only_counts ? 0 : s->period_ns) <= now_ns;
}

struct duty_window duty_schedule_next(struct duty_schedule *s, uint64_t now_ns)
{
	for (;;) {
		for (; s->part < s->parts_count; s->part++)
			if (!is_over(s, &s->parts[s->part], now_ns))
				return s->parts[s->part++];
		go_on(s, now_ns);
	}
}

void duty_schedule_recorded(struct duty_schedule *s, uint64_t window_ns, uint64_t on_ns)
{
	s->new_window_ns += window_ns;
	s->new_on_ns += on_ns > window_ns ? on_ns : window_ns;
}

void duty_schedule_count(struct duty_schedule *s, uint64_t records)
{
	s->new_records += records;
}
