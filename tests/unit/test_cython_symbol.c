// SPDX-License-Identifier: MIT
#include "unit.h"
#include "symbolize/cython_symbol.h"
#include "symbolize/demangle.h"

/* Expects the function's name in the file; `want` NULL: no name of Cython. */
static void expect_in(const char *file, const char *symbol, const char *want)
{
	char *name = cython_symbol_name(symbol, file);

	if (want)
		assert_string_equal(name, want);
	else
		assert_null(name);
	free(name);
}

static void names_of_functions(void **state)
{
	const char *file = "/app/cyx.cpython-311-x86_64-linux-gnu.so";

	(void)state;
	expect_in(file, "__pyx_pw_3cyx_1K_1meth", "K.meth (cyx.pyx)");
	expect_in(file, "__pyx_pf_3cyx_1K_meth", "K.meth (cyx.pyx)");
	expect_in(file, "__pyx_pw_3cyx_3py_callback", "py_callback (cyx.pyx)");
	expect_in(file, "__pyx_pf_3cyx_2py_callback", "py_callback (cyx.pyx)");
	expect_in(file, "__pyx_pw_3cyx_3foo_bar", "foo_bar (cyx.pyx)");
	expect_in(file, "__pyx_pf_3cyx_3foo_bar", "foo.bar (cyx.pyx)");
	expect_in(file, "__pyx_pf_3cyx_2Kx_first", "Kx.first (cyx.pyx)");
	expect_in(file, "__pyx_f_3cyx_inner_c", "inner_c (cyx.pyx)");
	expect_in(file, "__pyx_f_3cyx_1K_cmeth", "K.cmeth (cyx.pyx)");
	expect_in(file, "__pyx_gb_3cyx_4generator", "generator (cyx.pyx)");
	expect_in(file, "__pyx_pw_3cyx_5outer_1inner", "outer.inner (cyx.pyx)");
	expect_in(file, "__pyx_tp_dealloc_3cyx_K", "K.tp_dealloc (cyx.pyx)");
	expect_in(file, "__pyx_fuse_1__pyx_f_3cyx_add", "add (cyx.pyx)");
	expect_in(file, "__pyx_fuse_0_12__pyx_pw_3cyx_5add", "add (cyx.pyx)");
	expect_in(file, "__pyx_f_3cyx_f123", "f123 (cyx.pyx)");
}

static void special_methods(void **state)
{
	/* counters of calls are odd */
	static const char *const names[] = {"__init__",  "__len__",     "__eq__",   "__get__",
					    "__str__",   "__enter__",   "__iter__", "__getitem__",
					    "__cinit__", "__dealloc__", "_"};
	char symbol[128], want[128];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (int counter = 1; counter < 30; counter += 2) {
			snprintf(symbol, sizeof(symbol), "__pyx_pw_3cyx_1K_%d%s", counter,
				 names[i]);
			snprintf(want, sizeof(want), "K.%s (cyx.pyx)", names[i]);
			expect_in(NULL, symbol, want);
		}
	}
	expect_in(NULL, "__pyx_pw_3cyx_1K_4prop_1__get__", "K.prop.__get__ (cyx.pyx)");
}

static void modules_of_packages(void **state)
{
	(void)state;
	expect_in("_tree.so", "__pyx_f_7sklearn_4tree_5_tree_4Tree_fit", "Tree.fit (_tree.pyx)");
	expect_in("other.so", "__pyx_f_7sklearn_4tree_5_tree_4Tree_fit", "Tree.fit (_tree.pyx)");
	expect_in(NULL, "__pyx_f_7sklearn_4tree_5_tree_fit", "fit (_tree.pyx)");
	/* a class of lower-case letters is known by the file alone */
	expect_in("tree.abi3.so", "__pyx_pw_4tree_4node_1fit", "node.fit (tree.pyx)");
	expect_in(NULL, "__pyx_pw_4tree_4node_1fit", "fit (node.pyx)");
	expect_in("a.so", "__pyx_f_1a_1a_f", "f (a.pyx)");
	expect_in("", "__pyx_f_1a_f", "f (a.pyx)");
}

static void names_that_only_look_so(void **state)
{
	static const char *const others[] = {
		"",
		"__pyx_pw_",
		"__pyx_pw_3cyx",
		"__pyx_pw_3cyx_",
		"__pyx_pw_3cyx_1",
		"__pyx_pw_0cyx_f",
		"__pyx_pw_4cyx_f",
		"__pyx_pw_99999999999999999999cyx_f",
		"__pyx_pw_3cyx_f.g",
		"__pyx_pymod_exec_cyx",
		"__pyx_fuse_",
		"__pyx_fuse_1",
		"__pyx_fuse___pyx_",
		"__pyx_tp_new_K",
		"__Pyx_PyObject_Call",
		"main",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		expect_in("cyx.so", others[i], NULL);
}

static void more_parts_than_there_are(void **state)
{
	char symbol[1024], *name;
	int used = snprintf(symbol, sizeof(symbol), "__pyx_f_");

	(void)state;
	for (int i = 0; i < 100; i++)
		used += snprintf(symbol + used, sizeof(symbol) - (size_t)used, "1K_");
	snprintf(symbol + used, sizeof(symbol) - (size_t)used, "f");
	name = cython_symbol_name(symbol, NULL);
	assert_null(name);
	name = cython_symbol_name(symbol + strlen(symbol), NULL);
	assert_null(name);
}

static void parts_of_functions(void **state)
{
	struct demangler *demangler = demangler_new();
	char *name = demangle_in(demangler, "__pyx_pw_3cyx_1k_1meth.constprop.0.cold",
				 DEMANGLE_FUNCTION, "cyx.so");

	(void)state;
	assert_string_equal(name, "k.meth (cyx.pyx)");
	free(name);
	demangler_free(demangler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_functions),
		cmocka_unit_test(special_methods),
		cmocka_unit_test(modules_of_packages),
		cmocka_unit_test(names_that_only_look_so),
		cmocka_unit_test(more_parts_than_there_are),
		cmocka_unit_test(parts_of_functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
