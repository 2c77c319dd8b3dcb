/* SPDX-License-Identifier: MIT */
/*
 * Reads the records of a BPF ring buffer where they lie, in batches.
 *
 * Its layout is the kernel's (kernel/bpf/ringbuf.c): a page with the position up to which was read,
 * a page with the one up to which room was taken, then the data, mapped twice in a row so that no
 * record is broken. Positions are bytes and only grow. A record is a head of 8 bytes (its length,
 * and whether it is being written or was discarded) and its data, in all a multiple of 8.
 */
#ifndef PROFILER_SOURCES_EVENT_RING_H
#define PROFILER_SOURCES_EVENT_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "bpf/stack_event.h"

struct event_ring {
	uint64_t *consumed;
	const uint64_t *produced;
	const unsigned char *data;
	size_t page_size;
	size_t size;   /* bytes of data, a power of two */
	uint64_t at;   /* what was handed out ends here */
	uint64_t end;  /* of the batch */
	bool has_more; /* the batch is not all there was: it was full, or ends at an open record */
};

/* `fd` is the map's, of `size` bytes. 0 or -errno. Zero-initialised can be unmapped, too. */
int event_ring_map(struct event_ring *ring, int fd, size_t size);
void event_ring_unmap(struct event_ring *ring);

/* The next batch: what is there now, at most `max` bytes. */
void event_ring_fill(struct event_ring *ring, size_t max);

/*
 * Its next record, or NULL at its end. It is as long as its kind has to be, and its counts are
 * within bounds; others are skipped. Valid until the next call, which frees its room.
 */
const struct stack_event *event_ring_next(struct event_ring *ring);

#endif
