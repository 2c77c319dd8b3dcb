/* SPDX-License-Identifier: MIT */
/*
 * Reads the records of a BPF ring buffer, in batches. A record is copied out when it is returned,
 * so its room is free again however long its reader takes. Records come in bursts that are faster
 * than what is done with them: when more than a quarter of the ring is full, all that it has is
 * copied out, to be returned later. A reader that does something else for more than a few
 * milliseconds calls event_ring_relieve meanwhile.
 *
 * The layout is the kernel's (kernel/bpf/ringbuf.c): a page with the consumer position, a page with
 * the producer position, then the data, mapped twice in a row so that no record is split. Positions
 * are in bytes and only grow. A record is a header of 8 bytes (its length, and flags for a record
 * that is being written or was discarded) and its data, padded to a multiple of 8.
 */
#ifndef PROFILER_SOURCES_EVENT_RING_H
#define PROFILER_SOURCES_EVENT_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "bpf/stack_event.h"

/* Kept records may take so many times the size of the ring. */
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
	uint64_t taken; /* end of those that the ring no longer has: returned or kept */
	uint64_t end;   /* of the batch */
	bool has_more;  /* the batch was full, or ended at an unfinished record */
	/* the record that was returned last */
	struct kept_record *current;
	/* taken and not yet returned, in order */
	struct kept_record *first, *last;
	uint64_t kept_bytes; /* of these */
	/* memory of the copies, the oldest first, and for later ones; owned */
	struct kept_block *blocks, *last_block, *spare;
	uint32_t spare_count;
};

/*
 * Maps the ring of map `fd`, with `size` bytes. 0 or -errno. A zero-initialised ring may be
 * unmapped.
 */
int event_ring_map(struct event_ring *ring, int fd, size_t size);
void event_ring_unmap(struct event_ring *ring);

/* Starts the next batch: the current contents, at most `max` bytes. */
void event_ring_fill(struct event_ring *ring, size_t max);

/*
 * The batch's next record, or NULL at its end or out of memory; then has_more is true. Records with
 * a wrong length for their kind, or counts out of bounds, are skipped. Valid until the next call.
 */
const struct stack_event *event_ring_next(struct event_ring *ring);

/*
 * Takes what the ring has out of it, for later batches, as long as there is memory and less than
 * EVENT_RING_KEPT times the ring's size is kept. What was returned last stays valid.
 */
void event_ring_keep(struct event_ring *ring);

/* Does the same if more than a quarter of the ring is full. */
void event_ring_relieve(struct event_ring *ring);

#endif
