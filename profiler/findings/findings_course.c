// SPDX-License-Identifier: MIT
#include "profiler/findings/findings_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- start-up ---- */

/* Parts of start-up, told by functions in stacks of CPU samples. */
enum start_part { STARTS_IMPORTS, STARTS_COMPILES, STARTS_CUDA, STARTS_OTHER, START_PARTS };

static enum start_part start_part_of(const struct result *r, uint32_t stack)
{
	static const char *const names[][2] = {
		{"importlib", "imports"},        {"_inductor", "compiles"},
		{"triton/compiler", "compiles"}, {"nvrtc", "compiles"},
		{"ptxas", "compiles"},           {"torch/_dynamo", "compiles"},
		{"nvptxcompiler", "compiles"},   {"jax/_src/compiler", "compiles"},
		{"libcuda.so", "uses CUDA"},
	};
	static const enum start_part parts[] = {
		STARTS_IMPORTS,  STARTS_COMPILES, STARTS_COMPILES, STARTS_COMPILES, STARTS_COMPILES,
		STARTS_COMPILES, STARTS_COMPILES, STARTS_COMPILES, STARTS_CUDA,
	};
	enum start_part found = STARTS_OTHER;

	for (; stack != RESULT_ROOT; stack = r->stacks[stack].outer) {
		const struct frame_info *frame = &r->frames[r->stacks[stack].frame];

		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (((frame->file && strstr(frame->file, names[i][0])) ||
			     (frame->module && strstr(frame->module, names[i][0])) ||
			     strstr(frame->name, names[i][0])) &&
			    parts[i] < found)
				found = parts[i];
	}
	return found;
}

/* Says what the samples before the first work show. Writes "" if there are few. */
static void start_parts_text(const struct making *m, char *text, size_t size)
{
	static const char *const labels[START_PARTS] = {"imports", "compilation",
							"CUDA's own start", "other code"};
	uint64_t counts[START_PARTS] = {0}, all = 0;
	size_t used = 0;

	text[0] = '\0';
	for (uint64_t i = 0; i < m->schedule->sample_count; i++) {
		const struct schedule_activity *s = &m->schedule->samples[i];

		if (s->start_ns >= m->findings->first_work_ns)
			break;
		counts[start_part_of(m->result, s->stack)]++;
		all++;
	}
	for (int i = 0; i < START_PARTS && all >= 10; i++) {
		int n;

		if (counts[i] * 20 < all)
			continue;
		n = snprintf(text + used, size - used, "%s%s %.0f %%",
			     used ? ", " : " (CPU: ", labels[i], percent_of(counts[i], all));
		used += n > 0 ? (size_t)n : 0;
		if (used >= size)
			return;
	}
	if (used)
		snprintf(text + used, size - used, ")");
}

void findings_add_start_up(struct making *m)
{
	const struct findings *f = m->findings;
	uint64_t run_ns = m->to_ns - m->from_ns;
	char parts[160];

	if (!f->first_work_ns || f->first_work_ns <= m->from_ns ||
	    percent_of(f->first_work_ns - m->from_ns, run_ns) < VERDICT_SHARE_MIN)
		return;
	start_parts_text(m, parts, sizeof(parts));
	finding_add(m, (struct finding){
			       .kind = FINDING_START_UP,
			       .claim = finding_text(
				       m, "no GPU work until %.3f s, %.1f %% of the run%s",
				       finding_seconds(m, f->first_work_ns),
				       percent_of(f->first_work_ns - m->from_ns, run_ns), parts),
			       .certainty = parts[0] ? "measured; the parts are of CPU samples"
						     : "measured",
			       .next = finding_text(m, "--time ..%.3f -o start.html: what it is",
						    finding_seconds(m, f->first_work_ns)),
			       .from_ns = m->from_ns,
			       .to_ns = f->first_work_ns});
}

/* ---- steps ---- */

void findings_add_steps(struct making *m)
{
	const struct findings *f = m->findings;
	const struct step_series *s = f->steps.list;
	const struct step_times *t = &f->step_times;
	char median[QUANTITY_BYTES], low[QUANTITY_BYTES], high[QUANTITY_BYTES];
	char slowest[QUANTITY_BYTES], drift[64] = "", warm_up[64] = "";

	if (!f->steps.count) {
		if (f->no_steps && !m->result->is_by_launch)
			finding_add(m,
				    (struct finding){
					    .kind = FINDING_STEPS,
					    .claim = finding_text(m, "no steps: %s", f->no_steps),
					    .certainty = "derived from the order of launches"});
		return;
	}
	if (t->drift > 0.05 || t->drift < -0.05)
		snprintf(drift, sizeof(drift), "; %.0f %% %s at the end than at the beginning",
			 100 * (t->drift > 0 ? t->drift : -t->drift),
			 t->drift > 0 ? "longer" : "shorter");
	if (s->warm_up)
		snprintf(warm_up, sizeof(warm_up), "; %" PRIu32 " before them are warm-up",
			 s->warm_up);
	finding_add(m,
		    (struct finding){
			    .kind = FINDING_STEPS,
			    .claim = finding_text(
				    m,
				    "%" PRIu32
				    " steps of %s (8 of 10 take %s to %s; the slowest, number "
				    "%" PRIu32 ", %s)%s%s",
				    s->count - s->warm_up, time_text(median, (double)t->median_ns),
				    time_text(low, (double)t->p10_ns),
				    time_text(high, (double)t->p90_ns), t->slowest,
				    time_text(slowest, (double)t->slowest_ns), drift, warm_up),
			    .certainty = "derived from the order of launches",
			    /* a part has other numbers than the run */
			    .next = m->result->is_part
					    ? NULL
					    : finding_text(m,
							   "--step %" PRIu32
							   " -o step.html: the slowest one",
							   t->slowest)});
}
