/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of the fake driver: API call bracketing and modules. Every function returns a
 * CUresult unless noted.
 */
#ifndef TESTS_FAKE_CUDA_FAKE_DRIVER_H
#define TESTS_FAKE_CUDA_FAKE_DRIVER_H

#include "fake_timeline.h"

/* 0, or NOT_INITIALIZED: before cuInit, and for ever in a forked child of a process that did it. */
int driver_ready(void);

void driver_call_enter(struct fake_cuda_call *call);
void driver_call_exit(struct fake_cuda_call *call);
/* Correlation id of the outermost API call on this thread. */
uint32_t driver_correlation_id(void);

void driver_notify_resource(uint32_t cbid, void *context, void *stream, void *descriptor);
void driver_notify_activity(const struct fake_cuda_activity *activity);

/* The work of a launch of `f`. */
int driver_kernel_work(struct gpu_work *work, const struct fake_cuda_launch_config *config,
		       struct fake_cuda_function *f, void **params);

/*
 * Run work on a stream, or add it to what the stream captures; the activity carries the current
 * call's correlation id. `end`: when it ends, 0 if it was captured; may be NULL.
 */
int driver_submit(struct fake_cuda_stream *stream, const struct gpu_work *work, uint64_t *end);
/* Does that for a node of a running graph. */
void driver_run(struct fake_cuda_stream *stream, const struct gpu_work *work, uint32_t graph_id,
		uint64_t graph_node_id, bool in_body, struct fake_cuda_activity *activity);

/*
 * The body shared by all entry points: refuse before cuInit and after a fork, then bracket
 * `expression` (an int) as the API call `api`, whose parameters lie in the structure `params`.
 */
#define DRIVER_CALL(api, expression)                                         \
	int result = driver_ready();                                         \
	struct fake_cuda_call call = {.domain = CUPTI_ABI_DOMAIN_DRIVER_API, \
				      .cbid = FAKE_DRV_##api,                \
				      .name = #api,                          \
				      .params = &params,                     \
				      .result = &result};                    \
	if (result)                                                          \
		return result;                                               \
	driver_call_enter(&call);                                            \
	result = (expression);                                               \
	driver_call_exit(&call);                                             \
	return result

/*
 * A module image is text: either a table, "FAKE_CUDA_MODULE\n" then lines "name=ns" or "name=arg"
 * (the first kernel argument, a uint64_t, is the duration), or PTX, whose .entry functions last
 * as long as their first argument says if it is a .u64, else FAKE_CUDA_KERNEL_NS.
 */
int module_load(struct fake_cuda_module **module, const char *image);
int module_unload(struct fake_cuda_module *module);
int module_function(struct fake_cuda_function **function, struct fake_cuda_module *module,
		    const char *name);
const char *module_function_name(const struct fake_cuda_function *function);
bool module_function_valid(const struct fake_cuda_function *function);

const struct fake_cuda_launchers *driver_launchers(bool internal);
const struct fake_cuda_memory_calls *driver_memory_calls(bool internal);

#endif
