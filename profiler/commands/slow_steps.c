// SPDX-License-Identifier: MIT
#include "profiler/commands/slow_steps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/commands/chosen_steps.h"
#include "profiler/model/quantity.h"
#include "symbolize/util/sorted.h"

#define PICKS_MAX (SIDES * COMPARISON_RUNS_MAX)
#define SHOWN_BYTES 96

struct picked_step {
	uint64_t duration_ns;    /* its GPU work */
	uint64_t from_ns, to_ns; /* its launches */
};

struct slow_steps {
	struct chosen_steps chosen;
	struct picked_step *steps; /* all chosen ones, the fastest first */
	uint32_t count;
	uint32_t first[SIDES], counts[SIDES]; /* steps of each side */
	char shown[SIDES][SHOWN_BYTES];
	struct slice_range together[PICKS_MAX]; /* steps of both sides, in order of time */
	struct view_options options_of_all, options[PICKS_MAX];
	struct slice_range ranges[PICKS_MAX];
	struct view *all, *views[PICKS_MAX]; /* all these steps together, and each */
	struct comparison *comparison;
};

static int by_duration(const void *a, const void *b)
{
	const struct picked_step *x = a, *y = b;
	int order = compare_numbers(x->duration_ns, y->duration_ns);

	return order ? order : compare_numbers(x->from_ns, y->from_ns);
}

static int by_time(const void *a, const void *b)
{
	const struct slice_range *x = a, *y = b;

	return compare_numbers(x->from_ns, y->from_ns);
}

static uint32_t at_most(uint32_t count, uint32_t limit)
{
	return count < limit ? count : limit;
}

/* Sorts the steps, and chooses those of each side. Returns false after logging the reason. */
static bool pick(struct log *log, struct slow_steps *s)
{
	const uint64_t *starts = s->chosen.found.steps.list[0].starts_ns + s->chosen.first;
	const uint64_t *work_ns = s->chosen.work_ns + s->chosen.first;
	uint32_t count = s->chosen.end - s->chosen.first;
	uint32_t slow = at_most(count / 10 ? count / 10 : 1, COMPARISON_RUNS_MAX);
	uint32_t typical = at_most(count / 2, COMPARISON_RUNS_MAX);

	if (count < SLOW_STEPS_MIN)
		return log_error(log,
				 "--slow-steps compares at least %u steps, and there are %" PRIu32,
				 SLOW_STEPS_MIN, count);
	s->count = count;
	s->steps = calloc(count, sizeof(*s->steps));
	if (!s->steps)
		return log_error(log, "out of memory");
	for (uint32_t i = 0; i < count; i++)
		s->steps[i] =
			(struct picked_step){work_ns[i + 1] - work_ns[i], starts[i], starts[i + 1]};
	qsort(s->steps, count, sizeof(*s->steps), by_duration);
	s->counts[SIDE_AFTER] = slow;
	s->first[SIDE_AFTER] = count - slow;
	s->counts[SIDE_BEFORE] = typical;
	s->first[SIDE_BEFORE] = (count - typical) / 2;
	if (s->first[SIDE_BEFORE] + typical > count - slow)
		s->first[SIDE_BEFORE] = count - slow - typical;
	return true;
}

static void report(struct log *log, struct slow_steps *s)
{
	const struct picked_step *last = &s->steps[s->count - 1];
	char shortest[QUANTITY_BYTES], longest[QUANTITY_BYTES], median[QUANTITY_BYTES];

	time_text(shortest, (double)s->steps[s->first[SIDE_AFTER]].duration_ns);
	time_text(longest, (double)last->duration_ns);
	time_text(median, (double)s->steps[s->count / 2].duration_ns);
	snprintf(s->shown[SIDE_BEFORE], SHOWN_BYTES,
		 "--slow-steps: %" PRIu32 " of %" PRIu32 " steps, around the median of %s",
		 s->counts[SIDE_BEFORE], s->count, median);
	snprintf(s->shown[SIDE_AFTER], SHOWN_BYTES,
		 "--slow-steps: the slowest %" PRIu32 " of %" PRIu32 " steps, %s to %s",
		 s->counts[SIDE_AFTER], s->count, shortest, longest);
	log_line(log,
		 "Compared: before, %" PRIu32 " steps around the median of %s; after, the slowest "
		 "%" PRIu32 " of %" PRIu32 " steps, %s to %s",
		 s->counts[SIDE_BEFORE], median, s->counts[SIDE_AFTER], s->count, shortest,
		 longest);
}

/* Views all picked steps together, so that the whole timeline is read once. */
static bool view_all(struct slow_steps *s, const struct result *result, const char *folder,
		     struct quota *memory)
{
	uint32_t count = 0;

	for (int side = 0; side < SIDES; side++)
		for (uint32_t i = 0; i < s->counts[side]; i++) {
			const struct picked_step *step = &s->steps[s->first[side] + i];

			s->together[count++] = (struct slice_range){step->from_ns, step->to_ns};
		}
	memcpy(s->ranges, s->together, sizeof(s->ranges));
	qsort(s->together, count, sizeof(*s->together), by_time);
	s->options_of_all.slice.steps =
		(struct slice_steps){.ranges = s->together, .range_count = count, .shown = ""};
	s->all = view_new(result, &s->options_of_all, folder, memory);
	return s->all;
}

/* Views each step as the user's options say. */
static bool view_each(struct slow_steps *s, const char *folder, struct quota *memory)
{
	uint32_t at = 0;

	for (int side = 0; side < SIDES; side++)
		for (uint32_t i = 0; i < s->counts[side]; i++, at++) {
			struct view_options *o = &s->options[at];

			*o = s->chosen.view;
			o->slice.steps = (struct slice_steps){.ranges = &s->ranges[at],
							      .range_count = 1,
							      .shown = s->shown[side]};
			s->views[at] = view_new(view_result(s->all), o, folder, memory);
			if (!s->views[at])
				return false;
		}
	return true;
}

static bool compare(struct slow_steps *s, enum comparison_side shown, struct quota *memory)
{
	const struct comparison_options options = {
		.shown = shown, .is_of_steps = true, .memory = memory};
	const struct result *results[PICKS_MAX];

	for (uint32_t i = 0; i < s->counts[SIDE_BEFORE] + s->counts[SIDE_AFTER]; i++)
		results[i] = view_result(s->views[i]);
	s->comparison =
		comparison_new(results, s->counts[SIDE_BEFORE], results + s->counts[SIDE_BEFORE],
			       s->counts[SIDE_AFTER], &options);
	return s->comparison;
}

struct slow_steps *slow_steps_new(struct log *log, const struct result *result,
				  const struct view_options *options, enum comparison_side shown,
				  const char *folder, struct quota *memory)
{
	struct slow_steps *s = calloc(1, sizeof(*s));

	if (!s) {
		log_error(log, "out of memory");
		return NULL;
	}
	if (!chosen_steps_find(log, &s->chosen, result, options, "the run") || !pick(log, s)) {
		slow_steps_free(s);
		return NULL;
	}
	report(log, s);
	if (view_all(s, result, folder, memory) && view_each(s, folder, memory) &&
	    compare(s, shown, memory))
		return s;
	if (errno == E2BIG)
		log_error(log, "comparing steps needs more memory than the limit");
	else
		log_error(log, "comparing steps: %s", strerror(errno));
	slow_steps_free(s);
	return NULL;
}

void slow_steps_free(struct slow_steps *s)
{
	if (!s)
		return;
	comparison_free(s->comparison);
	for (uint32_t i = 0; i < PICKS_MAX; i++)
		view_free(s->views[i]);
	view_free(s->all);
	chosen_steps_release(&s->chosen);
	free(s->steps);
	free(s);
}

const struct comparison *slow_steps_comparison(const struct slow_steps *s)
{
	return s->comparison;
}
