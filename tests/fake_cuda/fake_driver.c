/* SPDX-License-Identifier: MIT */
/*
 * The fake libcuda.so.1: initialisation, the injection library, API call bracketing, and every
 * entry point but launches (driver_launch.c) and those about memory (driver_memory.c).
 */
#define _GNU_SOURCE
#include "fake_driver.h"
#include "graph.h"
#include "cbid.h"
#include "cuda_driver_subset.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { INIT_NONE, INIT_STARTING, INIT_DONE };

static pthread_mutex_t init_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int init_state;
static bool forked; /* this is a child of a process that had called cuInit */
static const struct fake_cuda_hooks *hooks;
static uint32_t next_correlation_id = 1;
static __thread struct fake_cuda_call *innermost;

static void after_fork_in_child(void)
{
	if (__atomic_load_n(&init_state, __ATOMIC_ACQUIRE) != INIT_NONE)
		forked = true;
}

int driver_ready(void)
{
	if (forked || __atomic_load_n(&init_state, __ATOMIC_ACQUIRE) == INIT_NONE)
		return FAKE_CUDA_ERROR_NOT_INITIALIZED;
	return 0;
}

static void set_hooks(const struct fake_cuda_hooks *h)
{
	__atomic_store_n(&hooks, h, __ATOMIC_RELEASE);
}

void driver_call_enter(struct fake_cuda_call *call)
{
	const struct fake_cuda_hooks *h = __atomic_load_n(&hooks, __ATOMIC_ACQUIRE);

	call->outer = innermost;
	call->correlation_data = 0;
	call->correlation_id =
		innermost ? innermost->correlation_id
			  : __atomic_fetch_add(&next_correlation_id, 1, __ATOMIC_RELAXED);
	call->context = gpu_current();
	call->context_id = gpu_context_id(call->context);
	innermost = call;
	if (h)
		h->api(call, CUPTI_ABI_API_ENTER);
}

void driver_call_exit(struct fake_cuda_call *call)
{
	const struct fake_cuda_hooks *h = __atomic_load_n(&hooks, __ATOMIC_ACQUIRE);

	if (h)
		h->api(call, CUPTI_ABI_API_EXIT);
	innermost = call->outer;
}

uint32_t driver_correlation_id(void)
{
	return innermost ? innermost->correlation_id : 0;
}

void driver_notify_resource(uint32_t cbid, void *context, void *stream, void *descriptor)
{
	const struct fake_cuda_hooks *h = __atomic_load_n(&hooks, __ATOMIC_ACQUIRE);
	struct fake_cuda_resource resource = {context, stream, descriptor};

	if (h)
		h->resource(cbid, &resource);
}

void driver_notify_activity(const struct fake_cuda_activity *activity)
{
	const struct fake_cuda_hooks *h = __atomic_load_n(&hooks, __ATOMIC_ACQUIRE);

	if (h)
		h->activity(activity);
}

/* Like the driver, ignores a library that is missing or lacks the function. */
static void load_injection_library(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	int (*initialize)(void);
	void *library;

	if (!path || !*path)
		return;
	library = dlopen(path, RTLD_NOW);
	if (!library)
		return;
	*(void **)&initialize = dlsym(library, "InitializeInjection");
	if (initialize)
		initialize();
}

/* Opens the device; like the driver, keeps it to the end, and not in other programs. */
static void open_device(void)
{
	const char *path = getenv("FAKE_CUDA_DEVICE");

	if (path && *path && open(path, O_RDWR | O_CLOEXEC) < 0)
		abort(); /* a test's mistake */
}

FAKE_CUDA_EXPORT int cuInit(unsigned int flags)
{
	int err = 0;

	if (forked)
		return FAKE_CUDA_ERROR_NOT_INITIALIZED;
	if (flags)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	if (__atomic_load_n(&init_state, __ATOMIC_ACQUIRE) == INIT_DONE)
		return 0;
	/* Recursive: the injection library may call back here through CUPTI. */
	pthread_mutex_lock(&init_lock);
	if (init_state == INIT_NONE) {
		if (gpu_config()->devices == 0) {
			err = FAKE_CUDA_ERROR_NO_DEVICE;
		} else {
			pthread_atfork(NULL, NULL, after_fork_in_child);
			__atomic_store_n(&init_state, INIT_STARTING, __ATOMIC_RELEASE);
			open_device();
			load_injection_library();
			__atomic_store_n(&init_state, INIT_DONE, __ATOMIC_RELEASE);
			driver_notify_resource(FAKE_RESOURCE_CU_INIT_FINISHED, NULL, NULL, NULL);
		}
	}
	pthread_mutex_unlock(&init_lock);
	return err;
}

__attribute__((destructor)) static void at_exit(void)
{
	if (!driver_ready())
		gpu_write_totals();
}

static int get_count(int *count)
{
	if (!count)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	*count = gpu_config()->devices;
	return 0;
}

FAKE_CUDA_EXPORT int cuDeviceGetCount(int *count)
{
	struct {
		int *count;
	} params = {count};
	DRIVER_CALL(cuDeviceGetCount, get_count(count));
}

/* CUgraphMem_attribute: used and reserved memory, each now and at most; all of it is used here. */
static int graph_memory_attribute(CUdevice device, int attribute, void *value)
{
	uint64_t bytes;

	if (device < 0 || device >= gpu_config()->devices)
		return FAKE_CUDA_ERROR_INVALID_DEVICE;
	if (attribute < 0 || attribute > 3 || !value)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	bytes = graph_memory_held((uint32_t)device, attribute % 2);
	memcpy(value, &bytes, sizeof(bytes));
	return 0;
}

FAKE_CUDA_EXPORT int cuDeviceGetGraphMemAttribute(CUdevice device, int attribute, void *value)
{
	struct {
		CUdevice device;
		int attribute;
		void *value;
	} params = {device, attribute, value};
	DRIVER_CALL(cuDeviceGetGraphMemAttribute, graph_memory_attribute(device, attribute, value));
}

static int trim(CUdevice device)
{
	if (device < 0 || device >= gpu_config()->devices)
		return FAKE_CUDA_ERROR_INVALID_DEVICE;
	graph_memory_trim((uint32_t)device);
	return 0;
}

FAKE_CUDA_EXPORT int cuDeviceGraphMemTrim(CUdevice device)
{
	struct {
		CUdevice device;
	} params = {device};
	DRIVER_CALL(cuDeviceGraphMemTrim, trim(device));
}

static int default_pool(CUmemoryPool *pool, CUdevice device)
{
	if (device < 0 || device >= gpu_config()->devices)
		return FAKE_CUDA_ERROR_INVALID_DEVICE;
	if (!pool)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	*pool = (CUmemoryPool)(uintptr_t)memory_pool_address((uint32_t)device);
	return 0;
}

FAKE_CUDA_EXPORT int cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device)
{
	struct {
		CUmemoryPool *pool;
		CUdevice device;
	} params = {pool, device};
	DRIVER_CALL(cuDeviceGetDefaultMemPool, default_pool(pool, device));
}

/* -1: there is no such pool. */
static int device_of_pool(CUmemoryPool pool)
{
	int device = gpu_config()->devices - 1;

	while (device >= 0 && memory_pool_address((uint32_t)device) != (uintptr_t)pool)
		device--;
	return device;
}

static int trim_pool(CUmemoryPool pool, size_t keep)
{
	int device = device_of_pool(pool);

	if (device < 0)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	memory_pool_trim((uint32_t)device, keep);
	return 0;
}

FAKE_CUDA_EXPORT int cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
	struct {
		CUmemoryPool pool;
		size_t keep;
	} params = {pool, keep};
	DRIVER_CALL(cuMemPoolTrimTo, trim_pool(pool, keep));
}

/* CUmemPool_attribute: what is reserved now, and used now. */
static int pool_attribute(CUmemoryPool pool, int attribute, void *value)
{
	enum { RESERVED_NOW = 5, USED_NOW = 7 };
	int device = device_of_pool(pool);
	uint64_t held, used;

	if (device < 0 || !value || (attribute != RESERVED_NOW && attribute != USED_NOW))
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	memory_pool_state((uint32_t)device, &held, &used);
	memcpy(value, attribute == RESERVED_NOW ? &held : &used, sizeof(held));
	return 0;
}

FAKE_CUDA_EXPORT int cuMemPoolGetAttribute(CUmemoryPool pool, int attribute, void *value)
{
	struct {
		CUmemoryPool pool;
		int attribute;
		void *value;
	} params = {pool, attribute, value};
	DRIVER_CALL(cuMemPoolGetAttribute, pool_attribute(pool, attribute, value));
}

static int get_device(CUdevice *device, int ordinal)
{
	if (!device)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	if (ordinal < 0 || ordinal >= gpu_config()->devices)
		return FAKE_CUDA_ERROR_INVALID_DEVICE;
	*device = ordinal;
	return 0;
}

FAKE_CUDA_EXPORT int cuDeviceGet(CUdevice *device, int ordinal)
{
	struct {
		CUdevice *device;
		int ordinal;
	} params = {device, ordinal};
	DRIVER_CALL(cuDeviceGet, get_device(device, ordinal));
}

static int retain(CUcontext *context, CUdevice device)
{
	if (!context)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	*context = gpu_context(device);
	return *context ? 0 : FAKE_CUDA_ERROR_INVALID_DEVICE;
}

FAKE_CUDA_EXPORT int cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	struct {
		CUcontext *context;
		CUdevice device;
	} params = {context, device};
	DRIVER_CALL(cuDevicePrimaryCtxRetain, retain(context, device));
}

FAKE_CUDA_EXPORT int cuCtxSetCurrent(CUcontext context)
{
	struct {
		CUcontext context;
	} params = {context};
	DRIVER_CALL(cuCtxSetCurrent, (gpu_set_current(context), 0));
}

static int get_current(CUcontext *context)
{
	if (!context)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	*context = gpu_current();
	return 0;
}

FAKE_CUDA_EXPORT int cuCtxGetCurrent(CUcontext *context)
{
	struct {
		CUcontext *context;
	} params = {context};
	DRIVER_CALL(cuCtxGetCurrent, get_current(context));
}

FAKE_CUDA_EXPORT int cuCtxSynchronize(void)
{
	struct {
		char none;
	} params = {0};
	DRIVER_CALL(cuCtxSynchronize, gpu_device_synchronize());
}

FAKE_CUDA_EXPORT int cuStreamCreate(CUstream *stream, unsigned int flags)
{
	struct {
		CUstream *stream;
		unsigned int flags;
	} params = {stream, flags};
	DRIVER_CALL(cuStreamCreate, gpu_stream_create(stream, flags));
}

FAKE_CUDA_EXPORT int cuStreamDestroy_v2(CUstream stream)
{
	struct {
		CUstream stream;
	} params = {stream};
	DRIVER_CALL(cuStreamDestroy_v2, gpu_stream_destroy(stream));
}

FAKE_CUDA_EXPORT int cuStreamSynchronize(CUstream stream)
{
	struct {
		CUstream stream;
	} params = {stream};
	DRIVER_CALL(cuStreamSynchronize, gpu_stream_synchronize(stream));
}

FAKE_CUDA_EXPORT int cuModuleLoadData(CUmodule *module, const void *image)
{
	struct {
		CUmodule *module;
		const void *image;
	} params = {module, image};
	DRIVER_CALL(cuModuleLoadData, module_load(module, image));
}

FAKE_CUDA_EXPORT int cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	struct {
		CUfunction *function;
		CUmodule module;
		const char *name;
	} params = {function, module, name};
	DRIVER_CALL(cuModuleGetFunction, module_function(function, module, name));
}

FAKE_CUDA_EXPORT int cuModuleUnload(CUmodule module)
{
	struct {
		CUmodule module;
	} params = {module};
	DRIVER_CALL(cuModuleUnload, module_unload(module));
}

FAKE_CUDA_EXPORT int cuDriverGetVersion(int *version)
{
	if (!version)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	*version = 13000;
	return 0;
}

static const struct {
	int error;
	const char *name, *text;
} errors[] = {
	{FAKE_CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
	{FAKE_CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	{FAKE_CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	{FAKE_CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
	{FAKE_CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
	{FAKE_CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
	{FAKE_CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "invalid kernel image"},
	{FAKE_CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
	{FAKE_CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
	{FAKE_CUDA_ERROR_ILLEGAL_STATE, "CUDA_ERROR_ILLEGAL_STATE", "illegal state"},
	{FAKE_CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
	{FAKE_CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
	{FAKE_CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE",
	 "the graph update was not performed because it included changes which violated "
	 "constraints specific to instantiated graph update"},
	{FAKE_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
	 "operation not permitted when stream is capturing"},
};

static int error_text(int error, const char **string, bool name)
{
	if (!string)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].error == error) {
			*string = name ? errors[i].name : errors[i].text;
			return 0;
		}
	}
	*string = NULL;
	return FAKE_CUDA_ERROR_INVALID_VALUE;
}

FAKE_CUDA_EXPORT int cuGetErrorString(int error, const char **string)
{
	return error_text(error, string, false);
}

FAKE_CUDA_EXPORT int cuGetErrorName(int error, const char **string)
{
	return error_text(error, string, true);
}

/* Flag 2 requests the per-thread default stream variant, if there is one. */
FAKE_CUDA_EXPORT int cuGetProcAddress_v2(const char *symbol, void **function, int version,
					 uint64_t flags, int *status)
{
	static const char *const suffixes[] = {"_v2_ptds", "_v2_ptsz", "_ptds", "_ptsz", "_v2", ""};
	char name[128];
	Dl_info self;
	void *library = NULL;

	(void)version;
	if (!symbol || !function || strlen(symbol) + sizeof("_v2_ptsz") > sizeof(name))
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	*function = NULL;
	if (dladdr(&errors, &self))
		library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
	for (size_t i = flags & 2 ? 0 : 4; library && !*function && i < 6; i++) {
		size_t len = strlen(symbol), suffix = strlen(suffixes[i]);

		memcpy(name, symbol, len);
		memcpy(name + len, suffixes[i], suffix + 1);
		*function = dlsym(library, name);
	}
	if (library)
		dlclose(library);
	if (status)
		*status = *function ? 0 : 1;
	return *function ? 0 : FAKE_CUDA_ERROR_NOT_FOUND;
}

static bool has_context(void)
{
	return gpu_current() != NULL;
}

static bool makes_context_late(void)
{
	return gpu_config()->context > 0;
}

static uint32_t context_id(const struct fake_cuda_context *context)
{
	return gpu_place(context).context_id;
}

static uint32_t device_id(const struct fake_cuda_context *context)
{
	return gpu_place(context).device_id;
}

FAKE_CUDA_EXPORT const struct fake_cuda_driver *fake_cuda_get_driver(void)
{
	static struct fake_cuda_driver driver = {
		.size = sizeof(driver),
		.init = cuInit,
		.ready = driver_ready,
		.call_enter = driver_call_enter,
		.call_exit = driver_call_exit,
		.set_hooks = set_hooks,
		.now = gpu_now,
		.cupti_time = gpu_cupti_time,
		.sleep_until = gpu_sleep_until,
		.device_count = cuDeviceGetCount,
		.set_device = gpu_set_device,
		.enable_peer = gpu_enable_peer,
		.get_device = gpu_get_device,
		.context = gpu_context,
		.has_context = has_context,
		.makes_context_late = makes_context_late,
		.device_synchronize = cuCtxSynchronize,
		.device_reset = gpu_device_reset,
		.stream_create = gpu_stream_create,
		.stream_destroy = gpu_stream_destroy,
		.stream_synchronize = cuStreamSynchronize,
		.context_id = context_id,
		.device_id = device_id,
		.stream_number = gpu_stream_number,
		.serialize = gpu_serialize,
		.stream_end = gpu_stream_end,
		.stream_wait_until = gpu_stream_wait_until,
		.module_load = module_load,
		.module_unload = module_unload,
		.module_function = module_function,
		.function_name = module_function_name,
		.capture_begin = graph_capture_begin,
		.capture_end = graph_capture_end,
		.graph_instantiate = graph_instantiate,
		.graph_create = graph_create,
		.graph_add_kernel = graph_add_kernel,
		.graph_add_copy = graph_add_copy,
		.graph_add_set = graph_add_set,
		.graph_add_child = graph_add_child,
		.graph_condition = graph_condition,
		.graph_add_conditional = graph_add_conditional,
		.capture_begin_to = graph_capture_begin_to,
		.capture_graph = graph_captured,
		.graph_clone = graph_clone,
		.graph_update = graph_update,
		.graph_destroy = graph_destroy,
		.graph_exec_destroy = graph_exec_destroy,
		.counts = gpu_counts,
	};

	__atomic_store_n(&driver.launchers, driver_launchers(gpu_config()->internal_driver_calls),
			 __ATOMIC_RELEASE);
	__atomic_store_n(&driver.memory, driver_memory_calls(gpu_config()->internal_driver_calls),
			 __ATOMIC_RELEASE);
	return &driver;
}
