// SPDX-License-Identifier: MIT
#include "profiler/findings/findings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/columns.h"
#include "profiler/findings/run_steps.h"
#include "profiler/findings/step_times.h"
#include "profiler/model/losses.h"
#include "profiler/model/quantity.h"
#include "profiler/shape/code_role.h"
#include "profiler/tables/hot_spots.h"
#include "symbolize/util/saturate.h"

#define CLAIM_BYTES 1024
#define NAME_COLUMNS 80
#define NAME_BYTES (4 * NAME_COLUMNS + 8)
#define SHARE_MIN 10.0      /* percent that a kernel or a launch site needs to be named */
#define IDLE_MIN 3.0        /* percent of the steady part */
#define GAP_MIN_NS 1000000u /* shorter gaps are not named */
#define TINY_NS 10000.0     /* mean duration of tiny kernels */
#define TINY_LOSS 15.0      /* percent lost around tiny kernels that is worth a finding */
#define AUTOTUNING_MIN 5.0  /* percent of the GPU time */

static const char *const words[FINDING_KINDS] = {
	[FINDING_VERDICT] = "verdict",       [FINDING_START_UP] = "start_up",
	[FINDING_STEPS] = "steps",           [FINDING_KERNEL] = "kernel",
	[FINDING_SITE] = "launch_site",      [FINDING_IDLE] = "idle",
	[FINDING_GAP] = "longest_gap",       [FINDING_TINY] = "tiny_kernels",
	[FINDING_AUTOTUNING] = "autotuning", [FINDING_LOSSES] = "losses",
};

const char *finding_word(enum finding_kind kind)
{
	return words[kind];
}

const char *verdict_word(const struct verdict *verdict)
{
	switch (verdict->kind) {
	case VERDICT_NO_WORK:
		return "no_gpu_work";
	case VERDICT_COMPUTING:
		return device_use_word(USE_COMPUTING);
	case VERDICT_START_UP:
		return device_use_word(USE_START_UP);
	case VERDICT_LOSS:
		return device_use_word(verdict->use);
	case VERDICT_MIXED:
		return "mixed";
	default:
		return "unknown";
	}
}

/* The sources of the findings. */
struct making {
	struct findings *findings;
	const struct result *result;
	struct hot_spots *spots;
	uint64_t from_ns, to_ns; /* the result's time range */
};

/* ---- texts ---- */

/* Copies a name, cut to NAME_COLUMNS. */
static const char *name_text(char text[NAME_BYTES], const struct frame_info *frame)
{
	const char *name = frame ? frame_report_name(frame) : "[unknown]";
	unsigned int taken;
	size_t bytes = columns_fit(name, NAME_COLUMNS, &taken);

	if (bytes > NAME_BYTES - 8)
		bytes = NAME_BYTES - 8;
	snprintf(text, NAME_BYTES, "%.*s%s", (int)bytes, name, name[bytes] ? "..." : "");
	return text;
}

static const char *text_of(struct making *m, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Returns a text that lives as long as the findings. Returns "" if out of memory. */
static const char *text_of(struct making *m, const char *format, ...)
{
	char text[CLAIM_BYTES];
	const char *kept;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	kept = intern_string(&m->findings->strings, text);
	return kept ? kept : "";
}

static void add(struct making *m, struct finding finding)
{
	struct findings *f = m->findings;

	if (!finding.to_ns) {
		finding.from_ns = f->steady_from_ns;
		finding.to_ns = f->steady_to_ns;
	}
	if (f->count < FINDINGS_MAX)
		f->list[f->count++] = finding;
}

/* Returns a time as seconds after the command's start. */
static double seconds(const struct making *m, uint64_t ns)
{
	uint64_t start_ns = m->result->totals.start_ns;

	return ns > start_ns ? (double)(ns - start_ns) / 1e9 : 0;
}

/* Finds the user's own frames. Without memory for roles there are none. */
static bool find_own_frames(struct findings *f, const struct code_roles *roles)
{
	const struct result *r = f->result;
	char label[CODE_ROLE_LABEL_BYTES];

	f->is_own = calloc(r->frame_count + (size_t)1, sizeof(*f->is_own));
	for (uint32_t i = 0; f->is_own && i < r->frame_count; i++) {
		const struct frame_info *frame = &r->frames[i];

		f->is_own[i] = frame->name &&
			       (frame->class == CLASS_NATIVE || frame->class == CLASS_PYTHON ||
				frame->class == CLASS_JIT) &&
			       code_role_of(roles, frame, label) == ROLE_OWN;
	}
	return f->is_own;
}

const struct frame_info *findings_site(const struct findings *f, uint32_t stack)
{
	const struct result *r = f->result;

	for (uint32_t at = stack; at != RESULT_ROOT; at = r->stacks[at].outer)
		if (f->is_own[r->stacks[at].frame])
			return &r->frames[r->stacks[at].frame];
	return hot_spots_site(r, stack);
}

static const struct frame_info *site_of(const void *findings, uint32_t stack)
{
	return findings_site(findings, stack);
}

/* ---- the steady part ---- */

/* Finds the first and the last GPU work. */
static void find_work(struct findings *f, const struct operation_schedule *schedule)
{
	for (uint64_t i = 0; i < schedule->count; i++)
		if (f->last_work_ns < scheduled_end_ns(&schedule->list[i]))
			f->last_work_ns = scheduled_end_ns(&schedule->list[i]);
	if (schedule->count)
		f->first_work_ns = schedule->list[0].start_ns;
}

/* Returns the number of the step that a time is in; the last one's if it is after all of them. */
static uint32_t step_at(const struct step_series *s, uint64_t ns)
{
	uint32_t low = 0, high = s->count;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (s->starts_ns[middle] <= ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/*
 * Finds when the GPU began the work of each step, and ended that of the last one. A step without
 * work begins with its launches.
 */
static void find_step_work(struct findings *f, const struct operation_schedule *schedule,
			   uint32_t process)
{
	const struct step_series *s = f->steps.list;
	uint64_t *work_ns = f->step_work_ns, launched_ns;

	memset(work_ns, 0, (s->count + (size_t)1) * sizeof(*work_ns));
	for (uint64_t i = 0; i < schedule->count; i++) {
		const struct scheduled_operation *o = &schedule->list[i];
		uint32_t at;

		if (o->site == SCHEDULE_NO_SITE)
			continue;
		launched_ns = scheduled_launch_ns(o);
		if (launched_ns < s->starts_ns[0] || launched_ns > s->starts_ns[s->count] ||
		    schedule->threads.list[schedule->sites.list[o->site].thread].process != process)
			continue;
		at = step_at(s, launched_ns);
		if (!work_ns[at])
			work_ns[at] = o->start_ns; /* operations are in order */
		if (at == s->count - 1 && work_ns[s->count] < scheduled_end_ns(o))
			work_ns[s->count] = scheduled_end_ns(o);
	}
	for (uint32_t i = 0; i <= s->count; i++) {
		if (!work_ns[i])
			work_ns[i] = s->starts_ns[i];
		if (i > 0 && work_ns[i] < work_ns[i - 1])
			work_ns[i] = work_ns[i - 1];
	}
}

/* Finds the steady part, and the times of steps. Returns 0 or -ENOMEM. */
static int find_steady(struct making *m, const struct operation_schedule *schedule,
		       uint32_t process)
{
	struct findings *f = m->findings;
	const struct step_series *s = f->steps.list;

	f->steady_from_ns = f->first_work_ns;
	f->steady_to_ns = f->last_work_ns;
	if (!f->steps.count)
		return 0;
	f->step_work_ns = malloc((s->count + (size_t)1) * sizeof(*f->step_work_ns));
	if (!f->step_work_ns)
		return -ENOMEM;
	find_step_work(f, schedule, process);
	f->steady_from_ns = f->step_work_ns[s->warm_up];
	f->steady_to_ns = f->step_work_ns[s->count];
	return step_times_measure(&f->step_times, f->step_work_ns, s->count, s->warm_up);
}

/* ---- the verdict ---- */

/* Finds the longest loss, and the second. Returns false if nothing is lost. */
static bool largest_losses(const struct device_times *times, enum device_use largest[2],
			   uint64_t ns[2])
{
	ns[0] = ns[1] = 0;
	for (int use = 0; use < DEVICE_USES; use++) {
		uint64_t sum = device_times_sum(times, (enum device_use)use);
		int at = sum > ns[0] ? 0 : sum > ns[1] ? 1 : 2;

		if (!device_use_is_loss((enum device_use)use) || at == 2)
			continue;
		if (at == 0) {
			largest[1] = largest[0];
			ns[1] = ns[0];
		}
		largest[at] = (enum device_use)use;
		ns[at] = sum;
	}
	return ns[0] > 0;
}

static void judge(struct making *m)
{
	struct findings *f = m->findings;
	struct verdict *v = &f->verdict;
	enum device_use largest[2] = {USE_UNKNOWN, USE_UNKNOWN};
	uint64_t ns[2], all_ns = device_times_whole(&f->steady);
	uint64_t start_up_ns = device_times_sum(&f->whole, USE_START_UP);

	v->of_ns = all_ns;
	if (all_ns == 0) {
		v->kind = VERDICT_NO_WORK;
		return;
	}
	largest_losses(&f->steady, largest, ns);
	if (percent_of(ns[0], all_ns) >= VERDICT_SHARE_MIN) {
		v->use = largest[0];
		v->ns = ns[0];
		v->kind = largest[0] == USE_UNKNOWN ? VERDICT_UNKNOWN : VERDICT_LOSS;
		if (ns[0] / 3 * 2 < ns[1])
			v->kind = VERDICT_MIXED;
		return;
	}
	v->kind = VERDICT_COMPUTING;
	v->use = USE_COMPUTING;
	v->ns = device_times_sum(&f->steady, USE_COMPUTING);
	if (percent_of(start_up_ns, device_times_whole(&f->whole)) < VERDICT_START_UP_MIN)
		return;
	v->kind = VERDICT_START_UP;
	v->use = USE_START_UP;
	v->ns = start_up_ns;
	v->of_ns = device_times_whole(&f->whole);
}

/* Returns "GPU 0", or "3 GPUs". */
static const char *gpus_text(const struct device_times *times, char text[DEVICE_LABEL_BYTES])
{
	if (times->device_count == 1)
		device_label(times->devices[0].device, text);
	else
		snprintf(text, DEVICE_LABEL_BYTES, "%" PRIu32 " GPUs", times->device_count);
	return text;
}

/* Lists the losses of a mixed verdict: "synchronizing 12.0 %, queued 9.1 %". */
static void list_losses(const struct device_times *times, char *text, size_t size)
{
	uint64_t all_ns = device_times_whole(times);
	size_t used = 0;

	text[0] = '\0';
	for (int use = 0; use < DEVICE_USES && used < size; use++) {
		uint64_t ns = device_times_sum(times, (enum device_use)use);
		int n;

		if (!device_use_is_loss((enum device_use)use) || percent_of(ns, all_ns) < 2)
			continue;
		n = snprintf(text + used, size - used, "%s%s %.1f %%", used ? "; " : "",
			     device_use_text((enum device_use)use), percent_of(ns, all_ns));
		used += n > 0 ? (size_t)n : 0;
	}
}

static const char *verdict_claim(struct making *m)
{
	const struct findings *f = m->findings;
	const struct verdict *v = &f->verdict;
	uint64_t busy_ns = device_times_sum(&f->steady, USE_COMPUTING);
	double busy = percent_of(busy_ns, device_times_whole(&f->steady));
	double share = percent_of(v->ns, v->of_ns);
	char gpus[DEVICE_LABEL_BYTES], length[QUANTITY_BYTES], losses[512];
	const char *part =
		f->steps.count ? "the steps" : "the time from its first work to its last";

	gpus_text(&f->steady, gpus);
	time_text(length, (double)(f->steady_to_ns - f->steady_from_ns));
	switch (v->kind) {
	case VERDICT_NO_WORK:
		return "no GPU work was recorded";
	case VERDICT_START_UP:
		return text_of(
			m,
			"start-up takes %.1f %% of the run: no GPU work until %.3f s; then %s "
			"computes %.1f %% of %s (%s)",
			share, seconds(m, f->first_work_ns), gpus, busy, part, length);
	case VERDICT_LOSS:
		return text_of(m, "%s: %s, %.1f %% of %s (%s); it computes %.1f %%", gpus,
			       device_use_text(v->use), share, part, length, busy);
	case VERDICT_MIXED:
		list_losses(&f->steady, losses, sizeof(losses));
		return text_of(m, "%s computes %.1f %% of %s (%s); no single cause of the rest: %s",
			       gpus, busy, part, length, losses);
	case VERDICT_COMPUTING:
		return text_of(m, "%s computes %.1f %% of %s (%s)", gpus, busy, part, length);
	default:
		return text_of(m, "%s: %s, %.1f %% of %s (%s); it computes %.1f %%", gpus,
			       device_use_text(USE_UNKNOWN), share, part, length, busy);
	}
}

static const char *verdict_next(const struct verdict *v, const struct measure *measure)
{
	static const char *const of_uses[DEVICE_USES] = {
		[USE_COPIES] = "-o x.html, Timeline: copies beside the kernels they could run with",
		[USE_COLLECTIVES] = "--from RANK0 RANK1...: which rank was last",
		[USE_LAUNCHING] = "--launch-shapes: the kernels that are small; CUDA graphs launch "
				  "many at once",
		[USE_QUEUED] = "-o x.html, Timeline: what else ran, and events between streams",
	};

	if ((v->use == USE_HOST || v->use == USE_LOADER) && !measure->idle)
		return "--idle: what the launching thread did, also off the CPU";
	if (v->use == USE_SYNCHRONIZING && !measure->waits)
		return "--waits: which calls wait, and for what";
	return v->kind == VERDICT_LOSS ? of_uses[v->use] : NULL;
}

static void add_verdict(struct making *m)
{
	const struct verdict *v = &m->findings->verdict;

	add(m, (struct finding){
		       .kind = FINDING_VERDICT,
		       .claim = verdict_claim(m),
		       .certainty = v->kind == VERDICT_LOSS &&
						    (v->use == USE_LOADER || v->use == USE_HOST)
					    ? "measured; the names are of CPU samples"
					    : "measured",
		       .next = verdict_next(v, &m->result->totals.measure),
	       });
}

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
static void start_parts_text(const struct making *m, const struct operation_schedule *schedule,
			     char *text, size_t size)
{
	static const char *const labels[START_PARTS] = {"imports", "compilation",
							"CUDA's own start", "other code"};
	uint64_t counts[START_PARTS] = {0}, all = 0;
	size_t used = 0;

	text[0] = '\0';
	for (uint64_t i = 0; i < schedule->sample_count; i++) {
		const struct schedule_activity *s = &schedule->samples[i];

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

static void add_start_up(struct making *m, const struct operation_schedule *schedule)
{
	const struct findings *f = m->findings;
	uint64_t run_ns = m->to_ns - m->from_ns;
	char parts[160];

	if (!f->first_work_ns || f->first_work_ns <= m->from_ns ||
	    percent_of(f->first_work_ns - m->from_ns, run_ns) < VERDICT_SHARE_MIN)
		return;
	start_parts_text(m, schedule, parts, sizeof(parts));
	add(m,
	    (struct finding){
		    .kind = FINDING_START_UP,
		    .claim = text_of(m, "no GPU work until %.3f s, %.1f %% of the run%s",
				     seconds(m, f->first_work_ns),
				     percent_of(f->first_work_ns - m->from_ns, run_ns), parts),
		    .certainty = parts[0] ? "measured; the parts are of CPU samples" : "measured",
		    .next = text_of(m, "--time ..%.3f -o start.html: what it is",
				    seconds(m, f->first_work_ns)),
		    .from_ns = m->from_ns,
		    .to_ns = f->first_work_ns});
}

/* ---- steps ---- */

static void add_steps(struct making *m)
{
	const struct findings *f = m->findings;
	const struct step_series *s = f->steps.list;
	const struct step_times *t = &f->step_times;
	char median[QUANTITY_BYTES], low[QUANTITY_BYTES], high[QUANTITY_BYTES];
	char slowest[QUANTITY_BYTES], drift[64] = "", warm_up[64] = "";

	if (!f->steps.count) {
		if (f->no_steps && !m->result->is_by_launch)
			add(m, (struct finding){.kind = FINDING_STEPS,
						.claim = text_of(m, "no steps: %s", f->no_steps),
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
	add(m,
	    (struct finding){
		    .kind = FINDING_STEPS,
		    .claim = text_of(
			    m,
			    "%" PRIu32 " steps of %s (8 of 10 take %s to %s; the slowest, number "
			    "%" PRIu32 ", %s)%s%s",
			    s->count - s->warm_up, time_text(median, (double)t->median_ns),
			    time_text(low, (double)t->p10_ns), time_text(high, (double)t->p90_ns),
			    t->slowest, time_text(slowest, (double)t->slowest_ns), drift, warm_up),
		    .certainty = "derived from the order of launches",
		    /* a part has other numbers than the run */
		    .next = m->result->is_part
				    ? NULL
				    : text_of(m, "--step %" PRIu32 " -o step.html: the slowest one",
					      t->slowest)});
}

/* ---- kernels and launch sites ---- */

static void add_hottest(struct making *m)
{
	const struct hot_spot_table *kernels = &m->spots->kernels, *sites = &m->spots->sites;
	uint64_t gpu_ns = saturated_sum(kernels->whole.ns, m->spots->copies.whole.ns);
	char name[NAME_BYTES], total[QUANTITY_BYTES];

	if (kernels->count && percent_of(kernels->list[0].ns, gpu_ns) >= SHARE_MIN)
		add(m,
		    (struct finding){.kind = FINDING_KERNEL,
				     .claim = text_of(m,
						      "%.1f %% of the GPU time (%s, %" PRIu64
						      " launches) is of %s",
						      percent_of(kernels->list[0].ns, gpu_ns),
						      time_text(total, (double)kernels->list[0].ns),
						      kernels->list[0].count,
						      name_text(name, kernels->list[0].frame)),
				     .certainty = "measured",
				     .next = "--counters default: what limits a kernel",
				     .from_ns = m->from_ns,
				     .to_ns = m->to_ns});
	if (sites->count && percent_of(sites->list[0].ns, gpu_ns) >= SHARE_MIN)
		add(m, (struct finding){
			       .kind = FINDING_SITE,
			       .claim = text_of(m, "%.1f %% of the GPU time (%s) is launched by %s",
						percent_of(sites->list[0].ns, gpu_ns),
						time_text(total, (double)sites->list[0].ns),
						name_text(name, sites->list[0].frame)),
			       .certainty = "measured",
			       .from_ns = m->from_ns,
			       .to_ns = m->to_ns});
}

static void add_tiny(struct making *m)
{
	const struct findings *f = m->findings;
	const struct hot_spot *all = &m->spots->kernels.whole;
	uint64_t lost_ns = device_times_sum(&f->steady, USE_LAUNCHING) +
			   device_times_sum(&f->steady, USE_QUEUED);
	double lost = percent_of(lost_ns, device_times_whole(&f->steady));
	char mean[QUANTITY_BYTES];

	if (all->count < 100 || (double)all->ns / (double)all->count > TINY_NS || lost < TINY_LOSS)
		return;
	add(m,
	    (struct finding){
		    .kind = FINDING_TINY,
		    .claim = text_of(m,
				     "%" PRIu64 " kernels of %s in the mean, and %.1f %% of the "
				     "steady part is lost between them",
				     all->count,
				     time_text(mean, (double)all->ns / (double)all->count), lost),
		    .certainty = "measured",
		    .next = "fewer, larger kernels, or CUDA graphs"});
}

/* ---- idle ---- */

static void add_gap(struct making *m, const struct idle_cause *gap)
{
	char name[NAME_BYTES], length[QUANTITY_BYTES];
	uint64_t to_ns = gap->longest_from_ns + gap->longest_ns;

	add(m,
	    (struct finding){
		    .kind = FINDING_GAP,
		    .claim = text_of(m, "the longest gap is %s at %.3f s, before a launch by %s",
				     time_text(length, (double)gap->longest_ns),
				     seconds(m, gap->longest_from_ns), name_text(name, gap->site)),
		    .certainty = "measured",
		    .next = text_of(m, "--time %.3f..%.3f -o gap.html",
				    seconds(m, gap->longest_from_ns), seconds(m, to_ns) + 0.001),
		    .from_ns = gap->longest_from_ns,
		    .to_ns = to_ns});
}

static void add_idle(struct making *m)
{
	const struct findings *f = m->findings;
	const struct idle_cause *first = NULL, *gap = NULL;
	uint64_t all_ns = device_times_whole(&f->steady);
	char name[NAME_BYTES];

	for (uint32_t i = 0; i < f->causes.count; i++) {
		const struct idle_cause *cause = &f->causes.list[i];

		if (!first && cause->use != USE_UNKNOWN)
			first = cause;
		if (!gap || cause->longest_ns > gap->longest_ns)
			gap = cause;
	}
	if (first && percent_of(first->ns, all_ns) >= IDLE_MIN)
		add(m,
		    (struct finding){
			    .kind = FINDING_IDLE,
			    .claim = text_of(
				    m, "%.1f %% of the steady part: %s; %s %s",
				    percent_of(first->ns, all_ns), device_use_text(first->use),
				    first->sampled_ns > first->ns / 2 ? "in" : "before launches by",
				    name_text(name, first->site)),
			    .certainty =
				    first->sampled_ns > first->ns / 2 ? "sampled" : "measured"});
	if (gap && gap->longest_ns >= GAP_MIN_NS)
		add_gap(m, gap);
}

/* ---- autotuning ---- */

static bool is_autotuning(const struct result *r, uint32_t stack)
{
	static const char *const names[] = {"autotune", "do_bench", "benchmark_all_configs",
					    "cudnnFind", "AlgoGetHeuristic"};

	for (; stack != RESULT_ROOT; stack = r->stacks[stack].outer) {
		const char *name = r->frames[r->stacks[stack].frame].name;

		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (strstr(name, names[i]))
				return true;
	}
	return false;
}

static void add_autotuning(struct making *m)
{
	const struct result *r = m->result;
	uint64_t ns = 0, all_ns = 0, count = 0;
	char total[QUANTITY_BYTES];

	for (uint32_t i = 0; i < r->row_count; i++) {
		if (r->rows[i].kind != ROW_GPU)
			continue;
		saturated_add(&all_ns, r->rows[i].ns);
		if (!is_autotuning(r, r->rows[i].stack))
			continue;
		saturated_add(&ns, r->rows[i].ns);
		saturated_add(&count, r->rows[i].count);
	}
	if (percent_of(ns, all_ns) < AUTOTUNING_MIN)
		return;
	add(m,
	    (struct finding){
		    .kind = FINDING_AUTOTUNING,
		    .claim = text_of(
			    m, "%.1f %% of the GPU time (%s, %" PRIu64 " operations) is autotuning",
			    percent_of(ns, all_ns), time_text(total, (double)ns), count),
		    .certainty = "measured; by functions called autotune, do_bench and the like",
		    .next = "--steady: the steps without it",
		    .from_ns = m->from_ns,
		    .to_ns = m->to_ns});
}

/* ---- losses ---- */

static void count_loss(void *context, const struct loss *loss)
{
	uint64_t *count = context;

	if (!loss->is_incomplete)
		saturated_add(count, loss->count);
}

static void add_losses(struct making *m)
{
	const struct ledger *l = m->result->totals.ledger;
	uint64_t lost = 0;

	losses_visit(l, m->result->unnamed.not_kept, count_loss, &lost);
	saturated_add(&lost, l->timeline.lost);
	if (!lost)
		return;
	add(m,
	    (struct finding){.kind = FINDING_LOSSES,
			     .claim = text_of(m,
					      "%" PRIu64 " records are lost or not matched: shares "
					      "and causes may be wrong by their part",
					      lost),
			     .certainty = "counted",
			     .next = "--query losses: what is missing",
			     .from_ns = m->from_ns,
			     .to_ns = m->to_ns});
}

/* ---- all ---- */

/* Divides times and adds all findings. */
static int make(struct making *m, uint32_t process)
{
	struct findings *f = m->findings;
	struct operation_schedule schedule;
	int err = operation_schedule_read(&schedule, m->result);

	if (err)
		return err;
	find_work(f, &schedule);
	err = find_steady(m, &schedule, process);
	if (!err)
		err = device_times_divide(&f->whole, &schedule, m->result, f->is_own, m->from_ns,
					  m->to_ns);
	if (!err)
		err = device_times_divide(&f->steady, &schedule, m->result, f->is_own,
					  f->steady_from_ns, f->steady_to_ns);
	if (!err)
		err = idle_causes_of(&f->causes, &f->steady, site_of, f);
	if (!err) {
		judge(m);
		add_verdict(m);
		if (f->first_work_ns) {
			add_start_up(m, &schedule);
			add_steps(m);
			add_idle(m);
			add_hottest(m);
			add_tiny(m);
			add_autotuning(m);
		}
		add_losses(m);
	}
	operation_schedule_release(&schedule);
	return err;
}

/* Reads the timeline. Returns 0 or -errno. */
static int read_course(struct making *m)
{
	struct findings *f = m->findings;
	const struct slice_match no_name = {.text = NULL};
	struct run_steps found;
	int err = run_steps_find(&found, m->result, &no_name);

	f->steps = found.steps; /* freed with the findings */
	f->no_steps = found.none;
	return err ? err : make(m, found.thread.process);
}

static const char *unknown_text(int err)
{
	if (err == -E2BIG)
		return "there is too much GPU work to examine at a time: --time A..B, a part of it";
	return "the course of the run could not be read";
}

struct findings *findings_new(const struct result *result)
{
	struct findings *f = calloc(1, sizeof(*f));
	struct making m = {.findings = f, .result = result};
	struct code_roles *roles;
	int err = 0;

	if (!f)
		return NULL;
	f->result = result;
	if (!result->timeline) {
		f->unknown = "the course of the run was not kept: -o x.html or -o x.profile";
		return f;
	}
	result_time_range(result, &m.from_ns, &m.to_ns);
	m.spots = hot_spots_new(result);
	roles = code_roles_of_result(result);
	err = m.spots && roles && find_own_frames(f, roles) ? read_course(&m) : -ENOMEM;
	hot_spots_free(m.spots);
	code_roles_free(roles);
	if (err == -ENOMEM) {
		findings_free(f);
		return NULL;
	}
	if (err)
		f->unknown = unknown_text(err);
	return f;
}

void findings_free(struct findings *f)
{
	if (!f)
		return;
	step_list_release(&f->steps);
	device_times_release(&f->whole);
	device_times_release(&f->steady);
	free(f->causes.list);
	free(f->step_work_ns);
	intern_release(&f->strings);
	free(f->is_own);
	free(f);
}

const char *findings_unknown(const struct result *r)
{
	if (r->findings)
		return r->findings->unknown;
	return r->timeline ? "no findings were made"
			   : "the course of the run was not kept, or cannot be read";
}

const struct finding *findings_find(const struct findings *findings, enum finding_kind kind)
{
	for (uint32_t i = 0; i < findings->count; i++)
		if (findings->list[i].kind == kind)
			return &findings->list[i];
	return NULL;
}
