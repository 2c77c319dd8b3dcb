/* SPDX-License-Identifier: MIT */
/* Checks what outputs tell of a kernel besides its times. */
#include "made_result.h"
#include "profiler/model/kernel_definitions.h"
#include "profiler/tables/kernel_facts.h"

static struct frame_info frame_of(enum frame_class class, const char *name)
{
	return (struct frame_info){.class = class, .name = name, .short_name = name};
}

/* Writes the facts of a kernel as "key (label): text; ". */
static const char *facts_text(const struct kernel_facts *facts, enum frame_class class,
			      const char *name)
{
	static char text[1024];
	struct kernel_fact list[KERNEL_FACTS_MAX];
	struct frame_info frame = frame_of(class, name);
	uint32_t count = kernel_facts_of(facts, &frame, list);
	int used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < count; i++)
		used += snprintf(text + used, sizeof(text) - (size_t)used, "%s (%s): %s; ",
				 list[i].key, list[i].label, list[i].text);
	return text;
}

static void kernels_have_their_definitions(void **state)
{
	static const struct kernel_definition rows[] = {
		{"[GPU_Kernel]b", "/y.py", "aten.mm", "", "", 5, 1, 9},
		{"[GPU_Kernel]a", "/x.py", "aten.add, aten.mul", "x, y", "", 7, 2, 3},
		{"[GPU_Kernel]b", "/z.py", "aten.add", "", "", 50, 1, 8},
		{"[GPU_Kernel]c", "", "", "", "it is gone", 1, 1, 0},
	};
	struct kernel_facts *facts;
	struct made_result m;

	(void)state;
	made_begin(&m);
	made_table(&m, &kernel_definitions_table, rows, 4);
	facts = kernel_facts_new(&m.result);
	assert_non_null(facts);
	assert_string_equal(facts_text(facts, CLASS_GPU_KERNEL, "[GPU_Kernel]a"),
			    "operators (fused): aten.add, aten.mul; source_nodes (made of): x, y; "
			    "defined (defined): /x.py:3; ");
	/* most of its time is of /z.py */
	assert_string_equal(facts_text(facts, CLASS_GPU_KERNEL, "[GPU_Kernel]b"),
			    "operators (operator): aten.add; defined (defined): /z.py:8; "
			    "definitions (definitions): 2; ");
	assert_string_equal(facts_text(facts, CLASS_GPU_KERNEL, "[GPU_Kernel]c"),
			    "definition_unknown (definition unknown): it is gone; ");
	assert_string_equal(facts_text(facts, CLASS_GPU_KERNEL, "[GPU_Kernel]d"), "");
	assert_string_equal(facts_text(facts, CLASS_NATIVE, "[GPU_Kernel]a"), "");
	kernel_facts_free(facts);
	made_end(&m);
}

static void results_without_any(void **state)
{
	struct kernel_facts *facts;
	struct made_result m;

	(void)state;
	made_begin(&m);
	facts = kernel_facts_new(&m.result);
	assert_non_null(facts);
	assert_string_equal(facts_text(facts, CLASS_GPU_KERNEL, "[GPU_Kernel]a"), "");
	kernel_facts_free(facts);
	m.result.tables = NULL;
	facts = kernel_facts_new(&m.result);
	assert_non_null(facts);
	kernel_facts_free(facts);
	kernel_facts_free(NULL);
	made_end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_have_their_definitions),
		cmocka_unit_test(results_without_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
