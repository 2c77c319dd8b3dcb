// SPDX-License-Identifier: MIT
#include "profiler/shape/grouping.h"

#include <stdio.h>
#include <string.h>
#include "profiler/tables/kernel_class.h"
#include "profiler/tables/layer_name.h"

static const char *const words[GROUPING_PARTS] = {
	[PLACE_PROCESS] = "process", [PLACE_THREAD] = "thread",
	[PLACE_DEVICE] = "device",   [PLACE_CONTEXT] = "context",
	[PLACE_STREAM] = "stream",   [GROUPING_RANK] = "rank",
	[GROUPING_CLASS] = "class",  [GROUPING_OPERATOR] = "operator",
	[GROUPING_LAYER] = "layer",  [GROUPING_LAYER_KIND] = "layer-kind"};

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

		while (part < GROUPING_PARTS &&
		       (strlen(words[part]) != n || memcmp(words[part], text, n) != 0))
			part++;
		if (part == GROUPING_PARTS || memchr(grouping->parts, part, grouping->count))
			return false;
		grouping->parts[grouping->count++] = part;
		text += n;
		if (*text == ',' && !*++text)
			return false;
	}
	return grouping->count > 0;
}

bool grouping_has(const struct grouping *grouping, uint8_t part)
{
	return memchr(grouping->parts, part, grouping->count);
}

uint32_t grouping_mask(const struct grouping *grouping)
{
	uint32_t mask = 0;

	for (uint8_t i = 0; i < grouping->count; i++)
		mask |= 1u << grouping->parts[i];
	/* threads, devices and ranks are known by their process */
	if (mask & (1u << PLACE_THREAD | 1u << PLACE_DEVICE | 1u << GROUPING_RANK))
		mask |= 1u << PLACE_PROCESS;
	return mask & PLACES_ALL;
}

/* ---- parts that stacks tell ---- */

uint32_t grouping_frame(const struct result *r, uint8_t part, uint32_t stack)
{
	enum frame_class wanted = part == GROUPING_OPERATOR ? CLASS_OPERATOR : CLASS_LAYER;

	if (part == GROUPING_CLASS) {
		stack = result_work_stack(r, stack);
		return stack == RESULT_ROOT ? GROUPING_NONE : r->stacks[stack].frame;
	}
	for (; stack != RESULT_ROOT; stack = r->stacks[stack].outer)
		if (r->frames[r->stacks[stack].frame].class == wanted)
			return r->stacks[stack].frame;
	return GROUPING_NONE;
}

char *grouping_frame_text(const struct result *r, uint8_t part, uint32_t frame)
{
	if (frame == GROUPING_NONE)
		return strdup(part == GROUPING_CLASS      ? KERNEL_CLASS_OTHER
			      : part == GROUPING_OPERATOR ? NO_OPERATOR
							  : NO_LAYER);
	if (part == GROUPING_CLASS)
		return strdup(kernel_class_of(r->kernel_classes, &r->frames[frame]));
	if (part == GROUPING_LAYER_KIND)
		return layer_kind(r->frames[frame].name);
	return strdup(r->frames[frame].name);
}

/* ---- parts of a place ---- */

bool grouping_text(const struct place_names *names, const struct devices *devices,
		   const struct place *place, enum place_part part, char text[GROUPING_TEXT_BYTES])
{
	uint32_t process = place->part[PLACE_PROCESS], value;
	const struct process_info *process_info;
	const struct thread_info *thread;
	char label[DEVICE_LABEL_BYTES];

	if (part == GROUPING_RANK) {
		bool has_rank = place_names_rank(names, process, &value);

		snprintf(text, GROUPING_TEXT_BYTES, "[rank %u]", value);
		return has_rank;
	}
	value = place->part[part];
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
