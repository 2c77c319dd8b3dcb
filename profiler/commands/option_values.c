// SPDX-License-Identifier: MIT
#include "profiler/commands/option_values.h"

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/commands/otel_environment.h"
#include "profiler/commands/output_name.h"
#include "profiler/send/http_url.h"
#include "profiler/output/writers.h"
#include "profiler/tables/kernel_class.h"

/* ---- of any option ---- */

/* Returns whether a list of options has room. Otherwise complains. */
static bool has_room(uint32_t count, uint32_t max, const char *option)
{
	if (count == max)
		option_complain("at most %u %s", max, option);
	return count < max;
}

static void *member(struct parsed_options *o, const struct option_entry *e)
{
	return (char *)o + e->at;
}

bool set_flag(struct parsed_options *o, const struct option_entry *e, const char *text)
{
	(void)text;
	*(bool *)member(o, e) = true;
	return true;
}

bool set_off(struct parsed_options *o, const struct option_entry *e, const char *text)
{
	(void)text;
	*(bool *)member(o, e) = false;
	return true;
}

bool set_level(struct parsed_options *o, const struct option_entry *e, const char *text)
{
	(void)text;
	o->options.level = e->level;
	return true;
}

bool set_text(struct parsed_options *o, const struct option_entry *e, const char *text)
{
	*(const char **)member(o, e) = text;
	return true;
}

bool set_text_once(struct parsed_options *o, const struct option_entry *e, const char *text)
{
	const char **value = member(o, e);

	if (*value || !text[0])
		option_complain(*value ? "--%s may be given once" : "--%s needs an argument",
				e->name);
	else
		*value = text;
	return *value == text;
}

int option_word_number(const struct option_entry *e, const char *text)
{
	char shown[OPTION_SHOWN_BYTES], list[OPTION_WORDS_BYTES];

	for (int i = 0; e->words[i]; i++)
		if (strcmp(text, e->words[i]) == 0)
			return i;
	option_complain("%s is one of %s, not '%s'", option_shown(e, shown), option_words(e, list),
			text);
	return -1;
}

bool set_word(struct parsed_options *o, const struct option_entry *e, const char *text)
{
	int number = option_word_number(e, text);

	if (number >= 0)
		*(unsigned int *)member(o, e) = (unsigned int)number;
	return number >= 0;
}

/* Parses a whole decimal number within [min, max]. */
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

/* Parses "0.1" to "100", with up to three decimals, into thousandths. */
static bool parse_percent(const char *text, uint32_t *out)
{
	size_t whole = strspn(text, "0123456789"), places = 0;

	if (text[whole] == '.')
		places = strspn(text + whole + 1, "0123456789");
	if (whole < 1 || whole > 3 || places > 3 || text[whole + places + (places > 0)])
		return false;
	*out = (uint32_t)(strtod(text, NULL) * 1000 + 0.5);
	return *out >= OPTIONS_LEAST_OVERHEAD && *out <= OPTIONS_MOST_OVERHEAD;
}

static bool set_length(const char *option, const char *text, uint64_t *ns)
{
	return slice_parse_duration(text, ns) ||
	       option_complain("%s takes a time above 0, in seconds or with a unit (ns, us, ms, s, "
			       "m), like 2, 1.5 or 500ms, not '%s'",
			       option, text);
}

/* Checks an extended regular expression, as the injection library compiles it. */
static bool check_pattern(const char *option, const char *text)
{
	char error[128];
	regex_t regex;
	int result = regcomp(&regex, text, REG_EXTENDED | REG_NOSUB);

	if (result == 0) {
		regfree(&regex);
		return true;
	}
	regerror(result, NULL, error, sizeof(error));
	return option_complain("%s '%s': %s", option, text, error);
}

bool set_pattern_once(struct parsed_options *o, const struct option_entry *e, const char *text)
{
	return check_pattern("--name", text) && set_text_once(o, e, text);
}

/* ---- outputs ---- */

/*
 * Expands the % sequences in the name of an output. Returns NULL after printing what is wrong.
 * `time_at`: as for output_name.
 */
static const char *name_of_output(struct parsed_options *o, const struct option_entry *e,
				  const char *pattern, uint32_t *time_at)
{
	char error[OUTPUT_NAME_ERROR_BYTES], shown[OPTION_SHOWN_BYTES];
	char *name;

	if (!strchr(pattern, '%'))
		return pattern;
	name = o->options.name_count < OPTIONS_NAMES_MAX ? output_name(pattern, time_at, error)
							 : NULL;
	if (name)
		o->options.names[o->options.name_count++] = name;
	else if (o->options.name_count < OPTIONS_NAMES_MAX)
		option_complain("%s: %s", option_shown(e, shown), error);
	else
		option_complain("too many names with %%");
	return name;
}

bool set_output(struct parsed_options *o, const struct option_entry *e, const char *text)
{
	const char *path;

	if (text[0] == '\0')
		return option_complain("-o needs a file name, or - for stdout");
	if (!has_room(o->options.output_count, OUTPUTS_MAX, "-o"))
		return false;
	path = name_of_output(o, e, text, &o->options.time_at[o->options.output_count]);
	if (path)
		o->options.outputs[o->options.output_count++].path = path;
	return path;
}

bool set_format(struct parsed_options *o, const struct option_entry *e, const char *text)
{
	int number = option_word_number(e, text);

	if (number >= 0)
		o->format = writer_with_name(text);
	return number >= 0;
}

bool take_by(struct parsed_options *o, const char *text)
{
	return grouping_parse(text, &o->options.view.by) ||
	       option_complain("--by takes rank, process, thread, device, context, stream, class, "
			       "operator, layer, layer-kind, each at most once, separated by "
			       "commas, not '%s'",
			       text);
}

bool set_prometheus(struct parsed_options *o, const struct option_entry *e, const char *text)
{
	if (!text[0] || strcmp(text, "-") == 0)
		return option_complain("--prometheus needs a file");
	o->run.prometheus = name_of_output(o, e, text, NULL);
	o->run.measure.errors = true;
	return o->run.prometheus;
}

bool set_record(struct parsed_options *o, const struct option_entry *e, const char *text)
{
	o->run.record = name_of_output(o, e, text, NULL);
	return o->run.record;
}

bool set_spans(struct parsed_options *o, const struct option_entry *e, const char *text)
{
	if (text[0] == '\0')
		return option_complain("--otlp needs a file, a URL or env");
	if (strstr(text, "://") || strcmp(text, OTEL_FROM_ENVIRONMENT) == 0) {
		struct http_url url;
		const char *wrong = strcmp(text, OTEL_FROM_ENVIRONMENT) == 0
					    ? NULL
					    : http_url_parse(&url, text);

		if (wrong)
			option_complain("--otlp: the URL: %s", wrong);
		else if (o->options.span_server)
			option_complain("--otlp takes one URL; a collector can pass spans on");
		else
			o->options.span_server = text;
		return o->options.span_server == text;
	}
	if (!has_room(o->options.span_file_count, OUTPUTS_MAX, "--otlp"))
		return false;
	text = name_of_output(o, e, text, NULL);
	if (text)
		o->options.span_files[o->options.span_file_count++] = text;
	return text;
}

bool take_push(struct parsed_options *o, const char *text)
{
	if (!has_room(o->options.push_count, OPTIONS_MAX_PUSHES, "--push"))
		return false;
	o->options.pushes[o->options.push_count++] = text;
	return true;
}

bool take_push_label(struct parsed_options *o, const char *text)
{
	const char *why;

	if (!has_room(o->options.push_label_count, ENGINE_LABELS_MAX, "--push-label"))
		return false;
	why = engine_parse_label(text, &o->options.push_labels[o->options.push_label_count]);
	if (why)
		return option_complain("--push-label '%s': %s", text, why);
	o->options.push_label_count++;
	return true;
}

/* ---- captures, and parts of a run ---- */

bool options_add_capture(struct parsed_options *o, const char *path)
{
	const char **paths = realloc(o->from.paths, (o->from.count + 1u) * sizeof(*paths));

	if (!paths)
		return option_complain("out of memory");
	o->from.paths = paths;
	o->from.paths[o->from.count++] = path;
	return true;
}

bool options_add_file(struct run_files *files, const char *path)
{
	if (files->count == COMPARISON_RUNS_MAX)
		return option_complain("at most %d runs of each side are compared",
				       COMPARISON_RUNS_MAX);
	files->paths[files->count++] = path;
	return true;
}

bool take_baseline(struct parsed_options *o, const char *text)
{
	return options_add_file(&o->options.baselines, text);
}

bool take_query(struct parsed_options *o, const char *text)
{
	if (o->options.query.question)
		return option_complain("--query may be given once");
	if (query_read(text, &o->options.query))
		return true;
	option_complain("--query: '%s' is no question; these are:", text);
	query_list(stderr);
	return false;
}

bool take_time(struct parsed_options *o, const char *text)
{
	if (o->options.view.slice.has_time)
		return option_complain("--time may be given once");
	return slice_parse_time(text, &o->options.view.slice) ||
	       option_complain("--time takes a part of the run, in seconds or with a unit, like "
			       "1.5..2, 500ms.. or ..10s, not '%s'",
			       text);
}

bool take_step(struct parsed_options *o, const char *text)
{
	struct slice_steps *steps = &o->options.view.slice.steps;

	if (steps->has_numbers)
		return option_complain("--step may be given once");
	return slice_parse_steps(text, steps) ||
	       option_complain("--step takes numbers of steps from 0 on, like 5, 10..20, 100.. or "
			       "..10, not '%s'",
			       text);
}

/* Returns whether a pattern is a name in brackets, such as [layers.0]: it would match one
 * character. */
static bool is_bracketed_name(const char *text)
{
	size_t inside = text[0] == '[' ? 1 : 0;

	while (inside && (isalnum((unsigned char)text[inside]) ||
			  (text[inside] && strchr("_.* ", text[inside]))))
		inside++;
	return inside > 2 && strcmp(text + inside, "]") == 0;
}

/* Parses a pattern, or a number where a number is allowed. */
static bool read_match(const struct option_entry *e, const char *text, bool may_be_number,
		       struct slice_match *match)
{
	char error[SLICE_ERROR_BYTES];

	if (match->text)
		return option_complain("--%s may be given once; use a regular expression", e->name);
	if (is_bracketed_name(text))
		return option_complain("--%s '%s' matches any one of these characters; for a name "
				       "in brackets write '\\[%.*s\\]'",
				       e->name, text, (int)strcspn(text + 1, "]"), text + 1);
	return slice_parse_match(text, may_be_number, match, error) ||
	       option_complain("--%s '%s': %s", e->name, text, error);
}

bool set_match(struct parsed_options *o, const struct option_entry *e, const char *text)
{
	return read_match(e, text, false, member(o, e));
}

bool set_part(struct parsed_options *o, const struct option_entry *e, const char *text)
{
	struct slice_match *match = member(o, e);

	if (!read_match(e, text, true, match))
		return false;
	if (match != &o->options.view.slice.parts[PLACE_STREAM] || match->is_number)
		return true;
	return option_complain("--stream takes a number, not '%s'", text);
}

bool take_duration(struct parsed_options *o, const char *text)
{
	o->run.duration = text;
	return set_length("--duration", text, &o->run.measure.duration_ns);
}

bool take_delay(struct parsed_options *o, const char *text)
{
	o->run.delay = text;
	if (strcmp(text, "start") == 0) {
		o->run.measure.delay_ns = MEASURE_UNTIL_TOLD;
		return true;
	}
	return set_length("--delay", text, &o->run.measure.delay_ns);
}

bool take_last(struct parsed_options *o, const char *text)
{
	o->run.last = text;
	return set_length("--last", text, &o->run.measure.last_ns);
}

bool take_every(struct parsed_options *o, const char *text)
{
	o->run.every = text;
	if (!set_length("--every", text, &o->run.measure.last_ns))
		return false;
	return o->run.measure.last_ns >= EVERY_LEAST_NS ||
	       option_complain("--every takes at least one second, not '%s'", text);
}

/* Adds a range. The separator of names is a control character, so names must have none. */
bool take_range(struct parsed_options *o, const char *text)
{
	size_t used = strlen(o->run.ranges);
	int n;

	for (const char *at = text; *at; at++)
		if ((unsigned char)*at < ' ')
			return option_complain(
				"--range takes the name of an NVTX range, or cudaProfilerApi");
	n = snprintf(o->run.ranges + used, sizeof(o->run.ranges) - used, "%s%s",
		     used ? MEASURE_RANGES_SEPARATOR : "", text);
	if (text[0] && (size_t)n < sizeof(o->run.ranges) - used)
		return true;
	return option_complain(
		text[0] ? "too many names of --range"
			: "--range takes the name of an NVTX range, or cudaProfilerApi");
}

/* ---- comparing runs ---- */

bool take_limit(struct parsed_options *o, const char *text)
{
	return gates_parse_limit(text, &o->options.gates) ||
	       option_complain("--fail-above takes a percentage, a time in ns, us, ms or s, memory "
			       "in KiB, MiB or GiB, or a number of errors, like 5%%, 10ms, 1MiB or "
			       "0errors, not '%s'",
			       text);
}

bool take_gate(struct parsed_options *o, const char *text)
{
	char error[GATE_ERROR_BYTES];

	return gates_parse(text, &o->options.gates, error) ||
	       option_complain("--fail-on '%s': %s", text, error);
}

/* ---- what to measure ---- */

/* Adds the pids of "12,34". */
bool take_pids(struct parsed_options *o, const char *text)
{
	size_t length;

	for (const char *at = text;; at += length + 1) {
		char word[16];
		uint32_t pid = 0;

		length = strcspn(at, ",");
		snprintf(word, sizeof(word), "%.*s", (int)(length < 15 ? length : 15), at);
		if (!parse_u32(word, 1, INT32_MAX, &pid))
			return option_complain(
				"-p takes numbers of processes, separated by commas, not '%s'",
				text);
		if (o->attach.pid_count == ATTACH_PIDS_MAX)
			return option_complain("-p takes at most %d processes", ATTACH_PIDS_MAX);
		o->attach.pids[o->attach.pid_count++] = pid;
		if (!at[length])
			return true;
	}
}

bool take_frequency(struct parsed_options *o, const char *text)
{
	return parse_u32(text, 1, MEASURE_MAX_HZ, &o->run.measure.frequency_hz) ||
	       option_complain("-F takes a whole number of Hz from 1 to %d, not '%s'",
			       MEASURE_MAX_HZ, text);
}

bool take_max_overhead(struct parsed_options *o, const char *text)
{
	return parse_percent(text, &o->run.measure.max_overhead) ||
	       option_complain("--max-overhead takes a percentage from 0.1 to 100, not '%s'", text);
}

bool take_budget(struct parsed_options *o, const char *text)
{
	return parse_percent(text, &o->run.measure.budget) ||
	       option_complain("--budget takes a percentage from 0.1 to 100, not '%s'", text);
}

/* Reads an optional argument with two words, of which the first is the default. */
static bool read_choice(const struct option_entry *e, const char *text, bool *is_second)
{
	*is_second = text && strcmp(text, e->words[1]) == 0;
	if (!text || *is_second || strcmp(text, e->words[0]) == 0)
		return true;
	return option_complain("--%s is %s or %s, not '%s'", e->name, e->words[0], e->words[1],
			       text);
}

bool set_wall(struct parsed_options *o, const struct option_entry *e, const char *text)
{
	o->run.measure.wall = true;
	return read_choice(e, text, &o->run.measure.kernel_waits);
}

bool set_graph(struct parsed_options *o, const struct option_entry *e, const char *text)
{
	int number = option_word_number(e, strcmp(text, "graph") == 0 ? "whole" : text);

	o->run.measure.whole_graphs = number == 1;
	o->run.measure.device_graphs = number == 2;
	return number >= 0;
}

bool set_stalls(struct parsed_options *o, const struct option_entry *e, const char *text)
{
	if (!o->run.measure.stall_period)
		o->run.measure.stall_period = OPTIONS_STALL_PERIOD;
	return read_choice(e, text, &o->run.measure.exact_stalls);
}

bool take_stall_period(struct parsed_options *o, const char *text)
{
	for (uint32_t n = OPTIONS_LEAST_STALL_PERIOD; n <= OPTIONS_MOST_STALL_PERIOD; n++) {
		char cycles[16];

		snprintf(cycles, sizeof(cycles), "%u", 1u << n);
		if (strcmp(text, cycles) == 0) {
			o->run.measure.stall_period = n;
			option_set_add(&o->given, OPT_STALLS);
			return true;
		}
	}
	return option_complain("--stall-period is a power of two from 32 to 2147483648, not '%s'",
			       text);
}

bool take_weight(struct parsed_options *o, const char *text)
{
	static const char *const words[] = {"time", "peak", "left"};

	for (int i = WEIGHT_TIME; i <= WEIGHT_LEFT; i++) {
		if (strcmp(text, words[i]) == 0) {
			o->options.weight = (enum stack_weight)i;
			if (i != WEIGHT_TIME)
				option_set_add(&o->given, OPT_ALLOC);
			o->run.measure.memory |= i != WEIGHT_TIME;
			return true;
		}
	}
	if (strstr(text, "__")) {
		o->options.weight = WEIGHT_METRIC;
		o->options.weight_metric = text;
		return true;
	}
	return option_complain(
		"--weight is time, peak, left or a metric that --counters reads, not '%s'", text);
}

bool take_metrics(struct parsed_options *o, const char *text)
{
	size_t length = strlen(text),
	       names = strspn(text,
			      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:,");

	if (length == 0 || length != names || strspn(text, ",") == length ||
	    length > COUNTER_REQUEST_METRICS_BYTES)
		return option_complain(
			"--counters takes default and names of metrics, separated by "
			"commas, not '%s'; --list-counters shows those there are",
			text);
	o->run.counters.metrics = text;
	o->run.measure.counters = true;
	return true;
}

bool take_metrics_kernels(struct parsed_options *o, const char *text)
{
	if (strlen(text) > COUNTER_REQUEST_KERNELS_BYTES)
		return option_complain("--counters-kernels: the pattern is too long");
	o->run.counters.kernels = text;
	return check_pattern("--counters-kernels", text);
}

bool take_metrics_launches(struct parsed_options *o, const char *text)
{
	o->run.counters.launches = 0;
	if (strcmp(text, "all") == 0 || parse_u32(text, 1, UINT32_MAX, &o->run.counters.launches))
		return true;
	return option_complain(
		"--counters-launches takes a number of launches from 1 on, or all, not '%s'", text);
}

bool take_list_metrics(struct parsed_options *o, const char *text)
{
	o->list_metrics.pattern = text ? text : "";
	return check_pattern("--list-counters", o->list_metrics.pattern);
}

/* ---- stacks and names ---- */

bool take_cuda_lib(struct parsed_options *o, const char *text)
{
	if (!has_room(o->run.cuda_lib_count, OPTIONS_MAX_CUDA_LIBS, "-cuda-lib"))
		return false;
	o->run.cuda_libs[o->run.cuda_lib_count++] = text;
	return true;
}

bool set_names(struct parsed_options *o, const struct option_entry *e, const char *text)
{
	int number = option_word_number(e, text);

	if (number >= 0)
		o->options.view.names = (enum view_names)(VIEW_NAMES_FULL + number);
	return number >= 0;
}

bool take_my_path(struct parsed_options *o, const char *text)
{
	if (text[0] == '\0')
		return option_complain("--my-path needs a folder");
	if (!has_room(o->options.view.my_path_count, VIEW_PATHS_MAX, "--my-path"))
		return false;
	o->options.view.my_code = true;
	o->options.view.my_paths[o->options.view.my_path_count++] = text;
	return true;
}

bool take_kernel_classes(struct parsed_options *o, const char *text)
{
	char error[KERNEL_CLASS_ERROR_BYTES];

	if (o->options.view.kernel_classes)
		return option_complain("--kernel-classes may be given once");
	o->options.view.kernel_classes = kernel_classes_read(text, error);
	return o->options.view.kernel_classes || option_complain("--kernel-classes: %s", error);
}
