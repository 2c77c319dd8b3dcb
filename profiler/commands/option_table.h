/* SPDX-License-Identifier: MIT */
/*
 * Describes each option once: getopt's tables, --help and shell completion are made from the
 * entries.
 *
 * A new option is an id here and an entry in option_table.c. The entry names the member that takes
 * the value (option_values.h). A row in option_rules.c says which other options the option needs
 * or excludes. docs/profile.1 explains the option; a test checks that the manual page has every
 * option.
 */
#ifndef PROFILER_COMMANDS_OPTION_TABLE_H
#define PROFILER_COMMANDS_OPTION_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/log.h"

/* Ids of options. An option with a letter has the letter as its id. */
enum option_id {
	OPT_GPU_ONLY = 256,
	OPT_CPU_ONLY,
	OPT_INJECTION_LIB,
	OPT_CUDA_LIB,
	OPT_UNIT,
	OPT_RAW_NAMES,
	OPT_INLINES,
	OPT_DEBUGINFOD,
	OPT_AS_ROOT,
	OPT_RECORD,
	OPT_LAUNCH_STACKS,
	OPT_PYTHON_LINES,
	OPT_NATIVE_PYTHON,
	OPT_THREAD_ORIGIN,
	OPT_WALL,
	OPT_IDLE,
	OPT_KERNELS_ONLY,
	OPT_UNIFIED_MEMORY,
	OPT_GRAPH,
	OPT_STRICT,
	OPT_BY,
	OPT_NVTX,
	OPT_OPS,
	OPT_MODULES,
	OPT_WAITS,
	OPT_LAUNCH_SHAPES,
	OPT_API,
	OPT_ALLOC,
	OPT_METRICS,
	OPT_METRICS_KERNELS,
	OPT_METRICS_LAUNCHES,
	OPT_LIST_METRICS,
	OPT_CHIP,
	OPT_WEIGHT,
	OPT_STALLS,
	OPT_STALL_PERIOD,
	OPT_FORMAT,
	OPT_REPORT,
	OPT_LIVE,
	OPT_PROMETHEUS,
	OPT_OTLP,
	OPT_OTLP_STACKS,
	OPT_PUSH,
	OPT_PUSH_LABEL,
	OPT_FLAME,
	OPT_OPEN,
	OPT_FROM,
	OPT_QUERY,
	OPT_NAME,
	OPT_CGROUP,
	OPT_NO_INJECT,
	OPT_TIME,
	OPT_STEADY,
	OPT_STEP,
	OPT_STEPS,
	OPT_PER_STEP,
	OPT_SLOW_STEPS,
	OPT_CONTROL,
	OPT_DELAY,
	OPT_LAST,
	OPT_EVERY,
	OPT_RANGE,
	OPT_PROCESS,
	OPT_THREAD,
	OPT_DEVICE,
	OPT_STREAM,
	OPT_KERNEL,
	OPT_UNDER,
	OPT_NOT_UNDER,
	OPT_NAMES,
	OPT_MY_CODE,
	OPT_MY_PATH,
	OPT_TRIM_TO,
	OPT_KERNEL_CLASSES,
	OPT_DIFF,
	OPT_NORMALIZE,
	OPT_WIDTHS,
	OPT_BASELINE,
	OPT_FAIL_ABOVE,
	OPT_FAIL_ON,
	OPT_MAX_OVERHEAD,
	OPT_BUDGET,
	OPT_COMPLETION,
	OPT_PRINT_INJECTION_PATH,
	OPT_VERSION,
	OPTION_IDS_END /* must be the last one */
};

/* A set of options. Zero-initialised is empty. */
#define OPTION_SET_LETTERS 128u /* ids below are letters */
#define OPTION_SET_BITS (OPTION_SET_LETTERS + OPTION_IDS_END - OPT_GPU_ONLY)

struct option_set {
	uint64_t bits[(OPTION_SET_BITS + 63) / 64];
};

static inline uint32_t option_set_bit(int id)
{
	return id < OPT_GPU_ONLY ? (uint32_t)id
				 : OPTION_SET_LETTERS + (uint32_t)(id - OPT_GPU_ONLY);
}

static inline void option_set_add(struct option_set *set, int id)
{
	set->bits[option_set_bit(id) / 64] |= UINT64_C(1) << option_set_bit(id) % 64;
}

static inline bool option_set_has(const struct option_set *set, int id)
{
	return set->bits[option_set_bit(id) / 64] >> option_set_bit(id) % 64 & 1;
}

/* Topics of --help TOPIC, in the order of `--help all`. */
enum help_topic {
	TOPIC_OUTPUT,
	TOPIC_CAPTURES,
	TOPIC_ATTACH,
	TOPIC_GPU,
	TOPIC_GRAPHS,
	TOPIC_CPU,
	TOPIC_WAITS,
	TOPIC_KERNELS,
	TOPIC_CALLS,
	TOPIC_LIVE,
	TOPIC_COMPARE,
	TOPIC_NAMES,
	TOPIC_PYTHON,
	TOPIC_PRIVILEGE,
	TOPIC_DIAGNOSTICS,
	TOPIC_EXIT,
	TOPIC_HELP,
	HELP_TOPICS
};

/* Kinds of arguments, for shell completion. */
enum argument_kind {
	ARGUMENT_NONE,
	ARGUMENT_TEXT, /* any text; nothing to complete */
	ARGUMENT_FILE,
	ARGUMENT_WORD,  /* one of `words` */
	ARGUMENT_WORDS, /* several of `words`, separated by commas */
};

struct parsed_options;
struct option_entry;

/*
 * Reads the argument of an option (option_values.h). `text` is NULL without an argument. Returns
 * false after printing what is wrong.
 */
typedef bool option_taker(struct parsed_options *o, const char *text);
typedef bool option_setter(struct parsed_options *o, const struct option_entry *e,
			   const char *text);

#define OPTION_TEXT_MAX 56 /* columns of `text`; a line of --help has 80 */

struct option_entry {
	int id;           /* enum option_id, or a letter: -o */
	const char *name; /* without dashes; NULL for a letter alone */
	/* one of these; NULL if options.c acts on the option, as on --help */
	option_taker *take;
	option_setter *set;
	uint32_t at;          /* offset of the member that `set` sets, in struct parsed_options */
	enum log_level level; /* argument of set_level */
	enum argument_kind kind;
	bool is_optional;     /* argument is optional: --help */
	const char *argument; /* name in help: "FILE"; NULL for none */
	const char *const *words;
	enum help_topic topic;
	bool is_of_run;      /* not with --from or --diff: applies only to a run */
	bool is_of_files;    /* files follow instead of a command */
	bool takes_one_dash; /* shown with one dash in help: -gpu-only */
	const char *text;    /* line of --help; NULL for an alias of the option before */
	const char *more;    /* further sentences for the topic; NULL for none */
};

/* Returns whether the argument must be joined to the option: "--stalls=exact". */
static inline bool option_is_joined(const struct option_entry *entry)
{
	return entry->is_optional && entry->id >= OPT_GPU_ONLY;
}

/* Options in the order of help. An entry with id 0 ends the table. */
extern const struct option_entry option_table[];

/*
 * Returns the first entry of an option, which has its text. Returns the last entry for an unknown
 * id.
 */
const struct option_entry *option_entry(int id);

/* Returns the name of an option in messages: "-o", "-gpu-only", "--unit". */
#define OPTION_SHOWN_BYTES 64
const char *option_shown(const struct option_entry *entry, char text[OPTION_SHOWN_BYTES]);

/* Prints an error about the options. */
#define option_complain(...) log_error(&(struct log){.level = LOG_ERRORS}, __VA_ARGS__)

/* Lists the words of an option: "a, b, c". */
#define OPTION_WORDS_BYTES 256
const char *option_words(const struct option_entry *entry, char list[OPTION_WORDS_BYTES]);

/*
 * Return the options in getopt_long's form. The short ones begin with "+", so that the first
 * operand ends the options.
 */
struct option;
const struct option *option_table_long(void);
const char *option_table_short(void);

#endif
