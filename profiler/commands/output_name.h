/* SPDX-License-Identifier: MIT */
/*
 * Expands % sequences in names of files, which make them differ between the ranks of a job.
 *
 * %r is the rank (job_rank.h), %h the host name and %p the pid of profile. %t is the time of a
 * result (--every), and %% a percent sign.
 */
#ifndef PROFILER_COMMANDS_OUTPUT_NAME_H
#define PROFILER_COMMANDS_OUTPUT_NAME_H

#include <stdint.h>

#define OUTPUT_NAME_ERROR_BYTES 512
#define OUTPUT_NAME_TIME_BYTES 32

/*
 * Returns the expanded name; the caller frees it. Returns NULL with a one-sentence reason in
 * `error`. A %t stays: *time_at gets its offset + 1, or 0 without one. NULL: %t is refused.
 */
char *output_name(const char *pattern, uint32_t *time_at, char error[OUTPUT_NAME_ERROR_BYTES]);

/*
 * Returns a name with the time in place of %t: UTC, "20261130T215900Z". `time_at`: of output_name,
 * not 0. Returns NULL if out of memory; the caller frees it.
 */
char *output_name_at(const char *name, uint32_t time_at, uint64_t unix_ns);

#endif
