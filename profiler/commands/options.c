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
#include "profiler/commands/option_rules.h"
#include "profiler/commands/option_table.h"
#include "profiler/commands/option_values.h"
#include "profiler/commands/slips.h"
#include "profiler/formats/spans.h"
#include "profiler/output/writers.h"

static bool has_spans(const struct options *o)
{
	return o->span_file_count > 0 || o->span_server;
}

/* There the time that is recorded is all that is looked at. */
static void set_attached(struct options *o)
{
	o->measure.attached = true;
	o->measure.injects = o->measure.traces_gpu && !o->no_inject;
	o->attach.delay_ns = o->measure.delay_ns;
	o->attach.duration_ns = o->measure.duration_ns;
	o->measure.delay_ns = o->measure.duration_ns = 0;
}

/* Checks --weight by what a run will read; of a capture, deliver knows. */
static bool check_weight_metric(const struct options *o)
{
	char sums[COUNTERS_SUMS_BYTES];

	if (o->from_count || o->diff.is_wanted)
		return true;
	if (!o->measure.counters) {
		option_complain("--weight %s is for counters that --metrics reads: add --metrics",
				o->weight_metric);
		return false;
	}
	if (counters_are_asked(o->counters.metrics, o->weight_metric, sums) &&
	    counters_is_additive(o->weight_metric))
		return true;
	option_complain(
		"--weight %s: only metrics that --metrics reads and that end in .sum can be "
		"drawn, for these add up over launches: %s",
		o->weight_metric, sums);
	return false;
}

/* Other weights are drawn by those formats that have no times beside the stacks. */
static bool check_weight(const struct options *o)
{
	if (o->weight == WEIGHT_TIME)
		return true;
	if (o->weight == WEIGHT_METRIC && !check_weight_metric(o))
		return false;
	for (uint32_t i = 0; i < o->output_count; i++)
		if (!o->outputs[i].writer->shows_weights && !o->outputs[i].writer->keeps_all) {
			option_complain(
				"--weight is for formats of stacks (folded, .svg, .html, pprof, "
				"speedscope, OTLP), not for %s",
				o->outputs[i].path);
			return false;
		}
	return true;
}

/* Checks the formats of a comparison, which has no default. */
static bool check_formats(const struct options *o)
{
	for (uint32_t i = 0; i < o->output_count; i++) {
		const struct writer *writer = o->outputs[i].writer;

		if (writer == &folded_writer || writer == &svg_writer || writer == &html_writer ||
		    writer == &json_summary_writer)
			continue;
		option_complain("--diff writes .html, .svg, .folded or .json, not %s (%s)",
				writer->name, o->outputs[i].path);
		return false;
	}
	return true;
}

/* By the file's extension. False after saying which there are. */
static bool choose_format(struct output_choice *output)
{
	char known[256];
	size_t used = 0;

	output->writer = writer_for_path(output->path);
	if (output->writer)
		return true;
	for (const struct writer *const *w = writers; *w; w++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s",
					 used ? ", " : "", (*w)->suffix);
	option_complain(
		"-o %s: no format has the extension %s; use %s, or choose a format with --format",
		output->path, path_extension(output->path), known);
	return false;
}

/* False after saying what is wrong: a file's extension, or that there are too many. */
static bool choose_formats(struct options *o)
{
	bool is_for_less = o->from_count && (o->report || o->diff.before.count > 0 ||
					     has_spans(o) || o->push_count > 0);

	/* reading a capture for its report, its spans, an engine or a comparison alone writes no
	 * other file */
	if (o->output_count == 0 && !o->diff.is_wanted && !is_for_less)
		o->outputs[o->output_count++].path = OPTIONS_DEFAULT_OUTPUT;
	for (uint32_t i = 0; i < o->output_count; i++) {
		if (o->format)
			o->outputs[i].writer = o->format;
		else if (!choose_format(&o->outputs[i]))
			return false;
	}
	if (o->output_count + o->span_file_count > OUTPUTS_MAX) {
		option_complain("at most %d -o and --otlp together", OUTPUTS_MAX);
		return false;
	}
	for (uint32_t i = 0; i < o->span_file_count; i++)
		o->outputs[o->output_count++] =
			(struct output_choice){o->span_files[i], has_suffix(o->span_files[i], ".pb")
									 ? &otlp_protobuf_writer
									 : &otlp_json_writer};
	return true;
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
	option_complain("--open needs a file that a browser shows: -o FILE.html or "
			"-o FILE.svg");
	return false;
}

/* -gpu-only and -cpu-only choose a part of what is read: no waits, timed calls, idle time. */
static void slice_kinds(struct options *o)
{
	if (!o->measure.samples_cpu)
		o->view.slice.kinds = 1u << ROW_GPU;
	if (!o->measure.traces_gpu)
		o->view.slice.kinds = 1u << ROW_CPU;
}

/* `of_run`: an option that only a run has; NULL: none. */
static bool check_from(struct options *o, const struct option_entry *of_run)
{
	char shown[OPTION_SHOWN_BYTES];

	if (of_run) {
		option_complain("%s cannot be used with --from: it applies only to a run",
				option_shown(of_run, shown));
		return false;
	}
	slice_kinds(o);
	return true;
}

static bool check_diff(struct options *o, const struct option_entry *of_run, bool has_border)
{
	char shown[OPTION_SHOWN_BYTES];

	if (of_run) {
		option_complain("%s is for one run; --diff compares runs that are over",
				option_shown(of_run, shown));
		return false;
	}
	if (!has_border && o->diff.before.count == 2) {
		o->diff.after.paths[o->diff.after.count++] =
			o->diff.before.paths[--o->diff.before.count];
	} else if (!has_border && o->diff.before.count > 2) {
		option_complain("--diff takes two files; of more, put -- between those "
				"before and those after");
		return false;
	}
	if (o->diff.before.count == 0 || o->diff.after.count == 0) {
		option_complain("--diff compares two files: BEFORE AFTER");
		return false;
	}
	slice_kinds(o);
	return check_formats(o);
}

static bool check_gates(const struct options *o)
{
	char error[GATE_ERROR_BYTES];

	if (gates_fit(&o->diff.gates, error))
		return true;
	option_complain("%s", error);
	return false;
}

/* --widths is of a picture of a comparison. */
static bool check_widths(const struct options *o)
{
	if (!option_set_has(&o->given, OPT_WIDTHS))
		return true;
	for (uint32_t i = 0; o->diff.is_wanted && i < o->output_count; i++)
		if (o->outputs[i].writer == &svg_writer || o->outputs[i].writer == &html_writer)
			return true;
	option_complain("--widths is for the picture of a difference: --diff with -o FILE.svg or "
			"-o FILE.html");
	return false;
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

/* A word that is an option with all its letters: "-o", "-vq", "-gpu-only", "--wall=user". */
static bool is_option(const char *word)
{
	if (word[0] != '-' || !word[1])
		return false;
	return word[1] == '-' ? word[2] && is_long_option(word + 1)
			      : is_long_option(word) || (!word[2] && option_entry(word[1])->id);
}

static void explain_unknown(const char *word)
{
	char hint[SLIP_TEXT_BYTES];

	slip_hint(word, hint);
	option_complain("unrecognized option '%s'%s%s", word,
			!hint[0]                       ? ""
			: strncmp(hint, "did", 3) == 0 ? "; "
						       : ": ",
			hint);
}

/* The option of `optopt` lacks its argument. */
static void explain_missing(const char *shown, const char *instead)
{
	const char *argument = option_entry(optopt)->argument;

	if (instead)
		option_complain("option '%s' requires an argument, %s: the option '%s' follows it",
				shown, argument, instead);
	else
		option_complain("option '%s' requires an argument: %s", shown, argument);
}

/*
 * Explains what getopt found wrong; it would print the word as it is, whatever that does to the
 * terminal. `optopt` is the option that lacks its argument or has one too many, a letter that is no
 * option, or 0.
 */
static void explain(const char *word, bool is_long)
{
	char letter[] = {'-', (char)optopt, '\0'}, text[SLIP_TEXT_BYTES];

	if (!is_long && option_entry(optopt)->id) {
		explain_missing(letter, NULL);
	} else if (!is_long) {
		slip_hint(letter, text);
		option_complain("invalid option -- '%c'%s%s", optopt, text[0] ? ": " : "", text);
	} else if (optopt && option_entry(optopt)->kind == ARGUMENT_NONE) {
		option_complain("option '%.*s' doesn't allow an argument", (int)strcspn(word, "="),
				word);
	} else if (optopt) {
		explain_missing(word, NULL);
	} else if (slip_candidates(word, text) > 1) {
		option_complain("option '%s' is ambiguous: %s", word, text);
	} else {
		explain_unknown(word);
	}
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
	if (is_long && word[1] == '-' && slip_misleads(word)) {
		explain_unknown(word);
		return '?';
	}
	if (is_long && word[1] != '-') {
		option = getopt_long_only(argc, argv, letters, names, NULL);
	} else if (!word || word[0] != '-' || is_long || !word[1] ||
		   (word[1] != ':' && strchr(letters + 1, word[1]))) {
		option = getopt_long(argc, argv, letters, names, NULL);
	} else {
		explain_unknown(word);
		return '?';
	}
	if (option == '?')
		explain(word, is_long);
	if (option <= 0 || option == '?' || !optarg || optarg != argv[optind - 1] ||
	    !is_option(optarg))
		return option;
	optopt = option;
	explain_missing(word, optarg);
	return '?';
}

/*
 * With --diff, and after --from, files and options may come in any order. With --diff "--" ends the
 * files of one side, else the options. What next_option returns, or OPERAND: a file is at optind.
 */
#define OPERAND 1
static int next_word(const struct options *o, int argc, char **argv, bool *has_border)
{
	int option, before;

	if (*has_border && !o->diff.is_wanted)
		return optind < argc ? OPERAND : -1;
	for (;;) {
		before = optind;
		option = next_option(argc, argv);
		if (option != -1 || (!o->diff.is_wanted && !o->from_count))
			return option;
		if (before > 0 && optind == before + 1 && !*has_border) {
			*has_border = true; /* getopt has skipped "--" */
			if (o->diff.is_wanted)
				continue;
		}
		return optind < argc ? OPERAND : -1;
	}
}

/* False after saying that the command begins with a hyphen that is none: "—wall". */
static bool check_command(char **argv, int at)
{
	int hyphen = slip_hyphen(argv[at]);

	/* behind "--" it is a command, whatever it is called */
	if (!hyphen || strcmp(argv[at - 1], "--") == 0)
		return true;
	option_complain("'%s' begins with a dash of printed text; type a hyphen: -%s", argv[at],
			argv[at] + hyphen);
	return false;
}

/* Explains what a shell makes of "--baseline old-*.profile". */
static void explain_baselines(const struct options *o, const char *word)
{
	const char *last = o->diff.before.paths[o->diff.before.count - 1];

	option_complain(
		"--baseline takes one file, and '%s' follows it; write --baseline before each: "
		"--baseline %s --baseline %s",
		word, last, word);
}

/* Returns whether a file of this name is one that runs are compared with, and no command. */
static bool is_capture(const char *path)
{
	return has_suffix(path, capture_writer.suffix) || has_suffix(path, folded_writer.suffix) ||
	       has_suffix(path, ".trace");
}

/* Returns the result after printing what was asked for, and checks that it was written. */
static enum options_result printed(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return OPTIONS_DONE;
	option_complain("writing to standard output: %s", strerror(errno));
	return OPTIONS_WRONG;
}

/* --help, --help TOPIC, --help OPTION, --help=TOPIC */
static enum options_result print_help(const char *topic)
{
	char list[OPTION_WORDS_BYTES], hint[SLIP_TEXT_BYTES];

	if (!topic) {
		help_overview(stdout);
		return printed();
	}
	if (help_topic(topic, stdout) || help_option(topic, stdout))
		return printed();
	slip_hint(topic, hint);
	if (hint[0])
		option_complain("no help on '%s': %s", topic, hint);
	else
		option_complain("no help on '%s'; name an option, or a topic: %s", topic,
				option_words(option_entry('h'), list));
	return OPTIONS_WRONG;
}

/* Returns what follows the option -h or --help, and is not the command's: a topic, or an option. */
static const char *topic_of(const char *next)
{
	if (!next || next[0] != '-')
		return next;
	/* "-vh" is the word itself, and "-- command" ends the options */
	if (strcmp(next, "--") == 0 || strcmp(next, "-") == 0 || strcmp(next, "--help") == 0 ||
	    (next[1] != '-' && !is_long_option(next) && strchr(next, 'h')))
		return NULL;
	return next;
}

static bool print_completion(const char *shell)
{
	int number = option_word_number(option_entry(OPT_COMPLETION), shell);

	if (number >= 0)
		completion_print((enum completion_shell)number, stdout);
	return number >= 0;
}

/* Names the option that has taken the last word, which may have been meant as the command. */
static void complain_no_command(int argc, char *const *argv)
{
	const char *last = argv[argc - 1], *option = argc > 2 ? argv[argc - 2] : "";

	if (option[0] == '-' && option[1] && last[0] != '-')
		option_complain(
			"no command to run: '%s' is what %s takes; the command comes behind it",
			last, option);
	else
		option_complain("no command to run");
}

enum options_result options_parse(int argc, char **argv, struct options *options)
{
	const struct option_entry *entry, *of_run = NULL;
	bool has_border = false;
	int option, behind_baseline = 0;

	memset(options, 0, sizeof(*options));
	options->measure = (struct measure){
		.samples_cpu = true, .traces_gpu = true, .frequency_hz = OPTIONS_DEFAULT_FREQUENCY};
	options->diff.widths = SIDE_AFTER;
	options->counters.launches = OPTIONS_METRICS_LAUNCHES;
	if (argc < 2) {
		help_first_page(stderr);
		return OPTIONS_WRONG;
	}
	optind = 0;                  /* start afresh: tests parse more than once */
	argv[0] = (char *)"profile"; /* the prefix of getopt's messages, as of ours */
	while ((option = next_word(options, argc, argv, &has_border)) != -1) {
		if (option == OPERAND && !options->diff.is_wanted) {
			if (optind == behind_baseline) {
				explain_baselines(options, argv[optind]);
				goto wrong;
			}
			if (!options_add_capture(options, argv[optind++]))
				goto wrong;
			continue;
		}
		if (option == OPERAND) {
			if (!options_add_file(has_border ? &options->diff.after
							 : &options->diff.before,
					      argv[optind++]))
				goto wrong;
			continue;
		}
		if (option == 'h') {
			const char *next = optind < argc ? argv[optind] : NULL;

			return print_help(optarg ? optarg : topic_of(next));
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
		entry = option_entry(option);
		if (!entry->id) /* next_option has explained it */
			goto wrong;
		if (!(entry->take ? entry->take(options, optarg)
				  : entry->set(options, entry, optarg)))
			goto wrong;
		option_set_add(&options->given, option);
		if (entry->is_of_run)
			of_run = entry;
		if (option == OPT_BASELINE)
			behind_baseline = optind;
	}
	if (options->listed_metrics) {
		if (optind >= argc)
			return OPTIONS_LIST_METRICS;
		option_complain("--list-metrics runs no command; its pattern is behind =: "
				"--list-metrics='%s'",
				argv[optind]);
		goto wrong;
	}
	if (optind < argc && !options->diff.is_wanted && !check_command(argv, optind))
		goto wrong;
	if (optind < argc && optind == behind_baseline && !options->diff.is_wanted &&
	    is_capture(argv[optind])) {
		explain_baselines(options, argv[optind]);
		goto wrong;
	}
	if (!choose_formats(options) || !check_open(options))
		goto wrong;
	if (!option_rules_check(options, RULES_OF_ALL) || !check_gates(options) ||
	    !check_widths(options) || !check_weight(options))
		goto wrong;
	if (options->diff.is_wanted) {
		if (!check_diff(options, of_run, has_border))
			goto wrong;
		return OPTIONS_DIFF;
	}
	if (options->from_count) {
		if (!check_from(options, of_run))
			goto wrong;
		return OPTIONS_FROM;
	}
	if (option_rules_attach(options) && optind < argc) {
		option_complain("%s profiles processes that already run: no command with it",
				option_rules_attach(options));
		goto wrong;
	}
	if (!option_rules_check(options, RULES_OF_RUN))
		goto wrong;
	if (option_rules_attach(options)) {
		set_attached(options);
	} else if (optind >= argc) {
		complain_no_command(argc, argv);
		goto wrong;
	}
	options->launch_stacks = option_rules_launch_stacks(options);
	options->measure.probes_launches =
		options->measure.traces_gpu && options->launch_stacks == LAUNCH_STACKS_UPROBE;
	if (options->measure.wall && options->measure.traces_gpu && !options->no_inject)
		options->measure.waits = true; /* what ran while threads waited for it */
	options->measure.ranges = options->ranges[0] ? options->ranges : NULL;
	options->command = options->measure.attached ? NULL : argv + optind;
	return OPTIONS_RUN;
wrong:
	fprintf(stderr, "Try 'profile --help'.\n");
	return OPTIONS_WRONG;
}

/* The name of a file in "-oFILE", "--output=FILE", or behind "-o"; NULL: none. */
static const char *output_of(char *const *word)
{
	if (strcmp(word[0], "-o") == 0 || strcmp(word[0], "--output") == 0)
		return word[1];
	if (strncmp(word[0], "--output=", 9) == 0)
		return word[0] + 9;
	return strncmp(word[0], "-o", 2) == 0 ? word[0] + 2 : NULL;
}

char *const *options_misplaced_output(const struct options *o)
{
	/* scripts write .json of their own */
	if (!o->command || o->output_count != 1 ||
	    strcmp(o->outputs[0].path, OPTIONS_DEFAULT_OUTPUT) != 0)
		return NULL;
	for (char *const *word = o->command + 1; word[-1] && *word; word++) {
		const char *path = output_of(word);
		const struct writer *writer = path ? writer_for_path(path) : NULL;

		if (strcmp(*word, "--") == 0)
			break;
		if (writer && writer != &json_summary_writer && has_suffix(path, writer->suffix))
			return word;
	}
	return NULL;
}

void options_release(struct options *options)
{
	for (uint32_t i = 0; i < options->name_count; i++)
		free(options->names[i]);
	free(options->from);
	options->name_count = options->from_count = 0;
	options->from = NULL;
	view_options_release(&options->view);
	gates_release(&options->diff.gates);
}
