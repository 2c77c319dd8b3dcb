// SPDX-License-Identifier: MIT
#include "profiler/findings/findings_tables.h"

#include "profiler/findings/findings.h"
#include "profiler/model/quantity.h"

/* Returns the result's findings if there is a course of the run. */
static const struct findings *known_findings(const struct result *result)
{
	return findings_unknown(result) ? NULL : result->findings;
}

/* ---- findings ---- */

struct finding_row {
	const char *key, *claim, *certainty, *next;
	uint64_t from_ns, to_ns;
};

static const struct report_column finding_columns[] = {
	REPORT_COLUMN(finding_row, key, "key", "Finding", TEXT, 12),
	REPORT_COLUMN(finding_row, claim, "claim", "Claim", TEXT, UINT8_MAX),
	REPORT_COLUMN(finding_row, certainty, "certainty", "Certainty", TEXT, 0),
	REPORT_COLUMN(finding_row, next, "next", "Next", TEXT, 0),
	REPORT_COLUMN(finding_row, from_ns, "from_ns", "From", TIME, 0),
	REPORT_COLUMN(finding_row, to_ns, "to_ns", "To", TIME, 0),
};

/* Returns a time since the command's start. */
static uint64_t since_start(const struct result *r, uint64_t ns)
{
	return ns > r->totals.start_ns ? ns - r->totals.start_ns : 0;
}

struct report_table *findings_report_table(const struct result *result)
{
	struct report_table *f = REPORT_TABLE_NEW("findings", "Findings", finding_columns);
	const struct findings *known = known_findings(result);

	for (uint32_t i = 0; f && known && i < known->count; i++) {
		const struct finding *finding = &known->list[i];
		const struct finding_row row = {.key = finding_word(finding->kind),
						.claim = finding->claim,
						.certainty = finding->certainty,
						.next = finding->next ? finding->next : "",
						.from_ns = since_start(result, finding->from_ns),
						.to_ns = since_start(result, finding->to_ns)};

		report_table_add(f, &row);
	}
	return f;
}

/* ---- times of GPUs ---- */

struct gpu_time_row {
	const char *device, *key, *use;
	uint64_t steady_ns, steady_share, ns, share;
};

static const struct report_column gpu_time_columns[] = {
	REPORT_COLUMN(gpu_time_row, device, "gpu", "GPU", TEXT, 8),
	REPORT_COLUMN(gpu_time_row, key, "use", "Use", TEXT, 0),
	REPORT_COLUMN(gpu_time_row, steady_ns, "steady_ns", "Steady part", TIME, 11),
	REPORT_COLUMN(gpu_time_row, steady_share, "steady_permille", "Share", SHARE, 7),
	REPORT_COLUMN(gpu_time_row, ns, "run_ns", "Whole run", TIME, 11),
	REPORT_COLUMN(gpu_time_row, share, "run_permille", "Share of run", SHARE, 12),
	REPORT_COLUMN(gpu_time_row, use, "text", "What the GPU did", TEXT, UINT8_MAX),
};

struct report_table *gpu_time_report_table(const struct result *result)
{
	struct report_table *f =
		REPORT_TABLE_NEW("gpu_time", "GPU time, without overlap", gpu_time_columns);
	const struct findings *known = known_findings(result);
	char label[DEVICE_LABEL_BYTES];

	for (uint32_t i = 0; f && known && i < known->whole.device_count; i++) {
		const struct device_time *whole = &known->whole.devices[i];
		const struct device_time *steady = &known->steady.devices[i];

		device_label(whole->device, label);
		for (int use = 0; use < DEVICE_USES; use++) {
			const struct gpu_time_row row = {
				.device = label,
				.key = device_use_word((enum device_use)use),
				.use = device_use_text((enum device_use)use),
				.steady_ns = steady->ns[use],
				.steady_share =
					permille_of(steady->ns[use],
						    known->steady.to_ns - known->steady.from_ns),
				.ns = whole->ns[use],
				.share = permille_of(whole->ns[use],
						     known->whole.to_ns - known->whole.from_ns)};

			if (row.ns || row.steady_ns)
				report_table_add(f, &row);
		}
	}
	return f;
}

/* ---- steps ---- */

struct step_row {
	uint64_t count, warm_up, median_ns, p10_ns, p90_ns, slowest, slowest_ns;
	uint64_t from_ns, to_ns, launches, covered;
};

static const struct report_column step_columns[] = {
	REPORT_COLUMN(step_row, count, "count", "Steps", COUNT, 8),
	REPORT_COLUMN(step_row, warm_up, "warm_up", "Warm-up", COUNT, 8),
	REPORT_COLUMN(step_row, median_ns, "median_ns", "Median", TIME, 11),
	REPORT_COLUMN(step_row, p10_ns, "p10_ns", "8 of 10 from", TIME, 12),
	REPORT_COLUMN(step_row, p90_ns, "p90_ns", "to", TIME, 11),
	REPORT_COLUMN(step_row, slowest_ns, "slowest_ns", "Slowest", TIME, 11),
	REPORT_COLUMN(step_row, slowest, "slowest", "its number", COUNT, 10),
	REPORT_COLUMN(step_row, from_ns, "from_ns", "First step at", TIME, 0),
	REPORT_COLUMN(step_row, to_ns, "to_ns", "End", TIME, 0),
	REPORT_COLUMN(step_row, launches, "launches", "Launches", COUNT, 0),
	REPORT_COLUMN(step_row, covered, "covered_permille", "Launches in steps", SHARE, UINT8_MAX),
};

struct report_table *steps_report_table(const struct result *result)
{
	struct report_table *f = REPORT_TABLE_NEW("steps", "Steps", step_columns);
	const struct findings *known = known_findings(result);

	for (uint32_t i = 0; f && known && i < known->steps.count; i++) {
		const struct step_series *s = &known->steps.list[i];
		const uint64_t *starts_ns = i ? s->starts_ns : known->step_work_ns;
		struct step_times t;

		if (step_times_measure(&t, starts_ns, s->count, s->warm_up) != 0) {
			report_table_free(f);
			return NULL;
		}
		const struct step_row row = {.count = s->count,
					     .warm_up = s->warm_up,
					     .median_ns = t.median_ns,
					     .p10_ns = t.p10_ns,
					     .p90_ns = t.p90_ns,
					     .slowest = t.slowest,
					     .slowest_ns = t.slowest_ns,
					     .from_ns = since_start(result, starts_ns[0]),
					     .to_ns = since_start(result, starts_ns[s->count]),
					     .launches = s->launches,
					     .covered = permille_of(s->launches, s->of)};

		report_table_add(f, &row);
	}
	return f;
}

/* ---- idle time ---- */

struct idle_row {
	const char *use, *site;
	uint64_t ns, share, gaps, sampled_ns, longest_ns, longest_at_ns;
};

static const struct report_column idle_columns[] = {
	REPORT_COLUMN(idle_row, ns, "ns", "Time", TIME, 11),
	REPORT_COLUMN(idle_row, share, "permille", "Share", SHARE, 7),
	REPORT_COLUMN(idle_row, sampled_ns, "sampled_ns", "By CPU samples", TIME, 14),
	REPORT_COLUMN(idle_row, gaps, "gaps", "Gaps", COUNT, 8),
	REPORT_COLUMN(idle_row, longest_ns, "longest_ns", "Longest", TIME, 11),
	REPORT_COLUMN(idle_row, longest_at_ns, "longest_at_ns", "At", TIME, 0),
	REPORT_COLUMN(idle_row, use, "cause", "Cause", TEXT, 20),
	REPORT_COLUMN(idle_row, site, "site", "Function", TEXT, UINT8_MAX),
};

struct report_table *idle_causes_report_table(const struct result *result)
{
	struct report_table *f =
		REPORT_TABLE_NEW("idle_causes", "Idle GPU time of the steady part", idle_columns);
	const struct findings *known = known_findings(result);
	uint64_t whole_ns = known ? device_times_whole(&known->steady) : 0;

	for (uint32_t i = 0; f && known && i < known->causes.count; i++) {
		const struct idle_cause *c = &known->causes.list[i];
		const struct idle_row row = {
			.use = device_use_word(c->use),
			.site = c->site ? frame_report_name(c->site) : "[unknown]",
			.ns = c->ns,
			.share = permille_of(c->ns, whole_ns),
			.gaps = c->gaps,
			.sampled_ns = c->sampled_ns,
			.longest_ns = c->longest_ns,
			.longest_at_ns =
				c->longest_ns ? since_start(result, c->longest_from_ns) : 0};

		if (c->ns) /* else it has but gaps whose time is sampled */
			report_table_add(f, &row);
	}
	return f;
}
