/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "symbolize/stable_symbol.h"

#include "symbolize/demangle.h"

static struct demangler *demangler;

static int set_up(void **state)
{
	(void)state;
	demangler = demangler_new();
	return demangler ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	demangler_free(demangler);
	return 0;
}

static void expect_line(const char *symbol, const char *expected, unsigned long line)
{
	struct stable_symbol got = stable_symbol(symbol);

	assert_non_null(got.text);
	assert_string_equal(got.text, expected);
	assert_int_equal(got.line, line);
	free(got.text);
}

#define expect(symbol, expected) expect_line(symbol, expected, 0)
#define expect_same(symbol) expect_line(symbol, symbol, 0)

static void expect_name(const char *symbol, enum demangle_style style, const char *expected)
{
	char *name = demangle(demangler, symbol, style);

	assert_non_null(name);
	assert_string_equal(name, expected);
	free(name);
}

/* Two builds of one source, by nvcc 13.0 -rdc=true from two folders: symbols of their cubins. */
static void kernels_of_relocatable_code(void **state)
{
	static const struct {
		const char *symbols[2], *name;
	} kernels[] = {
		{{"__nv_static_30__ce6f4918_12_rdc_names_cu_main__Z13static_kernelPi",
		  "__nv_static_30__4eb551b2_12_rdc_names_cu_main__Z13static_kernelPi"},
		 "static_kernel(int*)"},
		{{"__nv_static_30__ce6f4918_12_rdc_names_cu_main__ZN41_GLOBAL__N__ce6f4918_12_"
		  "rdc_names_cu_main11anon_kernelEPi",
		  "__nv_static_30__4eb551b2_12_rdc_names_cu_main__ZN41_GLOBAL__N__4eb551b2_12_"
		  "rdc_names_cu_main11anon_kernelEPi"},
		 "(anonymous namespace)::anon_kernel(int*)"},
		{{"__nv_static_30__ce6f4918_12_rdc_names_cu_main__ZN41_GLOBAL__N__ce6f4918_12_"
		  "rdc_names_cu_main13anon_templateIZ4mainEUlvE_EEvT_",
		  "__nv_static_30__4eb551b2_12_rdc_names_cu_main__ZN41_GLOBAL__N__4eb551b2_12_"
		  "rdc_names_cu_main13anon_templateIZ4mainEUlvE_EEvT_"},
		 "(anonymous namespace)::anon_template<main::{lambda()#1}>(main::{lambda()#1})"},
		{{"__nv_static_25__836c4681_4_k_cu_abbc9dab__Z13static_kernelPi",
		  "__nv_static_25__57d35d1a_4_k_cu_abbc9dab__Z13static_kernelPi"},
		 "static_kernel(int*)"},
		{{"__nv_static_28__0bb0beb5_7_more_cu_e22fa7bb__ZN5outer39_GLOBAL__N__0bb0beb5_7_"
		  "more_cu_e22fa7bb2tkIN39_GLOBAL__N__0bb0beb5_7_more_cu_e22fa7bb1SEEEvT_",
		  "__nv_static_28__081e8cf7_7_more_cu_e22fa7bb__ZN5outer39_GLOBAL__N__081e8cf7_7_"
		  "more_cu_e22fa7bb2tkIN39_GLOBAL__N__081e8cf7_7_more_cu_e22fa7bb1SEEEvT_"},
		 "outer::(anonymous namespace)::tk<(anonymous namespace)::S>((anonymous "
		 "namespace)::S)"},
		{{"__nv_static_28__0bb0beb5_7_more_cu_e22fa7bb__Z5by_fnIXadL_ZN37_INTERNAL_"
		  "0bb0beb5_7_more_cu_e22fa7bb2fnEfEEEvv",
		  "__nv_static_28__081e8cf7_7_more_cu_e22fa7bb__Z5by_fnIXadL_ZN37_INTERNAL_"
		  "081e8cf7_7_more_cu_e22fa7bb2fnEfEEEvv"},
		 "by_fn<&fn>()"},
		{{"__nv_static_28__0bb0beb5_7_more_cu_e22fa7bb__Z4tmplIN39_GLOBAL__N__0bb0beb5_7_"
		  "more_cu_e22fa7bb1SEEvT_NS0_1TILi3EEE",
		  "__nv_static_28__081e8cf7_7_more_cu_e22fa7bb__Z4tmplIN39_GLOBAL__N__081e8cf7_7_"
		  "more_cu_e22fa7bb1SEEvT_NS0_1TILi3EEE"},
		 "tmpl<(anonymous namespace)::S>((anonymous namespace)::S, (anonymous "
		 "namespace)::T<3>)"},
		{{"_ZN37_INTERNAL_0bb0beb5_7_more_cu_e22fa7bb6helperEi",
		  "_ZN37_INTERNAL_081e8cf7_7_more_cu_e22fa7bb6helperEi"},
		 "helper(int)"},
		{{"_Z10takes_anonN39_GLOBAL__N__0bb0beb5_7_more_cu_e22fa7bb1SE",
		  "_Z10takes_anonN39_GLOBAL__N__081e8cf7_7_more_cu_e22fa7bb1SE"},
		 "takes_anon((anonymous namespace)::S)"},
		{{"__nv_static_28__0bb0beb5_7_more_cu_e22fa7bb_in_c",
		  "__nv_static_28__081e8cf7_7_more_cu_e22fa7bb_in_c"},
		 "in_c"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++)
		for (int build = 0; build < 2; build++)
			expect_name(kernels[i].symbols[build], DEMANGLE_SIGNATURE, kernels[i].name);
}

static void units_become_what_other_compilers_write(void **state)
{
	(void)state;
	expect("_ZN41_GLOBAL__N__ce6f4918_12_rdc_names_cu_main11anon_kernelEPi",
	       "_ZN12_GLOBAL__N_111anon_kernelEPi");
	expect("_ZN42_GLOBAL__N__836c4681_4_k_cu_a339865d_3112311anon_kernelEPf",
	       "_ZN12_GLOBAL__N_111anon_kernelEPf");
	/* an identifier before it that ends with a digit */
	expect("_ZN3ns141_GLOBAL__N__ce6f4918_12_rdc_names_cu_main11anon_kernelEPi",
	       "_ZN3ns112_GLOBAL__N_111anon_kernelEPi");
	expect("_ZN3ns041_GLOBAL__N__ce6f4918_12_rdc_names_cu_main11anon_kernelEPi",
	       "_ZN3ns012_GLOBAL__N_111anon_kernelEPi");
	/* older versions of nvcc */
	expect("_ZN84_GLOBAL__N__60_tmpxft_00007dcf_00000000_11_Distributions_compute_75_cpp1_ii_"
	       "c3aa7ee643distribution_elementwise_grid_stride_kernelIdEEvT_",
	       "_ZN12_GLOBAL__N_143distribution_elementwise_grid_stride_kernelIdEEvT_");
	expect("_ZN68_INTERNAL_46_tmpxft_0001a605_00000000_6_cabana_code_cpp1_ii_a54055bf5thereEv",
	       "_ZN10_INTERNAL_5thereEv");
	expect_name("__nv_static_59__46_tmpxft_0001a605_00000000_6_cabana_code_cpp1_ii_a54055bf__ZN"
		    "6Kokkos4Impl6launchIiEEvT_",
		    DEMANGLE_SIGNATURE, "Kokkos::Impl::launch<int>(int)");
	expect_name("__nv_static_27__14_coords_cpp1_ii_7126c51d__Z4stepPi", DEMANGLE_SIGNATURE,
		    "step(int*)");
}

static void host_functions_of_kernels(void **state)
{
	(void)state;
	expect("_ZL33__device_stub__Z13static_kernelPiPi", "__device_stub__Z13static_kernelPi");
	expect_name("_ZL33__device_stub__Z13static_kernelPiPi", DEMANGLE_FUNCTION,
		    "__device_stub_static_kernel");
	expect_name("_Z76__device_stub__ZN41_GLOBAL__N__ce6f4918_12_rdc_names_cu_main11anon_"
		    "kernelEPiPi",
		    DEMANGLE_FUNCTION, "__device_stub_(anonymous namespace)::anon_kernel");
	/* nvcc's own mangling of lambdas stays, without the hash */
	expect_name("_ZL109__device_stub__ZN41_GLOBAL__N__ce6f4918_12_rdc_names_cu_main13anon_"
		    "templateIZ4mainEUnvdl1_PFivE4main1_PiEEvT_R17__nv_dl_wrapper_tI11__nv_dl_tag"
		    "IPFivEXadL_Z4mainEELj1EEJPiEE",
		    DEMANGLE_FUNCTION,
		    "__device_stub__ZN12_GLOBAL__N_113anon_templateIZ4mainEUnvdl1_PFivE4main1_"
		    "PiEEvT_");
}

static void regions_of_openmp(void **state)
{
	(void)state;
	expect_line("__omp_offloading_10302_1a2b3c__Z3fooPi_l12", "_Z3fooPi", 12);
	expect_line("__omp_offloading_fd00_5e1_main_l7_1", "main", 7);
	expect_name("__omp_offloading_10302_1a2b3c__Z3fooPi_l12", DEMANGLE_SIGNATURE,
		    "foo(int*)::{OpenMP line 12}");
	expect_name("__omp_offloading_803_99__Z3fooPi_l12", DEMANGLE_SIGNATURE,
		    "foo(int*)::{OpenMP line 12}");
	expect_name("__omp_offloading_fd00_5e1_main_l7_1", DEMANGLE_SIGNATURE,
		    "main::{OpenMP line 7}");
	expect_name("__omp_offloading_10303_4e2ec6__Z4main_l21", DEMANGLE_SIGNATURE,
		    "main::{OpenMP line 21}");
	expect_same("__omp_offloading_");
	expect_same("__omp_offloading_10302");
	expect_same("__omp_offloading_10302_1a2b3c_");
	expect_same("__omp_offloading_10302_1a2b3c__l12");
	expect_same("__omp_offloading_10302_1a2b3c_main");
	expect_same("__omp_offloading_10302_1a2b3c_main_l");
	expect_same("__omp_offloading_10302_1a2b3c_main_l0");
	expect_same("__omp_offloading_10302_1a2b3c_main_l1234567890");
	expect_same("__omp_offloading_10302_xyz_main_l12");
}

static void other_symbols_stay(void **state)
{
	static const char *const symbols[] = {
		"",
		"main",
		"_Z",
		"_ZL",
		"_ZL99999999999999999999__device_stub_",
		"_ZL33__device_stub__Z13",
		"_ZL14__device_stub_v",
		"_ZN12_GLOBAL__N_13fooEv",
		"_ZN12_GLOBAL__N_",
		"_ZN4_GLOBAL__N__ce6f4918_12_rdc_names_cu_main3fooEv",
		"_ZN41_GLOBAL__N__ce6f4918_12_rdc",
		"_ZN41_GLOBAL__N__ce6f4918_99999999999_rdc_names_cu_main3fooEv",
		"_ZN999_GLOBAL__N__ce6f4918_12_rdc_names_cu_main3fooEv",
		"_Z_GLOBAL__N__ce6f4918_12_rdc_names_cu_main3fooEv",
		"_ZN10_INTERNAL_3fooEv",
		"_ZN13_INTERNAL_ABC3fooEv",
		"__nv_static_",
		"__nv_static_30",
		"__nv_static_30_",
		"__nv_static_30__ce6f4918_12_rdc_names_cu_main",
		"__nv_static_30__ce6f4918_12_rdc_names_cu_main_",
		"__nv_static_29__ce6f4918_12_rdc_names_cu_main__Z13static_kernelPi",
		"__nv_static_999999__Z13static_kernelPi",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
		expect_same(symbols[i]);
	/* a scope of the program's whose name only ends so */
	expect_name("_ZN12MY_INTERNAL_3fooEv", DEMANGLE_FUNCTION, "MY_INTERNAL_::foo");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_of_relocatable_code),
		cmocka_unit_test(units_become_what_other_compilers_write),
		cmocka_unit_test(host_functions_of_kernels),
		cmocka_unit_test(regions_of_openmp),
		cmocka_unit_test(other_symbols_stay),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
