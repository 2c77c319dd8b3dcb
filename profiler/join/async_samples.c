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

static struct async_thread *find(const struct async_samples *h, uint32_t process, uint32_t tid)
{
	const struct key key = {process, tid};
	uint32_t at = record_find(&h->threads, &key);

	return at == RECORD_NONE ? NULL : &h->threads.list[at];
}

/* Returns the thread, adding it if needed. Returns NULL without room. */
static struct async_thread *get(struct async_samples *h, uint32_t process, uint32_t tid)
{
	const struct key key = {process, tid};
	const struct async_thread new = {.process = process, .tid = tid};
	uint32_t at = record_find(&h->threads, &key);

	if (at == RECORD_NONE && h->threads.count < ASYNC_SAMPLES_THREADS_MAX)
		at = record_add(&h->threads, &key, &new);
	return at == RECORD_NONE ? NULL : &h->threads.list[at];
}

void async_samples_release(struct async_samples *h)
{
	for (uint32_t i = 0; i < h->threads.count; i++)
		free(h->threads.list[i].samples);
	record_set_release(&h->threads.set);
}

/* ---- deciding ---- */

/* Returns the i-th span, counted from the oldest. */
static struct span *span_at(struct async_thread *thread, uint32_t i)
{
	return &thread->spans[(thread->first + i) % ASYNC_SAMPLES_SPANS];
}

static bool is_near(uint64_t earlier_ns, uint64_t later_ns)
{
	return later_ns - earlier_ns <= ASYNC_SAMPLES_NEAR_NS;
}

/* Returns the owner of the thread's work at that time, as far as launches tell. */
static struct owner_stack owner_at(struct async_thread *thread, uint64_t time_ns)
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
	last = thread->count > 0 ? span_at(thread, thread->count - 1) : NULL;
	if (last && time_ns < last->until_ns)
		return; /* a thread's launches are in order */
	if (last && same_id(last->owner, owner)) {
		last->until_ns = time_ns;
	} else {
		if (thread->count == ASYNC_SAMPLES_SPANS) {
			thread->first = (thread->first + 1) % ASYNC_SAMPLES_SPANS;
			thread->count--;
			thread->forgot = true;
		}
		*span_at(thread, thread->count++) = (struct span){time_ns, time_ns, owner};
	}
	decide(h, thread, time_ns, 0);
}

bool async_samples_has(const struct async_samples *h, uint32_t process, uint32_t tid)
{
	return h->threads.count > 0 && find(h, process, tid);
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
	for (uint32_t i = 0; i < h->threads.count; i++)
		decide(h, &h->threads.list[i], now_ns - ASYNC_SAMPLES_TIMEOUT_NS, 0);
}

void async_samples_visit(struct async_samples *h, const struct id_visitor *v)
{
	for (uint32_t i = 0; i < h->threads.count; i++) {
		struct async_thread *thread = &h->threads.list[i];

		for (uint32_t k = 0; k < thread->count; k++)
			visit_stack_or_mark(v, &span_at(thread, k)->owner.number);
		for (uint32_t k = 0; k < thread->waiting; k++) {
			visit_stack(v, &thread->samples[k].stack);
			visit_place(v, &thread->samples[k].place);
		}
	}
}

void async_samples_forget(struct async_samples *h, uint32_t process)
{
	for (uint32_t i = h->threads.count; i-- > 0;) {
		struct async_thread *thread = &h->threads.list[i];

		if (thread->process != process)
			continue;
		decide(h, thread, UINT64_MAX, 0);
		free(thread->samples);
		record_remove(&h->threads, struct key, i);
	}
}
