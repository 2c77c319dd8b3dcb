/* SPDX-License-Identifier: MIT */
/*
 * Names of files that differ between the ranks of a job: %r in them stands for the rank
 * (job_rank.h), %h for the machine's name, %p for the pid of profile, %% for a percent sign.
 */
#ifndef PROFILER_COMMANDS_OUTPUT_NAME_H
#define PROFILER_COMMANDS_OUTPUT_NAME_H

#define OUTPUT_NAME_ERROR_BYTES 512

/* The name, to be freed; NULL: `error` says in one sentence what is wrong. */
char *output_name(const char *pattern, char error[OUTPUT_NAME_ERROR_BYTES]);

#endif
