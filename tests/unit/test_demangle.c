/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "symbolize/demangle.h"

static void expect(const char *mangled, enum demangle_style style, const char *expected)
{
	char *name = demangle(mangled, style);

	assert_non_null(name);
	assert_string_equal(name, expected);
	free(name);
}

static void test_plain_names_stay(void **state)
{
	(void)state;
	expect("main", DEMANGLE_FUNCTION, "main");
	expect("", DEMANGLE_FUNCTION, "");
	expect("_", DEMANGLE_FUNCTION, "_");
	expect("_Z", DEMANGLE_FUNCTION, "_Z");
	expect("_R", DEMANGLE_FUNCTION, "_R");
	expect("_Zebra", DEMANGLE_FUNCTION, "_Zebra");
	expect("_Run", DEMANGLE_FUNCTION, "_Run");
	expect("i", DEMANGLE_SIGNATURE, "i"); /* not the type "int" */
	expect(".cold", DEMANGLE_FUNCTION, ".cold");
}

static void test_cxx(void **state)
{
	(void)state;
	expect("_ZN2ns5Class6methodIiEEvT_", DEMANGLE_FUNCTION, "ns::Class::method<int>");
	expect("_ZN2ns5Class6methodIiEEvT_", DEMANGLE_SIGNATURE, "ns::Class::method<int>(int)");
	expect("_Z7softmaxPKfi", DEMANGLE_FUNCTION, "softmax");
	expect("_Z7softmaxPKfi", DEMANGLE_SIGNATURE, "softmax(float const*, int)");
	expect("_Z3maxIiET_S0_S0_", DEMANGLE_SIGNATURE, "max<int>(int, int)");
	expect("_ZN12_GLOBAL__N_13fooEv", DEMANGLE_FUNCTION, "(anonymous namespace)::foo");
	expect("_ZNK1AcvbEv", DEMANGLE_FUNCTION, "A::operator bool");
}

static void test_rust(void **state)
{
	(void)state;
	expect("_ZN4core3fmt5write17h0123456789abcdefE", DEMANGLE_FUNCTION, "core::fmt::write");
	expect("_ZN4core3fmt5write17h0123456789abcdefE", DEMANGLE_SIGNATURE, "core::fmt::write");
	expect("_ZN4core3fmt5write17h0123456789abcdefE.llvm.1234567", DEMANGLE_FUNCTION,
	       "core::fmt::write");
	expect("_ZN54_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..Foo$GT$"
	       "3bar17h0123456789abcdefE",
	       DEMANGLE_FUNCTION, "<alloc::vec::Vec<T> as core::Foo>::bar");
	expect("_RNvC6_123foo3bar", DEMANGLE_FUNCTION, "123foo::bar");
	expect("_RNvNtCs1234_7mycrate3mod4func", DEMANGLE_FUNCTION, "mycrate::mod::func");
}

static void test_clone_suffixes(void **state)
{
	(void)state;
	expect("foo.cold", DEMANGLE_FUNCTION, "foo");
	expect("foo.part.0", DEMANGLE_FUNCTION, "foo");
	expect("foo.constprop.12.isra.3.cold", DEMANGLE_FUNCTION, "foo");
	expect("foo.llvm.9876543210", DEMANGLE_FUNCTION, "foo");
	expect("foo.lto_priv.0", DEMANGLE_FUNCTION, "foo");
	expect("_Z3foov.cold", DEMANGLE_FUNCTION, "foo");
	expect("_Z3foov.isra.0.cold", DEMANGLE_SIGNATURE, "foo()");
	expect("_Z3foov.something.5", DEMANGLE_SIGNATURE, "foo()");
	/* Not clones: a nested function, a version in the name. */
	expect("nested.0", DEMANGLE_FUNCTION, "nested.0");
	expect("step.coldly", DEMANGLE_FUNCTION, "step.coldly");
	expect("part.7", DEMANGLE_FUNCTION, "part.7");
}

static void test_versions_and_stubs(void **state)
{
	(void)state;
	expect("memcpy@@GLIBC_2.14", DEMANGLE_FUNCTION, "memcpy");
	expect("memcpy@GLIBC_2.2.5", DEMANGLE_FUNCTION, "memcpy");
	expect("memcpy@plt", DEMANGLE_FUNCTION, "memcpy@plt");
	expect("_Z3foov@plt", DEMANGLE_FUNCTION, "foo@plt");
	expect("_Z3foov@@V1@plt", DEMANGLE_FUNCTION, "foo@plt");
	expect("@plt", DEMANGLE_FUNCTION, "@plt");
}

/* Each level doubles what is printed: pair<pair<...>, pair<...>>, by substitution. */
static char *exponential_name(unsigned int levels)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char *name = calloc(1, 64 + levels * 64), *end = name;

	end = stpcpy(end, "_Z3fooI1AE");
	end = stpcpy(end, "v1P");
	/* Parameters: 1P, PFS_S_E, PFS0_..: function types that take the one before twice. */
	for (unsigned int i = 0; i < levels; i++) {
		char part[64], id[8] = "";

		if (i > 0) {
			unsigned int n = 1 + 2 * i;

			id[0] = n - 1 >= 36 ? digits[(n - 1) / 36] : digits[n - 1];
			if (n - 1 >= 36)
				id[1] = digits[(n - 1) % 36];
		}
		snprintf(part, sizeof(part), "PFvS%s_S%s_E", id, id);
		end = stpcpy(end, part);
	}
	return name;
}

static void test_exponential_output_is_cut(void **state)
{
	unsigned int kept = 0;

	(void)state;
	for (unsigned int levels = 1; levels < 400; levels += 7) {
		char *mangled = exponential_name(levels);
		char *name = demangle(mangled, DEMANGLE_SIGNATURE);

		assert_non_null(name);
		assert_true(strlen(name) <= DEMANGLE_MAX_OUTPUT);
		kept += strcmp(name, mangled) == 0;
		free(name);
		free(mangled);
	}
	assert_true(kept > 0);
}

/* Base 62 as Rust's v0 mangling has it: 0 is "_", 1 is "0_". */
static char *put_base62(char *end, size_t value)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	if (value > 62)
		*end++ = digits[(value - 1) / 62 - 1];
	if (value > 0)
		*end++ = digits[(value - 1) % 62];
	*end++ = '_';
	*end = '\0';
	return end;
}

/* Rust v0 back references double just the same: each tuple holds the one before twice. */
static void test_exponential_rust(void **state)
{
	char mangled[2048], *end = stpcpy(mangled, "_RINvC1a1bl"), *name;
	size_t before = (size_t)(end - mangled) - 3;

	(void)state;
	for (unsigned int level = 1; level <= 40; level++) {
		size_t here = (size_t)(end - mangled) - 2;
		char *closed;

		end = stpcpy(end, "TB");
		end = put_base62(end, before);
		end = stpcpy(end, "B");
		end = put_base62(end, before);
		end = stpcpy(end, "E");
		before = here;
		closed = stpcpy(end, "E");
		*closed = '\0';
		name = demangle(mangled, DEMANGLE_FUNCTION);
		assert_non_null(name);
		if (level == 2)
			assert_string_equal(name,
					    "a::b::<i32, (i32, i32), ((i32, i32), (i32, i32))>");
		if (level > 20)
			assert_string_equal(name, mangled);
		free(name);
		*end = '\0';
	}
}

static void repeat(char *to, const char *part, size_t size)
{
	size_t length = strlen(part);

	for (size_t i = 0; i < size; i++)
		to[i] = part[i % length];
	to[size] = '\0';
}

static void test_deep_nesting_does_not_overflow(void **state)
{
	static const char *const parts[] = {"P",     "I1AI",   "N1A",      "DpT_",       "PFvP",
					    "KPVR",  "XdedeL", "LZ1fv",    "Z1fvEN1A",   "J",
					    "DTcl",  "TTTT",   "NvNvNvNv", "FDpDp",      "U4abcdI",
					    "A_",    "M1A",    "il",       "XLZ3fooIvE", "XLZ3foov",
					    "cvPcv", "clcl",   "S_",       "I"};
	char *name = malloc(DEMANGLE_MAX_INPUT + 2);

	(void)state;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		static const char *const starts[] = {"_Z1f", "_Z1fI",  "_RNvC1a1b",
						     "_ZN",  "_RIC1a", "_Z1fIXcl"};

		for (size_t j = 0; j < sizeof(starts) / sizeof(*starts); j++) {
			char *result, *end = stpcpy(name, starts[j]);

			repeat(end, parts[i], DEMANGLE_MAX_INPUT - strlen(starts[j]));
			result = demangle(name, DEMANGLE_SIGNATURE);
			assert_non_null(result);
			free(result);
		}
	}
	free(name);
}

static void test_long_names(void **state)
{
	char *name = malloc(DEMANGLE_MAX_INPUT + 2), *result;
	size_t arguments = 2000; /* bytes of them */
	char *end;

	(void)state;
	/* Longer than libiberty's default limits allow, as real template instances are. */
	end = stpcpy(name, "_Z6kernelI");
	repeat(end, "3abci", arguments);
	end = stpcpy(end + arguments, "EvPf");
	result = demangle(name, DEMANGLE_SIGNATURE);
	assert_non_null(result);
	assert_memory_equal(result, "kernel<abc, int, abc, int", 25);
	assert_string_equal(result + strlen(result) - 8, "(float*)");
	free(result);

	repeat(name, "_Z1f", DEMANGLE_MAX_INPUT + 1);
	result = demangle(name, DEMANGLE_FUNCTION);
	assert_string_equal(result, name);
	free(result);
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_names_stay),
		cmocka_unit_test(test_cxx),
		cmocka_unit_test(test_rust),
		cmocka_unit_test(test_clone_suffixes),
		cmocka_unit_test(test_versions_and_stubs),
		cmocka_unit_test(test_exponential_output_is_cut),
		cmocka_unit_test(test_exponential_rust),
		cmocka_unit_test(test_deep_nesting_does_not_overflow),
		cmocka_unit_test(test_long_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
