/* SPDX-License-Identifier: MIT */
/*
 * Expands % sequences in names of files, which make them differ between the ranks of a job.
 *
 * %r is the rank (job_rank.h), %h the host name, %p the pid of profile, and %% a percent sign.
 */
#ifndef PROFILER_COMMANDS_OUTPUT_NAME_H
#define PROFILER_COMMANDS_OUTPUT_NAME_H

#define OUTPUT_NAME_ERROR_BYTES 512

/*
 * Returns the expanded name; the caller frees it. Returns NULL with a one-sentence reason in
 * `error`.
 */
char *output_name(const char *pattern, char error[OUTPUT_NAME_ERROR_BYTES]);

#endif
