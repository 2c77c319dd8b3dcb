/* SPDX-License-Identifier: MIT */
/*
 * Activity records of the fake libcupti.
 *
 * A launch reserves its record in the current client buffer, which the launching thread requests
 * if there is none. The timestamps are filled in when the buffer is handed over: until the virtual
 * GPU has reached a kernel's end, its record is incomplete and shows zeros. Buffers go back through
 * one worker thread, in the order in which they were filled.
 */
#define _GNU_SOURCE
#include "cupti.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* CUpti_ActivityKernel10: the shared prefix and what CUPTI 12 and 13 added. */
struct kernel_record {
	struct cupti_abi_kernel prefix;
	void *access_policy_window;
	uint32_t channel_id, channel_type;
	uint32_t cluster[3], cluster_scheduling_policy;
	uint64_t local_memory_total_v2;
	uint32_t max_potential_cluster_size, max_active_clusters;
	uint8_t is_device_launched, padding[7];
};
_Static_assert(sizeof(struct kernel_record) == 216, "size of CUpti_ActivityKernel10");

/* buffer_completed's stream id means nothing with a NULL context; on an H100 it is not even 0. */
enum { STREAM_ID_NOISE = 0x15b40000 };

struct times {
	uint64_t start, end; /* monotonic; both 0: never to be known */
};

struct buffer {
	uint8_t *data;
	size_t size, count, capacity; /* bytes, records, records */
	struct times *times;          /* one a record */
	uint64_t last_end;
	bool queued_by_flush, forced;
	struct buffer *next;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t work, delivered;
	bool worker_running;
	pthread_t worker;
	cupti_abi_buffer_requested requested;
	cupti_abi_buffer_completed completed;
	uint32_t kind;                        /* the kernel kind that is enabled, or 0 */
	unsigned long drop_every, zero_every; /* every nth record, 0: none */
	uint64_t records_seen;
	size_t dropped;
	uint64_t flush_period;               /* ns, 0: none */
	struct buffer *current, *spare;      /* being filled; requested by threads that raced */
	struct buffer *queue, **queue_end;   /* to hand over when complete */
	unsigned long queued_n, delivered_n; /* buffers ever queued by a flush, and handed over */
	size_t attributes[16];
} activity = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.queue_end = &activity.queue,
};

static const struct fake_cuda_driver *driver(void)
{
	return cupti_driver();
}

static bool complete(const struct buffer *b, uint64_t now)
{
	return b->forced || b->last_end <= now;
}

/* Fill in what is known by now. */
static void write_times(struct buffer *b)
{
	struct kernel_record *records = (struct kernel_record *)(void *)b->data;
	uint64_t now = driver()->now();

	for (size_t i = 0; i < b->count; i++) {
		const struct times *t = &b->times[i];

		if (!t->end || t->end > now)
			continue;
		records[i].prefix.start = driver()->cupti_time(t->start);
		records[i].prefix.end = driver()->cupti_time(t->end);
		records[i].prefix.completed = records[i].prefix.end;
	}
}

/* Worker thread, without the lock. */
static void hand_over(struct buffer *b)
{
	write_times(b);
	activity.completed(NULL, STREAM_ID_NOISE, b->data, b->size,
			   b->count * sizeof(struct kernel_record));
	free(b->times);
	free(b);
}

/* With the lock held. */
static void queue_current(void)
{
	struct buffer *b = activity.current;

	activity.current = activity.spare;
	if (activity.spare)
		activity.spare = activity.spare->next;
	if (activity.current)
		activity.current->next = NULL;
	b->next = NULL;
	*activity.queue_end = b;
	activity.queue_end = &b->next;
	pthread_cond_signal(&activity.work);
}

/* With the lock held: sleep until there is something new, or the instant `until` (0: none). */
static void worker_wait(uint64_t until)
{
	struct timespec ts = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};

	if (until)
		pthread_cond_clockwait(&activity.work, &activity.lock, CLOCK_MONOTONIC, &ts);
	else
		pthread_cond_wait(&activity.work, &activity.lock);
}

static void *worker_main(void *unused)
{
	uint64_t next_flush = 0;

	(void)unused;
	pthread_mutex_lock(&activity.lock);
	for (;;) {
		struct buffer *b = activity.queue;
		uint64_t now = driver()->now();
		bool by_flush;

		if (!activity.flush_period)
			next_flush = 0;
		else if (!next_flush)
			next_flush = now + activity.flush_period;
		if (next_flush && now >= next_flush) {
			next_flush = now + activity.flush_period;
			if (activity.current && activity.current->count &&
			    complete(activity.current, now))
				queue_current();
			continue;
		}
		if (!b || !complete(b, now)) {
			uint64_t until = b ? b->last_end : next_flush;

			if (next_flush && next_flush < until)
				until = next_flush;
			worker_wait(until);
			continue;
		}
		activity.queue = b->next;
		if (!activity.queue)
			activity.queue_end = &activity.queue;
		by_flush = b->queued_by_flush;
		pthread_mutex_unlock(&activity.lock);
		hand_over(b);
		pthread_mutex_lock(&activity.lock);
		if (by_flush) {
			activity.delivered_n++;
			pthread_cond_broadcast(&activity.delivered);
		}
	}
	return NULL;
}

/* With the lock held. The worker must not take the application's signals. */
static int start_worker(void)
{
	sigset_t all, old;
	int err;

	if (activity.worker_running)
		return CUPTI_ABI_SUCCESS;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&activity.worker, NULL, worker_main, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		return FAKE_CUPTI_ERROR_OUT_OF_MEMORY;
	activity.worker_running = true;
	return CUPTI_ABI_SUCCESS;
}

/* Without the lock: ask the client for a buffer. NULL if it gave none that can be used. */
static struct buffer *request_buffer(void)
{
	size_t max_records = 0;
	struct buffer *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	activity.requested(&b->data, &b->size, &max_records);
	b->capacity = b->size / sizeof(struct kernel_record);
	if (max_records && max_records < b->capacity)
		b->capacity = max_records;
	if (b->data && ((uintptr_t)b->data & 7)) {
		cupti_misuse("activity buffer is not aligned to 8 bytes");
		b->capacity = 0;
	}
	if (b->data && b->capacity) {
		b->times = calloc(b->capacity, sizeof(*b->times));
		if (b->times)
			return b;
	}
	free(b);
	return NULL;
}

static void fill(struct kernel_record *r, const struct fake_cuda_kernel *k, uint32_t kind)
{
	memset(r, 0, sizeof(*r));
	r->prefix.kind = kind;
	r->prefix.registers_per_thread = 16;
	r->prefix.device_id = k->device_id;
	r->prefix.context_id = k->context_id;
	r->prefix.stream_id = k->stream_id;
	r->prefix.grid_x = (int32_t)k->grid[0];
	r->prefix.grid_y = (int32_t)k->grid[1];
	r->prefix.grid_z = (int32_t)k->grid[2];
	r->prefix.block_x = (int32_t)k->block[0];
	r->prefix.block_y = (int32_t)k->block[1];
	r->prefix.block_z = (int32_t)k->block[2];
	r->prefix.dynamic_shared_memory = (int32_t)k->shared_memory;
	r->prefix.correlation_id = k->correlation_id;
	r->prefix.grid_id = k->grid_id;
	r->prefix.name = k->name;
	r->prefix.graph_id = k->graph_id;
	r->prefix.graph_node_id = k->graph_node_id;
	r->cluster[0] = r->cluster[1] = r->cluster[2] = 1;
}

/* With the lock held: make activity.current a buffer with room. May let go of the lock. */
static bool make_room(void)
{
	if (!activity.current) {
		struct buffer *b;

		pthread_mutex_unlock(&activity.lock);
		b = request_buffer();
		pthread_mutex_lock(&activity.lock);
		if (b && activity.current) {
			b->next = activity.spare;
			activity.spare = b;
		} else if (b) {
			activity.current = b;
		}
	}
	return activity.current != NULL;
}

static bool every(unsigned long interval, uint64_t n)
{
	return interval && n % interval == 0;
}

void cupti_activity_kernel(const struct fake_cuda_kernel *kernel)
{
	struct buffer *b;
	struct times *t;
	uint64_t number;

	if (!__atomic_load_n(&activity.kind, __ATOMIC_ACQUIRE))
		return;
	pthread_mutex_lock(&activity.lock);
	if (!activity.kind || !activity.requested)
		goto out;
	number = ++activity.records_seen; /* make_room may let others in */
	if (every(activity.drop_every, number) || !make_room()) {
		activity.dropped++;
		goto out;
	}
	b = activity.current;
	t = &b->times[b->count];
	fill((struct kernel_record *)(void *)b->data + b->count, kernel, activity.kind);
	if (!every(activity.zero_every, number))
		*t = (struct times){kernel->start, kernel->end};
	if (kernel->end > b->last_end)
		b->last_end = kernel->end;
	if (++b->count == b->capacity)
		queue_current();
out:
	pthread_mutex_unlock(&activity.lock);
}

FAKE_CUDA_EXPORT int cuptiActivityRegisterCallbacks(cupti_abi_buffer_requested requested,
						    cupti_abi_buffer_completed completed)
{
	int err;

	if (!requested || !completed)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	err = cupti_attach();
	if (err)
		return err;
	pthread_mutex_lock(&activity.lock);
	activity.drop_every = cupti_env("FAKE_CUDA_DROP_EVERY");
	activity.zero_every = cupti_env("FAKE_CUDA_ZERO_TIMESTAMP_EVERY");
	err = start_worker();
	if (!err) {
		activity.requested = requested;
		activity.completed = completed;
	}
	pthread_mutex_unlock(&activity.lock);
	return err;
}

static bool kernel_kind(uint32_t kind)
{
	return kind == CUPTI_ABI_ACTIVITY_KIND_KERNEL ||
	       kind == CUPTI_ABI_ACTIVITY_KIND_CONCURRENT_KERNEL;
}

/* Kinds that the stand-in has no records of are refused rather than silently empty. */
FAKE_CUDA_EXPORT int cuptiActivityEnable(uint32_t kind)
{
	int err = cupti_attach();

	if (err)
		return err;
	if (!kernel_kind(kind))
		return CUPTI_ABI_ERROR_INVALID_KIND;
	pthread_mutex_lock(&activity.lock);
	if (activity.kind && activity.kind != kind)
		err = FAKE_CUPTI_ERROR_NOT_COMPATIBLE;
	else
		__atomic_store_n(&activity.kind, kind, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&activity.lock);
	return err;
}

FAKE_CUDA_EXPORT int cuptiActivityDisable(uint32_t kind)
{
	int err = cupti_attach();

	if (err)
		return err;
	if (!kernel_kind(kind))
		return CUPTI_ABI_ERROR_INVALID_KIND;
	pthread_mutex_lock(&activity.lock);
	if (activity.kind == kind)
		__atomic_store_n(&activity.kind, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&activity.lock);
	return CUPTI_ABI_SUCCESS;
}

/* With the lock held: mark what this flush must wait for. */
static void flush_mark(bool forced)
{
	uint64_t now = driver()->now();

	if (activity.current &&
	    (forced || (activity.current->count && complete(activity.current, now))))
		queue_current();
	if (forced)
		while (activity.current)
			queue_current();
	for (struct buffer *b = activity.queue; b; b = b->next) {
		if (forced)
			b->forced = true;
		else if (!complete(b, now))
			break; /* those behind it wait their turn */
		if (!b->queued_by_flush) {
			b->queued_by_flush = true;
			activity.queued_n++;
		}
	}
}

FAKE_CUDA_EXPORT int cuptiActivityFlushAll(uint32_t flag)
{
	unsigned long target;
	int err;

	if (cupti_forked()) {
		cupti_misuse("cuptiActivityFlushAll called in a forked child");
		for (;;) /* measured: it never returns, for its worker is in the parent */
			pause();
	}
	err = cupti_attach();
	if (err)
		return err;
	pthread_mutex_lock(&activity.lock);
	if (!activity.completed) {
		; /* nothing to flush; documented as INVALID_OPERATION, measured as success */
	} else if (pthread_equal(pthread_self(), activity.worker)) {
		cupti_misuse("cuptiActivityFlushAll called in buffer_completed");
		err = FAKE_CUPTI_ERROR_INVALID_OPERATION;
	} else {
		flush_mark(flag & CUPTI_ABI_FLUSH_FORCED);
		pthread_cond_signal(&activity.work);
		target = activity.queued_n;
		while (activity.delivered_n < target)
			pthread_cond_wait(&activity.delivered, &activity.lock);
	}
	pthread_mutex_unlock(&activity.lock);
	return err;
}

FAKE_CUDA_EXPORT int cuptiActivityFlushPeriod(uint32_t ms)
{
	int err = cupti_attach();

	if (err)
		return err;
	pthread_mutex_lock(&activity.lock);
	activity.flush_period = (uint64_t)ms * 1000000;
	pthread_cond_signal(&activity.work);
	pthread_mutex_unlock(&activity.lock);
	return CUPTI_ABI_SUCCESS;
}

FAKE_CUDA_EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_size,
						struct cupti_abi_activity **record)
{
	size_t offset = 0;
	uint32_t kind;

	if (!buffer || !record)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	if (*record) {
		ptrdiff_t at = (uint8_t *)*record - buffer;

		if (at < 0 || (size_t)at + sizeof(struct kernel_record) > valid_size)
			return CUPTI_ABI_ERROR_MAX_LIMIT_REACHED;
		offset = (size_t)at + sizeof(struct kernel_record);
	}
	if (offset >= valid_size)
		return CUPTI_ABI_ERROR_MAX_LIMIT_REACHED;
	if (valid_size - offset < sizeof(struct kernel_record))
		return CUPTI_ABI_ERROR_INVALID_KIND;
	memcpy(&kind, buffer + offset, sizeof(kind));
	if (!kernel_kind(kind))
		return CUPTI_ABI_ERROR_INVALID_KIND;
	*record = (struct cupti_abi_activity *)(void *)(buffer + offset);
	return CUPTI_ABI_SUCCESS;
}

FAKE_CUDA_EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream_id,
						       size_t *dropped)
{
	int err;

	(void)stream_id;
	if (!dropped)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	err = cupti_attach();
	if (err)
		return err;
	*dropped = 0;
	if (context) /* only the global queue exists */
		return CUPTI_ABI_SUCCESS;
	pthread_mutex_lock(&activity.lock);
	*dropped = activity.dropped;
	activity.dropped = 0;
	pthread_mutex_unlock(&activity.lock);
	return CUPTI_ABI_SUCCESS;
}

static int attribute_access(uint32_t attribute, size_t *value_size, void *value, bool set)
{
	int err;

	if (!value_size || !value)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	if (attribute >= sizeof(activity.attributes) / sizeof(activity.attributes[0]))
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	if (*value_size < sizeof(size_t))
		return FAKE_CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
	err = cupti_attach();
	if (err)
		return err;
	pthread_mutex_lock(&activity.lock);
	if (set)
		memcpy(&activity.attributes[attribute], value, sizeof(size_t));
	else
		memcpy(value, &activity.attributes[attribute], sizeof(size_t));
	pthread_mutex_unlock(&activity.lock);
	*value_size = sizeof(size_t);
	return CUPTI_ABI_SUCCESS;
}

FAKE_CUDA_EXPORT int cuptiActivitySetAttribute(uint32_t attribute, size_t *value_size, void *value)
{
	return attribute_access(attribute, value_size, value, true);
}

FAKE_CUDA_EXPORT int cuptiActivityGetAttribute(uint32_t attribute, size_t *value_size, void *value)
{
	return attribute_access(attribute, value_size, value, false);
}
