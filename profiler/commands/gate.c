// SPDX-License-Identifier: MIT
#include "profiler/commands/gate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/exit_status.h"
#include "profiler/profile/significance.h"
#include "profiler/report/changes.h"

#define NAME_BYTES 128
#define LIMIT_MAX 1e15

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

/* "time": what is compared, for messages. */
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
			 "--fail-on %.60s: --fail-above %.30s is no limit of %s", g->list[i].text,
			 g->limit_text, unit_word(unit));
		return false;
	}
	if (!g->limit_text || g->is_percent || g->count > 0 || g->unit == CHANGE_OF_TIME)
		return true;
	snprintf(error, GATE_ERROR_BYTES,
		 "--fail-above %.30s is no limit of GPU time: --fail-on says what to compare",
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

/* A message of a workflow command: https://docs.github.com/actions, "Workflow commands". */
static void annotate(const char *message)
{
	const char *actions = getenv("GITHUB_ACTIONS");

	if (!actions || strcmp(actions, "true") != 0)
		return;
	fputs("::error title=Slower than the baseline::", stderr);
	for (; *message; message++) {
		switch (*message) {
		case '%':
			fputs("%25", stderr);
			break;
		case '\r':
		case '\n':
			fputc('?', stderr);
			break;
		default:
			fputc(*message, stderr);
		}
	}
	fputc('\n', stderr);
}

/* What is compared, for messages. */
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

static bool is_above(const struct gates *g, const struct change *c)
{
	double limit = g->is_percent ? c->before * g->limit / 100 : g->limit;

	return change_difference(c) > limit;
}

/* "rose by 12.0 % (1.000 ms to 1.120 ms)"; "stayed at 1.000 ms" */
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
	bool is_exact = change->unit != CHANGE_OF_TIME && change->has_bound && change->bound <= 0;

	describe(c, change, text);
	changes_amount(bound, c, change, change->bound);
	if (!change->has_bound)
		snprintf(bound, sizeof(bound), "not known from one run");
	snprintf(message, sizeof(message), "%s %s, above %s%s%s%s", name, text, g->limit_text,
		 is_exact ? "" : "; the noise is ", change->has_bound && !is_exact ? "up to " : "",
		 is_exact ? "" : bound);
	log_error(log, "%s", message);
	annotate(message);
}

/* Why no run has this time, and what to do. */
static const char *no_time(const struct gate *gate, const struct comparison *c, uint32_t found)
{
	static const char *const totals[COMPARISON_TOTALS] = {
		[TOTAL_GPU] =
			"no run has GPU time: no process used CUDA, or it was not traced, as the "
			"summary of the run says; to compare another time: --fail-on cpu",
		[TOTAL_CPU] =
			"no run has CPU time: -gpu-only, or samples are not permitted, as the "
			"summary of the run says; to compare another time: --fail-on gpu",
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
		return "nothing has such a name, before or after; --report lists what there is";
	if (gate->total == TOTAL_GPU && !c->first[SIDE_BEFORE]->measure.traces_gpu &&
	    !c->first[SIDE_AFTER]->measure.traces_gpu)
		return "no run has GPU time: -cpu-only left it out; to compare another time: "
		       "--fail-on cpu";
	return totals[gate->total] ? totals[gate->total] : "no run has it";
}

/* What is missing, so that a change of 0 says nothing; NULL: nothing. */
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

/* Returns the natural logarithm; `log` is that of messages here. */
static double natural(double value)
{
	return log(value);
}

#define ENOUGH_MAX 32 /* baselines to ask for */

/* Returns how much a run may exceed `count` baselines by chance, as a ratio less 1. */
static double excess(double deviation, uint32_t count, uint32_t after)
{
	return expm1(student_quantile(SIGNIFICANCE_LEVEL, count - 1) * deviation *
		     sqrt(1.0 / after + 1.0 / count));
}

/* Says how many baselines would do, where chance is above the limit. */
static void advise(struct log *log, double deviation, uint32_t count, uint32_t after, double limit)
{
	uint32_t enough = count;

	while (enough <= ENOUGH_MAX && excess(deviation, enough, after) > limit)
		enough++;
	if (enough <= ENOUGH_MAX)
		log_warn(log,
			 "%u baselines show rises above %.1f %%; with about %u more, of %.1f %%",
			 count, 100 * excess(deviation, count, after), enough - count, 100 * limit);
	else
		log_warn(log,
			 "%u baselines show rises above %.1f %%; more do not help, these runs "
			 "differ "
			 "too much: raise --fail-above, or make the machine quieter",
			 count, 100 * excess(deviation, count, after));
}

/* Checks the CPU time that the kernel charged. */
static int check_charged(struct log *log, const struct gates *g, const struct comparison *c)
{
	const uint32_t b = c->runs[SIDE_BEFORE], a = c->runs[SIDE_AFTER];
	double before = 0, after = 0, squares = 0, deviation, above, limit;
	struct change change = {.unit = CHANGE_OF_TIME, .has_bound = b > 1};
	char text[160], bound[CHANGES_TEXT_BYTES];

	for (uint32_t i = 0; i < b; i++)
		before += natural(c->charged_cpu[i]) / b;
	for (uint32_t i = 0; i < a; i++)
		after += natural(c->charged_cpu[b + i]) / a;
	for (uint32_t i = 0; i < b; i++)
		squares += pow(natural(c->charged_cpu[i]) - before, 2);
	change.before = exp(before);
	change.after = exp(after);
	limit = g->is_percent ? g->limit / 100 : g->limit / change.before;
	deviation = b > 1 ? sqrt(squares / (b - 1)) : 0;
	above = b > 1 ? excess(deviation, b, a) : 0;
	change.bound = above * change.before;
	describe(c, &change, text);
	if (!is_above(g, &change)) {
		log_line(log, "CPU time %s: not above %s", text, g->limit_text);
	} else if (b > 1 && change_difference(&change) <= change.bound) {
		log_warn(log,
			 "CPU time %s, above %s, but within the noise of %s: this does not fail",
			 text, g->limit_text, changes_amount(bound, c, &change, change.bound));
	} else {
		fail(log, g, c, &change, "CPU time");
		if (b == 1)
			log_error(log,
				  "one baseline does not show how CPU time differs from run to "
				  "run, so the limit alone decides: give several --baseline");
		return EXIT_SLOWER;
	}
	if (b > 1 && above > limit)
		advise(log, deviation, b, a, limit);
	return 0;
}

static int check(struct log *log, const struct gates *g, const struct gate *gate,
		 const struct comparison *c)
{
	struct change change = gate->has_pattern ? (struct change){0} : c->totals[gate->total];
	uint32_t found = 0;
	const char *lacks;
	char name[NAME_BYTES], text[160], bound[CHANGES_TEXT_BYTES];

	if (gate->is_total && comparison_matching_totals(c, &gate->pattern, &found, &change) != 0) {
		log_error(log, "--fail-on %s: out of memory", gate->text);
		return EXIT_PROFILER_FAILED;
	}
	if (gate->has_pattern && !gate->is_total)
		found = comparison_matching(c, gate->table, &gate->pattern, &change);
	name_of(gate, found, name);
	lacks = missing(gate, c, found, &change);
	if (lacks) {
		log_error(log, "--fail-on %s: %s", gate->text, lacks);
		return EXIT_PROFILER_FAILED;
	}
	if (!gate->has_pattern && gate->total == TOTAL_CPU && c->has_charged_cpu)
		return check_charged(log, g, c);
	if (!is_above(g, &change)) {
		describe(c, &change, text);
		log_line(log, "%s %s: not above %s", name, text, g->limit_text);
		return 0;
	}
	if (change.has_bound && !change.is_significant) {
		describe(c, &change, text);
		log_warn(log, "%s %s, above %s, but within the noise of %s: this does not fail",
			 name, text, g->limit_text,
			 changes_amount(bound, c, &change, change.bound));
		return 0;
	}
	fail(log, g, c, &change, name);
	return EXIT_SLOWER;
}

int gates_check(struct log *log, const struct gates *g, const struct comparison *c)
{
	static const struct gate gpu = {.text = "gpu", .total = TOTAL_GPU};
	int status = 0;

	if (!g->limit_text)
		return 0;
	if (c->is_weights && !g->is_percent) {
		log_error(log,
			  "--fail-above %s has a unit, and folded stacks have none: give a "
			  "percentage",
			  g->limit_text);
		return EXIT_PROFILER_FAILED;
	}
	if (g->count == 0)
		return check(log, g, &gpu, c);
	for (uint32_t i = 0; i < g->count; i++) {
		int one = check(log, g, &g->list[i], c);

		if (one > status) /* not being able to tell is worse than being slower */
			status = one;
	}
	return status;
}
