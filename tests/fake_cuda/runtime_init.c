/* SPDX-License-Identifier: MIT */
/*
 * Initialisation of the fake runtime, registration of kernels, and functions called by nvcc's host
 * code.
 *
 * Like NVIDIA's, the runtime is not linked with the driver: the first call opens libcuda.so.1.
 */
#define _GNU_SOURCE
#include "runtime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CONFIGURATIONS = 8 };

struct fatbin {
	bool timed; /* the kernels' first argument is their duration */
	struct fatbin *next;
};

struct kernel {
	const void *host;
	char *name;
	struct fatbin *fatbin; /* NULL once unregistered */
	struct fake_cuda_module *module;
	struct fake_cuda_function *function;
	struct kernel *next;
};

struct configuration {
	dim3 grid, block;
	size_t shared_memory;
	void *stream;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct fake_cuda_driver *loaded;
static struct kernel *kernels; /* newest first; read without the lock */
static struct fatbin *fatbins;
static __thread cudaError_t last_error;
static __thread const struct kernel *last_kernel;
static __thread struct configuration configurations[MAX_CONFIGURATIONS];
static __thread unsigned int configuration_count;

static cudaError_t load_driver(void)
{
	const struct fake_cuda_driver *(*get)(void) = NULL;
	const struct fake_cuda_driver *d;
	cudaError_t err = cudaErrorInsufficientDriver;
	void *library;

	pthread_mutex_lock(&lock);
	if (loaded) {
		pthread_mutex_unlock(&lock);
		return cudaSuccess;
	}
	library = dlopen("libcuda.so.1", RTLD_NOW);
	if (library)
		*(void **)&get = dlsym(library, "fake_cuda_get_driver");
	if (get) {
		d = get();
		if (d->size == sizeof(*d)) {
			__atomic_store_n(&loaded, d, __ATOMIC_RELEASE);
			err = cudaSuccess;
		}
	}
	pthread_mutex_unlock(&lock);
	return err;
}

cudaError_t runtime_init(const struct fake_cuda_driver **driver)
{
	const struct fake_cuda_driver *d = __atomic_load_n(&loaded, __ATOMIC_ACQUIRE);
	cudaError_t err;

	if (!d) {
		err = load_driver();
		if (err)
			return err;
		d = __atomic_load_n(&loaded, __ATOMIC_ACQUIRE);
	}
	*driver = d;
	err = d->init(0);
	if (err)
		return err;
	return d->makes_context_late() ? cudaSuccess : runtime_make_context(d);
}

cudaError_t runtime_make_context(const struct fake_cuda_driver *d)
{
	return d->has_context() ? cudaSuccess : d->set_device(d->get_device());
}

cudaError_t runtime_error(cudaError_t error)
{
	if (error)
		last_error = error;
	return error;
}

cudaError_t runtime_last_error(bool reset)
{
	cudaError_t err = last_error;

	if (reset)
		last_error = cudaSuccess;
	return err;
}

/* With the lock held: make the driver load a module with this one kernel. */
static cudaError_t load_kernel(const struct fake_cuda_driver *driver, struct kernel *k)
{
	struct fake_cuda_function *f;
	struct fake_cuda_module *m;
	char *image = NULL;
	cudaError_t err;

	if (k->fatbin->timed) {
		if (asprintf(&image, "FAKE_CUDA_MODULE\n%s=arg\n", k->name) < 0)
			return cudaErrorMemoryAllocation;
	} else if (asprintf(&image, ".visible .entry %s()\n", k->name) < 0) {
		return cudaErrorMemoryAllocation;
	}
	err = driver->module_load(&m, image);
	free(image);
	if (!err)
		err = driver->module_function(&f, m, k->name);
	if (!err) {
		k->module = m;
		__atomic_store_n(&k->function, f, __ATOMIC_RELEASE);
	}
	return err;
}

cudaError_t runtime_function(const struct fake_cuda_driver *driver, const void *host,
			     struct fake_cuda_function **function)
{
	const struct kernel *found = last_kernel;
	cudaError_t err = cudaSuccess;
	struct kernel *k;

	if (!found || found->host != host || !found->fatbin) {
		k = __atomic_load_n(&kernels, __ATOMIC_ACQUIRE);
		while (k && (k->host != host || !k->fatbin))
			k = k->next;
		if (!k)
			return cudaErrorInvalidResourceHandle; /* CUDA 13 on an H100 */
		last_kernel = found = k;
	}
	*function = __atomic_load_n(&found->function, __ATOMIC_ACQUIRE);
	if (*function)
		return cudaSuccess;
	/* Lazy loading, as in CUDA 12 and later: the module is loaded by its first launch. */
	pthread_mutex_lock(&lock);
	if (!found->function)
		err = load_kernel(driver, (struct kernel *)found);
	*function = found->function;
	pthread_mutex_unlock(&lock);
	return err;
}

void runtime_forget_modules(void)
{
	pthread_mutex_lock(&lock);
	for (struct kernel *k = kernels; k; k = k->next) {
		__atomic_store_n(&k->function, NULL, __ATOMIC_RELEASE);
		k->module = NULL;
	}
	pthread_mutex_unlock(&lock);
}

CUDART_EXPORT void **__cudaRegisterFatBinary(void *fatbin)
{
	struct fatbin *f = calloc(1, sizeof(*f));
	uint32_t magic = 0;

	if (!f)
		return NULL;
	if (fatbin)
		memcpy(&magic, fatbin, sizeof(magic));
	f->timed = magic == FAKE_CUDA_FATBIN_MAGIC;
	pthread_mutex_lock(&lock);
	f->next = fatbins;
	fatbins = f;
	pthread_mutex_unlock(&lock);
	return (void **)f;
}

CUDART_EXPORT void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

CUDART_EXPORT void __cudaUnregisterFatBinary(void **handle)
{
	pthread_mutex_lock(&lock);
	for (struct kernel *k = kernels; k; k = k->next) {
		if (k->fatbin != (struct fatbin *)handle)
			continue;
		k->fatbin = NULL;
		if (k->module)
			loaded->module_unload(k->module);
		k->module = NULL;
	}
	pthread_mutex_unlock(&lock);
}

CUDART_EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device,
					  const char *name, int thread_limit, void *tid, void *bid,
					  void *block, void *grid, int *warp)
{
	struct kernel *k;

	(void)device, (void)thread_limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
	if (!handle || !name)
		return;
	k = calloc(1, sizeof(*k));
	if (!k)
		return;
	k->name = strdup(name);
	if (!k->name) {
		free(k);
		return;
	}
	k->host = host;
	k->fatbin = (struct fatbin *)handle;
	pthread_mutex_lock(&lock);
	k->next = kernels;
	__atomic_store_n(&kernels, k, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
}

CUDART_EXPORT char __cudaInitModule(void **handle)
{
	return handle != NULL;
}

CUDART_EXPORT unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_memory,
						       void *stream)
{
	if (configuration_count == MAX_CONFIGURATIONS)
		return 1;
	configurations[configuration_count++] =
		(struct configuration){grid, block, shared_memory, stream};
	return 0;
}

CUDART_EXPORT cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_memory,
						     void *stream)
{
	const struct configuration *c;

	if (!configuration_count)
		return runtime_error(cudaErrorInvalidConfiguration);
	c = &configurations[--configuration_count];
	*grid = c->grid;
	*block = c->block;
	*shared_memory = c->shared_memory;
	*(void **)stream = c->stream;
	return cudaSuccess;
}

/*
 * nvcc 13's stubs: the handle is the host stub's address here, so the launch is the plain one,
 * reached by a tail jump, as in NVIDIA's runtime.
 */
#define TAIL_JUMP __attribute__((optimize("O2")))

CUDART_EXPORT cudaError_t __cudaGetKernel(const void **kernel, const void *func)
{
	*kernel = func;
	return cudaSuccess;
}

CUDART_EXPORT TAIL_JUMP cudaError_t __cudaLaunchKernel(CUDA_RUNTIME_LAUNCH_PARAMETERS)
{
	return cudaLaunchKernel(func, grid, block, args, shared_memory, stream);
}

CUDART_EXPORT TAIL_JUMP cudaError_t __cudaLaunchKernel_ptsz(CUDA_RUNTIME_LAUNCH_PARAMETERS)
{
	return cudaLaunchKernel_ptsz(func, grid, block, args, shared_memory, stream);
}
