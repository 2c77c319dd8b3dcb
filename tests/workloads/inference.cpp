/* SPDX-License-Identifier: MIT */
/*
 * inference [REQUESTS=60]: a small language model server, as a profile would show one.
 *
 * A request is 12 ms of CPU time (tokenize 6, sample 4, detokenize 2) and 74 kernels, 26.5 ms of
 * GPU time, under run -> embed, TransformerLayer::forward (12 layers) -> Attention, Mlp, and
 * logits. Sampling runs beside the GPU. Prints the totals; takes about two seconds.
 */
#include "gpu.h"
#include "burn.h"

#include <stdint.h>

namespace model
{

GPU_KERNEL(embedding_lookup)
template <typename T>
GPU_KERNEL(layer_norm)
template <typename T, int HeadSize>
GPU_KERNEL(attention_scores)
template <typename T>
GPU_KERNEL(softmax)
template <typename T, int TileM, int TileN>
GPU_KERNEL(gemm)
GPU_KERNEL(gelu) GPU_KERNEL(top_k_logits)

	enum : gpu_ns {
		EMBED_NS = 300000,
		NORM_NS = 40000,
		SCORES_NS = 450000,
		SOFTMAX_NS = 120000,
		GEMM_WIDE_NS = 900000,
		GEMM_NARROW_NS = 600000,
		GELU_NS = 60000,
		LOGITS_NS = 200000,
	};
} // namespace model

namespace server
{
class Tokenizer
{
      public:
	NOINLINE void tokenize()
	{
		burn(6000000);
	}

	NOINLINE void detokenize()
	{
		burn(2000000);
	}
};

class Attention
{
      public:
	NOINLINE void forward(cudaStream_t stream)
	{
		using namespace model;

		GPU_CHECK(GPU_LAUNCH(stream, SCORES_NS, attention_scores<float, 64>));
		softmax_rows(stream);
	}

      private:
	NOINLINE void softmax_rows(cudaStream_t stream)
	{
		GPU_CHECK(GPU_LAUNCH(stream, model::SOFTMAX_NS, model::softmax<float>));
	}
};

class Mlp
{
      public:
	NOINLINE void forward(cudaStream_t stream)
	{
		using namespace model;

		GPU_CHECK(GPU_LAUNCH(stream, GEMM_WIDE_NS, gemm<float, 128, 256>));
		GPU_CHECK(GPU_LAUNCH(stream, GELU_NS, gelu));
		GPU_CHECK(GPU_LAUNCH(stream, GEMM_NARROW_NS, gemm<float, 64, 64>));
	}
};

class TransformerLayer
{
      public:
	NOINLINE void forward(cudaStream_t stream)
	{
		GPU_CHECK(GPU_LAUNCH(stream, model::NORM_NS, model::layer_norm<float>));
		attention.forward(stream);
		mlp.forward(stream);
	}

      private:
	Attention attention;
	Mlp mlp;
};

class InferencePipeline
{
      public:
	enum { LAYERS = 12 };

	InferencePipeline()
	{
		GPU_CHECK(cudaStreamCreate(&stream));
	}

	~InferencePipeline()
	{
		GPU_CHECK(cudaStreamDestroy(stream));
	}

	NOINLINE void run(int requests)
	{
		for (int i = 0; i < requests; i++) {
			tokenizer.tokenize();
			embed();
			for (int l = 0; l < LAYERS; l++)
				layers[l].forward(stream);
			logits();
			sample();
			GPU_CHECK(cudaStreamSynchronize(stream));
			tokenizer.detokenize();
		}
	}

	static gpu_ns request_ns()
	{
		using namespace model;

		return EMBED_NS + LOGITS_NS +
		       LAYERS * (NORM_NS + SCORES_NS + SOFTMAX_NS + GEMM_WIDE_NS + GELU_NS +
				 GEMM_NARROW_NS);
	}

      private:
	NOINLINE void embed()
	{
		GPU_CHECK(GPU_LAUNCH(stream, model::EMBED_NS, model::embedding_lookup));
	}

	NOINLINE void logits()
	{
		GPU_CHECK(GPU_LAUNCH(stream, model::LOGITS_NS, model::top_k_logits));
	}

	NOINLINE void sample()
	{
		burn(4000000);
	}

	Tokenizer tokenizer;
	TransformerLayer layers[LAYERS];
	cudaStream_t stream;
};
} // namespace server

int main(int argc, char **argv)
{
	int requests = argc > 1 ? atoi(argv[1]) : 60;
	const int kernels = 2 + 6 * server::InferencePipeline::LAYERS;

	if (requests <= 0) {
		fprintf(stderr, "usage: %s [REQUESTS]\n", argv[0]);
		return 1;
	}
	server::InferencePipeline pipeline;
	pipeline.run(requests);
	printf("requests %d kernels %d gpu_ns %llu cpu_ns %llu\n", requests, requests * kernels,
	       requests * server::InferencePipeline::request_ns(), requests * 12000000ull);
	return 0;
}
