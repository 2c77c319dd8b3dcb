/* SPDX-License-Identifier: MIT */
/*
 * Classes of kernels: names of many libraries, names that look like those of other classes, the
 * user's file and what is wrong with it.
 */
#include "tests/unit/own_folder.h"
#include "unit.h"
#include "profiler/tables/kernel_class.h"

#define NATIVE "at::native::"
#define ANON "at::native::(anonymous namespace)::"

static const struct {
	const char *class, *name;
} known[] = {
	/* PyTorch */
	{"elementwise", NATIVE "vectorized_elementwise_kernel<4, " NATIVE "CUDAFunctor_add<float>, "
			       "std::array<char*, 3ul> >(int, " NATIVE "CUDAFunctor_add<float>)"},
	{"elementwise",
	 "void " NATIVE "unrolled_elementwise_kernel<" NATIVE "FillFunctor<int>, 1>"},
	{"copy and cast",
	 NATIVE "elementwise_kernel<128, 2, " NATIVE "gpu_kernel_impl_nocast<" NATIVE
		"direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}> >(int)"},
	{"copy and cast", "void " NATIVE "vectorized_elementwise_kernel<4, " NATIVE
			  "bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}>"},
	{"copy and cast", ANON "CatArrayBatchedCopy_vectorized<float, unsigned int, 3>(char*)"},
	{"normalization", ANON "vectorized_layer_norm_kernel<float, float, false>(int)"},
	{"normalization", ANON "GammaBetaBackwardCUDAKernelTemplate<float, float, 32u>(long)"},
	{"normalization",
	 NATIVE "vectorized_elementwise_kernel<4, " ANON
		"GroupNormKernelImplInternal<float>(at::Tensor const&)::{lambda()#1}>"},
	{"normalization", NATIVE "batch_norm_collect_statistics_kernel<InvStd, float, float>"},
	{"normalization", "cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512>"},
	{"softmax", ANON "softmax_warp_forward<float, float, float, 8, false, false>(float*)"},
	{"softmax", "void " ANON "cunn_SpatialSoftMaxForward<float, float, float, int>(float*)"},
	{"reduction", NATIVE "reduce_kernel<512, 1, " NATIVE "ReduceOp<float, " NATIVE
			     "MeanOps<float, float, float, float>, unsigned int, float, 4, 4> >"},
	{"reduction", NATIVE "reduce_kernel<512, 1, " NATIVE "ReduceOp<float, " NATIVE
			     "NormTwoOps<float, float, float>, unsigned int, float, 4, 4> >"},
	{"reduction", ANON "multi_tensor_apply_kernel<" ANON "TensorListMetadata<1>, " ANON
			   "LpNormFunctor<float, (" NATIVE "NormType)1, float, 1, 1, 0>, float*>"},
	{"reduction", ANON "max_pool_forward_nchw<float>(int, float const*)"},
	{"elementwise",
	 ANON "multi_tensor_apply_kernel<" ANON "TensorListMetadata<2>, " ANON
	      "BinaryOpScalarFunctor<float, 1, 1, 0>, std::multiplies<float>, float>"},
	{"optimizer",
	 ANON "multi_tensor_apply_kernel<" ANON "FusedOptimizerTensorListMetadata<4>, " ANON
	      "FusedAdamMathFunctor<float, 4, (ADAM_MODE)1, false>, float const*>"},
	{"sort and scatter",
	 NATIVE "_scatter_gather_elementwise_kernel<128, 8, " NATIVE
		"_cuda_scatter_gather_internal_kernel<true, float>::{lambda(int)#1}>"},
	{"sort and scatter",
	 NATIVE "index_elementwise_kernel<128, 4, " NATIVE "gpu_index_kernel<>>"},
	{"sort and scatter",
	 NATIVE "indexSelectLargeIndex<float, long, unsigned int, 2, 2, -2, true>"},
	{"sort and scatter", NATIVE "sbtopk::gatherTopK<float, unsigned int, 2, false>"},
	{"sort and scatter",
	 NATIVE "bitonicSortKVInPlace<2, -1, 16, 16, float, long, LTOp<float>>"},
	{"random", "void " ANON "distribution_elementwise_grid_stride_kernel<float, 4, "
		   "normal_and_transform<float, float>::{lambda()#1}>(long, at::PhiloxCudaState)"},
	{"random", ANON "fused_dropout_kernel_vec<float, float, unsigned int, 1, 4, bool>"},
	{"sampling", ANON "sampleMultinomialOnce<float, float>(long*, long, int, float*)"},
	{"copy and cast", "void " NATIVE "elementwise_kernel_manual_unroll<128, 8, void " NATIVE
			  "gpu_kernel_impl_nocast<" NATIVE "direct_copy_kernel_cuda(at::X&)>>"},
	{"copy and cast", "void fbgemm_gpu::permute_2D_data_kernel<false, int, int>(int, int)"},
	{"sampling", "_topk_topp_kernel"},
	/* cuBLAS, CUTLASS, cuDNN, cuFFT, cuRAND */
	{"GEMM", "nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NNN"},
	{"GEMM", "nvjet_sm100_tss_128x128_64x9_2x2_2cta_h_bz_TNT"},
	{"GEMM", "ampere_sgemm_128x64_tn"},
	{"GEMM", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas"},
	{"GEMM",
	 "cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x64_32x4_nn_align8>"
	 "(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x64_32x4_nn_align8::Params)"},
	{"GEMM",
	 "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int>>>"},
	{"GEMM", "cublasLt::splitKreduce_kernel<32, 16, int, float, float>(int)"},
	{"GEMM", "gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false, "
		 "false, cublasGemvParamsEx<int> >(cublasGemvParamsEx<int>, float, float)"},
	{"GEMM", "void gemmSN_TN_kernel<float, (int)128, (int)16, (int)2, (int)4>(int)"},
	{"reduction",
	 "void dot_kernel<float, 128, 0, cublasDotParams<cublasGemvTensor<float>>>(float)"},
	{"convolution",
	 "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nhwckrsc_nhwc_kernel__5x_cudnn"},
	{"convolution",
	 "cutlass__5x_cudnn::Kernel<cutlass_tensorop_s1688wgrad_optimized_tf32_64x64>"},
	{"convolution", "void cudnn::engines_precompiled::nchwToNhwcKernel<float, __half, float>"},
	{"convolution", "implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, false>"},
	{"convolution", "void fft2d_r2c_32x32<float, false, 0u, false>(float2*, float const*)"},
	{"convolution",
	 "void DSE::regular_fft_pad<0, 1, 256, 16, 16, 1, float, float, float2>(float2*)"},
	{"convolution", "ampere_scudnn_128x64_relu_xregs_large_nn_v1"},
	{"convolution", "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x64x16_kernel__5x_cudnn"},
	{"convolution", "cutlass__5x_cudnn::Kernel<cutlass__5x_cudnn::conv::kernel::ImplicitGemm"
			"Convolution<(K)0, ConvWgradActivationTile<1>>>"},
	{"attention", "cudnn::fusion::convert_dq_to_16bits<true>(void const*, void*)"},
	{"attention", "at::cuda::philox::unpack_cudnn(at::PhiloxCudaState, long*, long*)"},
	{"copy and cast", "tensorTransformGeneric<__nv_bfloat16, __nv_bfloat16, float, true>"},
	{"elementwise", "sgn_kernel_vectorized2_kernel"},
	{"reduction",
	 "void cudnn::pooling_fw_4d_kernel<float, float, cudnn::maxpooling_func<float>>"},
	{"elementwise", "void cudnn::ops::op_generic_tensor_kernel<2, float, float, float, 256>"},
	{"normalization", "void cudnn::batchnorm_fwtr_nhwc_semiPersist<__half, 512>(int)"},
	{"FFT", "void regular_fft<256u, EPT<8u>, 16u, 1u, (padding_t)1, (twiddle_t)0, float>(int)"},
	{"FFT", "vector_fft<128u, EPT<8u>, 4u, (padding_t)1, (twiddle_t)0>(kernel_arguments_t)"},
	{"random",
	 "generate_seed_pseudo<rng_config<curandStateXORWOW, (curandOrdering)101> >(int)"},
	/* attention */
	{"attention", "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 128, 4>, false>"},
	{"attention",
	 "pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<traits<64>, true>"},
	{"attention",
	 "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<int>>>"},
	{"attention", "fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::Params)"},
	{"attention",
	 "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x"},
	{"attention", "void flashinfer::BatchPrefillWithPagedKVCacheKernel<KernelTraits<1>>(int)"},
	{"attention", "void vllm::paged_attention_v2_kernel<unsigned short, unsigned short, 128>"},
	{"attention", "kernel_unified_attention_2d"},
	/* serving */
	{"normalization", "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*)"},
	{"normalization", "void flashinfer::norm::RMSNormKernel<8u, __half>(__half*, __half*)"},
	{"elementwise", "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)"},
	{"elementwise",
	 "void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel, true>(int)"},
	{"copy and cast",
	 "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16>"},
	{"collective", "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)"},
	{"collective",
	 "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"},
	{"collective",
	 "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel<int>(int)"},
	{"sampling",
	 "void flashinfer::sampling::TopKTopPSamplingFromProbKernel<1024u, int>(float*)"},
	{"GEMM", "fused_moe_kernel"},
	{"GEMM", "void marlin::Marlin<__nv_bfloat16, 256, 1, 8, 8, 4>(int4 const*)"},
	{"GEMM", "void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 4096u>(float*)"},
	{"sort and scatter", "void vllm::moe::moe_align_block_size_kernel<int>(int*)"},
	/* Inductor, XLA, CuPy, CUB, Thrust */
	{"elementwise", "triton_poi_fused_gelu_view_4"},
	{"reduction", "triton_red_fused_gelu_gelu_backward_sum_view_7"},
	{"normalization", "triton_per_fused_add_native_layer_norm_2"},
	{"normalization", "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0"},
	{"softmax", "triton_per_fused__softmax_add_div_1"},
	{"elementwise", "triton_poi_fused__scaled_dot_product_efficient_attention_clone_3"},
	{"GEMM", "triton_tem_fused_addmm_5"},
	{"convolution", "triton_tem_fused_convolution_2"},
	{"attention", "triton_tem_fused_flex_attention_0"},
	{"elementwise", "loop_add_multiply_fusion_3"},
	{"elementwise", "loop_add_convert_fusion"},
	{"copy and cast", "loop_convert_fusion_2"},
	{"copy and cast", "wrapped_transpose"},
	{"copy and cast", "input_transpose_fusion_2"},
	{"reduction", "input_reduce_fusion_92"},
	{"reduction", "input_add_reduce_fusion"},
	{"GEMM", "gemm_fusion_dot_265"},
	{"softmax", "triton_softmax_1"},
	{"elementwise", "wrapped_add"},
	{"elementwise", "cupy_multiply__float32_float_float32"},
	{"elementwise", "cupy_maximum__float32_float32_float32"},
	{"copy and cast", "cupy_copy__float64_float64"},
	{"reduction", "cupy_sum"},
	{"reduction", "cupy_any"},
	{"sort and scatter",
	 "void cub::DeviceRadixSortOnesweepKernel<Policy<int>::Policy900, false>"},
	{"sort and scatter", "void cub::DeviceMergeSortBlockSortKernel<Policy, int*>(bool)"},
	{"reduction",
	 "void cub::DeviceReduceKernel<cub::DeviceReducePolicy<float>::Policy600>(float*)"},
	{"reduction", "void cub::DeviceScanKernel<cub::DeviceScanPolicy<int>::Policy600>(int*)"},
	{"elementwise",
	 "void thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__parallel_for::"
	 "ParallelForAgent<thrust::cuda_cub::__transform::unary_transform_f<int*>>>"},
	{"optimizer", "sgd_momentum_kernel"},
	{"sort and scatter", "vllm::top_k_per_row_kernel<512>(float const*)"},
	/* nothing sure, although it looks like something */
	{"other", "stop_kernel(int*)"},
	{"other", "msgDispatch(int*)"},
	{"elementwise", "downsampling_kernel(float*)"},
	{"other", "step(float*, int)"},
	{"other", "void fast_hadamard_transform_kernel<traits<256>>(int)"},
	{"other", "fusion_12"},
	{"other", ""},
	{"other", "<"},
	{"other", "((((<<<<"},
};

static void names_of_libraries(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const char *class = kernel_class_built_in(known[i].name);

		if (strcmp(class, known[i].class) != 0)
			fail_msg("%s: %s, not %s", known[i].name, class, known[i].class);
	}
}

/* Each rule is written as the matcher wants it, and no class has two spellings. */
static void rules_are_well_formed(void **state)
{
	(void)state;
	for (const struct kernel_class_rule *rule = kernel_class_rules; rule->class; rule++) {
		size_t length = strlen(rule->patterns);

		assert_true(strlen(rule->class) < KERNEL_CLASS_WORD_BYTES);
		assert_true(length > 0);
		assert_null(strstr(rule->patterns, "||"));
		assert_true(rule->patterns[0] != '|' && rule->patterns[length - 1] != '|');
		for (const char *at = rule->patterns; *at; at++) {
			assert_false(*at >= 'A' && *at <= 'Z');
			if (*at == '^')
				assert_true(at == rule->patterns || at[-1] == '|');
		}
		for (const struct kernel_class_rule *other = kernel_class_rules; other->class;
		     other++)
			if (strcasecmp(rule->class, other->class) == 0)
				assert_string_equal(rule->class, other->class);
	}
}

static void long_names_are_cut(void **state)
{
	char *name = malloc(100001);

	(void)state;
	memset(name, 'x', 100000);
	name[100000] = '\0';
	assert_string_equal(kernel_class_built_in(name), "other");
	memcpy(name, "sgemm", 5);
	assert_string_equal(kernel_class_built_in(name), "GEMM");
	memset(name, '<', 100000);
	kernel_class_built_in(name);
	memset(name, '(', 100000);
	kernel_class_built_in(name);
	free(name);
}

static bool is_class(const char *class)
{
	for (const struct kernel_class_rule *rule = kernel_class_rules; rule->class; rule++)
		if (strcmp(rule->class, class) == 0)
			return true;
	return false;
}

/* Whatever the name: it has a class of the rules, the same in capitals. */
static void random_names_have_a_class(void **state)
{
	static const char *const pieces[] = {"gemm",  "^",    "*",         "<",
					     ">",     "(",    ")",         "::",
					     "[",     " ",    "|",         "triton_",
					     "sort",  "\xff", "operator<", "elementwise_kernel",
					     "cudnn", "norm", "(anonymous"};

	(void)state;
	for (uint64_t round = 0; round < unit_rounds(3000); round++) {
		struct prng p = prng_round(round);
		char name[1000] = "", upper[1000];
		const char *class;
		size_t length = 0;

		for (uint64_t n = prng_below(&p, 40); n > 0; n--)
			length += (size_t)snprintf(
				name + length, sizeof(name) - length, "%s",
				pieces[prng_below(&p, sizeof(pieces) / sizeof(pieces[0]))]);
		for (size_t i = 0; i < sizeof(name); i++)
			upper[i] =
				(char)(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 32 : name[i]);
		class = kernel_class_built_in(name);
		EXPECT(&p, is_class(class) || strcmp(class, "other") == 0);
		EXPECT(&p, strcmp(class, kernel_class_built_in(upper)) == 0);
	}
}

static struct frame_info kernel(const char *name)
{
	return (struct frame_info){.class = CLASS_GPU_KERNEL, .name = name, .short_name = name};
}

static const char *class_of(struct kernel_classes *classes, const char *name)
{
	struct frame_info frame = kernel(name);

	return kernel_class_of(classes, &frame);
}

static void frames_have_classes(void **state)
{
	const struct frame_info copy = {.class = CLASS_GPU_WORK, .name = "[GPU_Memcpy HtoD]"};
	const struct frame_info graph = {.class = CLASS_GPU_WORK, .name = "[GPU_Graph]"};

	(void)state;
	assert_string_equal(class_of(NULL, "[GPU_Kernel]ampere_sgemm_128x64_tn"), "GEMM");
	assert_string_equal(class_of(NULL, "[GPU_Kernel]"), "other");
	assert_string_equal(kernel_class_of(NULL, &copy), "memcpy and memset");
	assert_string_equal(kernel_class_of(NULL, &graph), "other");
}

/* ---- the user's file ---- */

static char path[512], error[KERNEL_CLASS_ERROR_BYTES];

static struct kernel_classes *read_text(const char *text, size_t size)
{
	FILE *out;

	snprintf(path, sizeof(path), "%s/classes.txt", folder);
	out = fopen(path, "w");
	assert_non_null(out);
	assert_int_equal(fwrite(text, 1, size, out), size);
	assert_int_equal(fclose(out), 0);
	error[0] = '\0';
	return kernel_classes_read(path, error);
}

static void rules_of_a_file_go_first(void **state)
{
	static const char text[] = "# mine\n\n  physics \t  ^step\\(\n"
				   "copy and cast\tampere_sgemm\n"
				   "two words  softmax.*<1>\r\n"
				   "GEMM ^x y$\n"
				   "physics ^late";
	struct kernel_classes *c = read_text(text, sizeof(text) - 1);

	(void)state;
	assert_non_null(c);
	assert_string_equal(kernel_classes_path(c), path);
	for (int twice = 0; twice < 2; twice++) {
		assert_string_equal(class_of(c, "[GPU_Kernel]step(float*, int)"), "physics");
		assert_string_equal(class_of(c, "[GPU_Kernel]late"), "physics");
		assert_string_equal(class_of(c, "[GPU_Kernel]my step(float*, int)"), "other");
		assert_string_equal(class_of(c, "[GPU_Kernel]ampere_sgemm_64"), "copy and cast");
		assert_string_equal(class_of(c, "[GPU_Kernel]volta_sgemm_64"), "GEMM");
		assert_string_equal(class_of(c, "[GPU_Kernel]softmax<1>"), "two words");
		assert_string_equal(class_of(c, "[GPU_Kernel]softmax<2>"), "softmax");
		assert_string_equal(class_of(c, "[GPU_Kernel]x y"), "GEMM");
	}
	kernel_classes_free(c);
}

static void empty_files_change_nothing(void **state)
{
	struct kernel_classes *c = read_text("", 0);

	(void)state;
	assert_non_null(c);
	assert_string_equal(class_of(c, "[GPU_Kernel]softmax<2>"), "softmax");
	kernel_classes_free(c);
}

static void refuse(const char *text, size_t size, const char *where, const char *why)
{
	char expected[600];

	assert_null(read_text(text, size));
	snprintf(expected, sizeof(expected), "%s%s", path, where);
	if (strncmp(error, expected, strlen(expected)) != 0 || !strstr(error, why))
		fail_msg("%s", error);
}

#define REFUSE(text, where, why) refuse(text, sizeof(text) - 1, where, why)

static void wrong_files_are_refused(void **state)
{
	char *large = malloc(KERNEL_CLASS_FILE_BYTES + 1);
	size_t used = 0;

	(void)state;
	REFUSE("# x\nGEMM\n", ":2: ", "regular expression");
	REFUSE("GEMM   \n", ":1: ", "regular expression");
	REFUSE("GEMM a\nGEMM (a\n", ":2: ", "(");
	REFUSE("a class of which the name is too long\tx\n", ":1: ", "too long");
	REFUSE("GEMM a\0b\n", ": ", "not a text file");
	memset(large, '\n', KERNEL_CLASS_FILE_BYTES + 1);
	refuse(large, KERNEL_CLASS_FILE_BYTES + 1, ": ", "large");
	for (unsigned int i = 0; i <= KERNEL_CLASS_RULES_MAX; i++, used += 4)
		memcpy(large + used, "x y\n", 4);
	refuse(large, used, ":1001: ", "too many");
	free(large);
	assert_null(kernel_classes_read("/dev/null", error));
	assert_string_equal(error, "/dev/null: not a regular file");
	assert_null(kernel_classes_read("/nowhere/x", error));
	assert_string_equal(error, "/nowhere/x: No such file or directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_libraries),
		cmocka_unit_test(rules_are_well_formed),
		cmocka_unit_test(long_names_are_cut),
		cmocka_unit_test(random_names_have_a_class),
		cmocka_unit_test(frames_have_classes),
		cmocka_unit_test(rules_of_a_file_go_first),
		cmocka_unit_test(empty_files_change_nothing),
		cmocka_unit_test(wrong_files_are_refused),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
