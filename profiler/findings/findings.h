/* SPDX-License-Identifier: MIT */
/*
 * Finds what a profile says, once, for all that show it: the end of a run, the report, Markdown,
 * JSON, and answers to queries.
 *
 * A finding is a claim with its numbers, how sure it is, and what to run to look closer. What is
 * not certain is no finding. What a run did not measure is unknown, and the finding says which
 * option measures it.
 *
 * The verdict names what limits the steady part of the run. That part is from the first step after
 * warm-up to the end of the last one. Without steps it is from the first GPU work to the last. The
 * verdict is the largest loss of GPU time, if that is at least VERDICT_SHARE_MIN percent of the
 * steady part and clear of the second; else "mixed". A GPU without such losses computes.
 *
 * Texts are plain English without control characters. Names in them are as in the result, and
 * hostile: each writer escapes them for its format. Times are in ns, CLOCK_MONOTONIC.
 */
#ifndef PROFILER_FINDINGS_FINDINGS_H
#define PROFILER_FINDINGS_FINDINGS_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/findings/device_time.h"
#include "profiler/findings/idle_causes.h"
#include "profiler/findings/step_finder.h"
#include "profiler/findings/step_times.h"
#include "profiler/model/result.h"
#include "symbolize/util/intern.h"

#define VERDICT_SHARE_MIN 8u     /* percent of the steady part */
#define VERDICT_START_UP_MIN 15u /* percent of the run */
#define FINDINGS_MAX 24u

enum finding_kind {
	FINDING_VERDICT,
	FINDING_START_UP,
	FINDING_STEPS,
	FINDING_CLOCKS, /* a GPU whose clocks were low for power or heat */
	FINDING_KERNEL, /* the hottest one, if it is clear */
	FINDING_SITE,
	FINDING_IDLE,
	FINDING_GAP,
	FINDING_SYNCS,
	FINDING_TINY,
	FINDING_AUTOTUNING,
	FINDING_COPIES, /* copies of pageable memory */
	FINDING_MEMORY,
	FINDING_LOSSES,
	FINDING_KINDS
};

/* Returns the word of a kind in data: "start_up". */
const char *finding_word(enum finding_kind kind);

/* Beginning of `next` for options that read a capture of the run. */
#define FINDING_FROM "--from x.profile "

struct finding {
	enum finding_kind kind;
	const char *claim;       /* one sentence, with numbers and units */
	const char *certainty;   /* "measured", "sampled: +-3 %", "derived from ..." */
	const char *next;        /* a command or option that looks closer; NULL: none */
	uint64_t from_ns, to_ns; /* the time that it rests on */
};

/* Kinds of verdicts on the steady part of a run. */
enum verdict_kind {
	VERDICT_UNKNOWN,
	VERDICT_NO_WORK,   /* no GPU worked */
	VERDICT_COMPUTING, /* no loss is large */
	VERDICT_START_UP,  /* none is large, and start-up takes much of the run */
	VERDICT_LOSS,      /* a loss: `use` */
	VERDICT_MIXED,     /* no loss is clear of the second */
};

struct verdict {
	enum verdict_kind kind;
	enum device_use use;
	uint64_t ns, of_ns; /* the time that it names, and the time that this is a part of */
};

/* Returns the word of a verdict in data: that of its use, or "mixed", "unknown", "no_gpu_work". */
const char *verdict_word(const struct verdict *verdict);

struct findings {
	const struct result *result; /* frames and stacks of sites are this result's */
	struct intern strings;       /* texts of the findings */
	bool *is_own;                /* by frame: the user's own code */
	const char *unknown;         /* why there is no verdict and no steps; NULL if there are */
	struct verdict verdict;
	struct finding list[FINDINGS_MAX];
	uint32_t count;
	struct step_list steps;
	uint64_t *step_work_ns; /* when the GPU began each step of the first series, and the end */
	struct step_times step_times;         /* by step_work_ns, without warm-up */
	const char *no_steps;                 /* why there are none; NULL if there are */
	uint64_t first_work_ns, last_work_ns; /* the run's, also in a part; 0 without GPU work */
	uint64_t steady_from_ns, steady_to_ns;
	struct device_times whole, steady; /* the run, and its steady part */
	struct idle_causes causes;         /* idle time of the steady part */
};

/*
 * A part of a run. Its time is divided as in the run: what ran before and after it tells the causes
 * at its edges. All of it is the steady part.
 */
struct findings_part {
	const struct result *run;
	uint64_t from_ns, to_ns; /* when GPUs worked for the part */
};

/*
 * Makes the findings. `part` is NULL for a whole run, and where only some processes or devices are
 * shown. The results must outlive the findings. Returns NULL if out of memory. Without a timeline,
 * or with too much work, `unknown` tells why.
 */
struct findings *findings_new(const struct result *result, const struct findings_part *part);

/* Makes findings that are all unknown, for this reason, a literal. Returns NULL if out of memory.
 */
struct findings *findings_none(const char *why);

void findings_free(struct findings *findings);

/*
 * Return the innermost function of the user's own code in a stack of `findings->result`;
 * findings_site() returns else the function that called CUDA. NULL: there is none.
 */
const struct frame_info *findings_own(const struct findings *findings, uint32_t stack);
const struct frame_info *findings_site(const struct findings *findings, uint32_t stack);

/*
 * Return the computing time of the steady part that a kernel explains, or a function of
 * hot_spots_site() that launched it. A moment in which several kernels ran belongs to the first
 * one. So these times add up to the time that GPUs computed, but for kernels of unknown launches.
 */
uint64_t findings_kernel_computes(const struct findings *findings, const struct frame_info *kernel);
uint64_t findings_site_computes(const struct findings *findings, const struct frame_info *site);

/* Returns why nothing is known of the course of a run. Returns NULL if it is known. */
const char *findings_unknown(const struct result *result);

/* Returns the finding of a kind, or NULL. */
const struct finding *findings_find(const struct findings *findings, enum finding_kind kind);

#endif
