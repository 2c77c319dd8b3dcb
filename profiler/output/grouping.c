// SPDX-License-Identifier: MIT
#include "profiler/output/grouping.h"

#include <stdio.h>
#include <string.h>

static const char *const words[PLACE_PARTS] = {[PLACE_PROCESS] = "process",
					       [PLACE_THREAD] = "thread",
					       [PLACE_DEVICE] = "device",
					       [PLACE_CONTEXT] = "context",
					       [PLACE_STREAM] = "stream"};

const char *grouping_word(enum place_part part)
{
	return words[part];
}

bool grouping_parse(const char *text, struct grouping *grouping)
{
	memset(grouping, 0, sizeof(*grouping));
	while (*text) {
		size_t n = strcspn(text, ",");
		uint8_t part = 0;

		while (part < PLACE_PARTS &&
		       (strlen(words[part]) != n || memcmp(words[part], text, n) != 0))
			part++;
		if (part == PLACE_PARTS || memchr(grouping->parts, part, grouping->count))
			return false;
		grouping->parts[grouping->count++] = part;
		text += n;
		if (*text == ',' && !*++text)
			return false;
	}
	return grouping->count > 0;
}

uint32_t grouping_mask(const struct grouping *grouping)
{
	uint32_t mask = 0;

	for (uint8_t i = 0; i < grouping->count; i++)
		mask |= 1u << grouping->parts[i];
	/* threads and devices are known by their process */
	if (mask & (1u << PLACE_THREAD | 1u << PLACE_DEVICE))
		mask |= 1u << PLACE_PROCESS;
	return mask;
}

bool grouping_text(const struct place_names *names, const struct devices *devices,
		   const struct place *place, enum place_part part, char text[GROUPING_TEXT_BYTES])
{
	uint32_t process = place->part[PLACE_PROCESS], value = place->part[part];
	const struct process_info *process_info;
	const struct thread_info *thread;
	char label[DEVICE_LABEL_BYTES];

	if (value == PLACE_UNKNOWN)
		return false;
	switch (part) {
	case PLACE_PROCESS:
		process_info = place_names_process(names, process);
		if (!process_info)
			return false;
		snprintf(text, GROUPING_TEXT_BYTES, "%s", process_info->name);
		return true;
	case PLACE_THREAD:
		thread = place_names_thread(names, process, value);
		if (thread)
			snprintf(text, GROUPING_TEXT_BYTES, "%s", thread->name);
		else
			snprintf(text, GROUPING_TEXT_BYTES, "[thread %u]", value);
		return true;
	case PLACE_DEVICE:
		devices_label(devices, process, value, label);
		snprintf(text, GROUPING_TEXT_BYTES, "%s", label);
		return true;
	default:
		snprintf(text, GROUPING_TEXT_BYTES, "%s %u", words[part], value);
		return true;
	}
}
