// SPDX-License-Identifier: MIT
#include "profiler/sources/event_ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STATE_BITS (BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT)

#define BLOCK_BYTES ((size_t)2 << 20) /* a huge page; no record is larger */
#define SPARE_BLOCKS 8u

/*
 * Memory for copies, which are made and freed in the order of their records. Large blocks avoid
 * page faults: one per second record takes longer than copying, and several times as long in some
 * virtual machines.
 */
struct kept_block {
	struct kept_block *next;
	uint32_t used;    /* bytes used */
	uint32_t records; /* records not yet freed */
};

/* A copied record. */
struct kept_record {
	struct kept_record *next;
	struct kept_block *block;
	uint64_t end; /* end of its position in the ring */
	uint32_t size;
	_Alignas(8) unsigned char event[];
};

int event_ring_map(struct event_ring *r, int fd, size_t size)
{
	void *consumer, *producer;

	*r = (struct event_ring){.page_size = (size_t)sysconf(_SC_PAGESIZE), .size = size};
	consumer = mmap(NULL, r->page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (consumer == MAP_FAILED)
		return -errno;
	r->consumed = consumer;
	producer =
		mmap(NULL, r->page_size + 2 * size, PROT_READ, MAP_SHARED, fd, (off_t)r->page_size);
	if (producer == MAP_FAILED)
		return -errno;
	r->produced = producer;
	r->data = (const unsigned char *)producer + r->page_size;
	return 0;
}

static void free_blocks(struct kept_block *block)
{
	while (block) {
		struct kept_block *next = block->next;

		free(block);
		block = next;
	}
}

void event_ring_unmap(struct event_ring *r)
{
	free_blocks(r->blocks);
	free_blocks(r->spare);
	if (r->consumed)
		munmap(r->consumed, r->page_size);
	if (r->produced)
		munmap((void *)r->produced, r->page_size + 2 * r->size);
	*r = (struct event_ring){0};
}

void event_ring_fill(struct event_ring *r, size_t max)
{
	r->end = __atomic_load_n(r->produced, __ATOMIC_ACQUIRE);
	r->has_more = r->end - r->at > max;
	if (r->has_more)
		r->end = r->at + max;
}

static bool lies_within(const void *event, uint32_t at, uint32_t bytes)
{
	uint32_t size = ((const struct stack_event *)event)->size;

	return bytes <= size && at <= size - bytes && at % 8 == 0;
}

static bool is_valid_snapshot(const struct stack_snapshot *s)
{
	const struct stack_python_chain *chain;

	if (s->event.size < sizeof(*s) || !lies_within(s, s->stack_at, s->stack_bytes) ||
	    s->stack_bytes > STACK_SNAPSHOT_BYTES ||
	    !lies_within(s, s->interrupted_at, s->interrupted_bytes) ||
	    s->interrupted_bytes > STACK_SNAPSHOT_BYTES ||
	    s->event.kernel_frames > STACK_EVENT_MAX_FRAMES ||
	    !lies_within(s, s->kernel_at, s->event.kernel_frames * sizeof(__u64)))
		return false;
	chain = stack_snapshot_python(s);
	return !chain || (lies_within(s, s->python_at, sizeof(*chain)) &&
			  chain->count <= STACK_PYTHON_MAX_LINKS);
}

static bool is_snapshot(const struct stack_event *event)
{
	switch (event->kind) {
	case STACK_EVENT_CPU_SNAPSHOT:
	case STACK_EVENT_LAUNCH:
	case STACK_EVENT_CALL:
	case STACK_EVENT_THREAD:
	case STACK_EVENT_OFF_CPU:
		return true;
	default:
		return false;
	}
}

static bool is_valid_code(const struct stack_python_code *r)
{
	if (r->event.size != STACK_PYTHON_CODE_SIZE && r->event.size != sizeof(*r))
		return false;
	for (int i = 0; i < STACK_PYTHON_PIECES; i++)
		if (r->pieces[i].bytes && !lies_within(r, r->pieces[i].at, r->pieces[i].bytes))
			return false;
	return true;
}

/* Returns true if the event's length is right for its kind, and fits into `size` bytes. */
static bool is_valid(const struct stack_event *event, size_t size)
{
	if (size < sizeof(*event) || event->size != size || size > BLOCK_BYTES / 2)
		return false;
	if (is_snapshot(event))
		return is_valid_snapshot((const struct stack_snapshot *)event);
	switch (event->kind) {
	case STACK_EVENT_CALL_END:
	case STACK_EVENT_REFUSED:
	case STACK_EVENT_USES_DRIVER:
	case STACK_EVENT_CPU_USED:
		return size == sizeof(struct stack_value);
	case STACK_EVENT_ON_CPU:
		return size == sizeof(struct stack_on_cpu);
	case STACK_EVENT_THREAD_TIMES:
		return size == sizeof(struct stack_thread_times);
	case STACK_EVENT_PYTHON_CODE:
		return is_valid_code((const struct stack_python_code *)event);
	default:
		return false;
	}
}

static uint32_t later(uint32_t end, uint32_t at, uint32_t bytes)
{
	return at + bytes > end ? at + bytes : end;
}

/* Returns the bytes that an event uses. A snapshot's room is one of a few sizes. */
static uint32_t used_bytes(const struct stack_event *event)
{
	const struct stack_snapshot *s = (const struct stack_snapshot *)event;
	uint32_t end = sizeof(*s);

	if (!is_snapshot(event))
		return event->size;
	end = later(end, s->stack_at, s->stack_bytes);
	if (s->interrupted_bytes)
		end = later(end, s->interrupted_at, s->interrupted_bytes);
	end = later(end, s->kernel_at, event->kernel_frames * (uint32_t)sizeof(__u64));
	return s->python_at ? later(end, s->python_at, sizeof(struct stack_python_chain)) : end;
}

static struct kept_block *new_block(struct event_ring *r)
{
	struct kept_block *block = r->spare;

	if (block) {
		r->spare = block->next;
		r->spare_count--;
	} else {
		block = aligned_alloc(BLOCK_BYTES, BLOCK_BYTES);
		if (!block)
			return NULL;
		/* both are optional */
		madvise(block, BLOCK_BYTES, MADV_HUGEPAGE);
		madvise(block, BLOCK_BYTES, MADV_POPULATE_WRITE);
	}
	*block = (struct kept_block){.used = sizeof(*block)};
	if (r->last_block)
		r->last_block->next = block;
	else
		r->blocks = block;
	r->last_block = block;
	return block;
}

/* Returns NULL if memory is exhausted. */
static struct kept_record *new_record(struct event_ring *r, uint32_t size)
{
	uint32_t bytes = (sizeof(struct kept_record) + size + 7) / 8 * 8;
	struct kept_block *block = r->last_block;
	struct kept_record *record;

	if (!block || bytes > BLOCK_BYTES - block->used)
		block = new_block(r);
	if (!block)
		return NULL;
	record = (struct kept_record *)((unsigned char *)block + block->used);
	*record = (struct kept_record){.block = block, .size = size};
	block->used += bytes;
	block->records++;
	return record;
}

/* Frees the oldest record. NULL is allowed. */
static void free_record(struct event_ring *r, struct kept_record *record)
{
	struct kept_block *block = record ? record->block : NULL;

	if (!block || --block->records > 0)
		return;
	if (block == r->last_block) {
		block->used = sizeof(*block);
		return;
	}
	r->blocks = block->next;
	if (r->spare_count == SPARE_BLOCKS) {
		free(block);
		return;
	}
	block->next = r->spare;
	r->spare = block;
	r->spare_count++;
}

/* Returns NULL if memory is exhausted. */
static struct kept_record *copy_of(struct event_ring *r, const struct stack_event *event,
				   uint64_t end)
{
	uint32_t size = used_bytes(event);
	struct kept_record *copy = new_record(r, size);

	if (!copy)
		return NULL;
	copy->end = end;
	memcpy(copy->event, event, size);
	((struct stack_event *)copy->event)->size = size;
	return copy;
}

enum taking { TAKING_RECORD, TAKING_END, TAKING_OPEN, TAKING_NO_MEMORY };

/* Takes the ring's next valid record before `end`. */
static enum taking take(struct event_ring *r, uint64_t end, struct kept_record **taken)
{
	enum taking result = TAKING_END;

	while (r->taken < end && result == TAKING_END) {
		const unsigned char *record = r->data + (r->taken & (r->size - 1));
		uint32_t head = __atomic_load_n((const uint32_t *)record, __ATOMIC_ACQUIRE);
		uint32_t size = head & ~STATE_BITS;
		uint64_t next = r->taken + (BPF_RINGBUF_HDR_SZ + (uint64_t)size + 7) / 8 * 8;
		const void *event = record + BPF_RINGBUF_HDR_SZ;

		if (head & BPF_RINGBUF_BUSY_BIT)
			return TAKING_OPEN;
		if (!(head & BPF_RINGBUF_DISCARD_BIT) && is_valid(event, size)) {
			*taken = copy_of(r, event, next);
			if (!*taken)
				return TAKING_NO_MEMORY;
			result = TAKING_RECORD;
		}
		r->taken = next;
		__atomic_store_n(r->consumed, r->taken, __ATOMIC_RELEASE);
	}
	return result;
}

static struct kept_record *take_kept(struct event_ring *r)
{
	struct kept_record *record = r->first;

	if (record->end > r->end)
		return NULL;
	r->first = record->next;
	if (!r->first)
		r->last = NULL;
	r->kept_bytes -= record->size;
	return record;
}

const struct stack_event *event_ring_next(struct event_ring *r)
{
	enum taking result = TAKING_END;

	free_record(r, r->current);
	r->current = NULL;
	event_ring_relieve(r);
	if (r->first)
		r->current = take_kept(r);
	else
		result = take(r, r->end, &r->current);
	if (result == TAKING_OPEN || result == TAKING_NO_MEMORY) {
		r->end = r->taken;
		r->has_more = true;
	}
	if (r->current)
		r->at = r->current->end;
	else if (r->at < r->end)
		r->at = r->end;
	return r->current ? (const struct stack_event *)r->current->event : NULL;
}

void event_ring_keep(struct event_ring *r)
{
	uint64_t end = __atomic_load_n(r->produced, __ATOMIC_ACQUIRE);
	struct kept_record *record;

	while (r->kept_bytes < EVENT_RING_KEPT * r->size &&
	       take(r, end, &record) == TAKING_RECORD) {
		if (r->last)
			r->last->next = record;
		else
			r->first = record;
		r->last = record;
		r->kept_bytes += record->size;
		r->has_more = r->has_more || record->end > r->end;
	}
}

void event_ring_relieve(struct event_ring *r)
{
	if (__atomic_load_n(r->produced, __ATOMIC_RELAXED) - r->taken > r->size / 4)
		event_ring_keep(r);
}
