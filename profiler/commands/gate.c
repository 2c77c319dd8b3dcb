// SPDX-License-Identifier: MIT
#include "profiler/commands/gate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/exit_status.h"
#include "profiler/base/measure.h"
#include "profiler/report/changes.h"
#include "profiler/tables/rise.h"

#define NAME_BYTES 128
#define LIMIT_MAX 1e15
#define REMEDY_BYTES 192

bool gates_parse_limit(const char *text, struct gates *g)
{
	static const struct {
		const char *word;
		double factor;
		enum change_unit unit;
	} units[] = {{"%", 1, CHANGE_UNITS},
		     {"ns", 1, CHANGE_OF_TIME},
		     {"us", 1e3, CHANGE_OF_TIME},
		     {"ms", 1e6, CHANGE_OF_TIME},
		     {"s", 1e9, CHANGE_OF_TIME},
		     {"KiB", 1 << 10, CHANGE_OF_BYTES},
		     {"MiB", 1 << 20, CHANGE_OF_BYTES},
		     {"GiB", 1 << 30, CHANGE_OF_BYTES},
		     {"errors", 1, CHANGE_OF_ERRORS}};
	size_t digits = strspn(text, "0123456789."), length;
	char number[32];
	char *end;

	length = digits;
	if (digits == 0 || digits >= sizeof(number))
		return false;
	memcpy(number, text, length);
	number[length] = '\0';
	g->limit = strtod(number, &end);
	if (*end)
		return false;
	while (text[length] == ' ')
		length++;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(text + length, units[i].word) != 0)
			continue;
		g->is_percent = units[i].unit == CHANGE_UNITS;
		g->unit = units[i].unit;
		g->limit *= units[i].factor;
		g->limit_text = text;
		return g->limit <= LIMIT_MAX;
	}
	return false;
}

static bool parse_pattern(const char *pattern, struct gate *gate, char error[GATE_ERROR_BYTES])
{
	int err = regcomp(&gate->pattern, pattern, REG_EXTENDED | REG_NOSUB);

	if (!err)
		return true;
	regerror(err, &gate->pattern, error, GATE_ERROR_BYTES);
	return false;
}

bool gates_parse(const char *text, struct gates *g, char error[GATE_ERROR_BYTES])
{
	static const struct {
		const char *word;
		enum comparison_tables table;
		bool is_total;
	} tables[] = {
		{"kernel=", COMPARED_KERNELS, false},
		{"function=", COMPARED_FUNCTIONS, false},
		{"function-total=", COMPARED_FUNCTIONS, true},
		{"site=", COMPARED_SITES, false},
		{"call=", COMPARED_CALLS, false},
		{"shape=", COMPARED_SHAPES, false},
		{"peak=", COMPARED_PEAK, false},
		{"left=", COMPARED_LEFT, false},
		{"errors=", COMPARED_ERRORS, false},
	};
	struct gate *gate = &g->list[g->count];

	if (g->count == GATES_MAX) {
		snprintf(error, GATE_ERROR_BYTES, "at most %d of them", GATES_MAX);
		return false;
	}
	*gate = (struct gate){.text = text};
	for (int i = 0; i < COMPARISON_TOTALS; i++) {
		if (strcmp(text, comparison_total_word((enum comparison_total)i)) == 0) {
			gate->total = (enum comparison_total)i;
			g->count++;
			return true;
		}
	}
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		size_t n = strlen(tables[i].word);

		if (strncmp(text, tables[i].word, n) != 0)
			continue;
		gate->has_pattern = true;
		gate->table = tables[i].table;
		gate->is_total = tables[i].is_total;
		if (!parse_pattern(text + n, gate, error))
			return false;
		g->count++;
		return true;
	}
	snprintf(error, GATE_ERROR_BYTES,
		 "it is gpu, cpu, waiting, idle, api, wall, peak, left, errors, or with =REGEX "
		 "kernel, function, function-total, site, call, shape, peak, left or errors");
	return false;
}

static enum change_unit unit_of(const struct gate *gate)
{
	return gate->has_pattern ? comparison_table_unit(gate->table)
				 : comparison_total_unit(gate->total);
}

/* Returns the noun for a unit in messages: "time". */
static const char *unit_word(enum change_unit unit)
{
	static const char *const words[CHANGE_UNITS] = {"time", "memory", "errors"};

	return words[unit];
}

bool gates_fit(const struct gates *g, char error[GATE_ERROR_BYTES])
{
	for (uint32_t i = 0; !g->is_percent && i < g->count; i++) {
		enum change_unit unit = unit_of(&g->list[i]);

		if (g->unit == unit)
			continue;
		snprintf(error, GATE_ERROR_BYTES,
			 "--fail-on %.60s: --fail-above %.30s is not a limit of %s",
			 g->list[i].text, g->limit_text, unit_word(unit));
		return false;
	}
	if (!g->limit_text || g->is_percent || g->count > 0 || g->unit == CHANGE_OF_TIME)
		return true;
	snprintf(error, GATE_ERROR_BYTES,
		 "--fail-above %.30s is not a limit of GPU time: --fail-on says what to compare",
		 g->limit_text);
	return false;
}

void gates_release(struct gates *g)
{
	for (uint32_t i = 0; i < g->count; i++)
		if (g->list[i].has_pattern)
			regfree(&g->list[i].pattern);
	g->count = 0;
}

/* Prints a workflow command's message: https://docs.github.com/actions, "Workflow commands". */
static void annotate(const char *message)
{
	const char *actions = getenv("GITHUB_ACTIONS");

	if (!actions || strcmp(actions, "true") != 0)
		return;
	fputs("::error title=Slower than the baseline::", stderr);
	for (; *message; message++)
		if (*message == '%')
			fputs("%25", stderr);
		else
			fputc(*message == '\r' || *message == '\n' ? '?' : *message, stderr);
	fputc('\n', stderr);
}

/* Writes the name of a gate for messages. */
static void name_of(const struct gate *gate, uint32_t found, char name[NAME_BYTES])
{
	if (gate->has_pattern)
		snprintf(name, NAME_BYTES, "%s%s of %.80s (%u matching)",
			 gate->table != COMPARED_FUNCTIONS ? ""
			 : gate->is_total                  ? "total "
							   : "own ",
			 unit_word(unit_of(gate)), gate->text, found);
	else
		snprintf(name, NAME_BYTES, "%s", changes_total_name(gate->total));
}

/* Describes a change: "rose by 12.0 % (1.000 ms to 1.120 ms)", "stayed at 1.000 ms". */
static void describe(const struct comparison *c, const struct change *change, char text[160])
{
	char before[CHANGES_TEXT_BYTES], after[CHANGES_TEXT_BYTES], percent[32] = "";

	if (change_verdict(change) == CHANGED_NOT) {
		snprintf(text, 160, "stayed at %s",
			 changes_amount(before, c, change, change->before));
		return;
	}
	if (change->before > 0)
		snprintf(percent, sizeof(percent), " by %.1f %%",
			 fabs(change_difference(change)) / change->before * 100);
	snprintf(text, 160, "%s%s (%s to %s)", change_difference(change) < 0 ? "fell" : "rose",
		 percent, changes_amount(before, c, change, change->before),
		 changes_amount(after, c, change, change->after));
}

static void fail(struct log *log, const struct gates *g, const struct comparison *c,
		 const struct change *change, const char *name)
{
	char text[160], bound[CHANGES_TEXT_BYTES], message[512];
	const bool is_time = change->unit == CHANGE_OF_TIME;
	bool is_exact = !is_time && change->has_bound && change->bound <= 0;

	describe(c, change, text);
	changes_amount(bound, c, change, change->bound);
	if (!change->has_bound)
		snprintf(bound, sizeof(bound), "not known from one run");
	snprintf(message, sizeof(message), "%s %s, above %s%s%s%s", name, text, g->limit_text,
		 is_exact ? "" : "; the noise is ", change->has_bound && !is_exact ? "up to " : "",
		 is_exact ? "" : bound);
	log_error(log, "%s", message);
	annotate(message);
	if (is_time && !c->is_weights && c->runs[SIDE_BEFORE] == 1)
		log_error(log, "one baseline does not show how times differ from run to run: give "
			       "several --baseline");
}

/* Returns the reason why no run has a time, and what to do. */
static const char *no_time(const struct gate *gate, const struct comparison *c, uint32_t found)
{
	static const char *const totals[COMPARISON_TOTALS] = {
		[TOTAL_GPU] = "no run has GPU time: no process used CUDA, or it was not traced, as "
			      "the summary of the run says; to compare another time: --fail-on cpu",
		[TOTAL_CPU] = "no run has CPU time: -gpu-only, or samples are not permitted, as "
			      "the summary of the run says; to compare another time: --fail-on gpu",
		[TOTAL_WAITING] = "no run has waiting time: --waits or --wall measures it",
		[TOTAL_IDLE] = "no run has idle GPUs: --idle measures it",
		[TOTAL_API] = "no run has CUDA calls: --api measures them",
		[TOTAL_WALL] = "no run took any time",
	};

	if (gate->is_total && found)
		return "no run has CPU time in such a function; to compare GPU work by who "
		       "launched it: --fail-on site=REGEX";
	if (gate->has_pattern && gate->table == COMPARED_FUNCTIONS && !gate->is_total)
		return "no sample fell into a function of such a name, before or after; for its "
		       "time with what it calls: --fail-on function-total=REGEX";
	if (gate->has_pattern)
		return "nothing has such a name, before or after; --top lists what there is";
	if (gate->total == TOTAL_GPU && !c->first[SIDE_BEFORE]->measure.traces_gpu &&
	    !c->first[SIDE_AFTER]->measure.traces_gpu)
		return "no run has GPU time: -cpu-only left it out; to compare another time: "
		       "--fail-on cpu";
	return totals[gate->total] ? totals[gate->total] : "no run has it";
}

/* Returns the reason why a change of 0 says nothing. Returns NULL if nothing is missing. */
static const char *missing(const struct gate *gate, const struct comparison *c, uint32_t found,
			   const struct change *change)
{
	const struct measure *before = &c->first[SIDE_BEFORE]->measure;
	const struct measure *after = &c->first[SIDE_AFTER]->measure;

	switch (change->unit) {
	case CHANGE_OF_BYTES:
		return before->memory && after->memory
			       ? NULL
			       : "not all runs have it: --alloc follows memory, before and after";
	case CHANGE_OF_ERRORS:
		return c->has_errors ? NULL
				     : "not all runs counted errors, from start to end: --api does";
	default:
		return change->before > 0 || change->after > 0 ? NULL : no_time(gate, c, found);
	}
}

/*
 * Returns the sampling rate that gives so many times the samples, such as 199. Returns 0 above the
 * maximum.
 */
static double rate_of(const struct comparison *c, double samples)
{
	double ns = fmax((double)c->first[SIDE_BEFORE]->sample_ns,
			 (double)c->first[SIDE_AFTER]->sample_ns);
	double hz = ns > 0 ? 100 * ceil((1e9 / ns * samples + 1) / 100) - 1 : 0;

	return hz <= MEASURE_MAX_HZ ? hz : 0;
}

/* Writes ways to reduce the noise to `target`: "-F 199, or 3 more baselines would show it". */
static const char *remedy(char text[REMEDY_BYTES], const struct comparison *c,
			  const struct rise *rise, double target)
{
	const double samples = c->is_weights ? 0 : rise_samples_needed(rise, target);
	const double rate = samples > 0 && rise->is_sampled ? rate_of(c, samples) : 0;
	const uint32_t runs = rise_runs_needed(rise, target);
	char ways[3][48];
	int count = 0;

	if (rate > 0)
		snprintf(ways[count++], sizeof(ways[0]), "-F %.0f in all runs", rate);
	if (samples > 0)
		snprintf(ways[count++], sizeof(ways[0]), "runs %g times as long",
			 ceil(samples * 10) / 10);
	if (runs > 0)
		snprintf(ways[count++], sizeof(ways[0]), "%u more baseline%s",
			 runs - rise->runs[SIDE_BEFORE],
			 runs - rise->runs[SIDE_BEFORE] == 1 ? "" : "s");
	if (count == 0)
		snprintf(text, REMEDY_BYTES, "%s: raise --fail-above%s",
			 rise->runs[SIDE_BEFORE] > 1
				 ? "more baselines do not help, these runs differ too much"
				 : "one run has too few samples or operations of it",
			 rise->runs[SIDE_BEFORE] > 1 ? ", or make the machine quieter" : "");
	else
		snprintf(text, REMEDY_BYTES, "%s%s%s%s%s would show it", ways[0],
			 count > 2   ? ", "
			 : count > 1 ? " or "
				     : "",
			 count > 1 ? ways[1] : "", count > 2 ? ", or " : "",
			 count > 2 ? ways[2] : "");
	return text;
}

/* Finds the values of a gate by run. Returns 0, or EXIT_PROFILER_FAILED if out of memory. */
static int values_of(struct log *log, const struct gate *gate, const struct comparison *c,
		     uint32_t *found, struct run_values *values)
{
	*found = 0;
	if (!gate->has_pattern) {
		*values = comparison_total(c, gate->total);
	} else if (!gate->is_total) {
		*found = comparison_matching(c, gate->table, &gate->pattern, values);
	} else if (comparison_matching_totals(c, &gate->pattern, found, values) != 0) {
		return log_failure(log, "--fail-on %s: out of memory", gate->text);
	}
	return 0;
}

static int check(struct log *log, const struct gates *g, const struct gate *gate,
		 const struct comparison *c)
{
	uint32_t found;
	struct run_values values;
	struct rise rise;
	struct change change;
	const char *lacks;
	double limit, difference;
	char name[NAME_BYTES], text[160], bound[CHANGES_TEXT_BYTES], ways[REMEDY_BYTES];

	if (values_of(log, gate, c, &found, &values) != 0)
		return EXIT_PROFILER_FAILED;
	rise = rise_of(&values);
	change = (struct change){.before = rise.before,
				 .after = rise.after,
				 .bound = rise.bound,
				 .has_bound = rise.has_bound,
				 .unit = unit_of(gate)};
	name_of(gate, found, name);
	lacks = missing(gate, c, found, &change);
	if (lacks)
		return log_failure(log, "--fail-on %s: %s", gate->text, lacks);
	limit = g->is_percent ? rise.before * g->limit / 100 : g->limit;
	difference = change_difference(&change);
	describe(c, &change, text);
	changes_amount(bound, c, &change, rise.bound);
	if (difference > limit && (!rise.has_bound || difference > rise.bound)) {
		fail(log, g, c, &change, name);
		return EXIT_SLOWER;
	}
	remedy(ways, c, &rise, fmax(limit, difference));
	if (difference > limit)
		log_warn(log, "%s %s, above %s, but within the noise of %s: this does not fail; %s",
			 name, text, g->limit_text, bound, ways);
	else
		log_line(log, "%s %s: not above %s", name, text, g->limit_text);
	if (difference <= limit && limit > 0 && rise.bound > limit)
		log_warn(log, "%s: a rise above %s may be within the noise, which is up to %s; %s",
			 name, g->limit_text, bound, ways);
	return 0;
}

int gates_check(struct log *log, const struct gates *g, const struct comparison *c)
{
	static const struct gate gpu = {.text = "gpu", .total = TOTAL_GPU};
	int status = 0;

	if (!g->limit_text)
		return 0;
	if (c->is_weights && !g->is_percent)
		return log_failure(
			log,
			"--fail-above %s has a unit, and folded stacks have none: give a "
			"percentage",
			g->limit_text);
	if (g->count == 0)
		return check(log, g, &gpu, c);
	for (uint32_t i = 0; i < g->count; i++) {
		int one = check(log, g, &g->list[i], c);

		if (one > status) /* a check that cannot be made is worse than a slower program */
			status = one;
	}
	return status;
}
