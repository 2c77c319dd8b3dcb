/* SPDX-License-Identifier: MIT */
/* Kernels that Python files define, and what TorchInductor fused into them. */
#include "unit.h"
#include <stdio.h>
#include <stdlib.h>
#include "profiler/shape/kernel_source.h"

static struct kernel_sources sources;

static void find(const char *text)
{
	kernel_sources_release(&sources);
	assert_int_equal(kernel_sources_find(&sources, text, strlen(text)), 0);
}

static const struct kernel_source *named(const char *name)
{
	return kernel_sources_named(&sources, name);
}

static int release(void **state)
{
	(void)state;
	kernel_sources_release(&sources);
	return 0;
}

#define KERNEL(name, comment)                                             \
	comment "v_" name " = async_compile.triton('" name "', '''\n"     \
		"@triton_heuristics.pointwise(\n    filename=__file__,\n" \
		")\n@triton.jit\ndef " name                               \
		"(in_ptr0, XBLOCK):\n    pass\n''', device_str='cuda')\n"
#define NODES "# Topologically Sorted Source Nodes: [linear, gelu], "

static void generated_modules(void **state)
{
	const struct kernel_source *k;

	(void)state;
	find("import torch\n\n\n" KERNEL("first", "# kernel path: /tmp/a/b.py\n" NODES
						  "Original ATen: [aten.addmm, aten.gelu]\n"
						  "# Graph fragment:\n#   %x : [num_users=1]\n")
		     KERNEL("second", "\n\n# Source Nodes: [y], Original ATen: [aten.mm]\n")
			     KERNEL("third", "\n\n"));
	assert_int_equal(sources.count, 3);
	k = named("first");
	assert_string_equal(k->operators, "aten.addmm, aten.gelu");
	assert_string_equal(k->nodes, "linear, gelu");
	assert_int_equal(k->line, 13);
	assert_null(k->path);
	k = named("second");
	assert_string_equal(k->operators, "aten.mm");
	assert_string_equal(k->nodes, "y");
	k = named("third");
	assert_string_equal(k->operators, "");
	assert_string_equal(k->nodes, "");
	assert_null(named("v_first"));
	assert_null(named(""));
}

static void kernels_of_users(void **state)
{
	const struct kernel_source *k;

	(void)state;
	find(KERNEL("a", "# Original path: /app/my kernels.py:12\n")
		     KERNEL("b", "# Original path: /app/k.py\n")
			     KERNEL("c", "# Original path: /app/k.py:x\n")
				     KERNEL("d", "# Original path: :3\n")
					     KERNEL("e", "# Original path: /app/k.py:0\n"));
	k = named("a");
	assert_string_equal(k->path, "/app/my kernels.py");
	assert_int_equal(k->line, 12);
	for (const char *name = "b\0c\0d\0e\0"; *name; name += 2) {
		assert_null(named(name)->path);
		assert_true(named(name)->line > 0);
	}
}

static void decorated_functions(void **state)
{
	(void)state;
	find("@triton.autotune(\n    configs=[Config({'A': 1})],\n    key=['n'],\n)\n"
	     "@triton.jit\ndef tuned(x,\n          y):\n    pass\n"
	     "@jit\r\ndef plain(x): pass\r\n"
	     "class A:\n    @gluon.jit(noinline=True)  # why not\n    def  inner (x): pass\n"
	     "def not_decorated(x): pass\n"
	     "@torch.jit.script\ndef script(x): pass\n"
	     "@triton.jit\nclass B:\n    def method(self): pass\n"
	     "@triton.jit_more\ndef more(): pass\n"
	     "# @triton.jit\ndef in_comment(): pass\n"
	     "@triton.jit\n@other\ndef twice(): pass\n"
	     "@triton.jit\ndef größe(): pass\n"
	     "@triton.jit\ndef (): pass\n"
	     "@triton.jit\ndef at_end");
	assert_int_equal(named("tuned")->line, 6);
	assert_int_equal(named("plain")->line, 10);
	assert_int_equal(named("inner")->line, 13);
	assert_int_equal(named("twice")->count, 1);
	assert_non_null(named("größe"));
	assert_non_null(named("at_end"));
	assert_int_equal(sources.count, 6);
}

/* Comments behind a kernel's text give it no operators. */
static void comments_end(void **state)
{
	(void)state;
	find(KERNEL("a", NODES
		    "Original ATen: [aten.mm]\n") "@triton.jit\ndef b(): pass\n"
						  "# Original ATen: [aten.add]\nx = 1\n" KERNEL(
							  "c", "") "# Original ATen: "
								   "[aten.add\n" KERNEL(
									   "d",
									   "") "# "
									       "Original "
									       "ATen: "
									       "[]"
									       "\n" KERNEL("e",
											   ""));
	assert_string_equal(named("a")->operators, "aten.mm");
	assert_string_equal(named("b")->operators, "");
	assert_string_equal(named("c")->operators, "");
	assert_string_equal(named("d")->operators, "");
	assert_string_equal(named("e")->operators, "");
}

static void equal_names_are_counted(void **state)
{
	(void)state;
	find(KERNEL("triton_", NODES "Original ATen: [aten.mm]\n") KERNEL("triton_", "")
		     KERNEL("x", ""));
	assert_int_equal(sources.count, 2);
	assert_int_equal(named("triton_")->count, 2);
	assert_string_equal(named("triton_")->operators, "aten.mm");
	assert_int_equal(named("x")->count, 1);
}

static void long_lists_are_cut(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const char *operators;

	(void)state;
	assert_non_null(out);
	fputs("# Original ATen: [", out);
	for (int i = 0; i < 500; i++)
		fprintf(out, "%saten.op%03d", i ? ", " : "", i);
	fputs("]\n" KERNEL("k", ""), out);
	assert_int_equal(fclose(out), 0);
	find(text);
	operators = named("k")->operators;
	/* 11 bytes a name, with its comma */
	assert_true(strlen(operators) <= KERNEL_SOURCE_LIST + 16);
	assert_non_null(strstr(operators, "aten.op082 (417 more)"));
	free(text);
}

/* A list of a million names above thousands of kernels: it is read once, else this takes minutes.
 */
static void kernels_share_a_long_list(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	fputs("# Original path: ", out);
	for (int i = 0; i < 1000000; i++)
		fputc('p', out);
	fputs("\n# Original ATen: [", out);
	for (int i = 0; i < 1000000; i++)
		fputs(i ? ",ab" : "ab", out);
	fputs("]\nk = async_compile.triton('k', r\"\"\"\n", out);
	for (unsigned int i = 0; i < KERNEL_SOURCE_MAX; i++)
		fprintf(out, "@jit\ndef k%u(): pass\n", i);
	assert_int_equal(fclose(out), 0);
	find(text);
	assert_int_equal(sources.count, KERNEL_SOURCE_MAX);
	assert_non_null(strstr(named("k0")->operators, "ab (999667 more)"));
	assert_string_equal(named("k4000")->operators, named("k0")->operators);
	assert_null(named("k0")->path);
	free(text);
}

static void texts_are_clean(void **state)
{
	(void)state;
	find("# Source Nodes: [\x1b[2J], Original ATen: [aten.\x1b\x7f\xe2\x80\xae]\n" KERNEL("k",
											      ""));
	assert_string_equal(named("k")->operators, "aten.???");
	assert_string_equal(named("k")->nodes, "?[2J");
}

static void many_kernels_are_cut(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	for (unsigned int i = 0; i < KERNEL_SOURCE_MAX + 5; i++)
		fprintf(out, "@jit\ndef k%u(): pass\n", i);
	assert_int_equal(fclose(out), 0);
	find(text);
	assert_int_equal(sources.count, KERNEL_SOURCE_MAX);
	assert_true(sources.is_cut);
	assert_int_equal(named("k17")->line, 36);
	free(text);
}

static void empty_files(void **state)
{
	(void)state;
	find("");
	assert_int_equal(sources.count, 0);
	assert_null(named("x"));
	find("\n\n#\n@\n'''\ndef\n");
	assert_int_equal(sources.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(generated_modules),         cmocka_unit_test(kernels_of_users),
		cmocka_unit_test(decorated_functions),       cmocka_unit_test(comments_end),
		cmocka_unit_test(equal_names_are_counted),   cmocka_unit_test(long_lists_are_cut),
		cmocka_unit_test(kernels_share_a_long_list), cmocka_unit_test(texts_are_clean),
		cmocka_unit_test(many_kernels_are_cut),      cmocka_unit_test(empty_files),
	};

	return cmocka_run_group_tests(tests, NULL, release);
}
