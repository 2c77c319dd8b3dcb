// SPDX-License-Identifier: MIT
#include "profiler/shape/slice.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/shape/grouping.h"
#include "profiler/model/work_names.h"

#define PATTERN_MAX 1000 /* bytes: regcomp() recurses on the stack */

static const struct {
	const char *word;
	double ns;
} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"", 1e9}};

/* Parses `length` bytes, "1.5ms". An empty text is `otherwise`. Returns false for other texts. */
static bool parse_moment(const char *text, size_t length, uint64_t otherwise, uint64_t *ns)
{
	char number[32];
	size_t digits = strspn(text, "0123456789.");
	char *end;
	double value;

	*ns = otherwise;
	if (length == 0)
		return true;
	if (digits > length)
		digits = length;
	if (digits == 0 || digits >= sizeof(number))
		return false;
	memcpy(number, text, digits);
	number[digits] = '\0';
	value = strtod(number, &end);
	if (*end || !isdigit((unsigned char)number[strspn(number, ".")]))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].word) != length - digits ||
		    memcmp(units[i].word, text + digits, length - digits) != 0)
			continue;
		value = round(value * units[i].ns);
		*ns = value < 9e18 ? (uint64_t)value : UINT64_MAX;
		return true;
	}
	return false;
}

bool slice_parse_time(const char *text, struct slice *slice)
{
	const char *dots = strstr(text, "..");

	if (!dots || (dots == text && !dots[2]))
		return false;
	slice->has_time = true;
	slice->time_text = text;
	return parse_moment(text, (size_t)(dots - text), 0, &slice->from_ns) &&
	       parse_moment(dots + 2, strlen(dots + 2), UINT64_MAX, &slice->to_ns) &&
	       slice->from_ns < slice->to_ns;
}

/* Parses digits up to `end`. Returns false for other texts, and for too large a number. */
static bool parse_number(const char *text, const char *end, uint32_t *number)
{
	uint64_t value = 0;

	if (text == end)
		return false;
	for (; text < end; text++) {
		if (!isdigit((unsigned char)*text))
			return false;
		value = value * 10 + (uint64_t)(*text - '0');
		if (value >= UINT32_MAX)
			return false;
	}
	*number = (uint32_t)value;
	return true;
}

bool slice_parse_steps(const char *text, struct slice_steps *steps)
{
	const char *dots = strstr(text, ".."), *end = text + strlen(text);

	steps->has_numbers = true;
	steps->numbers_text = text;
	steps->first = 0;
	steps->end = UINT32_MAX;
	if (!dots) {
		if (!parse_number(text, end, &steps->first))
			return false;
		steps->end = steps->first + 1;
		return true;
	}
	if ((dots == text && !dots[2]) ||
	    (dots != text && !parse_number(text, dots, &steps->first)) ||
	    (dots[2] && !parse_number(dots + 2, end, &steps->end)))
		return false;
	return steps->first < steps->end;
}

#define LONGEST_NS (UINT64_C(365) * 24 * 3600 * 1000000000u)

bool slice_parse_duration(const char *text, uint64_t *ns)
{
	return parse_moment(text, strlen(text), 0, ns) && *ns > 0 && *ns <= LONGEST_NS;
}

bool slice_parse_match(const char *text, bool may_be_number, struct slice_match *match,
		       char error[SLICE_ERROR_BYTES])
{
	char *end;
	int err;

	memset(match, 0, sizeof(*match));
	if (may_be_number && isdigit((unsigned char)text[0])) {
		errno = 0;
		match->number = strtoull(text, &end, 10);
		match->is_number = !errno && !*end;
	}
	if (!text[0] || strlen(text) > PATTERN_MAX) {
		snprintf(error, SLICE_ERROR_BYTES,
			 text[0] ? "the pattern is longer than %d bytes" : "the pattern is empty",
			 PATTERN_MAX);
		return false;
	}
	err = match->is_number ? 0 : regcomp(&match->pattern, text, REG_EXTENDED | REG_NOSUB);
	if (err) {
		regerror(err, &match->pattern, error, SLICE_ERROR_BYTES);
		return false;
	}
	match->text = text;
	return true;
}

void slice_release_match(struct slice_match *match)
{
	if (match->text && !match->is_number)
		regfree(&match->pattern);
	match->text = NULL;
}

void slice_release(struct slice *slice)
{
	for (int i = 0; i < PLACE_PARTS; i++)
		slice_release_match(&slice->parts[i]);
	slice_release_match(&slice->kernel);
	slice_release_match(&slice->under);
	slice_release_match(&slice->not_under);
	slice_release_match(&slice->steps.name);
}

static bool has_place_parts(const struct slice *slice)
{
	for (int i = 0; i < PLACE_PARTS; i++)
		if (slice->parts[i].text)
			return true;
	return false;
}

bool slice_is_part(const struct slice *slice)
{
	return slice_is_of_time(slice) || slice->kinds || slice->kernel.text ||
	       slice_is_of_frames(slice) || has_place_parts(slice);
}

bool slice_has_steps(const struct slice *slice)
{
	const struct slice_steps *s = &slice->steps;

	return s->is_steady || s->has_numbers || s->range_count;
}

bool slice_is_of_time(const struct slice *slice)
{
	return slice->has_time || slice_has_steps(slice);
}

unsigned int slice_needs(const struct slice *slice)
{
	return slice_is_of_time(slice) ? NEEDS_TIMELINE : has_place_parts(slice) ? NEEDS_PLACES : 0;
}

/* ---- steps ---- */

uint32_t slice_range_after(const struct slice_steps *s, uint64_t ns)
{
	uint32_t low = 0, high = s->range_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (s->ranges[middle].to_ns > ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

bool slice_has_moment(const struct slice_steps *s, uint64_t ns)
{
	uint32_t at = slice_range_after(s, ns);

	return at < s->range_count && s->ranges[at].from_ns <= ns;
}

/* ---- places ---- */

/* Returns the number by which users know a part of a place. */
static uint64_t number_of(const struct result *result, const struct place *place,
			  enum place_part part)
{
	const struct process_info *process;

	if (part != PLACE_PROCESS)
		return place->part[part];
	process = place_names_process(result->place_names, place->part[PLACE_PROCESS]);
	return process ? (uint64_t)process->pid : UINT64_MAX;
}

static bool matches(const struct slice_match *match, const char *text)
{
	return regexec(&match->pattern, text, 0, NULL, 0) == 0;
}

/* Matches a device by its name and UUID. */
static bool has_device(const struct slice_match *match, const struct result *result,
		       const struct place *place)
{
	const struct device *device = devices_find(result->device_names, place->part[PLACE_PROCESS],
						   place->part[PLACE_DEVICE]);
	char uuid[DEVICE_UUID_BYTES];

	return device && ((device->is_described && matches(match, device->name)) ||
			  (device_has_uuid(device) && matches(match, device_uuid(device, uuid))));
}

static bool has_part(const struct slice_match *match, const struct result *result,
		     const struct place *place, enum place_part part)
{
	char text[GROUPING_TEXT_BYTES];

	if (!match->text)
		return true;
	if (place->part[part] == PLACE_UNKNOWN)
		return false;
	if (match->is_number)
		return number_of(result, place, part) == match->number;
	if (part == PLACE_DEVICE && has_device(match, result, place))
		return true;
	return grouping_text(result->place_names, result->device_names, place, part, text) &&
	       matches(match, text);
}

bool slice_is_of_gpu(const struct slice *slice)
{
	return slice->parts[PLACE_DEVICE].text || slice->parts[PLACE_CONTEXT].text ||
	       slice->parts[PLACE_STREAM].text;
}

bool slice_is_of_frames(const struct slice *slice)
{
	return slice->under.text || slice->not_under.text;
}

bool slice_is_under(const struct slice *slice, const char *name)
{
	return slice->under.text && matches(&slice->under, name);
}

bool slice_is_left_out(const struct slice *slice, const char *name)
{
	return slice->not_under.text && matches(&slice->not_under, name);
}

bool slice_has_place(const struct slice *slice, const struct result *result, uint32_t place)
{
	for (int i = 0; i < PLACE_PARTS; i++)
		if (!has_part(&slice->parts[i], result, &result->places[place], (enum place_part)i))
			return false;
	return true;
}

bool slice_has_work(const struct slice *slice, const struct frame_info *frame)
{
	return !slice->kernel.text ||
	       (frame->class == CLASS_GPU_KERNEL &&
		matches(&slice->kernel, frame->name + strlen(work_frame(GPU_WORK_KERNEL))));
}

/* ---- display ---- */

void slice_visit_options(const struct slice *slice, slice_option_visitor visit, void *context)
{
	const struct slice_steps *steps = &slice->steps;
	char option[24];

	if (slice->kinds)
		visit(context, slice->kinds == 1u << ROW_CPU ? "-cpu-only" : "-gpu-only", NULL);
	if (slice->has_time)
		visit(context, "--time", slice->time_text);
	if (steps->shown && steps->shown[0])
		visit(context, steps->shown, NULL);
	if (!steps->shown && steps->name.text)
		visit(context, "--steps", steps->name.text);
	if (!steps->shown && steps->is_steady)
		visit(context, "--steady", NULL);
	if (!steps->shown && steps->has_numbers)
		visit(context, "--step", steps->numbers_text);
	for (int i = 0; i < PLACE_PARTS; i++) {
		snprintf(option, sizeof(option), "--%s", grouping_word((enum place_part)i));
		if (slice->parts[i].text)
			visit(context, option, slice->parts[i].text);
	}
	if (slice->kernel.text)
		visit(context, "--kernel", slice->kernel.text);
	if (slice->under.text)
		visit(context, "--under", slice->under.text);
	if (slice->not_under.text)
		visit(context, "--not-under", slice->not_under.text);
}

static void print_option(void *out, const char *option, const char *value)
{
	fprintf(out, " %s%s%s", option, value ? " " : "", value ? value : "");
}

void slice_print(const struct slice *slice, FILE *out)
{
	slice_visit_options(slice, print_option, out);
}
