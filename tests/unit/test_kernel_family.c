/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "profiler/tables/kernel_family.h"

static void check(const char *name, const char *by_template, const char *by_numbers)
{
	char *text = kernel_family(name, FAMILY_WORK);

	assert_string_equal(text, by_template);
	free(text);
	text = kernel_family(name, FAMILY_NUMBERS);
	assert_string_equal(text, by_numbers);
	free(text);
}

static void template_arguments_and_parameters_are_left_out(void **state)
{
	(void)state;
	check("gemm<128, 64>", "gemm", "gemm");
	check("[GPU_Kernel]gemm<256, 64>(float*, int)", "gemm", "gemm");
	check("void at::native::elementwise<4, F<float>, A<char*, 2> >(int, F<float>)",
	      "at::native::elementwise", "at::native::elementwise");
	check("void (anonymous namespace)::softmax<float>(float*)",
	      "(anonymous namespace)::softmax", "(anonymous namespace)::softmax");
	check("void ns::operator< <int>(int)", "ns::operator<", "ns::operator<");
	check("a<b>::c<d>", "a::c", "a::c");
}

/* One template of PyTorch's serves all elementwise operators. */
static void what_pytorch_computes_stays(void **state)
{
	char *text = kernel_family("at::native::x<FillFunctor>", FAMILY_TEMPLATE);

	(void)state;
	assert_string_equal(text, "at::native::x");
	free(text);
	check("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, "
	      "std::array<char*, 1ul> >(int, at::native::FillFunctor<int>, std::array<char*, 1ul>)",
	      "at::native::vectorized_elementwise_kernel FillFunctor",
	      "at::native::vectorized_elementwise_kernel FillFunctor");
	check("void at::native::vectorized_elementwise_kernel<8, at::native::FillFunctor<float>, "
	      "std::array<char*, 1ul> >(int)",
	      "at::native::vectorized_elementwise_kernel FillFunctor",
	      "at::native::vectorized_elementwise_kernel FillFunctor");
	check("void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl("
	      "at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}, std::array<char*, "
	      "2ul> "
	      ">(int)",
	      "at::native::vectorized_elementwise_kernel GeluCUDAKernelImpl",
	      "at::native::vectorized_elementwise_kernel GeluCUDAKernelImpl");
	check("at::native::(anonymous namespace)::multi_tensor_apply_kernel<Data<2>, "
	      "at::native::(anonymous namespace)::BinaryOpScalarFunctor<float, 2>, "
	      "std::multiplies<float>, float>(Data<2>)",
	      "at::native::(anonymous namespace)::multi_tensor_apply_kernel BinaryOpScalarFunctor "
	      "multiplies",
	      "at::native::(anonymous namespace)::multi_tensor_apply_kernel BinaryOpScalarFunctor "
	      "multiplies");
	check("at::native::x<FillFunctor", "at::native::x<FillFunctor",
	      "at::native::x<FillFunctor");
}

static void numbers_are_left_out(void **state)
{
	(void)state;
	check("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn", "ampere_sgemm_#x#_tn");
	check("ampere_sgemm_64x64_tn", "ampere_sgemm_64x64_tn", "ampere_sgemm_#x#_tn");
	check("triton_poi_fused_add_0", "triton_poi_fused_add_0", "triton_poi_fused_add_#");
	check("triton_poi_fused_add_11", "triton_poi_fused_add_11", "triton_poi_fused_add_#");
	check("triton_poi_fused_mul_0", "triton_poi_fused_mul_0", "triton_poi_fused_mul_#");
}

static void what_does_not_parse_stays(void **state)
{
	(void)state;
	check("", "", "");
	check("[GPU_Kernel]", "", "");
	check("<1, 2>", "<1, 2>", "<1, 2>");
	check("123", "123", "123");
	check("gemm<128", "gemm<128", "gemm<#");
	check("(int)", "(int)", "(int)");
	check("a>b", "a>b", "a>b");
	check("f(", "f", "f");
}

/* Any text has one family, which is not longer than the text. */
static void any_text_has_a_family(void **state)
{
	static const char alphabet[] = "<>()<>() :a_0123\xc3\xa4operator<";

	(void)state;
	for (uint64_t round = 0; round < unit_rounds(5000); round++) {
		struct prng p = prng_round(round);
		char name[40];
		size_t length = prng_below(&p, sizeof(name));

		for (size_t i = 0; i < length; i++)
			name[i] = alphabet[prng_below(&p, sizeof(alphabet) - 1)];
		name[length] = '\0';
		for (int family = 0; family < KERNEL_FAMILIES; family++) {
			char *a = kernel_family(name, (enum kernel_family)family);
			char *b = kernel_family(name, (enum kernel_family)family);

			EXPECT(&p, a && b && strcmp(a, b) == 0);
			EXPECT(&p, strlen(a) <= length);
			EXPECT(&p, length == 0 || a[0]);
			free(a);
			free(b);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(template_arguments_and_parameters_are_left_out),
		cmocka_unit_test(what_pytorch_computes_stays),
		cmocka_unit_test(numbers_are_left_out),
		cmocka_unit_test(what_does_not_parse_stays),
		cmocka_unit_test(any_text_has_a_family),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
