// SPDX-License-Identifier: MIT
#include "profiler/commands/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/version.h"
#include "profiler/commands/completion.h"
#include "profiler/commands/help.h"
#include "profiler/commands/option_table.h"

#define WORDS_BYTES 256

static struct log messages = {.level = LOG_ERRORS};
#define complain(...) log_error(&messages, __VA_ARGS__)

/* "a, b, c" */
static void join(const char *const *words, char list[WORDS_BYTES])
{
	size_t used = 0;

	list[0] = '\0';
	for (int i = 0; words[i] && used < WORDS_BYTES; i++)
		used += (size_t)snprintf(list + used, WORDS_BYTES - used, "%s%s", i ? ", " : "",
					 words[i]);
}

/* A whole decimal number within [min, max], and nothing else. */
static bool parse_u32(const char *text, uint32_t min, uint32_t max, uint32_t *out)
{
	char *end;
	unsigned long value;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || value < min || value > max)
		return false;
	*out = (uint32_t)value;
	return true;
}

/* "0.1" to "100", with three digits behind the point at most, in thousandths. */
static bool parse_percent(const char *text, uint32_t *out)
{
	static const uint32_t place[] = {1000, 100, 10, 1};
	size_t whole = strcspn(text, "."), digits = 0;
	uint64_t value = 0;

	if (whole == 0 || whole > 3)
		return false;
	for (size_t i = 0; text[i]; i++) {
		if (i == whole)
			continue;
		if (text[i] < '0' || text[i] > '9' || digits == 3)
			return false;
		value = value * 10 + (uint64_t)(text[i] - '0');
		digits += i > whole;
	}
	if (text[whole] && digits == 0)
		return false;
	value *= place[digits];
	*out = (uint32_t)value;
	return value >= OPTIONS_LEAST_OVERHEAD && value <= OPTIONS_MOST_OVERHEAD;
}

/* -gpu-only and -cpu-only each leave out the other. */
static bool check_mode(const struct options *o)
{
	if (o->measure.samples_cpu || o->measure.traces_gpu)
		return true;
	complain("-gpu-only and -cpu-only exclude each other; leave both out for "
		 "the merged profile");
	return false;
}

/* The number of the option's word that this is; -1, after saying which there are: none. */
static int word_number(int id, const char *text)
{
	const struct option_entry *entry = option_entry(id);
	const char *const *words = entry->words;
	char shown[OPTION_SHOWN_BYTES], list[WORDS_BYTES];

	for (int i = 0; words[i]; i++)
		if (strcmp(text, words[i]) == 0)
			return i;
	join(words, list);
	complain("%s is one of %s, not '%s'", option_shown(entry, shown), list, text);
	return -1;
}

static bool set_unit(struct options *o, const char *text)
{
	int number = word_number(OPT_UNIT, text);

	if (number >= 0)
		o->unit = (enum weight_unit)number;
	return number >= 0;
}

static bool set_launch_stacks(struct options *o, const char *text)
{
	int number = word_number(OPT_LAUNCH_STACKS, text);

	if (number >= 0)
		o->launch_stacks = (enum launch_stacks)number;
	return number >= 0;
}

static bool set_graph(struct options *o, const char *text)
{
	int number = word_number(OPT_GRAPH, text);

	o->measure.whole_graphs = number == 1;
	o->measure.device_graphs = number == 2;
	return number >= 0;
}

static bool set_by(struct options *o, const char *text)
{
	if (grouping_parse(text, &o->view.by))
		return true;
	complain("--by takes process, thread, device, context, stream, each at most once, "
		 "separated by commas, not '%s'",
		 text);
	return false;
}

static bool set_time(struct options *o, const char *text)
{
	if (o->view.slice.has_time) {
		complain("--time may be given once");
		return false;
	}
	if (slice_parse_time(text, &o->view.slice))
		return true;
	complain("--time takes a part of the run, in seconds or with a unit, like 1.5..2, "
		 "500ms.. or ..10s, not '%s'",
		 text);
	return false;
}

/* A pattern, and where `word` says so, maybe a number. */
static bool set_match(const char *word, const char *text, bool may_be_number,
		      struct slice_match *match)
{
	char error[SLICE_ERROR_BYTES];

	if (match->text) {
		complain("--%s may be given once; use a regular expression", word);
		return false;
	}
	if (slice_parse_match(text, may_be_number, match, error))
		return true;
	complain("--%s '%s': %s", word, text, error);
	return false;
}

static bool set_part(struct options *o, enum place_part part, const char *text)
{
	struct slice_match *match = &o->view.slice.parts[part];

	if (!set_match(grouping_word(part), text, true, match))
		return false;
	if (part != PLACE_STREAM || match->is_number)
		return true;
	complain("--stream takes a number, not '%s'", text);
	return false;
}

/*
 * In the process it is cheaper and needs no privilege. Naming a library to probe means probes,
 * and another injection library may not take stacks.
 */
static void choose_launch_stacks(struct options *o)
{
	if (o->launch_stacks == LAUNCH_STACKS_AUTO)
		o->launch_stacks = o->injection_lib || o->cuda_lib_count ? LAUNCH_STACKS_UPROBE
									 : LAUNCH_STACKS_INPROCESS;
	o->measure.probes_launches =
		o->measure.traces_gpu && o->launch_stacks == LAUNCH_STACKS_UPROBE;
}

/* What only the injection library can do, where it takes the stacks. */
static bool check_inprocess(const struct options *o, bool is_wanted, const char *option)
{
	if (!is_wanted || (o->measure.traces_gpu && o->launch_stacks == LAUNCH_STACKS_INPROCESS))
		return true;
	complain("%s needs launch stacks taken in the process: not with "
		 "-cpu-only, -launch-stacks uprobe, -injection-lib or -cuda-lib",
		 option);
	return false;
}

static bool check_prometheus(const struct options *o)
{
	if (!o->prometheus)
		return true;
	if (!o->measure.traces_gpu)
		complain("--prometheus needs GPU time: not with -cpu-only");
	else if (!o->prometheus[0] || strcmp(o->prometheus, "-") == 0)
		complain("--prometheus needs a file");
	else
		return true;
	return false;
}

/* CUPTI reports the calls, and what they wait for. */
static bool check_calls(const struct options *o)
{
	const char *option = o->measure.waits    ? "--waits"
			     : o->measure.api    ? "--api"
			     : o->measure.memory ? "--alloc"
						 : NULL;

	if (option && !o->measure.traces_gpu)
		complain("%s needs GPU time: not with -cpu-only", option);
	else if (o->measure.memory && o->measure.kernels_only)
		complain("--alloc follows what --kernels-only leaves out");
	else
		return true;
	return false;
}

/* Bytes are drawn by those formats that have no times beside the stacks. */
static bool check_weight(const struct options *o)
{
	if (o->weight == WEIGHT_TIME)
		return true;
	if (o->before.count) {
		complain("--weight is not for comparisons");
		return false;
	}
	if (o->view.slice.has_time) {
		complain("--weight is of the whole run: not with --time");
		return false;
	}
	for (uint32_t i = 0; i < o->output_count; i++)
		if (!o->outputs[i].writer->weighs_bytes && !o->outputs[i].writer->keeps_all) {
			complain("--weight is for folded stacks, .svg and speedscope, not for %s",
				 o->outputs[i].path);
			return false;
		}
	return true;
}

static bool set_weight(struct options *o, const char *text)
{
	static const char *const words[] = {"time", "peak", "left"};

	for (int i = WEIGHT_TIME; i <= WEIGHT_LEFT; i++) {
		if (strcmp(text, words[i]) == 0) {
			o->weight = (enum stack_weight)i;
			o->measure.memory |= i != WEIGHT_TIME;
			return true;
		}
	}
	complain("--weight is time, peak or left, not '%s'", text);
	return false;
}

static bool set_frequency(struct options *o, const char *text)
{
	if (parse_u32(text, 1, OPTIONS_MAX_FREQUENCY, &o->measure.frequency_hz))
		return true;
	complain("-F takes a whole number of Hz from 1 to %d, not '%s'", OPTIONS_MAX_FREQUENCY,
		 text);
	return false;
}

static bool set_max_overhead(struct options *o, const char *text)
{
	if (parse_percent(text, &o->measure.max_overhead))
		return true;
	complain("--max-overhead takes a percentage from 0.1 to 100, not '%s'", text);
	return false;
}

static bool add_cuda_lib(struct options *o, const char *path)
{
	if (o->cuda_lib_count == OPTIONS_MAX_CUDA_LIBS) {
		complain("at most %d -cuda-lib", OPTIONS_MAX_CUDA_LIBS);
		return false;
	}
	o->cuda_libs[o->cuda_lib_count++] = path;
	return true;
}

static bool add_output(struct options *o, const char *path)
{
	if (path[0] == '\0') {
		complain("-o needs a file name, or - for stdout");
		return false;
	}
	if (o->output_count == OUTPUTS_MAX) {
		complain("at most %d -o", OUTPUTS_MAX);
		return false;
	}
	o->outputs[o->output_count++].path = path;
	return true;
}

static bool set_format(struct options *o, const char *name)
{
	int number = word_number(OPT_FORMAT, name);

	if (number >= 0)
		o->format = writer_with_name(name);
	return number >= 0;
}

static bool add_file(struct run_files *files, const char *path)
{
	if (files->count == COMPARISON_RUNS_MAX) {
		complain("at most %d runs of each side are compared", COMPARISON_RUNS_MAX);
		return false;
	}
	files->paths[files->count++] = path;
	return true;
}

static bool set_widths(struct options *o, const char *text)
{
	int number = word_number(OPT_WIDTHS, text);

	if (number >= 0)
		o->widths = (enum comparison_side)number;
	return number >= 0;
}

static bool set_limit(struct options *o, const char *text)
{
	if (gates_parse_limit(text, &o->gates))
		return true;
	complain("--fail-above takes a percentage or a time in ns, us, ms or s, like 5%% "
		 "or "
		 "10ms, not '%s'",
		 text);
	return false;
}

static bool add_gate(struct options *o, const char *text)
{
	char error[GATE_ERROR_BYTES];

	if (gates_parse(text, &o->gates, error))
		return true;
	complain("--fail-on '%s': %s", text, error);
	return false;
}

/* Of a comparison, which has no default. */
static bool check_formats(const struct options *o)
{
	for (uint32_t i = 0; i < o->output_count; i++) {
		const struct writer *writer = o->outputs[i].writer;

		if (writer == &folded_writer || writer == &svg_writer || writer == &html_writer ||
		    writer == &json_summary_writer)
			continue;
		complain("--diff writes .html, .svg, .folded or .json, not %s (%s)", writer->name,
			 o->outputs[i].path);
		return false;
	}
	return true;
}

static void choose_formats(struct options *o)
{
	/* reading a capture for its report or a comparison alone writes no file */
	if (o->output_count == 0 && !o->diff && !(o->from && (o->report || o->before.count > 0)))
		o->outputs[o->output_count++].path = OPTIONS_DEFAULT_OUTPUT;
	for (uint32_t i = 0; i < o->output_count; i++)
		o->outputs[i].writer = o->format ? o->format : writer_for_path(o->outputs[i].path);
}

static bool set_names(struct options *o, const char *text)
{
	int number = word_number(OPT_NAMES, text);

	if (number >= 0)
		o->view.names = (enum view_names)(VIEW_NAMES_FULL + number);
	return number >= 0;
}

static bool add_my_path(struct options *o, const char *path)
{
	if (path[0] == '\0') {
		complain("--my-path needs a folder");
		return false;
	}
	if (o->view.my_path_count == VIEW_PATHS_MAX) {
		complain("at most %d --my-path", VIEW_PATHS_MAX);
		return false;
	}
	o->view.my_code = true;
	o->view.my_paths[o->view.my_path_count++] = path;
	return true;
}

static bool set_option(struct options *o, int option, const char *argument)
{
	switch (option) {
	case 'o':
		return add_output(o, argument);
	case 'F':
		return set_frequency(o, argument);
	case 'v':
		o->level = LOG_VERBOSE;
		return true;
	case 'q':
		o->level = LOG_ERRORS;
		return true;
	case OPT_GPU_ONLY:
		o->measure.samples_cpu = false;
		return check_mode(o);
	case OPT_CPU_ONLY:
		o->measure.traces_gpu = false;
		return check_mode(o);
	case OPT_INJECTION_LIB:
		o->injection_lib = argument;
		return true;
	case OPT_CUDA_LIB:
		return add_cuda_lib(o, argument);
	case OPT_UNIT:
		return set_unit(o, argument);
	case OPT_RAW_NAMES:
		o->raw_names = true;
		return true;
	case OPT_DEBUGINFOD:
		o->debuginfod = true;
		return true;
	case OPT_INLINES:
		o->inlines = true;
		return true;
	case OPT_PYTHON_LINES:
		o->measure.python_lines = true;
		return true;
	case OPT_NATIVE_PYTHON:
		o->measure.native_python = true;
		return true;
	case OPT_THREAD_ORIGIN:
		o->measure.thread_origin = true;
		return true;
	case OPT_NVTX:
		o->measure.nvtx = true;
		return true;
	case OPT_MAX_OVERHEAD:
		return set_max_overhead(o, argument);
	case OPT_ALLOC:
		o->measure.memory = true;
		return true;
	case OPT_WEIGHT:
		return set_weight(o, argument);
	case OPT_API:
		o->measure.api = true;
		return true;
	case OPT_LAUNCH_SHAPES:
		o->measure.launch_shapes = true;
		return true;
	case OPT_WAITS:
		o->measure.waits = true;
		return true;
	case OPT_LAUNCH_STACKS:
		return set_launch_stacks(o, argument);
	case OPT_RECORD:
		o->record = argument;
		return true;
	case OPT_AS_ROOT:
		o->as_root = true;
		return true;
	case OPT_KERNELS_ONLY:
		o->measure.kernels_only = true;
		return true;
	case OPT_UNIFIED_MEMORY:
		o->measure.unified_memory = true;
		return true;
	case OPT_GRAPH:
		return set_graph(o, argument);
	case OPT_STRICT:
		o->strict = true;
		return true;
	case OPT_FORMAT:
		return set_format(o, argument);
	case OPT_REPORT:
		o->report = true;
		return true;
	case OPT_PROMETHEUS:
		o->prometheus = argument;
		o->measure.errors = true;
		return true;
	case OPT_LIVE:
		o->live = true;
		return true;
	case OPT_FLAME:
		o->root_at_bottom = true;
		return true;
	case OPT_OPEN:
		o->open = true;
		return true;
	case OPT_FROM:
		if (o->from)
			complain("--from may be given once; --diff compares");
		return !o->from && (o->from = argument);
	case OPT_TIME:
		return set_time(o, argument);
	case OPT_PROCESS:
		return set_part(o, PLACE_PROCESS, argument);
	case OPT_THREAD:
		return set_part(o, PLACE_THREAD, argument);
	case OPT_DEVICE:
		return set_part(o, PLACE_DEVICE, argument);
	case OPT_STREAM:
		return set_part(o, PLACE_STREAM, argument);
	case OPT_KERNEL:
		return set_match("kernel", argument, false, &o->view.slice.kernel);
	case OPT_BY:
		return set_by(o, argument);
	case OPT_NAMES:
		return set_names(o, argument);
	case OPT_MY_CODE:
		o->view.my_code = true;
		return true;
	case OPT_MY_PATH:
		return add_my_path(o, argument);
	case OPT_TRIM_TO:
		return set_match("trim-to", argument, false, &o->view.trim_to);
	case OPT_DIFF:
		o->diff = true;
		return true;
	case OPT_WIDTHS:
		return set_widths(o, argument);
	case OPT_BASELINE:
		return add_file(&o->before, argument);
	case OPT_FAIL_ABOVE:
		return set_limit(o, argument);
	case OPT_FAIL_ON:
		return add_gate(o, argument);
	default: /* next_option has said what is wrong */
		return false;
	}
}

const struct output_choice *options_shown(const struct options *o)
{
	for (uint32_t i = 0; i < o->output_count; i++) {
		const struct output_choice *choice = &o->outputs[i];

		if ((choice->writer == &html_writer || choice->writer == &svg_writer) &&
		    strcmp(choice->path, "-") != 0)
			return choice;
	}
	return NULL;
}

static bool check_open(const struct options *o)
{
	if (!o->open || options_shown(o))
		return true;
	complain("--open needs a file that a browser shows: -o FILE.html or "
		 "-o FILE.svg");
	return false;
}

/* -gpu-only and -cpu-only choose a part of what is read. */
static void slice_kinds(struct options *o)
{
	if (!o->measure.samples_cpu)
		o->view.slice.kinds = ~(1u << ROW_CPU);
	if (!o->measure.traces_gpu)
		o->view.slice.kinds = 1u << ROW_CPU;
}

/* `of_run`: an option that only a run has; NULL: none. */
static bool check_from(struct options *o, const char *command, const struct option_entry *of_run)
{
	char shown[OPTION_SHOWN_BYTES];

	if (of_run) {
		complain("%s cannot be used with --from: it applies only to a run",
			 option_shown(of_run, shown));
		return false;
	}
	if (command) {
		complain("--from reads a capture and runs no command: remove '%s'", command);
		return false;
	}
	slice_kinds(o);
	return true;
}

static bool check_diff(struct options *o, const struct option_entry *of_run, bool has_border)
{
	char shown[OPTION_SHOWN_BYTES];

	if (of_run || o->from) {
		complain("%s is for one run; --diff compares runs that are over",
			 of_run ? option_shown(of_run, shown) : "--from");
		return false;
	}
	if (!has_border && o->before.count == 2) {
		o->after.paths[o->after.count++] = o->before.paths[--o->before.count];
	} else if (!has_border && o->before.count > 2) {
		complain("--diff takes two files; of more, put -- between those "
			 "before and those after");
		return false;
	}
	if (o->before.count == 0 || o->after.count == 0) {
		complain("--diff compares two files: BEFORE AFTER");
		return false;
	}
	slice_kinds(o);
	return check_formats(o);
}

/* --widths is of a picture of a comparison. */
static bool check_widths(const struct options *o)
{
	for (uint32_t i = 0; o->diff && i < o->output_count; i++)
		if (o->outputs[i].writer == &svg_writer || o->outputs[i].writer == &html_writer)
			return true;
	complain("--widths is for the picture of a difference: --diff with -o FILE.svg or "
		 "-o FILE.html");
	return false;
}

/* --fail-above needs something to compare with, and --fail-on a limit. */
static bool check_gates(const struct options *o)
{
	if (o->gates.limit_text && !o->diff && o->before.count == 0) {
		complain("--fail-above needs a --baseline to compare with");
		return false;
	}
	if (o->gates.count > 0 && !o->gates.limit_text) {
		complain("--fail-on needs --fail-above: by how much it may rise");
		return false;
	}
	return true;
}

/* A long option with one dash, in full, maybe with "=value". */
static bool is_long_option(const char *word)
{
	size_t length = strcspn(word + 1, "=");

	for (const struct option *o = option_table_long(); o->name; o++)
		if (strlen(o->name) == length && strncmp(o->name, word + 1, length) == 0)
			return true;
	return false;
}

/* How many options' names begin as this word does. */
static int count_beginning_as(const char *word)
{
	size_t length = strcspn(word, "=");
	int count = 0;

	for (const struct option *o = option_table_long(); o->name; o++)
		count += strncmp(o->name, word, length) == 0;
	return count;
}

/*
 * What getopt found wrong; it would print the word as it is, whatever that does to the terminal.
 * `optopt` is the option that lacks its argument or has one too many, a letter that is no option,
 * or 0.
 */
static void explain(const char *word, bool is_long)
{
	if (!is_long && option_entry(optopt)->id)
		complain("option requires an argument -- '%c'", optopt);
	else if (!is_long)
		complain("invalid option -- '%c'", optopt);
	else if (optopt && option_entry(optopt)->kind == ARGUMENT_NONE)
		complain("option '%.*s' doesn't allow an argument", (int)strcspn(word, "="), word);
	else if (optopt)
		complain("option '%s' requires an argument", word);
	else if (count_beginning_as(word + strspn(word, "-")) > 1)
		complain("option '%s' is ambiguous", word);
	else
		complain("unrecognized option '%s'", word);
}

/*
 * Like getopt_long_only, but with one dash only full names are long options: getopt_long_only
 * takes "-a" for --as-root and "-p 1234" for --python-lines. Says what is wrong.
 */
static int next_option(int argc, char **argv)
{
	const char *word = argv[optind ? optind : 1], *letters = option_table_short();
	const struct option *names = option_table_long();
	bool is_long = word && word[0] == '-' && (word[1] == '-' || is_long_option(word));
	int option;

	opterr = 0;
	if (is_long && word[1] != '-') {
		option = getopt_long_only(argc, argv, letters, names, NULL);
	} else if (!word || word[0] != '-' || is_long || !word[1] ||
		   (word[1] != ':' && strchr(letters + 1, word[1]))) {
		option = getopt_long(argc, argv, letters, names, NULL);
	} else {
		complain("unrecognized option '%s'", word);
		return '?';
	}
	if (option == '?')
		explain(word, is_long);
	return option;
}

/*
 * With --diff, files and options may come in any order, and "--" ends the files of one side. What
 * next_option returns, or OPERAND: a file is at optind.
 */
#define OPERAND 1
static int next_word(const struct options *o, int argc, char **argv, bool *has_border)
{
	int option, before;

	for (;;) {
		before = optind;
		option = next_option(argc, argv);
		if (option != -1 || !o->diff)
			return option;
		if (before > 0 && optind == before + 1 && !*has_border) {
			*has_border = true; /* getopt has skipped "--" */
			continue;
		}
		return optind < argc ? OPERAND : -1;
	}
}

/* What was asked for has been printed: whether it was written, too. */
static enum options_result printed(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return OPTIONS_DONE;
	complain("writing to standard output: %s", strerror(errno));
	return OPTIONS_WRONG;
}

/* --help, --help TOPIC, --help=TOPIC */
static enum options_result print_help(const char *topic)
{
	char list[WORDS_BYTES];

	if (!topic) {
		help_overview(stdout);
		return printed();
	}
	if (help_topic(topic, stdout))
		return printed();
	join(option_entry('h')->words, list);
	complain("no help on '%s'; the topics are %s", topic, list);
	return OPTIONS_WRONG;
}

static bool print_completion(const char *shell)
{
	int number = word_number(OPT_COMPLETION, shell);

	if (number >= 0)
		completion_print((enum completion_shell)number, stdout);
	return number >= 0;
}

enum options_result options_parse(int argc, char **argv, struct options *options)
{
	const struct option_entry *of_run = NULL;
	bool has_border = false, has_baseline = false, has_widths = false;
	int option;

	memset(options, 0, sizeof(*options));
	options->measure = (struct measure){
		.samples_cpu = true, .traces_gpu = true, .frequency_hz = OPTIONS_DEFAULT_FREQUENCY};
	options->widths = SIDE_AFTER;
	if (argc < 2) {
		help_first_page(stderr);
		return OPTIONS_WRONG;
	}
	optind = 0;                  /* start afresh: tests parse more than once */
	argv[0] = (char *)"profile"; /* the prefix of getopt's messages, as of ours */
	while ((option = next_word(options, argc, argv, &has_border)) != -1) {
		if (option == OPERAND) {
			if (!add_file(has_border ? &options->after : &options->before,
				      argv[optind++]))
				goto wrong;
			continue;
		}
		if (option == 'h') {
			const char *next = optind < argc ? argv[optind] : NULL;

			return print_help(optarg || !next || next[0] == '-' ? optarg : next);
		}
		if (option == OPT_COMPLETION) {
			if (!print_completion(optarg))
				goto wrong;
			return printed();
		}
		if (option == OPT_PRINT_INJECTION_PATH)
			return OPTIONS_INJECTION_PATH;
		if (option == OPT_VERSION) {
			puts("profile " PROFILE_VERSION);
			return printed();
		}
		if (!set_option(options, option, optarg))
			goto wrong;
		if (option_entry(option)->is_of_run)
			of_run = option_entry(option);
		has_baseline |= option == OPT_BASELINE;
		has_widths |= option == OPT_WIDTHS;
	}
	choose_formats(options);
	if (!check_open(options))
		goto wrong;
	if (!check_gates(options) || (has_widths && !check_widths(options)))
		goto wrong;
	if (options->diff) {
		if (has_baseline)
			of_run = option_entry(OPT_BASELINE);
		if (!check_diff(options, of_run, has_border))
			goto wrong;
		return OPTIONS_DIFF;
	}
	if (!check_weight(options))
		goto wrong;
	if (options->from) {
		if (!check_from(options, argv[optind], of_run))
			goto wrong;
		return OPTIONS_FROM;
	}
	if (optind >= argc) {
		complain("no command to run");
		goto wrong;
	}
	choose_launch_stacks(options);
	if (!check_inprocess(options, options->measure.nvtx, "--nvtx") ||
	    !check_inprocess(options, options->measure.max_overhead > 0, "--max-overhead") ||
	    !check_calls(options) || !check_prometheus(options))
		goto wrong;
	options->command = argv + optind;
	return OPTIONS_RUN;
wrong:
	fprintf(stderr, "Try 'profile --help'.\n");
	return OPTIONS_WRONG;
}

void options_release(struct options *options)
{
	view_options_release(&options->view);
	gates_release(&options->gates);
}
