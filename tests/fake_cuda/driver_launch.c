/* SPDX-License-Identifier: MIT */
/*
 * The launch entry points of the fake libcuda.so.1.
 *
 * Each exists twice: exported under its real name, and as an unexported variant that the runtime
 * calls instead with FAKE_CUDA_INTERNAL_DRIVER_CALLS, like a driver whose runtime bypasses the
 * public symbols. CUPTI sees both alike; a probe on the exported symbol sees only the first.
 */
#include "fake_driver.h"
#include "graph.h"
#include "cbid.h"
#include "cuda_driver_subset.h"

static int check(const struct fake_cuda_function *f, const unsigned int *grid,
		 const unsigned int *block)
{
	if (!module_function_valid(f))
		return FAKE_CUDA_ERROR_INVALID_HANDLE;
	for (int i = 0; i < 3; i++)
		if (!grid[i] || !block[i])
			return FAKE_CUDA_ERROR_INVALID_VALUE;
	if ((uint64_t)block[0] * block[1] * block[2] > 1024)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	return 0;
}

int driver_kernel_work(struct gpu_work *work, const struct fake_cuda_launch_config *c,
		       struct fake_cuda_function *f, void **params)
{
	int err = check(f, c->grid, c->block);

	if (err)
		return err;
	*work = (struct gpu_work){
		.activity = {.type = FAKE_CUDA_KERNEL,
			     .name = module_function_name(f),
			     .grid = {c->grid[0], c->grid[1], c->grid[2]},
			     .block = {c->block[0], c->block[1], c->block[2]},
			     .shared_memory = c->shared_memory},
		.function = f,
		.duration = f->duration,
	};
	if (f->source == GPU_DURATION_FIRST_ARGUMENT) {
		if (!params || !params[0])
			return FAKE_CUDA_ERROR_INVALID_VALUE;
		work->duration = *(const uint64_t *)params[0];
	}
	return 0;
}

void driver_run(struct fake_cuda_stream *stream, const struct gpu_work *work, uint32_t graph_id,
		uint64_t graph_node_id, bool in_body, struct fake_cuda_activity *activity)
{
	gpu_enqueue(stream, work, activity);
	activity->correlation_id =
		in_body ? gpu_config()->body_correlation : driver_correlation_id();
	activity->in_body = in_body;
	activity->graph_id = graph_id;
	activity->graph_node_id = graph_node_id;
	memory_move(work);
	driver_notify_activity(activity);
}

int driver_submit(struct fake_cuda_stream *stream, const struct gpu_work *work, uint64_t *end)
{
	struct fake_cuda_activity activity = {0};
	int err = 0;

	if (*gpu_stream_capture(stream))
		err = graph_capture_work(*gpu_stream_capture(stream), work);
	else
		driver_run(stream, work, 0, 0, false, &activity);
	if (end)
		*end = activity.end;
	return err;
}

static int launch(const CUlaunchConfig *c, CUfunction f, void **params, bool per_thread)
{
	struct fake_cuda_stream *stream = gpu_stream(c->stream, per_thread);
	struct gpu_work work;
	uint64_t end = 0;
	int err = driver_kernel_work(&work, c, f, params);

	if (err)
		return err;
	if (!gpu_current())
		return FAKE_CUDA_ERROR_INVALID_CONTEXT;
	if (!stream || gpu_stream_context(stream) != gpu_current())
		return FAKE_CUDA_ERROR_INVALID_HANDLE;
	err = driver_submit(stream, &work, &end);
	if (!err && end)
		gpu_count_launch();
	return err;
}

static int launch_graph(CUgraphExec exec, CUstream stream, bool per_thread)
{
	struct fake_cuda_stream *s = gpu_stream(stream, per_thread);
	int err;

	if (!s)
		return FAKE_CUDA_ERROR_INVALID_HANDLE;
	err = graph_run(exec, s);
	if (!err)
		gpu_count_launch();
	return err;
}

#define SYMBOL(f) (module_function_valid(f) ? module_function_name(f) : NULL)

/* Bracket `expression` as driver call `api`; the structure `params` is in scope. */
#define BRACKET(api, kernel_name, expression)                                \
	int result = driver_ready();                                         \
	struct fake_cuda_call call = {.domain = CUPTI_ABI_DOMAIN_DRIVER_API, \
				      .cbid = FAKE_DRV_##api,                \
				      .name = #api,                          \
				      .params = &params,                     \
				      .result = &result};                    \
	if (result)                                                          \
		return result;                                               \
	call.symbol = (kernel_name);                                         \
	driver_call_enter(&call);                                            \
	result = (expression);                                               \
	driver_call_exit(&call);                                             \
	return result

/* Parameter structures as in CUPTI's generated headers. */
struct launch_params {
	CUfunction f;
	unsigned int gx, gy, gz, bx, by, bz, shared_memory;
	CUstream stream;
	void **params, **extra;
};

struct launch_ex_params {
	const CUlaunchConfig *config;
	CUfunction f;
	void **params, **extra;
};

struct graph_launch_params {
	CUgraphExec exec;
	CUstream stream;
};

#define CONFIG                                                             \
	{                                                                  \
		{gx, gy, gz}, {bx, by, bz}, shared_memory, stream, NULL, 0 \
	}

#define DEFINE_LAUNCH(scope, name, api, per_thread)                                            \
	scope int name(CUDA_LAUNCH_PARAMETERS, void **extra)                                   \
	{                                                                                      \
		struct launch_params p = {f,      gx,     gy,   gz, bx, by, bz, shared_memory, \
					  stream, params, extra};                              \
		const CUlaunchConfig config = CONFIG;                                          \
		return bracket_##api(&p, &config);                                             \
	}

#define DEFINE_COOPERATIVE(scope, name, api, per_thread)                                      \
	scope int name(CUDA_LAUNCH_PARAMETERS)                                                \
	{                                                                                     \
		struct launch_params p = {f,      gx,     gy,  gz, bx, by, bz, shared_memory, \
					  stream, params, NULL};                              \
		const CUlaunchConfig config = CONFIG;                                         \
		return bracket_##api(&p, &config);                                            \
	}

#define DEFINE_EX(scope, name, api, per_thread)                                                 \
	scope int name(const CUlaunchConfig *config, CUfunction f, void **params, void **extra) \
	{                                                                                       \
		struct launch_ex_params p = {config, f, params, extra};                         \
		return bracket_##api(&p);                                                       \
	}

#define DEFINE_GRAPH(scope, name, api, per_thread)             \
	scope int name(CUgraphExec exec, CUstream stream)      \
	{                                                      \
		struct graph_launch_params p = {exec, stream}; \
		return bracket_##api(&p);                      \
	}

#define BRACKET_LAUNCH(api, per_thread)                                                       \
	static int bracket_##api(const struct launch_params *p, const CUlaunchConfig *config) \
	{                                                                                     \
		const struct launch_params params = *p;                                       \
		BRACKET(api, SYMBOL(p->f), launch(config, p->f, p->params, per_thread));      \
	}

#define BRACKET_EX(api, per_thread)                                                \
	static int bracket_##api(const struct launch_ex_params *p)                 \
	{                                                                          \
		const struct launch_ex_params params = *p;                         \
		BRACKET(api, SYMBOL(p->f),                                         \
			p->config ? launch(p->config, p->f, p->params, per_thread) \
				  : FAKE_CUDA_ERROR_INVALID_VALUE);                \
	}

#define BRACKET_GRAPH(api, per_thread)                                            \
	static int bracket_##api(const struct graph_launch_params *p)             \
	{                                                                         \
		const struct graph_launch_params params = *p;                     \
		BRACKET(api, NULL, launch_graph(p->exec, p->stream, per_thread)); \
	}

BRACKET_LAUNCH(cuLaunchKernel, false)
BRACKET_LAUNCH(cuLaunchKernel_ptsz, true)
BRACKET_LAUNCH(cuLaunchCooperativeKernel, false)
BRACKET_LAUNCH(cuLaunchCooperativeKernel_ptsz, true)
BRACKET_EX(cuLaunchKernelEx, false)
BRACKET_EX(cuLaunchKernelEx_ptsz, true)
BRACKET_LAUNCH(cuLaunchKernelNext, false) /* made up: of a newer CUDA */
BRACKET_GRAPH(cuGraphLaunch, false)
BRACKET_GRAPH(cuGraphLaunch_ptsz, true)

#define DEFINE_BOTH(define, api, per_thread)           \
	define(FAKE_CUDA_EXPORT, api, api, per_thread) \
		define(static, internal_##api, api, per_thread)

DEFINE_BOTH(DEFINE_LAUNCH, cuLaunchKernel, false)
DEFINE_BOTH(DEFINE_LAUNCH, cuLaunchKernel_ptsz, true)
DEFINE_LAUNCH(FAKE_CUDA_EXPORT, cuLaunchKernelNext, cuLaunchKernelNext, false)
DEFINE_BOTH(DEFINE_COOPERATIVE, cuLaunchCooperativeKernel, false)
DEFINE_BOTH(DEFINE_COOPERATIVE, cuLaunchCooperativeKernel_ptsz, true)
DEFINE_BOTH(DEFINE_EX, cuLaunchKernelEx, false)
DEFINE_BOTH(DEFINE_EX, cuLaunchKernelEx_ptsz, true)
DEFINE_BOTH(DEFINE_GRAPH, cuGraphLaunch, false)
DEFINE_BOTH(DEFINE_GRAPH, cuGraphLaunch_ptsz, true)

const struct fake_cuda_launchers *driver_launchers(bool internal)
{
	static const struct fake_cuda_launchers exported = {
		.kernel = {cuLaunchKernel, cuLaunchKernel_ptsz},
		.kernel_ex = {cuLaunchKernelEx, cuLaunchKernelEx_ptsz},
		.cooperative = {cuLaunchCooperativeKernel, cuLaunchCooperativeKernel_ptsz},
		.graph = {cuGraphLaunch, cuGraphLaunch_ptsz},
	};
	static const struct fake_cuda_launchers unexported = {
		.kernel = {internal_cuLaunchKernel, internal_cuLaunchKernel_ptsz},
		.kernel_ex = {internal_cuLaunchKernelEx, internal_cuLaunchKernelEx_ptsz},
		.cooperative = {internal_cuLaunchCooperativeKernel,
				internal_cuLaunchCooperativeKernel_ptsz},
		.graph = {internal_cuGraphLaunch, internal_cuGraphLaunch_ptsz},
	};

	return internal ? &unexported : &exported;
}
