/* SPDX-License-Identifier: MIT */
/* Short names of real functions, and of texts that are no names. */
#include "unit.h"
#include "profiler/shape/short_name.h"

#define E "\xe2\x80\xa6"

static void expect(const char *name, bool is_kernel, const char *expected)
{
	char *got = short_name(name, is_kernel);

	assert_string_equal(got ? got : name, expected);
	free(got);
}

struct example {
	const char *name, *expected;
};

static void expect_all(const struct example *examples, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		expect(examples[i].name, false, examples[i].expected);
		expect(examples[i].expected, false, examples[i].expected); /* a short name stays */
	}
}

#define EXPECT_ALL(examples) expect_all(examples, sizeof(examples) / sizeof((examples)[0]))

static void plain_names_stay(void **state)
{
	static const char *const names[] = {
		"main",
		"_start",
		"cudaLaunchKernel",
		"[libfoo.so]",
		"[libfoo.so+0x1a2b0]",
		"[unknown]",
		"a::b::c",
		"",
		"free@plt",
		"(anonymous namespace)",
		"x86_64",
		"vfs_read",
		"Thread.run",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_null(short_name(names[i], false));
		assert_null(short_name(names[i], true));
	}
}

static void arguments_are_elided(void **state)
{
	static const struct example examples[] = {
		{"c10::impl::wrap_kernel_functor_unboxed_<c10::impl::detail::WrapFunction<at::"
		 "Tensor "
		 "(c10::DispatchKeySet)>, at::Tensor>::call(c10::OperatorKernel*, int)",
		 "c10::impl::wrap_kernel_functor_unboxed_<" E ">::call"},
		{"std::vector<int, std::allocator<int> >::push_back(int const&)",
		 "std::vector<" E ">::push_back"},
		{"void at::native::gpu_kernel<float>(at::TensorIterator&, float const&)",
		 "at::native::gpu_kernel<" E ">"},
		{"unsigned long const* f<(a)1, (2 > 1), &X::operator-> >(int)", "f<" E ">"},
		{"decltype(auto) g<int>(int) const &", "g<" E ">"},
		{"Foo::bar() const", "Foo::bar"},
		{"Foo::bar(void (*)(int)) volatile &&", "Foo::bar"},
		{"f(int)::local::g(char)", "f::local::g"},
		{"non-virtual thunk to A::b()", "A::b"},
		{"std::map<int, std::vector<a<b> >>::at(int)", "std::map<" E ">::at"},
		{"void std::__invoke_impl<void, main::{lambda()#1}&>(std::__invoke_other)",
		 "std::__invoke_impl<" E ">"},
		{"std::_Function_handler<void (int), f(int)::{lambda(int)#1}>::_M_invoke("
		 "std::_Any_data const&, int&&)",
		 "std::_Function_handler<" E ">::_M_invoke"},
	};

	(void)state;
	EXPECT_ALL(examples);
}

static void namespaces_without_a_name_are_elided(void **state)
{
	static const struct example examples[] = {
		{"at::native::(anonymous namespace)::fill", "at::native::fill"},
		{"at::(anonymous namespace)::(anonymous namespace)::wrap", "at::wrap"},
		{"(anonymous namespace)::work(int)", "work"},
		{"foo(int*)::{OpenMP line 12}", "foo::{OpenMP line 12}"},
		{"std::__cxx11::basic_string<char>::append(char)",
		 "std::basic_string<" E ">::append"},
		{"std::__1::vector<int>::push_back(int)", "std::vector<" E ">::push_back"},
		{"a::__1x::b", "a::__1x::b"},
	};

	(void)state;
	EXPECT_ALL(examples);
}

static void operators_keep_their_symbols(void **state)
{
	static const struct example examples[] = {
		{"A::operator()(int) const", "A::operator()"},
		{"operator<< <char>(std::ostream&, char const*)", "operator<<<" E ">"},
		{"bool operator< <int>(A<int> const&, A<int> const&)", "operator<<" E ">"},
		{"A::operator->() const", "A::operator->"},
		{"A<int>::operator[](unsigned long)", "A<" E ">::operator[]"},
		{"operator new(unsigned long)", "operator new"},
		{"operator delete[](void*)", "operator delete[]"},
		{"A::operator bool() const", "A::operator bool"},
		{"A::operator<=>(A const&)", "A::operator<=>"},
		{"operator\"\"_s(char const*)", "operator\"\"_s"},
		{"operators::add(int)", "operators::add"},
	};

	(void)state;
	EXPECT_ALL(examples);
}

static void lambdas_are_named_by_their_place(void **state)
{
	static const struct example examples[] = {
		{"main::{lambda(int)#1}::operator()(int) const", "main::{lambda#1}"},
		{"add(at::TensorIterator&)::{lambda()#2}::operator()() "
		 "const::{lambda(float)#12}::_FUN("
		 "float)",
		 "add::{lambda#2}::{lambda#12}"},
		{"std::function<void ()>::function<main::{lambda()#1}>(main::{lambda()#1})",
		 "std::function<" E ">::function<" E ">"},
		{"run[abi:cxx11](int)::{unnamed type#1}::go()", "run::{unnamed type#1}::go"},
		{"f(int)::[lambda(int) (instance 1)]::operator()(int) const", "f::{lambda}"},
		{"f<int>(int)::{lambda(auto:1)#1}::operator()<float>(float) const",
		 "f<" E ">::{lambda#1}"},
	};

	(void)state;
	EXPECT_ALL(examples);
}

static void copies_have_the_name_of_the_original(void **state)
{
	static const struct example examples[] = {
		{"foo.constprop.0", "foo"},
		{"foo.part.1.isra.0", "foo"},
		{"foo.cold", "foo"},
		{"A::b(int) [clone .constprop.0] [clone .cold]", "A::b"},
		{"foo.llvm.123456789", "foo"},
		{"std::to_string[abi:cxx11](int)", "std::to_string"},
		{"file.cold_storage", "file.cold_storage"},
		{"main.main.func1", "main.main.func1"}, /* Go */
		{"memcpy@@GLIBC_2.14", "memcpy"},
		{"A::b(int)@V_1", "A::b"},
		{"user@host f(int)", "f"},
		{"foo.localalias", "foo"},
	};

	(void)state;
	EXPECT_ALL(examples);
}

static void rust_names(void **state)
{
	static const struct example examples[] = {
		{"core::ops::function::FnOnce::call_once::h0123456789abcdef",
		 "core::ops::function::FnOnce::call_once"},
		{"<alloc::vec::Vec as core::iter::Extend>::extend",
		 "<alloc::vec::Vec as core::iter::Extend>::extend"},
		{"std::rt::lang_start::{{closure}}", "std::rt::lang_start::{{closure}}"},
		{"core::slice::sort<T>::merge", "core::slice::sort<" E ">::merge"},
	};

	(void)state;
	EXPECT_ALL(examples);
}

static void scripts_functions_have_no_file(void **state)
{
	static const struct example examples[] = {
		{"JS:*main /app/index.js:10:5", "JS:*main"},
		{"LazyCompile:~run file:///app/index.mjs:1:2", "LazyCompile:~run"},
	};

	(void)state;
	EXPECT_ALL(examples);
}

static void kernels_keep_the_names_of_their_arguments(void **state)
{
	static const struct example examples[] = {
		{"void at::native::vectorized_elementwise_kernel<4, "
		 "at::native::FillFunctor<float>, "
		 "at::detail::Array<char*, 1> >(int, at::native::FillFunctor<float>, "
		 "at::detail::Array<char*, 1>)",
		 "at::native::vectorized_elementwise_kernel<4, FillFunctor, Array>"},
		{"void cutlass::Kernel2<cutlass_80_tensorop_s16816gemm_f16_64x64_32x6_nn_align8>("
		 "cutlass_80_tensorop_s16816gemm_f16_64x64_32x6_nn_align8::Params)",
		 "cutlass::Kernel2<cutlass_80_tensorop_s16816gemm_f16_64x64_32x6_nn_align8>"},
		{"saxpy(float, float*, float const*)", "saxpy"},
		{"triton_poi_fused_add_0", "triton_poi_fused_add_0"},
		{"void k<unsigned int, (bool)1, float const*>(float*)",
		 "k<unsigned int, 1, float const*>"},
		{"void outer<std::tuple<int, a::b<c> >, &f>(int)", "outer<tuple, &f>"},
		{"void at::native::elementwise_kernel<128, 2, "
		 "at::native::gpu_kernel_impl_nocast<at::"
		 "native::CUDAFunctor_add<float> >(at::TensorIteratorBase&, "
		 "at::native::CUDAFunctor_add<float> const&)::{lambda(int)#1}>(int, at::native::"
		 "gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<float> "
		 ">(at::TensorIteratorBase&, "
		 "at::native::CUDAFunctor_add<float> const&)::{lambda(int)#1})",
		 "at::native::elementwise_kernel<128, 2, "
		 "gpu_kernel_impl_nocast<CUDAFunctor_add>::{lambda#1}>"},
		{"void k<4, a::sqrt_cuda(a::T&)::{lambda()#2}::operator()() const::{lambda()#2}::"
		 "operator()() const::{lambda(float)#1}, a::array<char*, 2> >(int)",
		 "k<4, sqrt_cuda::{lambda#2}::{lambda#2}::{lambda#1}, array>"},
		{"void k<f<g<int>(int)::{lambda()#1}>(g<int>(int)::{lambda()#1})::{lambda()#2}>()",
		 "k<f<g<" E ">::{lambda#1}>::{lambda#2}>"},
		{"void k<{unnamed type#1}, 3>()", "k<" E ", 3>"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
		expect(examples[i].name, true, examples[i].expected);
}

/* A text that does not parse is unchanged. */
static void texts_that_are_no_names(void **state)
{
	static const char *const texts[] = {"a<b",     "a)b", "a>b", "f(", "((((",
					    "a<b(c>d", "{",   "]",   "(x)"};
	char deep[2000];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char *got = short_name(texts[i], false);

		if (got)
			assert_true(strlen(got) > 0);
		free(got);
	}
	memset(deep, '<', sizeof(deep));
	deep[0] = 'a';
	deep[sizeof(deep) - 1] = '\0';
	assert_null(short_name(deep, false));
	expect("void (*f(int))(float)", false, "void (*f(int))(float)");
}

/* Each empty argument becomes an ellipsis, and each comma has a space behind it. */
static void empty_arguments_take_more_room(void **state)
{
	enum { COMMAS = 100000 };
	char *name = malloc(COMMAS + 4), *got;

	(void)state;
	assert_non_null(name);
	memcpy(name, "k<", 2);
	memset(name + 2, ',', COMMAS);
	memcpy(name + 2 + COMMAS, ">", 2);
	got = short_name(name, true);
	assert_non_null(got);
	assert_int_equal(strlen(got), 2 + COMMAS * strlen(E ", ") + 1);
	free(got);
	free(name);
	expect("k<,1>", true, "k<" E ", 1>");
}

/* Any bytes: the result is a text of bounded length, and equal in every run. */
static void random_texts(void **state)
{
	static const char alphabet[] = "ab:<>()[]{}# ,.&*-operatorlambda~\xe2\x80";
	(void)state;
	for (uint32_t round = 0; round < 20000; round++) {
		struct prng r = prng_round(round);
		char text[64];
		size_t length = prng_below(&r, sizeof(text) - 1);
		char *got, *again;

		for (size_t i = 0; i < length; i++)
			text[i] = alphabet[prng_below(&r, sizeof(alphabet) - 1)];
		text[length] = '\0';
		got = short_name(text, round % 2);
		again = short_name(text, round % 2);
		EXPECT(&r, !got == !again && (!got || strcmp(got, again) == 0));
		EXPECT(&r, !got || (strlen(got) > 0 && strlen(got) <= 3 * length));
		free(got);
		free(again);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_names_stay),
		cmocka_unit_test(arguments_are_elided),
		cmocka_unit_test(namespaces_without_a_name_are_elided),
		cmocka_unit_test(operators_keep_their_symbols),
		cmocka_unit_test(lambdas_are_named_by_their_place),
		cmocka_unit_test(copies_have_the_name_of_the_original),
		cmocka_unit_test(rust_names),
		cmocka_unit_test(scripts_functions_have_no_file),
		cmocka_unit_test(kernels_keep_the_names_of_their_arguments),
		cmocka_unit_test(texts_that_are_no_names),
		cmocka_unit_test(empty_arguments_take_more_room),
		cmocka_unit_test(random_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
