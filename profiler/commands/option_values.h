/* SPDX-License-Identifier: MIT */
/*
 * Reads arguments of options into struct parsed_options. option_table.c assigns a reader to each
 * option.
 *
 * `e` is the entry of the option, whose `at` locates a member. `text` is the argument, borrowed
 * for the lifetime of `o`; NULL without an argument. All readers return false after printing what
 * is wrong on stderr.
 */
#ifndef PROFILER_COMMANDS_OPTION_VALUES_H
#define PROFILER_COMMANDS_OPTION_VALUES_H

#include "profiler/commands/option_table.h"
#include "profiler/commands/options.h"

/* Values of all options given, for whichever command. Zero-initialise. */
struct parsed_options {
	struct option_set given; /* options given, or implied by one given */
	struct options options;  /* shared options, without the union */
	struct run_options run;
	struct attach_request attach; /* delay and duration are those of COMMAND_ATTACH */
	struct from_options from;
	struct diff_options diff;
	struct list_metrics_options list_metrics; /* `pattern` is NULL without --list-counters */
	const struct writer *format;              /* format of all outputs; NULL: by extension */
	bool is_diff;                             /* --diff */
	bool no_inject;                           /* --no-inject */
};

/* Readers of several options, and readers that use the entry. */
option_setter set_flag, set_off, set_level, set_text, set_text_once, set_word, set_pattern_once,
	set_output, set_format, set_prometheus, set_record, set_spans, set_match, set_part,
	set_graph, set_names, set_wall, set_stalls;

/* Readers of one option. */
option_taker take_by, take_push, take_push_label, take_baseline, take_time, take_step,
	take_per_step, take_duration, take_delay, take_last, take_every, take_range, take_limit,
	take_gate, take_query, take_pids, take_frequency, take_max_overhead, take_budget,
	take_stall_period, take_weight, take_metrics, take_metrics_kernels, take_metrics_launches,
	take_list_metrics, take_cuda_lib, take_my_path, take_kernel_classes;

/* Add a file of --from, or of one side of a comparison. */
bool options_add_capture(struct parsed_options *o, const char *path);
bool options_add_file(struct run_files *files, const char *path);

/* Returns the index of a word of the option. Returns -1 after printing what is wrong. */
int option_word_number(const struct option_entry *e, const char *text);

#endif
