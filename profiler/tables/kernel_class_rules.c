// SPDX-License-Identifier: MIT
/*
 * The built-in rules for classes of kernels: the first that matches decides, so the order matters.
 * Names that tell nothing sure are left to "other".
 */
#include "profiler/tables/kernel_class.h"

#define GEMM "GEMM"
#define ATTENTION "attention"
#define CONVOLUTION "convolution"
#define NORMALIZATION "normalization"
#define SOFTMAX "softmax"
#define ELEMENTWISE "elementwise"
#define REDUCTION "reduction"
#define COPY "copy and cast"
#define COLLECTIVE "collective"
#define SAMPLING "sampling"
#define OPTIMIZER "optimizer"
#define SORT "sort and scatter"
#define FFT "FFT"
#define RANDOM "random"

const struct kernel_class_rule kernel_class_rules[] = {
	/* ---- words that contain words of other rules ---- */
	{COPY, "^fbgemm_gpu::*permute|^fbgemm_gpu::*copy|^fbgemm_gpu::*quantize"},
	{SORT, "^fbgemm_gpu::*embedding|^fbgemm_gpu::*index"},
	{KERNEL_CLASS_OTHER, "^fbgemm_gpu::"},
	{KERNEL_CLASS_OTHER, "hadamard|selective_scan|chunk_scan|chunk_state|state_passing"},

	/* ---- Inductor: triton_<kind>_fused_<operators>_<number> ---- */
	{ATTENTION, "^triton_tem*attention|^triton_tem*flex_"},
	{CONVOLUTION, "^triton_tem*conv"},
	{GEMM, "^triton_tem|^triton_mm|^triton_bmm|^triton_gemm"},
	{NORMALIZATION, "^triton_*layer_norm|^triton_*batch_norm|^triton_*group_norm|"
			"^triton_*rms_norm|^triton_*instance_norm|^triton_*mean*rsqrt"},
	{SOFTMAX, "^triton_*softmax"},
	{SORT, "^triton_per*_sort|^triton_red*_sort|^triton_per*_topk|^triton_red*_topk"},
	{REDUCTION, "^triton_red|^triton_per|^triton_split_scan"},
	{ELEMENTWISE, "^triton_poi|^triton_for_"},

	/* ---- XLA: <kind>_<operation>_fusion_<number>, wrapped_<operation> ---- */
	{GEMM, "^gemm_fusion|^cublas_fusion"},
	{SORT, "^input_*scatter_fusion|^loop_*scatter_fusion|^loop_gather_fusion|"
	       "^wrapped_scatter|^wrapped_gather|^wrapped_sort|^scatter_fusion|^sort_"},
	{REDUCTION, "^input_*reduce|^loop_*reduce_fusion|^loop_reduce_|^wrapped_reduce|"
		    "^reduce_fusion"},
	{COPY, "^input_transpose|^input_concatenate|^loop_convert_fusion|^loop_transpose|"
	       "^loop_copy|^loop_concatenate|^loop_slice|^loop_dynamic|^loop_pad|"
	       "^loop_broadcast_fusion|^wrapped_transpose|^wrapped_convert|^wrapped_copy|"
	       "^wrapped_slice|^wrapped_concatenate|^wrapped_pad|^wrapped_broadcast|"
	       "^wrapped_dynamic|^transpose_fusion|^convert_fusion"},
	{ELEMENTWISE, "^loop_*fusion|^wrapped_"},

	/* ---- CuPy: a reduction has no types in its name ---- */
	{COPY, "^cupy_copy|^cupy_concat|^cupy_astype"},
	{SORT, "^cupy_take|^cupy_getitem|^cupy_scatter|^cupy_putmask|^cupy_nonzero"},
	{RANDOM, "^cupy_random"},
	{ELEMENTWISE, "^cupy_*__*"},
	{REDUCTION, "^cupy_sum|^cupy_prod|^cupy_mean|^cupy_amax|^cupy_amin|^cupy_max|^cupy_min|"
		    "^cupy_arg|^cupy_all|^cupy_any|^cupy_nan|^cupy_var|^cupy_count|^cupy_cub_|"
		    "^cupy_norm|^cupy_cum"},

	/* ---- work between GPUs ---- */
	{COLLECTIVE, "nccl|nvshmem|deep_ep::|all_reduce|allreduce|all_gather|allgather|"
		     "reduce_scatter|reducescatter|all_to_all|alltoall|cross_device_reduce|"
		     "multimem_|userbuffers"},

	/* ---- parts of language models that carry other rules' words ---- */
	{COPY, "reshape_and_cache|concat_and_cache|gather_cache|copy_blocks|swap_blocks|"
	       "appendpagedkv|append_paged_kv|store_kv|set_kv_buffer|create_flashinfer_kv|"
	       "write_req_to_token"},
	{ELEMENTWISE, "rotary|_rope|rope_|applyrope|applybiasrope|act_and_mul"},
	{SORT, "moe_align|moe_sort|count_and_sort|expandinputrows|expertprefixsum|blockexpert"},
	{GEMM, "fused_moe_kernel|fused_moe_gptq|moe_gemm"},

	{ATTENTION,
	 "flash_fwd|flash_bwd|flash_attn|flash_attention|flashattn|flashattention|flash_mla|"
	 "flashmla|flash::|fmha|sdpa|attention|_attn|attn_|mha_|mmha|xqa_|kernel_mha|"
	 "batchprefill|batchdecode|singleprefill|singledecode|mergestate|merge_state|mla_decode|"
	 "cutlass_mla|_fwd_grouped_kernel_stage|_fwd_kernel_stage|<*flash::|<*fmha|<*flashattn|"
	 "device_kernel<*attention"},

	{OPTIMIZER,
	 "adam|adagrad|adafactor|rmsprop|lambstage|lamb_stage|^sgd|_sgd|sgd_|::sgd|fusedsgd|"
	 "multi_tensor_apply*<*adam|multi_tensor_apply*<*sgd|"
	 "multi_tensor_apply*<*lambstage|multi_tensor_apply*<*adagrad|"
	 "multi_tensor_apply*<*fusedoptimizer"},

	/* ---- cuDNN: convolution and the layouts for it, unless the name tells more ---- */
	{CONVOLUTION, "<*implicitgemmconv"},
	{ATTENTION, "^cudnn::fusion::|unpack_cudnn"}, /* around fused attention */
	{COPY, "tensortransformgeneric"},
	{NORMALIZATION, "cudnn*bn_|cudnn*norm"},
	{SOFTMAX, "cudnn*softmax"},
	{REDUCTION, "cudnn*pooling"},
	{ELEMENTWISE, "cudnn*op_tensor|cudnn*op_generic|cudnn*activation|cudnn*add_tensor"},
	{CONVOLUTION, "fprop|dgrad|wgrad|convolve|convolution|winograd|conv1d|conv2d|conv3d|"
		      "conv_depthwise|depthwise_conv|implicit_gemm|implicitgemm|im2col|col2im|"
		      "vol2col|col2vol|nchwtonhwc|nhwctonchw|nhwcaddpadding|fft2d_|dse::|"
		      "cudnn|<*fprop|<*dgrad|<*wgrad|<*conv2d"},
	{FFT, "fft|bluestein|spradix0|dpradix0"},

	/* ---- elementwise kernels are templates: their arguments tell what they do ---- */
	{NORMALIZATION, "elementwise_kernel*<*groupnorm|elementwise_kernel*<*batch_norm|"
			"elementwise_kernel*<*batchnorm|elementwise_kernel*<*layernorm"},
	{COPY, "elementwise_kernel*<*copy_kernel|multi_tensor_apply*<*copy<|"
	       "multi_tensor_apply*<*copyfunctor"},
	{SORT, "scatter_gather_elementwise|index_elementwise"},
	{ELEMENTWISE, "upsampl|downsampl|resampl|interpolat|grid_sampl"},

	{SAMPLING,
	 "sampling|multinomial|samplefrom|gumbel|topk_topp|top_k_top_p|renorm_prob|"
	 "renormprob|topktopp|repetition_penalt|rejection_sample|rejection_random|applypenalt|"
	 "apply_token_bitmask|beamsearch|beam_search"},
	{SOFTMAX, "softmax|soft_max"},
	{NORMALIZATION,
	 "layer_norm|layernorm|rms_norm|rmsnorm|batch_norm|batchnorm|group_norm|groupnorm|"
	 "instance_norm|instancenorm|weight_norm|gammabeta|gamma_beta|rowwisemoments|"
	 "internalgradients|fusedparams|bn_fw|bn_bw|bnfw|bnbw|ln_fwd|ln_bwd|qk_norm|qknorm|"
	 "l2norm|norm_fwd|norm_bwd|addnorm|cucomputegradinput|cucomputepartgrad|::norm::"},
	{SORT, "sort|topk|^top_k|_top_k|::top_k|kthvalue|digitcumsum|blockwisewithinkcounts|"
	       "blockwisekthcounts|scatter|gather|indexselect|index_select|indexfunc|indexing_"
	       "backward|index_put|"
	       "indexput|index_add|index_copy|index_fill|indexcopy|embedding|deviceselect|"
	       "deviceunique|devicepartition|devicecompact|nonzero|write_indices|searchsorted|"
	       "bucketize|compute_grad_weight|partial_segment|partials_per_segment|"
	       "fill_reverse_indices|fill_index_and_segment|finalizemoe|masked_select"},
	{REDUCTION, "<*cublasdotparams"},
	{GEMM, "gemm|gemv|nvjet|splitkreduce|cublas|matmul|xmma|marlin|machete|grouped_mm|"
	       "scaled_mm|_mm_kernel|bmm_|w8a8|trsm|syrk|cutensor*contraction|<*gemm"},
	{RANDOM, "curand|philox|distribution_|dropout|randperm|gen_sequenced|generate_seed|"
		 "random|bernoulli|<*philox"},
	{COPY, "catarray|copy|transpose|permute|concat|memcpy|memset|cast_kernel|_cast|convert|"
	       "quantize|_quant|quant_|chunk_cat|reflection_pad|replication_pad|roll_cuda|"
	       "flip_|swapdimension|shuffleintensor"},
	{REDUCTION, "multi_tensor_apply*<*lpnorm|multi_tensor_apply*<*l2norm|lpnorm|reduce|"
		    "reduction|cumsum|cumprod|scan|argmax|argmin|histogram|nll_loss|_sum|"
		    "sum_kernel|_mean|mean_kernel|dot_kernel|nrm2|asum|pooling|_pool|pool2d|"
		    "pool_"},
	{ELEMENTWISE,
	 "elementwise|pointwise|_kernel_vectorized|activation|silu|gelu|relu|swiglu|sigmoid|tanh|"
	 "multi_tensor_apply|fill|arange|linspace|triu|tril|bias|add_kernel|mul_kernel|"
	 "scal_kernel|axpy|vecadd|vectoradd|vector_add|clamp|masked|lstm_cell|gru_cell|"
	 "transform_kernel|::transform::|<*parallel_for|<*__transform|_amp_"},
	{0},
};
