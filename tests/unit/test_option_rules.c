/* SPDX-License-Identifier: MIT */
/*
 * Options that exclude each other, for each option: in a run, with -p, --from and --diff.
 * tests/golden/option_pairs.txt lists the pairs. After a change of the options:
 *
 *	OPTION_PAIRS=tests/golden/option_pairs.txt build/tests/unit/test_option_rules
 *
 * writes the list anew, and git diff shows its changes.
 */
#include "unit.h"
#include "profiler/commands/option_table.h"
#include "profiler/commands/options.h"

#define GOLDEN "tests/golden/option_pairs.txt"
#define WORDS_MAX 16

/* Values of options whose argument is none of a list of words. */
static const struct {
	int id;
	const char *value;
} values[] = {
	{OPT_BY, "process"},
	{OPT_KERNEL_CLASSES, "tests/golden/kernel_classes.txt"},
	{OPT_PUSH, "http://host:1"},
	{OPT_QUERY, "list"},
	{OPT_PUSH_LABEL, "a=b"},
	{OPT_TIME, "1..2"},
	{OPT_STEP, "1..2"},
	{OPT_FAIL_ABOVE, "5%"},
	{OPT_FAIL_ON, "cpu"},
	{OPT_DELAY, "1"},
	{'d', "1"},
	{OPT_LAST, "1"},
	{OPT_EVERY, "1"},
	{OPT_MAX_OVERHEAD, "1"},
	{OPT_BUDGET, "1"},
	{OPT_METRICS, "default"},
	{OPT_METRICS_LAUNCHES, "7"},
	{OPT_STALL_PERIOD, "64"},
	{OPT_WEIGHT, "peak"},
	{OPT_GRAPH, "graph"},
	{OPT_LAUNCH_STACKS, "uprobe"},
	{OPT_STREAM, "7"},
	{'F', "99"},
	{'p', "1"},
	{'o', "out.html"},
};

static const struct {
	const char *name;
	const char *words[4];
} contexts[] = {{"run", {"-o", "a.svg", "app"}},
		{"-p", {"-o", "a.svg", "-p", "2"}},
		{"--from", {"-o", "a.svg", "--from", "b.profile"}},
		{"--diff", {"-oa.svg", "--diff", "b.profile", "c.profile"}}};

static struct capture captured;

/* Writes the words of an option: "--by=process". */
static void write_option(const struct option_entry *e, char word[128])
{
	const char *value = e->words ? e->words[0] : "x";
	char shown[OPTION_SHOWN_BYTES];

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		if (values[i].id == e->id)
			value = values[i].value;
	if (e->kind == ARGUMENT_NONE || option_is_joined(e))
		snprintf(word, 128, "%s", option_shown(e, shown));
	else
		snprintf(word, 128, "%s%s%s", option_shown(e, shown),
			 e->id < OPT_GPU_ONLY ? "" : "=", value);
}

static bool is_refused(const char *one, const char *other, const char *const context[4])
{
	char words[WORDS_MAX][128], *argv[WORDS_MAX];
	int argc = 0;
	struct options options;
	bool refused;

	snprintf(words[argc++], 128, "profile");
	snprintf(words[argc++], 128, "%s", one);
	if (other)
		snprintf(words[argc++], 128, "%s", other);
	for (int i = 0; i < 4 && context[i]; i++)
		snprintf(words[argc++], 128, "%s", context[i]);
	for (int i = 0; i < argc; i++)
		argv[i] = words[i];
	argv[argc] = NULL;
	capture_begin(&captured);
	refused = options_parse(argc, argv, &options) == COMMAND_WRONG;
	capture_end(&captured);
	options_release(&options);
	return refused;
}

/* Tells whether an entry is another name of the option before it, or ends the program. */
static bool is_left_out(const struct option_entry *e)
{
	return !e->text || (!e->take && !e->set) || e->id == OPT_LIST_METRICS;
}

/* Lists for an option those that only both together make wrong. */
static void list_refused(FILE *to, const struct option_entry *e, const char *const context[4])
{
	char one[128], other[128], shown[OPTION_SHOWN_BYTES];

	write_option(e, one);
	if (is_refused(one, NULL, context)) {
		fprintf(to, " all");
		return;
	}
	for (const struct option_entry *f = option_table; f->id; f++) {
		if (is_left_out(f))
			continue;
		write_option(f, other);
		if (!is_refused(other, NULL, context) && is_refused(one, other, context))
			fprintf(to, " %s", option_shown(f, shown));
	}
}

/* Returns whether the text has the line, which ends at its line feed or at the end. */
static bool has_line(const char *text, const char *line)
{
	size_t length = strcspn(line, "\n");

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
		if (strcspn(text, "\n") == length && strncmp(text, line, length) == 0)
			return true;
	return false;
}

/* Prints the lines of one text that the other lacks; returns how many. */
static uint32_t print_lines_beyond(const char *text, const char *other, const char *mark)
{
	uint32_t count = 0;

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
		if (!has_line(other, text)) {
			print_error("%s%.*s\n", mark, (int)strcspn(text, "\n"), text);
			count++;
		}
	return count;
}

static void pairs_are_those_that_were_reviewed(void **state)
{
	const char *path = getenv("OPTION_PAIRS");
	static char want[1 << 16];
	char *got = NULL, shown[OPTION_SHOWN_BYTES];
	size_t size = 0;
	FILE *to = path ? fopen(path, "w") : open_memstream(&got, &size);

	(void)state;
	assert_non_null(to);
	for (size_t i = 0; i < sizeof(contexts) / sizeof(contexts[0]); i++)
		for (const struct option_entry *e = option_table; e->id; e++) {
			if (is_left_out(e))
				continue;
			fprintf(to, "%s %s:", contexts[i].name, option_shown(e, shown));
			list_refused(to, e, contexts[i].words);
			fprintf(to, "\n");
		}
	assert_int_equal(fclose(to), 0);
	if (path)
		return;
	to = fopen(GOLDEN, "r");
	assert_non_null(to);
	want[fread(want, 1, sizeof(want) - 1, to)] = '\0';
	fclose(to);
	if (print_lines_beyond(want, got, "-") + print_lines_beyond(got, want, "+"))
		fail_msg(GOLDEN " lists other pairs. If these are right: OPTION_PAIRS=" GOLDEN
				" build/tests/unit/test_option_rules writes it anew");
	assert_string_equal(got, want); /* pairs in this order */
	free(got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_are_those_that_were_reviewed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
