/* SPDX-License-Identifier: MIT */
/* Activity attributes of the fake libcupti: stored, without effect; refused where they are newer.
 */
#include "cupti.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER since 12.3, _DEVICE_BUFFER_SIZE_DEVICE_GRAPHS 12.9
 */
enum { ATTRIBUTES = FAKE_CUPTI_VERSION >= 27 ? 11 : FAKE_CUPTI_VERSION >= 21 ? 10 : 9 };
static size_t attributes[ATTRIBUTES];

static int attribute_access(uint32_t attribute, size_t *value_size, void *value, bool set)
{
	int err;

	if (!value_size || !value)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	if (attribute >= ATTRIBUTES)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	if (*value_size < sizeof(size_t))
		return FAKE_CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
	err = cupti_attach();
	if (err)
		return err;
	pthread_mutex_lock(&lock);
	if (set)
		memcpy(&attributes[attribute], value, sizeof(size_t));
	else
		memcpy(value, &attributes[attribute], sizeof(size_t));
	pthread_mutex_unlock(&lock);
	*value_size = sizeof(size_t);
	return CUPTI_ABI_SUCCESS;
}

FAKE_CUDA_EXPORT int cuptiActivitySetAttribute(uint32_t attribute, size_t *value_size, void *value)
{
	return attribute_access(attribute, value_size, value, true);
}

FAKE_CUDA_EXPORT int cuptiActivityGetAttribute(uint32_t attribute, size_t *value_size, void *value)
{
	return attribute_access(attribute, value_size, value, false);
}
