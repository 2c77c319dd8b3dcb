/* SPDX-License-Identifier: MIT */
#include "made_result.h"
#include "profiler/formats/writer.h"

static const struct writer_options ones = {.unit_ns = 1};

static void add(struct made_result *m, const char *const *path, uint64_t cpu_ns, uint64_t gpu_ns)
{
	uint32_t stack = made_stack(m, path);

	made_add(m, stack, ROW_CPU, cpu_ns);
	made_add(m, stack, ROW_GPU, gpu_ns);
}

#define PATH(...)                 \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}

/* Writes the result. The caller frees the text. */
static char *write_result(const struct made_result *m, const struct writer_options *options,
			  struct written *written)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	memset(written, 0xff, sizeof(*written)); /* says nothing yet */
	assert_int_equal(folded_writer.write(&m->result, options, out, written), 0);
	fclose(out);
	return text;
}

static void check(struct made_result *m, const char *expected)
{
	struct written written;
	char *text = write_result(m, &ones, &written);
	uint64_t lines = 0;

	assert_string_equal(text, expected);
	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	assert_int_equal(written.items, lines);
	free(text);
	made_end(m);
}

static void the_format_is_known_by_its_name(void **state)
{
	(void)state;
	assert_string_equal(folded_writer.name, "folded");
	assert_string_equal(folded_writer.suffix, ".folded");
	assert_int_equal(folded_writer.needs, 0);
}

static void paths_are_sorted(void **state)
{
	struct made_result m;

	(void)state;
	made_begin(&m);
	add(&m, PATH("main", "work", "inner"), 3, 0);
	add(&m, PATH("main"), 2, 0);
	add(&m, PATH("main", "[GPU_Kernel]k"), 0, 7);
	add(&m, PATH("[launch not captured]", "[GPU_Kernel]k"), 0, 9);
	add(&m, PATH("main", "work"), 1, 4);
	check(&m, "[launch not captured];[GPU_Kernel]k 9\n"
		  "main 2\n"
		  "main;[GPU_Kernel]k 7\n"
		  "main;work 5\n"
		  "main;work;inner 3\n");
}

static void zero_weights_are_left_out(void **state)
{
	const struct writer_options fives = {.unit_ns = 5};
	struct made_result m;
	struct written written;
	char *text;

	(void)state;
	made_begin(&m);
	add(&m, PATH("main", "nothing"), 0, 0);
	add(&m, PATH("main", "little"), 1, 0);
	add(&m, PATH("main", "z"), 5, 0);
	text = write_result(&m, &fives, &written);
	assert_string_equal(text, "main;z 1\n");
	assert_int_equal(written.items, 1);
	assert_true(written.exact_ns == 6);
	free(text);
	made_end(&m);
}

static void an_empty_tree_is_an_empty_file(void **state)
{
	struct written written;
	struct made_result m;
	char *text;

	(void)state;
	made_begin(&m);
	text = write_result(&m, &ones, &written);
	assert_string_equal(text, "");
	assert_int_equal(written.items, 0);
	for (int kind = 0; kind < ROW_KINDS; kind++)
		assert_int_equal(written.total[kind], 0);
	assert_true(written.exact_ns == 0);
	free(text);
	made_end(&m);
}

static void separators_in_names_are_replaced(void **state)
{
	struct made_result m;

	(void)state;
	made_begin(&m);
	add(&m, PATH("a;b", "c\nd\re", "with space 5"), 1, 0);
	check(&m, "a:b;c?d?e;with space 5 1\n");
}

static void totals_are_per_kind(void **state)
{
	const struct writer_options tens = {.unit_ns = 10};
	struct written written;
	struct made_result m;
	uint32_t both;
	char *text;

	(void)state;
	made_begin(&m);
	add(&m, PATH("a"), 100, 1000);
	add(&m, PATH("b"), 50, 2000);
	both = MADE_STACK(&m, "c");
	made_add(&m, both, ROW_WAIT, 30);
	made_add(&m, both, ROW_CALL, 70);
	text = write_result(&m, &tens, &written);
	assert_string_equal(text, "a 110\nb 205\nc 10\n");
	assert_int_equal(written.total[ROW_CPU], 15);
	assert_int_equal(written.total[ROW_GPU], 300);
	assert_int_equal(written.total[ROW_WAIT], 3);
	assert_int_equal(written.total[ROW_CALL], 7);
	assert_int_equal(written.items, 3);
	assert_true(written.exact_ns == 3250);
	free(text);
	made_end(&m);
}

/* Each kind is rounded by itself, so that each of the totals is right. */
static void kinds_are_rounded_apart(void **state)
{
	const struct writer_options tens = {.unit_ns = 10};
	struct written written;
	struct made_result m;
	char *text;

	(void)state;
	made_begin(&m);
	add(&m, PATH("a"), 6, 6);
	add(&m, PATH("b"), 4, 4);
	add(&m, PATH("c"), 4, 0);
	text = write_result(&m, &tens, &written);
	assert_string_equal(text, "a 2\n");
	assert_int_equal(written.total[ROW_CPU], 1);
	assert_int_equal(written.total[ROW_GPU], 1);
	assert_true(written.exact_ns == 24);
	/* b and c, of whose time a has some */
	assert_int_equal(written.omitted, 2);
	assert_true(written.omitted_ns == 12);
	free(text);
	made_end(&m);
}

static void a_path_may_be_very_deep(void **state)
{
	enum { DEPTH = 100000 };
	uint32_t stack = RESULT_ROOT;
	struct written written;
	struct made_result m;
	char *text;

	(void)state;
	made_begin(&m);
	for (int i = 0; i < DEPTH; i++)
		stack = made_push(&m, stack, "recursive");
	made_add(&m, stack, ROW_CPU, 1);
	add(&m, PATH("zlast"), 2, 0);
	text = write_result(&m, &ones, &written);
	assert_int_equal(strlen(text), DEPTH * 10 - 1 + 3 + 8);
	assert_memory_equal(text, "recursive;recursive;", 20);
	assert_string_equal(text + DEPTH * 10 - 11, ";recursive 1\nzlast 2\n");
	free(text);
	made_end(&m);
}

/* Returns true if the second path sorts after the first: frame by frame, an outer part before
 * the whole. */
static bool comes_behind(char *last, char *path)
{
	for (char *c = last; *c; c++)
		*c = (char)(*c == ';' ? '\1' : *c);
	for (char *c = path; *c; c++)
		*c = (char)(*c == ';' ? '\1' : *c);
	return strcmp(last, path) < 0;
}

/* Random trees: the lines add up to the totals, are sorted by path, and none occurs twice. */
static void random_trees_add_up(void **state)
{
	static const char *const names[] = {"a", "b", "c", "longer name", "x;y", "[k]", "d"};

	(void)state;
	for (uint64_t round = 0; round < unit_rounds(300); round++) {
		struct prng p = prng_round(round);
		const struct writer_options options = {.unit_ns =
							       (double)(1 + prng_below(&p, 100))};
		uint64_t sum = 0, lines = 0, ns[2] = {0};
		char *text, *rest, *line, *last = NULL;
		struct written written;
		struct made_result m;

		made_begin(&m);
		for (uint64_t n = prng_below(&p, 200); n > 0; n--) {
			uint64_t cpu_ns = prng_bits(&p, 20), gpu_ns = prng_bits(&p, 20);
			uint32_t stack = RESULT_ROOT;

			for (uint64_t depth = 1 + prng_below(&p, 8); depth > 0; depth--)
				stack = made_push(&m, stack, names[prng_below(&p, 7)]);
			made_add(&m, stack, ROW_CPU, cpu_ns);
			made_add(&m, stack, ROW_GPU, gpu_ns);
			ns[ROW_CPU] += cpu_ns;
			ns[ROW_GPU] += gpu_ns;
		}
		text = rest = write_result(&m, &options, &written);
		while ((line = strsep(&rest, "\n")) && *line) {
			char *space = strrchr(line, ' ');

			EXPECT(&p, space && strtoull(space + 1, NULL, 10) > 0);
			sum += strtoull(space + 1, NULL, 10);
			lines++;
			*space = '\0';
			EXPECT(&p, !last || comes_behind(last, line));
			last = line;
		}
		EXPECT(&p, sum == written.total[ROW_CPU] + written.total[ROW_GPU]);
		for (int kind = ROW_CPU; kind <= ROW_GPU; kind++) {
			double exact = (double)ns[kind] / options.unit_ns;

			EXPECT(&p, (double)written.total[kind] >= exact - 0.5 - 1e-6);
			EXPECT(&p, (double)written.total[kind] <= exact + 0.5 + 1e-6);
		}
		EXPECT(&p, written.exact_ns == (double)(ns[ROW_CPU] + ns[ROW_GPU]));
		EXPECT(&p, lines == written.items);
		free(text);
		made_end(&m);
	}
}

static void a_full_disk_is_an_error(void **state)
{
	FILE *full = fopen("/dev/full", "w");
	uint32_t stack = RESULT_ROOT;
	struct written written;
	struct made_result m;
	int err;

	(void)state;
	if (!full)
		SKIP("no /dev/full here");
	made_begin(&m);
	for (int i = 0; i < 10000; i++)
		stack = made_push(&m, stack, "longer than the stream's buffer");
	made_add(&m, stack, ROW_CPU, 1);
	err = folded_writer.write(&m.result, &ones, full, &written);
	assert_true(err < 0);
	fclose(full);
	made_end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_format_is_known_by_its_name),
		cmocka_unit_test(paths_are_sorted),
		cmocka_unit_test(zero_weights_are_left_out),
		cmocka_unit_test(an_empty_tree_is_an_empty_file),
		cmocka_unit_test(separators_in_names_are_replaced),
		cmocka_unit_test(totals_are_per_kind),
		cmocka_unit_test(kinds_are_rounded_apart),
		cmocka_unit_test(a_path_may_be_very_deep),
		cmocka_unit_test(random_trees_add_up),
		cmocka_unit_test(a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
