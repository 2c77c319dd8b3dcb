// SPDX-License-Identifier: MIT
#include "profiler/findings/findings_private.h"

#include <inttypes.h>
#include <math.h>

#define IDLE_MIN 3.0        /* percent of the steady part */
#define GAP_MIN_NS 1000000u /* shorter gaps are not named */

/* Returns the words between idle time and the function that its cause has. */
static const char *words_before_site(const struct making *m, const struct idle_cause *cause)
{
	if (cause->sampled_ns > cause->ns / 2)
		return "in";
	if (cause->use != USE_SYNCHRONIZING)
		return "before launches by";
	return m->result->totals.measure.waits ? "around waits by" : "after work launched by";
}

static void add_gap(struct making *m, const struct idle_cause *gap)
{
	char name[FINDING_NAME_BYTES], length[QUANTITY_BYTES];
	uint64_t to_ns = gap->longest_from_ns + gap->longest_ns;

	finding_add(
		m,
		(struct finding){
			.kind = FINDING_GAP,
			.claim = finding_text(m, "the longest gap is %s at %.3f s, %s %s",
					      time_text(length, (double)gap->longest_ns),
					      finding_seconds(m, gap->longest_from_ns),
					      words_before_site(m, gap),
					      finding_name(name, gap->site)),
			.certainty = "measured",
			.next = m->result->is_part
					? NULL
					: finding_text(
						  m, FINDING_FROM "--time %.3f..%.3f -o gap.html",
						  floor(1e3 *
							finding_seconds(m, gap->longest_from_ns)) /
							  1e3,
						  ceil(1e3 * finding_seconds(m, to_ns)) / 1e3),
			.from_ns = gap->longest_from_ns,
			.to_ns = to_ns});
}

void findings_add_idle(struct making *m)
{
	const struct findings *f = m->findings;
	const struct idle_cause *first = NULL, *gap = NULL;
	uint64_t all_ns = device_times_whole(&f->steady);
	char name[FINDING_NAME_BYTES];

	for (uint32_t i = 0; i < f->causes.count; i++) {
		const struct idle_cause *cause = &f->causes.list[i];

		if (!first && cause->use != USE_UNKNOWN)
			first = cause;
		if (!gap || cause->longest_ns > gap->longest_ns)
			gap = cause;
	}
	if (first && percent_of(first->ns, all_ns) >= IDLE_MIN) {
		const char *claim =
			finding_text(m, "%.1f %% of the steady part: %s; %s %s",
				     percent_of(first->ns, all_ns), device_use_text(first->use),
				     words_before_site(m, first), finding_name(name, first->site));

		finding_add(m, (struct finding){.kind = FINDING_IDLE,
						.claim = claim,
						.certainty = first->sampled_ns > first->ns / 2
								     ? "sampled"
								     : "measured"});
	}
	if (gap && gap->longest_ns >= GAP_MIN_NS)
		add_gap(m, gap);
}

void findings_add_syncs(struct making *m)
{
	const struct findings *f = m->findings;
	const struct device_syncs *syncs = &f->steady.syncs;
	char total[QUANTITY_BYTES];
	double share = percent_of(syncs->ns, device_times_whole(&f->steady));

	if (share < IDLE_MIN)
		return;
	finding_add(
		m,
		(struct finding){
			.kind = FINDING_SYNCS,
			.claim = finding_text(
				m,
				"%" PRIu64 " waits for kernels leave the GPU idle for %s, %.1f %% "
				"of the steady part, and no copy brings a result to the host",
				syncs->gaps, time_text(total, (double)syncs->ns), share),
			.certainty = "measured; reads of mapped memory are not seen",
			.next = m->result->totals.measure.waits ? NULL
								: "--waits: which calls wait"});
}
