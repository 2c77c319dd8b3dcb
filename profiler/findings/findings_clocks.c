// SPDX-License-Identifier: MIT
#include "profiler/findings/findings_private.h"

#include <inttypes.h>
#include <stdio.h>
#include "profiler/tables/gpu_courses.h"

#define LIMITED_MIN 3.0 /* percent of the run */
#define SLOWER_MIN 3.0  /* percent of the clock */
#define SAME_CLOCK 1.02 /* times the limited clock: no higher one was seen */

struct reason {
	const char *text, *next;
	uint64_t ns;
};

/* Returns the reason that lasted longest. */
static struct reason reason_of(const struct gpu_course *c)
{
	const struct reason all[] = {
		{"its power cap", "nvidia-smi -q -d POWER: the cap", c->times.power_capped},
		{"heat", "nvidia-smi -q -d TEMPERATURE: its limits", c->times.hot},
		{"a hardware slowdown", "nvidia-smi -q -d PERFORMANCE: the reason",
		 c->times.slowed}};
	struct reason longest = all[0];

	for (size_t i = 1; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].ns > longest.ns)
			longest = all[i];
	return longest;
}

/* Returns the SM clock without limits: the highest of the run, else the most that it can be. */
static double free_mhz(const struct gpu_course *c)
{
	return c->sum.sm_most > c->limited_mhz * SAME_CLOCK ? c->sum.sm_most : c->sum.sm_possible;
}

/* Returns the share of the GPU's work that lower clocks may have cost, in percent; 0: too little */
static double loss_of(const struct making *m, const struct gpu_course *c)
{
	double limited = percent_of(c->times.limited, m->to_ns - m->from_ns);
	double slower = free_mhz(c) > 0 ? 100 * (1 - c->limited_mhz / free_mhz(c)) : 0;

	return c->limited_mhz > 0 && limited >= LIMITED_MIN && slower >= SLOWER_MIN
		       ? limited * slower / 100
		       : 0;
}

void findings_add_clocks(struct making *m)
{
	const struct gpu_course *worst = NULL;
	struct gpu_courses courses;
	char others[48] = "";
	uint32_t count = 0;
	struct reason reason;

	if (gpu_courses_of(m->result, &courses) != 0)
		return;
	for (uint32_t i = 0; i < courses.count; i++) {
		double loss = loss_of(m, &courses.list[i]);

		count += loss > 0;
		if (loss > (worst ? loss_of(m, worst) : 0))
			worst = &courses.list[i];
	}
	if (count > 1)
		snprintf(others, sizeof(others), "; less so %" PRIu32 " other GPU%s", count - 1,
			 count > 2 ? "s" : "");
	if (worst) {
		reason = reason_of(worst);
		finding_add(m, (struct finding){
				       .kind = FINDING_CLOCKS,
				       .claim = finding_text(
					       m,
					       "%s is held back by %s for %.1f %% of the run: SM "
					       "clock %.0f -> %.0f MHz%s",
					       worst->label, reason.text,
					       percent_of(reason.ns, m->to_ns - m->from_ns),
					       free_mhz(worst), worst->limited_mhz, others),
				       .certainty = "measured ten times a second",
				       .next = reason.next,
				       .from_ns = m->from_ns,
				       .to_ns = m->to_ns});
	}
	gpu_courses_release(&courses);
}
