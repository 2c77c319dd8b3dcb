/* SPDX-License-Identifier: MIT */
#include "made_result.h"
#include "profiler/formats/folded_read.h"
#include "profiler/formats/writer.h"

static FILE *text_file(const char *text, size_t size)
{
	FILE *file = tmpfile();

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, size, file), size);
	rewind(file);
	return file;
}

static struct folded_stacks *read_text(const char *text, size_t size, struct quota *memory,
				       enum folded_error *error, uint64_t *line)
{
	FILE *file = text_file(text, size);
	struct folded_stacks *folded = folded_read(file, memory, error, line);

	fclose(file);
	assert_int_equal(!folded, *error != FOLDED_OK);
	return folded;
}

/* Writes the stacks as folded.c does. The caller frees the text. */
static char *write_again(const struct folded_stacks *folded)
{
	const struct writer_options ones = {.unit_ns = 1};
	struct written written;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(folded_writer.write(folded_result(folded), &ones, out, &written), 0);
	fclose(out);
	return text;
}

static void check(const char *text, const char *expected)
{
	struct quota memory = {.limit = 1 << 20};
	enum folded_error error;
	uint64_t line;
	struct folded_stacks *folded = read_text(text, strlen(text), &memory, &error, &line);
	char *again;

	assert_non_null(folded);
	again = write_again(folded);
	assert_string_equal(again, expected);
	free(again);
	folded_free(folded);
	assert_int_equal(memory.used, 0);
}

static void lines_become_stacks(void **state)
{
	(void)state;
	check("", "");
	check("main 3", "main 3\n");
	check("main;b 1\r\nmain 2\r\n\r\nmain;b 5\n", "main 2\nmain;b 6\n");
	check("operator new(unsigned long);f g 7\n", "operator new(unsigned long);f g 7\n");
	check("zero 0\n", "");
	check("a\x01;\xff 1\n", "a?;? 1\n");
	/* stack and two weights of a difference: the last one counts */
	check("a 1 2\n", "a 1 2\n");
}

static void check_error(const char *text, size_t size, enum folded_error wanted, uint64_t at)
{
	struct quota memory = {.limit = 1 << 20};
	enum folded_error error;
	uint64_t line;

	assert_null(read_text(text, size, &memory, &error, &line));
	assert_int_equal(error, wanted);
	assert_int_equal(line, at);
	assert_int_equal(memory.used, 0);
}
#define ERROR(text, wanted, at) check_error(text, sizeof(text) - 1, wanted, at)

static void what_is_no_stack_is_refused(void **state)
{
	(void)state;
	ERROR("main 1\nmain\n", FOLDED_NO_STACK, 2);
	ERROR("12\n", FOLDED_NO_STACK, 1);
	ERROR(" 12\n", FOLDED_NO_STACK, 1);
	ERROR("main -3\n", FOLDED_NO_STACK, 1);
	ERROR("main 1.5\n", FOLDED_NO_STACK, 1);
	ERROR("main 1 \n", FOLDED_NO_STACK, 1);
	ERROR("ma\0in 1\n", FOLDED_NO_STACK, 1);
	ERROR("main 99999999999999999999\n", FOLDED_SUM, 1);
	ERROR("a 9007199254740991\nb 2\n", FOLDED_SUM, 2);
}

static void size_and_depth_are_bounded(void **state)
{
	size_t size = (size_t)FOLDED_LINE_MAX + 16;
	char *text = malloc(size);
	struct quota memory = {.limit = 4096};
	enum folded_error error;
	uint64_t line;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', size);
	check_error(text, size, FOLDED_LONG_LINE, 1);
	for (uint32_t i = 0; i < 2 * (FOLDED_DEPTH_MAX + 1); i++)
		text[i] = i % 2 ? ';' : 'x';
	memcpy(text + 2 * (FOLDED_DEPTH_MAX + 1), "y 1", 3);
	memory.limit = 64 << 20;
	assert_null(read_text(text, 2 * (FOLDED_DEPTH_MAX + 1) + 3, &memory, &error, &line));
	assert_int_equal(error, FOLDED_LONG_LINE);
	memory.limit = 512;
	assert_null(read_text("a;b;c;d;e;f;g;h;i;j 1\n", 22, &memory, &error, &line));
	assert_int_equal(error, FOLDED_TOO_LARGE);
	assert_int_equal(memory.used, 0);
	free(text);
}

static void frames_and_rows_have_kinds(void **state)
{
	static const char text[] = "main;f (model.py);cudaLaunchKernel;[GPU_Kernel]gemm<4> 5\n"
				   "main;[GPU_Memcpy HtoD] 4\n"
				   "main;[GPU_Alloc pinned host] 2\n"
				   "main;[GPU_Kernel]nccl;[waiting for rank 12] 20\n"
				   "main;[waiting for GPU];[GPU_Kernel]gemm<4> 7\n"
				   "main;read;[blocked: read] 100\n"
				   "main;f;[runnable] 200\n"
				   "[GPU 0 idle];main;read;[blocked: read] 1000\n"
				   "app 7;[GPU 1 MPS idle];main;cudaLaunchKernel 2000\n"
				   "main;[CUDA call, wall time]k 8\n"
				   "main;ns::f<int>(int) 9\n";
	struct quota memory = {.limit = 1 << 20};
	uint64_t sums[ROW_KINDS] = {0}, line;
	enum folded_error error;
	struct folded_stacks *folded = read_text(text, sizeof(text) - 1, &memory, &error, &line);
	const struct result *r;
	int found = 0;

	(void)state;
	assert_non_null(folded);
	r = folded_result(folded);
	for (uint32_t i = 0; i < r->row_count; i++)
		sums[r->rows[i].kind] += r->rows[i].ns;
	assert_int_equal(sums[ROW_GPU], 31);
	assert_int_equal(sums[ROW_WAIT], 307);
	assert_int_equal(sums[ROW_IDLE], 3000);
	assert_int_equal(sums[ROW_CALL], 8);
	assert_int_equal(sums[ROW_CPU], 9);
	for (uint32_t i = 0; i < r->frame_count; i++) {
		const struct frame_info *f = &r->frames[i];

		if (strcmp(f->name, "f (model.py)") == 0) {
			assert_int_equal(f->class, CLASS_PYTHON);
			assert_string_equal(f->short_name, "f");
			found++;
		} else if (strcmp(f->name, "[GPU_Kernel]gemm<4>") == 0) {
			assert_int_equal(f->class, CLASS_GPU_KERNEL);
			assert_string_equal(f->short_name, "gemm<4>");
			found++;
		} else if (strcmp(f->name, "cudaLaunchKernel") == 0) {
			assert_int_equal(f->class, CLASS_API);
			found++;
		}
	}
	assert_int_equal(found, 3);
	folded_free(folded);
}

/* Written stacks are read again, and written without a difference. */
static void what_is_written_can_be_read(void **state)
{
	static const char *const names[] = {"main", "a b",        "[GPU_Kernel]k<1>",
					    "f 12", "g (x.py:3)", "x y 1 2"};

	(void)state;
	for (uint64_t round = 0; round < unit_rounds(300); round++) {
		struct prng p = prng_round(round);
		const struct writer_options ones = {.unit_ns = 1};
		struct quota memory = {.limit = 1 << 24};
		struct folded_stacks *folded;
		enum folded_error error;
		struct written written;
		struct made_result m;
		char *text = NULL, *again;
		size_t size = 0;
		uint64_t line;
		FILE *out = open_memstream(&text, &size);

		made_begin(&m);
		for (uint64_t i = prng_below(&p, 50); i > 0; i--) {
			uint32_t stack = RESULT_ROOT;

			for (uint64_t depth = 1 + prng_below(&p, 5); depth > 0; depth--)
				stack = made_push(&m, stack, names[prng_below(&p, 6)]);
			made_add(&m, stack, ROW_CPU, prng_bits(&p, 40));
		}
		assert_int_equal(folded_writer.write(&m.result, &ones, out, &written), 0);
		fclose(out);
		folded = read_text(text, size, &memory, &error, &line);
		EXPECT(&p, folded);
		again = write_again(folded);
		EXPECT(&p, strcmp(text, again) == 0);
		free(again);
		free(text);
		folded_free(folded);
		EXPECT(&p, memory.used == 0);
		made_end(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_become_stacks),
		cmocka_unit_test(what_is_no_stack_is_refused),
		cmocka_unit_test(size_and_depth_are_bounded),
		cmocka_unit_test(frames_and_rows_have_kinds),
		cmocka_unit_test(what_is_written_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
