// SPDX-License-Identifier: MIT
#include "profiler/findings/findings_private.h"

#include <inttypes.h>
#include <stdio.h>

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

/* Returns the time that is judged: from the first work of each GPU to its last, in the range. */
static uint64_t judged_ns(const struct device_times *times)
{
	return device_times_whole(times) - device_times_sum(times, USE_START_UP) -
	       device_times_sum(times, USE_ENDING);
}

void findings_judge(struct making *m)
{
	struct findings *f = m->findings;
	struct verdict *v = &f->verdict;
	enum device_use largest[2] = {USE_UNKNOWN, USE_UNKNOWN};
	uint64_t ns[2], run_ns = m->to_ns - m->from_ns, start_up_ns = 0;

	v->of_ns = judged_ns(&f->steady);
	if (v->of_ns == 0 || !f->first_work_ns) {
		v->kind = VERDICT_NO_WORK;
		return;
	}
	largest_losses(&f->steady, largest, ns);
	if (percent_of(ns[0], v->of_ns) >= VERDICT_SHARE_MIN) {
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
	if (f->first_work_ns > m->from_ns)
		start_up_ns = f->first_work_ns - m->from_ns;
	if (m->result->is_part || percent_of(start_up_ns, run_ns) < VERDICT_START_UP_MIN)
		return;
	v->kind = VERDICT_START_UP;
	v->use = USE_START_UP;
	v->ns = start_up_ns;
	v->of_ns = run_ns;
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
	uint64_t all_ns = judged_ns(times);
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
	double busy = percent_of(busy_ns, judged_ns(&f->steady));
	double share = percent_of(v->ns, v->of_ns);
	char gpus[DEVICE_LABEL_BYTES], length[QUANTITY_BYTES], losses[512];
	const char *part = m->is_part       ? "this part"
			   : f->steps.count ? "the steps"
					    : "the time from its first work to its last";

	gpus_text(&f->steady, gpus);
	time_text(length, (double)(f->steady_to_ns - f->steady_from_ns));
	switch (v->kind) {
	case VERDICT_NO_WORK:
		return m->is_part ? "no GPU work in this part" : "no GPU work was recorded";
	case VERDICT_START_UP:
		return finding_text(m,
				    "start-up takes %.1f %% of the run: no GPU work until %.3f s; "
				    "then computing takes %.1f %% of %s (%s)",
				    share, finding_seconds(m, f->first_work_ns), busy, part,
				    length);
	case VERDICT_MIXED:
		list_losses(&f->steady, losses, sizeof(losses));
		return finding_text(m,
				    "%s: computing takes %.1f %% of %s (%s); no single cause of "
				    "the rest: %s",
				    gpus, busy, part, length, losses);
	case VERDICT_COMPUTING:
		return finding_text(m, "%s %s busy computing %.1f %% of %s (%s)", gpus,
				    f->steady.device_count == 1 ? "is" : "are", busy, part, length);
	default:
		return finding_text(m, "%s: %s, %.1f %% of %s (%s); computing takes %.1f %%", gpus,
				    device_use_text(v->kind == VERDICT_LOSS ? v->use : USE_UNKNOWN),
				    share, part, length, busy);
	}
}

static const char *verdict_next(const struct verdict *v, const struct measure *measure)
{
	static const char *const of_uses[DEVICE_USES] = {
		[USE_COPIES] =
			"the timeline of -o x.html: copies beside the kernels they could run with",
		[USE_COLLECTIVES] = "--from RANK0 RANK1...: which rank was last",
		[USE_LAUNCHING] = "--launch-shapes: the kernels that are small; CUDA graphs launch "
				  "many at once",
		[USE_QUEUED] =
			"the timeline of -o x.html: what else ran, and events between streams",
	};

	if ((v->use == USE_HOST || v->use == USE_LOADER) && !measure->idle)
		return "--idle: what the launching thread did, also off the CPU";
	if (v->use == USE_SYNCHRONIZING && !measure->waits)
		return "--waits: which calls wait, and for what";
	if (v->kind == VERDICT_UNKNOWN && !(measure->waits && measure->idle))
		return "--waits --idle: what the launching threads did, and when waits ended";
	return v->kind == VERDICT_LOSS ? of_uses[v->use] : NULL;
}

void findings_add_verdict(struct making *m)
{
	const struct verdict *v = &m->findings->verdict;

	finding_add(m, (struct finding){
			       .kind = FINDING_VERDICT,
			       .claim = verdict_claim(m),
			       .certainty = "measured",
			       .next = verdict_next(v, &m->result->totals.measure),
		       });
}
