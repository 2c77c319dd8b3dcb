/* SPDX-License-Identifier: MIT */
/*
 * Prints the end of a run on stderr: what ran, what the profile says (findings.h), and the files.
 *
 *   python3 train.py: ran 14.6 s, exit 0. GPU 0 busy 0.2 %: no GPU work until 6.5 s
 *     a finding; look closer: a command
 *            time    share       count   GPU work, launched by
 *      108.000 ms   40.7 %         120   gemm, by Mlp::forward
 *           total            own         on the CPU
 *      1.2 s +-13 %   20.0 ms +-100 %    Tokenizer::tokenize
 *   Complete: nothing lost, all stacks whole. Price: 31.0 ms in the program, 0.9 s in profile
 *   Report: train.html
 *
 * Without findings the first line has the sums of CPU and GPU time. GPU time is exact. The error
 * of CPU time is the standard error of a count of samples: sqrt(n) periods for n samples.
 *
 * Details of what is complete are in the summary (summary.h), which is printed before.
 */
#ifndef PROFILER_REPORT_ENDING_H
#define PROFILER_REPORT_ENDING_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/log.h"
#include "profiler/model/result.h"

#define ENDING_WIDTH 120  /* columns, where there is no terminal */
#define ENDING_LINES 14u  /* the table has no more */
#define ENDING_FINDINGS 3 /* besides the verdict; all with -v */
#define ENDING_FILES 32u

struct ending_file {
	const char *path;                    /* outlives the ending */
	bool is_report;                      /* a page to look at */
	bool has_whole_run;                  /* other outputs show only a part of it */
	uint64_t source_lines, source_files; /* the program's source in it */
};

/* Notes for the last lines. Zero-initialise. */
struct ending {
	char complete[512]; /* "Complete: ..."; empty: not printed */
	struct ending_file files[ENDING_FILES];
	uint32_t file_count;
};

/* Prints what ran, and the findings of the result, if any. */
void ending_report(struct log *log, const struct result *result);

/* Prints the table. Lines have at most `width` columns. */
void ending_report_table(struct log *log, const struct result *result, unsigned int width);

/* Notes what is missing. `not_kept` counts what naming left out, as in losses.h. */
void ending_note_losses(struct ending *ending, const struct totals *totals, uint64_t not_kept);

/* Notes a written file. Those past ENDING_FILES are not shown. */
void ending_note_file(struct ending *ending, const struct ending_file *file);

/* Prints the last lines. `totals` has the profiler's own CPU time so far. */
void ending_close(struct log *log, const struct ending *ending, const struct totals *totals);

#endif
