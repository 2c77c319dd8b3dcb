/* SPDX-License-Identifier: MIT */
/*
 * Reads the records of a BPF ring buffer in batches.
 *
 * A returned record is a copy, so its room in the ring is free however long the reader takes.
 * Bursts of records are faster than their processing. So if more than a quarter of the ring is
 * full, its contents are copied out and returned later. A reader that is busy for more than a few
 * milliseconds calls event_ring_relieve meanwhile.
 *
 * The layout is the kernel's (kernel/bpf/ringbuf.c). A page holds the consumer position, the next
 * page the producer position. The data follow, mapped twice in a row so that no record is split.
 * Positions are in bytes, and only grow. A record has a header of 8 bytes: its length, and flags
 * for records being written or discarded. Its data are padded to a multiple of 8.
 */
#ifndef PROFILER_SOURCES_EVENT_RING_H
#define PROFILER_SOURCES_EVENT_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "bpf/stack_event.h"

/* Limit of kept records, as a multiple of the ring's size. */
#define EVENT_RING_KEPT 4

struct kept_record;
struct kept_block;

struct event_ring {
	uint64_t *consumed;
	const uint64_t *produced;
	const unsigned char *data;
	size_t page_size;
	size_t size;    /* bytes of data, a power of two */
	uint64_t at;    /* end of the records returned so far */
	uint64_t taken; /* end of the records taken out of the ring: returned or kept */
	uint64_t end;   /* end of the batch */
	bool has_more;  /* the batch was full, or ended at an unfinished record */
	/* record returned last */
	struct kept_record *current;
	/* records taken and not yet returned, in order */
	struct kept_record *first, *last;
	uint64_t kept_bytes; /* bytes of kept records */
	/* memory of the copies, oldest first, and spare blocks; owned */
	struct kept_block *blocks, *last_block, *spare;
	uint32_t spare_count;
};

/*
 * Maps the ring of map `fd`, with `size` bytes. Returns 0, or -errno. A zero-initialised ring may
 * be unmapped.
 */
int event_ring_map(struct event_ring *ring, int fd, size_t size);
void event_ring_unmap(struct event_ring *ring);

/* Starts the next batch: the current contents, at most `max` bytes. */
void event_ring_fill(struct event_ring *ring, size_t max);

/*
 * Returns the batch's next record, or NULL at its end. Without memory returns NULL, with has_more
 * set. Records with a length wrong for their kind, or counts out of bounds, are skipped. Valid
 * until the next call.
 */
const struct stack_event *event_ring_next(struct event_ring *ring);

/*
 * Copies the ring's contents for later batches, up to EVENT_RING_KEPT times the ring's size, or
 * until memory is exhausted. The record returned last stays valid.
 */
void event_ring_keep(struct event_ring *ring);

/* Calls event_ring_keep if more than a quarter of the ring is full. */
void event_ring_relieve(struct event_ring *ring);

#endif
