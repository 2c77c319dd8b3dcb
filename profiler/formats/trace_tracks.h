/* SPDX-License-Identifier: MIT */
/*
 * Makes the tracks of a trace: rows in which viewers of timelines draw events.
 *
 *	process                     "train.py 4711"
 *	  thread                    "python 4711": its launches and timed calls
 *	    waits                   its waits for the GPU
 *	    ranges                  its NVTX ranges
 *	  device                    "GPU 0"; holds no events
 *	    running                 a counter: operations that run
 *	    queued                  a counter: operations launched but not started
 *	    stream                  "stream 7, context 1": GPU operations
 *
 * An unknown part of a place (places.h) has a track of its own: "unknown device", or "without a
 * stream". So every record is on a track.
 *
 * Slices on a track do not overlap. A stream on which a graph runs several kernels at once has
 * slices that would. The later slice then goes to a further lane: a track with an equal name and
 * parent, which is made on demand, and reused once it is free.
 */
#ifndef PROFILER_FORMATS_TRACE_TRACKS_H
#define PROFILER_FORMATS_TRACE_TRACKS_H

#include <stddef.h>
#include <stdint.h>
#include "profiler/shape/grouping.h"
#include "profiler/model/result.h"

enum trace_track_kind {
	TRACK_PROCESS,
	TRACK_THREAD,
	TRACK_WAITS,
	TRACK_OFF_CPU,
	TRACK_RANGES,
	TRACK_DEVICE,
	TRACK_RUNNING,
	TRACK_QUEUED,
	TRACK_STREAM,
};

#define TRACE_NO_TRACK UINT32_MAX

struct trace_track {
	uint32_t kind;      /* enum trace_track_kind */
	uint32_t parent;    /* a smaller number; TRACE_NO_TRACK for a process */
	uint32_t base;      /* the first lane; itself, if it is no further lane */
	uint32_t lane;      /* from 0 */
	struct place place; /* other parts are PLACE_UNKNOWN */
};

/* Uses of a place are bits: 1 << enum timeline_kind for its records, and this one. */
#define TRACE_USE_RANGES (1u << 7) /* a launch's stack has NVTX ranges */

struct trace_tracks {
	struct trace_track *list; /* parents precede children */
	uint32_t count, capacity;
	uint32_t first_count; /* tracks made by trace_tracks_init; further lanes follow */
	uint32_t *thread_of, *stream_of; /* by place; TRACE_NO_TRACK: unused */
	struct trace_lanes *lanes;       /* by number of a first lane */
};

/* Makes tracks for the places of a result, by their `uses`. Returns 0, or -ENOMEM. */
int trace_tracks_init(struct trace_tracks *tracks, const struct result *result,
		      const uint8_t *uses);
void trace_tracks_release(struct trace_tracks *tracks);

/*
 * Takes a free lane of the track `base` for a slice: the lowest of the first 64 lanes, or any
 * other. The lane is new if the count of tracks has grown. Returns TRACE_NO_TRACK if out of
 * memory.
 */
uint32_t trace_tracks_take(struct trace_tracks *tracks, uint32_t base);
void trace_tracks_give_back(struct trace_tracks *tracks, uint32_t track);

/* Returns a thread's track of waits or of ranges, or TRACE_NO_TRACK. */
uint32_t trace_tracks_child(const struct trace_tracks *tracks, uint32_t thread,
			    enum trace_track_kind kind);

/* Returns the track of a counter of a device. */
static inline uint32_t trace_tracks_running(uint32_t device)
{
	return device + 1;
}

static inline uint32_t trace_tracks_queued(uint32_t device)
{
	return device + 2;
}

#define TRACE_NAME_BYTES (2 * GROUPING_TEXT_BYTES + 2)

/*
 * Gives the name of a track, for people. Further lanes have the name of the first.
 *
 * trace_track_name leaves out the number at the end of a process or a thread: viewers show it.
 * trace_track_whole_name does not.
 */
void trace_track_name(const struct result *result, const struct trace_track *track,
		      char name[TRACE_NAME_BYTES]);

void trace_track_whole_name(const struct result *result, const struct trace_track *track,
			    char name[TRACE_NAME_BYTES]);

/* Returns the pid of a process, or the id of a thread; 0: unknown, impossible or ambiguous. */
uint32_t trace_track_pid(const struct result *result, const struct trace_track *track);
uint32_t trace_track_tid(const struct trace_track *track);

#endif
