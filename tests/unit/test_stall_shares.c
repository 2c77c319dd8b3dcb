/* SPDX-License-Identifier: MIT */
/* The table of stalls, and tables of kernels whose time is split. */
#include "report_cell.h"
#include "made_result.h"
#include "profiler/model/stall_places.h"
#include "profiler/tables/hot_spots.h"
#include "profiler/tables/stall_shares.h"

static uint32_t push(struct made_result *m, uint32_t outer, enum frame_class class,
		     const char *name)
{
	uint32_t stack = made_push(m, outer, name);

	m->frames[m->result.frame_count - 1].class = class;
	if (class == CLASS_GPU_CODE && strchr(name, ':'))
		m->frames[m->result.frame_count - 1].file = "/src/k.cu";
	return stack;
}

/* One stack for each kernel, and one of each inside it: as named results have them. */
struct split {
	struct made_result m;
	uint32_t chase, inlined, line, other_line, crunch;
};

static uint32_t frames[3];
static const char *names[3];

static void make(struct split *s)
{
	struct made_result *m = &s->m;
	uint32_t call;

	memset(names, 0, sizeof(names));
	made_begin(m);
	call = push(m, push(m, RESULT_ROOT, CLASS_NATIVE, "main"), CLASS_API, "cudaLaunchKernel");
	s->chase = push(m, call, CLASS_GPU_KERNEL, "[GPU_Kernel]chase");
	s->inlined = push(m, s->chase, CLASS_GPU_CODE, "step");
	s->line = push(m, s->inlined, CLASS_GPU_CODE, "k.cu:12");
	s->other_line = push(m, s->chase, CLASS_GPU_CODE, "k.cu:20");
	s->crunch = push(m, call, CLASS_GPU_KERNEL, "[GPU_Kernel]crunch");
}

static uint32_t reason(struct split *s, uint32_t outer, const char *name, uint64_t ns)
{
	/* equal frames are one */
	uint32_t stack = push(&s->m, outer, CLASS_STALL, name), i;

	for (i = 0; names[i] && strcmp(names[i], name) != 0; i++)
		;
	if (!names[i]) {
		names[i] = name;
		frames[i] = s->m.stacks[stack].frame;
	}
	s->m.stacks[stack].frame = frames[i];
	made_add(&s->m, stack, ROW_GPU, ns);
	s->m.rows[s->m.result.row_count - 1].count = 0;
	return stack;
}

static void shares_are_by_kernel_reason_and_line(void **state)
{
	/* places of two merged runs */
	struct stall_place list[] = {
		{"[GPU_Kernel]chase", "[selected]", 0xb0, 3},
		{"[GPU_Kernel]chase", "[stall: long scoreboard]", 0xb0, 25},
		{"[GPU_Kernel]chase", "[stall: long scoreboard]", 0xa0, 20},
		{"[GPU_Kernel]chase", "[stall: long scoreboard]", 0xa0, 10},
		{"[GPU_Kernel]chase", "[stall: long scoreboard]", 0, 5},
		{"[GPU_Kernel]chase", "[stall: long scoreboard]", 16, 4},
		{"[GPU_Kernel]chase", "[stall: long scoreboard]", STALL_PLACE_ALL, 60},
		{"[GPU_Kernel]chase", "[stall: long scoreboard]", STALL_PLACE_ALL, 40},
		{"[GPU_Kernel]other", "[selected]", STALL_PLACE_ALL, 1},
		{"[GPU_Kernel]other", "[selected]", 7, 1}};
	struct split s;
	struct report_table *f;

	(void)state;
	make(&s);
	made_add(&s.m, s.chase, ROW_GPU, 100);
	reason(&s, s.line, "[stall: long scoreboard]", 600);
	reason(&s, s.other_line, "[stall: long scoreboard]", 200);
	reason(&s, s.chase, "[selected]", 100);
	reason(&s, s.crunch, "[selected]", 50);
	made_table(&s.m, &stall_places_table, list, sizeof(list) / sizeof(list[0]));
	f = stall_shares_report_table(&s.m.result);
	assert_non_null(f);
	assert_int_equal(f->count, 3);
	assert_int_equal(report_cell(f, 0, "ns")->number, 800);
	assert_int_equal(report_cell(f, 0, "share_of_kernel")->number, 800);
	assert_int_equal(report_cell(f, 0, "kernel_ns")->number, 1000);
	assert_string_equal(report_cell(f, 0, "reason")->text, "long scoreboard");
	assert_string_equal(report_cell(f, 0, "lines")->text, "k.cu:12 (75.0 %), k.cu:20 (25.0 %)");
	assert_string_equal(report_cell(f, 0, "instructions")->text,
			    "+0xa0 (30.0 %), +0xb0 (25.0 %), +0x0 (5.0 %)");
	assert_string_equal(report_cell(f, 1, "instructions")->text, ""); /* the sum is unknown */
	assert_int_equal(report_cell(f, 1, "ns")->number, 100);
	assert_string_equal(report_cell(f, 1, "reason")->text, "selected");
	assert_string_equal(report_cell(f, 1, "lines")->text, "");
	assert_int_equal(report_cell(f, 2, "kernel")->number, s.m.stacks[s.crunch].frame);
	assert_int_equal(report_cell(f, 2, "share_of_kernel")->number, 1000);
	report_table_free(f);
	made_end(&s.m);
}

static void kernels_keep_their_sums(void **state)
{
	struct hot_spots *d;
	struct split s;

	(void)state;
	make(&s);
	made_add(&s.m, s.chase, ROW_GPU, 0);
	s.m.rows[0].count = 7;
	reason(&s, s.line, "[stall: long scoreboard]", 600);
	reason(&s, s.chase, "[selected]", 100);
	made_add(&s.m, s.crunch, ROW_GPU, 50);
	d = hot_spots_new(&s.m.result);
	assert_non_null(d);
	assert_int_equal(d->kernels.count, 2);
	assert_string_equal(d->kernels.list[0].frame->name, "[GPU_Kernel]chase");
	assert_int_equal(d->kernels.list[0].count, 7);
	assert_int_equal(d->kernels.list[0].ns, 700);
	assert_int_equal(d->kernels.list[1].ns, 50);
	assert_int_equal(d->copies.count, 0);
	assert_int_equal(d->sites.count, 1);
	assert_int_equal(d->sites.list[0].ns, 750);
	hot_spots_free(d);
	made_end(&s.m);
}

static void a_result_without_stalls_has_none(void **state)
{
	struct split s;
	struct report_table *f;

	(void)state;
	make(&s);
	made_add(&s.m, s.chase, ROW_GPU, 100);
	f = stall_shares_report_table(&s.m.result);
	assert_non_null(f);
	assert_int_equal(f->count, 0);
	report_table_free(f);
	assert_int_equal(result_work_stack(&s.m.result, RESULT_ROOT), RESULT_ROOT);
	assert_int_equal(result_work_stack(&s.m.result, s.chase), s.chase);
	made_end(&s.m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(shares_are_by_kernel_reason_and_line),
					   cmocka_unit_test(kernels_keep_their_sums),
					   cmocka_unit_test(a_result_without_stalls_has_none)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
