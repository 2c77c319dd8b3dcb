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

/*
 * Moves the time range from the measurement to the request to attach. Of running processes, only
 * that time range is observed.
 */
static void set_attached(struct parsed_options *p)
{
	p->run.measure.attached = true;
	p->run.measure.injects = p->run.measure.traces_gpu && !p->no_inject;
	p->attach.delay_ns = p->run.measure.delay_ns;
	p->attach.duration_ns = p->run.measure.duration_ns;
	p->run.measure.delay_ns = p->run.measure.duration_ns = 0;
}

/* Checks --weight METRIC against --counters. deliver.c checks the metric of a capture. */
static bool check_weight_metric(const struct parsed_options *p)
{
	char sums[COUNTERS_SUMS_BYTES];

	if (p->from.count || p->is_diff)
		return true;
	if (!p->run.measure.counters)
		return option_complain(
			"--weight %s is for counters that --counters reads: add --counters",
			p->options.weight_metric);
	if (counters_are_asked(p->run.counters.metrics, p->options.weight_metric, sums) &&
	    counters_is_additive(p->options.weight_metric))
		return true;
	return option_complain("--weight %s: only metrics that --counters reads and that end in "
			       ".sum can be drawn, for these add up over launches: %s",
			       p->options.weight_metric, sums);
}

/* Checks that every output can show the weight: formats with a time axis cannot. */
static bool check_weight(const struct parsed_options *p)
{
	if (p->options.weight == WEIGHT_TIME)
		return true;
	if (p->options.weight == WEIGHT_METRIC && !check_weight_metric(p))
		return false;
	for (uint32_t i = 0; i < p->options.output_count; i++)
		if (!p->options.outputs[i].writer->shows_weights &&
		    !p->options.outputs[i].writer->keeps_all)
			return option_complain("--weight is for formats of stacks (folded, .svg, "
					       ".html, pprof, speedscope, OTLP), not for %s",
					       p->options.outputs[i].path);
	return true;
}

/* Checks that every output can show a mean step, and chooses its steps. */
static bool check_mean(struct parsed_options *p)
{
	struct view_options *view = &p->options.view;

	if (!view->per_step)
		return true;
	if (!view->slice.steps.has_numbers)
		view->slice.steps.is_steady = true;
	for (uint32_t i = 0; i < p->options.output_count; i++)
		if (!p->options.outputs[i].writer->shows_weights &&
		    !p->options.outputs[i].writer->keeps_all &&
		    p->options.outputs[i].writer != &json_summary_writer)
			return option_complain("--per-step is for formats of sums, not for %s, "
					       "which shows the course of the run",
					       p->options.outputs[i].path);
	return true;
}

/* Chooses formats that show differences of steps, and their steps. Captures keep the run. */
static bool check_slow_steps(struct parsed_options *p)
{
	struct slice_steps *steps = &p->options.view.slice.steps;

	if (!p->options.slow_steps)
		return true;
	p->options.slow_widths = p->diff.widths;
	if (!steps->has_numbers)
		steps->is_steady = true;
	for (uint32_t i = 0; i < p->options.output_count; i++) {
		struct output_choice *output = &p->options.outputs[i];
		const struct writer *writer = writer_of_difference(output->writer);

		if (writer)
			output->writer = writer;
		else if (!output->writer->keeps_all)
			return option_complain(
				"--slow-steps writes .html, .svg, .folded or .json, not %s (%s)",
				output->writer->name, output->path);
	}
	return true;
}

/* Checks that no output needs all GPU operations, of which a budget leaves out some. */
static bool check_budget(const struct parsed_options *p)
{
	for (uint32_t i = 0; i < p->options.output_count && p->run.measure.budget; i++)
		if (p->options.outputs[i].writer->is_timeline)
			return option_complain("--budget records no single moments of a run, which "
					       "%s (%s) shows: choose another format",
					       p->options.outputs[i].writer->name,
					       p->options.outputs[i].path);
	return true;
}

/* Checks the formats of a comparison. A comparison has no default output. */
static bool check_formats(const struct parsed_options *p)
{
	for (uint32_t i = 0; i < p->options.output_count; i++) {
		const struct writer *writer = p->options.outputs[i].writer;

		if (writer_of_difference(writer))
			continue;
		return option_complain("--diff writes .html, .svg, .folded or .json, not %s (%s)",
				       writer->name, p->options.outputs[i].path);
	}
	return true;
}

/* Chooses the writer by the extension of the file. Returns false after listing the extensions. */
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
	return option_complain(
		"-o %s: no format has the extension %s; use %s, or choose a format with --format",
		output->path, path_extension(output->path), known);
}

/*
 * Chooses the writers of all outputs. Returns false after an unknown extension, or too many
 * outputs.
 */
static bool choose_formats(struct parsed_options *p)
{
	bool is_for_less =
		(p->run.every && p->options.push_count > 0) ||
		(p->from.count &&
		 (p->options.report || p->options.slow_steps || p->options.baselines.count > 0 ||
		  p->options.span_file_count > 0 || p->options.span_server ||
		  p->options.push_count > 0 || p->options.query.question));

	/* a report, spans, a push or a comparison of a capture needs no other file */
	if (p->options.output_count == 0 && !p->is_diff && !is_for_less)
		p->options.outputs[p->options.output_count++].path = OPTIONS_DEFAULT_OUTPUT;
	for (uint32_t i = 0; i < p->options.output_count; i++) {
		if (p->format)
			p->options.outputs[i].writer = p->format;
		else if (!choose_format(&p->options.outputs[i]))
			return false;
	}
	if (p->options.output_count + p->options.span_file_count > OUTPUTS_MAX)
		return option_complain("at most %d -o and --otlp together", OUTPUTS_MAX);
	for (uint32_t i = 0; i < p->options.span_file_count; i++)
		p->options.outputs[p->options.output_count++] = (struct output_choice){
			p->options.span_files[i], has_suffix(p->options.span_files[i], ".pb")
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

static bool check_open(const struct parsed_options *p)
{
	if (!p->options.open || options_shown(&p->options))
		return true;
	return option_complain(
		"--open needs a file that a browser shows: -o FILE.html or -o FILE.svg");
}

/*
 * Limits the view to the row kinds of -gpu-only or -cpu-only: no waits, timed calls or idle time.
 */
static void slice_kinds(struct parsed_options *p)
{
	if (!p->run.measure.samples_cpu)
		p->options.view.slice.kinds = 1u << ROW_GPU;
	if (!p->run.measure.traces_gpu)
		p->options.view.slice.kinds = 1u << ROW_CPU;
}

/* Checks the options of --from. `of_run` is an option that applies only to a run, or NULL. */
static bool check_from(struct parsed_options *p, const struct option_entry *of_run)
{
	char shown[OPTION_SHOWN_BYTES];

	if (of_run)
		return option_complain("%s cannot be used with --from: it applies only to a run",
				       option_shown(of_run, shown));
	if (p->options.query.question && p->options.level == LOG_NORMAL)
		p->options.level = LOG_ERRORS; /* a program reads the answer */
	slice_kinds(p);
	return true;
}

static bool check_diff(struct parsed_options *p, const struct option_entry *of_run, bool has_border)
{
	char shown[OPTION_SHOWN_BYTES];

	if (of_run)
		return option_complain("%s is for one run; --diff compares runs that are over",
				       option_shown(of_run, shown));
	if (!has_border && p->diff.before.count == 2) {
		p->diff.after.paths[p->diff.after.count++] =
			p->diff.before.paths[--p->diff.before.count];
	} else if (!has_border && p->diff.before.count > 2) {
		return option_complain(
			"--diff takes two files; with more, separate before and after with --");
	}
	if (p->diff.before.count == 0 || p->diff.after.count == 0)
		return option_complain("--diff compares two files: BEFORE AFTER");
	slice_kinds(p);
	return check_formats(p);
}

static bool check_gates(const struct parsed_options *p)
{
	char error[GATE_ERROR_BYTES];

	return gates_fit(&p->options.gates, error) || option_complain("%s", error);
}

/* Checks that --widths comes with a picture of a comparison. */
static bool check_widths(const struct parsed_options *p)
{
	if (!option_set_has(&p->given, OPT_WIDTHS))
		return true;
	for (uint32_t i = 0; (p->is_diff || p->options.slow_steps) && i < p->options.output_count;
	     i++)
		if (p->options.outputs[i].writer == &svg_writer ||
		    p->options.outputs[i].writer == &html_writer)
			return true;
	return option_complain("--widths is for the picture of a difference: --diff or "
			       "--slow-steps with -o FILE.svg or -o FILE.html");
}

/* Returns whether a word with one dash is the full name of a long option, maybe with "=value". */
static bool is_long_option(const char *word)
{
	size_t length = strcspn(word + 1, "=");

	for (const struct option *o = option_table_long(); o->name; o++)
		if (strlen(o->name) == length && strncmp(o->name, word + 1, length) == 0)
			return true;
	return false;
}

/* Returns whether a word is a complete option: "-o", "-vq", "-gpu-only", "--wall=user". */
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

/* Explains that the option in `optopt` lacks its argument. */
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
 * Explains an error of getopt. getopt's own message would print the word with control characters.
 *
 * `optopt` is an option with a missing or superfluous argument, an unknown letter, or 0.
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
 * Returns the next option, as getopt_long_only does, but accepts one dash only before a full name.
 * getopt_long_only takes "-a" for --as-root and "-p 1234" for --python-lines. Explains errors.
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
 * Returns what next_option returns, or OPERAND if optind is the index of a file.
 *
 * With --diff and after --from, files and options may come in any order. "--" ends the files of
 * one side of --diff; otherwise "--" ends the options.
 */
#define OPERAND 1
static int next_word(const struct parsed_options *p, int argc, char **argv, bool *has_border)
{
	int option, before;

	if (*has_border && !p->is_diff)
		return optind < argc ? OPERAND : -1;
	for (;;) {
		before = optind;
		option = next_option(argc, argv);
		if (option != -1 || (!p->is_diff && !p->from.count))
			return option;
		if (before > 0 && optind == before + 1 && !*has_border) {
			*has_border = true; /* getopt has skipped "--" */
			if (p->is_diff)
				continue;
		}
		return optind < argc ? OPERAND : -1;
	}
}

/* Returns false after complaining that the command begins with a typographic dash: "—wall". */
static bool check_command(char **argv, int at)
{
	int hyphen = slip_hyphen(argv[at]);

	/* behind "--" any word is a command */
	if (!hyphen || strcmp(argv[at - 1], "--") == 0)
		return true;
	return option_complain("'%s' begins with a typographic dash; type a hyphen: -%s", argv[at],
			       argv[at] + hyphen);
}

/* Explains what the shell makes of "--baseline old-*.profile". */
static void explain_baselines(const struct parsed_options *p, const char *word)
{
	const char *last = p->options.baselines.paths[p->options.baselines.count - 1];

	option_complain("--baseline takes one file, and '%s' follows it; write --baseline before "
			"each: --baseline %s --baseline %s",
			word, last, word);
}

/* Returns whether a file with this name is a capture or folded stacks, and not a command. */
static bool is_capture(const char *path)
{
	return has_suffix(path, capture_writer.suffix) || has_suffix(path, folded_writer.suffix) ||
	       has_suffix(path, ".trace");
}

/* Checks that stdout was written. Returns COMMAND_DONE or COMMAND_WRONG. */
static enum command printed(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return COMMAND_DONE;
	option_complain("writing to standard output: %s", strerror(errno));
	return COMMAND_WRONG;
}

/* Prints the overview, or help on a topic or an option. */
static enum command print_help(const char *topic)
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
	return COMMAND_WRONG;
}

/* Returns the word behind -h or --help if it can be a topic or an option, else NULL. */
static const char *topic_of(const char *next)
{
	if (!next || next[0] != '-')
		return next;
	/* "-vh" is the option itself, and "-- command" ends the options */
	if (strcmp(next, "--") == 0 || strcmp(next, "-") == 0 || strcmp(next, "--help") == 0 ||
	    (next[1] != '-' && !is_long_option(next) && strchr(next, 'h')))
		return NULL;
	return next;
}

/*
 * Complains that there is no command. Names the option that took the last word, in case the user
 * meant the word as the command.
 */
static void complain_no_command(int argc, char *const *argv)
{
	const char *last = argv[argc - 1], *option = argc > 2 ? argv[argc - 2] : "";

	if (option[0] == '-' && option[1] && last[0] != '-')
		option_complain(
			"no command to run: '%s' is the argument of %s; the command must follow it",
			last, option);
	else
		option_complain("no command to run");
}

static enum command refused(void)
{
	fprintf(stderr, "Try 'profile --help'.\n");
	return COMMAND_WRONG;
}

/* Does what --help, --completion, --version or --print-injection-path asks. */
static enum command answer(const struct option_entry *entry, const char *next)
{
	int shell;

	switch (entry->id) {
	case 'h':
		return print_help(optarg ? optarg : topic_of(next));
	case OPT_COMPLETION:
		shell = option_word_number(entry, optarg);
		if (shell < 0)
			return refused();
		completion_print((enum completion_shell)shell, stdout);
		return printed();
	case OPT_VERSION:
		puts("profile " PROFILE_VERSION);
		return printed();
	default:
		return COMMAND_INJECTION_PATH;
	}
}

/* Checks the options of a run. The words from optind on are its command. */
static enum command check_run(struct parsed_options *p, int argc, char **argv)
{
	const char *attach = option_rules_attach(p);
	struct measure *m = &p->run.measure;

	if (attach && optind < argc) {
		option_complain("%s profiles processes that already run: no command with it",
				attach);
		return refused();
	}
	if (!option_rules_check(p, RULES_OF_RUN) || !check_budget(p))
		return refused();
	for (uint32_t i = 0; i < p->options.output_count && !p->run.every; i++)
		if (p->options.time_at[i]) {
			option_complain("%%t in '%s' is the time of a result: for --every",
					p->options.outputs[i].path);
			return refused();
		}
	if (!attach && optind >= argc) {
		complain_no_command(argc, argv);
		return refused();
	}
	if (attach)
		set_attached(p);
	else
		p->run.command = argv + optind;
	p->run.launch_stacks = option_rules_launch_stacks(p);
	m->probes_launches = m->traces_gpu && p->run.launch_stacks == LAUNCH_STACKS_UPROBE;
	if (m->wall && m->traces_gpu && !p->no_inject)
		m->waits = true; /* counts the GPU work that threads wait for */
	return attach ? COMMAND_ATTACH : COMMAND_RUN;
}

static enum command parse(int argc, char **argv, struct parsed_options *p)
{
	const struct option_entry *entry, *of_run = NULL;
	bool has_border = false;
	int option, behind_baseline = 0;

	if (argc < 2) {
		help_first_page(stderr);
		return COMMAND_WRONG;
	}
	optind = 0;                  /* resets getopt, since tests parse more than once */
	argv[0] = (char *)"profile"; /* prefix of getopt's messages */
	while ((option = next_word(p, argc, argv, &has_border)) != -1) {
		if (option == OPERAND && !p->is_diff && optind == behind_baseline) {
			explain_baselines(p, argv[optind]);
			return refused();
		}
		if (option == OPERAND) {
			if (p->is_diff ? !options_add_file(has_border ? &p->diff.after
								      : &p->diff.before,
							   argv[optind++])
				       : !options_add_capture(p, argv[optind++]))
				return refused();
			continue;
		}
		entry = option_entry(option);
		if (!entry->id) /* next_option has explained it */
			return refused();
		if (!entry->take && !entry->set)
			return answer(entry, optind < argc ? argv[optind] : NULL);
		if (!(entry->take ? entry->take(p, optarg) : entry->set(p, entry, optarg)))
			return refused();
		option_set_add(&p->given, option);
		if (entry->is_of_run)
			of_run = entry;
		if (option == OPT_BASELINE)
			behind_baseline = optind;
	}
	if (p->list_metrics.pattern) {
		if (optind >= argc)
			return COMMAND_LIST_METRICS;
		option_complain("--list-counters runs no command; its pattern follows =: "
				"--list-counters='%s'",
				argv[optind]);
		return refused();
	}
	if (optind < argc && !p->is_diff && !check_command(argv, optind))
		return refused();
	if (optind < argc && optind == behind_baseline && !p->is_diff && is_capture(argv[optind])) {
		explain_baselines(p, argv[optind]);
		return refused();
	}
	if (!choose_formats(p) || !check_open(p) || !option_rules_check(p, RULES_OF_ALL) ||
	    !check_gates(p) || !check_widths(p) || !check_weight(p) || !check_mean(p) ||
	    !check_slow_steps(p))
		return refused();
	if (p->is_diff)
		return check_diff(p, of_run, has_border) ? COMMAND_DIFF : refused();
	if (p->from.count)
		return check_from(p, of_run) ? COMMAND_FROM : refused();
	return check_run(p, argc, argv);
}

enum command options_parse(int argc, char **argv, struct options *options)
{
	struct parsed_options p = {
		.run.measure = {.samples_cpu = true,
				.traces_gpu = true,
				.frequency_hz = OPTIONS_DEFAULT_FREQUENCY},
		.run.counters.launches = OPTIONS_METRICS_LAUNCHES,
		.diff.widths = SIDE_AFTER,
	};
	const enum command command = parse(argc, argv, &p);

	*options = p.options;
	options->command = command;
	if (command != COMMAND_FROM)
		free(p.from.paths);
	switch (command) {
	case COMMAND_ATTACH:
		p.run.attach = p.attach;
		/* fall through */
	case COMMAND_RUN:
		options->run = p.run;
		if (p.run.ranges[0])
			options->run.measure.ranges = options->run.ranges;
		break;
	case COMMAND_FROM:
		options->from = p.from;
		break;
	case COMMAND_DIFF:
		options->diff = p.diff;
		break;
	case COMMAND_LIST_METRICS:
		options->list_metrics = p.list_metrics;
		break;
	default:
		break;
	}
	return command;
}

/*
 * Returns the file in "-oFILE" or "--output=FILE", or behind "-o". Returns NULL if there is none.
 */
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
	/* scripts write .json files of their own */
	if (o->command != COMMAND_RUN || o->output_count != 1 ||
	    strcmp(o->outputs[0].path, OPTIONS_DEFAULT_OUTPUT) != 0)
		return NULL;
	for (char *const *word = o->run.command + 1; word[-1] && *word; word++) {
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
	options->name_count = 0;
	if (options->command == COMMAND_FROM) {
		free(options->from.paths);
		options->from = (struct from_options){0};
	}
	view_options_release(&options->view);
	gates_release(&options->gates);
}
