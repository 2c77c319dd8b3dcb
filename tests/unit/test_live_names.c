/* SPDX-License-Identifier: MIT */
/* --live's tables: sums, message and names, compared with the digest of the finished result. */
#include "naming_bench.h"
#include "profiler/shape/live_names.h"
#include "profiler/tables/hot_spots.h"

#define PICKS 1024

static struct live_writer writer;
static struct live_pick picks[PICKS];

/* Returns the display's view of the bench's rows. */
static const struct live_view *view_of(struct naming_bench *b, struct live_sums *sums,
				       struct live_names *names, uint32_t max)
{
	const struct live_numbers numbers = {.kernels = 7, .pid = (uint32_t)getpid()};
	const struct live_view *view;

	live_sums_begin(sums);
	while (!live_sums_step(sums, &b->collected, 0))
		continue;
	assert_true(sums->is_whole);
	live_writer_begin(&writer, &numbers);
	for (int i = 0; i < LIVE_TABLES; i++) {
		uint32_t count =
			live_sums_pick(sums, &b->collected, (enum live_table)i, picks, max);

		live_writer_add(&writer, &b->collected, &sums->whole[i], picks, count);
	}
	view = live_names_read(names, writer.bytes, writer.used);
	assert_non_null(view);
	assert_int_equal(view->numbers.kernels, 7);
	return view;
}

struct parts {
	struct live_sums sums;
	struct live_names *names;
};

static struct parts parts_new(void)
{
	struct parts p = {.names = live_names_new(-1)};

	assert_non_null(p.names);
	return p;
}

static void parts_free(struct parts *p)
{
	live_sums_release(&p->sums);
	live_names_free(p->names);
	live_writer_release(&writer);
}

static const struct live_line *line_of(const struct live_view *view, enum live_table table,
				       const char *name)
{
	const struct live_list *list = &view->lists[table];

	for (uint32_t i = 0; i < list->count; i++)
		if (strcmp(list->lines[i].name, name) == 0)
			return &list->lines[i];
	return NULL;
}

static struct stack_id work(struct naming_bench *b, struct stack_id call, enum frame_kind kind,
			    const char *name)
{
	return stack_table_push_text(b->stacks, call, kind, name);
}

static void add(struct naming_bench *b, enum row_kind kind, struct stack_id stack, uint64_t ns)
{
	profile_add(b->profile, kind, stack, PLACE_NOWHERE, ns, 0);
}

/* ---- the same as at the end ---- */

static const char *shown_name(const struct frame_info *frame)
{
	return frame->class == CLASS_PYTHON ? frame->name : frame->short_name;
}

static void expect_same(struct prng *prng, const struct live_view *view, enum live_table table,
			const struct hot_spot_table *one, const struct hot_spot_table *other)
{
	uint64_t ns = 0, count = 0;
	uint32_t lines = 0;

	for (int i = 0; i < 2; i++) {
		const struct hot_spot_table *t = i ? other : one;

		for (uint32_t j = 0; t && j < t->count; j++) {
			const struct live_line *line =
				line_of(view, table, shown_name(t->list[j].frame));

			if (t->list[j].count == 0) /* a caller: it has total time alone */
				continue;
			lines++;
			EXPECT(prng, line != NULL);
			EXPECT(prng, line->sum.ns == t->list[j].ns);
			EXPECT(prng, line->sum.count == t->list[j].count);
			ns += line->sum.ns;
			count += line->sum.count;
		}
	}
	EXPECT(prng, view->lists[table].whole.ns == ns);
	EXPECT(prng, view->lists[table].whole.count == count);
	EXPECT(prng, view->lists[table].count == lines);
}

static void random_tables_are_those_of_the_result(void **state)
{
	static const char *const functions[] = {"main", "train", "forward", "backward", "step"};
	static const char *const kernels[] = {"_Z4gemmIfEvPT_", "_Z7softmaxPf", "plain_kernel",
					      "k1"};
	static const char *const works[] = {"[GPU_Memset]", "[GPU_Memcpy HtoD]"};

	(void)state;
	for (uint64_t round = 0; round < 60; round++) {
		struct prng prng = prng_round(round);
		struct parts p = parts_new();
		struct naming_bench *b;
		void *opaque;

		assert_int_equal(bench_begin(&opaque), 0);
		b = opaque;
		/* the pass is repeated, and there is more each time */
		for (int pass = 0; pass < 3; pass++) {
			const struct live_view *view;
			struct result *result;
			struct hot_spots *hot_spots;

			for (uint64_t i = prng_below(&prng, 200); i > 0; i--) {
				struct stack_id stack = STACK_EMPTY;

				for (uint64_t depth = 1 + prng_below(&prng, 4); depth > 0; depth--)
					stack = work(b, stack, FRAME_PYTHON,
						     functions[prng_below(&prng, 5)]);
				if (prng_chance(&prng, 30)) {
					add(b, ROW_CPU, stack, prng_bits(&prng, 30));
					continue;
				}
				stack = bench_call(b, stack, "cudaLaunchKernel");
				if (prng_chance(&prng, 30)) {
					stack = work(b, stack, FRAME_MARK, PSEUDO_CAPTURED);
					stack = work(b, stack, FRAME_PYTHON,
						     functions[prng_below(&prng, 5)]);
					stack = bench_call(b, stack, "cudaLaunchKernel");
				}
				if (prng_chance(&prng, 80))
					stack = work(b, stack, FRAME_GPU_KERNEL,
						     kernels[prng_below(&prng, 4)]);
				else
					stack = work(b, stack, FRAME_GPU_WORK,
						     works[prng_below(&prng, 2)]);
				add(b, ROW_GPU, stack, prng_bits(&prng, 30));
			}
			view = view_of(b, &p.sums, p.names, PICKS);
			result = bench_result(b);
			hot_spots = hot_spots_new(result);
			assert_non_null(hot_spots);
			expect_same(&prng, view, LIVE_KERNELS, &hot_spots->kernels,
				    &hot_spots->copies);
			expect_same(&prng, view, LIVE_SITES, &hot_spots->sites, NULL);
			expect_same(&prng, view, LIVE_FUNCTIONS, &hot_spots->functions, NULL);
			hot_spots_free(hot_spots);
			result_free(result);
		}
		bench_end(&opaque);
		parts_free(&p);
	}
}

/* ---- code ---- */

__attribute__((noinline)) static int some_function(int x)
{
	return x * 3 + 1;
}

/* Stands for a statically linked library: CUDA's functions are in the program. */
__attribute__((noinline)) int cudaLaunchKernel(int x);
__attribute__((noinline)) int cudaLaunchKernel(int x)
{
	return x * 5 + 1;
}

static struct stack_id push_code(struct naming_bench *b, struct stack_id outer,
				 int (*function)(int), int offset)
{
	struct frame frame;

	memset(&frame, 0, sizeof(frame));
	frame.kind = FRAME_CODE;
	frame.code =
		symbolizer_locate(b->symbolizer, b->self, (uintptr_t)function + (uintptr_t)offset);
	return stack_table_push(b->stacks, outer, &frame);
}

static void code_has_the_names_of_its_functions(void **state)
{
	struct naming_bench *b = *state;
	struct parts p = parts_new();
	const struct live_view *view;
	struct stack_id caller = push_code(b, STACK_EMPTY, some_function, 1), inside;

	/* two places in a function are one line */
	add(b, ROW_CPU, caller, 100);
	add(b, ROW_CPU, push_code(b, STACK_EMPTY, some_function, 2), 20);
	inside = push_code(b, push_code(b, caller, cudaLaunchKernel, 1), cudaLaunchKernel, 2);
	add(b, ROW_GPU, work(b, bench_call(b, inside, "cudaLaunchKernel"), FRAME_GPU_KERNEL, "k"),
	    7);
	add(b, ROW_GPU,
	    work(b, bench_call(b, caller, "cudaMemset"), FRAME_GPU_WORK, "[GPU_Memset]"), 3);
	add(b, ROW_GPU, work(b, STACK_EMPTY, FRAME_GPU_WORK, "[GPU_UVM]"), 1);
	/* on a slow machine, some names come only with a later message */
	do
		view = view_of(b, &p.sums, p.names, PICKS);
	while (!line_of(view, LIVE_FUNCTIONS, "some_function") ||
	       !line_of(view, LIVE_SITES, "some_function") ||
	       view->lists[LIVE_FUNCTIONS].count > 1 || view->lists[LIVE_SITES].count > 2);
	assert_int_equal(view->lists[LIVE_FUNCTIONS].count, 1);
	assert_int_equal(line_of(view, LIVE_FUNCTIONS, "some_function")->sum.ns, 120);
	assert_int_equal(line_of(view, LIVE_SITES, "some_function")->sum.ns, 10);
	assert_int_equal(line_of(view, LIVE_SITES, "[unknown]")->sum.ns, 1);
	assert_int_equal(view->lists[LIVE_SITES].count, 2);
	parts_free(&p);
}

static void what_is_not_kept_counts_in_the_whole(void **state)
{
	struct naming_bench *b = *state;
	struct parts p = parts_new();
	const struct live_view *view;

	add(b, ROW_GPU, STACK_NOT_KEPT, 5);
	add(b, ROW_CPU, STACK_NOT_KEPT, 6);
	add(b, ROW_CPU, STACK_EMPTY, 7);
	view = view_of(b, &p.sums, p.names, PICKS);
	assert_int_equal(view->lists[LIVE_KERNELS].whole.ns, 5);
	assert_int_equal(view->lists[LIVE_SITES].whole.ns, 5);
	assert_int_equal(view->lists[LIVE_FUNCTIONS].whole.ns, 13);
	for (int i = 0; i < LIVE_TABLES; i++)
		assert_int_equal(view->lists[i].count, 0);
	parts_free(&p);
}

/* ---- limits ---- */

static void those_with_the_most_time_are_picked(void **state)
{
	struct naming_bench *b = *state;
	struct parts p = parts_new();
	char names[500][16];

	for (uint32_t i = 0; i < 500; i++) {
		snprintf(names[i], sizeof(names[i]), "k%03u", i);
		/* 7 is prime to 500: each number once, in no order */
		add(b, ROW_GPU, work(b, STACK_EMPTY, FRAME_GPU_KERNEL, names[i]), i * 7 % 500 + 1);
	}
	for (uint32_t max = 1; max < 600; max += max < 20 ? 1 : 97) {
		const struct live_view *view = view_of(b, &p.sums, p.names, max);
		const struct live_list *list = &view->lists[LIVE_KERNELS];

		assert_int_equal(list->count, max < 500 ? max : 500);
		for (uint32_t i = 0; i < list->count; i++)
			assert_int_equal(list->lines[i].sum.ns, 500 - i);
		assert_int_equal(list->whole.ns, 500 * 501 / 2);
	}
	parts_free(&p);
}

static void a_message_is_bounded(void **state)
{
	struct naming_bench *b = *state;
	struct parts p;
	const struct live_view *view;
	char *name;

	SKIP_UNDER_VALGRIND();
	p = parts_new();
	name = malloc(2 << 20);
	assert_non_null(name);
	memset(name, '\033', 2 << 20);
	for (uint32_t i = 0; i < 100; i++) {
		const char *kept;

		snprintf(name, 32, "f%03u", i);
		name[4] = 'x';
		name[1 << 20] = '\0';
		kept = intern_string(&b->strings, name);
		name[1 << 20] = '\033';
		add(b, ROW_CPU, work(b, STACK_EMPTY, FRAME_PYTHON, kept), 1000 + i);
		add(b, ROW_GPU,
		    work(b, bench_call(b, work(b, STACK_EMPTY, FRAME_PYTHON, kept), kept),
			 FRAME_GPU_KERNEL, kept),
		    1000 + i);
	}
	view = view_of(b, &p.sums, p.names, PICKS);
	/* the rest does not fit; but what there is is the longest */
	assert_true(writer.used <= LIVE_MESSAGE_MAX);
	assert_in_range(view->lists[LIVE_KERNELS].count, 10, 30);
	assert_true(strncmp(view->lists[LIVE_KERNELS].lines[0].name, "f099x", 5) == 0);
	assert_int_equal(view->lists[LIVE_FUNCTIONS].whole.count, 100);
	for (uint32_t i = 0; i < view->lists[LIVE_KERNELS].count; i++)
		assert_null(strchr(view->lists[LIVE_KERNELS].lines[i].name, '\033'));
	free(name);
	parts_free(&p);
}

static void half_a_message_is_none(void **state)
{
	struct naming_bench *b = *state;
	struct parts p = parts_new();
	struct stack_id caller = push_code(b, STACK_EMPTY, some_function, 1);

	add(b, ROW_CPU, caller, 100);
	add(b, ROW_GPU, work(b, bench_call(b, caller, "cudaLaunchKernel"), FRAME_GPU_KERNEL, "k"),
	    7);
	view_of(b, &p.sums, p.names, PICKS);
	for (size_t size = 0; size < writer.used; size++) {
		char *cut = malloc(size ? size : 1); /* valgrind sees a byte too many */
		const struct live_view *view;

		memcpy(cut, writer.bytes, size);
		view = live_names_read(p.names, cut, size);
		/* a message may end only between tables */
		assert_true(!view || size >= sizeof(struct live_numbers));
		free(cut);
	}
	assert_non_null(live_names_read(p.names, writer.bytes, writer.used));
	parts_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_tables_are_those_of_the_result),
		BENCH_TEST(code_has_the_names_of_its_functions),
		BENCH_TEST(what_is_not_kept_counts_in_the_whole),
		BENCH_TEST(those_with_the_most_time_are_picked),
		BENCH_TEST(a_message_is_bounded),
		BENCH_TEST(half_a_message_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) + some_function(0) - cudaLaunchKernel(0);
}
