/* SPDX-License-Identifier: MIT */
/*
 * What being called at launches costs, measured within one process: rounds of two processes differ
 * by more than what a callback takes. To be built as a file "libcupti.so", linked with the real
 * libcupti, and preloaded: then it is the libcupti that profile finds (cupti_trace/cupti_api.h),
 * and what it does not define comes from the real one.
 *
 * It remembers for which functions of the runtime and the driver the subscriber wants to be called.
 * The program, which calls cupti_toggle through dlsym, has these calls on or off while the records
 * of what the GPU does go on: launch_cost and train_toggled.py do that, in turn. Calls may also end
 * here, as if the subscriber did nothing: what CUPTI takes to make them.
 */
#define _GNU_SOURCE
#include <cupti.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#define CBIDS 1024u

enum { RUNTIME = 1, DRIVER = 2, EMPTY = 4 };

static CUpti_SubscriberHandle subscriber;
static CUpti_CallbackFunc subscribers_callback;
static uint8_t wanted[CBIDS]; /* RUNTIME, DRIVER, both */
static unsigned int on = RUNTIME | DRIVER;

static void *real(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (!function)
		abort();
	return function;
}

static unsigned int bit_of(CUpti_CallbackDomain domain)
{
	return domain == CUPTI_CB_DOMAIN_RUNTIME_API  ? RUNTIME
	       : domain == CUPTI_CB_DOMAIN_DRIVER_API ? DRIVER
						      : 0;
}

static CUptiResult enable(uint32_t want, CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
	CUptiResult (*function)(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain,
				CUpti_CallbackId) = real("cuptiEnableCallback");

	return function(want, subscriber, domain, id);
}

/* Its last act is the call, so it is not in the stacks that the subscriber takes. */
static void CUPTIAPI pass_on(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			     const void *data)
{
	if (!(on & EMPTY) || !bit_of(domain))
		subscribers_callback(user, domain, id, data);
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback, void *user)
{
	CUptiResult (*function)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *) =
		real("cuptiSubscribe");
	CUptiResult result;

	subscribers_callback = callback;
	result = function(handle, pass_on, user);

	if (result == CUPTI_SUCCESS)
		subscriber = *handle;
	return result;
}

CUptiResult cuptiEnableCallback(uint32_t want, CUpti_SubscriberHandle handle,
				CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
	unsigned int bit = bit_of(domain);

	(void)handle;
	if (bit && id < CBIDS)
		wanted[id] = (uint8_t)(want ? wanted[id] | bit : wanted[id] & ~bit);
	return bit && want && !(on & bit) ? CUPTI_SUCCESS : enable(want, domain, id);
}

/* WANT: RUNTIME, DRIVER, both or none; with EMPTY nothing comes of the calls. Returns how many
 * functions the subscriber wants to be called for, in both domains. */
unsigned int cupti_toggle(unsigned int want)
{
	unsigned int count = 0;

	for (uint32_t id = 0; id < CBIDS; id++) {
		if (wanted[id] & RUNTIME)
			count++, enable(!!(want & RUNTIME), CUPTI_CB_DOMAIN_RUNTIME_API, id);
		if (wanted[id] & DRIVER)
			count++, enable(!!(want & DRIVER), CUPTI_CB_DOMAIN_DRIVER_API, id);
	}
	on = want;
	return count;
}
