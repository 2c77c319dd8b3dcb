// SPDX-License-Identifier: MIT
#include "cupti_trace/python/python_thread.h"

#include <stddef.h>

/* Position in _PyRuntime (autoTSSkey, Include/internal/pycore_runtime.h). */
static const struct place {
	uint16_t version, offset;
} places[] = {
	{0x0308, 1392}, {0x0309, 584}, {0x030a, 584}, {0x030b, 592}, {0x030c, 1544}, {0x030d, 2160},
};

const volatile struct python_thread_key *python_thread_find_key(uint64_t runtime, uint16_t version,
								uint64_t thread)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const volatile struct python_thread_key *key;

		if (places[i].version != version)
			continue;
		key = (const void *)(uintptr_t)(runtime + places[i].offset);
		return key->is_created &&
				       (uint64_t)(uintptr_t)pthread_getspecific(key->key) == thread
			       ? key
			       : NULL;
	}
	return NULL;
}
