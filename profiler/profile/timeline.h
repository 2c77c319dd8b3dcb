/* SPDX-License-Identifier: MIT */
/*
 * What happened when: one record for each CPU sample, launch, GPU operation, wait and timed call,
 * for outputs that show the course of a run and not only its sums.
 *
 * A run has tens of millions of them, so they lie in a file and not in memory, at 56 bytes each: 25
 * million take 1.4 GB. The file has no name, so it is gone when the profiler ends, however it ends.
 * It lies in a folder of the caller's choice, best the one of the output: there the user wants to
 * write, and there is room, which /tmp often has not.
 *
 * A record names what repeats by number. Its place is one of the run's places (places.h), its stack
 * one of the run's stacks as they were collected (stack_table.h); outputs find the named stack with
 * result_record_stack (result.h). How a kernel was launched (its shape) is kept here, each distinct
 * one once, in memory.
 *
 * Records are first added, all of them, then read. They keep the order in which they were added,
 * which is no order of time: readers sort.
 *
 * What cannot be kept is counted and nothing else happens: the run goes on, and what was kept
 * before stays readable. That is so when
 *  - the file cannot grow: the disk is full, a quota or RLIMIT_FSIZE is reached (the caller blocks
 *    or ignores SIGXFSZ), or it fails. Nothing is kept from then on, and up to 1 MiB of records
 * that were added just before is lost, too;
 *  - there are more than TIMELINE_RECORDS;
 *  - there is no memory to note that its stack is in use: 1 byte for each of the run's stacks;
 *  - it is of a new shape and there are TIMELINE_SHAPES, or no memory. Then the record is kept
 *    without its shape.
 *
 * Not thread-safe while records are added. Afterwards a timeline does not change, so several
 * readers may read it at once, each in one thread.
 */
#ifndef PROFILER_PROFILE_TIMELINE_H
#define PROFILER_PROFILE_TIMELINE_H

#include <stdint.h>

#define TIMELINE_RECORDS (UINT64_C(1) << 27) /* 7.5 GB */
#define TIMELINE_SHAPES (1u << 18)           /* 14 MB with what finds them again */

enum timeline_kind {
	TIMELINE_CPU_SAMPLE,    /* lasts as long as a sample weighs */
	TIMELINE_LAUNCH,        /* the call; 0 ns: it is not known when it returned */
	TIMELINE_GPU_OPERATION, /* all that have usable times; 0 ns: an instant */
	TIMELINE_WAIT,          /* the whole call */
	TIMELINE_CALL,          /* a timed call, up to the end of its process or the run */
	TIMELINE_KINDS
};

/* How a kernel was launched: blocks, threads, bytes a block, registers a thread. */
struct timeline_shape {
	uint32_t grid[3], block[3];
	uint32_t static_shared, dynamic_shared;
	uint32_t registers;
};

/* In the byte order of the machine. What a kind does not have is 0. */
struct timeline_record {
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t duration_ns;
	uint64_t bytes;       /* of an operation */
	uint64_t graph_node;  /* of an operation that a graph started */
	uint32_t place;       /* thread; of an operation the one that launched it, and its stream */
	uint32_t stack;       /* of an operation with the work itself, else of the call */
	uint32_t shape;       /* of a kernel, for timeline_shape; 0: none */
	uint32_t correlation; /* of a launch and of what it started, within a process */
	uint32_t work;        /* enum gpu_work, of an operation */
	uint8_t kind;         /* enum timeline_kind */
	uint8_t unused[3];
};
_Static_assert(sizeof(struct timeline_record) == 56, "records have no gaps");

/* Other limits than those above. */
struct timeline_limits {
	uint64_t records;
	uint32_t shapes;
};

struct timeline_stats {
	uint64_t records;     /* kept */
	uint64_t lost;        /* not kept */
	uint64_t lost_shapes; /* kernels whose shape is not kept */
	int error; /* 0, or why the first of these two was lost: -errno; -E2BIG: for a limit */
};

struct timeline;

/* `limits`: NULL for those above. NULL with errno when the folder takes no file, or no memory. */
struct timeline *timeline_new(const char *folder, const struct timeline_limits *limits);
void timeline_free(struct timeline *t);

/* The number of a shape, for a record that is added next; 0: it is not kept, or all 0. */
uint32_t timeline_number_shape(struct timeline *t, const struct timeline_shape *shape);

/* 0, or -errno: then the record is lost and counted. */
int timeline_add(struct timeline *t, const struct timeline_record *record);

/*
 * No more is added: writes what is left and frees what only adding needs. 0, or -errno when records
 * were lost just now. What is kept can be read in any case.
 */
int timeline_finish(struct timeline *t);

/* Before timeline_finish, `records` may still become fewer. */
struct timeline_stats timeline_stats(const struct timeline *t);

/* Of which kinds there are records with this stack: 1 << enum timeline_kind. */
uint32_t timeline_kinds_with_stack(const struct timeline *t, uint32_t stack);

/* ---- reading, after timeline_finish ---- */

/*
 * The file may be changed by others who may open it (/proc/PID/fd). So each record that is read is
 * checked: its kind is one of the above, records of that kind with its stack were added, its shape
 * exists, and its place is not above all that were added. -EIO: it is none of ours, or the file is
 * shorter than it was.
 */

/* One record by its number, from 0. 0, -EINVAL (there is none) or another -errno. */
int timeline_read(const struct timeline *t, uint64_t number, struct timeline_record *record);

/*
 * One after another, in pieces of 256 KiB. `*record` is valid until the next call. 1; 0 after the
 * last; or -errno. The timeline must outlive its readers. NULL with errno.
 */
struct timeline_reader;
struct timeline_reader *timeline_reader_new(const struct timeline *t);
void timeline_reader_free(struct timeline_reader *r);
int timeline_reader_next(struct timeline_reader *r, const struct timeline_record **record);

/* The next record is the one with this number. */
void timeline_reader_seek(struct timeline_reader *r, uint64_t number);

/* NULL: none (0). */
const struct timeline_shape *timeline_shape(const struct timeline *t, uint32_t shape);

#endif
