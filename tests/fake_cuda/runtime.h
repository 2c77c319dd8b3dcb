/* SPDX-License-Identifier: MIT */
/* Shared by the files of the fake runtime. */
#ifndef TESTS_FAKE_CUDA_RUNTIME_H
#define TESTS_FAKE_CUDA_RUNTIME_H

#include "fake_cuda.h"
#include "cuda_runtime_subset.h"

/*
 * Hidden symbols in the static variant, so that they are local in an executable's .symtab and
 * absent from .dynsym, as with NVIDIA's libcudart_static.a.
 */
#ifdef FAKE_CUDART_STATIC
#define CUDART_EXPORT __attribute__((visibility("hidden")))
#else
#define CUDART_EXPORT FAKE_CUDA_EXPORT
#endif

/*
 * Load the driver on first use, call cuInit, make the thread's device current. Returns a
 * cudaError_t; `driver` is usable if and only if that is 0.
 */
cudaError_t runtime_init(const struct fake_cuda_driver **driver);
/* The last of these alone, where contexts are made late. */
cudaError_t runtime_make_context(const struct fake_cuda_driver *driver);
/* Keep an error for cudaGetLastError; returns it. */
cudaError_t runtime_error(cudaError_t error);
cudaError_t runtime_last_error(bool reset);

/* The driver's function behind a host stub; cudaErrorInvalidResourceHandle if unregistered. */
cudaError_t runtime_function(const struct fake_cuda_driver *driver, const void *host,
			     struct fake_cuda_function **function);
/* Forget what was loaded into a context that has ended. */
void runtime_forget_modules(void);

/*
 * Bracket `expression` (a cudaError_t that may use `driver`) as runtime call `api`, whose
 * parameters are in the structure `params`. The first call initialises before it is bracketed, so a
 * tool injected then sees it.
 */
#define RUNTIME_CALL(api, id, expression)                                     \
	const struct fake_cuda_driver *driver;                                \
	cudaError_t result = runtime_init(&driver);                           \
	struct fake_cuda_call call = {.domain = CUPTI_ABI_DOMAIN_RUNTIME_API, \
				      .cbid = (id),                           \
				      .name = (api),                          \
				      .params = &params,                      \
				      .result = &result};                     \
	if (result)                                                           \
		return runtime_error(result);                                 \
	driver->call_enter(&call);                                            \
	result = runtime_make_context(driver);                                \
	if (!result)                                                          \
		result = (expression);                                        \
	driver->call_exit(&call);                                             \
	return runtime_error(result)

/* `expression` within the function of the driver that NVIDIA's runtime calls there. */
#define IN_DRIVER(function, expression)                        \
	({                                                     \
		cudaError_t inner_ = cudaSuccess;              \
		struct fake_cuda_call nested_ = {              \
			.domain = CUPTI_ABI_DOMAIN_DRIVER_API, \
			.cbid = FAKE_DRV_##function,           \
			.name = #function,                     \
			.params = &params,                     \
			.result = &inner_,                     \
		};                                             \
		driver->call_enter(&nested_);                  \
		inner_ = (expression);                         \
		driver->call_exit(&nested_);                   \
		inner_;                                        \
	})

#endif
