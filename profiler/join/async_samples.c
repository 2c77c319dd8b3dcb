// SPDX-License-Identifier: MIT
#include "profiler/join/async_samples.h"

#include <stdlib.h>
#include <string.h>
#include "symbolize/util/array.h"

/* Consecutive launches for one owner. */
struct span {
	uint64_t from_ns, until_ns;
	struct owner_stack owner;
};

struct async_thread {
	uint32_t process, tid;
	uint32_t first, count; /* ring of spans, oldest first */
	bool forgot;           /* older spans were dropped */
	struct span spans[ASYNC_SAMPLES_SPANS];
	struct async_sample *samples; /* sorted by time */
	uint32_t waiting, capacity;
};

struct key {
	uint32_t process, tid;
};

static uint32_t hash_key(const struct key *key)
{
	return hash_number((uint64_t)key->process << 32 | key->tid);
}

static bool is_thread(const void *records, uint32_t position, const void *key)
{
	const struct async_thread *thread = ((struct async_thread *const *)records)[position];
	const struct key *wanted = key;

	return thread->process == wanted->process && thread->tid == wanted->tid;
}

static struct async_thread *find(const struct async_samples *h, uint32_t process, uint32_t tid)
{
	const struct key key = {process, tid};
	uint32_t at = hash_index_find(&h->index, hash_key(&key), is_thread, h->threads, &key);

	return at == HASH_INDEX_NONE ? NULL : h->threads[at];
}

/* Returns the thread, adding it if needed. Returns NULL without room. */
static struct async_thread *get(struct async_samples *h, uint32_t process, uint32_t tid)
{
	const struct key key = {process, tid};
	struct async_thread *thread = find(h, process, tid);

	if (thread || h->count == ASYNC_SAMPLES_THREADS_MAX)
		return thread;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	thread->process = process;
	thread->tid = tid;
	if (array_make_room(&h->threads, h->count, &h->capacity, sizeof(thread)) &&
	    hash_index_add(&h->index, hash_key(&key), h->count) == 0) {
		h->threads[h->count++] = thread;
		return thread;
	}
	free(thread);
	return NULL;
}

static void free_thread(struct async_thread *thread)
{
	free(thread->samples);
	free(thread);
}

void async_samples_release(struct async_samples *h)
{
	for (uint32_t i = 0; i < h->count; i++)
		free_thread(h->threads[i]);
	free(h->threads);
	hash_index_release(&h->index);
	*h = (struct async_samples){0};
}

/* ---- deciding ---- */

/* Returns the i-th span, counted from the oldest. */
static const struct span *span_at(const struct async_thread *thread, uint32_t i)
{
	return &thread->spans[(thread->first + i) % ASYNC_SAMPLES_SPANS];
}

static bool is_near(uint64_t earlier_ns, uint64_t later_ns)
{
	return later_ns - earlier_ns <= ASYNC_SAMPLES_NEAR_NS;
}

/* Returns the owner of the thread's work at that time, as far as launches tell. */
static struct owner_stack owner_at(const struct async_thread *thread, uint64_t time_ns)
{
	const struct span *span;
	uint32_t i = thread->count;

	/* the last span that began by then */
	while (i > 0 && span_at(thread, i - 1)->from_ns > time_ns)
		i--;
	if (i == 0) {
		span = span_at(thread, 0);
		return thread->count > 0 && !thread->forgot && is_near(time_ns, span->from_ns)
			       ? span->owner
			       : OWNER_UNKNOWN;
	}
	span = span_at(thread, i - 1);
	if (time_ns <= span->until_ns)
		return span->owner;
	/* between spans the owner is unknown */
	return i == thread->count && is_near(span->until_ns, time_ns) ? span->owner : OWNER_UNKNOWN;
}

/* Decides the samples up to `until_ns`, and at least `n`. */
static void decide(struct async_samples *h, struct async_thread *thread, uint64_t until_ns,
		   uint32_t n)
{
	uint32_t done = 0;

	while (done < thread->waiting && (done < n || thread->samples[done].time_ns <= until_ns)) {
		const struct async_sample *sample = &thread->samples[done++];

		h->output(h->context, sample, owner_at(thread, sample->time_ns));
	}
	thread->waiting -= done;
	h->waiting -= done;
	if (done > 0)
		memmove(thread->samples, thread->samples + done,
			thread->waiting * sizeof(*thread->samples));
}

void async_samples_launch(struct async_samples *h, uint32_t process, uint32_t tid, uint64_t time_ns,
			  struct owner_stack owner)
{
	struct async_thread *thread = get(h, process, tid);
	struct span *last;

	if (!thread)
		return;
	last = &thread->spans[(thread->first + thread->count - 1) % ASYNC_SAMPLES_SPANS];
	if (thread->count > 0 && time_ns < last->until_ns)
		return; /* a thread's launches are in order */
	if (thread->count > 0 && same_id(last->owner, owner)) {
		last->until_ns = time_ns;
	} else {
		if (thread->count == ASYNC_SAMPLES_SPANS) {
			thread->first = (thread->first + 1) % ASYNC_SAMPLES_SPANS;
			thread->count--;
			thread->forgot = true;
		}
		thread->spans[(thread->first + thread->count++) % ASYNC_SAMPLES_SPANS] =
			(struct span){time_ns, time_ns, owner};
	}
	decide(h, thread, time_ns, 0);
}

bool async_samples_has(const struct async_samples *h, uint32_t process, uint32_t tid)
{
	return h->count > 0 && find(h, process, tid);
}

void async_samples_add(struct async_samples *h, const struct async_sample *sample)
{
	struct async_thread *thread = get(h, sample->process, sample->tid);
	const struct span *last;

	last = thread && thread->count > 0 ? span_at(thread, thread->count - 1) : NULL;
	if (last && sample->time_ns <= last->until_ns) {
		h->output(h->context, sample, owner_at(thread, sample->time_ns));
		return;
	}
	if (thread && thread->waiting == ASYNC_SAMPLES_WAITING_MAX)
		decide(h, thread, 0, ASYNC_SAMPLES_WAITING_MAX / 2);
	if (!thread || !array_make_room(&thread->samples, thread->waiting, &thread->capacity,
					sizeof(*sample))) {
		h->output(h->context, sample, OWNER_UNKNOWN);
		return;
	}
	thread->samples[thread->waiting++] = *sample;
	h->waiting++;
}

void async_samples_advance(struct async_samples *h, uint64_t now_ns)
{
	if (h->waiting == 0 || now_ns < ASYNC_SAMPLES_TIMEOUT_NS)
		return;
	for (uint32_t i = 0; i < h->count; i++)
		decide(h, h->threads[i], now_ns - ASYNC_SAMPLES_TIMEOUT_NS, 0);
}

void async_samples_visit(struct async_samples *h, const struct id_visitor *v)
{
	for (uint32_t i = 0; i < h->count; i++) {
		struct async_thread *thread = h->threads[i];

		for (uint32_t k = 0; k < thread->count; k++)
			visit_stack_or_mark(
				v, &thread->spans[(thread->first + k) % ASYNC_SAMPLES_SPANS]
					    .owner.number);
		for (uint32_t k = 0; k < thread->waiting; k++) {
			visit_stack(v, &thread->samples[k].stack);
			visit_place(v, &thread->samples[k].place);
		}
	}
}

void async_samples_forget(struct async_samples *h, uint32_t process)
{
	for (uint32_t i = h->count; i-- > 0;) {
		struct async_thread *thread = h->threads[i];
		const struct key key = {thread->process, thread->tid};
		struct key moved;

		if (thread->process != process)
			continue;
		decide(h, thread, UINT64_MAX, 0);
		hash_index_remove(&h->index, hash_key(&key), i);
		h->threads[i] = h->threads[--h->count];
		moved = (struct key){h->threads[i]->process, h->threads[i]->tid};
		if (i < h->count)
			hash_index_move(&h->index, hash_key(&moved), h->count, i);
		free_thread(thread);
	}
}
