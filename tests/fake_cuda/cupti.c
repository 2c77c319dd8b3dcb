/* SPDX-License-Identifier: MIT */
/* The fake libcupti: attaching to the driver, the single subscriber, and callbacks. */
#define _GNU_SOURCE
#include "cupti.h"
#include "range_profiler.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_CBID = 1024 };

static struct {
	pthread_mutex_t lock;
	bool attached, forked;
	const struct fake_cuda_driver *driver;
	bool subscribed;
	char name[64]; /* the subscriber's, "" if it gave none */
	cupti_abi_callback callback;
	void *userdata;
	uint8_t enabled[4][MAX_CBID]; /* [domain][cbid] */
	unsigned long misuses;
} cupti = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const uint32_t domain_size[4] = {
	[CUPTI_ABI_DOMAIN_DRIVER_API] = FAKE_DRV_SIZE,
	[CUPTI_ABI_DOMAIN_RUNTIME_API] = FAKE_RT_SIZE,
	[CUPTI_ABI_DOMAIN_RESOURCE] = FAKE_RESOURCE_SIZE,
};

unsigned long cupti_env(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : 0;
}

bool cupti_setting_is(const char *name, const char *value)
{
	const char *text = getenv(name);

	return text && strcmp(text, value) == 0;
}

void cupti_misuse(const char *what)
{
	__atomic_add_fetch(&cupti.misuses, 1, __ATOMIC_RELAXED);
	if (!cupti_env("FAKE_CUDA_STRICT"))
		return;
	fprintf(stderr, "fake libcupti: pid %d: %s\n", (int)getpid(), what);
	abort();
}

FAKE_CUDA_EXPORT unsigned long fake_cupti_misuses(void)
{
	return __atomic_load_n(&cupti.misuses, __ATOMIC_RELAXED);
}

static void after_fork_in_child(void)
{
	cupti.forked = true;
}

bool cupti_forked(void)
{
	return cupti.forked;
}

const struct fake_cuda_driver *cupti_driver(void)
{
	return cupti.driver;
}

/* True if the client wants this callback; sets *callback to its function. */
static bool wanted(uint32_t domain, uint32_t cbid, cupti_abi_callback *callback, void **userdata)
{
	if (cbid >= MAX_CBID || !__atomic_load_n(&cupti.enabled[domain][cbid], __ATOMIC_ACQUIRE))
		return false;
	*callback = __atomic_load_n(&cupti.callback, __ATOMIC_ACQUIRE);
	*userdata = cupti.userdata;
	return *callback != NULL;
}

/*
 * The runtime's calls that the calling thread is in, as CUPTI sees it: an entry callback begins
 * one, an exit callback ends it. With 13.0, if it is turned off in between, the call never ends,
 * and everything that follows is within it.
 */
static __thread struct {
	uint32_t depth, correlation_id; /* the outermost call's */
} open_calls;

/* For a callback of the runtime. False: CUPTI takes the thread to be in no call that could end. */
static bool count_open(const struct fake_cuda_call *call, uint32_t site)
{
	if (site == CUPTI_ABI_API_ENTER) {
		if (open_calls.depth++ == 0)
			open_calls.correlation_id = call->correlation_id;
		return true;
	}
	if (open_calls.depth == 0)
		return false;
	open_calls.depth--;
	return true;
}

static void on_api(struct fake_cuda_call *call, uint32_t site)
{
	struct cupti_abi_callback_data data;
	cupti_abi_callback callback;
	void *userdata;

	range_profiler_call(call, site);
	if (site == CUPTI_ABI_API_ENTER && !call->outer && open_calls.depth > 0)
		call->correlation_id = open_calls.correlation_id;
	if (!wanted(call->domain, call->cbid, &callback, &userdata)) {
		if (FAKE_CUPTI_VERSION < 130000 && site == CUPTI_ABI_API_EXIT &&
		    call->domain == CUPTI_ABI_DOMAIN_RUNTIME_API && call->is_called_for)
			open_calls.depth--;
		return;
	}
	if (call->domain == CUPTI_ABI_DOMAIN_RUNTIME_API && !count_open(call, site))
		return;
	call->is_called_for = true;
	data = (struct cupti_abi_callback_data){
		.callback_site = site,
		.function_name = call->name,
		.function_params = call->params,
		.function_return_value = call->result,
		.symbol_name = call->symbol,
		.context = call->context,
		.context_uid = call->context_id,
		.correlation_data = &call->correlation_data,
		.correlation_id = call->correlation_id,
	};
	callback(userdata, call->domain, call->cbid, &data);
}

static void on_activity(const struct fake_cuda_activity *activity)
{
	struct fake_cuda_activity seen = *activity;
	unsigned long records = range_profiler_run(&seen);

	for (unsigned long i = 0; i < records; i++)
		cupti_activity(&seen);
}

static void on_resource(uint32_t cbid, const struct fake_cuda_resource *resource)
{
	cupti_abi_callback callback;
	void *userdata;
	struct cupti_abi_resource_data data = {resource->context, resource->stream,
					       resource->descriptor};

	if (wanted(CUPTI_ABI_DOMAIN_RESOURCE, cbid, &callback, &userdata))
		callback(userdata, CUPTI_ABI_DOMAIN_RESOURCE, cbid, &data);
}

static int attach_locked(void)
{
	static const struct fake_cuda_hooks hooks = {
		.api = on_api,
		.activity = on_activity,
		.resource = on_resource,
	};
	const struct fake_cuda_driver *(*get)(void) = NULL;
	void *library;

	if (cupti.attached)
		return CUPTI_ABI_SUCCESS;
	library = dlopen("libcuda.so.1", RTLD_NOW);
	if (library)
		*(void **)&get = dlsym(library, "fake_cuda_get_driver");
	if (!get || get()->size != sizeof(*cupti.driver))
		return CUPTI_ABI_ERROR_NOT_INITIALIZED;
	cupti.driver = get();
	cupti.attached = true;
	pthread_atfork(NULL, NULL, after_fork_in_child);
	cupti.driver->set_hooks(&hooks);
	return CUPTI_ABI_SUCCESS;
}

int cupti_attach(void)
{
	int err;

	if (cupti.forked) {
		cupti_misuse("CUPTI called in a forked child of a process that uses CUDA");
		return CUPTI_ABI_ERROR_NOT_INITIALIZED;
	}
	pthread_mutex_lock(&cupti.lock);
	err = attach_locked();
	pthread_mutex_unlock(&cupti.lock);
	return err;
}

FAKE_CUDA_EXPORT int cuptiGetVersion(uint32_t *version)
{
	if (!version)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	*version = FAKE_CUPTI_VERSION;
	return CUPTI_ABI_SUCCESS;
}

FAKE_CUDA_EXPORT int cuptiGetTimestamp(uint64_t *timestamp)
{
	int err;

	if (!timestamp)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	err = cupti.forked ? CUPTI_ABI_SUCCESS : cupti_attach(); /* measured: works after a fork */
	if (!err)
		*timestamp = cupti.driver->cupti_time(cupti.driver->now());
	return err;
}

FAKE_CUDA_EXPORT int cuptiGetResultString(uint32_t result, const char **string)
{
	static const struct {
		uint32_t result;
		const char *text;
	} strings[] = {
		{CUPTI_ABI_SUCCESS, "CUPTI_SUCCESS"},
		{CUPTI_ABI_ERROR_INVALID_PARAMETER, "CUPTI_ERROR_INVALID_PARAMETER"},
		{FAKE_CUPTI_ERROR_INVALID_OPERATION, "CUPTI_ERROR_INVALID_OPERATION"},
		{FAKE_CUPTI_ERROR_OUT_OF_MEMORY, "CUPTI_ERROR_OUT_OF_MEMORY"},
		{FAKE_CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT,
		 "CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT"},
		{CUPTI_ABI_ERROR_MAX_LIMIT_REACHED, "CUPTI_ERROR_MAX_LIMIT_REACHED"},
		{FAKE_CUPTI_ERROR_NOT_COMPATIBLE, "CUPTI_ERROR_NOT_COMPATIBLE"},
		{CUPTI_ABI_ERROR_NOT_INITIALIZED, "CUPTI_ERROR_NOT_INITIALIZED"},
		{PROFILER_ABI_ERROR_INVALID_METRIC_NAME, "CUPTI_ERROR_INVALID_METRIC_NAME"},
		{CUPTI_ABI_ERROR_INVALID_KIND, "CUPTI_ERROR_INVALID_KIND"},
		{CUPTI_ABI_ERROR_NOT_SUPPORTED, "CUPTI_ERROR_NOT_SUPPORTED"},
		{PROFILER_ABI_ERROR_HARDWARE_BUSY, "CUPTI_ERROR_HARDWARE_BUSY"},
		{PROFILER_ABI_ERROR_MIG, "CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED"},
		{FAKE_CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED,
		 "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED"},
		{CUPTI_ABI_ERROR_INSUFFICIENT_PRIVILEGES, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"},
		{CUPTI_ABI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
		 "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"},
		{CUPTI_ABI_ERROR_UNKNOWN, "CUPTI_ERROR_UNKNOWN"},
	};

	if (!string)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
		if (strings[i].result == result) {
			*string = strings[i].text;
			return CUPTI_ABI_SUCCESS;
		}
	}
	return CUPTI_ABI_ERROR_INVALID_PARAMETER;
}

static const char *name_of(uint32_t domain, uint32_t cbid)
{
	/* as CUPTI writes them: of the runtime with the CUDA version that each came with */
#define X(name, id)       \
	if (cbid == (id)) \
		return #name "_v7000";
	if (domain == CUPTI_ABI_DOMAIN_RUNTIME_API) {
		FAKE_RUNTIME_FUNCTIONS(X)
		return "cudaOfNoInterest_v7000";
	}
#undef X
#define X(name, id)       \
	if (cbid == (id)) \
		return #name;
	FAKE_DRIVER_FUNCTIONS(X)
#undef X
	return "cuOfNoInterest";
}

/* Needs no driver. */
FAKE_CUDA_EXPORT int cuptiGetCallbackName(uint32_t domain, uint32_t cbid, const char **name)
{
	if (!name ||
	    (domain != CUPTI_ABI_DOMAIN_RUNTIME_API && domain != CUPTI_ABI_DOMAIN_DRIVER_API))
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	if (cbid >= domain_size[domain])
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	*name = cbid ? name_of(domain, cbid) : "INVALID";
	return CUPTI_ABI_SUCCESS;
}

FAKE_CUDA_EXPORT int cuptiGetLastError(void)
{
	return CUPTI_ABI_SUCCESS;
}

/* Returns whether FAKE_CUDA_SUBSCRIBE_ERROR is meant for this copy of the library. */
static bool is_refused(void)
{
	const char *part = getenv("FAKE_CUDA_SUBSCRIBE_ERROR_IN");
	Dl_info info;

	return !part || (dladdr(&cupti, &info) && info.dli_fname && strstr(info.dli_fname, part));
}

/* The first subscription waits for the GPU: seconds, where its streams are always full. */
static void wait_for_gpu(void)
{
	static bool has_waited;
	unsigned long ms = has_waited ? 0 : cupti_env("FAKE_CUDA_SUBSCRIBE_MS");
	struct timespec left = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};

	has_waited = true;
	while (nanosleep(&left, &left) != 0)
		;
}

static int subscribe(cupti_abi_subscriber *subscriber, cupti_abi_callback callback, void *userdata)
{
	unsigned long forced = is_refused() ? cupti_env("FAKE_CUDA_SUBSCRIBE_ERROR") : 0;
	int err;

	wait_for_gpu();

	if (!subscriber)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	if (forced)
		return (int)forced;
	err = cupti_attach();
	if (err)
		return cupti.forked ? err : CUPTI_ABI_ERROR_UNKNOWN; /* measured: 999 */
	pthread_mutex_lock(&cupti.lock);
	if (cupti.subscribed) {
		err = CUPTI_ABI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	} else {
		cupti.subscribed = true;
		cupti.userdata = userdata;
		__atomic_store_n(&cupti.callback, callback, __ATOMIC_RELEASE);
		*subscriber = &cupti;
	}
	pthread_mutex_unlock(&cupti.lock);
	return err;
}

static int subscribe_as(cupti_abi_subscriber *subscriber, cupti_abi_callback callback,
			void *userdata, struct cupti_abi_subscriber_params *params)
{
	int err;

	if (params && params->struct_size != sizeof(*params))
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	err = subscribe(subscriber, callback, userdata);
	if (!err && params && params->subscriber_name)
		snprintf(cupti.name, sizeof(cupti.name), "CUPTI for %s", params->subscriber_name);
	if (err == CUPTI_ABI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && params &&
	    params->old_subscriber_name)
		snprintf(params->old_subscriber_name, params->old_subscriber_size, "%s",
			 cupti.name);
	if (!err && !params)
		cupti.name[0] = '\0';
	return err;
}

#if FAKE_CUPTI_VERSION >= 130000
FAKE_CUDA_EXPORT int cuptiSubscribe_v2(cupti_abi_subscriber *subscriber,
				       cupti_abi_callback callback, void *userdata,
				       struct cupti_abi_subscriber_params *params)
{
	return subscribe_as(subscriber, callback, userdata, params);
}
#endif

/* As in 13.0, the older function calls the newer: both return the newer's result. */
FAKE_CUDA_EXPORT int cuptiSubscribe(cupti_abi_subscriber *subscriber, cupti_abi_callback callback,
				    void *userdata)
{
#if FAKE_CUPTI_VERSION >= 130000
	int err = cuptiSubscribe_v2(subscriber, callback, userdata, NULL);
#else
	int err = subscribe_as(subscriber, callback, userdata, NULL);
#endif

	__asm__ volatile("" ::: "memory"); /* no tail call */
	return err;
}

/* With the lock held. */
static bool is_subscriber(cupti_abi_subscriber subscriber)
{
	return cupti.subscribed && subscriber == &cupti;
}

FAKE_CUDA_EXPORT int cuptiUnsubscribe(cupti_abi_subscriber subscriber)
{
	int err = cupti_attach();

	if (err)
		return err;
	pthread_mutex_lock(&cupti.lock);
	if (is_subscriber(subscriber)) {
		for (uint32_t domain = 0; domain < 4; domain++)
			for (uint32_t i = 0; i < MAX_CBID; i++)
				__atomic_store_n(&cupti.enabled[domain][i], 0, __ATOMIC_RELEASE);
		__atomic_store_n(&cupti.callback, NULL, __ATOMIC_RELEASE);
		cupti.subscribed = false;
	} else {
		err = CUPTI_ABI_ERROR_INVALID_PARAMETER;
	}
	pthread_mutex_unlock(&cupti.lock);
	return err;
}

/* Enable or disable the callbacks [first, end) of a domain. */
static int set_enabled(uint32_t enable, cupti_abi_subscriber subscriber, uint32_t domain,
		       uint32_t first, uint32_t end)
{
	int err = cupti_attach();

	if (err)
		return err;
	pthread_mutex_lock(&cupti.lock);
	if (!is_subscriber(subscriber))
		err = CUPTI_ABI_ERROR_INVALID_PARAMETER;
	for (uint32_t i = first; !err && i < end; i++)
		__atomic_store_n(&cupti.enabled[domain][i], enable != 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&cupti.lock);
	return err;
}

FAKE_CUDA_EXPORT int cuptiEnableCallback(uint32_t enable, cupti_abi_subscriber subscriber,
					 uint32_t domain, uint32_t cbid)
{
	if (domain >= 4 || !cbid || cbid >= domain_size[domain])
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	return set_enabled(enable, subscriber, domain, cbid, cbid + 1);
}

FAKE_CUDA_EXPORT int cuptiEnableDomain(uint32_t enable, cupti_abi_subscriber subscriber,
				       uint32_t domain)
{
	if (domain >= 4 || !domain_size[domain])
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	return set_enabled(enable, subscriber, domain, 1, domain_size[domain]);
}

/* A graph begins with its id, an executable graph with its graph. */
FAKE_CUDA_EXPORT int cuptiGetGraphId(void *graph, uint32_t *id)
{
	if (!graph || !id)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	memcpy(id, graph, sizeof(*id));
	return CUPTI_ABI_SUCCESS;
}

#if FAKE_CUPTI_VERSION >= 21
FAKE_CUDA_EXPORT int cuptiGetGraphExecId(void *exec, uint32_t *id)
{
	void *graph;

	if (!exec || !id)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	memcpy(&graph, exec, sizeof(graph));
	return cuptiGetGraphId(graph, id);
}
#endif

FAKE_CUDA_EXPORT int cuptiGetGraphNodeId(void *node, uint64_t *id)
{
	if (!node || !id)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	if (cupti_env("FAKE_CUDA_HIDE_NODES"))
		return CUPTI_ABI_ERROR_UNKNOWN;
	memcpy(id, node, sizeof(*id));
	return CUPTI_ABI_SUCCESS;
}

#if FAKE_CUPTI_VERSION >= 21
/* No kernel launches graphs here. */
FAKE_CUDA_EXPORT int cuptiActivityEnableDeviceGraph(uint8_t enable)
{
	(void)enable;
	return CUPTI_ABI_SUCCESS;
}
#endif

FAKE_CUDA_EXPORT int cuptiGetContextId(void *context, uint32_t *id)
{
	int err = cupti_attach();

	if (err)
		return err;
	if (!context || !id)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	*id = cupti.driver->context_id(context);
	return CUPTI_ABI_SUCCESS;
}

FAKE_CUDA_EXPORT int cuptiGetDeviceId(void *context, uint32_t *id)
{
	int err = cupti_attach();

	if (err)
		return err;
	if (!context || !id)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	*id = cupti.driver->device_id(context);
	return CUPTI_ABI_SUCCESS;
}

FAKE_CUDA_EXPORT int cuptiGetStreamIdEx(void *context, void *stream, uint8_t per_thread,
					uint32_t *id)
{
	int err = cupti_attach();

	(void)per_thread; /* says which default stream NULL is */
	if (err)
		return err;
	if (!id)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	return cupti.driver->stream_number(context, stream, id) ? FAKE_CUPTI_ERROR_INVALID_STREAM
								: CUPTI_ABI_SUCCESS;
}
