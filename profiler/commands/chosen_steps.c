// SPDX-License-Identifier: MIT
#include "profiler/commands/chosen_steps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/findings/step_work.h"
#include "profiler/model/quantity.h"

#define NUMBERS_BYTES 40

/* Returns the option that asks for steps, for messages. */
static const char *option_of(const struct view_options *o)
{
	return o->slice.steps.has_numbers ? "--step" : o->per_step ? "--per-step" : "--steady";
}

/* Logs why the steps of a run are not known. Returns false. */
static bool explain_none(struct log *log, const struct chosen_steps *c, const struct result *result,
			 const char *subject)
{
	const struct slice_match *name = &c->view.slice.steps.name;

	if (!name->text)
		return log_error(log,
				 "%s: no steps were found in %s: %s; choose a part with --time, or "
				 "mark steps with NVTX ranges: --nvtx --steps NAME",
				 option_of(&c->view), subject, c->found.none);
	if (!result->totals.measure.nvtx && !result->totals.measure.ops)
		return log_error(
			log,
			"--steps %s: %s has no NVTX ranges; they are recorded with --nvtx or --ops",
			name->text, subject);
	return log_error(log, "--steps %s: no steps in %s: %s", name->text, subject, c->found.none);
}

/* Finds all steps. Returns false after logging the reason. */
static bool find(struct log *log, struct chosen_steps *c, const struct result *result,
		 const char *subject)
{
	int err;

	if (!result->timeline)
		return log_error(log, "%s needs the course of the run, which %s does not have",
				 option_of(&c->view), subject);
	err = run_steps_find(&c->found, result, &c->view.slice.steps.name);
	if (!err && c->found.steps.count)
		err = step_work_read(&c->work_ns, result, &c->found);
	if (err == -E2BIG)
		return log_error(
			log,
			"%s: %s has more than %" PRIu64
			" launches or operations, too many to look for steps: record less, with "
			"--delay and -d",
			option_of(&c->view), subject, (uint64_t)SCHEDULE_MAX);
	if (err)
		return log_error(log, "%s: looking for steps: %s", option_of(&c->view),
				 strerror(-err));
	return c->found.steps.count || explain_none(log, c, result, subject);
}

/* Chooses steps by number. Returns false after logging the reason. */
static bool choose(struct log *log, struct chosen_steps *c, const char *subject)
{
	const struct slice_steps *asked = &c->view.slice.steps;
	const struct step_series *s = &c->found.steps.list[0];

	c->first = asked->is_steady ? s->warm_up : 0;
	c->end = s->count;
	if (asked->has_numbers && asked->first > c->first)
		c->first = asked->first;
	if (asked->has_numbers && asked->end < c->end)
		c->end = asked->end;
	if (c->first < c->end)
		return true;
	return log_error(log,
			 "--step %s: not in %s, which has the steps %" PRIu32 " to %" PRIu32 "%s",
			 asked->numbers_text, subject, asked->is_steady ? s->warm_up : 0,
			 s->count - 1, asked->is_steady && s->warm_up ? " after warm-up" : "");
}

/* Names the chosen steps: "Step 5", "Steps 2 to 19". */
static const char *numbers_of(const struct chosen_steps *c, char text[NUMBERS_BYTES])
{
	if (c->end - c->first == 1)
		snprintf(text, NUMBERS_BYTES, "Step %" PRIu32, c->first);
	else
		snprintf(text, NUMBERS_BYTES, "Steps %" PRIu32 " to %" PRIu32, c->first,
			 c->end - 1);
	return text;
}

static void report(struct log *log, const struct chosen_steps *c, const struct result *result)
{
	const struct step_series *s = &c->found.steps.list[0];
	uint64_t ns = c->work_ns[c->end] - c->work_ns[c->first];
	char numbers[NUMBERS_BYTES], mean[QUANTITY_BYTES], warm_up[64] = "";
	const struct process_info *process;

	if (s->warm_up == 1)
		snprintf(warm_up, sizeof(warm_up), "; number 0 is warm-up");
	else if (s->warm_up)
		snprintf(warm_up, sizeof(warm_up), "; 0 to %" PRIu32 " are warm-up",
			 s->warm_up - 1);
	log_line(log, "%s of %" PRIu32 " (0 to %" PRIu32 "), %s%s%s", numbers_of(c, numbers),
		 s->count, s->count - 1, time_text(mean, (double)ns / (c->end - c->first)),
		 c->end - c->first == 1 ? "" : " on average", warm_up);
	if (c->found.steps.count == 1)
		return;
	process = place_names_process(result->place_names, c->found.thread.process);
	log_line(log, "  of %" PRIu32 " loops, those of the main one: of thread %" PRIu32 " of %s",
		 c->found.steps.count, c->found.thread.tid, process ? process->name : "a process");
}

bool chosen_steps_find(struct log *log, struct chosen_steps *c, const struct result *result,
		       const struct view_options *options, const char *subject)
{
	const uint64_t *starts;

	*c = (struct chosen_steps){.view = *options};
	if (!slice_has_steps(&options->slice))
		return true;
	if (!find(log, c, result, subject) || !choose(log, c, subject))
		return false;
	starts = c->found.steps.list[0].starts_ns;
	c->range = (struct slice_range){starts[c->first], starts[c->end]};
	c->view.slice.steps.ranges = &c->range;
	c->view.slice.steps.range_count = 1;
	c->view.step_count = options->per_step ? c->end - c->first : 0;
	report(log, c, result);
	return true;
}

void chosen_steps_release(struct chosen_steps *c)
{
	run_steps_release(&c->found);
	free(c->work_ns);
	*c = (struct chosen_steps){.first = 0};
}
