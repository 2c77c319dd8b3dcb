/* SPDX-License-Identifier: MIT */
/*
 * The command line, checked. docs/profile.1 explains each option.
 */
#ifndef PROFILER_COMMANDS_OPTIONS_H
#define PROFILER_COMMANDS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/attach/attach.h"
#include "profiler/base/log.h"
#include "profiler/base/measure.h"
#include "profiler/commands/gate.h"
#include "profiler/commands/option_table.h"
#include "profiler/send/engine.h"
#include "profiler/output/outputs.h"
#include "profiler/shape/result_naming.h"
#include "profiler/shape/view.h"
#include "profiler/shape/weighed.h"

#define OPTIONS_DEFAULT_OUTPUT "merged_trace.folded"
#define OPTIONS_DEFAULT_FREQUENCY 50
#define OPTIONS_LEAST_OVERHEAD 100 /* thousandths of a percent */
#define OPTIONS_MOST_OVERHEAD 100000
/* PC samples are taken every 2^n cycles. */
#define OPTIONS_STALL_PERIOD 14
#define OPTIONS_LEAST_STALL_PERIOD 5
#define OPTIONS_MOST_STALL_PERIOD 31

/* How launch stacks are taken: see docs/profile.1. */
enum launch_stacks { LAUNCH_STACKS_AUTO, LAUNCH_STACKS_INPROCESS, LAUNCH_STACKS_UPROBE };
enum weight_unit { UNIT_SAMPLES, UNIT_MICROSECONDS, UNIT_NANOSECONDS };
#define UNIT_WORDS                    \
	{                             \
		"samples", "us", "ns" \
	} /* by enum weight_unit */

#define OPTIONS_MAX_CUDA_LIBS 16
#define OPTIONS_METRICS_LAUNCHES 5 /* --metrics-launches */
#define OPTIONS_MAX_PUSHES 4

struct run_files {
	const char *paths[COMPARISON_RUNS_MAX];
	uint32_t count;
};

struct diff_options {
	bool is_wanted;                 /* compare `before` with `after`, and run no command */
	struct run_files before, after; /* where it is not, `before` has the baselines */
	bool normalize;                 /* compare shares */
	enum comparison_side widths;    /* of a picture of both */
	struct gates gates;             /* --fail-above */
};

#define OPTIONS_NAMES_MAX (2 * OUTPUTS_MAX + 2)

/* Strings point into argv, but for names of outputs that have a % in them. */
struct options {
	struct option_set given; /* or implied by one that is */
	const char **from;       /* captures to read instead of running a command, "-": stdin */
	uint32_t from_count;
	char *names[OPTIONS_NAMES_MAX]; /* of outputs, made of what has a % in it */
	uint32_t name_count;
	struct diff_options diff;
	struct output_choice outputs[OUTPUTS_MAX]; /* none with a diff, or captures for a report or
						      comparison alone */
	uint32_t output_count;
	const struct writer *format;       /* of all of them; NULL: by their extensions */
	bool root_at_bottom;               /* --flame */
	bool no_inject;                    /* nothing is brought into these */
	struct attach_request attach;      /* -p, --name, --cgroup; it has the delay and duration */
	const char *delay, *duration;      /* as they were given; NULL: not */
	const char *last;                  /* likewise: --last */
	char ranges[MEASURE_RANGES_BYTES]; /* --range: what measure.ranges is set to */
	struct measure measure;            /* devices: run sets it */
	struct counter_request counters;   /* --metrics */
	enum weight_unit unit;
	enum stack_weight weight;
	const char *weight_metric;                    /* of WEIGHT_METRIC */
	enum launch_stacks launch_stacks;             /* never AUTO after options_parse */
	const char *injection_lib;                    /* NULL: the embedded one */
	const char *cuda_libs[OPTIONS_MAX_CUDA_LIBS]; /* further runtimes to probe */
	uint32_t cuda_lib_count;
	const char *record;           /* prefix of files to keep the raw input in; NULL: none */
	struct naming_options naming; /* but for what outputs need */
	const char *listed_metrics;   /* --list-metrics: a pattern, "": all */
	const char *chip;             /* whose; NULL: this machine's GPU's */
	bool as_root;
	const char *control;                 /* FIFO to read commands from; NULL: none */
	const char *prometheus;              /* file for metrics; NULL: none */
	const char *span_files[OUTPUTS_MAX]; /* --otlp; they are the last of `outputs`, too */
	uint32_t span_file_count;
	const char *span_server;                /* --otlp with a URL, or "env"; NULL: none */
	bool span_stacks;                       /* --otlp-stacks */
	const char *pushes[OPTIONS_MAX_PUSHES]; /* URLs to push the profile to */
	uint32_t push_count;
	struct engine_label push_labels[ENGINE_LABELS_MAX];
	uint32_t push_label_count;
	bool live;   /* show what the command does while it runs */
	bool open;   /* show the first report or picture in a browser */
	bool report; /* print where most of the time went */
	bool strict; /* fail if anything was lost or unmatched */
	struct view_options view;
	enum log_level level;
	char **command; /* the target's argv, NULL-terminated; NULL with captures, `diff`, `attach`
			 */
};

/* What the caller does next. */
enum options_result {
	OPTIONS_RUN,  /* run the command, or attach to processes */
	OPTIONS_FROM, /* read captures */
	OPTIONS_DIFF, /* compare runs */
	OPTIONS_INJECTION_PATH,
	OPTIONS_LIST_METRICS,
	OPTIONS_DONE,  /* --help and the like, and it is written: exit 0 */
	OPTIONS_WRONG, /* explained on stderr: exit 125; also if there were no arguments at all */
};

/* Release them whatever it returns. */
enum options_result options_parse(int argc, char **argv, struct options *options);
void options_release(struct options *options);

/*
 * Finds what seems to be an output of profile among the command's own words ("-o FILE.html",
 * "--output=FILE.svg"), though there is no -o before the command. NULL: nowhere.
 */
char *const *options_misplaced_output(const struct options *options);

/* The first file that a browser shows; NULL: there is none. */
const struct output_choice *options_shown(const struct options *options);

#endif
