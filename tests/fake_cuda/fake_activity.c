/* SPDX-License-Identifier: MIT */
/*
 * Activity records of the fake libcupti.
 *
 * Work reserves its record in the current buffer of the calling thread, which requests one if it
 * has none with room. Timestamps are filled in when the buffer is handed over: until the virtual
 * GPU has reached the work's end, its record is incomplete and shows zeros. One worker thread
 * returns the buffers, in the order in which they were filled; one that is not full stays with its
 * thread until a flush, even if the thread has ended.
 */
#define _GNU_SOURCE
#include "cupti.h"
#include "records.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* buffer_completed's stream id means nothing with a NULL context; on an H100 it is not even 0. */
enum { STREAM_ID_NOISE = 0x15b40000 };

#define SHIFT_NS 100000000000 /* shift of records that are early or late on demand: 100 s */

struct entry {
	size_t offset;
	uint64_t start, end; /* monotonic; both 0: never known */
	bool reversed;
	int64_t shift; /* both kinds' */
};

struct buffer {
	uint8_t *data;
	size_t size, used;             /* bytes */
	size_t count, limit, capacity; /* records: in it, at most, room for in `entries` */
	struct entry *entries;
	uint64_t last_end;
	bool awaited, forced; /* by a flush */
	struct buffer *next;
};

/*
 * The buffers for a thread's records (CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, on by default
 * since it exists), or those of all threads.
 */
struct holder {
	struct buffer *current, *spare; /* being filled; requested by racing threads */
	bool orphaned;                  /* its thread has ended */
	struct holder *next;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t work, delivered;
	bool worker_running;
	pthread_t worker;
	cupti_abi_buffer_requested requested;
	cupti_abi_buffer_completed completed;
	uint64_t kinds; /* bit mask of the enabled kinds */
	/* every nth record, 0: none */
	unsigned long drop_every, lose_every, zero_every, reverse_every, early_every, late_every;
	uint64_t records_seen;
	size_t dropped;
	uint64_t flush_period;          /* ns, 0: none */
	struct holder *holders, common; /* one for each thread; one for all */
	bool shared;                    /* only `common` is used */
	pthread_key_t thread_end;
	struct buffer *queue, **queue_end;    /* to hand over when complete */
	struct buffer *in_delivery;           /* out of the queue, with the client */
	unsigned long awaited_n, delivered_n; /* buffers ever awaited by a flush, and handed over */
	struct fake_cuda_activity late[64];   /* FAKE_CUDA_DEVICE_RECORDS=late */
	uint32_t late_count;
} activity = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.queue_end = &activity.queue,
};
static __thread struct holder *own_holder;

static const struct fake_cuda_driver *driver(void)
{
	return cupti_driver();
}

static bool complete(const struct buffer *b, uint64_t now)
{
	return b->forced || b->last_end <= now;
}

/* Fill in the known times. */
static void write_times(struct buffer *b)
{
	uint64_t now = driver()->now();

	for (size_t i = 0; i < b->count; i++) {
		const struct entry *e = &b->entries[i];
		uint64_t start, end;

		if (!e->end || e->end > now)
			continue;
		start = driver()->cupti_time(e->start) + (uint64_t)e->shift;
		end = driver()->cupti_time(e->end) + (uint64_t)e->shift;
		record_set_times(b->data + e->offset, e->reversed ? end : start,
				 e->reversed ? start : end);
	}
}

/* Worker thread, without the lock. */
static void hand_over(struct buffer *b)
{
	write_times(b);
	activity.completed(NULL, STREAM_ID_NOISE, b->data, b->size, b->used);
}

static void end_thread(void *holder)
{
	own_holder = NULL;
	pthread_mutex_lock(&activity.lock);
	((struct holder *)holder)->orphaned = true;
	pthread_mutex_unlock(&activity.lock);
}

/* With the lock held: the calling thread's; the common one if memory is short. */
static struct holder *find_holder(void)
{
	struct holder *h = activity.shared ? &activity.common : own_holder;

	if (h)
		return h;
	h = calloc(1, sizeof(*h));
	if (!h)
		return &activity.common;
	h->next = activity.holders;
	activity.holders = h;
	own_holder = h;
	pthread_setspecific(activity.thread_end, h);
	return h;
}

/* With the lock held. */
static void queue_current(struct holder *h)
{
	struct buffer *b = h->current;

	h->current = h->spare;
	if (h->spare)
		h->spare = h->spare->next;
	if (h->current)
		h->current->next = NULL;
	b->next = NULL;
	*activity.queue_end = b;
	activity.queue_end = &b->next;
	pthread_cond_signal(&activity.work);
}

/* With the lock held: queue each holder's buffer if it is complete, or in any case. */
static void queue_all(bool forced, uint64_t now)
{
	struct holder **at = &activity.holders, *h = &activity.common;

	while (h) {
		if (h->current && (forced || (h->current->count && complete(h->current, now))))
			queue_current(h);
		while (forced && h->current)
			queue_current(h);
		if (h != &activity.common && h->orphaned && !h->current) {
			*at = h->next;
			free(h);
		} else if (h != &activity.common) {
			at = &h->next;
		}
		h = *at;
	}
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

		if (!activity.flush_period)
			next_flush = 0;
		else if (!next_flush)
			next_flush = now + activity.flush_period;
		if (next_flush && now >= next_flush) {
			next_flush = now + activity.flush_period;
			queue_all(false, now);
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
		activity.in_delivery = b;
		pthread_mutex_unlock(&activity.lock);
		hand_over(b);
		pthread_mutex_lock(&activity.lock);
		activity.in_delivery = NULL;
		if (b->awaited) {
			activity.delivered_n++;
			pthread_cond_broadcast(&activity.delivered);
		}
		free(b->entries);
		free(b);
	}
	return NULL;
}

/* With the lock held. The worker must not receive the application's signals. */
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

/* Without the lock: ask the client for a buffer. NULL if it gave none with room for a record. */
static struct buffer *request_buffer(size_t record)
{
	size_t max_records = 0;
	struct buffer *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	activity.requested(&b->data, &b->size, &max_records);
	b->limit = max_records ? max_records : SIZE_MAX;
	if (!b->data && FAKE_CUPTI_VERSION < 27) {
		fprintf(stderr, "fake libcupti: no buffer, which crashes this version\n");
		abort();
	}
	if (b->data && ((uintptr_t)b->data & 7))
		cupti_misuse("activity buffer is not aligned to 8 bytes");
	else if (b->data && b->size >= record)
		return b;
	free(b);
	return NULL;
}

static bool has_room(const struct buffer *b, size_t record)
{
	return b->count < b->limit && b->size - b->used >= record;
}

/* With the lock held: a buffer requested at the same time as another thread's, or NULL. */
static struct buffer *take_spare(struct holder *h, size_t record)
{
	struct buffer *b = h->spare;

	if (!b || b->size < record)
		return NULL;
	h->spare = b->next;
	b->next = NULL;
	return b;
}

/*
 * With the lock held: make h->current a buffer with room. May release the lock, so that a flush may
 * take the buffer, and other threads may provide the common one, and fill it.
 */
static bool make_room(struct holder *h, size_t record)
{
	for (;;) {
		struct buffer *b;

		while (h->current && h->current->count && !has_room(h->current, record))
			queue_current(h);
		if (!h->current)
			h->current = take_spare(h, record);
		if (h->current)
			return has_room(h->current, record);
		pthread_mutex_unlock(&activity.lock);
		b = request_buffer(record);
		pthread_mutex_lock(&activity.lock);
		if (!b)
			return h->current && has_room(h->current, record);
		b->next = h->spare;
		h->spare = b;
	}
}

/* With the lock held: the place of a buffer's next record; NULL if memory is short. */
static struct entry *add_entry(struct buffer *b, size_t record)
{
	if (b->count == b->capacity) {
		size_t n = b->capacity ? 2 * b->capacity : 64;
		struct entry *grown = realloc(b->entries, n * sizeof(*grown));

		if (!grown)
			return NULL;
		b->entries = grown;
		b->capacity = n;
	}
	b->entries[b->count] = (struct entry){.offset = b->used};
	b->used += record;
	return &b->entries[b->count++];
}

static bool every(unsigned long interval, uint64_t n)
{
	return interval && n % interval == 0;
}

static uint64_t kind_bit(uint32_t kind)
{
	return (uint64_t)1 << kind;
}

static const uint64_t kernel_kinds = (uint64_t)1 << CUPTI_ABI_ACTIVITY_KIND_KERNEL |
				     (uint64_t)1 << CUPTI_ABI_ACTIVITY_KIND_CONCURRENT_KERNEL;

/* The enabled record kind of an activity; 0 if none. */
static uint32_t wanted_kind(const struct fake_cuda_activity *a)
{
	uint64_t kinds = __atomic_load_n(&activity.kinds, __ATOMIC_ACQUIRE);
	uint32_t kind = record_kind(a);

	if (a->in_body && FAKE_CUPTI_VERSION < 26)
		return 0;
	if (a->graph_node_id && (kinds & kind_bit(CUPTI_ABI_ACTIVITY_KIND_GRAPH_TRACE)))
		return 0; /* the graph has one record for all its nodes */
	if (a->type == FAKE_CUDA_KERNEL && !(kinds & kind_bit(kind)))
		kind = CUPTI_ABI_ACTIVITY_KIND_KERNEL;
	return kinds & kind_bit(kind) ? kind : 0;
}

/* These records have no times, and are never lost. */
static bool is_description(const struct fake_cuda_activity *a)
{
	return a->type == FAKE_CUDA_DEVICE || a->type == FAKE_CUDA_CONTEXT;
}

/* With the lock held. */
static void write_description(uint32_t kind, const struct fake_cuda_activity *a)
{
	struct holder *h = find_holder();
	size_t size = record_size(kind);
	struct entry *e = make_room(h, size) ? add_entry(h->current, size) : NULL;

	if (!e) {
		activity.dropped++;
		return;
	}
	record_fill(h->current->data + e->offset, kind, a);
	if (!has_room(h->current, RECORD_SMALLEST))
		queue_current(h);
}

/* With the lock held. */
static void write_record(uint32_t kind, const struct fake_cuda_activity *a)
{
	uint64_t number = ++activity.records_seen; /* make_room may release the lock */
	size_t size = record_size(kind);
	struct holder *h = find_holder();
	struct entry *e = NULL;
	struct buffer *b;

	if (every(activity.lose_every, number))
		return;
	if (!every(activity.drop_every, number) && make_room(h, size))
		e = add_entry(h->current, size);
	if (!e) {
		activity.dropped++;
		return;
	}
	b = h->current;
	record_fill(b->data + e->offset, kind, a);
	if (!every(activity.zero_every, number)) {
		e->start = a->start;
		e->end = a->end;
		e->reversed = every(activity.reverse_every, number);
		e->shift = every(activity.early_every, number)  ? -SHIFT_NS
			   : every(activity.late_every, number) ? SHIFT_NS
								: 0;
	}
	if (a->end > b->last_end)
		b->last_end = a->end;
	if (!has_room(b, RECORD_SMALLEST))
		queue_current(h);
}

/* Until a forced flush; records of devices until they are requested. */
static bool is_kept_back(const struct fake_cuda_activity *a)
{
	return cupti_setting_is("FAKE_CUDA_DEVICE_RECORDS", "late") ||
	       (a->type == FAKE_CUDA_DEVICE &&
		cupti_setting_is("FAKE_CUDA_DEVICE_RECORDS", "dumped"));
}

/* With the lock held. */
static void keep_for_later(const struct fake_cuda_activity *a)
{
	if (activity.late_count < sizeof(activity.late) / sizeof(activity.late[0]))
		activity.late[activity.late_count++] = *a;
}

void cupti_activity(const struct fake_cuda_activity *a)
{
	uint32_t kind = wanted_kind(a);

	if (a->type == FAKE_CUDA_KERNEL)
		cupti_pc_sample(a);
	if (!kind)
		return;
	pthread_mutex_lock(&activity.lock);
	if (!activity.requested)
		;
	else if (is_description(a) && is_kept_back(a))
		keep_for_later(a);
	else if (is_description(a))
		write_description(kind, a);
	else
		write_record(kind, a);
	pthread_mutex_unlock(&activity.lock);
}

/* With the lock held: write the records held back, after all work. */
static void write_late(void)
{
	for (uint32_t i = 0; i < activity.late_count; i++) {
		uint32_t kind = wanted_kind(&activity.late[i]);

		if (kind)
			write_description(kind, &activity.late[i]);
	}
	activity.late_count = 0;
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
	activity.lose_every = cupti_env("FAKE_CUDA_LOSE_EVERY");
	activity.zero_every = cupti_env("FAKE_CUDA_ZERO_TIMESTAMP_EVERY");
	activity.reverse_every = cupti_env("FAKE_CUDA_REVERSE_TIMESTAMP_EVERY");
	activity.early_every = cupti_env("FAKE_CUDA_EARLY_EVERY");
	activity.late_every = cupti_env("FAKE_CUDA_LATE_EVERY");
	err = start_worker();
	/* each thread has its own by default since 13.0 */
	activity.shared = FAKE_CUPTI_VERSION < 130000 || cupti_env("FAKE_CUDA_SHARED_BUFFERS");
	if (!err && !activity.requested && pthread_key_create(&activity.thread_end, end_thread))
		activity.shared = true;
	if (!err) {
		activity.requested = requested;
		activity.completed = completed;
	}
	pthread_mutex_unlock(&activity.lock);
	return err;
}

/* Kinds without records in the stand-in are refused rather than silently empty. */
FAKE_CUDA_EXPORT int cuptiActivityEnable(uint32_t kind)
{
	int err = cupti_attach();
	uint64_t others;

	if (err)
		return err;
	if (!record_size(kind))
		return CUPTI_ABI_ERROR_INVALID_KIND;
	if ((kind == CUPTI_ABI_ACTIVITY_KIND_DEVICE || kind == CUPTI_ABI_ACTIVITY_KIND_CONTEXT) &&
	    cupti_setting_is("FAKE_CUDA_DEVICE_RECORDS", "refused"))
		return FAKE_CUPTI_ERROR_NOT_COMPATIBLE;
	others = kernel_kinds & kind_bit(kind) ? kernel_kinds & ~kind_bit(kind) : 0;
	pthread_mutex_lock(&activity.lock);
	if (activity.kinds & others)
		err = FAKE_CUPTI_ERROR_NOT_COMPATIBLE;
	else
		__atomic_or_fetch(&activity.kinds, kind_bit(kind), __ATOMIC_RELEASE);
	pthread_mutex_unlock(&activity.lock);
	return err;
}

/* Devices and contexts have no further records, except those held back. */
FAKE_CUDA_EXPORT int cuptiActivityEnableAndDump(uint32_t kind)
{
	int err = cuptiActivityEnable(kind);

	pthread_mutex_lock(&activity.lock);
	if (!err && activity.requested && cupti_setting_is("FAKE_CUDA_DEVICE_RECORDS", "dumped"))
		write_late();
	pthread_mutex_unlock(&activity.lock);
	return err;
}

FAKE_CUDA_EXPORT int cuptiActivityDisable(uint32_t kind)
{
	int err = cupti_attach();

	if (err)
		return err;
	if (!record_size(kind))
		return CUPTI_ABI_ERROR_INVALID_KIND;
	__atomic_and_fetch(&activity.kinds, ~kind_bit(kind), __ATOMIC_RELEASE);
	return CUPTI_ABI_SUCCESS;
}

/* As on a system without managed memory: nothing to count. */
FAKE_CUDA_EXPORT int cuptiActivityConfigureUnifiedMemoryCounter(struct cupti_abi_uvm_config *config,
								uint32_t count)
{
	int err;

	if (!config || !count)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	err = cupti_attach();
	return err ? err : FAKE_CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED;
}

/* With the lock held. */
static void await(struct buffer *b)
{
	if (!b->awaited)
		activity.awaited_n++;
	b->awaited = true;
}

/* With the lock held: mark what this flush must wait for. */
static void flush_mark(bool forced)
{
	uint64_t now = driver()->now();

	queue_all(forced, now);
	if (activity.in_delivery)
		await(activity.in_delivery);
	for (struct buffer *b = activity.queue; b; b = b->next) {
		if (forced)
			b->forced = true;
		else if (!complete(b, now))
			break; /* later ones wait their turn */
		await(b);
	}
}

FAKE_CUDA_EXPORT int cuptiActivityFlushAll(uint32_t flag)
{
	unsigned long target;
	int err;

	if (cupti_forked()) {
		cupti_misuse("cuptiActivityFlushAll called in a forked child");
		for (;;) /* measured: it never returns, because its worker is in the parent */
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
		if ((flag & CUPTI_ABI_FLUSH_FORCED) &&
		    cupti_setting_is("FAKE_CUDA_DEVICE_RECORDS", "late"))
			write_late();
		flush_mark(flag & CUPTI_ABI_FLUSH_FORCED);
		pthread_cond_signal(&activity.work);
		target = activity.awaited_n;
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
	size_t offset = 0, size;
	uint32_t kind;

	if (!buffer || !record)
		return CUPTI_ABI_ERROR_INVALID_PARAMETER;
	if (*record) {
		ptrdiff_t at = (uint8_t *)*record - buffer;

		size = record_size((*record)->kind);
		if (at < 0 || !size || (size_t)at + size > valid_size)
			return CUPTI_ABI_ERROR_MAX_LIMIT_REACHED;
		offset = (size_t)at + size;
	}
	if (offset >= valid_size)
		return CUPTI_ABI_ERROR_MAX_LIMIT_REACHED;
	if (valid_size - offset < sizeof(kind))
		return CUPTI_ABI_ERROR_INVALID_KIND;
	memcpy(&kind, buffer + offset, sizeof(kind));
	size = record_size(kind);
	if (!size || valid_size - offset < size)
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
