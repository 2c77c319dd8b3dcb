/* SPDX-License-Identifier: MIT */
/* The table of options, and what help makes of it. */
#include "unit.h"
#include <ctype.h>
#include "profiler/commands/help.h"
#include "profiler/commands/option_table.h"
#include "profiler/commands/options.h"
#include "profiler/output/writers.h"

static char page[65536];

/* Stores the output of `call` in page[]. */
#define CATCH(call)                                                \
	do {                                                       \
		FILE *out = fmemopen(page, sizeof(page) - 1, "w"); \
                                                                   \
		assert_non_null(out);                              \
		memset(page, 0, sizeof(page));                     \
		call;                                              \
		assert_int_equal(fclose(out), 0);                  \
	} while (0)

static void assert_narrow(const char *text)
{
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
		if (strcspn(line, "\n") > 80)
			fail_msg("more than 80 columns: %.*s", (int)strcspn(line, "\n"), line);
		if (!line[strcspn(line, "\n")])
			break;
	}
}

static enum command parse(const char *first, const char *second)
{
	static struct options options;
	struct capture captured;
	char a[64], b[64];
	char *argv[] = {(char *)"profile", a, b, (char *)"app", NULL};
	enum command result;

	snprintf(a, sizeof(a), "%s", first);
	snprintf(b, sizeof(b), "%s", second);
	capture_begin(&captured);
	result = options_parse(4, argv, &options);
	capture_end(&captured);
	options_release(&options);
	return result;
}

static void texts_fit_a_line(void **state)
{
	(void)state;
	for (const struct option_entry *e = option_table; e->id; e++) {
		if (!e->text)
			continue;
		assert_in_range(strlen(e->text), 1, OPTION_TEXT_MAX);
		assert_true((e->kind == ARGUMENT_NONE) == !e->argument);
		assert_true((e->kind == ARGUMENT_WORD || e->kind == ARGUMENT_WORDS) == !!e->words);
	}
}

/* Another name of an option follows the option's entry, and takes an argument of that kind. */
static void other_names_follow_their_option(void **state)
{
	uint32_t others = 0;

	(void)state;
	for (const struct option_entry *e = option_table; e->id; e++) {
		const struct option_entry *first = option_entry(e->id);

		if (e == first)
			continue;
		others++;
		assert_null(e->text);
		assert_true(e[-1].id == e->id);
		assert_int_equal(e->kind, first->kind);
		assert_true(e->is_optional == first->is_optional);
	}
	assert_int_equal(others, 14);
}

static enum command parse_with(const struct option_entry *e, const char *word)
{
	char shown[OPTION_SHOWN_BYTES], joined[128];

	if (!option_is_joined(e))
		return parse(option_shown(e, shown), word);
	snprintf(joined, sizeof(joined), "%s=%s", option_shown(e, shown), word);
	return parse(joined, "--");
}

static void words_are_what_the_parser_accepts(void **state)
{
	char shown[OPTION_SHOWN_BYTES];
	uint32_t tried = 0;

	(void)state;
	for (const struct option_entry *e = option_table; e->id; e++) {
		/* help topics print, and widths need a picture of a comparison */
		if (!e->words || e->topic == TOPIC_HELP || e->id == OPT_WIDTHS)
			continue;
		for (const char *const *word = e->words; *word; word++, tried++)
			if (parse_with(e, *word) != COMMAND_RUN)
				fail_msg("%s %s is refused", option_shown(e, shown), *word);
		assert_int_equal(parse_with(e, "nonsense"), COMMAND_WRONG);
	}
	assert_true(tried > 10);
}

static void formats_are_those_of_the_writers(void **state)
{
	const char *const *words = option_entry(OPT_FORMAT)->words;
	uint32_t count = 0;

	(void)state;
	for (; writers[count]; count++) {
		assert_non_null(words[count]);
		assert_string_equal(words[count], writers[count]->name);
	}
	assert_null(words[count]);
}

static void the_overview_has_every_option(void **state)
{
	char shown[OPTION_SHOWN_BYTES], line[128];
	const char *end;

	(void)state;
	CATCH(help_overview(out));
	assert_narrow(page);
	for (const struct option_entry *e = option_table; e->id; e++) {
		if (!e->text)
			continue;
		option_shown(e, shown);
		end = strlen(shown) < 22 ? " "
					 : "\n"; /* a long one has its text in the next line */
		if (e->id < OPT_GPU_ONLY && e->name)
			end = ", --";
		if (option_is_joined(e))
			end = "[=";
		snprintf(line, sizeof(line), "\n  %s%s", shown, end);
		if (!strstr(page, line) || !strstr(page, e->text))
			fail_msg("--help lacks %s", shown);
	}
}

/* Each option is in its own topic alone, with all that there is to say. */
static void a_topic_has_its_options(void **state)
{
	const char *const *names = option_entry('h')->words;

	(void)state;
	for (int topic = 0; topic < HELP_TOPICS; topic++) {
		CATCH(assert_true(help_topic(names[topic], out)));
		assert_narrow(page);
		assert_true(strlen(page) > 40);
		for (const struct option_entry *e = option_table; e->id; e++)
			if (e->text && !!strstr(page, e->text) != ((int)e->topic == topic))
				fail_msg("'%s' and topic %s", e->text, names[topic]);
	}
	assert_string_equal(names[HELP_TOPICS], "all");
	assert_null(names[HELP_TOPICS + 1]);
}

static void all_topics_are_one_after_the_other(void **state)
{
	const char *const *names = option_entry('h')->words;
	static char all[sizeof(page)];
	char *at = all;

	(void)state;
	CATCH(assert_true(help_topic("all", out)));
	memcpy(all, page, sizeof(all));
	for (int topic = 0; topic < HELP_TOPICS; topic++) {
		CATCH(assert_true(help_topic(names[topic], out)));
		at = strstr(at, page);
		if (!at)
			fail_msg("'all' lacks topic %s in its place", names[topic]);
		at += strlen(page);
	}
	assert_string_equal(at, "");
}

static void other_topics_print_nothing(void **state)
{
	(void)state;
	CATCH(assert_false(help_topic("outputs", out)));
	assert_string_equal(page, "");
	CATCH(assert_false(help_topic("", out)));
	assert_string_equal(page, "");
}

/* Every option by itself, under all of its names. */
static void an_option_has_its_own_help(void **state)
{
	char word[OPTION_SHOWN_BYTES];

	(void)state;
	for (const struct option_entry *e = option_table; e->id; e++) {
		const struct option_entry *main_entry = option_entry(e->id);

		snprintf(word, sizeof(word), "--%s", e->name);
		CATCH(assert_true(help_option(word, out)));
		assert_narrow(page);
		if (!strstr(page, main_entry->text) || !strstr(page, "\nMore: profile --help "))
			fail_msg("--help %s", word);
		for (const struct option_entry *o = option_table; o->id; o++)
			if (o->text && o != main_entry && strstr(page, o->text))
				fail_msg("--help %s explains --%s", word, o->name);
	}
	CATCH(assert_true(help_option("-d", out)));
	CATCH(assert_true(help_option("max-ov", out)));
	CATCH(assert_false(help_option("-max-ov", out)));
	CATCH(assert_false(help_option("--m", out)));
	CATCH(assert_false(help_option("--d", out)));
	CATCH(assert_false(help_option("---wall", out)));
	CATCH(assert_false(help_option("", out)));
	CATCH(assert_false(help_option("--", out)));
	assert_string_equal(page, "");
}

static void the_first_page_is_short(void **state)
{
	uint32_t lines = 0;

	(void)state;
	CATCH(help_first_page(out));
	assert_narrow(page);
	for (const char *c = page; *c; c++)
		lines += *c == '\n';
	assert_in_range(lines, 8, 16);
}

/* Reads the manual page, with "\-\-cpu\-only" as "--cpu-only". */
static void read_manual(char *text, size_t size)
{
	FILE *file = fopen("docs/profile.1", "r");
	size_t length = 0;
	int c;

	assert_non_null(file);
	while ((c = getc(file)) != EOF && length < size - 1)
		if (c != '\\')
			text[length++] = (char)c;
	text[length] = '\0';
	fclose(file);
}

/* Returns whether the text has the word, with nothing that belongs to it on either side. */
static bool has_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at++)
		if ((at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '-')) &&
		    !(isalnum((unsigned char)at[length]) || at[length] == '-'))
			return true;
	return false;
}

static void the_manual_has_every_option(void **state)
{
	static char manual[1 << 17];
	char dashed[OPTION_SHOWN_BYTES];
	uint32_t lacking = 0;

	(void)state;
	read_manual(manual, sizeof(manual));
	for (const struct option_entry *e = option_table; e->id; e++) {
		if (e->name)
			snprintf(dashed, sizeof(dashed), "%s%s", e->takes_one_dash ? "-" : "--",
				 e->name);
		else
			option_shown(e, dashed);
		if (!has_word(manual, dashed)) {
			print_error("docs/profile.1 lacks %s\n", dashed);
			lacking++;
		}
	}
	assert_int_equal(lacking, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_fit_a_line),
		cmocka_unit_test(other_names_follow_their_option),
		cmocka_unit_test(words_are_what_the_parser_accepts),
		cmocka_unit_test(formats_are_those_of_the_writers),
		cmocka_unit_test(the_overview_has_every_option),
		cmocka_unit_test(a_topic_has_its_options),
		cmocka_unit_test(all_topics_are_one_after_the_other),
		cmocka_unit_test(other_topics_print_nothing),
		cmocka_unit_test(an_option_has_its_own_help),
		cmocka_unit_test(the_first_page_is_short),
		cmocka_unit_test(the_manual_has_every_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
