/* SPDX-License-Identifier: MIT */
/* Findings of a made-up run, for tests of what shows them. */
#ifndef TESTS_UNIT_MADE_FINDINGS_H
#define TESTS_UNIT_MADE_FINDINGS_H

#include "unit.h"
#include "profiler/findings/findings.h"

#define MADE_STEPS 10u
#define MADE_STEP_NS 1000u

struct made_findings {
	struct findings findings;
	struct device_time whole[2], steady[2];
	struct idle_cause causes[3];
	struct step_series series;
	uint64_t starts_ns[MADE_STEPS + 1];
};

static inline void made_finding(struct made_findings *m, enum finding_kind kind, const char *claim,
				const char *next)
{
	struct findings *f = &m->findings;

	assert_true(f->count < FINDINGS_MAX);
	f->list[f->count++] = (struct finding){
		.kind = kind, .claim = claim, .certainty = "measured", .next = next};
}

/*
 * Makes findings of a result: ten steps from its start on, of which the one before the last is
 * twice as long; a verdict; the time of one or two devices; idle time that led to `stack`, and some
 * of an unknown launch.
 */
static inline void made_findings(struct made_findings *m, const struct result *r,
				 const struct device *devices, uint32_t device_count,
				 const struct frame_info *site)
{
	struct findings *f = &m->findings;
	uint64_t at = r->totals.start_ns;

	memset(m, 0, sizeof(*m));
	for (uint32_t i = 0; i <= MADE_STEPS; i++) {
		m->starts_ns[i] = at;
		at += i == MADE_STEPS - 2 ? 2 * MADE_STEP_NS : MADE_STEP_NS;
	}
	m->series = (struct step_series){.count = MADE_STEPS,
					 .starts_ns = m->starts_ns,
					 .warm_up = 1,
					 .launches = 80,
					 .of = 90};
	at = m->starts_ns[MADE_STEPS];
	f->result = r;
	f->steps = (struct step_list){&m->series, 1};
	f->step_work_ns = m->starts_ns;
	f->step_times = (struct step_times){.median_ns = MADE_STEP_NS,
					    .fastest_ns = MADE_STEP_NS,
					    .slowest_ns = 2 * MADE_STEP_NS,
					    .p10_ns = MADE_STEP_NS,
					    .p90_ns = 2 * MADE_STEP_NS,
					    .slowest = MADE_STEPS - 2,
					    .drift = 0.25};
	for (uint32_t i = 0; i < device_count; i++) {
		m->whole[i].device = m->steady[i].device = &devices[i];
		m->whole[i].ns[USE_COMPUTING] = m->steady[i].ns[USE_COMPUTING] = 6000;
		m->whole[i].ns[USE_SYNCHRONIZING] = m->steady[i].ns[USE_SYNCHRONIZING] = 3000;
		m->whole[i].ns[USE_UNKNOWN] = m->steady[i].ns[USE_UNKNOWN] = 1000;
		m->whole[i].ns[USE_START_UP] = 1000;
	}
	m->causes[0] = (struct idle_cause){.use = USE_SYNCHRONIZING,
					   .site = site,
					   .ns = 3000,
					   .gaps = 4,
					   .longest_ns = 900,
					   .longest_from_ns = m->starts_ns[3]};
	m->causes[1] = (struct idle_cause){.use = USE_UNKNOWN, .ns = 1000, .gaps = 2};
	m->causes[2] =
		(struct idle_cause){.use = USE_HOST, .site = site, .ns = 500, .sampled_ns = 500};
	f->causes = (struct idle_causes){m->causes, 3};
	f->whole = (struct device_times){.devices = m->whole,
					 .device_count = device_count,
					 .from_ns = m->starts_ns[0],
					 .to_ns = at};
	f->steady = f->whole;
	f->steady.devices = m->steady;
	f->steady.from_ns = f->steady_from_ns = m->starts_ns[1];
	f->steady_to_ns = f->steady.to_ns;
	made_finding(m, FINDING_VERDICT, "GPU 0: idle around calls that wait, 30.0 % of the steps",
		     "--waits: which calls wait");
	made_finding(m, FINDING_STEPS, "10 steps",
		     FINDING_FROM "--step 8 -o step.html: the slowest one");
}

#endif
