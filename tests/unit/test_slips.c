/* SPDX-License-Identifier: MIT */
/* Suggestions for misspelt options. */
#include "unit.h"
#include "profiler/commands/options.h"
#include "profiler/commands/slips.h"

static void what_was_meant(void **state)
{
	static const char *const cases[][2] = {
		{"--nvtxx", "did you mean --nvtx?"},
		{"--gpu_only", "did you mean -gpu-only?"},
		{"--GPU-Only=1", "did you mean -gpu-only?"},
		{"-cpuonly", "did you mean -cpu-only?"},
		{"--outptu", "did you mean --output?"},
		{"--stacks", "did you mean --otlp-stacks or -launch-stacks?"},
		{"--wall-time", "did you mean --time or --wall?"},
		{"--gp", ""},
		{"--gpu-", "did you mean -gpu-only?"},
		{"-O", "did you mean -o?"},
		{"--bogus", ""},
		{"--x", ""},
		{"--", ""},
		{"-", ""},
		{"--=x", ""},
	};
	char text[SLIP_TEXT_BYTES], longest[SLIP_TEXT_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		slip_hint(cases[i][0], text);
		if (strcmp(text, cases[i][1]) != 0)
			fail_msg("%s: '%s', not '%s'", cases[i][0], text, cases[i][1]);
	}
	memset(longest, '-', sizeof(longest));
	memcpy(longest + sizeof(longest) - 6, "nvtxx", 6);
	slip_hint(longest, text);
	assert_string_equal(text, "");
}

static void options_that_begin_so(void **state)
{
	char text[SLIP_TEXT_BYTES];

	(void)state;
	assert_int_equal(slip_candidates("--counters-", text), 2);
	assert_string_equal(text, "--counters-kernels or --counters-launches");
	/* another name of an option is no other option */
	assert_int_equal(slip_candidates("--outp", text), 1);
	assert_string_equal(text, "--output");
	assert_int_equal(slip_candidates("--nothing", text), 0);
	assert_string_equal(text, "");
	assert_true(slip_candidates("--", text) > 60);
	assert_non_null(strstr(text, " or others"));
}

/* Every habit is a word that is no option, and its hint is not cut. */
static void habits_are_no_options(void **state)
{
	static const char *const words[] = {
		"--gpu",
		"--cpu",
		"--trace=cuda",
		"--call-graph",
		"-g",
		"--force-overwrite",
		"--stats",
		"--kernel-name",
		"--subprocesses",
		"--export=json",
		"--attach",
		"--threads",
	};
	char text[SLIP_TEXT_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		slip_hint(words[i], text);
		assert_in_range(strlen(text), 1, SLIP_TEXT_BYTES - 2);
		assert_true(words[i][1] != '-' || slip_misleads(words[i]));
	}
}

static void beginnings_that_mislead(void **state)
{
	(void)state;
	assert_true(slip_misleads("--gp"));
	assert_true(slip_misleads("--cpu-"));
	assert_true(slip_misleads("--native=1"));
	assert_false(slip_misleads("--gpu-o"));
	assert_false(slip_misleads("--gpu-only"));
	assert_false(slip_misleads("--raw"));
	assert_false(slip_misleads("--g")); /* ambiguous */
	assert_false(slip_misleads("--nvtxx"));
	assert_false(slip_misleads("--"));
}

static void hyphens_of_word_processors(void **state)
{
	(void)state;
	assert_int_equal(slip_hyphen("\u2010o"), 3);
	assert_int_equal(slip_hyphen("\u2013o"), 3);
	assert_int_equal(slip_hyphen("\u2014"), 3);
	assert_int_equal(slip_hyphen("\u2212F"), 3);
	assert_int_equal(slip_hyphen("-o"), 0);
	assert_int_equal(slip_hyphen("\u2018o"), 0);
	assert_int_equal(slip_hyphen("\xe2"), 0);
	assert_int_equal(slip_hyphen("\xe2\x80"), 0);
	assert_int_equal(slip_hyphen(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_meant),
		cmocka_unit_test(options_that_begin_so),
		cmocka_unit_test(habits_are_no_options),
		cmocka_unit_test(beginnings_that_mislead),
		cmocka_unit_test(hyphens_of_word_processors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
