/* SPDX-License-Identifier: MIT */
/*
 * One record for each CPU sample, launch, GPU operation, wait and timed call, for outputs that show
 * the course of a run and not only its sums.
 *
 * A run has tens of millions of records, so they are kept in a file, at 56 bytes each: 25 million
 * take 1.4 GB. The file has no name, so it disappears when the profiler ends, however it ends. It
 * is in a folder of the caller's choice, preferably the output's: the user can write there, and it
 * has room, unlike many a /tmp.
 *
 * Records refer to repeated data by number: the place to the run's places (places.h), the stack to
 * the run's stacks as collected (stack_table.h), or in a file that was read, to those of the
 * result; outputs find the named stack with result_record_stack (result.h). The distinct launch
 * shapes of kernels are kept here, in memory.
 *
 * A listener gets records at once, whether they are kept or not: what needs no file of them
 * (timeline_listen).
 *
 * First all records are added, then they are read, in the order in which they were added. This is
 * not the order of time: readers sort.
 *
 * The file takes at most half of the room that its file system has: the other half is for the
 * outputs, and for the program that is profiled. If the outputs need still more,
 * timeline_give_room returns some.
 *
 * Losses are counted; the run continues, and records kept before stay readable. Records are lost if
 *  - the file may not grow, as above (-ENOSPC), or cannot: a quota or RLIMIT_FSIZE is reached (the
 *    caller blocks or ignores SIGXFSZ), or writing fails. Nothing is kept from then on, and up to
 *    1 MiB of records added just before is lost too;
 *  - there are more than TIMELINE_RECORDS;
 *  - there is no memory to mark the record's stack as used: 1 byte for each of the run's stacks.
 * A record with a new shape beyond TIMELINE_SHAPES, or without memory for it, is kept without the
 * shape.
 *
 * Not thread-safe while records are added. Afterwards a timeline changes by timeline_give_room
 * and timeline_move alone, so several readers may read it at once, each in one thread.
 */
#ifndef PROFILER_MODEL_TIMELINE_H
#define PROFILER_MODEL_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/model/id_remap.h"
#include "symbolize/util/saturate.h"

#define TIMELINE_RECORDS (UINT64_C(1) << 27) /* 7.5 GB */
#define TIMELINE_SHAPES (1u << 18)           /* 14 MB including the index */

enum timeline_kind {
	TIMELINE_CPU_SAMPLE,    /* lasts as long as the sample's weight */
	TIMELINE_LAUNCH,        /* the call; 0 ns: its return is unknown */
	TIMELINE_GPU_OPERATION, /* all operations with usable times; 0 ns: an instant */
	TIMELINE_WAIT,          /* the whole call */
	TIMELINE_CALL,          /* a timed call, at most until the end of its process or the run */
	TIMELINE_KINDS
};

/* The launch shape of a kernel: blocks, threads, bytes per block, registers per thread. */
struct timeline_shape {
	uint32_t grid[3], block[3];
	uint32_t static_shared, dynamic_shared;
	uint32_t registers;
};

/* In the machine's byte order. Fields that a kind does not have are 0. */
struct timeline_record {
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t duration_ns;
	uint64_t bytes;        /* of an operation; of a wait, the ns that its thread computed */
	uint64_t graph_node;   /* of an operation that a graph started */
	struct place_id place; /* thread; for an operation, the thread that launched it and the
				* stream */
	struct stack_id stack; /* for an operation including the work itself, else of the call */
	uint32_t shape;        /* of a kernel, for timeline_shape; 0: none */
	uint32_t correlation;  /* of a launch and the operations it started, within a process */
	uint32_t work;         /* enum gpu_work, of an operation */
	uint8_t kind;          /* enum timeline_kind */
	uint8_t is_waited;     /* 1: of a kernel that its launching thread waited for at once */
	uint16_t error; /* of a launch or wait that failed: timeline_error; 0: none is known */
};
_Static_assert(sizeof(struct timeline_record) == 56, "records have no gaps");

/*
 * Returns how much of the first `ns` of a wait is no CPU time: all of it alike, for the moments are
 * unknown.
 */
static inline uint64_t timeline_off_cpu_until(const struct timeline_record *wait, uint64_t ns)
{
	uint64_t computed = wait->bytes < wait->duration_ns ? wait->bytes : wait->duration_ns;

	if (ns >= wait->duration_ns)
		return wait->duration_ns - computed;
	return ns - (uint64_t)((unsigned __int128)computed * ns / wait->duration_ns);
}

static inline uint64_t timeline_off_cpu_ns(const struct timeline_record *wait)
{
	return timeline_off_cpu_until(wait, wait->duration_ns);
}

/* Returns when what the record tells of ended. */
static inline uint64_t timeline_end_ns(const struct timeline_record *record)
{
	return saturated_sum(record->start_ns, record->duration_ns);
}

/* A cudaError_t or CUresult as records have it. All codes of CUDA fit; larger ones become the
 * largest number. */
static inline uint16_t timeline_error(uint32_t code)
{
	return code < UINT16_MAX ? (uint16_t)code : UINT16_MAX;
}

/* Limits other than those above. */
struct timeline_limits {
	uint64_t records;
	uint32_t shapes;
};

struct timeline_stats {
	uint64_t records;     /* kept */
	uint64_t lost;        /* not kept */
	uint64_t lost_shapes; /* kernels whose shape is not kept */
	int error; /* 0, or the reason for the first loss of these two: -errno; -E2BIG: a limit */
};

struct timeline;

/*
 * `folder`: NULL: records are not kept, and none counts as lost; the listener alone gets them.
 * `limits`: NULL for those above. NULL with errno if no file can be created in the folder, or out
 * of memory.
 */
struct timeline *timeline_new(const char *folder, const struct timeline_limits *limits);
void timeline_free(struct timeline *t);

/* Returns whether it keeps records. */
bool timeline_keeps(const struct timeline *t);

/*
 * Gets each record when it is added, whether there is room to keep it or not, with the start of the
 * launch that an operation is known to be of (0: none is known). It must not add any. NULL: nobody
 * does.
 */
typedef void (*timeline_listener)(void *context, const struct timeline_record *record,
				  uint64_t launched_ns);
void timeline_listen(struct timeline *t, timeline_listener listener, void *context);

/*
 * In a child of fork(2), which shares the file with its parent: goes on with a copy of it. What
 * there is no room for is lost, and counted. 0 or -errno; then nothing has changed.
 */
int timeline_part(struct timeline *timeline, const char *folder);

/* The number of a shape, for the record added next; 0: not kept, or all 0. */
uint32_t timeline_number_shape(struct timeline *t, const struct timeline_shape *shape);

/* 0, or -errno: the record is lost and counted. */
int timeline_add(struct timeline *t, const struct timeline_record *record);

/* Does the same for an operation whose launch is known, and when it began; 0: it is not. */
int timeline_add_launched(struct timeline *t, const struct timeline_record *record,
			  uint64_t launched_ns);

/*
 * Ends adding: writes the rest, and frees what only adding needs. 0, or -errno if records were lost
 * by this. What is kept can be read in any case.
 */
int timeline_finish(struct timeline *t);

/*
 * After timeline_finish, while nobody reads: changes the start of each record to what `move` says.
 * 0 or -errno: then some are changed.
 */
int timeline_move(struct timeline *t,
		  uint64_t (*move)(void *context, const struct timeline_record *record),
		  void *context);

/* Before timeline_finish, `records` may still decrease. */
struct timeline_stats timeline_stats(const struct timeline *t);

/*
 * After timeline_finish, while nobody reads: returns room to the file system that the open file
 * `beside` is on. The first quarter of the records stays; the others count as lost. False: the
 * timeline has no room there to return.
 */
bool timeline_give_room(struct timeline *t, int beside);

/* The kinds of the records with this stack: 1 << enum timeline_kind. */
uint32_t timeline_kinds_with_stack(const struct timeline *t, struct stack_id stack);

/* ---- reading, after timeline_finish ---- */

/*
 * Other processes may change the file (/proc/PID/fd). So each record is checked when it is read:
 * its kind is valid, records of that kind with its stack were added, its shape exists, and its
 * place is not above all that were added. -EIO: a record is not ours, or the file has shrunk.
 */

/*
 * Reads `count` records from number `first` on; the first one is 0. 0, -EINVAL (not so many
 * records) or another -errno.
 */
int timeline_read(const struct timeline *t, uint64_t first, uint32_t count,
		  struct timeline_record *records);

/*
 * Reads records in sequence, 256 KiB at a time. `*record` is valid until the next call. 1; 0 after
 * the last; or -errno. The timeline must outlive its readers. NULL with errno.
 */
struct timeline_reader;
struct timeline_reader *timeline_reader_new(const struct timeline *t);
void timeline_reader_free(struct timeline_reader *r);
int timeline_reader_next(struct timeline_reader *r, const struct timeline_record **record);

/* NULL: none (0). */
const struct timeline_shape *timeline_shape(const struct timeline *t, uint32_t shape);

#endif
