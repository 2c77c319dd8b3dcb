// SPDX-License-Identifier: MIT
#include "cupti_trace/finalize.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include "cupti_trace/clock.h"
#include "cupti_trace/guest.h"

#define FIRST_SAFE 24 /* CUDA 12.6 */

/* One for the process: a copy of the library leaves once at a time. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t over;
	struct tracer *tracer;
	int (*driver_version)(int *version);
	void (*come_back)(void);
	int result;
	bool is_called, is_over, is_abandoned;
} attempt = {.lock = PTHREAD_MUTEX_INITIALIZER, .over = PTHREAD_COND_INITIALIZER};
static __thread bool asks; /* this thread makes the call */

void finalize_on_call(uint32_t domain, uint32_t cbid, const struct cupti_abi_callback_data *data)
{
	if (!asks || domain != CUPTI_ABI_DOMAIN_DRIVER_API ||
	    cbid != CUPTI_ABI_DRV_cuDriverGetVersion ||
	    data->callback_site == CUPTI_ABI_API_ENTER || attempt.is_called)
		return;
	attempt.is_called = true;
	attempt.result = attempt.tracer->api.cuptiFinalize();
}

static void *ask(void *unused)
{
	struct guest guest;
	bool is_abandoned;
	int version;

	(void)unused;
	guest_enter_briefly(&guest);
	asks = true;
	attempt.driver_version(&version);
	asks = false;
	pthread_mutex_lock(&attempt.lock);
	attempt.is_over = true;
	is_abandoned = attempt.is_abandoned;
	pthread_cond_signal(&attempt.over);
	pthread_mutex_unlock(&attempt.lock);
	if (is_abandoned)
		attempt.come_back();
	guest_leave(&guest);
	return NULL;
}

/* The program has loaded it. */
static bool find_call(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

	if (!driver)
		return false;
	*(void **)&attempt.driver_version = dlsym(driver, "cuDriverGetVersion");
	dlclose(driver); /* it stays: CUPTI needs it */
	return attempt.driver_version != NULL;
}

/* True: the call has come back. */
static bool wait_for_call(void)
{
	struct timespec until = clock_in_ms(FINALIZE_MS);
	int err = 0;

	pthread_mutex_lock(&attempt.lock);
	while (!attempt.is_over && err != ETIMEDOUT)
		err = pthread_cond_clockwait(&attempt.over, &attempt.lock, CLOCK_MONOTONIC, &until);
	attempt.is_abandoned = !attempt.is_over;
	pthread_mutex_unlock(&attempt.lock);
	return !attempt.is_abandoned;
}

static bool start_call(struct tracer *tracer, void (*come_back)(void))
{
	pthread_t thread;

	attempt.tracer = tracer;
	attempt.come_back = come_back;
	attempt.is_called = attempt.is_over = attempt.is_abandoned = false;
	if (!find_call() ||
	    tracer->api.cuptiEnableCallback(1, tracer->subscriber, CUPTI_ABI_DOMAIN_DRIVER_API,
					    CUPTI_ABI_DRV_cuDriverGetVersion) !=
		    CUPTI_ABI_SUCCESS ||
	    pthread_create(&thread, NULL, ask, NULL) != 0)
		return false;
	pthread_setname_np(thread, "profile-end");
	pthread_detach(thread);
	return true;
}

enum finalize_result finalize_cupti(struct tracer *tracer, void (*come_back)(void))
{
	const struct cupti_api *api = &tracer->api;
	uint64_t start = clock_now_ns();

	if (!api->cuptiFinalize || !tracer->subscribed || api->version < FIRST_SAFE) {
		tracer_notice(tracer, GPU_NOTICE_VERBOSE,
			      "cuptiFinalize: left out (%s, CUPTI API version %u)", api->path,
			      api->version);
		return FINALIZE_LEFT_OUT;
	}
	if (!start_call(tracer, come_back)) {
		tracer_notice(tracer, GPU_NOTICE_VERBOSE, "cuptiFinalize: no call to do it in");
		return FINALIZE_LEFT_OUT;
	}
	if (!wait_for_call()) {
		tracer_notice(tracer, GPU_NOTICE_VERBOSE, "cuptiFinalize: not back within %d ms",
			      FINALIZE_MS);
		return FINALIZE_LATE;
	}
	if (!attempt.is_called || attempt.result != CUPTI_ABI_SUCCESS) {
		tracer_notice(tracer, GPU_NOTICE_VERBOSE, "cuptiFinalize: %s",
			      attempt.is_called ? cupti_api_error(api, attempt.result)
						: "its call was not reported");
		return FINALIZE_LEFT_OUT;
	}
	tracer->subscribed = false;
	tracer_notice(tracer, GPU_NOTICE_VERBOSE, "cuptiFinalize: done in %" PRIu64 " us",
		      (clock_now_ns() - start) / 1000);
	return FINALIZE_DONE;
}
