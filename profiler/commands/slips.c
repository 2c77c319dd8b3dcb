// SPDX-License-Identifier: MIT
#include "profiler/commands/slips.h"

#include <stdio.h>
#include <string.h>
#include "profiler/base/near_word.h"
#include "profiler/commands/option_table.h"
#include "symbolize/util/text.h"

#define SHOWN_CANDIDATES 6

/*
 * Options of other tools, and hints for options that profile does not need. Aliases are in
 * option_table.c.
 */
static const struct foreign_option {
	const char *names, *hint; /* names separated by spaces */
} foreign_options[] = {
	{"gpu", "-gpu-only is GPU time alone; CPU and GPU time together need no option"},
	{"cpu", "-cpu-only is CPU time alone; CPU and GPU time together need no option"},
	{"kernels", "did you mean --kernels-only, or --kernel NAME?"},
	{"cuda kernel-trace hip-trace sys-trace",
	 "GPU work is traced without an option: leave it out"},
	{"all", "everything is in the profile without an option: leave it out"},
	{"native", "native functions are shown without an option; --native-python keeps the "
		   "interpreter's own"},
	{"python", "Python functions are shown without an option; --python-lines adds lines"},
	{"g call-graph b backtrace", "stacks are always taken: leave it out"},
	{"a all-cpus", "profile follows a command, or running processes: -p, --name or --cgroup"},
	{"C", "profile follows processes on all CPUs: leave it out"},
	{"e", "CPU time is sampled by a clock (-F); to set a variable: profile [options] env "
	      "NAME=VALUE ./app"},
	{"event",
	 "CPU time is sampled by a clock: -F sets its frequency; --counters reads counters "
	 "of the GPU"},
	{"c", "CPU samples are taken by time: -F sets how many per second; --range, --delay and -d "
	      "choose when"},
	{"count period interval", "CPU samples are taken by time: -F sets how many per second"},
	{"tid", "-p PID profiles the process, and --thread TID shows one thread of it"},
	{"u uid", "--name REGEX or --cgroup PATH choose running processes"},
	{"no-inherit", "descendants are always profiled; --process shows one"},
	{"i", "to read a capture: --from FILE"},
	{"D y", "did you mean --delay?"},
	{"t", "GPU work is traced without an option; --api, --nvtx and --wall add to it, --by "
	      "thread separates threads"},
	{"trace", "GPU work is traced without an option; --api, --nvtx and --wall add to it"},
	{"s", "CPU samples and descendants are in the profile without an option; -gpu-only leaves "
	      "CPU samples out"},
	{"sample", "CPU samples are taken without an option; -gpu-only leaves them out"},
	{"python-backtrace python-sampling",
	 "Python functions are shown without an option: leave it out"},
	{"capture-range", "did you mean --range NAME (cudaProfilerApi, or an NVTX range)?"},
	{"f", "a file of that name is replaced: leave it out; --format chooses a format"},
	{"force-overwrite overwrite force", "a file of that name is replaced: leave it out"},
	{"w show-output", "the command's own output stays as it is: leave it out"},
	{"env-var env", "to set a variable: profile [options] env NAME=VALUE ./app"},
	{"stats summary print-summary", "did you mean --top?"},
	{"export", "the extension of -o FILE selects the format; it may be repeated"},
	{"cuda-memory-usage memory", "did you mean --alloc?"},
	{"cuda-graph-trace", "did you mean --graph?"},
	{"cuda-um-cpu-page-faults cuda-um-gpu-page-faults", "did you mean --unified-memory?"},
	{"gpu-metrics-devices", "did you mean --counters?"},
	{"k kernel-name",
	 "--kernel NAME shows some kernels, --counters-kernels REGEX measures some"},
	{"launch-count", "did you mean --counters-launches?"},
	{"set section", "did you mean --counters default?"},
	{"csv", "tables as data: -o FILE.json"},
	{"page", "tables on the screen: --top"},
	{"r", "did you mean -F?"},
	{"n", "native functions are shown without an option: leave it out"},
	{"subprocesses children", "descendants are always profiled: leave it out"},
	{"threads", "did you mean --by thread?"},
	{"gil", "--wall shows what threads wait for, the lock of Python's interpreter, too"},
	{"nonblocking", "programs are never stopped: leave it out"},
	{"attach", "did you mean -p PID, or --name REGEX?"},
	{"runtime-trace", "did you mean --api?"},
	{"timeout time-limit", "did you mean --duration?"},
	{"O", "did you mean -o?"},
	{"V", "did you mean --version?"},
	{"?", "did you mean --help?"},
	{"flamegraph", "the extension selects the format: -o FILE.html or -o FILE.svg"},
	{"html", "the extension selects the format: -o FILE.html"},
	{"svg", "the extension selects the format: -o FILE.svg"},
	{"json", "the extension selects the format: -o FILE.json"},
	{"timeline", "the extension selects the format: -o FILE.perfetto-trace, or -o FILE.html"},
};

/* Extracts the name from a word, without dashes and value. */
static void name_of(const char *word, char name[NEAR_WORD_MAX + 1])
{
	word += strspn(word, "-");
	snprintf(name, NEAR_WORD_MAX + 1, "%.*s", (int)strcspn(word, "="), word);
}

static bool has_word(const char *words, const char *word)
{
	for (size_t n; *words; words += n + (words[n] == ' ')) {
		n = strcspn(words, " ");
		if (n == strlen(word) && strncmp(words, word, n) == 0)
			return true;
	}
	return false;
}

static const char *foreign_hint(const char *name)
{
	for (size_t i = 0; i < sizeof(foreign_options) / sizeof(foreign_options[0]); i++)
		if (has_word(foreign_options[i].names, name))
			return foreign_options[i].hint;
	return NULL;
}

static bool is_option(const char *name)
{
	for (const struct option_entry *e = option_table; e->id; e++)
		if (e->name && strcmp(e->name, name) == 0)
			return true;
	return false;
}

/* ---- several options ---- */

/* Distinct options to suggest, and their total count. */
struct choices {
	const struct option_entry *list[SHOWN_CANDIDATES];
	int count;
};

static void choose(struct choices *c, const struct option_entry *e)
{
	int shown = c->count < SHOWN_CANDIDATES ? c->count : SHOWN_CANDIDATES;

	for (int i = 0; i < shown; i++)
		if (c->list[i]->id == e->id)
			return;
	if (c->count < SHOWN_CANDIDATES)
		c->list[c->count] = e;
	c->count++;
}

/* Prints "--a, --b or --c". */
static void print_choices(const struct choices *c, char text[SLIP_TEXT_BYTES])
{
	int shown = c->count < SHOWN_CANDIDATES ? c->count : SHOWN_CANDIDATES;

	text[0] = '\0';
	for (int i = 0; i < shown; i++)
		append_text(text, SLIP_TEXT_BYTES, "%s%s%s",
			    i == 0                                ? ""
			    : i == shown - 1 && shown == c->count ? " or "
								  : ", ",
			    c->list[i]->takes_one_dash ? "-" : "--", c->list[i]->name);
	if (c->count > shown)
		append_text(text, SLIP_TEXT_BYTES, " or others");
}

static void find_beginnings(const char *name, struct choices *c)
{
	for (const struct option_entry *e = option_table; e->id; e++)
		if (e->name && strncmp(e->name, name, strlen(name)) == 0)
			choose(c, e);
}

int slip_candidates(const char *word, char text[SLIP_TEXT_BYTES])
{
	struct choices c = {.count = 0};
	char name[NEAR_WORD_MAX + 1];

	name_of(word, name);
	find_beginnings(name, &c);
	print_choices(&c, text);
	return c.count;
}

/* ---- what was meant ---- */

/* Finds the options with the fewest typing errors, up to `limit`. */
static void find_nearest(const char *name, unsigned int limit, struct choices *c)
{
	unsigned int least = limit + 1;

	for (const struct option_entry *e = option_table; e->id; e++) {
		unsigned int slips = e->name ? near_word_slips(name, e->name) : least + 1;

		if (slips > least || slips > limit)
			continue;
		if (slips < least)
			c->count = 0;
		least = slips;
		choose(c, e);
	}
}

/* Returns whether `part` is one or several of the words between hyphens. */
static bool has_part(const char *name, const char *part)
{
	size_t length = strlen(part);

	for (const char *at = name; (at = strstr(at, part)); at++)
		if ((at == name || at[-1] == '-') && (!at[length] || at[length] == '-'))
			return true;
	return false;
}

static void find_parts(const char *name, struct choices *c)
{
	for (const struct option_entry *e = option_table; e->id; e++)
		if (e->name && strlen(name) > 2 && strlen(e->name) > 2 &&
		    (has_part(e->name, name) || has_part(name, e->name)))
			choose(c, e);
}

void slip_hint(const char *word, char text[SLIP_TEXT_BYTES])
{
	struct choices c = {.count = 0};
	char name[NEAR_WORD_MAX + 1], list[SLIP_TEXT_BYTES];
	const char *hint;

	text[0] = '\0';
	if (strlen(word) > NEAR_WORD_MAX + 2)
		return;
	name_of(word, name);
	hint = foreign_hint(name);
	if (hint) {
		snprintf(text, SLIP_TEXT_BYTES, "%s", hint);
		return;
	}
	/* most probable suggestions first */
	find_nearest(name, near_word_limit(name) > 0, &c);
	if (c.count == 0 && strlen(name) > 2)
		find_beginnings(name, &c);
	if (c.count == 0)
		find_parts(name, &c);
	if (c.count == 0)
		find_nearest(name, near_word_limit(name), &c);
	if (c.count == 0)
		return;
	print_choices(&c, list);
	snprintf(text, SLIP_TEXT_BYTES, "did you mean %.200s?", list);
}

bool slip_misleads(const char *word)
{
	static const char only[] = "-only";
	char name[NEAR_WORD_MAX + 1];
	struct choices c = {.count = 0};
	size_t length;

	name_of(word, name);
	if (!name[0] || is_option(name))
		return false;
	if (name[1] && foreign_hint(name)) /* a letter has one dash */
		return true;
	/* an option like -gpu-only excludes what the word does not mention */
	find_beginnings(name, &c);
	if (c.count != 1)
		return false;
	length = strlen(c.list[0]->name);
	return length > strlen(only) &&
	       strcmp(c.list[0]->name + length - strlen(only), only) == 0 &&
	       strlen(name) < length - strlen("nly");
}

int slip_hyphen(const char *word)
{
	/* U+2010 to U+2015, and the minus sign U+2212 */
	const unsigned char *at = (const unsigned char *)word;

	return at[0] == 0xe2 && ((at[1] == 0x80 && at[2] >= 0x90 && at[2] <= 0x95) ||
				 (at[1] == 0x88 && at[2] == 0x92))
		       ? 3
		       : 0;
}
