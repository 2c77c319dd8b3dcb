/* SPDX-License-Identifier: MIT */
#include "made_result.h"
#include <math.h>
#include "own_folder.h"
#include "profiler/model/memory_use.h"
#include "profiler/shape/change_kind.h"
#include "profiler/formats/writer.h"
#include "profiler/tables/comparison.h"

static const struct comparison_options after_shown = {.shown = SIDE_AFTER};

static void add_samples(struct made_result *m, uint32_t stack, uint64_t count)
{
	struct row row = {.kind = ROW_CPU, .stack = stack, .count = count, .ns = count * 1000};

	made_add_at(m, &row, place_unknown());
}

static uint32_t push_kernel(struct made_result *m, uint32_t outer, const char *name)
{
	uint32_t stack = made_push(m, outer, name);

	m->frames[m->result.frame_count - 1].class = CLASS_GPU_KERNEL;
	m->frames[m->result.frame_count - 1].short_name = name + strlen("[GPU_Kernel]");
	return stack;
}

static void add_kernel(struct made_result *m, const char *name, uint64_t count, uint64_t ns)
{
	struct row row = {.kind = ROW_GPU, .count = count, .ns = ns};

	row.stack = push_kernel(m, made_push(m, RESULT_ROOT, "main"), name);
	made_add_at(m, &row, place_unknown());
}

static struct comparison *compare_two(const struct made_result *before,
				      const struct made_result *after)
{
	const struct result *b = &before->result, *a = &after->result;
	struct comparison *c = comparison_new(&b, 1, &a, 1, &after_shown);

	assert_non_null(c);
	return c;
}

static const struct comparison_entry *entry(const struct comparison *c,
					    enum comparison_tables table, const char *name)
{
	for (uint32_t i = 0; i < c->tables[table].count; i++)
		if (strcmp(c->tables[table].entries[i].frame->name, name) == 0)
			return &c->tables[table].entries[i];
	fail_msg("no entry %s", name);
	return NULL;
}

/* Each stack counts once, however many of its functions match, and however often. */
static void total_times_are_of_stacks(void **state)
{
	struct made_result b, a;
	struct run_values v;
	struct comparison *c;
	regex_t pattern;
	uint32_t found, stack;

	(void)state;
	made_begin(&b);
	made_begin(&a);
	add_samples(&b, MADE_STACK(&b, "main", "walk", "walk", "read"), 100);
	add_samples(&b, MADE_STACK(&b, "main", "other"), 1000);
	add_samples(&a, MADE_STACK(&a, "main", "walk", "walk", "read"), 200);
	add_samples(&a, MADE_STACK(&a, "main", "walker"), 50);
	add_samples(&a, MADE_STACK(&a, "main", "other"), 1000);
	/* ranges and work of the GPU are no functions */
	stack = MADE_STACK(&a, "main", "walked");
	a.frames[a.stacks[stack].frame].class = CLASS_NVTX;
	add_samples(&a, made_push(&a, stack, "other"), 7);
	add_kernel(&a, "[GPU_Kernel]walk", 1, 1000000);
	c = compare_two(&b, &a);
	assert_int_equal(regcomp(&pattern, "^walk", REG_EXTENDED), 0);
	assert_int_equal(comparison_matching_totals(c, &pattern, &found, &v), 0);
	assert_int_equal(found, 2);
	assert_true(v.values[0] == 100000 && v.values[1] == 250000);
	assert_true(v.sides[SIDE_BEFORE].count == 100 && v.sides[SIDE_AFTER].count == 250);
	regfree(&pattern);
	assert_int_equal(regcomp(&pattern, "none", REG_EXTENDED), 0);
	assert_int_equal(comparison_matching_totals(c, &pattern, &found, &v), 0);
	assert_true(found == 0 && v.values[0] == 0 && v.values[1] == 0);
	regfree(&pattern);
	comparison_free(c);
	made_end(&b);
	made_end(&a);
}

/* A function's time is its share of what the kernel charged; one with all samples has all of it. */
static void functions_have_shares_of_the_charged_time(void **state)
{
	struct ledger ledgers[] = {{.cpu.used_ns = 990000}, {.cpu.used_ns = 2000000}};
	struct made_result made[2];
	struct run_values v;
	struct comparison *c;
	regex_t pattern;
	uint32_t found;

	(void)state;
	for (int i = 0; i < 2; i++) {
		made_begin(&made[i]);
		add_samples(&made[i], MADE_STACK(&made[i], "main", "f"), 400);
		add_samples(&made[i], MADE_STACK(&made[i], "main", "g"), 600);
		made[i].result.totals.measure.samples_cpu = true;
		made[i].result.totals.ledger = &ledgers[i];
	}
	c = compare_two(&made[0], &made[1]);
	assert_int_equal(regcomp(&pattern, "^f$", REG_EXTENDED), 0);
	assert_int_equal(comparison_matching(c, COMPARED_FUNCTIONS, &pattern, &v), 1);
	assert_true(fabs(v.values[0] - 396000) < 1 && fabs(v.values[1] - 800000) < 1);
	/* 400 samples of 1000 ns, and 600 of 1000 are of others */
	assert_true(fabs(v.sides[SIDE_BEFORE].sampled - 400e6 * 0.6) < 1);
	regfree(&pattern);
	assert_int_equal(regcomp(&pattern, "^main$", REG_EXTENDED), 0);
	assert_int_equal(comparison_matching_totals(c, &pattern, &found, &v), 0);
	assert_true(found == 1 && fabs(v.values[0] - 990000) < 1);
	assert_true(v.sides[SIDE_BEFORE].sampled < 1 && v.sides[SIDE_BEFORE].count == 1000);
	regfree(&pattern);
	v = comparison_total(c, TOTAL_CPU);
	assert_true(v.values[0] == 990000 && v.values[1] == 2000000 && v.is_one_value);
	comparison_free(c);
	/* a part of the run is not compared */
	made[1].result.totals.shown = "--time 1..2";
	c = compare_two(&made[0], &made[1]);
	v = comparison_total(c, TOTAL_CPU);
	assert_true(v.values[0] == 1000000 && v.sides[SIDE_AFTER].sampled > 0 && !v.is_one_value);
	assert_int_equal(regcomp(&pattern, "^f$", REG_EXTENDED), 0);
	assert_int_equal(comparison_matching(c, COMPARED_FUNCTIONS, &pattern, &v), 1);
	assert_true(v.values[0] == 400000 && v.sides[SIDE_BEFORE].sampled == 400e6);
	regfree(&pattern);
	comparison_free(c);
	made_end(&made[0]);
	made_end(&made[1]);
}

static void samples_vary_as_their_root(void **state)
{
	struct made_result b, a;
	const struct comparison_entry *e;
	struct comparison *c;

	(void)state;
	made_begin(&b);
	made_begin(&a);
	add_samples(&b, MADE_STACK(&b, "main", "f"), 100);
	add_samples(&a, MADE_STACK(&a, "main", "f"), 121);
	add_samples(&b, MADE_STACK(&b, "main", "g"), 100);
	add_samples(&a, MADE_STACK(&a, "main", "g"), 150);
	add_samples(&a, MADE_STACK(&a, "main", "new"), 4);
	add_samples(&a, MADE_STACK(&a, "main", "surely new"), 8);
	c = compare_two(&b, &a);
	e = entry(c, COMPARED_FUNCTIONS, "f");
	/* 1.96 * sqrt(100 + 121) samples */
	assert_true(fabs(e->change.bound - 29137) < 1);
	assert_true(change_difference(&e->change) == 21000);
	/* exact, given the sum of both; of rates, all rows have a part */
	assert_true(fabs(e->change.p - 0.1783815705682226) < 1e-9 && e->change.q >= e->change.p);
	assert_false(e->change.is_significant);
	assert_true(entry(c, COMPARED_FUNCTIONS, "g")->change.is_significant);
	assert_false(entry(c, COMPARED_FUNCTIONS, "new")->change.is_significant);
	e = entry(c, COMPARED_FUNCTIONS, "surely new");
	assert_true(e->change.is_significant);
	assert_int_equal(change_kind_of(&e->change), CHANGE_NEW);
	assert_false(e->is_on[SIDE_BEFORE]);
	/* the totals, the picture's root and main have all samples */
	assert_true(c->totals[TOTAL_CPU].before == 200000 && c->totals[TOTAL_CPU].after == 283000);
	assert_true(c->changes[RESULT_ROOT].after == 283000);
	assert_true(c->changes[1].after == 283000 && c->own[1].after == 0);
	comparison_free(c);
	made_end(&b);
	made_end(&a);
}

static struct comparison *compare_shares(const struct made_result *before,
					 const struct made_result *after)
{
	const struct comparison_options shares = {.shown = SIDE_AFTER, .is_normalized = true};
	const struct result *b = &before->result, *a = &after->result;
	struct comparison *c = comparison_new(&b, 1, &a, 1, &shares);

	assert_non_null(c);
	return c;
}

/* Runs of one mix, the second one three times as long. */
static void shares_do_not_depend_on_length(void **state)
{
	struct made_result b, a;
	enum comparison_total total;
	struct comparison *c;

	(void)state;
	made_begin(&b);
	made_begin(&a);
	add_samples(&b, MADE_STACK(&b, "main", "f"), 100);
	add_samples(&a, MADE_STACK(&a, "main", "f"), 300);
	add_samples(&b, MADE_STACK(&b, "main", "g"), 100);
	add_samples(&a, MADE_STACK(&a, "main", "g"), 300);
	add_kernel(&b, "[GPU_Kernel]k", 10, 1000);
	add_kernel(&a, "[GPU_Kernel]k", 10, 4000);
	c = compare_two(&b, &a);
	assert_true(entry(c, COMPARED_FUNCTIONS, "f")->change.is_significant);
	assert_true(comparison_differs_in_length(c, &total) && total == TOTAL_CPU);
	comparison_free(c);
	c = compare_shares(&b, &a);
	assert_int_equal(change_verdict(&entry(c, COMPARED_FUNCTIONS, "f")->change), CHANGED_NOT);
	assert_true(entry(c, COMPARED_FUNCTIONS, "g")->change.before == 300000);
	assert_int_equal(change_verdict(&entry(c, COMPARED_KERNELS, "[GPU_Kernel]k")->change),
			 CHANGED_NOT);
	assert_int_equal(change_verdict(&c->changes[RESULT_ROOT]), CHANGED_NOT);
	/* totals are as they were */
	assert_true(c->totals[TOTAL_CPU].before == 200000 && c->totals[TOTAL_CPU].is_significant);
	comparison_free(c);
	/* a share that grew */
	add_samples(&a, MADE_STACK(&a, "main", "h"), 60);
	c = compare_shares(&b, &a);
	assert_true(entry(c, COMPARED_FUNCTIONS, "h")->change.is_significant);
	assert_false(entry(c, COMPARED_FUNCTIONS, "f")->change.is_significant);
	comparison_free(c);
	made_end(&b);
	made_end(&a);
}

/* Among very many rows, a change of 1 in 7 samples is chance, not a finding. */
static void one_of_many_rows_is_chance(void **state)
{
	static char names[224][8];
	struct made_result b, a;
	struct comparison *c;

	(void)state;
	made_begin(&b);
	made_begin(&a);
	for (int i = 0; i < 224; i++) {
		snprintf(names[i], sizeof(names[i]), "f%d", i);
		add_samples(&b, MADE_STACK(&b, names[i]), i == 0 ? 1 : 4);
		add_samples(&a, MADE_STACK(&a, names[i]), i == 0 ? 9 : 4);
	}
	c = compare_two(&b, &a);
	/* alone it would be: beyond the bound, and p below 0.05 */
	assert_true(entry(c, COMPARED_FUNCTIONS, "f0")->change.p < 0.05);
	assert_int_equal(change_verdict(&entry(c, COMPARED_FUNCTIONS, "f0")->change),
			 CHANGED_BY_CHANCE);
	for (uint32_t i = 0; i < c->result.stack_count; i++)
		assert_int_equal(change_kind_of(&c->changes[i]), CHANGE_NOISE);
	comparison_free(c);
	made_end(&b);
	made_end(&a);
}

/* Samples of another rate count for other times. */
static void rates_may_differ(void **state)
{
	struct made_result b, a;
	struct row row = {.kind = ROW_CPU, .count = 1000, .ns = 250000};
	struct comparison *c;

	(void)state;
	made_begin(&b);
	made_begin(&a);
	add_samples(&b, MADE_STACK(&b, "f"), 250);
	row.stack = MADE_STACK(&a, "f");
	made_add_at(&a, &row, place_unknown());
	add_samples(&b, MADE_STACK(&b, "g"), 100);
	row = (struct row){.kind = ROW_CPU, .count = 480, .ns = 120000};
	row.stack = MADE_STACK(&a, "g");
	made_add_at(&a, &row, place_unknown());
	c = compare_two(&b, &a);
	assert_int_equal(change_verdict(&entry(c, COMPARED_FUNCTIONS, "f")->change), CHANGED_NOT);
	/* 100 of 1 against 480 of 4: far from the 0 of counts alone */
	assert_true(entry(c, COMPARED_FUNCTIONS, "g")->change.p > 0.05);
	comparison_free(c);
	made_end(&b);
	made_end(&a);
}

/* CPU time without a sample is as exact as if there were samples of it. */
static void time_without_a_sample_has_a_bound(void **state)
{
	struct made_result b, a;
	struct row row = {.kind = ROW_CPU, .ns = 400000};
	struct comparison *c;

	(void)state;
	made_begin(&b);
	made_begin(&a);
	b.result.totals.sample_ns = a.result.totals.sample_ns = 1000;
	row.stack = MADE_STACK(&b, "[not sampled]");
	made_add_at(&b, &row, place_unknown());
	row.ns = 500000;
	row.stack = MADE_STACK(&a, "[not sampled]");
	made_add_at(&a, &row, place_unknown());
	c = compare_two(&b, &a);
	assert_true(fabs(entry(c, COMPARED_FUNCTIONS, "[not sampled]")->change.bound -
			 1.96 * 1000 * sqrt(400 + 500)) < 100);
	comparison_free(c);
	made_end(&b);
	made_end(&a);
}

/* Operations of given durations below one stack, with their records. */
struct timed {
	struct made_result made;
	struct timeline *timeline;
};

static void timed_begin(struct timed *t)
{
	made_begin(&t->made);
	t->timeline = timeline_new(folder, NULL);
	assert_non_null(t->timeline);
}

static void timed_add(struct timed *t, const char *name, const uint64_t *ns, uint32_t count)
{
	struct row row = {.kind = ROW_GPU, .count = count};

	row.stack = push_kernel(&t->made, RESULT_ROOT, name);
	for (uint32_t i = 0; i < count; i++) {
		struct timeline_record record = {.kind = TIMELINE_GPU_OPERATION,
						 .start_ns = i,
						 .duration_ns = ns[i],
						 .stack = {row.stack}};

		assert_int_equal(timeline_add(t->timeline, &record), 0);
		row.ns += ns[i];
	}
	made_add_at(&t->made, &row, place_unknown());
}

static const struct result *timed_finish(struct timed *t)
{
	assert_int_equal(timeline_finish(t->timeline), 0);
	t->made.result.timeline = t->timeline;
	t->made.result.record_stack_count = t->made.result.stack_count;
	return &t->made.result;
}

static void timed_end(struct timed *t)
{
	timeline_free(t->timeline);
	made_end(&t->made);
}

static void operations_vary_as_they_did(void **state)
{
	static const uint64_t steady[] = {1000, 1000, 1000, 1000};
	static const uint64_t slower[] = {1001, 1001, 1001, 1001};
	static const uint64_t loose[] = {800, 1200, 800, 1200};
	static const uint64_t later[] = {900, 1300, 900, 1300};
	static const uint64_t once[] = {1000};
	static const uint64_t twice[] = {2000};
	const struct result *results[SIDES];
	const struct comparison_entry *e;
	struct timed b, a;
	struct comparison *c;

	(void)state;
	timed_begin(&b);
	timed_begin(&a);
	timed_add(&b, "[GPU_Kernel]steady", steady, 4);
	timed_add(&a, "[GPU_Kernel]steady", slower, 4);
	timed_add(&b, "[GPU_Kernel]loose", loose, 4);
	timed_add(&a, "[GPU_Kernel]loose", later, 4);
	timed_add(&b, "[GPU_Kernel]once", once, 1);
	timed_add(&a, "[GPU_Kernel]once", twice, 1);
	results[SIDE_BEFORE] = timed_finish(&b);
	results[SIDE_AFTER] = timed_finish(&a);
	c = comparison_new(&results[SIDE_BEFORE], 1, &results[SIDE_AFTER], 1, &after_shown);
	assert_non_null(c);
	e = entry(c, COMPARED_KERNELS, "[GPU_Kernel]steady");
	assert_true(e->change.bound == 0 && e->change.is_significant);
	e = entry(c, COMPARED_KERNELS, "[GPU_Kernel]loose");
	/* variance 160000/3 of each, 4 of each side */
	assert_true(fabs(e->change.bound - 1.96 * sqrt(8 * 160000 / 3.0)) < 1);
	assert_false(e->change.is_significant);
	/* a kernel launched once is taken to vary like the others: 213,333 in 8 million before,
	 * 9.3 million after */
	e = entry(c, COMPARED_KERNELS, "[GPU_Kernel]once");
	assert_true(e->change.bound > 1.96 * 300 && e->change.bound < 1.96 * 400);
	/* without a spread of its own, nothing is claimed */
	assert_false(e->change.has_bound || e->change.is_significant);
	assert_int_equal(change_verdict(&e->change), CHANGED_PERHAPS);
	comparison_free(c);
	timed_end(&b);
	timed_end(&a);
}

/* Parts of what lies across the ends of a part of the run, from 1000 to 2000 ns. */
static void what_a_cut_leaves_is_chance(void **state)
{
	const struct result *results[SIDES];
	struct timed sides[SIDES];
	struct comparison *c;

	(void)state;
	for (int i = 0; i < SIDES; i++) {
		struct timed *t = &sides[i];
		struct row row = {.kind = ROW_CPU, .ns = 20 + 10 * (uint64_t)i};
		struct timeline_record record = {.kind = TIMELINE_GPU_OPERATION,
						 .start_ns = 1000,
						 .duration_ns = 100 + 50 * (uint64_t)i};

		timed_begin(t);
		t->made.result.totals.sample_ns = 50;
		t->made.result.totals.elapsed_ns = 5000 + 5000 * (uint64_t)i;
		t->made.result.shown_from_ns = 1000;
		t->made.result.shown_to_ns = 2000;
		/* a sample that began before */
		row.stack = MADE_STACK(&t->made, "cut");
		made_add_at(&t->made, &row, place_unknown());
		/* an operation that did, and one that ends later */
		row = (struct row){.kind = ROW_GPU, .ns = record.duration_ns};
		row.stack = record.stack.number =
			push_kernel(&t->made, RESULT_ROOT, "[GPU_Kernel]from");
		made_add_at(&t->made, &row, place_unknown());
		assert_int_equal(timeline_add(t->timeline, &record), 0);
		row.count = 1;
		row.stack = record.stack.number =
			push_kernel(&t->made, RESULT_ROOT, "[GPU_Kernel]to");
		made_add_at(&t->made, &row, place_unknown());
		record.start_ns = 2000 - record.duration_ns;
		assert_int_equal(timeline_add(t->timeline, &record), 0);
		/* many others show that such operations hardly vary */
		row = (struct row){.kind = ROW_GPU, .count = 8, .ns = 800};
		row.stack = record.stack.number =
			push_kernel(&t->made, RESULT_ROOT, "[GPU_Kernel]whole");
		made_add_at(&t->made, &row, place_unknown());
		record.duration_ns = 100;
		for (record.start_ns = 1100; record.start_ns < 1900; record.start_ns += 100)
			assert_int_equal(timeline_add(t->timeline, &record), 0);
		results[i] = timed_finish(t);
	}
	c = comparison_new(&results[SIDE_BEFORE], 1, &results[SIDE_AFTER], 1, &after_shown);
	assert_non_null(c);
	assert_true(fabs(entry(c, COMPARED_FUNCTIONS, "cut")->change.bound - 1.96 * 50 * sqrt(2)) <
		    0.1);
	assert_false(entry(c, COMPARED_FUNCTIONS, "cut")->change.is_significant);
	assert_true(fabs(entry(c, COMPARED_KERNELS, "[GPU_Kernel]from")->change.bound -
			 1.96 * sqrt(100 * 100 + 150 * 150)) < 0.1);
	assert_true(fabs(entry(c, COMPARED_KERNELS, "[GPU_Kernel]to")->change.bound -
			 1.96 * sqrt(100 * 100 + 150 * 150)) < 0.1);
	assert_true(entry(c, COMPARED_KERNELS, "[GPU_Kernel]whole")->change.bound == 0);
	assert_true(c->totals[TOTAL_WALL].before == 1000 && c->totals[TOTAL_WALL].after == 1000);
	comparison_free(c);
	timed_end(&sides[SIDE_BEFORE]);
	timed_end(&sides[SIDE_AFTER]);
}

static void without_durations_all_of_it_may_be_noise(void **state)
{
	struct made_result b, a;
	struct comparison *c;

	(void)state;
	made_begin(&b);
	made_begin(&a);
	add_kernel(&b, "[GPU_Kernel]k", 1, 1000);
	add_kernel(&a, "[GPU_Kernel]k", 1, 2000);
	c = compare_two(&b, &a);
	assert_false(c->totals[TOTAL_GPU].is_significant);
	comparison_free(c);
	made_end(&b);
	made_end(&a);
}

/* Checks three runs of a kernel on each side, with these times. */
static void check_runs(const uint64_t before[3], const uint64_t after[3], double bound,
		       bool is_significant)
{
	struct made_result runs[6];
	const struct result *results[6];
	struct comparison *c;

	for (int i = 0; i < 6; i++) {
		made_begin(&runs[i]);
		add_kernel(&runs[i], "[GPU_Kernel]k", 1, i < 3 ? before[i] : after[i - 3]);
		results[i] = &runs[i].result;
	}
	c = comparison_new(results, 3, results + 3, 3, &after_shown);
	assert_non_null(c);
	assert_true(fabs(c->totals[TOTAL_GPU].bound - bound) < 1);
	assert_int_equal(c->totals[TOTAL_GPU].is_significant, is_significant);
	/* the picture has means */
	assert_true(c->result.row_count == 1 && c->result.rows[0].count == 1);
	assert_true(fabs((double)c->result.rows[0].ns - c->totals[TOTAL_GPU].after) <= 0.5);
	comparison_free(c);
	for (int i = 0; i < 6; i++)
		made_end(&runs[i]);
}

static void several_runs_show_their_spread(void **state)
{
	(void)state;
	/* t(4) = 2.776; s = 100 on both sides; sqrt(2/3) */
	check_runs((uint64_t[]){900, 1000, 1100}, (uint64_t[]){1100, 1200, 1300},
		   2.776 * 100 * sqrt(2 / 3.0), false);
	check_runs((uint64_t[]){900, 1000, 1100}, (uint64_t[]){1200, 1300, 1400},
		   2.776 * 100 * sqrt(2 / 3.0), true);
	check_runs((uint64_t[]){1000, 1000, 1000}, (uint64_t[]){1000, 1000, 1000}, 0, false);
	check_runs((uint64_t[]){1000, 1000, 1000}, (uint64_t[]){1001, 1001, 1001}, 0, true);
}

static void equal_samples_are_noise_even_if_runs_agree(void **state)
{
	struct made_result runs[4];
	const struct result *results[4];
	struct comparison *c;

	(void)state;
	for (int i = 0; i < 4; i++) {
		made_begin(&runs[i]);
		add_samples(&runs[i], MADE_STACK(&runs[i], "main"), i < 2 ? 3 : 4);
		results[i] = &runs[i].result;
	}
	c = comparison_new(results, 2, results + 2, 2, &after_shown);
	assert_non_null(c);
	assert_false(c->totals[TOTAL_CPU].is_significant);
	/* 1.96 * sqrt((3 + 3 + 4 + 4) / 4) samples */
	assert_true(fabs(c->totals[TOTAL_CPU].bound - 3667) < 1);
	comparison_free(c);
	for (int i = 0; i < 4; i++)
		made_end(&runs[i]);
}

static void variants_of_kernels_are_matched(void **state)
{
	struct made_result b, a;
	const struct comparison_entry *e;
	struct comparison *c;
	struct run_values v;
	regex_t pattern;

	(void)state;
	made_begin(&b);
	made_begin(&a);
	add_kernel(&b, "[GPU_Kernel]gemm<128,64>(float*)", 10, 1000);
	add_kernel(&a, "[GPU_Kernel]gemm<256,64>(float*)", 10, 900);
	add_kernel(&a, "[GPU_Kernel]gemm<32,64>(float*)", 10, 50);
	add_kernel(&b, "[GPU_Kernel]ampere_sgemm_128x64_tn", 1, 7);
	add_kernel(&a, "[GPU_Kernel]ampere_sgemm_64x64_tn", 1, 8);
	add_kernel(&b, "[GPU_Kernel]triton_poi_fused_add_0", 1, 5);
	add_kernel(&a, "[GPU_Kernel]triton_poi_fused_add_1", 1, 6);
	/* matched by name, though another kernel is similar */
	add_kernel(&b, "[GPU_Kernel]same<1>", 1, 3);
	add_kernel(&a, "[GPU_Kernel]same<1>", 1, 3);
	add_kernel(&a, "[GPU_Kernel]same<2>", 1, 4);
	add_kernel(&b, "[GPU_Kernel]gone_a", 1, 2);
	c = compare_two(&b, &a);
	assert_int_equal(c->tables[COMPARED_KERNELS].count, 6);
	e = entry(c, COMPARED_KERNELS, "[GPU_Kernel]gemm<256,64>(float*)");
	assert_int_equal(e->matched_by, MATCHED_BY_TEMPLATE);
	assert_true(e->change.before == 1000 && e->change.after == 950);
	assert_int_equal(e->variants[SIDE_BEFORE], 1);
	assert_int_equal(e->variants[SIDE_AFTER], 2);
	e = entry(c, COMPARED_KERNELS, "[GPU_Kernel]ampere_sgemm_64x64_tn");
	assert_int_equal(e->matched_by, MATCHED_BY_NUMBERS);
	assert_true(e->change.before == 7 && e->change.after == 8);
	e = entry(c, COMPARED_KERNELS, "[GPU_Kernel]triton_poi_fused_add_1");
	assert_int_equal(e->matched_by, MATCHED_BY_NUMBERS);
	e = entry(c, COMPARED_KERNELS, "[GPU_Kernel]same<1>");
	assert_int_equal(e->matched_by, MATCHED_BY_NAME);
	assert_true(e->change.after == 3);
	assert_false(entry(c, COMPARED_KERNELS, "[GPU_Kernel]same<2>")->is_on[SIDE_BEFORE]);
	assert_false(entry(c, COMPARED_KERNELS, "[GPU_Kernel]gone_a")->is_on[SIDE_AFTER]);
	/* the picture has one frame for both */
	assert_int_equal(c->result.stack_count, 2 + 6);
	/* patterns see the names of both sides */
	assert_int_equal(regcomp(&pattern, "gemm<128|_fused_", REG_EXTENDED | REG_NOSUB), 0);
	assert_int_equal(comparison_matching(c, COMPARED_KERNELS, &pattern, &v), 2);
	assert_true(v.values[0] == 1005 && v.values[1] == 956);
	regfree(&pattern);
	comparison_free(c);
	made_end(&b);
	made_end(&a);
}

static void what_grew_most_comes_first(void **state)
{
	struct made_result b, a;
	struct comparison *c;
	const struct comparison_entry *e;

	(void)state;
	made_begin(&b);
	made_begin(&a);
	add_samples(&b, MADE_STACK(&b, "noise"), 10000);
	add_samples(&a, MADE_STACK(&a, "noise"), 10100);
	add_samples(&b, MADE_STACK(&b, "less"), 100);
	add_samples(&a, MADE_STACK(&a, "less"), 20);
	add_samples(&a, MADE_STACK(&a, "new"), 90);
	c = compare_two(&b, &a);
	e = c->tables[COMPARED_FUNCTIONS].entries;
	assert_string_equal(e[0].frame->name, "new");
	assert_string_equal(e[1].frame->name, "less");
	assert_string_equal(e[2].frame->name, "noise");
	assert_int_equal(change_kind_of(&e[1].change), CHANGE_LESS3);
	assert_int_equal(change_kind_of(&e[2].change), CHANGE_NOISE);
	comparison_free(c);
	made_end(&b);
	made_end(&a);
}

static void memory_is_bounded(void **state)
{
	struct quota memory = {.limit = 10000};
	struct comparison_options options = {.shown = SIDE_AFTER, .memory = &memory};
	const struct result *r;
	struct made_result m;
	uint32_t stack = RESULT_ROOT;

	(void)state;
	made_begin(&m);
	for (int i = 0; i < 1000; i++)
		stack = made_push(&m, stack, "deep");
	add_samples(&m, stack, 1);
	r = &m.result;
	assert_null(comparison_new(&r, 1, &r, 1, &options));
	assert_int_equal(errno, E2BIG);
	assert_int_equal(memory.used, 0);
	memory.limit = 1 << 20;
	comparison_free(comparison_new(&r, 1, &r, 1, &options));
	assert_int_equal(memory.used, 0);
	made_end(&m);
}

/* ---- random results ---- */

static void make_random(struct prng *p, struct made_result *m)
{
	static const char *const names[] = {"main", "f", "g<int>", "h (a.py)", "[x]", "<b>"};
	static const char *const kernels[] = {"[GPU_Kernel]k<1>", "[GPU_Kernel]k<2>",
					      "[GPU_Kernel]t_1", "[GPU_Kernel]t_2"};

	made_begin(m);
	for (uint64_t i = prng_below(p, 40); i > 0; i--) {
		struct row row = {.count = 1 + prng_below(p, 50), .ns = prng_bits(p, 40)};
		uint32_t stack = RESULT_ROOT;

		for (uint64_t depth = prng_below(p, 5); depth > 0; depth--)
			stack = made_push(m, stack, names[prng_below(p, 6)]);
		row.kind = prng_chance(p, 50) ? ROW_GPU : (uint32_t)prng_below(p, ROW_KINDS);
		if (row.kind == ROW_GPU)
			stack = push_kernel(m, stack, kernels[prng_below(p, 4)]);
		row.stack = stack;
		made_add_at(m, &row, place_unknown());
	}
}

static double sum_of(const struct made_result *m, uint32_t count, int kind)
{
	double sum = 0;

	for (uint32_t run = 0; run < count; run++)
		for (uint32_t i = 0; i < m[run].result.row_count; i++)
			if (kind < 0 || m[run].result.rows[i].kind == (uint32_t)kind)
				sum += (double)m[run].result.rows[i].ns;
	return sum / count;
}

static bool is_near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static void check_sums(struct prng *p, const struct comparison *c, double before, double after,
		       double gpu_before, double gpu_after)
{
	double own_before = 0, own_after = 0, rows = 0, kernels_before = 0, kernels_after = 0;
	const struct comparison_table *t = &c->tables[COMPARED_KERNELS];

	for (uint32_t i = 0; i < c->result.stack_count; i++) {
		own_before += c->own[i].before;
		own_after += c->own[i].after;
		EXPECT(p, c->own[i].after <= c->changes[i].after * (1 + 1e-9));
		EXPECT(p, c->changes[i].bound >= 0);
	}
	for (uint32_t i = 0; i < c->result.row_count; i++)
		rows += (double)c->result.rows[i].ns;
	for (uint32_t i = 0; i < t->count; i++) {
		kernels_before += t->entries[i].change.before;
		kernels_after += t->entries[i].change.after;
	}
	EXPECT(p, is_near(own_before, before) && is_near(own_after, after));
	EXPECT(p, is_near(c->changes[RESULT_ROOT].before, before));
	EXPECT(p, is_near(c->changes[RESULT_ROOT].after, after));
	EXPECT(p, fabs(rows - after) <= c->result.row_count + 1e-9 * after);
	EXPECT(p, is_near(kernels_before, gpu_before) && is_near(kernels_after, gpu_after));
	EXPECT(p, is_near(c->totals[TOTAL_GPU].after, gpu_after));
}

#define RUNS 3

static void random_results_add_up(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(500); round++) {
		struct prng p = prng_round(round);
		uint32_t count[SIDES] = {1 + (uint32_t)prng_below(&p, RUNS),
					 1 + (uint32_t)prng_below(&p, RUNS)};
		const struct result *results[SIDES][RUNS];
		struct made_result made[SIDES][RUNS];
		struct comparison *c, *reverse;

		for (int side = 0; side < SIDES; side++) {
			for (uint32_t i = 0; i < count[side]; i++) {
				make_random(&p, &made[side][i]);
				results[side][i] = &made[side][i].result;
			}
		}
		c = comparison_new(results[0], count[0], results[1], count[1], &after_shown);
		reverse = comparison_new(results[1], count[1], results[0], count[0], &after_shown);
		EXPECT(&p, c && reverse);
		check_sums(&p, c, sum_of(made[0], count[0], -1), sum_of(made[1], count[1], -1),
			   sum_of(made[0], count[0], ROW_GPU), sum_of(made[1], count[1], ROW_GPU));
		/* the reverse comparison agrees */
		EXPECT(&p, c->result.stack_count == reverse->result.stack_count);
		for (int i = 0; i < COMPARISON_TOTALS; i++) {
			EXPECT(&p, is_near(c->totals[i].bound, reverse->totals[i].bound));
			EXPECT(&p, c->totals[i].before == reverse->totals[i].after);
			EXPECT(&p,
			       c->totals[i].is_significant == reverse->totals[i].is_significant);
		}
		for (int i = 0; i < COMPARISON_TABLES; i++)
			EXPECT(&p, c->tables[i].count == reverse->tables[i].count);
		comparison_free(c);
		comparison_free(reverse);
		for (int side = 0; side < SIDES; side++)
			for (uint32_t i = 0; i < count[side]; i++)
				made_end(&made[side][i]);
	}
}

/* A result does not differ from itself. */
static void equal_results_do_not_differ(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < 100; round++) {
		struct prng p = prng_round(round);
		struct made_result m;
		struct comparison *c;

		make_random(&p, &m);
		c = compare_two(&m, &m);
		for (uint32_t i = 0; i < c->result.stack_count; i++)
			EXPECT(&p, !c->changes[i].is_significant);
		for (uint32_t i = 0; i < c->tables[COMPARED_KERNELS].count; i++)
			EXPECT(&p, c->tables[COMPARED_KERNELS].entries[i].matched_by ==
					   MATCHED_BY_NAME);
		comparison_free(c);
		made_end(&m);
	}
}

/* ---- what writers make of it ---- */

static char *write_with(const struct writer *writer, const struct comparison *c)
{
	const struct writer_options options = {.unit_ns = 1, .comparison = c};
	struct written written;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(writer->write(&c->result, &options, out, &written), 0);
	fclose(out);
	return text;
}

static void formats_have_both_sides(void **state)
{
	struct made_result b, a;
	struct comparison *c;
	struct ledger ledger = {.cpu.samples = 0};
	char *text;

	(void)state;
	made_begin(&b);
	made_begin(&a);
	b.result.totals.ledger = a.result.totals.ledger = &ledger;
	add_samples(&b, MADE_STACK(&b, "main", "f;g"), 100);
	add_samples(&a, MADE_STACK(&a, "main", "f;g"), 200);
	add_samples(&b, MADE_STACK(&b, "main", "gone"), 50);
	add_samples(&a, MADE_STACK(&a, "<new>\"\xe2\x80\xa8"), 60);
	c = compare_two(&b, &a);
	text = write_with(&folded_writer, c);
	assert_string_equal(text, "<new>\"\xe2\x80\xa8 0 60000\n"
				  "main;f:g 100000 200000\n"
				  "main;gone 50000 0\n");
	free(text);
	text = write_with(&json_difference_writer, c);
	assert_non_null(strstr(text, "\"name\":\"f;g\",\"short_name\":\"f;g\",\"before\":100000,"
				     "\"after\":200000,\"difference\":100000,\"bound\":33949,"
				     "\"p\":"));
	assert_non_null(strstr(text, ",\"significant\":true,\"count_before\":100,"
				     "\"count_after\":200,\"matched_by\":\"name\""));
	assert_non_null(strstr(text, "\"normalized\":false"));
	assert_non_null(strstr(text, "\"difference\":-50000"));
	assert_non_null(strstr(text, "\"matched_by\":\"gone\""));
	assert_null(strstr(text, "\xe2\x80\xa8"));
	free(text);
	text = write_with(&svg_writer, c);
	assert_non_null(strstr(text, "<g class=\"more3\"><title>f;g"));
	assert_non_null(strstr(text, "before 100.0 µs, after 200.0 µs: +100.0 µs (+100.0 %), "
				     "beyond the noise of 33.95 µs"));
	assert_non_null(strstr(text, "<g class=\"new\"><title>&lt;new&gt;"));
	assert_non_null(strstr(text, "1 frame of 50.00 µs is only in the runs before"));
	assert_non_null(strstr(text, "\"changes\":[150000,260000,"));
	free(text);
	comparison_free(c);
	made_end(&b);
	made_end(&a);
}

static uint32_t push_unnamed(struct made_result *m, uint32_t outer, const char *name,
			     const char *build_id)
{
	uint32_t stack = made_push(m, outer, name);

	m->frames[m->result.frame_count - 1].build_id = build_id;
	return stack;
}

static void functions_without_a_name_differ_only_in_one_build(void **state)
{
	static const struct {
		const char *before, *after;
		bool is_same;
	} builds[] = {
		{"ab", "ab", true}, {"ab", "cd", false}, {"ab", NULL, false}, {NULL, NULL, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(builds) / sizeof(*builds); i++) {
		struct made_result b, a;
		struct comparison *c;

		made_begin(&b);
		made_begin(&a);
		add_samples(&b, push_unnamed(&b, RESULT_ROOT, "[app+0x10]", builds[i].before), 100);
		add_samples(&b, push_unnamed(&b, RESULT_ROOT, "[app+0x20]", builds[i].before), 50);
		add_samples(&a, push_unnamed(&a, RESULT_ROOT, "[app+0x10]", builds[i].after), 100);
		add_samples(&a, push_unnamed(&a, RESULT_ROOT, "[app+0x30]", builds[i].after), 50);
		/* a program's own name that resembles an address */
		add_samples(&a, made_push(&a, RESULT_ROOT, "[app+0x10"), 10);
		c = compare_two(&b, &a);
		entry(c, COMPARED_FUNCTIONS, "[app+0x10");
		if (builds[i].is_same) {
			assert_true(entry(c, COMPARED_FUNCTIONS, "[app+0x10]")->is_on[SIDE_AFTER]);
			assert_false(entry(c, COMPARED_FUNCTIONS, "[app+0x20]")->is_on[SIDE_AFTER]);
			entry(c, COMPARED_FUNCTIONS, "[app+0x30]");
			assert_int_equal(c->result.stack_count, 5);
		} else {
			const struct comparison_entry *e = entry(c, COMPARED_FUNCTIONS, "[app]");

			assert_true(e->change.before == 150000 && e->change.after == 150000);
			assert_int_equal(c->tables[COMPARED_FUNCTIONS].count, 2);
			assert_int_equal(c->result.stack_count, 3);
		}
		comparison_free(c);
		made_end(&b);
		made_end(&a);
	}
}

/* Memory is compared by function and kind, even if files differ and functions have no name. The
 * total has all kinds. */
static void memory_is_compared_by_kind(void **state)
{
	struct memory_total totals[] = {
		{.kind = MEMORY_OF_DEVICE, .peak_bytes = 50, .left_bytes = 10},
		{.kind = MEMORY_OF_HOST, .peak_bytes = 7, .left_bytes = 7},
		{.kind = MEMORY_MANAGED, .peak_bytes = 5}};
	struct memory_row rows[2][4] = {{{.total = 0, .peak_bytes = 30, .left_bytes = 10},
					 {.total = 1, .peak_bytes = 7, .left_bytes = 7},
					 {.total = 0, .peak_bytes = 20},
					 {.total = 2, .peak_bytes = 5}}};
	struct memory_use use[2] = {
		{.totals = totals, .total_count = 3, .rows = rows[0], .row_count = 4},
		{.totals = totals, .total_count = 3, .rows = rows[1], .row_count = 4}};
	static const char *const functions[2][4] = {{"load", "load", "[app+0x10]", "tune"},
						    {"load", "load", "[app+0x30]", "tune"}};
	struct made_result made[2];
	const struct comparison_entry *e;
	struct run_values v;
	struct comparison *c;
	regex_t pattern;

	(void)state;
	memcpy(rows[1], rows[0], sizeof(rows[0]));
	rows[1][1].left_bytes = 9;
	for (int side = 0; side < 2; side++) {
		made_begin(&made[side]);
		for (int i = 0; i < 4; i++) {
			uint32_t at = push_unnamed(&made[side], RESULT_ROOT, functions[side][i],
						   side ? "cd" : "ab");

			at = made_push(&made[side], at, "cudaMalloc");
			made[side].frames[made[side].result.frame_count - 1].class = CLASS_API;
			rows[side][i].stack = made_push(&made[side], at, "[GPU_Alloc]");
			made[side].frames[made[side].result.frame_count - 1].class = CLASS_GPU_WORK;
		}
		memory_use_show(&use[side], &made[side].tables);
	}
	c = compare_two(&made[0], &made[1]);
	assert_int_equal(c->tables[COMPARED_PEAK].count, 4);
	assert_true(entry(c, COMPARED_PEAK, "device: load")->change.after == 30);
	assert_true(entry(c, COMPARED_PEAK, "managed: tune")->change.after == 5);
	e = entry(c, COMPARED_PEAK, "device: [app]");
	assert_true(e->change.before == 20 && e->change.after == 20);
	assert_int_equal(c->tables[COMPARED_LEFT].count, 2);
	e = entry(c, COMPARED_LEFT, "pinned host: load");
	assert_true(e->change.before == 7 && e->change.after == 9 && e->change.is_significant);
	assert_true(c->totals[TOTAL_PEAK].before == 62 && c->totals[TOTAL_LEFT].before == 17);
	assert_int_equal(regcomp(&pattern, "^pinned host: ", REG_EXTENDED | REG_NOSUB), 0);
	assert_int_equal(comparison_matching(c, COMPARED_LEFT, &pattern, &v), 1);
	assert_true(v.values[0] == 7 && v.values[1] == 9);
	regfree(&pattern);
	comparison_free(c);
	for (int side = 0; side < 2; side++)
		made_end(&made[side]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_vary_as_their_root),
		cmocka_unit_test(total_times_are_of_stacks),
		cmocka_unit_test(functions_have_shares_of_the_charged_time),
		cmocka_unit_test(shares_do_not_depend_on_length),
		cmocka_unit_test(one_of_many_rows_is_chance),
		cmocka_unit_test(rates_may_differ),
		cmocka_unit_test(time_without_a_sample_has_a_bound),
		cmocka_unit_test(operations_vary_as_they_did),
		cmocka_unit_test(what_a_cut_leaves_is_chance),
		cmocka_unit_test(without_durations_all_of_it_may_be_noise),
		cmocka_unit_test(several_runs_show_their_spread),
		cmocka_unit_test(equal_samples_are_noise_even_if_runs_agree),
		cmocka_unit_test(variants_of_kernels_are_matched),
		cmocka_unit_test(functions_without_a_name_differ_only_in_one_build),
		cmocka_unit_test(memory_is_compared_by_kind),
		cmocka_unit_test(what_grew_most_comes_first),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(random_results_add_up),
		cmocka_unit_test(equal_results_do_not_differ),
		cmocka_unit_test(formats_have_both_sides),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
