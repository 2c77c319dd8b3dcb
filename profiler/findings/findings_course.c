// SPDX-License-Identifier: MIT
#include "profiler/findings/findings_private.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "profiler/findings/site_sums.h"
#include "profiler/tables/memory_place.h"
#include "symbolize/util/text.h"

/* ---- start-up ---- */

/* Parts of start-up, told by functions in stacks of CPU samples. */
enum start_part { STARTS_IMPORTS, STARTS_COMPILES, STARTS_CUDA, STARTS_OTHER, START_PARTS };

static enum start_part start_part_of(const struct result *r, uint32_t stack)
{
	static const struct {
		const char *text;
		enum start_part part;
	} signs[] = {
		{"importlib", STARTS_IMPORTS},        {"_inductor", STARTS_COMPILES},
		{"triton/compiler", STARTS_COMPILES}, {"nvrtc", STARTS_COMPILES},
		{"ptxas", STARTS_COMPILES},           {"torch/_dynamo", STARTS_COMPILES},
		{"nvptxcompiler", STARTS_COMPILES},   {"jax/_src/compiler", STARTS_COMPILES},
		{"libcuda.so", STARTS_CUDA},
	};
	enum start_part found = STARTS_OTHER;

	for (; stack != RESULT_ROOT; stack = r->stacks[stack].outer) {
		const struct frame_info *frame = &r->frames[r->stacks[stack].frame];

		for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
			const char *text = signs[i].text;

			if (signs[i].part < found &&
			    ((frame->file && strstr(frame->file, text)) ||
			     (frame->module && strstr(frame->module, text)) ||
			     strstr(frame->name, text)))
				found = signs[i].part;
		}
	}
	return found;
}

/* Samples before the first work. */
struct start_samples {
	uint64_t counts[START_PARTS], all;
	struct site_sums sites; /* other code */
};

static void count_start_samples(const struct making *m, struct start_samples *c)
{
	for (uint64_t i = 0; i < m->schedule->sample_count; i++) {
		const struct schedule_activity *s = &m->schedule->samples[i];
		enum start_part part;

		if (s->start_ns >= m->findings->first_work_ns)
			break;
		part = start_part_of(m->findings->result, s->stack);
		c->counts[part]++;
		c->all++;
		if (part == STARTS_OTHER)
			site_sums_add(&c->sites, findings_own(m->findings, s->stack), 1);
	}
}

/* Says what the samples before the first work show. Writes "" if there are few. */
static void start_parts_text(const struct making *m, char *text, size_t size)
{
	static const char *const labels[START_PARTS] = {"imports", "compilation",
							"CUDA's own start", "other code"};
	struct start_samples c = {.all = 0};
	const struct site_sum *most;
	char name[FINDING_NAME_BYTES];

	text[0] = '\0';
	count_start_samples(m, &c);
	most = site_sums_largest(&c.sites);
	for (int i = 0; i < START_PARTS && c.all >= 10; i++)
		if (c.counts[i] * 20 >= c.all)
			append_text(text, size, "%s%s %.0f %%",
				    text[0] ? ", " : " (CPU: ", labels[i],
				    percent_of(c.counts[i], c.all));
	if (text[0] && most && most->frame && most->amount * 5 >= c.all)
		append_text(text, size, ", %.0f %% of it in %s",
			    percent_of(most->amount, c.counts[STARTS_OTHER]),
			    finding_name(name, most->frame));
	if (text[0])
		append_text(text, size, ")");
	site_sums_release(&c.sites);
}

void findings_add_start_up(struct making *m)
{
	const struct findings *f = m->findings;
	uint64_t run_ns = m->to_ns - m->from_ns;
	char parts[FINDING_NAME_BYTES + 160];

	if (m->result->is_part || f->first_work_ns <= m->from_ns ||
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
			       .next = finding_text(
				       m, FINDING_FROM "--time ..%.3f -o start.html: what it is",
				       floor(1e3 * finding_seconds(m, f->first_work_ns)) / 1e3),
			       .from_ns = m->from_ns,
			       .to_ns = f->first_work_ns});
}

/* ---- steps ---- */

/* Returns whether steps take times that are hardly worth telling apart. */
static bool is_even(const struct step_times *t)
{
	return t->slowest_ns - t->fastest_ns <= t->median_ns / 50;
}

/* Describes how long the steps take: all alike, or their spread and the slowest one. */
static const char *spread_text(const struct findings *f, char *text, size_t size)
{
	const struct step_times *t = &f->step_times;
	char low[QUANTITY_BYTES], high[QUANTITY_BYTES], slowest[QUANTITY_BYTES];

	if (is_even(t))
		snprintf(text, size, "all alike");
	else
		snprintf(text, size, "8 of 10 take %s to %s; the slowest, number %" PRIu32 ", %s",
			 time_text(low, (double)t->p10_ns), time_text(high, (double)t->p90_ns),
			 t->slowest, time_text(slowest, (double)t->slowest_ns));
	return text;
}

/* Names the main loop, if there are several. Writes "" for one. */
static const char *loop_text(const struct making *m, char *text, size_t size)
{
	const struct findings *f = m->findings;

	text[0] = '\0';
	if (f->steps.count > 1)
		snprintf(text, size, "; of %" PRIu32 " loops, the main one, in %s", f->steps.count,
			 memory_process_name(m->result, m->process));
	return text;
}

void findings_add_steps(struct making *m)
{
	const struct findings *f = m->findings;
	const struct step_series *s = f->steps.list;
	const struct step_times *t = &f->step_times;
	char median[QUANTITY_BYTES], drift[64] = "", warm_up[64] = "";
	char spread[160], loop[200];

	if (!f->steps.count) {
		if (f->no_steps && !m->result->is_by_launch && !m->is_part)
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
	if (s->warm_up == 1)
		snprintf(warm_up, sizeof(warm_up), "; number 0, before them, is warm-up");
	else if (s->warm_up)
		snprintf(warm_up, sizeof(warm_up),
			 "; numbers 0 to %" PRIu32 ", before them, are warm-up", s->warm_up - 1);
	finding_add(m, (struct finding){
			       .kind = FINDING_STEPS,
			       .claim = finding_text(m, "%" PRIu32 " steps of %s (%s)%s%s%s",
						     s->count - s->warm_up,
						     time_text(median, (double)t->median_ns),
						     spread_text(f, spread, sizeof(spread)), drift,
						     warm_up, loop_text(m, loop, sizeof(loop))),
			       .certainty = "derived from the order of launches",
			       /* a part has other numbers than the run */
			       .next = m->result->is_part || is_even(t)
					       ? NULL
					       : finding_text(m,
							      FINDING_FROM
							      "--step %" PRIu32
							      " -o step.html: the slowest one",
							      t->slowest)});
}
