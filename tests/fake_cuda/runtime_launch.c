/* SPDX-License-Identifier: MIT */
/*
 * Launches of the fake runtime: each calls the driver's launch, nested in its own API call.
 *
 * Built so that every entry point begins with `push %rbp`, as NVIDIA's do (rules.mk).
 */
#include "runtime.h"
#include "cbid.h"

/* Parameter structures as in CUPTI's generated headers. */
struct launch_params {
	const void *func;
	dim3 grid, block;
	void **args;
	size_t shared_memory;
	cudaStream_t stream;
};

struct launch_ex_params {
	const cudaLaunchConfig_t *config;
	const void *func;
	void **args;
};

struct graph_params {
	cudaGraphExec_t exec;
	cudaStream_t stream;
};

/*
 * Look the kernel up before the call is bracketed: its name is part of the callback's data. As in
 * NVIDIA's runtime the driver is called from elsewhere where nobody was called for this call.
 */
#define RUNTIME_LAUNCH(api, host, expression)                                 \
	const struct fake_cuda_driver *driver;                                \
	cudaError_t result = runtime_init(&driver);                           \
	struct fake_cuda_call call = {.domain = CUPTI_ABI_DOMAIN_RUNTIME_API, \
				      .cbid = FAKE_RT_##api,                  \
				      .name = #api,                           \
				      .params = &params,                      \
				      .result = &result};                     \
	struct fake_cuda_function *f = NULL;                                  \
	if (result)                                                           \
		return runtime_error(result);                                 \
	result = runtime_function(driver, host, &f);                          \
	call.symbol = f ? driver->function_name(f) : NULL;                    \
	driver->call_enter(&call);                                            \
	if (!result && call.is_called_for)                                    \
		result = (expression);                                        \
	else if (!result)                                                     \
		result = ELSEWHERE(expression);                               \
	driver->call_exit(&call);                                             \
	return runtime_error(result)

/* Keeps the compiler from making one of both. */
#define ELSEWHERE(expression)                        \
	({                                           \
		cudaError_t elsewhere_ = expression; \
		__asm__ volatile("");                \
		elsewhere_;                          \
	})

#define PARAMS                                                 \
	{                                                      \
		func, grid, block, args, shared_memory, stream \
	}
#define DIMENSIONS grid.x, grid.y, grid.z, block.x, block.y, block.z

static cudaError_t kernel(const struct fake_cuda_driver *d, struct fake_cuda_function *f,
			  const struct launch_params *p, int ptsz)
{
	dim3 grid = p->grid, block = p->block;

	return d->launchers->kernel[ptsz](f, DIMENSIONS, (unsigned int)p->shared_memory, p->stream,
					  p->args, NULL);
}

static cudaError_t cooperative(const struct fake_cuda_driver *d, struct fake_cuda_function *f,
			       const struct launch_params *p, int ptsz)
{
	dim3 grid = p->grid, block = p->block;

	return d->launchers->cooperative[ptsz](f, DIMENSIONS, (unsigned int)p->shared_memory,
					       p->stream, p->args);
}

static cudaError_t kernel_ex(const struct fake_cuda_driver *d, struct fake_cuda_function *f,
			     const struct launch_ex_params *p, int ptsz)
{
	const cudaLaunchConfig_t *c = p->config;
	struct fake_cuda_launch_config config = {
		.grid = {c->gridDim.x, c->gridDim.y, c->gridDim.z},
		.block = {c->blockDim.x, c->blockDim.y, c->blockDim.z},
		.shared_memory = (unsigned int)c->dynamicSmemBytes,
		.stream = c->stream,
	};

	return d->launchers->kernel_ex[ptsz](&config, f, p->args, NULL);
}

CUDART_EXPORT cudaError_t cudaLaunchKernel(CUDA_RUNTIME_LAUNCH_PARAMETERS)
{
	struct launch_params params = PARAMS;
	RUNTIME_LAUNCH(cudaLaunchKernel, func, kernel(driver, f, &params, 0));
}

CUDART_EXPORT cudaError_t cudaLaunchKernel_ptsz(CUDA_RUNTIME_LAUNCH_PARAMETERS)
{
	struct launch_params params = PARAMS;
	RUNTIME_LAUNCH(cudaLaunchKernel_ptsz, func, kernel(driver, f, &params, 1));
}

CUDART_EXPORT cudaError_t cudaLaunchCooperativeKernel(CUDA_RUNTIME_LAUNCH_PARAMETERS)
{
	struct launch_params params = PARAMS;
	RUNTIME_LAUNCH(cudaLaunchCooperativeKernel, func, cooperative(driver, f, &params, 0));
}

CUDART_EXPORT cudaError_t cudaLaunchCooperativeKernel_ptsz(CUDA_RUNTIME_LAUNCH_PARAMETERS)
{
	struct launch_params params = PARAMS;
	RUNTIME_LAUNCH(cudaLaunchCooperativeKernel_ptsz, func, cooperative(driver, f, &params, 1));
}

CUDART_EXPORT cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func,
					      void **args)
{
	struct launch_ex_params params = {config, func, args};
	if (!config)
		return runtime_error(cudaErrorInvalidValue);
	RUNTIME_LAUNCH(cudaLaunchKernelExC, func, kernel_ex(driver, f, &params, 0));
}

CUDART_EXPORT cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config,
						   const void *func, void **args)
{
	struct launch_ex_params params = {config, func, args};
	if (!config)
		return runtime_error(cudaErrorInvalidValue);
	RUNTIME_LAUNCH(cudaLaunchKernelExC_ptsz, func, kernel_ex(driver, f, &params, 1));
}

CUDART_EXPORT cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
	struct graph_params params = {exec, stream};
	RUNTIME_CALL("cudaGraphLaunch", FAKE_RT_cudaGraphLaunch,
		     driver->launchers->graph[0](exec, stream));
}

CUDART_EXPORT cudaError_t cudaGraphLaunch_ptsz(cudaGraphExec_t exec, cudaStream_t stream)
{
	struct graph_params params = {exec, stream};
	RUNTIME_CALL("cudaGraphLaunch_ptsz", FAKE_RT_cudaGraphLaunch_ptsz,
		     driver->launchers->graph[1](exec, stream));
}
