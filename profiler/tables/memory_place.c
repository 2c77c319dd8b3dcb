// SPDX-License-Identifier: MIT
#include "profiler/tables/memory_place.h"

#include <stdio.h>
#include "profiler/model/result.h"

const char *memory_process_name(const struct result *r, uint32_t process)
{
	const struct process_info *info =
		r->place_names ? place_names_process(r->place_names, process) : NULL;

	return info ? info->name : "";
}

const char *memory_place_text(const struct result *r, const struct memory_total *t,
			      char text[MEMORY_PLACE_BYTES])
{
	const char *process = memory_process_name(r, t->process);
	char label[DEVICE_LABEL_BYTES];

	if (r->device_names)
		devices_label(r->device_names, t->process, t->device, label);
	else
		snprintf(label, sizeof(label), "GPU %u", t->device);
	snprintf(text, MEMORY_PLACE_BYTES, "%s, %s%s%s", memory_kind_word(t->kind), label,
		 process[0] ? ", " : "", process);
	return text;
}
