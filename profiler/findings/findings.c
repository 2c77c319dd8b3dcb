// SPDX-License-Identifier: MIT
#include "profiler/findings/findings_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/columns.h"
#include "profiler/findings/run_steps.h"
#include "profiler/findings/step_times.h"
#include "profiler/findings/step_work.h"
#include "profiler/shape/code_role.h"

#define CLAIM_BYTES 1024

static const char *const words[FINDING_KINDS] = {
	[FINDING_VERDICT] = "verdict",
	[FINDING_START_UP] = "start_up",
	[FINDING_STEPS] = "steps",
	[FINDING_CLOCKS] = "clocks",
	[FINDING_KERNEL] = "kernel",
	[FINDING_SITE] = "launch_site",
	[FINDING_IDLE] = "idle",
	[FINDING_GAP] = "longest_gap",
	[FINDING_TINY] = "tiny_kernels",
	[FINDING_AUTOTUNING] = "autotuning",
	[FINDING_SYNCS] = "needless_waits",
	[FINDING_COPIES] = "pageable_copies",
	[FINDING_MEMORY] = "memory_peak",
	[FINDING_LOSSES] = "losses",
};

const char *finding_word(enum finding_kind kind)
{
	return words[kind];
}

/* ---- texts ---- */

const char *finding_name(char text[FINDING_NAME_BYTES], const struct frame_info *frame)
{
	const char *name = frame ? frame_report_name(frame) : "[unknown]";
	unsigned int taken;
	size_t bytes = columns_fit(name, FINDING_NAME_COLUMNS, &taken);

	if (bytes > FINDING_NAME_BYTES - 8)
		bytes = FINDING_NAME_BYTES - 8;
	snprintf(text, FINDING_NAME_BYTES, "%.*s%s", (int)bytes, name, name[bytes] ? "..." : "");
	return text;
}

const char *finding_text(struct making *m, const char *format, ...)
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

void finding_add(struct making *m, struct finding finding)
{
	struct findings *f = m->findings;

	if (!finding.to_ns) {
		finding.from_ns = f->steady_from_ns;
		finding.to_ns = f->steady_to_ns;
	}
	if (f->count < FINDINGS_MAX)
		f->list[f->count++] = finding;
}

double finding_seconds(const struct making *m, uint64_t ns)
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

const struct frame_info *findings_own(const struct findings *f, uint32_t stack)
{
	const struct result *r = f->result;

	for (; stack != RESULT_ROOT; stack = r->stacks[stack].outer)
		if (f->is_own[r->stacks[stack].frame])
			return &r->frames[r->stacks[stack].frame];
	return NULL;
}

const struct frame_info *findings_site(const struct findings *f, uint32_t stack)
{
	const struct frame_info *own = findings_own(f, stack);

	return own ? own : hot_spots_site(f->result, stack);
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

/* Finds the steady part, and the times of steps. Returns 0 or -ENOMEM. */
static int find_steady(struct making *m)
{
	struct findings *f = m->findings;
	struct step_series *s = f->steps.list;

	f->steady_from_ns = m->is_part ? m->from_ns : f->first_work_ns;
	f->steady_to_ns = m->is_part ? m->to_ns : f->last_work_ns;
	if (!f->steps.count)
		return 0;
	f->step_work_ns = step_work_find(m->schedule, s, m->process);
	if (!f->step_work_ns)
		return -ENOMEM;
	if (!m->is_part && f->first_work_ns) {
		f->steady_from_ns = f->step_work_ns[s->warm_up];
		f->steady_to_ns = f->step_work_ns[s->count];
	}
	return step_times_measure(&f->step_times, f->step_work_ns, s->count, s->warm_up);
}

/* ---- all ---- */

/* Adds all findings: those that say what to change come before shares. */
static void add_all(struct making *m)
{
	findings_add_verdict(m);
	if (m->findings->first_work_ns) {
		findings_add_start_up(m);
		findings_add_steps(m);
		findings_add_clocks(m);
		findings_add_copies(m);
		findings_add_syncs(m);
		findings_add_tiny(m);
		findings_add_autotuning(m);
		findings_add_idle(m);
		findings_add_hottest_kernel(m);
		findings_add_hottest_site(m);
	}
	findings_add_memory(m);
	findings_add_losses(m);
}

/* Divides times and adds all findings. */
static int make(struct making *m)
{
	struct findings *f = m->findings;
	const struct result *run = f->result;
	struct operation_schedule schedule;
	int err = operation_schedule_read(&schedule, run);

	if (err)
		return err;
	m->schedule = &schedule;
	find_work(f, &schedule);
	err = find_steady(m);
	f->whole.from_ns = m->from_ns;
	f->whole.to_ns = m->to_ns;
	f->steady.from_ns = f->steady_from_ns;
	f->steady.to_ns = f->steady_to_ns;
	if (!err)
		err = device_times_divide((struct device_times *const[]){&f->whole, &f->steady}, 2,
					  &schedule, run, f->is_own);
	if (!err)
		err = idle_causes_of(&f->causes, &f->steady, site_of, f);
	if (!err) {
		findings_judge(m);
		add_all(m);
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
	m->process = found.thread.process;
	return err ? err : make(m);
}

static const char *unknown_text(int err)
{
	if (err == -E2BIG)
		return "there is too much GPU work to examine: record less, with --delay and -d";
	return "the course of the run could not be read";
}

struct findings *findings_none(const char *why)
{
	struct findings *f = calloc(1, sizeof(*f));

	if (f)
		f->unknown = why;
	return f;
}

struct findings *findings_new(const struct result *result, const struct findings_part *part)
{
	struct findings *f = calloc(1, sizeof(*f));
	struct making m = {.findings = f, .result = result};
	struct code_roles *roles;
	int err = 0;

	if (!f)
		return NULL;
	f->result = part ? part->run : result;
	if (!f->result->timeline || !result->timeline) {
		f->unknown =
			result->totals.measure.budget
				? "GPU work was recorded in windows: --budget"
				: "the course of the run was not kept: -o x.html or -o x.profile";
		return f;
	}
	result_time_range(result, &m.from_ns, &m.to_ns);
	if (part) {
		m.from_ns = part->from_ns;
		m.to_ns = part->to_ns;
		m.is_part = true;
	}
	m.spots = hot_spots_new(result);
	roles = code_roles_of_result(f->result);
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
