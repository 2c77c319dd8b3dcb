/* SPDX-License-Identifier: MIT */
/* Several files with one result: formats by extension, one place for each, all or nothing. */
#include "unit.h"
#include "made_result.h"
#include "profiler/output/outputs.h"
#include "profiler/output/writers.h"

static const struct writer_options in_ns = {.unit_ns = 1};

static int write_nothing(const struct result *result, const struct writer_options *options,
			 FILE *out, struct written *written)
{
	(void)result;
	(void)options;
	(void)written;
	fputs("part", out);
	return -ENOMEM;
}

static const struct writer broken = {.name = "broken", .write = write_nothing};
static const struct writer with_timeline = {.name = "when", .needs = NEEDS_TIMELINE};

static int begin(void **state)
{
	char folder[] = "/tmp/profile_unit.XXXXXX";

	(void)state;
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int end(void **state)
{
	char command[80], folder[64];

	(void)state;
	if (!getcwd(folder, sizeof(folder)))
		return -1;
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return chdir("/") == 0 ? system(command) : -1;
}

static void put_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void expect_text(const char *path, const char *expected)
{
	char text[256] = "";
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	assert_string_equal(text, expected);
}

static void the_extension_selects_the_format(void **state)
{
	(void)state;
	for (const struct writer *const *w = writers; *w; w++) {
		char path[256];

		assert_ptr_equal(writer_with_name((*w)->name), *w);
		assert_true(snprintf(path, sizeof(path), "a.b%s", (*w)->suffix) < 256);
		assert_ptr_equal(writer_for_path(path), *w);
		assert_non_null((*w)->item);
	}
	assert_ptr_equal(writer_for_path(".svg"), &svg_writer);
	assert_ptr_equal(writer_for_path("A.SVG"), &svg_writer);
	assert_ptr_equal(writer_for_path(".speedscope.json"), &speedscope_writer);
	assert_ptr_equal(writer_for_path("speedscope.json"), &json_summary_writer);
	assert_ptr_equal(writer_for_path("a.TRACE.json"), &chrome_writer);
	assert_ptr_equal(writer_for_path("a.perfetto-trace"), &perfetto_writer);
	assert_ptr_equal(writer_for_path("a.pftrace"), &perfetto_writer);
	assert_ptr_equal(writer_for_path("a.htm"), &html_writer);
	assert_ptr_equal(writer_for_path("a.pprof"), &pprof_writer);
	assert_ptr_equal(writer_for_path("a.TXT"), &folded_writer);
	assert_null(writer_for_path("a.png"));
	assert_null(writer_for_path("a.svg/b.html.gz"));
	assert_null(writer_for_path(".a.b"));
	assert_ptr_equal(writer_for_path("a.b/c"), writers[0]);
	assert_ptr_equal(writer_for_path("./.hidden"), writers[0]);
	assert_ptr_equal(writer_for_path("a."), writers[0]);
	assert_ptr_equal(writer_for_path("folded"), writers[0]);
	assert_ptr_equal(writer_for_path(""), writers[0]);
	assert_ptr_equal(writer_for_path("-"), writers[0]);
	assert_ptr_equal(writers[0], &folded_writer);
	assert_null(writer_with_name(""));
	assert_null(writer_with_name(".folded"));
}

static void needs_are_those_of_all(void **state)
{
	const struct output_choice choices[] = {{"a", &folded_writer}, {"b", &with_timeline}};

	(void)state;
	assert_int_equal(outputs_need(choices, 1), 0);
	assert_int_equal(outputs_need(choices, 2), NEEDS_TIMELINE);
}

static void each_gets_the_whole_result(void **state)
{
	const struct output_choice choices[] = {{"one.folded", &folded_writer},
						{"two.folded", &folded_writer}};
	struct made_result made;
	struct outputs outputs;
	struct written written;
	uint32_t failed;

	(void)state;
	made_begin(&made);
	made_add(&made, MADE_STACK(&made, "main"), ROW_GPU, 5);
	assert_int_equal(outputs_open(&outputs, choices, 2, &failed), 0);
	assert_false(outputs_take_stdout(&outputs));
	assert_true(outputs_folder(&outputs) >= 0);
	for (uint32_t i = 0; i < 2; i++) {
		memset(&written, 0xff, sizeof(written));
		assert_int_equal(outputs_write(&outputs, i, &made.result, &in_ns, &written), 0);
		assert_int_equal(written.items, 1);
		assert_int_equal(written.total[ROW_GPU], 5);
	}
	outputs_cancel(&outputs);
	expect_text("one.folded", "main 5\n");
	expect_text("two.folded", "main 5\n");
	made_end(&made);
}

/* If one output cannot be opened, none is. */
static void the_one_that_fails_is_named(void **state)
{
	const struct output_choice choices[] = {{"one", &folded_writer},
						{"no/where", &folded_writer}};
	struct outputs outputs;
	uint32_t failed;

	(void)state;
	put_text("one", "old");
	assert_int_equal(outputs_open(&outputs, choices, 2, &failed), -ENOENT);
	assert_int_equal(failed, 1);
	assert_int_equal(outputs.count, 0);
	expect_text("one", "old");
}

static void two_do_not_share_a_place(void **state)
{
	static const char *const pairs[][2] = {{"new", "new"}, {"new", "./new"},
					       {"old", "old"}, {"old", "link"},
					       {"-", "-"},     {"fifo", "./fifo"}};
	struct outputs outputs;
	uint32_t failed;

	(void)state;
	put_text("old", "old");
	assert_int_equal(symlink("old", "link"), 0);
	assert_int_equal(mkfifo("fifo", 0600), 0); /* nobody reads it: opening it would wait */
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		const struct output_choice choices[] = {{pairs[i][0], &folded_writer},
							{pairs[i][1], &folded_writer}};

		assert_int_equal(outputs_open(&outputs, choices, 2, &failed), -EBUSY);
		assert_int_equal(failed, 1);
	}
	/* a device takes any number */
	assert_int_equal(outputs_open(&outputs,
				      (const struct output_choice[]){{"/dev/null", &folded_writer},
								     {"/dev/null", &folded_writer}},
				      2, &failed),
			 0);
	assert_int_equal(outputs_folder(&outputs), -1);
	outputs_cancel(&outputs);
}

/* An incomplete output leaves the old file; other outputs are written. */
static void a_writer_that_fails_leaves_the_old_file(void **state)
{
	const struct output_choice choices[] = {{"kept", &broken}, {"written", &folded_writer}};
	struct made_result made;
	struct outputs outputs;
	struct written written;
	uint32_t failed;

	(void)state;
	put_text("kept", "old");
	made_begin(&made);
	assert_int_equal(outputs_open(&outputs, choices, 2, &failed), 0);
	assert_int_equal(outputs_write(&outputs, 0, &made.result, &in_ns, &written), -ENOMEM);
	assert_int_equal(outputs_write(&outputs, 1, &made.result, &in_ns, &written), 0);
	outputs_cancel(&outputs);
	expect_text("kept", "old");
	expect_text("written", "");
	made_end(&made);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_extension_selects_the_format),
		TEST(needs_are_those_of_all),
		TEST(each_gets_the_whole_result),
		TEST(the_one_that_fails_is_named),
		TEST(two_do_not_share_a_place),
		TEST(a_writer_that_fails_leaves_the_old_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
