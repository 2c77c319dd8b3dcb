/* SPDX-License-Identifier: MIT */
/*
 * GPU work by class of kernel, operator and layer: tables, and frames of --by. Recursion, work
 * outside of all, equal names, stacks that are no GPU work.
 */
#include "made_result.h"
#include "profiler/shape/view.h"
#include "profiler/tables/kernel_class.h"
#include "profiler/tables/layer_name.h"
#include "profiler/tables/work_parts.h"

/* ---- a result ---- */

static struct intern texts;

static enum frame_class class_of(const char *name)
{
	if (strncmp(name, "op:", 3) == 0)
		return CLASS_OPERATOR;
	if (strncmp(name, "[GPU_Kernel]", 12) == 0)
		return CLASS_GPU_KERNEL;
	if (strncmp(name, "[GPU_", 5) == 0)
		return CLASS_GPU_WORK;
	return name[0] == '[' ? CLASS_LAYER : CLASS_NATIVE;
}

/* Adds a row whose stack has frames of its own: "main;op:aten::mm;[GPU_Kernel]gemm". */
static void add(struct made_result *m, enum row_kind kind, const char *path, uint64_t ns)
{
	char *text = strdup(path), *rest = text, *name;
	uint32_t at = RESULT_ROOT;

	while ((name = strsep(&rest, ";"))) {
		at = made_push(m, at, intern_string(&texts, name));
		m->frames[m->stacks[at].frame].class = class_of(name);
	}
	free(text);
	made_add(m, at, kind, ns);
}

static void make(struct made_result *m)
{
	made_begin(m);
	add(m, ROW_GPU, "main;[GPT];[h.0.mlp];op:aten::linear;op:aten::addmm;f;[GPU_Kernel]sgemm",
	    400);
	add(m, ROW_GPU, "main;[GPT];[h.1.mlp];op:aten::linear;op:aten::addmm;f;[GPU_Kernel]sgemm",
	    200);
	add(m, ROW_GPU, "main;[GPT];[h.1.mlp];op:aten::linear;[GPU_Kernel]silu_kernel", 50);
	add(m, ROW_GPU, "main;[GPT];op:aten::sum;g;op:aten::sum;[GPU_Kernel]reduce_kernel", 100);
	add(m, ROW_GPU, "main;[GPT];op:aten::sum;[GPU_Kernel]step", 5);
	add(m, ROW_GPU, "main;[GPU_Memcpy HtoD]", 245);
	add(m, ROW_CPU, "main;[GPT];op:aten::linear;f", 3000);
	add(m, ROW_CPU, "main", 70);
}

/* ---- tables ---- */

static const union report_cell *cell(const struct report_table *f, uint32_t row, const char *key)
{
	for (uint32_t c = 0; c < f->column_count; c++)
		if (strcmp(f->columns[c].key, key) == 0)
			return &report_table_row(f, row)[c];
	fail_msg("no column %s", key);
	return NULL;
}

/* Compares a table with lines "name ns total_ns operations members"; 0 stands for no column. */
static void expect(struct report_table *f, const char *name, const char *members,
		   const char *const *lines)
{
	uint32_t i = 0;

	assert_non_null(f);
	for (; lines[i]; i++) {
		char line[256];
		bool has_total = strcmp(name, "class") != 0;

		assert_true(i < f->count);
		snprintf(line, sizeof(line), "%s %llu %llu %llu %llu", cell(f, i, name)->text,
			 (unsigned long long)cell(f, i, "ns")->number,
			 has_total ? (unsigned long long)cell(f, i, "total_ns")->number : 0,
			 (unsigned long long)cell(f, i, "operations")->number,
			 members ? (unsigned long long)cell(f, i, members)->number : 0);
		assert_string_equal(line, lines[i]);
	}
	assert_int_equal(f->count, i);
	report_table_free(f);
}

#define EXPECT_TABLE(table, name, members, ...) \
	expect((table), (name), (members), (const char *const[]){__VA_ARGS__, NULL})

static void tables_add_up_to_all_gpu_work(void **state)
{
	struct made_result m;

	(void)state;
	make(&m);
	EXPECT_TABLE(kernel_classes_report_table(&m.result), "class", "kernels", "GEMM 600 0 2 1",
		     "memcpy and memset 245 0 1 0", "reduction 100 0 1 1", "elementwise 50 0 1 1",
		     "other 5 0 1 1");
	EXPECT_TABLE(operators_report_table(&m.result), "operator", NULL,
		     "op:aten::addmm 600 600 2 0", "[no operator] 245 245 1 0",
		     "op:aten::sum 105 105 2 0", "op:aten::linear 50 650 1 0");
	EXPECT_TABLE(layers_report_table(&m.result), "layer", NULL, "[h.0.mlp] 400 400 1 0",
		     "[h.1.mlp] 250 250 2 0", "[no layer] 245 245 1 0", "[GPT] 105 755 2 0");
	made_end(&m);
}

static void kinds_of_layers_have_stars(void **state)
{
	static const struct {
		const char *name, *kind;
	} cases[] = {
		{"[layers.18.mlp]", "[layers.*.mlp]"},
		{"[layers.0.experts.12.w1]", "[layers.*.experts.*.w1]"},
		{"[0]", "[*]"},
		{"[3.1.conv2]", "[*.*.conv2]"},
		{"[conv2d.bn1]", "[conv2d.bn1]"},
		{"[GPT]", "[GPT]"},
		{"[layers.N.experts.N]", "[layers.*.experts.*]"},
		{"[Net.N1]", "[Net.N1]"},
		{"[..7..]", "[..*..]"},
		{"", ""},
		{"12", "*"},
	};
	struct made_result m;
	struct report_table *f;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *kind = layer_kind(cases[i].name);

		assert_string_equal(kind, cases[i].kind);
		free(kind);
	}
	make(&m);
	f = layer_kinds_report_table(&m.result);
	assert_string_equal(cell(f, 0, "layer_kind")->text, "[h.*.mlp]");
	assert_int_equal(cell(f, 0, "ns")->number, 650);
	assert_int_equal(cell(f, 0, "total_ns")->number, 650);
	assert_int_equal(cell(f, 0, "operations")->number, 3);
	assert_int_equal(cell(f, 0, "share_permille")->number, 650);
	assert_int_equal(f->count, 3);
	report_table_free(f);
	made_end(&m);
}

static void without_operators_and_layers_there_are_no_tables(void **state)
{
	struct made_result m;
	struct report_table *f;

	(void)state;
	made_begin(&m);
	f = kernel_classes_report_table(&m.result);
	assert_int_equal(f->count, 0);
	report_table_free(f);
	add(&m, ROW_GPU, "main;[GPU_Kernel]sgemm", 400);
	add(&m, ROW_CPU, "main;op:aten::sum;[h]", 400);
	f = operators_report_table(&m.result);
	assert_int_equal(f->count, 0);
	report_table_free(f);
	f = layers_report_table(&m.result);
	assert_int_equal(f->count, 0);
	report_table_free(f);
	made_end(&m);
}

/* ---- views ---- */

/* Writes the rows of a view as "path ns" lines, in their order. */
static const char *view_text(const struct made_result *m, struct view_options *options)
{
	static char text[8192];
	struct view *view = view_new(&m->result, options, "/tmp", NULL);
	const struct result *r = view_result(view);
	size_t used = 0;

	assert_non_null(view);
	for (uint32_t i = 0; i < r->row_count; i++) {
		const char *names[64];
		uint32_t count = 0;

		for (uint32_t at = r->rows[i].stack; at != RESULT_ROOT; at = r->stacks[at].outer)
			names[count++] = r->frames[r->stacks[at].frame].name;
		while (count-- > 0)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
						 names[count], count ? ";" : "");
		used += (size_t)snprintf(text + used, sizeof(text) - used, " %llu\n",
					 (unsigned long long)r->rows[i].ns);
	}
	for (uint32_t i = 1; i < r->stack_count; i++) {
		const struct frame_info *frame = &r->frames[r->stacks[i].frame];

		/* root frames, and only these, are of no class of their own */
		if (r->stacks[i].outer == RESULT_ROOT && strcmp(frame->name, "main") != 0)
			assert_int_equal(frame->class, CLASS_PLACE);
	}
	view_free(view);
	return text;
}

static void roots_show_class_operator_and_layer(void **state)
{
	struct view_options options = {.by.count = 0};
	struct made_result m;

	(void)state;
	make(&m);
	assert_true(grouping_parse("layer-kind,class", &options.by));
	assert_string_equal(view_text(&m, &options),
			    "[h.*.mlp];GEMM;main;[GPT];[h.0.mlp];op:aten::linear;op:aten::addmm;f;["
			    "GPU_Kernel]sgemm "
			    "400\n"
			    "[h.*.mlp];GEMM;main;[GPT];[h.1.mlp];op:aten::linear;op:aten::addmm;f;["
			    "GPU_Kernel]sgemm "
			    "200\n"
			    "[h.*.mlp];elementwise;main;[GPT];[h.1.mlp];op:aten::linear;[GPU_"
			    "Kernel]silu_kernel "
			    "50\n"
			    "[GPT];reduction;main;[GPT];op:aten::sum;g;op:aten::sum;[GPU_Kernel]"
			    "reduce_kernel 100\n"
			    "[GPT];other;main;[GPT];op:aten::sum;[GPU_Kernel]step 5\n"
			    "[no layer];memcpy and memset;main;[GPU_Memcpy HtoD] 245\n"
			    "[GPT];main;[GPT];op:aten::linear;f 3000\n"
			    "main 70\n");
	options.trim_to = (struct slice_match){.text = NULL};
	assert_true(grouping_parse("operator", &options.by));
	assert_non_null(strstr(view_text(&m, &options), "op:aten::addmm;main;"));
	assert_non_null(strstr(view_text(&m, &options), "[no operator];main;[GPU_Memcpy"));
	assert_true(grouping_parse("layer", &options.by));
	assert_non_null(strstr(view_text(&m, &options), "[h.1.mlp];main;"));
	made_end(&m);
}

static void the_users_classes_are_in_views_and_tables(void **state)
{
	struct view_options options = {.by.count = 0};
	char error[KERNEL_CLASS_ERROR_BYTES];
	struct made_result m;
	struct view *view;

	(void)state;
	make(&m);
	options.kernel_classes = kernel_classes_read("tests/golden/kernel_classes.txt", error);
	assert_non_null(options.kernel_classes);
	assert_true(view_changes(&options));
	add(&m, ROW_GPU, "main;[GPU_Kernel]gelu_kernel", 1000);
	view = view_new(&m.result, &options, "/tmp", NULL);
	assert_non_null(view);
	EXPECT_TABLE(kernel_classes_report_table(view_result(view)), "class", "kernels",
		     "activation 1000 0 1 1", "GEMM 600 0 2 1", "memcpy and memset 245 0 1 0",
		     "reduction 100 0 1 1", "elementwise 50 0 1 1", "other 5 0 1 1");
	view_free(view);
	assert_true(grouping_parse("class", &options.by));
	assert_non_null(strstr(view_text(&m, &options), "activation;main;[GPU_Kernel]gelu"));
	view_options_release(&options);
	made_end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_add_up_to_all_gpu_work),
		cmocka_unit_test(kinds_of_layers_have_stars),
		cmocka_unit_test(without_operators_and_layers_there_are_no_tables),
		cmocka_unit_test(roots_show_class_operator_and_layer),
		cmocka_unit_test(the_users_classes_are_in_views_and_tables),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	intern_release(&texts);
	return failed;
}
