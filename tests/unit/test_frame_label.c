/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "profiler/shape/frame_label.h"
#include "profiler/shape/markup.h"

#define DOTS "\xe2\x80\xa6"

static char *text_of(const struct frame_label *label)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	for (uint32_t i = 0; i < label->count; i++)
		markup_put_xml(out, label->text[i]);
	fclose(out);
	return text;
}

/* Checks a shortened label; `expected` is escaped as XML. */
static void check_short(enum frame_class class, const char *name, const char *short_name,
			uint32_t columns, const char *expected)
{
	const struct frame_info frame = {.class = class, .name = name, .short_name = short_name};
	struct frame_label label;
	char *text;

	frame_label_fit(&label, &frame, columns);
	text = text_of(&label);
	assert_string_equal(text, expected);
	free(text);
}

static void check_fit(enum frame_class class, const char *name, uint32_t columns,
		      const char *expected)
{
	check_short(class, name, name, columns, expected);
}

static void what_fits_is_shown_in_full(void **state)
{
	(void)state;
	check_fit(CLASS_NATIVE, "f(int)", 6, "f(int)");
	check_short(CLASS_GPU_KERNEL, "[GPU_Kernel]k(int)", "k", 18, "[GPU_Kernel]k(int)");
	check_short(CLASS_GPU_KERNEL, "[GPU_Kernel]k(int)", "k", 17, "k");
	check_fit(CLASS_NATIVE, "ab", 2, "ab");
	check_fit(CLASS_NATIVE, "abc", 2, "");
	check_fit(CLASS_NATIVE, "", 0, "");
}

static void the_last_parts_matter_most(void **state)
{
	const char *name = "server::InferencePipeline::run";

	(void)state;
	check_fit(CLASS_NATIVE, "[libx264.so.164+0x522d0]", 24, "[libx264.so.164+0x522d0]");
	check_fit(CLASS_NATIVE, "[libx264.so.164+0x522d0]", 23, DOTS "+0x522d0]");
	check_fit(CLASS_NATIVE, "[libx264.so.164+0x522d0]", 10, DOTS "+0x522d0]");
	check_fit(CLASS_NATIVE, "[libx264.so.164+0x522d0]", 9, "+0x522d0" DOTS);
	check_fit(CLASS_NATIVE, "[a+0x]", 5, "[a+" DOTS);
	check_fit(CLASS_NATIVE, "[libfoo.so]", 9, "[libfoo." DOTS);
	check_fit(CLASS_NATIVE, name, 29, DOTS "InferencePipeline::run");
	check_fit(CLASS_NATIVE, name, 23, DOTS "InferencePipeline::run");
	check_fit(CLASS_NATIVE, name, 22, DOTS "run");
	check_fit(CLASS_NATIVE, name, 4, DOTS "run");
	check_fit(CLASS_NATIVE, name, 3, "ru" DOTS);
	check_short(CLASS_PYTHON, "Model.forward (model.py)", "Model.forward", 12, DOTS "forward");
	check_fit(CLASS_NATIVE, "foo.constprop.0", 10, "foo.const" DOTS);
}

static void prefixes_give_way_to_names(void **state)
{
	(void)state;
	check_fit(CLASS_OPERATOR, "op:aten::addmm", 14, "op:aten::addmm");
	check_fit(CLASS_OPERATOR, "op:aten::addmm", 13, "aten::addmm");
	check_fit(CLASS_PLACE, "op:aten::addmm", 11, "aten::addmm");
	check_fit(CLASS_OPERATOR, "op:aten::addmm", 10, DOTS "addmm");
	check_fit(CLASS_NVTX, "nvtx:step 12", 7, "step 12");
	check_fit(CLASS_NVTX, "nvtx:step 12", 6, "step" DOTS);
	check_fit(CLASS_NVTX, "nvtx:", 4, "nvt" DOTS);
	check_fit(CLASS_NATIVE, "op::run", 6, DOTS "run");
	check_fit(CLASS_LAYER, "[layers.18.mlp]", 15, "[layers.18.mlp]");
	check_fit(CLASS_LAYER, "[layers.18.mlp]", 14, DOTS "18.mlp]");
	check_fit(CLASS_LAYER, "[layers.18.mlp]", 7, DOTS "mlp]");
	check_fit(CLASS_LAYER, "[layers.18.mlp]", 4, "mlp" DOTS);
	check_fit(CLASS_LAYER, "[GPT]", 4, "[GP" DOTS);
}

static void words_are_cut_at_their_ends(void **state)
{
	(void)state;
	check_fit(CLASS_NATIVE, "cudaStreamSynchronize", 16, "cudaStream" DOTS);
	check_fit(CLASS_NATIVE, "attention_softmax", 12, "attention_" DOTS);
	check_fit(CLASS_NATIVE, "abcdefghijkl", 5, "abcd" DOTS);
	check_fit(CLASS_NATIVE, "a_bcdefghijkl", 8, "a_bcdef" DOTS);
	check_fit(CLASS_NATIVE, "__libc_start_main", 3, ""); /* "__" tells nothing */
	check_short(CLASS_PYTHON, "<module> (a/__init__.py)", "package/__init__.py", 12,
		    "package/__" DOTS);
	check_fit(CLASS_WAIT, "[waiting for GPU]", 11, "[waiting" DOTS);
	check_fit(CLASS_NATIVE, "\xe4\xb8\xad\xe6\x96\x87\xe5\x90\x8d", 5,
		  "\xe4\xb8\xad\xe6\x96\x87" DOTS);
}

/* Whatever the name and the room: it fits. */
static void random_names_fit(void **state)
{
	static const char *const pieces[] = {"a",
					     "Word",
					     "::",
					     "<",
					     ">",
					     "(",
					     ")",
					     ".",
					     " ",
					     "_",
					     "[",
					     "]",
					     "-",
					     "operator",
					     "op:",
					     "nvtx:",
					     "\xff",
					     "\n",
					     "\xe4\xb8\xad",
					     "void ",
					     "{",
					     "}"};

	(void)state;
	for (uint64_t round = 0; round < unit_rounds(3000); round++) {
		struct prng p = prng_round(round);
		uint32_t columns = (uint32_t)prng_below(&p, 40), used = 0;
		char name[600] = "";
		size_t length = 0;
		struct frame_label label;
		struct frame_info frame = {.class = (enum frame_class)prng_below(&p, FRAME_CLASSES),
					   .name = name,
					   .short_name = name};

		for (uint64_t n = prng_below(&p, 60); n > 0; n--)
			length += (size_t)snprintf(
				name + length, sizeof(name) - length, "%s",
				pieces[prng_below(&p, sizeof(pieces) / sizeof(pieces[0]))]);
		frame_label_fit(&label, &frame, columns);
		for (uint32_t i = 0; i < label.count; i++)
			used += markup_columns(label.text[i]);
		EXPECT(&p, used <= columns);
		EXPECT(&p, columns < 3 || !*name || label.count > 0 || strchr(name, '_'));
	}
}

static void a_very_long_name_is_cut_first(void **state)
{
	enum { LENGTH = 1 << 20 };
	char *name = malloc(LENGTH + 1);

	(void)state;
	assert_non_null(name);
	memset(name, '<', LENGTH);
	name[LENGTH] = '\0';
	check_fit(CLASS_NATIVE, name, 4, "&lt;&lt;&lt;" DOTS);
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fits_is_shown_in_full),
		cmocka_unit_test(the_last_parts_matter_most),
		cmocka_unit_test(prefixes_give_way_to_names),
		cmocka_unit_test(words_are_cut_at_their_ends),
		cmocka_unit_test(random_names_fit),
		cmocka_unit_test(a_very_long_name_is_cut_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
