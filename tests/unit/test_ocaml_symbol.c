// SPDX-License-Identifier: MIT
#include "unit.h"
#include "symbolize/demangle.h"
#include "symbolize/ocaml_symbol.h"

static void expect(const char *symbol, const char *want)
{
	struct demangler *demangler = demangler_new();
	char *name = demangle(demangler, symbol, DEMANGLE_FUNCTION);

	assert_string_equal(name, want);
	assert_int_equal(ocaml_symbol_is(symbol), strcmp(symbol, want) != 0);
	free(name);
	demangler_free(demangler);
}

static void names_of_functions(void **state)
{
	(void)state;
	expect("camlOc__burn_it_84", "Oc.burn_it_84");
	expect("camlOc__fun_520", "Oc.fun_520");
	expect("camlStdlib__List__map_487", "Stdlib.List.map_487");
	expect("camlOc__entry", "Oc.entry");
	expect("camlOc__with_underscores__12_3", "Oc.with_underscores.12_3");
	/* since OCaml 5.1 */
	expect("camlOc.burn_it_84", "Oc.burn_it_84");
	expect("camlStdlib__List.map_487", "Stdlib.List.map_487");
	/* operators, and a prime */
	expect("camlOc__$2b$2b_84", "Oc.++_84");
	expect("camlOc__$3e$3e$3d_84", "Oc.>>=_84");
	expect("camlOc.f'_9", "Oc.f'_9");
}

static void names_that_only_look_so(void **state)
{
	static const char *const others[] = {"caml",
					     "caml_main",
					     "camlOc",
					     "camlCase_12",
					     "camlToSnake__case",
					     "camlOc__",
					     "camlOc__84",
					     "camlOc___84",
					     "camllower__f_12",
					     "camlOc__f_12x",
					     "camlOc__code_begin",
					     "camlOc__$0a_12",
					     "camlOc__$3b_12",
					     "camlOc__$zz_12",
					     "camlOc__$2",
					     "camlOc__$",
					     "camlOc__f;g_12",
					     "camlOc__f g_12",
					     "camlOc__$2B_12",
					     "xcamlOc__f_12",
					     "Oc.f_12",
					     ""};

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		expect(others[i], others[i]);
}

static void kernels_are_not_of_ocaml(void **state)
{
	struct demangler *demangler = demangler_new();
	char *name = demangle(demangler, "camlOc__f_12", DEMANGLE_SIGNATURE);

	(void)state;
	assert_string_equal(name, "camlOc__f_12");
	free(name);
	demangler_free(demangler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_functions),
		cmocka_unit_test(names_that_only_look_so),
		cmocka_unit_test(kernels_are_not_of_ocaml),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
