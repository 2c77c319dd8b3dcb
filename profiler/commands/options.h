/* SPDX-License-Identifier: MIT */
/*
 * Parses and checks the command line. docs/profile.1 explains each option.
 */
#ifndef PROFILER_COMMANDS_OPTIONS_H
#define PROFILER_COMMANDS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/attach/attach.h"
#include "profiler/base/log.h"
#include "profiler/base/measure.h"
#include "profiler/commands/gate.h"
#include "profiler/formats/query.h"
#include "profiler/send/engine.h"
#include "profiler/output/outputs.h"
#include "profiler/shape/result_naming.h"
#include "profiler/shape/view.h"
#include "profiler/shape/weighed.h"

#define OPTIONS_DEFAULT_OUTPUT "merged_trace.folded"
#define OPTIONS_DEFAULT_FREQUENCY 50
#define OPTIONS_LEAST_OVERHEAD 100 /* thousandths of a percent */
#define OPTIONS_MOST_OVERHEAD 100000
/* log2 of the cycles between PC samples */
#define OPTIONS_STALL_PERIOD 14
#define OPTIONS_LEAST_STALL_PERIOD 5
#define OPTIONS_MOST_STALL_PERIOD 31

/* Method of taking launch stacks; docs/profile.1 explains the methods. */
enum launch_stacks { LAUNCH_STACKS_AUTO, LAUNCH_STACKS_INPROCESS, LAUNCH_STACKS_UPROBE };
enum weight_unit { UNIT_SAMPLES, UNIT_MICROSECONDS, UNIT_NANOSECONDS };
#define UNIT_WORDS                    \
	{                             \
		"samples", "us", "ns" \
	} /* by enum weight_unit */

#define OPTIONS_MAX_CUDA_LIBS 16
#define OPTIONS_METRICS_LAUNCHES 5 /* --counters-launches */
#define OPTIONS_MAX_PUSHES 4

#define OPTIONS_NAMES_MAX (2 * OUTPUTS_MAX + 2)

/* Captures of one side of a comparison. */
struct run_files {
	const char *paths[COMPARISON_RUNS_MAX];
	uint32_t count;
};

enum command {
	COMMAND_RUN,    /* runs a command */
	COMMAND_ATTACH, /* profiles running processes */
	COMMAND_FROM,   /* reads captures */
	COMMAND_DIFF,   /* compares captures */
	COMMAND_INJECTION_PATH,
	COMMAND_LIST_METRICS,
	COMMAND_DONE,  /* --help, --version, --completion: printed; exit 0 */
	COMMAND_WRONG, /* explained on stderr, or no arguments at all; exit 125 */
};

#define EVERY_LEAST_NS UINT64_C(1000000000) /* --every; names with %t differ by the second */

/* Options of COMMAND_RUN and COMMAND_ATTACH. */
struct run_options {
	struct measure measure;                       /* but for `devices` and `launch_shapes` */
	char ranges[MEASURE_RANGES_BYTES];            /* --range; `measure.ranges` points here */
	struct counter_request counters;              /* --counters */
	const char *delay, *duration, *last, *every;  /* as given; NULL if not given */
	enum launch_stacks launch_stacks;             /* never AUTO */
	const char *injection_lib;                    /* NULL for the embedded library */
	const char *cuda_libs[OPTIONS_MAX_CUDA_LIBS]; /* further runtimes to probe */
	uint32_t cuda_lib_count;
	const char *record;     /* prefix of the files of raw input; NULL for none */
	const char *control;    /* FIFO with commands; NULL for none */
	const char *prometheus; /* file of metrics; NULL for none */
	bool live;
	union {
		char **command;               /* COMMAND_RUN: argv, NULL-terminated */
		struct attach_request attach; /* COMMAND_ATTACH */
	};
};

struct from_options {
	const char **paths; /* captures and traces, "-" for stdin */
	uint32_t count;
};

struct diff_options {
	struct run_files before, after;
	bool normalize;              /* compare shares */
	enum comparison_side widths; /* side whose times a picture has */
};

struct list_metrics_options {
	const char *pattern; /* regular expression; "" for all metrics */
	const char *chip;    /* NULL for the GPU of this machine */
};

/* The command line. Strings point into argv, except `names`. */
struct options {
	enum command command; /* tag of the union below */
	enum log_level level;
	bool as_root;

	/* COMMAND_RUN, _ATTACH, _FROM and _DIFF */
	struct output_choice outputs[OUTPUTS_MAX];
	uint32_t time_at[OUTPUTS_MAX];  /* %t in their paths: output_name.h; 0: none */
	uint32_t output_count;          /* 0 if only a report or a comparison is wanted */
	char *names[OPTIONS_NAMES_MAX]; /* expanded names of files with a % */
	uint32_t name_count;
	bool root_at_bottom; /* --flame */
	bool open;           /* show the first report or picture in a browser */
	struct view_options view;
	struct naming_options naming; /* but for what outputs need */
	struct gates gates;           /* --fail-above */

	/* COMMAND_RUN, _ATTACH and _FROM */
	bool slow_steps; /* outputs but captures compare the slowest steps with typical ones */
	enum comparison_side slow_widths; /* side whose times a picture of them has */
	enum weight_unit unit;
	enum stack_weight weight;
	const char *weight_metric; /* name, with WEIGHT_METRIC */
	struct run_files baselines;
	const char *span_files[OUTPUTS_MAX]; /* --otlp; also the last of `outputs` */
	uint32_t span_file_count;
	const char *span_server;                /* --otlp with a URL, or "env"; NULL for none */
	bool span_stacks;                       /* --otlp-stacks */
	const char *pushes[OPTIONS_MAX_PUSHES]; /* URLs of profile engines */
	uint32_t push_count;
	struct engine_label push_labels[ENGINE_LABELS_MAX];
	uint32_t push_label_count;
	bool launch_shapes;
	bool report;        /* print the full report */
	struct query query; /* --query, with --from; `question` is NULL without it */
	bool strict;        /* fail if anything was lost or unmatched */

	union {
		struct run_options run; /* COMMAND_RUN, COMMAND_ATTACH */
		struct from_options from;
		struct diff_options diff;
		struct list_metrics_options list_metrics;
	};
};

/*
 * Parses and checks the command line. Returns options->command. The caller releases the options
 * after every result.
 */
enum command options_parse(int argc, char **argv, struct options *options);
void options_release(struct options *options);

/* Returns the options of a run. Returns NULL for other commands than run and attach. */
static inline const struct run_options *options_run(const struct options *o)
{
	return o->command == COMMAND_RUN || o->command == COMMAND_ATTACH ? &o->run : NULL;
}

/*
 * Finds a probable output of profile among the words of the command ("-o FILE.html",
 * "--output=FILE.svg"). Returns NULL if there is none, or if -o comes before the command.
 */
char *const *options_misplaced_output(const struct options *options);

/* Returns the first file that a browser can show. Returns NULL if there is none. */
const struct output_choice *options_shown(const struct options *options);

#endif
