// SPDX-License-Identifier: MIT
#include "profiler/commands/option_rules.h"

#include "profiler/commands/option_table.h"

/* Conditions in rules that are not single options. */
enum condition {
	IF_ATTACHED = OPTION_IDS_END, /* -p, --name or --cgroup */
	IF_PART,                      /* a command is recorded for a part of its run */
	IF_UPROBES,                   /* launch stacks are taken by uprobes */
	IF_WEIGHED,                   /* stacks have another weight than time */
	IF_UNTIL_TOLD,                /* recording waits for `start` from --control */
};

enum rule_kind {
	NEEDS,    /* requires one of `others`: "--a TEXT" */
	NOT_WITH, /* excludes all `others`: "--a TEXT: not with --b" */
	REFUSED,  /* excludes all `others`: "--a TEXT" */
};

#define RULE_OPTIONS 12
#define RULE_OTHERS 10

struct option_rule {
	enum rule_stage stage;
	enum rule_kind kind;
	const char *text;
	int options[RULE_OPTIONS]; /* 0 ends the list */
	int others[RULE_OTHERS];
};

#define OF(...)             \
	{                   \
		__VA_ARGS__ \
	}
#define RULE(stage, kind, others, text, ...)             \
	{                                                \
		stage, kind, text, {__VA_ARGS__}, others \
	}

/* Rules in the order of checking. */
static const struct option_rule rules[] = {
	RULE(RULES_OF_ALL, REFUSED, OF(OPT_CPU_ONLY),
	     "and -cpu-only exclude each other; leave both out for the merged profile",
	     OPT_GPU_ONLY),
	RULE(RULES_OF_ALL, NEEDS, OF(OPT_PUSH), "is for --push", OPT_PUSH_LABEL),
	RULE(RULES_OF_ALL, NEEDS, OF(OPT_OTLP), "is for spans: --otlp", OPT_OTLP_STACKS),
	RULE(RULES_OF_ALL, NEEDS, OF(OPT_BASELINE, OPT_DIFF), "needs a --baseline to compare with",
	     OPT_FAIL_ABOVE),
	RULE(RULES_OF_ALL, NEEDS, OF(OPT_FAIL_ABOVE), "needs --fail-above: by how much it may rise",
	     OPT_FAIL_ON),
	RULE(RULES_OF_ALL, NEEDS, OF(OPT_DIFF), "is for comparing runs: --diff BEFORE AFTER",
	     OPT_NORMALIZE),
	RULE(RULES_OF_ALL, NEEDS, OF(OPT_LIST_METRICS), "is for --list-counters", OPT_CHIP),
	RULE(RULES_OF_ALL, NEEDS, OF(OPT_FROM), "asks about a capture: --from FILE.profile",
	     OPT_QUERY),
	RULE(RULES_OF_ALL, NOT_WITH, OF('o', OPT_OTLP, OPT_PUSH, IF_WEIGHED),
	     "answers on stdout, of times, and writes nothing else", OPT_QUERY),
	RULE(RULES_OF_ALL, NEEDS, OF(OPT_STEADY, OPT_STEP, OPT_PER_STEP, OPT_SLOW_STEPS),
	     "says what a step is: for --steady, --step, --per-step or --slow-steps", OPT_STEPS),
	RULE(RULES_OF_ALL, NOT_WITH, OF(OPT_OTLP), "has no course of the run, which spans show",
	     OPT_PER_STEP),
	RULE(RULES_OF_ALL, NOT_WITH, OF(OPT_DIFF, OPT_BASELINE, OPT_OTLP, OPT_PUSH, OPT_PER_STEP),
	     "compares steps of one run", OPT_SLOW_STEPS),
	RULE(RULES_OF_ALL, NOT_WITH,
	     OF(OPT_DIFF, OPT_BASELINE, OPT_OTLP, OPT_TIME, OPT_STEADY, OPT_STEP, OPT_PER_STEP,
		OPT_SLOW_STEPS, OPT_PUSH),
	     "draws one whole run by something else than time", IF_WEIGHED),
	RULE(RULES_OF_ALL, REFUSED, OF(OPT_DIFF),
	     "is for one run; --diff compares runs that are over", OPT_FROM, OPT_BASELINE, OPT_PUSH,
	     OPT_OTLP),
	RULE(RULES_OF_RUN, NEEDS, OF(OPT_METRICS), "is for --counters: which counters to read",
	     OPT_METRICS_KERNELS, OPT_METRICS_LAUNCHES),
	RULE(RULES_OF_RUN, NEEDS, OF(OPT_CONTROL),
	     "waits for the line `start` in a FIFO: name one with --control", IF_UNTIL_TOLD),
	RULE(RULES_OF_RUN, NEEDS, OF(IF_ATTACHED),
	     "is for processes that already run: -p, --name or --cgroup", OPT_NO_INJECT),
	RULE(RULES_OF_RUN, NOT_WITH, OF(IF_ATTACHED),
	     "needs the start of a command, where NVTX looks for a tool", OPT_NVTX, OPT_OPS,
	     OPT_RANGE),
	RULE(RULES_OF_RUN, NOT_WITH, OF(IF_ATTACHED),
	     "needs the start of a command: profile sets CUPTI up for it as contexts begin",
	     OPT_STALLS, OPT_METRICS),
	RULE(RULES_OF_RUN, NOT_WITH, OF(IF_ATTACHED),
	     "replaces what profile gives a command at its start", OPT_INJECTION_LIB, OPT_CUDA_LIB,
	     OPT_LAUNCH_STACKS),
	RULE(RULES_OF_RUN, NEEDS, OF(OPT_NVTX, OPT_OPS), "is for NVTX ranges: add --nvtx or --ops",
	     OPT_STEPS),
	RULE(RULES_OF_RUN, NOT_WITH, OF(OPT_NO_INJECT, OPT_CPU_ONLY), "needs launches of GPU work",
	     OPT_STEADY, OPT_STEP, OPT_PER_STEP, OPT_SLOW_STEPS),
	RULE(RULES_OF_RUN, NOT_WITH, OF(OPT_NO_INJECT), "needs GPU time", OPT_MAX_OVERHEAD,
	     OPT_ALLOC, OPT_IDLE, OPT_WAITS, OPT_API, OPT_UNIFIED_MEMORY, OPT_KERNELS_ONLY,
	     OPT_GRAPH, OPT_LAUNCH_SHAPES, OPT_PROMETHEUS, OPT_BUDGET),
	RULE(RULES_OF_RUN, NOT_WITH, OF(IF_ATTACHED), "keeps a run from its command's start",
	     OPT_RECORD),
	RULE(RULES_OF_RUN, NOT_WITH, OF(IF_UPROBES), "needs launch stacks taken in the process",
	     OPT_NVTX, OPT_OPS, OPT_MODULES, OPT_RANGE, OPT_MAX_OVERHEAD, OPT_BUDGET),
	RULE(RULES_OF_RUN, NOT_WITH, OF(OPT_CPU_ONLY), "needs GPU time", OPT_METRICS, OPT_WAITS,
	     OPT_API, OPT_ALLOC, OPT_STALLS, OPT_IDLE, OPT_PROMETHEUS, OPT_OTLP),
	RULE(RULES_OF_RUN, NOT_WITH, OF(OPT_KERNELS_ONLY), "counts what that leaves out", OPT_ALLOC,
	     OPT_IDLE),
	RULE(RULES_OF_RUN, NOT_WITH, OF(OPT_GPU_ONLY), "needs CPU samples", OPT_WALL, OPT_IDLE),
	RULE(RULES_OF_RUN, NOT_WITH, OF(IF_PART), "accounts for the whole run", OPT_WALL, OPT_IDLE),
	RULE(RULES_OF_RUN, NOT_WITH, OF(OPT_LAST, OPT_EVERY),
	     "accounts for all time of each thread from its start", OPT_WALL),
	RULE(RULES_OF_RUN, NOT_WITH, OF(OPT_LAST, OPT_EVERY),
	     "keeps all of a run, and grows with it", OPT_RECORD),
	RULE(RULES_OF_RUN, REFUSED, OF(OPT_EVERY),
	     "and --every exclude each other: one keeps the end of a run, one writes all of it",
	     OPT_LAST),
	RULE(RULES_OF_RUN, NOT_WITH, OF(OPT_EVERY), "is of one result", OPT_BASELINE, OPT_OPEN,
	     OPT_OTLP),
	RULE(RULES_OF_RUN, NOT_WITH,
	     OF(OPT_STRICT, OPT_LAST, OPT_RANGE, OPT_MAX_OVERHEAD, OPT_PROMETHEUS, OPT_LIVE,
		OPT_BASELINE, OPT_OTLP, OPT_RECORD),
	     "estimates sums from a part of the launches", OPT_BUDGET),
	RULE(RULES_OF_RUN, NOT_WITH,
	     OF(OPT_API, OPT_ALLOC, OPT_METRICS, OPT_STALLS, OPT_WAITS, OPT_WALL, OPT_IDLE,
		OPT_LAUNCH_SHAPES, OPT_UNIFIED_MEMORY, OPT_GRAPH),
	     "records a part of the launches, and no other events", OPT_BUDGET),
	RULE(RULES_OF_RUN, NOT_WITH,
	     OF(OPT_TIME, OPT_STEADY, OPT_STEP, OPT_PER_STEP, OPT_SLOW_STEPS),
	     "records no single moments of a run", OPT_BUDGET),
	RULE(RULES_OF_RUN, NOT_WITH, OF(IF_PART), "says when to record", OPT_RANGE),
	RULE(RULES_OF_RUN, NOT_WITH, OF(OPT_RANGE), "is of a whole run", OPT_WALL, OPT_IDLE,
	     OPT_ALLOC, OPT_API, OPT_STALLS, OPT_METRICS),
};

const char *option_rules_attach(const struct parsed_options *o)
{
	return o->attach.pid_count ? "-p"
	       : o->attach.name    ? "--name"
	       : o->attach.cgroup  ? "--cgroup"
				   : NULL;
}

/*
 * Returns how launch stacks are taken. The default is in the process, which is cheaper and needs
 * no privilege. With -cuda-lib the user asks for probes. A library of --injection-lib may not take
 * stacks.
 */
enum launch_stacks option_rules_launch_stacks(const struct parsed_options *o)
{
	if (o->run.launch_stacks != LAUNCH_STACKS_AUTO)
		return o->run.launch_stacks;
	return o->run.injection_lib || o->run.cuda_lib_count ? LAUNCH_STACKS_UPROBE
							     : LAUNCH_STACKS_INPROCESS;
}

/* Returns whether an option was given with an effective value, or a condition holds. */
static bool is_met(const struct parsed_options *o, int id)
{
	const struct measure *m = &o->run.measure;

	switch (id) {
	case IF_ATTACHED:
		return option_rules_attach(o);
	case IF_PART:
		return (m->delay_ns || m->duration_ns) && !option_rules_attach(o);
	case IF_UPROBES:
		return !m->traces_gpu || option_rules_launch_stacks(o) == LAUNCH_STACKS_UPROBE;
	case IF_WEIGHED:
		return o->options.weight != WEIGHT_TIME;
	case IF_UNTIL_TOLD:
		return m->delay_ns == MEASURE_UNTIL_TOLD;
	case OPT_LAUNCH_STACKS:
		return o->run.launch_stacks != LAUNCH_STACKS_AUTO;
	case OPT_GRAPH:
		return m->whole_graphs || m->device_graphs;
	default:
		return option_set_has(&o->given, id);
	}
}

/* Returns the name of an option or a condition in messages. */
static const char *shown(const struct parsed_options *o, int id, char text[OPTION_SHOWN_BYTES])
{
	switch (id) {
	case IF_ATTACHED:
		return option_rules_attach(o);
	case IF_PART:
		return "--delay or -d";
	case IF_UPROBES:
		return "-cpu-only, -launch-stacks uprobe, -injection-lib or -cuda-lib";
	case IF_WEIGHED:
		return "--weight";
	case IF_UNTIL_TOLD:
		return "--delay start";
	default:
		return option_shown(option_entry(id), text);
	}
}

/* Returns the first of `ids` that is met, or 0. */
static int first_met(const struct parsed_options *o, const int *ids, int max)
{
	for (int i = 0; i < max && ids[i]; i++)
		if (is_met(o, ids[i]))
			return ids[i];
	return 0;
}

static bool is_kept(const struct parsed_options *o, const struct option_rule *rule)
{
	char one[OPTION_SHOWN_BYTES], two[OPTION_SHOWN_BYTES];
	int option = first_met(o, rule->options, RULE_OPTIONS);
	int other = first_met(o, rule->others, RULE_OTHERS);

	if (!option || (rule->kind == NEEDS) == (other != 0))
		return true;
	if (rule->kind == NOT_WITH)
		option_complain("%s %s: not with %s", shown(o, option, one), rule->text,
				shown(o, other, two));
	else
		option_complain("%s %s", shown(o, option, one), rule->text);
	return false;
}

bool option_rules_check(const struct parsed_options *o, enum rule_stage stage)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].stage == stage && !is_kept(o, &rules[i]))
			return false;
	return true;
}
