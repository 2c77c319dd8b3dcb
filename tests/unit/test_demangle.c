/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <cmocka.h>

#include "symbolize/demangle.h"

static struct demangler *demangler; /* a new one for each test */

static int make_demangler(void **state)
{
	(void)state;
	demangler = demangler_new();
	return demangler ? 0 : -1;
}

static int free_demangler(void **state)
{
	(void)state;
	demangler_free(demangler);
	return 0;
}

static void expect(const char *mangled, enum demangle_style style, const char *expected)
{
	char *name = demangle(demangler, mangled, style);

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
	expect("i", DEMANGLE_SIGNATURE, "i"); /* this is not the type "int" */
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

static void test_host_functions_of_kernels(void **state)
{
	(void)state;
	expect("__device_stub__Z5chasePKjPji", DEMANGLE_FUNCTION, "__device_stub_chase");
	expect("__device_stub__ZN5model6matmulIfEEvPT_", DEMANGLE_FUNCTION,
	       "__device_stub_model::matmul<float>");
	expect("__device_stub__Z5chasePKjPji.cold", DEMANGLE_FUNCTION, "__device_stub_chase");
	expect("__device_stub_in_c", DEMANGLE_FUNCTION, "__device_stub_in_c");
	expect("__device_stub__Z", DEMANGLE_FUNCTION, "__device_stub__Z");
	expect("__device_stub_", DEMANGLE_FUNCTION, "__device_stub_");
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
	expect("_RNvC7mycrate8read_u32", DEMANGLE_FUNCTION, "mycrate::read_u32");
	expect("_RNvC7mycrateu8gdel_5qa", DEMANGLE_FUNCTION, "mycrate::g\u00f6del");
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
	/* nested functions and versions are no clones */
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

/* Returns a name whose output doubles at each level: pair<pair<...>, pair<...>>, by
 * substitution. */
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
	unsigned int kept = 0, step = getenv("UNDER_VALGRIND") ? 70 : 7;

	(void)state;
	for (unsigned int levels = 1; levels < 400; levels += step) {
		char *mangled = exponential_name(levels);
		char *name = demangle(demangler, mangled, DEMANGLE_SIGNATURE);

		assert_non_null(name);
		assert_true(strlen(name) <= DEMANGLE_MAX_OUTPUT);
		kept += strcmp(name, mangled) == 0;
		free(name);
		free(mangled);
	}
	assert_true(kept > 0);
}

/* Writes a number in base 62 as in Rust's v0 mangling: 0 is "_", 1 is "0_", 63 is "10_". */
static char *put_base62(char *end, size_t value)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	if (value > 62)
		*end++ = digits[(value - 1) / 62];
	if (value > 0)
		*end++ = digits[(value - 1) % 62];
	*end++ = '_';
	*end = '\0';
	return end;
}

/* Rust v0 back references double, too: each tuple holds its predecessor twice. */
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
		name = demangle(demangler, mangled, DEMANGLE_FUNCTION);
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
	const bool is_slow = getenv("UNDER_VALGRIND") != NULL;
	size_t longest = is_slow ? DEMANGLE_MAX_INPUT / 32 : DEMANGLE_MAX_INPUT;
	char *name = malloc(DEMANGLE_MAX_INPUT + 2);

	(void)state;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		static const char *const starts[] = {"_Z1f", "_Z1fI",  "_RNvC1a1b",
						     "_ZN",  "_RIC1a", "_Z1fIXcl"};

		for (size_t j = 0; j < sizeof(starts) / sizeof(*starts); j++) {
			char *result, *end = stpcpy(name, starts[j]);

			if (is_slow && (i + j) % 6 > 0) /* one start for each part */
				continue;
			repeat(end, parts[i], longest - strlen(starts[j]));
			result = demangle(demangler, name, DEMANGLE_SIGNATURE);
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
	result = demangle(demangler, name, DEMANGLE_SIGNATURE);
	assert_non_null(result);
	assert_memory_equal(result, "kernel<abc, int, abc, int", 25);
	assert_string_equal(result + strlen(result) - 8, "(float*)");
	free(result);

	repeat(name, "_Z1f", DEMANGLE_MAX_INPUT + 1);
	result = demangle(demangler, name, DEMANGLE_FUNCTION);
	assert_string_equal(result, name);
	free(result);
	free(name);
}

/* ---- names without an end ---- */

static char *put_substitution(char *end, unsigned int n)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	*end++ = 'S';
	if (n > 36)
		*end++ = digits[(n - 1) / 36];
	if (n > 0)
		*end++ = digits[(n - 1) % 36];
	*end++ = '_';
	*end = '\0';
	return end;
}

/*
 * Returns f<sizeof...((A)0)> with a type A of 2^levels parts, because each level takes its
 * predecessor twice. All parts are searched for a pack, without any output.
 */
static char *endless_name(unsigned int levels)
{
	char *name = malloc(64 + levels * 16), *end = stpcpy(name, "_Z1fIXsZcv");

	for (unsigned int i = 0; i < levels; i++)
		end = stpcpy(end, "PFv");
	end = stpcpy(end, "P1A");
	for (unsigned int i = 0; i < levels; i++) {
		end = put_substitution(end, 1 + 2 * i);
		end = stpcpy(end, "E");
	}
	stpcpy(end, "Li0EEEvv");
	return name;
}

static void stays_mangled(const char *name, enum demangle_style style)
{
	uint64_t slow = demangler_count_slow(demangler);

	expect(name, style, name);
	assert_int_equal(demangler_count_slow(demangler), slow + 1);
}

static void test_endless_names_are_given_up(void **state)
{
	/* A few levels are no trouble: the form is right. */
	char *few = endless_name(3), *many = endless_name(60), *lots = endless_name(300);

	(void)state;
	expect(few, DEMANGLE_FUNCTION, "f<0>");
	assert_true(strlen(many) < 613);
	stays_mangled(many, DEMANGLE_FUNCTION);
	stays_mangled(many, DEMANGLE_SIGNATURE);
	assert_true(strlen(lots) > 1000); /* goes to a thread of its own */
	stays_mangled(lots, DEMANGLE_FUNCTION);
	expect("_Z7softmaxPKfi", DEMANGLE_FUNCTION, "softmax");
	free(few);
	free(many);
	free(lots);
}

/* "for<'a, 'b, ...>" with 2^60 lifetimes, in a part of the name that is not printed. */
static void test_endless_rust_names_are_given_up(void **state)
{
	(void)state;
	expect("_RNvMIC1aDG3_C1bEL_El1f", DEMANGLE_FUNCTION, "<i32>::f");
	stays_mangled("_RNvMIC1aDGzzzzzzzzzz_C1bEL_El1f", DEMANGLE_FUNCTION);
	/* with something like an identifier that libiberty decodes */
	expect("_RNvMIC6cpuu32DG3_C1bEL_El1f", DEMANGLE_FUNCTION, "<i32>::f");
	stays_mangled("_RNvMIC6cpuu32DGzzzzzzzzzz_C1bEL_El1f", DEMANGLE_FUNCTION);
	expect("_RNvC7mycrate8read_u32", DEMANGLE_FUNCTION, "mycrate::read_u32");
}

static void test_time_of_a_run_is_limited(void **state)
{
	char *name = endless_name(60);
	unsigned int most = DEMANGLE_RUN_MS / DEMANGLE_NAME_MS;

	(void)state;
	for (unsigned int i = 0; i < most; i++)
		stays_mangled(name, DEMANGLE_FUNCTION);
	/* Now there is no time for any name. What is not mangled needs none. */
	stays_mangled("_Z7softmaxPKfi", DEMANGLE_FUNCTION);
	expect("main.cold", DEMANGLE_FUNCTION, "main");
	assert_int_equal(demangler_count_slow(demangler), most + 1);
	free(name);
}

static void test_signals_are_as_before(void **state)
{
	struct demangler *second = demangler_new();
	struct sigaction before = {.sa_handler = SIG_IGN}, after;
	sigset_t mask_before, mask_after;
	char *name = endless_name(60);

	(void)state;
	assert_int_equal(sigaction(DEMANGLE_SIGNAL, &before, NULL), 0);
	pthread_sigmask(SIG_SETMASK, NULL, &mask_before);
	free(demangle(second, "_Z7softmaxPKfi", DEMANGLE_FUNCTION));
	stays_mangled(name, DEMANGLE_FUNCTION);
	demangler_free(demangler);
	demangler = NULL;
	/* The second one still needs the handler. */
	assert_int_equal(sigaction(DEMANGLE_SIGNAL, NULL, &after), 0);
	assert_true(after.sa_handler != SIG_IGN && after.sa_handler != SIG_DFL);
	assert_true(demangler_count_slow(second) == 0);
	demangler_free(second);
	assert_int_equal(sigaction(DEMANGLE_SIGNAL, NULL, &after), 0);
	assert_true(after.sa_handler == SIG_IGN);
	pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
	for (int i = 1; i <= SIGRTMAX; i++)
		assert_int_equal(sigismember(&mask_before, i), sigismember(&mask_after, i));
	signal(DEMANGLE_SIGNAL, SIG_DFL);
	free(name);
}

static void test_a_caller_that_blocks_all_signals(void **state)
{
	char *name = endless_name(60);
	sigset_t all, before, after;

	(void)state;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	stays_mangled(name, DEMANGLE_FUNCTION);
	pthread_sigmask(SIG_SETMASK, &before, &after);
	assert_int_equal(sigismember(&after, SIGTERM), 1);
	assert_int_equal(sigismember(&after, DEMANGLE_SIGNAL), 1);
	free(name);
}

static volatile sig_atomic_t begun, ended;

static void on_alarm(int number)
{
	(void)number;
	begun++;
	for (volatile int i = 0; i < 20000; i++)
		;
	ended++;
}

/* Giving up a name jumps; it must not jump out of somebody else's handler. */
static void test_other_handlers_run_to_their_end(void **state)
{
	const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	char *name = endless_name(60);

	(void)state;
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	for (int i = 0; i < 10; i++)
		stays_mangled(name, DEMANGLE_FUNCTION);
	while (begun == 0)
		;
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	signal(SIGALRM, SIG_IGN); /* the last one may be under way */
	assert_int_equal(begun, ended);
	free(name);
}

/* Identifiers that libiberty decodes, until they are too much: its block is not lost. */
static void test_exponential_decoded_rust(void **state)
{
	static const char start[] = "_RINvC1a1bNtC1b";
	char mangled[4096], *end = stpcpy(mangled, start);
	size_t before = strlen(start) - strlen("NtC1b") - 2;

	(void)state;
	end = stpcpy(end, "u804");
	repeat(end, "g", 800);
	end = stpcpy(end + 800, "_5qa");
	for (unsigned int level = 1; level <= 24; level++) {
		size_t here = (size_t)(end - mangled) - 2;

		end = stpcpy(end, "TB");
		end = put_base62(end, before);
		end = stpcpy(end, "B");
		end = put_base62(end, before);
		end = stpcpy(end, "E");
		before = here;
		if (level == 1) {
			char *name;

			stpcpy(end, "E");
			name = demangle(demangler, mangled, DEMANGLE_FUNCTION);
			assert_non_null(
				strchr(name, 0xc2)); /* lead byte of the decoded character */
			free(name);
			*end = '\0';
		}
	}
	stpcpy(end, "E");
	expect(mangled, DEMANGLE_FUNCTION, mangled);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_demangler, free_demangler)

static void test_d(void **state)
{
	static const char *const cases[][2] = {
		{"_Dmain", "D main"},
		{"_D2dd__T1STiZQf__T4workVAyaa3_686f74ZQtMFNbNiNfiZm",
		 "dd.S!(int).S.work!(\"hot\").work"},
		{"_D2dd4mainFZ9__lambda3FNbNiNfiZm", "dd.main().__lambda3"},
		{"_D2dd__T5templS_DQp4mainFZ9__lambda3FNbNiNfiZmTiZQBpQq",
		 "dd.templ!(dd.main().__lambda3(int), int).templ"},
		/* texts with parentheses; with a quote, parameters stay */
		{"_D2dd__T1fVAyaa2_2829Z1fFiZv", "dd.f!(\"()\").f"},
		{"_D2dd__T1fVAyaa4_2829225cZ1fFiZv", "dd.f!(\"()\"\\\").f(int)"},
		{"_D2dd1fFiZv.cold", "dd.f"},
		{"_D", "_D"},
		{"_D2d", "_D2d"},
		{"_Device_start", "_Device_start"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *name = demangle(demangler, cases[i][0], DEMANGLE_FUNCTION);

		assert_string_equal(name, cases[i][1]);
		free(name);
	}
}

/* Each parameter is two of the one before. What an aborted name holds is lost. */
static void test_exponential_d(void **state)
{
	(void)state;
	if (getenv("UNDER_VALGRIND"))
		return;
	for (unsigned int levels = 1; levels < 60; levels++) {
		char mangled[512], *end = stpcpy(mangled, "_D1fFB2iiB2QgQi"), *name;

		for (unsigned int i = 0; i < levels; i++)
			end = stpcpy(end, "B2QiQk");
		stpcpy(end, "Zv");
		name = demangle(demangler, mangled, DEMANGLE_SIGNATURE);
		assert_non_null(name);
		assert_true(strlen(name) <= DEMANGLE_MAX_OUTPUT);
		/* after some such names, no further one is tried */
		assert_true(strcmp(name, mangled) == 0 || levels < 16);
		assert_true(strncmp(name, "f(", 2) == 0 || levels > 8);
		free(name);
	}
}

static void test_deep_d(void **state)
{
	char mangled[16000], *name;

	(void)state;
	for (size_t length = 900; length < sizeof(mangled); length += 15000) {
		size_t at = (size_t)snprintf(mangled, sizeof(mangled), "_D1fF");

		memset(mangled + at, 'A', length - at);
		snprintf(mangled + length, sizeof(mangled) - length, "iZv");
		name = demangle(demangler, mangled, DEMANGLE_FUNCTION);
		assert_non_null(name);
		free(name);
	}
}

/* Suppressions for sanitizers: see symbolize/demangle.c. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:xmalloc\nleak:xrealloc\n";
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_plain_names_stay),
		TEST(test_cxx),
		TEST(test_host_functions_of_kernels),
		TEST(test_rust),
		TEST(test_clone_suffixes),
		TEST(test_versions_and_stubs),
		TEST(test_exponential_output_is_cut),
		TEST(test_exponential_rust),
		TEST(test_deep_nesting_does_not_overflow),
		TEST(test_long_names),
		TEST(test_endless_names_are_given_up),
		TEST(test_endless_rust_names_are_given_up),
		TEST(test_time_of_a_run_is_limited),
		TEST(test_signals_are_as_before),
		TEST(test_a_caller_that_blocks_all_signals),
		TEST(test_other_handlers_run_to_their_end),
		TEST(test_exponential_decoded_rust),
		TEST(test_d),
		TEST(test_deep_d),
		TEST(test_exponential_d),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
