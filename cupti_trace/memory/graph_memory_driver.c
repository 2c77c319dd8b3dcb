// SPDX-License-Identifier: MIT
#include "cupti_trace/memory/graph_memory_driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

#define RESERVED_NOW 2u /* CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT */

static int (*ask_driver)(int device, uint32_t attribute, void *value);

static void find_driver(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

	if (!driver)
		return;
	*(void **)&ask_driver = dlsym(driver, "cuDeviceGetGraphMemAttribute");
	if (!ask_driver)
		dlclose(driver);
}

bool graph_memory_driver_can_tell(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_driver);
	return ask_driver != NULL;
}

bool graph_memory_driver_tell(uint32_t device, uint64_t *bytes)
{
	*bytes = 0;
	return graph_memory_driver_can_tell() && ask_driver((int)device, RESERVED_NOW, bytes) == 0;
}
