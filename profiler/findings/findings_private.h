/* SPDX-License-Identifier: MIT */
/*
 * Shares what the makers of findings need. Each maker adds its findings, or none. findings.c lists
 * the makers in the order of the findings.
 */
#ifndef PROFILER_FINDINGS_FINDINGS_PRIVATE_H
#define PROFILER_FINDINGS_FINDINGS_PRIVATE_H

#include "profiler/findings/findings.h"
#include "profiler/model/quantity.h"
#include "profiler/tables/hot_spots.h"
#include "symbolize/util/saturate.h"

/* The sources of the findings. All are borrowed. */
struct making {
	struct findings *findings;
	const struct result *result; /* its rows; findings->result has the whole course */
	struct hot_spots *spots;
	const struct operation_schedule *schedule;
	bool is_part;
	uint32_t process;        /* the process of the steps */
	uint64_t from_ns, to_ns; /* time range of the run, or of the part */
};

#define FINDING_NAME_COLUMNS 80
#define FINDING_NAME_BYTES (4 * FINDING_NAME_COLUMNS + 8)

/* Copies a frame's name, cut to FINDING_NAME_COLUMNS. Returns `text`. */
const char *finding_name(char text[FINDING_NAME_BYTES], const struct frame_info *frame);

/* Returns a text that lives as long as the findings. Returns "" if out of memory. */
const char *finding_text(struct making *m, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Adds a finding. Without a time it rests on the steady part. */
void finding_add(struct making *m, struct finding finding);

/* Returns a time as seconds after the command's start. */
double finding_seconds(const struct making *m, uint64_t ns);

/* Returns the GPU time of the rows. */
static inline uint64_t findings_gpu_ns(const struct making *m)
{
	return saturated_sum(m->spots->kernels.whole.ns, m->spots->copies.whole.ns);
}

/* Sets the verdict, by the times of the devices. */
void findings_judge(struct making *m);

/* Add findings. */
void findings_add_verdict(struct making *m);
void findings_add_start_up(struct making *m);
void findings_add_steps(struct making *m);
void findings_add_clocks(struct making *m);
void findings_add_idle(struct making *m);
void findings_add_syncs(struct making *m);
void findings_add_hottest_kernel(struct making *m);
void findings_add_hottest_site(struct making *m);
void findings_add_copies(struct making *m);
void findings_add_tiny(struct making *m);
void findings_add_autotuning(struct making *m);
void findings_add_memory(struct making *m);
void findings_add_losses(struct making *m);

#endif
