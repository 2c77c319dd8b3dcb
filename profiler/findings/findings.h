/* SPDX-License-Identifier: MIT */
/*
 * Finds what a profile says, once, for all that show it: the end of a run, the report, Markdown,
 * JSON, and answers to queries.
 *
 * A finding is a claim with its numbers, how sure it is, and what to run to look closer. What is
 * not certain is no finding. What a run did not measure is unknown, and the finding says which
 * option measures it.
 *
 * The verdict names what limits the steady part of the run: the time from the first step after
 * warm-up to the end of the last one, or, without steps, from the first GPU work to the last. It is
 * the largest loss of GPU time, if that is at least VERDICT_SHARE_MIN percent of the steady part
 * and clear of the second; else "mixed". A GPU without such losses computes.
 *
 * Texts are plain English without control characters. Names in them are as in the result, and
 * hostile: each writer escapes them for its format. Times are in ns, CLOCK_MONOTONIC.
 */
#ifndef PROFILER_FINDINGS_FINDINGS_H
#define PROFILER_FINDINGS_FINDINGS_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/findings/device_time.h"
#include "profiler/findings/step_finder.h"
#include "profiler/model/result.h"

#define VERDICT_SHARE_MIN 8u /* percent of the steady part */
#define FINDINGS_MAX 24u

enum finding_kind {
	FINDING_VERDICT,
	FINDING_START_UP,
	FINDING_STEPS,
	FINDING_KERNEL, /* the hottest one, if it is clear */
	FINDING_SITE,
	FINDING_IDLE,
	FINDING_GAP,
	FINDING_SYNCHRONIZING,
	FINDING_PAGEABLE,
	FINDING_TINY,
	FINDING_AUTOTUNING,
	FINDING_MEMORY,
	FINDING_LOSSES,
	FINDING_KINDS
};

/* Returns the word of a kind in data: "start_up". */
const char *finding_word(enum finding_kind kind);

struct finding {
	enum finding_kind kind;
	const char *claim;       /* one sentence, with numbers and units */
	const char *certainty;   /* "measured", "sampled: +-3 %", "derived from ..." */
	const char *next;        /* what to run to look closer; NULL: nothing */
	uint64_t from_ns, to_ns; /* the time that it rests on */
};

/* Times between the starts of steps. */
struct step_times {
	uint64_t median_ns, fastest_ns, slowest_ns;
	uint64_t p10_ns, p90_ns;
	uint32_t slowest; /* number of the slowest step, from 0 */
	double drift; /* change of the step time from the first tenth to the last; 0.05: 5 % longer
		       */
};

struct findings {
	const char *unknown; /* why there is no verdict and no steps; NULL if there are */
	struct finding list[FINDINGS_MAX];
	uint32_t count;
	struct step_list steps;
	struct step_times step_times; /* of the first series, without warm-up */
	const char *step_source; /* "NVTX range train", "launches of graph", "repeated launches" */
	const char *no_steps;    /* why there are none; NULL if there are */
	uint64_t first_work_ns, last_work_ns; /* both 0 without GPU work */
	uint64_t steady_from_ns, steady_to_ns;
	struct device_times whole, steady; /* of the run, and of the steady part */
};

/*
 * Makes the findings. `result` must outlive them. Returns NULL if out of memory. Without a
 * timeline, or with too much work, `unknown` tells why.
 */
struct findings *findings_new(const struct result *result);
void findings_free(struct findings *findings);

/* Returns the finding of a kind, or NULL. */
const struct finding *findings_find(const struct findings *findings, enum finding_kind kind);

#endif
