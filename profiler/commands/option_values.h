/* SPDX-License-Identifier: MIT */
/*
 * Readers of options' arguments: each function reads the argument of one option, or of one kind of
 * them, into struct options. option_table.c says which.
 *
 * `e`: the option's entry, whose `at` says where a value goes that is one member. `text`: the
 * argument, which lives as long as `o`; NULL without one. False: the argument is wrong, and a
 * message on stderr has said so.
 */
#ifndef PROFILER_COMMANDS_OPTION_VALUES_H
#define PROFILER_COMMANDS_OPTION_VALUES_H

#include "profiler/commands/option_table.h"
#include "profiler/commands/options.h"

/* Values of all options given, whichever command the options make. Zero-initialise. */
struct parsed_options {
	struct option_set given; /* options given, or implied by one given */
	struct options options;  /* shared options; the union is unused */
	struct run_options run;
	struct attach_request attach; /* with the delay and duration of COMMAND_ATTACH */
	struct from_options from;
	struct diff_options diff;
	struct list_metrics_options list_metrics; /* `pattern` is NULL without --list-metrics */
	const struct writer *format;              /* of all outputs; NULL: by their extensions */
	bool is_diff;                             /* --diff */
	bool no_inject;                           /* --no-inject */
};

/* Readers of many options, and of those that ask their entry. */
option_setter set_flag, set_off, set_level, set_text, set_text_once, set_word, set_pattern_once,
	set_output, set_format, set_prometheus, set_record, set_spans, set_match, set_part,
	set_graph, set_names;

/* Readers of one option. */
option_taker take_by, take_push, take_push_label, take_capture, take_baseline, take_time,
	take_duration, take_delay, take_last, take_range, take_limit, take_gate, take_pids,
	take_frequency, take_max_overhead, take_wall, take_stalls, take_stall_period, take_weight,
	take_metrics, take_metrics_kernels, take_metrics_launches, take_list_metrics, take_cuda_lib,
	take_my_path;

/* Adds a file of --from, or of one side of a comparison. */
bool options_add_capture(struct parsed_options *o, const char *path);
bool options_add_file(struct run_files *files, const char *path);

/* Returns the position of the option's word; -1, after a message. */
int option_word_number(const struct option_entry *e, const char *text);

#endif
