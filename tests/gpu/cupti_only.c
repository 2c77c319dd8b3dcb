/* SPDX-License-Identifier: MIT */
/*
 * What CUPTI costs by itself: a library for CUDA_INJECTION64_PATH that has kernels recorded and
 * throws the records away. With CUPTI_ONLY=callback in the environment it also has itself called at
 * each cudaLaunchKernel, and does nothing there. Buffers are of 64 KiB, as profile's at most.
 */
#include <cupti.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER = 65536 };

static void on_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	(void)user;
	(void)domain;
	(void)id;
	(void)data;
}

static void give_buffer(uint8_t **buffer, size_t *size, size_t *records)
{
	*buffer = aligned_alloc(8, BUFFER);
	*size = *buffer ? BUFFER : 0;
	*records = 0;
}

static void take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			size_t valid)
{
	(void)context;
	(void)stream;
	(void)size;
	(void)valid;
	free(buffer);
}

int InitializeInjection(void)
{
	const char *how = getenv("CUPTI_ONLY");
	CUpti_SubscriberHandle subscriber;

	if (cuptiSubscribe(&subscriber, on_call, NULL) ||
	    cuptiActivityRegisterCallbacks(give_buffer, take_buffer) ||
	    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL))
		abort();
	if (how && strcmp(how, "callback") == 0 &&
	    cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API,
				CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000))
		abort();
	return 1;
}
