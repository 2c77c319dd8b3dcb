/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "profiler/output/frame_label.h"
#include "profiler/output/markup.h"

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

/* `expected` is escaped as XML. */
static void check_bare(enum frame_class class, const char *name, const char *expected)
{
	const struct frame_info frame = {.class = class, .name = name, .short_name = name};
	struct frame_label label;
	char *text;

	frame_label_bare(&label, &frame);
	text = text_of(&label);
	assert_string_equal(text, expected);
	free(text);
}

static void check_fit(enum frame_class class, const char *name, uint32_t columns,
		      const char *expected)
{
	const struct frame_info frame = {.class = class, .name = name, .short_name = name};
	struct frame_label label;
	char *text;

	frame_label_fit(&label, &frame, columns);
	text = text_of(&label);
	assert_string_equal(text, expected);
	free(text);
}

static void parameters_and_arguments_are_left_out(void **state)
{
	(void)state;
	check_bare(CLASS_NATIVE, "main", "main");
	check_bare(CLASS_GPU_KERNEL, "[GPU_Kernel]softmax(float const*)", "softmax");
	check_bare(CLASS_GPU_KERNEL, "[GPU_Kernel]void a::gemm<float, 3>(int)",
		   "a::gemm&lt;" DOTS "&gt;");
	check_bare(CLASS_NATIVE, "std::map<int, std::less<int> >::find(int const&) const",
		   "std::map&lt;" DOTS "&gt;::find");
	check_bare(CLASS_NATIVE, "f(int)::g(char)", "f::g");
	check_bare(CLASS_NATIVE, "f(int) [clone .cold]", "f");
	check_bare(CLASS_NATIVE, "main::{lambda(int)#1}::operator()(int) const",
		   "main::{lambda#1}::operator()");
	check_bare(CLASS_PYTHON, "Model.forward (model.py:42)", "Model.forward");
	check_bare(CLASS_PYTHON, "f.<locals>.g", "f.&lt;locals&gt;.g");
}

static void names_that_begin_with_brackets_stay(void **state)
{
	(void)state;
	check_bare(CLASS_NATIVE, "[libfoo.so]", "[libfoo.so]");
	check_bare(CLASS_PYTHON, "<module> (a.py)", "&lt;module&gt;");
	check_bare(CLASS_NATIVE, "(anonymous namespace)::f(int)", "(anonymous namespace)::f");
	check_bare(CLASS_NATIVE, "a::(anonymous namespace)::f(int)", "a::(anonymous namespace)::f");
	check_bare(CLASS_NVTX, "nvtx:step (1)", "nvtx:step (1)");
	check_bare(CLASS_GPU_KERNEL, "[GPU_Kernel]", "[GPU_Kernel]");
	check_bare(CLASS_WAIT, "[waiting for GPU]", "[waiting for GPU]");
}

static void operators_are_no_brackets(void **state)
{
	(void)state;
	check_bare(CLASS_NATIVE, "A::operator()(int)", "A::operator()");
	check_bare(CLASS_NATIVE, "A::operator<(A const&)", "A::operator&lt;");
	check_bare(CLASS_NATIVE, "operator<< <char>(x)", "operator&lt;&lt; &lt;" DOTS "&gt;");
	check_bare(CLASS_NATIVE, "A::operator->()", "A::operator-&gt;");
	check_bare(CLASS_NATIVE, "f<(a->b)>(int)", "f&lt;" DOTS "&gt;");
}

static void unbalanced_brackets_stay(void **state)
{
	(void)state;
	check_bare(CLASS_NATIVE, "f<int", "f&lt;int");
	check_bare(CLASS_NATIVE, "f>)(", "f&gt;)(");
	check_bare(CLASS_NATIVE, "", "");
	check_bare(CLASS_GPU_KERNEL, "[GPU_Kernel]((((", "((((");
}

static void what_fits_is_shown_in_full(void **state)
{
	(void)state;
	check_fit(CLASS_NATIVE, "f(int)", 6, "f(int)");
	check_fit(CLASS_GPU_KERNEL, "[GPU_Kernel]k(int)", 18, "[GPU_Kernel]k(int)");
	check_fit(CLASS_GPU_KERNEL, "[GPU_Kernel]k(int)", 17, "k");
	check_fit(CLASS_NATIVE, "ab", 2, "ab");
	check_fit(CLASS_NATIVE, "abc", 2, "");
	check_fit(CLASS_NATIVE, "", 0, "");
}

static void the_last_parts_matter_most(void **state)
{
	const char *name = "server::InferencePipeline::run";

	(void)state;
	check_fit(CLASS_NATIVE, name, 29, DOTS "InferencePipeline::run");
	check_fit(CLASS_NATIVE, name, 23, DOTS "InferencePipeline::run");
	check_fit(CLASS_NATIVE, name, 22, DOTS "run");
	check_fit(CLASS_NATIVE, name, 4, DOTS "run");
	check_fit(CLASS_NATIVE, name, 3, "ru" DOTS);
	check_fit(CLASS_PYTHON, "Model.forward (model.py)", 12, DOTS "forward");
	check_fit(CLASS_NATIVE, "foo.constprop.0", 10, "foo.const" DOTS);
}

static void words_are_cut_at_their_ends(void **state)
{
	(void)state;
	check_fit(CLASS_NATIVE, "cudaStreamSynchronize", 16, "cudaStream" DOTS);
	check_fit(CLASS_NATIVE, "attention_softmax", 12, "attention_" DOTS);
	check_fit(CLASS_NATIVE, "abcdefghijkl", 5, "abcd" DOTS);
	check_fit(CLASS_NATIVE, "a_bcdefghijkl", 8, "a_bcdef" DOTS);
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
					     "\xff",
					     "\n",
					     "\xe4\xb8\xad",
					     "void ",
					     "{",
					     "}"};

	(void)state;
	for (uint64_t round = 0; round < unit_number("UNIT_ROUNDS", 3000); round++) {
		struct prng p = prng_round(round);
		uint32_t columns = (uint32_t)prng_below(&p, 40), used = 0;
		char name[600] = "";
		size_t length = 0;
		struct frame_label label;
		struct frame_info frame = {.class = (enum frame_class)prng_below(&p, FRAME_CLASSES),
					   .name = name};

		for (uint64_t n = prng_below(&p, 60); n > 0; n--)
			length += (size_t)snprintf(
				name + length, sizeof(name) - length, "%s",
				pieces[prng_below(&p, sizeof(pieces) / sizeof(pieces[0]))]);
		frame_label_fit(&label, &frame, columns);
		for (uint32_t i = 0; i < label.count; i++)
			used += markup_columns(label.text[i]);
		EXPECT(&p, used <= columns);
		EXPECT(&p, columns < 3 || !*name || label.count > 0);
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
		cmocka_unit_test(parameters_and_arguments_are_left_out),
		cmocka_unit_test(names_that_begin_with_brackets_stay),
		cmocka_unit_test(operators_are_no_brackets),
		cmocka_unit_test(unbalanced_brackets_stay),
		cmocka_unit_test(what_fits_is_shown_in_full),
		cmocka_unit_test(the_last_parts_matter_most),
		cmocka_unit_test(words_are_cut_at_their_ends),
		cmocka_unit_test(random_names_fit),
		cmocka_unit_test(a_very_long_name_is_cut_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
