// SPDX-License-Identifier: MIT
#include "profiler/shape/module_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/text.h"

#define PAGE UINT64_C(4096)

/* Returns true for "libc.so.6" and "libcuda.so". */
static bool is_library(const char *path)
{
	for (const char *name = base_name(path); (name = strstr(name, ".so")); name++)
		if (name[3] == '\0' || name[3] == '.')
			return true;
	return false;
}

/* Returns the number of a frame's file. Returns NO_MODULE if out of memory. */
static uint32_t find_module(struct module_table *t, const struct frame_info *frame)
{
	uint32_t at = record_find(&t->modules, &frame->module);
	struct module_entry module = {.path = frame->module, .build_id = frame->build_id};

	if (at != RECORD_NONE)
		return at;
	module.is_library = is_library(module.path);
	return record_add(&t->modules, &module.path, &module);
}

int module_table_init(struct module_table *t, const struct result *result)
{
	memset(t, 0, sizeof(*t));
	t->of_frame = calloc(result->frame_count + 1u, sizeof(*t->of_frame));
	if (!t->of_frame)
		return -ENOMEM;
	for (uint32_t i = 0; i < result->frame_count; i++) {
		const struct frame_info *frame = &result->frames[i];
		uint32_t at = frame->module ? find_module(t, frame) : NO_MODULE;

		if (frame->module && at == NO_MODULE)
			return -ENOMEM;
		if (at != NO_MODULE && t->modules.list[at].last < frame->offset)
			t->modules.list[at].last = frame->offset;
		t->of_frame[i] = at;
	}
	return 0;
}

void module_table_release(struct module_table *t)
{
	free(t->of_frame);
	record_set_release(&t->modules.set);
}

uint64_t module_end(const struct module_entry *module)
{
	uint64_t end = (module->last | (PAGE - 1)) + 1;

	return end ? end : UINT64_MAX;
}
