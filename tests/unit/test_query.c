/* SPDX-License-Identifier: MIT */
/* Answers to questions: their figures are those of the summary, and hostile names break nothing. */
#include "made_findings.h"
#include "random_names.h"
#include "random_result.h"
#include <cjson/cJSON.h>
#include "profiler/formats/query.h"
#include "profiler/formats/writer.h"
#include "profiler/model/memory_use.h"
#include "profiler/tables/comparison.h"

#define FILES "profile --from x.profile"

static cJSON *parse(char *text)
{
	cJSON *tree = cJSON_ParseWithOpts(text, NULL, true);

	if (!tree)
		fail_msg("no JSON: %s", text);
	free(text);
	return tree;
}

static cJSON *ask_compared(const struct result *r, const char *question,
			   const struct comparison *comparison)
{
	const struct query_input input = {.result = r,
					  .command = {FILES, "", ""},
					  .comparison = comparison,
					  .other = "y.profile"};
	struct query query;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_true(query_read(question, &query));
	assert_int_equal(query_answer(&query, &input, out), 0);
	fclose(out);
	assert_true(size <= ANSWER_BYTES_MAX);
	return parse(text);
}

static cJSON *ask(const struct result *r, const char *question)
{
	return ask_compared(r, question, NULL);
}

static cJSON *summary_of(const struct result *r)
{
	struct written written;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(
		json_summary_writer.write(r, &(struct writer_options){.unit_ns = 1}, out, &written),
		0);
	fclose(out);
	return parse(text);
}

static const char *text_of(const cJSON *object, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

	return text ? text : "";
}

static uint64_t number(const cJSON *object, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);

	if (!cJSON_IsNumber(value))
		fail_msg("no number %s", key);
	return (uint64_t)value->valuedouble;
}

static const cJSON *sums(const cJSON *tree)
{
	return cJSON_GetObjectItemCaseSensitive(tree, "sums");
}

static int count_rows(const cJSON *tree)
{
	return cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(tree, "rows"));
}

static const cJSON *row(const cJSON *tree, int at)
{
	const cJSON *found = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(tree, "rows"), at);

	assert_non_null(found);
	return found;
}

/* ---- questions ---- */

static void questions_are_read(void **state)
{
	struct query query;

	(void)state;
	assert_true(query_read("kernels", &query));
	assert_true(query_needs_findings(&query));
	assert_null(query_other(&query));
	assert_true(query_read("functions", &query));
	assert_false(query_needs_findings(&query));
	assert_true(query_read("verdict", &query));
	assert_true(query_needs_findings(&query));
	assert_true(query_read("stack void f(int)", &query));
	assert_string_equal(query.argument, "void f(int)");
	assert_null(query_other(&query));
	assert_true(query_read("compare  my other.profile", &query));
	assert_string_equal(query_other(&query), "my other.profile");
	assert_false(query_read("", &query));
	assert_false(query_read("kernel", &query));
	assert_false(query_read("kernelss", &query));
	assert_false(query_read("kernels gemm", &query));
	assert_false(query_read("stack", &query));
	assert_false(query_read("stack ", &query));
	assert_false(query_read(" kernels", &query));
}

/* Each question that needs no argument is in the list, and each in the list can be asked. */
static void the_list_is_complete(void **state)
{
	struct ledger ledger = {.cpu.samples = 0};
	struct made_result m;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	cJSON *tree;

	(void)state;
	made_begin(&m);
	m.result.totals.ledger = &ledger;
	tree = ask(&m.result, "list");
	query_list(out);
	fclose(out);
	assert_int_equal(count_rows(tree), 16);
	for (int i = 0; i < count_rows(tree); i++) {
		const char *word = text_of(row(tree, i), "question");
		bool has_argument = cJSON_GetObjectItem(row(tree, i), "argument");
		char line[64];

		snprintf(line, sizeof(line), "  %s ", word);
		assert_non_null(strstr(text, line));
		if (!has_argument)
			cJSON_Delete(ask(&m.result, word));
	}
	cJSON_Delete(tree);
	free(text);
	made_end(&m);
}

/* ---- sums ---- */

/* Layers beyond the rows of a table and the room of an answer are counted, and so is their time. */
static void many_layers_are_all_counted(void **state)
{
	static char names[3000][32];
	struct ledger ledger = {.cpu.samples = 0};
	struct made_result m;
	cJSON *tree;

	(void)state;
	made_begin(&m);
	m.result.totals.ledger = &ledger;
	for (uint32_t i = 0; i < 3000; i++) {
		uint32_t stack;

		snprintf(names[i], sizeof(names[i]), "[layers.%u.%s]", i / 2,
			 i % 2 ? "mlp" : "attn");
		stack = MADE_STACK(&m, names[i], "[GPU_Kernel]k");
		m.frames[m.stacks[stack].frame].class = CLASS_GPU_KERNEL;
		m.frames[m.stacks[m.stacks[stack].outer].frame].class = CLASS_LAYER;
		made_add(&m, stack, ROW_GPU, 10 + i % 2);
	}
	tree = ask(&m.result, "layers");
	assert_int_equal(number(sums(tree), "layers"), 3000);
	assert_int_equal(number(sums(tree), "layer_kinds"), 2);
	assert_int_equal(number(sums(tree), "ns"), 31500);
	assert_string_equal(text_of(row(tree, 0), "layer_kind"), "[layers.*.mlp]");
	assert_int_equal(number(row(tree, 0), "ns"), 16500);
	assert_int_equal(number(row(tree, 0), "layers"), 1500);
	assert_string_equal(text_of(row(tree, 2), "table"), "layers");
	assert_string_equal(
		text_of(row(tree, 2), "look"),
		"profile --from x.profile --under '^\\[layers\\.0\\.mlp\\]$' -o inside.svg");
	assert_int_equal(count_rows(tree) + (int)number(tree, "left_out"), 3002);
	cJSON_Delete(tree);
	made_end(&m);
}

/* Compares the rows of an answer with the first entries of a list of the summary. */
static void expect_same(const cJSON *answer, const cJSON *summary, const char *list,
			const char *const *keys)
{
	const cJSON *entries = cJSON_GetObjectItemCaseSensitive(summary, list);

	assert_int_equal(count_rows(answer) + (int)number(answer, "left_out"),
			 cJSON_GetArraySize(entries));
	for (int i = 0; i < count_rows(answer); i++) {
		const cJSON *entry = cJSON_GetArrayItem(entries, i);

		assert_string_equal(text_of(row(answer, i), "name"), text_of(entry, "name"));
		assert_string_equal(text_of(row(answer, i), "class"), text_of(entry, "class"));
		assert_string_equal(text_of(row(answer, i), "operator"),
				    text_of(entry, "operator"));
		for (const char *const *key = keys; *key; key++)
			if (cJSON_GetObjectItem(entry, *key))
				assert_int_equal(number(row(answer, i), *key), number(entry, *key));
	}
}

static void figures_are_those_of_the_summary(void **state)
{
	static const struct {
		const char *question, *list;
		const char *keys[4];
	} lists[] = {{"kernels", "kernels", {"calls", "ns"}},
		     {"classes", "kernel_classes", {"ns", "operations", "kernels"}},
		     {"operators", "operators", {"ns", "total_ns", "operations"}},
		     {"sites", "launch_sites", {"operations", "ns"}},
		     {"functions", "functions", {"samples", "ns", "total_ns"}},
		     {"waits", "waits", {"ns"}}};

	(void)state;
	for (uint64_t round = 0; round < 50; round++) {
		struct prng p = prng_round(round);
		struct random_result r;
		cJSON *summary, *answer;
		const cJSON *totals;

		random_begin(&p, &r);
		summary = summary_of(&r.made.result);
		for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
			answer = ask(&r.made.result, lists[i].question);
			expect_same(answer, summary, lists[i].list, lists[i].keys);
			cJSON_Delete(answer);
		}
		totals = cJSON_GetObjectItem(summary, "totals");
		answer = ask(&r.made.result, "kernels");
		EXPECT(&p, number(sums(answer), "gpu_ns") == number(totals, "gpu_ns"));
		EXPECT(&p, number(sums(answer), "calls") == number(totals, "gpu_kernels"));
		cJSON_Delete(answer);
		answer = ask(&r.made.result, "functions");
		EXPECT(&p, number(sums(answer), "ns") == number(totals, "cpu_ns"));
		EXPECT(&p, number(sums(answer), "samples") == number(totals, "cpu_samples"));
		cJSON_Delete(answer);
		cJSON_Delete(summary);
		random_end(&r);
	}
}

/* ---- stacks ---- */

static uint32_t push(struct made_result *m, uint32_t outer, enum frame_class class,
		     const char *name, const char *short_name)
{
	uint32_t stack = made_push(m, outer, name);

	m->frames[m->stacks[stack].frame].class = class;
	m->frames[m->stacks[stack].frame].short_name = short_name;
	return stack;
}

static void add_kernel(struct made_result *m, uint32_t outer, const char *name,
		       const char *short_name, uint64_t ns)
{
	made_add(m, push(m, outer, CLASS_GPU_KERNEL, name, short_name), ROW_GPU, ns);
}

static void expect_stack(const struct result *r, const char *question, const char *matched_by,
			 uint64_t stacks, uint64_t ns)
{
	cJSON *tree = ask(r, question);

	assert_string_equal(text_of(sums(tree), "matched_by"), matched_by);
	assert_int_equal(number(sums(tree), "stacks"), stacks);
	assert_int_equal(number(sums(tree), "ns"), ns);
	assert_int_equal(count_rows(tree), stacks);
	cJSON_Delete(tree);
}

static void kernels_are_found_by_name(void **state)
{
	struct ledger ledger = {.cpu.samples = 0};
	struct made_result m;
	uint32_t one, two;

	(void)state;
	made_begin(&m);
	m.result.totals.ledger = &ledger;
	one = push(&m, RESULT_ROOT, CLASS_NATIVE, "one", "one");
	two = push(&m, RESULT_ROOT, CLASS_NATIVE, "two", "two");
	add_kernel(&m, one, "[GPU_Kernel]gemm", "gemm", 5000);
	add_kernel(&m, two, "[GPU_Kernel]gemm", "gemm", 100);
	add_kernel(&m, one, "[GPU_Kernel]gemm_tn", "gemm_tn", 20);
	add_kernel(&m, one, "[GPU_Kernel]void softmax<1>(int)", "softmax<1>", 3);
	expect_stack(&m.result, "stack gemm", "name", 2, 5100);
	expect_stack(&m.result, "stack [GPU_Kernel]gemm", "name", 2, 5100);
	expect_stack(&m.result, "stack soft", "start", 1, 3);
	expect_stack(&m.result, "stack void soft", "start", 1, 3);
	expect_stack(&m.result, "stack gemm_", "start", 1, 20);
	expect_stack(&m.result, "stack em", "part", 3, 5120);
	expect_stack(&m.result, "stack gem", "part", 3, 5120); /* the start of two kernels */
	expect_stack(&m.result, "stack #1", "number", 2, 5100);
	expect_stack(&m.result, "stack #3", "number", 1, 3);
	expect_stack(&m.result, "stack #4", "number", 0, 0);
	expect_stack(&m.result, "stack #0", "part", 0, 0);
	expect_stack(&m.result, "stack nothing", "part", 0, 0);
	made_end(&m);
}

/* The longest stack is first, and its frames begin with the outermost. */
static void stacks_have_their_frames(void **state)
{
	struct ledger ledger = {.cpu.samples = 0};
	struct made_result m;
	uint32_t stack = RESULT_ROOT;
	const cJSON *frames;
	char names[300][8];
	cJSON *tree;

	(void)state;
	made_begin(&m);
	m.result.totals.ledger = &ledger;
	add_kernel(&m, push(&m, RESULT_ROOT, CLASS_NATIVE, "other", "other"), "[GPU_Kernel]k", "k",
		   1);
	for (int i = 0; i < 300; i++) {
		snprintf(names[i], sizeof(names[i]), "n%d", i);
		stack = i == 100 ? push(&m, stack, CLASS_PYTHON, "main (a.py)", "main")
				 : push(&m, stack, CLASS_NATIVE, names[i], names[i]);
	}
	for (int i = 0; i < 3; i++)
		stack = push(&m, stack, CLASS_NATIVE, "deep", "deep");
	stack = push(&m, stack, CLASS_API, "cudaLaunchKernel", "cudaLaunchKernel");
	add_kernel(&m, stack, "[GPU_Kernel]k", "k", 30);
	tree = ask(&m.result, "stack k");
	assert_int_equal(count_rows(tree), 2);
	assert_int_equal(number(row(tree, 0), "ns"), 30);
	frames = cJSON_GetObjectItem(row(tree, 0), "frames");
	/* a mark for those beyond, the Python function, a mark, 22 native ones and the call */
	assert_int_equal(cJSON_GetArraySize(frames), 26);
	assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(frames, 0)),
			    "[100 frames left out]");
	assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(frames, 1)), "main (a.py)");
	assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(frames, 2)),
			    "[178 frames left out]");
	assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(frames, 3)), "n279");
	assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(frames, 24)), "deep x 3");
	assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(frames, 25)),
			    "cudaLaunchKernel");
	assert_string_equal(text_of(row(tree, 0), "look"),
			    FILES " --kernel '^\\[GPU_Kernel\\]k$' -o kernel.html");
	cJSON_Delete(tree);
	made_end(&m);
}

/* ---- findings ---- */

static void answers_of_findings(void **state)
{
	struct device device = {.label = "GPU 0"};
	struct ledger ledger = {.cpu.samples = 0};
	struct made_result m;
	struct made_findings f;
	uint32_t call;
	cJSON *tree;

	(void)state;
	made_begin(&m);
	m.result.totals = (struct totals){.ledger = &ledger, .start_ns = 5000, .elapsed_ns = 20000};
	call = push(&m, push(&m, RESULT_ROOT, CLASS_PYTHON, "step (a.py)", "step"), CLASS_API,
		    "cudaLaunchKernel", "cudaLaunchKernel");
	made_findings(&f, &m.result, &device, 1, &m.frames[m.stacks[call].frame - 1]);
	m.result.findings = &f.findings;

	tree = ask(&m.result, "verdict");
	assert_string_equal(text_of(tree, "answer"), f.findings.list[0].claim);
	assert_int_equal(count_rows(tree), 2);
	assert_string_equal(text_of(row(tree, 0), "kind"), "verdict");
	assert_string_equal(text_of(row(tree, 0), "next"), "--waits: which calls wait");
	assert_string_equal(text_of(row(tree, 0), "look"), ""); /* for another run */
	assert_string_equal(text_of(row(tree, 1), "look"), FILES " --step 8 -o step.html");
	cJSON_Delete(tree);

	tree = ask(&m.result, "steps");
	assert_int_equal(number(sums(tree), "steps"), 10);
	assert_int_equal(number(sums(tree), "p90_ns"), 2000);
	assert_int_equal(count_rows(tree), 10);
	assert_int_equal(number(row(tree, 0), "step"), 8); /* the slowest */
	assert_int_equal(number(row(tree, 0), "ns"), 2000);
	assert_int_equal(number(row(tree, 0), "from_ns"), 8000);
	assert_string_equal(text_of(row(tree, 0), "look"),
			    FILES " --time 8000ns..10000ns -o step.html");
	assert_int_equal(number(row(tree, 1), "step"), 0);
	assert_true(cJSON_IsTrue(cJSON_GetObjectItem(row(tree, 1), "warm_up")));
	cJSON_Delete(tree);

	tree = ask(&m.result, "idle");
	assert_int_equal(number(cJSON_GetObjectItem(sums(tree), "steady"), "computing"), 6000);
	assert_int_equal(number(cJSON_GetObjectItem(sums(tree), "run"), "start_up"), 1000);
	assert_int_equal(count_rows(tree), 3);
	assert_string_equal(text_of(row(tree, 0), "cause"), "synchronizing");
	assert_string_equal(text_of(row(tree, 0), "name"), "step (a.py)");
	assert_int_equal(number(row(tree, 0), "gaps"), 4);
	assert_int_equal(number(row(tree, 0), "longest_at_ns"), 3000);
	assert_string_equal(text_of(row(tree, 0), "look"),
			    FILES " --time 3000ns..3900ns -o gap.html");
	assert_string_equal(text_of(row(tree, 1), "name"), "");
	assert_int_equal(number(row(tree, 2), "sampled_ns"), 500);
	cJSON_Delete(tree);
	made_end(&m);
}

static void what_is_not_known(void **state)
{
	static const char *const questions[] = {"verdict", "steps", "idle"};
	struct findings none = {.unknown = "there was too much work"};
	struct ledger ledger = {.cpu.samples = 0};
	struct made_result m;

	(void)state;
	made_begin(&m);
	m.result.totals.ledger = &ledger;
	for (int i = 0; i < 3; i++) {
		cJSON *tree;

		m.result.findings = NULL;
		tree = ask(&m.result, questions[i]);
		assert_non_null(
			strstr(text_of(tree, "answer"), "the course of the run was not kept"));
		assert_int_equal(count_rows(tree), 0);
		cJSON_Delete(tree);
		m.result.findings = &none;
		tree = ask(&m.result, questions[i]);
		assert_non_null(strstr(text_of(tree, "answer"), "there was too much work"));
		cJSON_Delete(tree);
	}
	made_end(&m);
}

static void losses_and_memory(void **state)
{
	const struct memory_total total = {.kind = MEMORY_OF_DEVICE,
					   .peak_bytes = 4096,
					   .left_bytes = 96,
					   .left = 1,
					   .allocated_bytes = 8192,
					   .allocations = 2,
					   .frees = 1};
	struct memory_row piece = {.peak_bytes = 4096, .allocations = 2};
	struct ledger ledger = {.gpu.dropped = 7, .cost.program_ns = 9};
	struct made_result m;
	cJSON *tree, *summary;
	const cJSON *entry;

	(void)state;
	made_begin(&m);
	m.result.totals.ledger = &ledger;
	tree = ask(&m.result, "losses");
	assert_string_equal(text_of(row(tree, 0), "kind"), "lost");
	assert_int_equal(number(row(tree, 0), "count"), 7);
	assert_int_equal(number(sums(tree), "library_cpu_ns"), 9);
	cJSON_Delete(tree);

	tree = ask(&m.result, "memory");
	assert_non_null(strstr(text_of(tree, "answer"), "--alloc"));
	cJSON_Delete(tree);
	m.result.totals.measure.memory = true;
	piece.stack = push(&m, RESULT_ROOT, CLASS_NATIVE, "load", "load");
	made_table(&m, &memory_totals_table, &total, 1);
	made_table(&m, &memory_rows_table, &piece, 1);
	made_table(&m, &memory_pools_table, NULL, 0);
	tree = ask(&m.result, "memory");
	summary = summary_of(&m.result);
	entry = cJSON_GetArrayItem(cJSON_GetObjectItem(summary, "memory"), 0);
	assert_int_equal(count_rows(tree), 2);
	assert_int_equal(number(row(tree, 0), "peak_bytes"), number(entry, "peak_bytes"));
	assert_int_equal(number(row(tree, 0), "left_bytes"), 96);
	assert_int_equal(number(sums(tree), "allocated_bytes"), 8192);
	assert_string_equal(text_of(row(tree, 1), "table"), "allocations");
	cJSON_Delete(summary);
	cJSON_Delete(tree);
	made_end(&m);
}

/* ---- a comparison ---- */

static void what_changed(void **state)
{
	struct ledger ledger = {.cpu.samples = 0};
	struct made_result before, after;
	const struct result *sides[2] = {&before.result, &after.result};
	struct comparison *c;
	cJSON *tree;
	const cJSON *gpu;

	(void)state;
	made_begin(&before);
	made_begin(&after);
	before.result.totals.ledger = after.result.totals.ledger = &ledger;
	add_kernel(&before, RESULT_ROOT, "[GPU_Kernel]a", "a", 5000);
	add_kernel(&before, RESULT_ROOT, "[GPU_Kernel]b", "b", 700);
	add_kernel(&after, RESULT_ROOT, "[GPU_Kernel]a", "a", 9000);
	add_kernel(&after, RESULT_ROOT, "[GPU_Kernel]b", "b", 700);
	c = comparison_new(sides, 1, sides + 1, 1,
			   &(struct comparison_options){.shown = SIDE_AFTER});
	assert_non_null(c);
	tree = ask_compared(&after.result, "compare y.profile", c);
	gpu = cJSON_GetObjectItem(sums(tree), "gpu");
	assert_int_equal(number(gpu, "before"), 5700);
	assert_int_equal(number(gpu, "difference"), 4000);
	assert_string_equal(text_of(row(tree, 0), "table"), "kernels");
	assert_string_equal(text_of(row(tree, 0), "name"), "[GPU_Kernel]a");
	assert_int_equal(number(row(tree, 0), "after"), 9000);
	assert_string_equal(text_of(row(tree, 0), "unit"), "ns");
	for (int i = 0; i < count_rows(tree); i++) /* b is equal */
		assert_string_not_equal(text_of(row(tree, i), "name"), "[GPU_Kernel]b");
	cJSON_Delete(tree);
	comparison_free(c);
	made_end(&before);
	made_end(&after);
}

/* ---- hostile names ---- */

static void any_names(void **state)
{
	static const char *const questions[] = {"verdict", "steps",    "kernels",     "sites",
						"stack f", "stack #1", "stack \xff'", "functions",
						"idle",    "waits",    "losses",      "compare x"};
	struct device device = {.label = "GPU 0"};

	(void)state;
	for (uint64_t round = 0; round < 60; round++) {
		struct prng p = prng_round(round);
		struct random_result r;
		const struct result *sides[2] = {&r.made.result, &r.made.result};
		struct made_findings f;
		struct comparison *c;
		char **names, *claim = random_name(&p);

		random_begin(&p, &r);
		names = random_names_give(&p, &r.made);
		made_findings(&f, &r.made.result, &device, 1,
			      &r.made.result.frames[prng_below(&p, r.made.result.frame_count)]);
		while (f.findings.count < FINDINGS_MAX)
			made_finding(&f, FINDING_GAP, claim, claim);
		r.made.result.findings = &f.findings;
		c = comparison_new(sides, 1, sides + 1, 1,
				   &(struct comparison_options){.shown = SIDE_AFTER});
		EXPECT(&p, c);
		for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
			cJSON *tree = ask_compared(&r.made.result, questions[i], c);

			for (int k = 0; k < count_rows(tree); k++)
				EXPECT(&p, strlen(text_of(row(tree, k), "name")) <= 200);
			cJSON_Delete(tree);
		}
		comparison_free(c);
		random_names_free(names, r.made.result.frame_count);
		free(claim);
		random_end(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(questions_are_read),
		cmocka_unit_test(the_list_is_complete),
		cmocka_unit_test(many_layers_are_all_counted),
		cmocka_unit_test(figures_are_those_of_the_summary),
		cmocka_unit_test(kernels_are_found_by_name),
		cmocka_unit_test(stacks_have_their_frames),
		cmocka_unit_test(answers_of_findings),
		cmocka_unit_test(what_is_not_known),
		cmocka_unit_test(losses_and_memory),
		cmocka_unit_test(what_changed),
		cmocka_unit_test(any_names),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
