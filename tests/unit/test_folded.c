/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "profiler/output/writer.h"

static const struct writer_options ones = {.unit_ns = {1, 1}};

static void add(struct call_tree *t, const char *const *path, double cpu_ns, double gpu_ns)
{
	uint32_t node = CALL_TREE_ROOT;

	for (; *path; path++)
		node = call_tree_child(t, node, *path);
	call_tree_add_weight(t, node, WEIGHT_CPU, cpu_ns);
	call_tree_add_weight(t, node, WEIGHT_GPU, gpu_ns);
}

#define PATH(...)                 \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}

/* The text written, to be freed. */
static char *write_tree(struct call_tree *t, const struct writer_options *options,
			struct writer_result *result)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(call_tree_sort(t), 0);
	assert_int_equal(folded_writer.write(t, options, out, result), 0);
	fclose(out);
	return text;
}

static void check(struct call_tree *t, const char *expected)
{
	struct writer_result result;
	char *text = write_tree(t, &ones, &result);
	uint64_t lines = 0;

	assert_string_equal(text, expected);
	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	assert_int_equal(result.stacks, lines);
	free(text);
	call_tree_free(t);
}

static void paths_come_sorted(void **state)
{
	struct call_tree *t = call_tree_new();

	(void)state;
	add(t, PATH("main", "work", "inner"), 3, 0);
	add(t, PATH("main"), 2, 0);
	add(t, PATH("main", "[GPU_Kernel]k"), 0, 7);
	add(t, PATH("[launch not captured]", "[GPU_Kernel]k"), 0, 9);
	add(t, PATH("main", "work"), 1, 4);
	check(t, "[launch not captured];[GPU_Kernel]k 9\n"
		 "main 2\n"
		 "main;[GPU_Kernel]k 7\n"
		 "main;work 5\n"
		 "main;work;inner 3\n");
}

static void what_weighs_nothing_is_left_out(void **state)
{
	struct call_tree *t = call_tree_new();

	(void)state;
	add(t, PATH("main", "nothing"), 0, 0);
	add(t, PATH("main", "little"), 0.2, 0);
	add(t, PATH("main", "z"), 1, 0);
	check(t, "main;z 1\n");
}

static void an_empty_tree_is_an_empty_file(void **state)
{
	(void)state;
	check(call_tree_new(), "");
}

static void separators_in_names_are_replaced(void **state)
{
	struct call_tree *t = call_tree_new();

	(void)state;
	add(t, PATH("a;b", "c\nd\re", "with space 5"), 1, 0);
	check(t, "a:b;c?d?e;with space 5 1\n");
}

static void totals_are_per_kind(void **state)
{
	const struct writer_options options = {.unit_ns = {10, 1000}};
	struct call_tree *t = call_tree_new();
	struct writer_result result;
	char *text;

	(void)state;
	add(t, PATH("a"), 100, 1000);
	add(t, PATH("b"), 50, 2000);
	text = write_tree(t, &options, &result);
	assert_string_equal(text, "a 11\nb 7\n");
	assert_int_equal(result.total[WEIGHT_CPU], 15);
	assert_int_equal(result.total[WEIGHT_GPU], 3);
	assert_int_equal(result.stacks, 2);
	free(text);
	call_tree_free(t);
}

static void a_path_may_be_very_deep(void **state)
{
	enum { DEPTH = 100000 };
	struct call_tree *t = call_tree_new();
	struct writer_result result;
	uint32_t node = CALL_TREE_ROOT;
	char *text;

	(void)state;
	for (int i = 0; i < DEPTH; i++)
		node = call_tree_child(t, node, "recursive");
	call_tree_add_weight(t, node, WEIGHT_CPU, 1);
	add(t, PATH("zlast"), 2, 0);
	text = write_tree(t, &ones, &result);
	assert_int_equal(strlen(text), DEPTH * 10 - 1 + 3 + 8);
	assert_memory_equal(text, "recursive;recursive;", 20);
	assert_string_equal(text + DEPTH * 10 - 11, ";recursive 1\nzlast 2\n");
	free(text);
	call_tree_free(t);
}

/* Random trees: the lines add up to the totals, are sorted by path, and none comes twice. */
static void random_trees_add_up(void **state)
{
	static const char *const names[] = {"a", "b", "c", "longer name", "x;y", "[k]", "d"};

	(void)state;
	for (uint64_t round = 0; round < unit_number("UNIT_ROUNDS", 300); round++) {
		struct prng p = prng_round(round);
		const struct writer_options options = {
			.unit_ns = {(double)(1 + prng_below(&p, 100)), 1}};
		struct call_tree *t = call_tree_new();
		struct writer_result result;
		uint64_t sum = 0, lines = 0, gpu_ns = 0;
		char *text, *rest, *line;

		for (uint64_t n = prng_below(&p, 200); n > 0; n--) {
			uint32_t node = CALL_TREE_ROOT;
			uint64_t ns = prng_bits(&p, 20);

			for (uint64_t depth = 1 + prng_below(&p, 8); depth > 0; depth--)
				node = call_tree_child(t, node, names[prng_below(&p, 7)]);
			call_tree_add_weight(t, node, WEIGHT_CPU, (double)prng_bits(&p, 20));
			call_tree_add_weight(t, node, WEIGHT_GPU, (double)ns);
			gpu_ns += ns;
		}
		text = rest = write_tree(t, &options, &result);
		while ((line = strsep(&rest, "\n")) && *line) {
			char *space = strrchr(line, ' ');

			EXPECT(&p, space && strtoull(space + 1, NULL, 10) > 0);
			sum += strtoull(space + 1, NULL, 10);
			lines++;
		}
		EXPECT(&p, sum == result.total[WEIGHT_CPU] + result.total[WEIGHT_GPU]);
		EXPECT(&p, result.total[WEIGHT_GPU] == gpu_ns);
		EXPECT(&p, lines == result.stacks);
		free(text);
		call_tree_free(t);
	}
}

static void a_full_disk_is_an_error(void **state)
{
	struct call_tree *t = call_tree_new();
	struct writer_result result;
	FILE *full = fopen("/dev/full", "w");
	uint32_t node = CALL_TREE_ROOT;
	int err;

	(void)state;
	if (!full)
		SKIP("no /dev/full here");
	for (int i = 0; i < 10000; i++)
		node = call_tree_child(t, node, "longer than the stream's buffer");
	call_tree_add_weight(t, node, WEIGHT_CPU, 1);
	err = folded_writer.write(t, &ones, full, &result);
	assert_true(err < 0);
	fclose(full);
	call_tree_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_come_sorted),
		cmocka_unit_test(what_weighs_nothing_is_left_out),
		cmocka_unit_test(an_empty_tree_is_an_empty_file),
		cmocka_unit_test(separators_in_names_are_replaced),
		cmocka_unit_test(totals_are_per_kind),
		cmocka_unit_test(a_path_may_be_very_deep),
		cmocka_unit_test(random_trees_add_up),
		cmocka_unit_test(a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
