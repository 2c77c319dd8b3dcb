// SPDX-License-Identifier: MIT
#include "profiler/commands/options.h"

#include <errno.h>
#include <getopt.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/version.h"
#include "profiler/commands/completion.h"
#include "profiler/commands/help.h"
#include "profiler/commands/option_table.h"
#include "profiler/commands/otel_environment.h"
#include "profiler/commands/output_name.h"
#include "profiler/commands/slips.h"
#include "profiler/output/http_url.h"
#include "profiler/output/spans.h"

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
	complain("--by takes rank, process, thread, device, context, stream, each at most once, "
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

static bool set_length(const char *option, const char *text, uint64_t *ns)
{
	if (slice_parse_duration(text, ns))
		return true;
	complain("%s takes a time above 0, in seconds or with a unit (ns, us, ms, s, m), like 2, "
		 "1.5 or 500ms, not '%s'",
		 option, text);
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

static bool has_spans(const struct options *o)
{
	return o->span_file_count > 0 || o->span_server;
}

static bool check_spans(const struct options *o)
{
	if (!has_spans(o) || o->measure.traces_gpu)
		return true;
	complain("--otlp needs GPU time: not with -cpu-only");
	return false;
}

/* CUPTI reports the calls, and what they wait for. */
static bool check_calls(const struct options *o)
{
	const char *option = o->measure.waits          ? "--waits"
			     : o->measure.api          ? "--api"
			     : o->measure.memory       ? "--alloc"
			     : o->measure.stall_period ? "--stalls"
						       : NULL;

	if (option && !o->measure.traces_gpu)
		complain("%s needs GPU time: not with -cpu-only", option);
	else if (o->measure.memory && o->measure.kernels_only)
		complain("--alloc follows what --kernels-only leaves out");
	else
		return true;
	return false;
}

static bool check_idle(const struct options *o)
{
	if (o->measure.idle && !o->measure.samples_cpu)
		complain("--idle needs CPU samples: not with -gpu-only");
	else if (o->measure.idle && !o->measure.traces_gpu)
		complain("--idle needs GPU time: not with -cpu-only");
	else if (o->measure.idle && (o->measure.delay_ns || o->measure.duration_ns))
		complain("--idle accounts for the whole run: not with --delay or -d");
	else if (o->measure.idle && o->measure.kernels_only)
		complain("--idle counts what --kernels-only leaves out");
	else
		return true;
	return false;
}

/* What needs GPU time; NULL: nothing. */
static const char *needs_gpu_time(const struct options *o)
{
	const struct measure *m = &o->measure;

	return m->max_overhead                       ? "--max-overhead"
	       : m->memory                           ? "--alloc"
	       : m->waits                            ? "--waits"
	       : m->api                              ? "--api"
	       : m->unified_memory                   ? "--unified-memory"
	       : m->kernels_only                     ? "--kernels-only"
	       : m->whole_graphs || m->device_graphs ? "--graph"
	       : m->launch_shapes                    ? "--launch-shapes"
	       : o->prometheus                       ? "--prometheus"
						     : NULL;
}

/* What the library measures only where it is from a command's start; NULL: nothing. */
static const char *needs_command(const struct options *o)
{
	const struct measure *m = &o->measure;

	return m->nvtx                                  ? "--nvtx"
	       : o->has_ranges                          ? "--range"
	       : m->stall_period                        ? "--stalls"
	       : m->counters                            ? "--metrics"
	       : o->injection_lib                       ? "-injection-lib"
	       : o->cuda_lib_count                      ? "-cuda-lib"
	       : o->launch_stacks != LAUNCH_STACKS_AUTO ? "-launch-stacks"
							: NULL;
}

/* Processes that run already, in place of a command. */
static bool check_attach(struct options *o, bool has_command)
{
	const char *option = needs_command(o);
	const char *how = o->attach.pid_count ? "-p" : o->attach.name ? "--name" : "--cgroup";

	if (has_command)
		complain("%s profiles processes that already run: no command with it", how);
	else if (option)
		complain("%s needs the start of a command: not with %s", option, how);
	else if (o->measure.idle) /* docs/attach.md */
		complain("--idle has to know all the work of a GPU, and the library comes to one "
			 "process after the other: not with %s; use --wall or --waits",
			 how);
	else if (o->no_inject && needs_gpu_time(o))
		complain("%s needs GPU time: not with --no-inject", needs_gpu_time(o));
	else if (o->record)
		complain("--record keeps a run from its command's start: not with %s", how);
	else
		return true;
	return false;
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

/* Of a command or not: who else would say it? */
static bool check_delay(const struct options *o)
{
	if (o->measure.delay_ns == MEASURE_UNTIL_TOLD && !o->control) {
		complain("--delay start waits for the line `start` in a FIFO: name one with "
			 "--control");
		return false;
	}
	return true;
}

static bool check_wall(const struct options *o)
{
	if (o->measure.wall && !o->measure.samples_cpu)
		complain("--wall needs CPU samples: not with -gpu-only");
	else if (o->measure.wall && (o->measure.delay_ns || o->measure.duration_ns))
		complain("--wall accounts for the whole run: not with --delay or -d");
	else
		return true;
	return false;
}

/* What needs a whole run, and not its last seconds; NULL: nothing. */
static const char *needs_whole_run(const struct options *o)
{
	const struct measure *m = &o->measure;

	return m->wall           ? "--wall"
	       : m->idle         ? "--idle"
	       : m->memory       ? "--alloc"
	       : m->api          ? "--api"
	       : m->stall_period ? "--stalls"
	       : m->counters     ? "--metrics"
	       : m->max_overhead ? "--max-overhead"
	       : o->live         ? "--live"
	       : o->record       ? "--record"
				 : NULL;
}

static bool check_ranges(const struct options *o)
{
	const struct measure *m = &o->measure;
	const char *option = m->wall           ? "--wall"
			     : m->idle         ? "--idle"
			     : m->memory       ? "--alloc"
			     : m->api          ? "--api"
			     : m->stall_period ? "--stalls"
			     : m->counters     ? "--metrics"
					       : NULL;

	if (!o->has_ranges)
		return true;
	if (!m->traces_gpu)
		complain("--range needs GPU time: not with -cpu-only");
	else if (m->delay_ns || m->duration_ns)
		complain("--range says when to record: not with --delay or -d");
	else if (option)
		complain("%s is of a whole run: not with --range", option);
	else
		return check_inprocess(o, true, "--range");
	return false;
}

static bool check_last(const struct options *o)
{
	const char *option = o->last ? needs_whole_run(o) : NULL;

	if (option)
		complain("%s is of a whole run: not with --last", option);
	return !option;
}

/* What a run will read; of a capture, deliver knows. */
static bool check_weight_metric(const struct options *o)
{
	char sums[COUNTERS_SUMS_BYTES];

	if (o->from_count || o->diff)
		return true;
	if (!o->measure.counters) {
		complain("--weight %s is for counters that --metrics reads: add --metrics",
			 o->weight_metric);
		return false;
	}
	if (counters_are_asked(o->counters.metrics, o->weight_metric, sums) &&
	    counters_is_additive(o->weight_metric))
		return true;
	complain("--weight %s: only metrics that --metrics reads and that end in .sum can be "
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
	if (o->before.count) {
		complain("--weight is not for comparisons");
		return false;
	}
	if (has_spans(o)) {
		complain("--weight is not for spans, which have times: not with --otlp");
		return false;
	}
	if (o->view.slice.has_time) {
		complain("--weight is of the whole run: not with --time");
		return false;
	}
	if (o->push_count) {
		complain("--weight is not for --push");
		return false;
	}
	for (uint32_t i = 0; i < o->output_count; i++)
		if (!o->outputs[i].writer->shows_weights && !o->outputs[i].writer->keeps_all) {
			complain("--weight is for formats of stacks (folded, .svg, .html, pprof, "
				 "speedscope, OTLP), not for %s",
				 o->outputs[i].path);
			return false;
		}
	return true;
}

/* Names are separated by what is in none: a control character. */
static bool add_range(struct options *o, const char *name)
{
	size_t used = strlen(o->ranges);
	int n;

	for (const char *at = name; *at; at++)
		if ((unsigned char)*at < ' ') {
			complain("--range takes the name of an NVTX range, or cudaProfilerApi");
			return false;
		}
	n = snprintf(o->ranges + used, sizeof(o->ranges) - used, "%s%s",
		     used ? MEASURE_RANGES_SEPARATOR : "", name);
	o->has_ranges = true;
	if (name[0] && (size_t)n < sizeof(o->ranges) - used)
		return true;
	complain(name[0] ? "too many names of --range"
			 : "--range takes the name of an NVTX range, or cudaProfilerApi");
	return false;
}

static bool set_wall(struct options *o, const char *text)
{
	if (text && strcmp(text, "user") != 0 && strcmp(text, "kernel") != 0) {
		complain("--wall is user or kernel, not '%s'", text);
		return false;
	}
	o->measure.wall = true;
	o->measure.kernel_waits = text && strcmp(text, "kernel") == 0;
	return true;
}

static bool set_stalls(struct options *o, const char *text)
{
	if (text && strcmp(text, "kernels") != 0 && strcmp(text, "exact") != 0) {
		complain("--stalls is kernels or exact, not '%s'", text);
		return false;
	}
	o->measure.exact_stalls = text && strcmp(text, "exact") == 0;
	if (!o->measure.stall_period)
		o->measure.stall_period = OPTIONS_STALL_PERIOD;
	return true;
}

static bool set_stall_period(struct options *o, const char *text)
{
	for (uint32_t n = OPTIONS_LEAST_STALL_PERIOD; n <= OPTIONS_MOST_STALL_PERIOD; n++) {
		char cycles[16];

		snprintf(cycles, sizeof(cycles), "%u", 1u << n);
		if (strcmp(text, cycles) == 0) {
			o->measure.stall_period = n;
			return true;
		}
	}
	complain("--stall-period is a power of two from 32 to 2147483648, not '%s'", text);
	return false;
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
	if (strstr(text, "__")) {
		o->weight = WEIGHT_METRIC;
		o->weight_metric = text;
		return true;
	}
	complain("--weight is time, peak, left or a metric that --metrics reads, not '%s'", text);
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

/* As the library in the program will read it. */
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
	complain("%s '%s': %s", option, text, error);
	return false;
}

static bool set_metrics(struct options *o, const char *list)
{
	size_t length = strlen(list), names = strspn(list, "abcdefghijklmnopqrstuvwxyz"
							   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
							   "0123456789_.:,");

	if (length == 0 || length != names || strspn(list, ",") == length ||
	    length > COUNTER_REQUEST_METRICS_BYTES) {
		complain("--metrics takes default and names of metrics, separated by commas, not "
			 "'%s'; --list-metrics shows those there are",
			 list);
		return false;
	}
	o->counters.metrics = list;
	o->measure.counters = true;
	return true;
}

static bool set_metrics_kernels(struct options *o, const char *pattern)
{
	if (strlen(pattern) > COUNTER_REQUEST_KERNELS_BYTES) {
		complain("--metrics-kernels: the pattern is too long");
		return false;
	}
	o->counters.kernels = pattern;
	return check_pattern("--metrics-kernels", pattern);
}

static bool set_metrics_launches(struct options *o, const char *text)
{
	o->counters.launches = 0;
	if (strcmp(text, "all") == 0 || parse_u32(text, 1, UINT32_MAX, &o->counters.launches))
		return true;
	complain("--metrics-launches takes a number of launches from 1 on, or all, not '%s'", text);
	return false;
}

/* Counters are read where CUPTI traces launches. */
static bool check_metrics(const struct options *o)
{
	if (!o->measure.counters &&
	    (o->counters.kernels || o->counters.launches != OPTIONS_METRICS_LAUNCHES)) {
		complain("%s is for --metrics: which counters to read",
			 o->counters.kernels ? "--metrics-kernels" : "--metrics-launches");
		return false;
	}
	if (o->measure.counters && !o->measure.traces_gpu) {
		complain("--metrics needs GPU time: not with -cpu-only");
		return false;
	}
	if (o->chip) {
		complain("--chip is for --list-metrics");
		return false;
	}
	return true;
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

/* The name of a file to be written; NULL after saying what is wrong with it. */
static const char *name_of_output(struct options *o, int option, const char *pattern)
{
	char error[OUTPUT_NAME_ERROR_BYTES], shown[OPTION_SHOWN_BYTES];
	char *name;

	if (!strchr(pattern, '%'))
		return pattern;
	name = o->name_count < OPTIONS_NAMES_MAX ? output_name(pattern, error) : NULL;
	if (name)
		o->names[o->name_count++] = name;
	else if (o->name_count < OPTIONS_NAMES_MAX)
		complain("%s: %s", option_shown(option_entry(option), shown), error);
	else
		complain("too many names with %%");
	return name;
}

static bool add_output(struct options *o, const char *pattern)
{
	const char *path;

	if (pattern[0] == '\0') {
		complain("-o needs a file name, or - for stdout");
		return false;
	}
	if (o->output_count == OUTPUTS_MAX) {
		complain("at most %d -o", OUTPUTS_MAX);
		return false;
	}
	path = name_of_output(o, 'o', pattern);
	if (path)
		o->outputs[o->output_count++].path = path;
	return path;
}

static bool add_spans(struct options *o, const char *path)
{
	if (path[0] == '\0') {
		complain("--otlp needs a file, a URL or env");
		return false;
	}
	if (strstr(path, "://") || strcmp(path, OTEL_FROM_ENVIRONMENT) == 0) {
		struct http_url url;
		const char *wrong = strcmp(path, OTEL_FROM_ENVIRONMENT) == 0
					    ? NULL
					    : http_url_parse(&url, path);

		if (wrong)
			complain("--otlp: the URL: %s", wrong);
		else if (o->span_server)
			complain("--otlp takes one URL; a collector can pass spans on");
		else
			o->span_server = path;
		return o->span_server == path;
	}
	if (o->span_file_count == OUTPUTS_MAX) {
		complain("at most %d --otlp", OUTPUTS_MAX);
		return false;
	}
	path = name_of_output(o, OPT_OTLP, path);
	if (path)
		o->span_files[o->span_file_count++] = path;
	return path;
}

static bool add_push(struct options *o, const char *url)
{
	if (o->push_count == OPTIONS_MAX_PUSHES) {
		complain("at most %d --push", OPTIONS_MAX_PUSHES);
		return false;
	}
	o->pushes[o->push_count++] = url;
	return true;
}

static bool add_push_label(struct options *o, const char *text)
{
	const char *why;

	if (o->push_label_count == ENGINE_LABELS_MAX) {
		complain("at most %u --push-label", ENGINE_LABELS_MAX);
		return false;
	}
	why = engine_parse_label(text, &o->push_labels[o->push_label_count]);
	if (why) {
		complain("--push-label '%s': %s", text, why);
		return false;
	}
	o->push_label_count++;
	return true;
}

static bool set_format(struct options *o, const char *name)
{
	int number = word_number(OPT_FORMAT, name);

	if (number >= 0)
		o->format = writer_with_name(name);
	return number >= 0;
}

/* Of --from. */
static bool add_capture(struct options *o, const char *path)
{
	const char **from = realloc(o->from, (o->from_count + 1u) * sizeof(*from));

	if (!from) {
		complain("out of memory");
		return false;
	}
	o->from = from;
	o->from[o->from_count++] = path;
	return true;
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
	complain("--fail-above takes a percentage, a time in ns, us, ms or s, memory in KiB, MiB "
		 "or GiB, or a number of errors, like 5%%, 10ms, 1MiB or 0errors, not '%s'",
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
	complain("-o %s: no format has the extension %s; use %s, or choose a format with --format",
		 output->path, path_extension(output->path), known);
	return false;
}

/* False after saying what is wrong: a file's extension, or that there are too many. */
static bool choose_formats(struct options *o)
{
	bool is_for_less = o->from_count &&
			   (o->report || o->before.count > 0 || has_spans(o) || o->push_count > 0);

	/* reading a capture for its report, its spans, an engine or a comparison alone writes no
	 * other file */
	if (o->output_count == 0 && !o->diff && !is_for_less)
		o->outputs[o->output_count++].path = OPTIONS_DEFAULT_OUTPUT;
	for (uint32_t i = 0; i < o->output_count; i++) {
		if (o->format)
			o->outputs[i].writer = o->format;
		else if (!choose_format(&o->outputs[i]))
			return false;
	}
	if (o->output_count + o->span_file_count > OUTPUTS_MAX) {
		complain("at most %d -o and --otlp together", OUTPUTS_MAX);
		return false;
	}
	for (uint32_t i = 0; i < o->span_file_count; i++)
		o->outputs[o->output_count++] =
			(struct output_choice){o->span_files[i], has_suffix(o->span_files[i], ".pb")
									 ? &otlp_protobuf_writer
									 : &otlp_json_writer};
	return true;
}

static bool set_names(struct options *o, const char *text)
{
	int number = word_number(OPT_NAMES, text);

	if (number >= 0)
		o->view.names = (enum view_names)(VIEW_NAMES_FULL + number);
	return number >= 0;
}

/* "12,34", added to those there are. */
static bool add_pids(struct options *o, const char *list)
{
	size_t length;

	for (const char *at = list;; at += length + 1) {
		char word[16];
		uint32_t pid = 0;

		length = strcspn(at, ",");
		snprintf(word, sizeof(word), "%.*s", (int)(length < 15 ? length : 15), at);
		if (!parse_u32(word, 1, INT32_MAX, &pid)) {
			complain("-p takes numbers of processes, separated by commas, not '%s'",
				 list);
			return false;
		}
		if (o->attach.pid_count == ATTACH_PIDS_MAX) {
			complain("-p takes at most %d processes", ATTACH_PIDS_MAX);
			return false;
		}
		o->attach.pids[o->attach.pid_count++] = pid;
		if (!at[length])
			return true;
	}
}

static bool set_once(const char *option, const char *text, const char **value)
{
	if (*value || !text[0])
		complain(*value ? "%s may be given once" : "%s needs an argument", option);
	else
		*value = text;
	return *value == text;
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
	case 'd':
		o->duration = argument;
		return set_length("--duration", argument, &o->measure.duration_ns);
	case 'p':
		return add_pids(o, argument);
	case OPT_NAME:
		return check_pattern("--name", argument) &&
		       set_once("--name", argument, &o->attach.name);
	case OPT_CGROUP:
		return set_once("--cgroup", argument, &o->attach.cgroup);
	case OPT_CONTROL:
		return set_once("--control", argument, &o->control);
	case OPT_NO_INJECT:
		o->no_inject = true;
		return true;
	case OPT_DELAY:
		o->delay = argument;
		if (strcmp(argument, "start") == 0) {
			o->measure.delay_ns = MEASURE_UNTIL_TOLD;
			return true;
		}
		return set_length("--delay", argument, &o->measure.delay_ns);
	case OPT_RANGE:
		return add_range(o, argument);
	case OPT_LAST:
		o->last = argument;
		return set_length("--last", argument, &o->measure.last_ns);
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
	case OPT_WALL:
		return set_wall(o, argument);
	case OPT_IDLE:
		o->measure.idle = true;
		return true;
	case OPT_NVTX:
		o->measure.nvtx = true;
		return true;
	case OPT_MAX_OVERHEAD:
		return set_max_overhead(o, argument);
	case OPT_ALLOC:
		o->measure.memory = true;
		return true;
	case OPT_STALLS:
		return set_stalls(o, argument);
	case OPT_STALL_PERIOD:
		return set_stall_period(o, argument);
	case OPT_METRICS:
		return set_metrics(o, argument);
	case OPT_METRICS_KERNELS:
		return set_metrics_kernels(o, argument);
	case OPT_METRICS_LAUNCHES:
		return set_metrics_launches(o, argument);
	case OPT_LIST_METRICS:
		o->listed_metrics = argument ? argument : "";
		return check_pattern("--list-metrics", o->listed_metrics);
	case OPT_CHIP:
		o->chip = argument;
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
		return (o->record = name_of_output(o, option, argument));
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
		o->prometheus = name_of_output(o, option, argument);
		o->measure.errors = true;
		return o->prometheus;
	case OPT_OTLP:
		return add_spans(o, argument);
	case OPT_OTLP_STACKS:
		o->span_stacks = true;
		return true;
	case OPT_PUSH:
		return add_push(o, argument);
	case OPT_PUSH_LABEL:
		return add_push_label(o, argument);
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
		return add_capture(o, argument);
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
	case OPT_NORMALIZE:
		o->normalize = true;
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
		complain("%s cannot be used with --from: it applies only to a run",
			 option_shown(of_run, shown));
		return false;
	}
	slice_kinds(o);
	return true;
}

static bool check_diff(struct options *o, const struct option_entry *of_run, bool has_border)
{
	char shown[OPTION_SHOWN_BYTES];

	if (of_run || o->from_count) {
		complain("%s is for one run; --diff compares runs that are over",
			 of_run ? option_shown(of_run, shown) : "--from");
		return false;
	}
	if (o->push_count) {
		complain("--push is for one run: not with --diff");
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
	if (has_spans(o)) {
		complain("--otlp is for one run; --diff compares runs that are over");
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
	char error[GATE_ERROR_BYTES];

	if (o->gates.limit_text && !o->diff && o->before.count == 0) {
		complain("--fail-above needs a --baseline to compare with");
		return false;
	}
	if (o->gates.count > 0 && !o->gates.limit_text) {
		complain("--fail-on needs --fail-above: by how much it may rise");
		return false;
	}
	if (!gates_fit(&o->gates, error)) {
		complain("%s", error);
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
	complain("unrecognized option '%s'%s%s", word,
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
		complain("option '%s' requires an argument, %s: the option '%s' follows it", shown,
			 argument, instead);
	else
		complain("option '%s' requires an argument: %s", shown, argument);
}

/*
 * What getopt found wrong; it would print the word as it is, whatever that does to the terminal.
 * `optopt` is the option that lacks its argument or has one too many, a letter that is no option,
 * or 0.
 */
static void explain(const char *word, bool is_long)
{
	char letter[] = {'-', (char)optopt, '\0'}, text[SLIP_TEXT_BYTES];

	if (!is_long && option_entry(optopt)->id) {
		explain_missing(letter, NULL);
	} else if (!is_long) {
		slip_hint(letter, text);
		complain("invalid option -- '%c'%s%s", optopt, text[0] ? ": " : "", text);
	} else if (optopt && option_entry(optopt)->kind == ARGUMENT_NONE) {
		complain("option '%.*s' doesn't allow an argument", (int)strcspn(word, "="), word);
	} else if (optopt) {
		explain_missing(word, NULL);
	} else if (slip_candidates(word, text) > 1) {
		complain("option '%s' is ambiguous: %s", word, text);
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

	if (*has_border && !o->diff)
		return optind < argc ? OPERAND : -1;
	for (;;) {
		before = optind;
		option = next_option(argc, argv);
		if (option != -1 || (!o->diff && !o->from_count))
			return option;
		if (before > 0 && optind == before + 1 && !*has_border) {
			*has_border = true; /* getopt has skipped "--" */
			if (o->diff)
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
	complain("'%s' begins with a dash of printed text; type a hyphen: -%s", argv[at],
		 argv[at] + hyphen);
	return false;
}

/* What a shell makes of "--baseline old-*.profile". */
static void explain_baselines(const struct options *o, const char *word)
{
	const char *last = o->before.paths[o->before.count - 1];

	complain("--baseline takes one file, and '%s' follows it; write --baseline before each: "
		 "--baseline %s --baseline %s",
		 word, last, word);
}

/* Whether a file of this name is one that runs are compared with, and no command. */
static bool is_capture(const char *path)
{
	return has_suffix(path, capture_writer.suffix) || has_suffix(path, folded_writer.suffix) ||
	       has_suffix(path, ".trace");
}

/* What was asked for has been printed: whether it was written, too. */
static enum options_result printed(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return OPTIONS_DONE;
	complain("writing to standard output: %s", strerror(errno));
	return OPTIONS_WRONG;
}

/* --help, --help TOPIC, --help OPTION, --help=TOPIC */
static enum options_result print_help(const char *topic)
{
	char list[WORDS_BYTES], hint[SLIP_TEXT_BYTES];

	if (!topic) {
		help_overview(stdout);
		return printed();
	}
	if (help_topic(topic, stdout) || help_option(topic, stdout))
		return printed();
	slip_hint(topic, hint);
	join(option_entry('h')->words, list);
	if (hint[0])
		complain("no help on '%s': %s", topic, hint);
	else
		complain("no help on '%s'; name an option, or a topic: %s", topic, list);
	return OPTIONS_WRONG;
}

/* What follows the option -h or --help, and is not the command's: a topic, or an option. */
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
	int number = word_number(OPT_COMPLETION, shell);

	if (number >= 0)
		completion_print((enum completion_shell)number, stdout);
	return number >= 0;
}

/* Names the option that has taken the last word, which may have been meant as the command. */
static void complain_no_command(int argc, char *const *argv)
{
	const char *last = argv[argc - 1], *option = argc > 2 ? argv[argc - 2] : "";

	if (option[0] == '-' && option[1] && last[0] != '-')
		complain("no command to run: '%s' is what %s takes; the command comes behind it",
			 last, option);
	else
		complain("no command to run");
}

enum options_result options_parse(int argc, char **argv, struct options *options)
{
	const struct option_entry *of_run = NULL;
	bool has_border = false, has_baseline = false, has_widths = false;
	int option, behind_baseline = 0;

	memset(options, 0, sizeof(*options));
	options->measure = (struct measure){
		.samples_cpu = true, .traces_gpu = true, .frequency_hz = OPTIONS_DEFAULT_FREQUENCY};
	options->widths = SIDE_AFTER;
	options->counters.launches = OPTIONS_METRICS_LAUNCHES;
	if (argc < 2) {
		help_first_page(stderr);
		return OPTIONS_WRONG;
	}
	optind = 0;                  /* start afresh: tests parse more than once */
	argv[0] = (char *)"profile"; /* the prefix of getopt's messages, as of ours */
	while ((option = next_word(options, argc, argv, &has_border)) != -1) {
		if (option == OPERAND && !options->diff) {
			if (optind == behind_baseline) {
				explain_baselines(options, argv[optind]);
				goto wrong;
			}
			if (!add_capture(options, argv[optind++]))
				goto wrong;
			continue;
		}
		if (option == OPERAND) {
			if (!add_file(has_border ? &options->after : &options->before,
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
		if (!set_option(options, option, optarg))
			goto wrong;
		if (option_entry(option)->is_of_run)
			of_run = option_entry(option);
		if (option == OPT_BASELINE) {
			has_baseline = true;
			behind_baseline = optind;
		}
		has_widths |= option == OPT_WIDTHS;
	}
	if (options->listed_metrics) {
		if (optind >= argc)
			return OPTIONS_LIST_METRICS;
		complain("--list-metrics runs no command; its pattern is behind =: "
			 "--list-metrics='%s'",
			 argv[optind]);
		goto wrong;
	}
	if (options->push_label_count && !options->push_count) {
		complain("--push-label is for --push");
		goto wrong;
	}
	if (optind < argc && !options->diff && !check_command(argv, optind))
		goto wrong;
	if (optind < argc && optind == behind_baseline && !options->diff &&
	    is_capture(argv[optind])) {
		explain_baselines(options, argv[optind]);
		goto wrong;
	}
	if (!choose_formats(options) || !check_open(options))
		goto wrong;
	if (options->span_stacks && !has_spans(options)) {
		complain("--otlp-stacks is for spans: --otlp");
		goto wrong;
	}
	if (!check_gates(options) || (has_widths && !check_widths(options)))
		goto wrong;
	if (options->normalize && !options->diff) {
		complain("--normalize is for comparing runs: --diff BEFORE AFTER");
		goto wrong;
	}
	if (!check_weight(options))
		goto wrong;
	if (options->diff) {
		if (has_baseline)
			of_run = option_entry(OPT_BASELINE);
		if (!check_diff(options, of_run, has_border))
			goto wrong;
		return OPTIONS_DIFF;
	}
	if (!check_metrics(options) || !check_delay(options))
		goto wrong;
	if (options->from_count) {
		if (!check_from(options, of_run))
			goto wrong;
		return OPTIONS_FROM;
	}
	if (attach_is_wanted(&options->attach)) {
		if (!check_attach(options, optind < argc))
			goto wrong;
		set_attached(options);
	} else if (options->no_inject) {
		complain("--no-inject is for processes that already run: -p, --name or --cgroup");
		goto wrong;
	} else if (optind >= argc) {
		complain_no_command(argc, argv);
		goto wrong;
	}
	choose_launch_stacks(options);
	if (!check_inprocess(options, options->measure.nvtx, "--nvtx") ||
	    !check_inprocess(options, options->measure.max_overhead > 0, "--max-overhead") ||
	    !check_calls(options) || !check_wall(options) || !check_idle(options) ||
	    !check_prometheus(options) || !check_spans(options) || !check_last(options) ||
	    !check_ranges(options))
		goto wrong;
	if (options->measure.wall && options->measure.traces_gpu && !options->no_inject)
		options->measure.waits = true; /* what ran while threads waited for it */
	options->measure.ranges = options->has_ranges ? options->ranges : NULL;
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
	gates_release(&options->gates);
}
