/* SPDX-License-Identifier: MIT */
/*
 * The tracks of a trace: rows in which viewers of timelines draw what happened.
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
 * What a place does not know (places.h) has a track of its own, "unknown device" or "without a
 * stream", so that every record is on a track.
 *
 * Slices on a track do not overlap. Where two would, as on a stream on which a graph runs kernels
 * at once, the later one goes to a further lane: a track with the same name and parent, which is
 * made when it is needed first and used again when it is free.
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
	TRACK_RANGES,
	TRACK_DEVICE,
	TRACK_RUNNING,
	TRACK_QUEUED,
	TRACK_STREAM,
};

#define TRACE_NO_TRACK UINT32_MAX

struct trace_track {
	uint32_t kind;      /* enum trace_track_kind */
	uint32_t parent;    /* a smaller number; TRACE_NO_TRACK: none, of a process */
	uint32_t base;      /* the first track of its lanes: itself, unless it is a further lane */
	uint32_t lane;      /* from 0 */
	struct place place; /* the parts that describe it */
};

/* How a place is used: 1 << enum timeline_kind of its records, and: */
#define TRACE_USE_RANGES (1u << 7) /* a launch's stack has NVTX ranges */

struct trace_tracks {
	struct trace_track *list; /* parents precede children */
	uint32_t count, capacity;
	uint32_t first_count; /* those that are there from the start; further lanes follow */
	uint32_t *thread_of, *stream_of; /* by place; TRACE_NO_TRACK: not used so */
	struct trace_lanes *lanes;       /* by number of a first track */
};

/* The tracks for the places of a result; `uses` has one entry for each. 0 or -ENOMEM. */
int trace_tracks_init(struct trace_tracks *tracks, const struct result *result,
		      const uint8_t *uses);
void trace_tracks_release(struct trace_tracks *tracks);

/*
 * A free lane for a slice that belongs on the track `base`, the lowest of the first 64; it is new
 * if the count of tracks has grown. TRACE_NO_TRACK: out of memory.
 */
uint32_t trace_tracks_take(struct trace_tracks *tracks, uint32_t base);
void trace_tracks_give_back(struct trace_tracks *tracks, uint32_t track);

/* Returns a thread's track of waits or of ranges, or TRACE_NO_TRACK. */
uint32_t trace_tracks_child(const struct trace_tracks *tracks, uint32_t thread,
			    enum trace_track_kind kind);

/* The counters of a device. */
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
 * The name of a track, for people; further lanes have that of the first. The first function leaves
 * out the number at the end of a process's and a thread's, for viewers that show it themselves.
 */
void trace_track_name(const struct result *result, const struct trace_track *track,
		      char name[TRACE_NAME_BYTES]);

void trace_track_whole_name(const struct result *result, const struct trace_track *track,
			    char name[TRACE_NAME_BYTES]);

/* The process's pid, and the thread's id: what can be one; 0: unknown, or a pid of several. */
uint32_t trace_track_pid(const struct result *result, const struct trace_track *track);
uint32_t trace_track_tid(const struct trace_track *track);

#endif
