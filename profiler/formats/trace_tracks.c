// SPDX-License-Identifier: MIT
#include "profiler/formats/trace_tracks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/array.h"
#include "symbolize/util/sorted.h"
#include "symbolize/util/text.h"

#define OF_STREAM (1u << TIMELINE_GPU_OPERATION)
#define OF_WAITS (1u << TIMELINE_WAIT)
#define OF_OFF_CPU (1u << TIMELINE_OFF_CPU)

enum { LOW_LANES = 64 };
#define LINUX_PIDS (UINT32_C(1) << 22) /* PID_MAX_LIMIT: programs may claim more */

/* Lanes of a track. */
struct trace_lanes {
	uint64_t busy;    /* bits of the lowest lanes */
	uint32_t *tracks; /* by lane, from 1 on */
	uint32_t count, capacity;
	uint32_t *spare; /* stack of free lanes beyond the lowest */
	uint32_t spare_count, spare_capacity;
};

/* A use of a place, by a thread or as a stream. Uses sort in the order of their tracks. */
struct use {
	uint32_t process;
	uint32_t is_stream;
	uint32_t parts[3]; /* thread; or device, context, stream */
	uint32_t place;
};

/* ---- making them ---- */

static int compare_uses(const void *a, const void *b)
{
	return compare_words(a, b, sizeof(struct use) / sizeof(uint32_t));
}

static uint32_t add(struct trace_tracks *t, enum trace_track_kind kind, uint32_t parent,
		    const struct use *use)
{
	struct place place = place_unknown();

	if (parent == TRACE_NO_TRACK && kind != TRACK_PROCESS)
		return TRACE_NO_TRACK; /* out of memory before */
	if (!array_make_room(&t->list, t->count, &t->capacity, sizeof(*t->list)))
		return TRACE_NO_TRACK;
	place.part[PLACE_PROCESS] = use->process;
	if (kind != TRACK_PROCESS)
		place.part[use->is_stream ? PLACE_DEVICE : PLACE_THREAD] = use->parts[0];
	if (kind == TRACK_STREAM) {
		place.part[PLACE_CONTEXT] = use->parts[1];
		place.part[PLACE_STREAM] = use->parts[2];
	}
	t->list[t->count] = (struct trace_track){
		.kind = kind, .parent = parent, .base = t->count, .place = place};
	return t->count++;
}

static uint32_t add_thread(struct trace_tracks *t, uint32_t process, const struct use *use,
			   uint8_t uses)
{
	uint32_t thread = add(t, TRACK_THREAD, process, use);

	if (uses & OF_WAITS && add(t, TRACK_WAITS, thread, use) == TRACE_NO_TRACK)
		return TRACE_NO_TRACK;
	if (uses & OF_OFF_CPU && add(t, TRACK_OFF_CPU, thread, use) == TRACE_NO_TRACK)
		return TRACE_NO_TRACK;
	if (uses & TRACE_USE_RANGES && add(t, TRACK_RANGES, thread, use) == TRACE_NO_TRACK)
		return TRACE_NO_TRACK;
	return thread;
}

static uint32_t add_device(struct trace_tracks *t, uint32_t process, const struct use *use)
{
	uint32_t device = add(t, TRACK_DEVICE, process, use);

	if (add(t, TRACK_RUNNING, device, use) == TRACE_NO_TRACK ||
	    add(t, TRACK_QUEUED, device, use) == TRACE_NO_TRACK)
		return TRACE_NO_TRACK;
	return device;
}

/* Adds the tracks of sorted uses. Returns false if out of memory. */
static bool add_tracks(struct trace_tracks *t, const struct use *uses, uint32_t count,
		       const uint8_t *uses_of)
{
	uint32_t process = TRACE_NO_TRACK, device = TRACE_NO_TRACK, track;

	for (uint32_t i = 0, next; i < count; i = next) {
		const struct use *use = &uses[i], *before = i ? use - 1 : NULL;
		bool is_new_process = !before || before->process != use->process;
		bool is_new_device =
			is_new_process || !before->is_stream || before->parts[0] != use->parts[0];
		uint8_t all = 0;

		for (next = i;
		     next < count && memcmp(&uses[next], use, offsetof(struct use, place)) == 0;
		     next++)
			all |= uses_of[uses[next].place];
		if (is_new_process)
			process = add(t, TRACK_PROCESS, TRACE_NO_TRACK, use);
		if (process == TRACE_NO_TRACK)
			return false;
		if (use->is_stream && is_new_device)
			device = add_device(t, process, use);
		track = use->is_stream ? add(t, TRACK_STREAM, device, use)
				       : add_thread(t, process, use, all);
		if (track == TRACE_NO_TRACK)
			return false;
		for (uint32_t k = i; k < next; k++)
			*(use->is_stream ? &t->stream_of[uses[k].place]
					 : &t->thread_of[uses[k].place]) = track;
	}
	return true;
}

/* Lists the uses of all places, sorted. Returns NULL if out of memory. */
static struct use *list_uses(const struct result *result, const uint8_t *uses, uint32_t *count)
{
	struct use *list = malloc((2 * (size_t)result->place_count + 1) * sizeof(*list));

	*count = 0;
	for (uint32_t i = 0; list && i < result->place_count; i++) {
		const uint32_t *part = result->places[i].part;

		if (uses[i] & (uint8_t)~OF_STREAM)
			list[(*count)++] = (struct use){.process = part[PLACE_PROCESS],
							.parts = {part[PLACE_THREAD]},
							.place = i};
		if (uses[i] & OF_STREAM)
			list[(*count)++] =
				(struct use){.process = part[PLACE_PROCESS],
					     .is_stream = 1,
					     .parts = {part[PLACE_DEVICE], part[PLACE_CONTEXT],
						       part[PLACE_STREAM]},
					     .place = i};
	}
	if (list)
		qsort(list, *count, sizeof(*list), compare_uses);
	return list;
}

int trace_tracks_init(struct trace_tracks *t, const struct result *result, const uint8_t *uses)
{
	size_t bytes = ((size_t)result->place_count + 1) * sizeof(uint32_t);
	uint32_t count;
	struct use *list = list_uses(result, uses, &count);
	bool is_done = false;

	*t = (struct trace_tracks){.thread_of = malloc(bytes), .stream_of = malloc(bytes)};
	if (list && t->thread_of && t->stream_of) {
		memset(t->thread_of, 0xff, bytes);
		memset(t->stream_of, 0xff, bytes);
		is_done = add_tracks(t, list, count, uses);
	}
	free(list);
	t->first_count = t->count;
	t->lanes = calloc(t->count + 1u, sizeof(*t->lanes));
	if (is_done && t->lanes)
		return 0;
	trace_tracks_release(t);
	return -ENOMEM;
}

void trace_tracks_release(struct trace_tracks *t)
{
	for (uint32_t i = 0; t->lanes && i < t->first_count; i++) {
		free(t->lanes[i].tracks);
		free(t->lanes[i].spare);
	}
	free(t->lanes);
	free(t->list);
	free(t->thread_of);
	free(t->stream_of);
	*t = (struct trace_tracks){0};
}

/* ---- lanes ---- */

static uint32_t track_of_lane(const struct trace_lanes *lanes, uint32_t base, uint32_t lane)
{
	return lane ? lanes->tracks[lane - 1] : base;
}

static uint32_t add_lane(struct trace_tracks *t, uint32_t base)
{
	struct trace_lanes *lanes = &t->lanes[base];

	/* also reserves room in `spare`: trace_tracks_give_back cannot fail */
	if (!array_make_room(&t->list, t->count, &t->capacity, sizeof(*t->list)) ||
	    !array_make_room(&lanes->tracks, lanes->count, &lanes->capacity,
			     sizeof(*lanes->tracks)) ||
	    !array_make_room(&lanes->spare, lanes->count, &lanes->spare_capacity,
			     sizeof(*lanes->spare)))
		return TRACE_NO_TRACK;
	t->list[t->count] = t->list[base];
	t->list[t->count].lane = lanes->count + 1;
	lanes->tracks[lanes->count++] = t->count;
	return t->count++;
}

uint32_t trace_tracks_take(struct trace_tracks *t, uint32_t base)
{
	struct trace_lanes *lanes = &t->lanes[base];
	uint32_t lane =
		lanes->busy == UINT64_MAX ? LOW_LANES : (uint32_t)__builtin_ctzll(~lanes->busy);
	uint32_t track;

	if (lane == LOW_LANES && lanes->spare_count)
		return track_of_lane(lanes, base, lanes->spare[--lanes->spare_count]);
	track = lane <= lanes->count && lane < LOW_LANES ? track_of_lane(lanes, base, lane)
							 : add_lane(t, base);
	if (lane < LOW_LANES && track != TRACE_NO_TRACK)
		lanes->busy |= UINT64_C(1) << lane;
	return track;
}

void trace_tracks_give_back(struct trace_tracks *t, uint32_t track)
{
	struct trace_lanes *lanes = &t->lanes[t->list[track].base];
	uint32_t lane = t->list[track].lane;

	if (lane < LOW_LANES)
		lanes->busy &= ~(UINT64_C(1) << lane);
	else
		lanes->spare[lanes->spare_count++] = lane;
}

/* ---- names and numbers ---- */

uint32_t trace_tracks_child(const struct trace_tracks *t, uint32_t thread,
			    enum trace_track_kind kind)
{
	for (uint32_t i = thread + 1; i < t->first_count && t->list[i].parent == thread; i++)
		if (t->list[i].kind == kind)
			return i;
	return TRACE_NO_TRACK;
}

/* Gives the name of a part of a place, or a text if the part is unknown. */
static void part_name(const struct result *result, const struct trace_track *track,
		      enum place_part part, const char *word, char text[GROUPING_TEXT_BYTES])
{
	uint32_t value = track->place.part[part];

	if (grouping_text(result->place_names, result->device_names, &track->place, part, text))
		return;
	if (value != PLACE_UNKNOWN)
		snprintf(text, GROUPING_TEXT_BYTES, "[%s %u]", word, value);
	else if (part == PLACE_STREAM) /* allocations and unified memory have none */
		snprintf(text, GROUPING_TEXT_BYTES, "without a stream");
	else
		snprintf(text, GROUPING_TEXT_BYTES, "unknown %s", word);
}

void trace_track_whole_name(const struct result *result, const struct trace_track *track,
			    char name[TRACE_NAME_BYTES])
{
	/* a fixed name; or the part of the place that has the name, and a word for the part */
	static const struct {
		const char *name;
		enum place_part part;
		const char *word;
	} kinds[] = {
		[TRACK_PROCESS] = {NULL, PLACE_PROCESS, "process"},
		[TRACK_THREAD] = {NULL, PLACE_THREAD, "thread"},
		[TRACK_WAITS] = {"waiting for the GPU"},
		[TRACK_OFF_CPU] = {"off the CPU"},
		[TRACK_RANGES] = {"NVTX ranges, as its launches show them"},
		[TRACK_DEVICE] = {NULL, PLACE_DEVICE, "device"},
		[TRACK_RUNNING] = {"operations running"},
		[TRACK_QUEUED] = {"operations launched, not started"},
		[TRACK_STREAM] = {NULL, PLACE_STREAM, "stream"},
	};
	char text[GROUPING_TEXT_BYTES];

	if (kinds[track->kind].name) {
		snprintf(name, TRACE_NAME_BYTES, "%s", kinds[track->kind].name);
		return;
	}
	part_name(result, track, kinds[track->kind].part, kinds[track->kind].word, name);
	if (track->kind != TRACK_STREAM || track->place.part[PLACE_CONTEXT] == PLACE_UNKNOWN)
		return;
	part_name(result, track, PLACE_CONTEXT, "context", text);
	append_text(name, TRACE_NAME_BYTES, ", %s", text);
}

/* Cuts the number off "python 4711". */
static void cut_number(char *text, uint32_t number)
{
	char end[16];
	size_t length = strlen(text), n = (size_t)snprintf(end, sizeof(end), " %u", number);

	if (number && length > n && strcmp(text + length - n, end) == 0)
		text[length - n] = '\0';
}

void trace_track_name(const struct result *result, const struct trace_track *track,
		      char name[TRACE_NAME_BYTES])
{
	trace_track_whole_name(result, track, name);
	if (track->kind == TRACK_PROCESS)
		cut_number(name, trace_track_pid(result, track));
	else if (track->kind == TRACK_THREAD)
		cut_number(name, trace_track_tid(track));
}

uint32_t trace_track_pid(const struct result *result, const struct trace_track *track)
{
	const struct process_info *info =
		place_names_process(result->place_names, track->place.part[PLACE_PROCESS]);

	return info && info->pid > 0 && !info->has_twin ? (uint32_t)info->pid : 0;
}

uint32_t trace_track_tid(const struct trace_track *track)
{
	uint32_t tid = track->place.part[PLACE_THREAD];

	return tid < LINUX_PIDS ? tid : 0;
}
