// SPDX-License-Identifier: MIT
#include "profiler/join/join.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/join/join_links.h"
#include "symbolize/util/record_set.h"
#include "symbolize/util/queue.h"
#include "symbolize/util/sorted.h"

struct probe {
	uint64_t time_ns;
	struct origin_id origin;
	uint32_t family;
};

struct launch {
	uint64_t time_ns;
	struct link_ref link; /* the id may be reused before this is decided */
	uint32_t family;
};

/* A thread with queued input. Removed with empty queues when there are many. */
struct thread {
	uint32_t process;
	uint32_t tid;
	struct queue probes;   /* struct probe, by time */
	struct queue launches; /* struct launch, undecided, by time */
};

/* A link created by operations; its launch may have arrived since. */
struct orphan {
	uint64_t deadline_ns; /* set at the first advance */
	struct link_ref link;
};

struct join {
	struct join_output output;
	struct join_stats stats;
	uint64_t probes_until_ns;
	uint32_t newest; /* JOIN_REMEMBERED; also the limit of pending items */
	uint32_t ended[JOIN_ENDED_MAX], ended_count; /* ended processes not yet forgotten */

	RECORD_SET(struct thread) threads;
	uint32_t uprobes_held, launches_held; /* total of all threads' queues */

	struct links links;
	struct queue orphans; /* struct orphan, by deadline */
	uint32_t new_orphans; /* number of orphans at the end, added since the last advance */
};

struct join *join_new(const struct join_output *output)
{
	struct join *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->output = *output;
	c->newest = JOIN_REMEMBERED;
	links_init(&c->links);
	queue_init(&c->orphans, sizeof(struct orphan));
	return c;
}

void join_limit(struct join *c, struct quota *memory)
{
	c->links.memory = memory;
}

static void release_thread(struct thread *t)
{
	queue_release(&t->probes);
	queue_release(&t->launches);
}

void join_free(struct join *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->threads.count; i++)
		release_thread(&c->threads.list[i]);
	record_set_release(&c->threads.set);
	links_release(&c->links);
	queue_release(&c->orphans);
	free(c);
}

void join_remember(struct join *c, uint32_t newest)
{
	c->newest = newest;
	links_limit(&c->links, newest);
}

static size_t queue_memory(const struct queue *q)
{
	return q->capacity * q->element_size;
}

size_t join_memory(const struct join *c)
{
	size_t bytes = sizeof(*c) + links_memory(&c->links) + queue_memory(&c->orphans) +
		       c->threads.capacity * sizeof(*c->threads.list) +
		       c->threads.set.index.capacity * sizeof(*c->threads.set.index.slots);

	for (uint32_t i = 0; i < c->threads.count; i++)
		bytes += queue_memory(&c->threads.list[i].probes) +
			 queue_memory(&c->threads.list[i].launches);
	return bytes;
}

/* ---- attribution ---- */

static void attribute(struct join *c, struct origin_id origin, uint64_t launched_ns,
		      const struct gpu_operation *op)
{
	if (op->work == JOIN_REMARK) {
		;
	} else if (same_id(origin, ORIGIN_UNKNOWN)) {
		c->stats.unmatched++;
		c->stats.unmatched_ns += op->duration_ns;
	} else {
		c->stats.matched++;
	}
	c->output.attribute(c->output.context, origin, launched_ns, op);
}

static enum link_state begun(const struct link *link)
{
	return link->is_graph ? LINK_GRAPH : LINK_PLAIN;
}

/* Sets the origin of `link`, which may be unknown, and attributes its waiting operations. */
static void decide(struct join *c, struct link *link, struct origin_id origin)
{
	bool had_operations = false;
	struct gpu_operation op;

	while (links_take_waiting(&c->links, link, &op)) {
		attribute(c, origin, link->launched_ns, &op);
		had_operations |= op.work != JOIN_REMARK;
	}
	link->origin = origin;
	links_list(&c->links, link, had_operations ? begun(link) : LINK_IDLE);
}

/* ---- matching launches with probes ---- */

static void pop_probe(struct join *c, struct thread *t)
{
	queue_pop(&t->probes);
	c->uprobes_held--;
}

/* Drops the oldest `n` probes as unused. */
static void drop_probes(struct join *c, struct thread *t, uint32_t n)
{
	for (; n > 0; n--) {
		c->stats.probes_unused++;
		pop_probe(c, t);
	}
}

/*
 * Returns the latest probe of the launch's family up to its time, and removes all probes up to
 * there. A driver launch without a probe takes a runtime probe. In a program's first CUDA call,
 * CUPTI was not ready when the runtime function was entered. So only the nested driver call was
 * reported.
 */
static struct origin_id take_probe_before(struct join *c, struct thread *t,
					  const struct launch *launch)
{
	struct origin_id own = ORIGIN_UNKNOWN, outer = ORIGIN_UNKNOWN;
	struct probe *p;

	while ((p = queue_front(&t->probes)) && p->time_ns <= launch->time_ns) {
		if (p->family == launch->family)
			own = p->origin;
		else if (launch->family == FAMILY_DRIVER)
			outer = p->origin;
		drop_probes(c, t, 1);
	}
	if (same_id(own, ORIGIN_UNKNOWN))
		own = outer;
	if (!same_id(own, ORIGIN_UNKNOWN))
		c->stats.probes_unused--;
	return own;
}

/*
 * Returns the probe of the driver call nested in a runtime launch: the first one before `until_ns`.
 */
static struct origin_id take_nested_probe(struct join *c, struct thread *t, uint64_t until_ns)
{
	struct probe *p = queue_front(&t->probes);
	struct origin_id origin;

	/* a runtime probe belongs to the next launch */
	if (!p || p->time_ns >= until_ns || p->family != FAMILY_DRIVER)
		return ORIGIN_UNKNOWN;
	origin = p->origin;
	pop_probe(c, t);
	return origin;
}

/*
 * Decides the thread's first undecided launch if the input so far allows it. `final`: the input has
 * ended.
 */
static bool decide_first_launch(struct join *c, struct thread *t, bool final)
{
	struct launch *first = queue_front(&t->launches), launch;
	struct launch *next;
	struct origin_id origin;
	struct link *l;

	if (!first || (!final && first->time_ns > c->probes_until_ns))
		return false;
	launch = *first;
	origin = take_probe_before(c, t, &launch);
	if (same_id(origin, ORIGIN_UNKNOWN) && launch.family == FAMILY_RUNTIME) {
		uint64_t until = launch.time_ns + JOIN_NESTED_NS;

		next = queue_at(&t->launches, 1);
		if (next && next->time_ns < until)
			until = next->time_ns;
		else
			next = NULL; /* too far away to matter */
		if (!final && c->probes_until_ns < until)
			return false;
		/*
		 * a driver launch that follows has its own probe just before it: leave that probe
		 */
		if (!next || next->family != FAMILY_DRIVER ||
		    queue_count_before(&t->probes, until) > 1)
			origin = take_nested_probe(c, t, until);
	}
	if (same_id(origin, ORIGIN_UNKNOWN))
		c->stats.launches_unprobed++;
	queue_pop(&t->launches);
	c->launches_held--;
	l = links_deref(&c->links, launch.link);
	if (l && l->state == LINK_UNDECIDED)
		decide(c, l, origin);
	return true;
}

static void decide_launches(struct join *c, struct thread *t, bool final)
{
	while (decide_first_launch(c, t, final))
		;
}

static void decide_all_launches(struct join *c, bool final)
{
	for (uint32_t i = 0; i < c->threads.count; i++)
		decide_launches(c, &c->threads.list[i], final);
}

/* ---- threads ---- */

struct key {
	uint32_t process;
	uint32_t id;
};

/* Removes threads with empty queues. Keeps the order of the others. */
static void forget_idle_threads(struct join *c)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < c->threads.count; i++) {
		struct thread *t = &c->threads.list[i];

		if (!queue_length(&t->probes) && !queue_length(&t->launches)) {
			release_thread(t);
			continue;
		}
		c->threads.list[kept++] = *t;
	}
	c->threads.count = kept;
	record_reindex(&c->threads, struct key);
}

/* Decides everything of the older half of the threads, without waiting. */
static void flush_old_threads(struct join *c)
{
	for (uint32_t i = 0; i < c->threads.count / 2; i++) {
		struct thread *t = &c->threads.list[i];

		decide_launches(c, t, true);
		drop_probes(c, t, queue_length(&t->probes));
	}
}

/*
 * Makes room for one more thread. A full set grows if few threads can be removed, so that the cost
 * per thread stays low. Far above the number of active threads in real programs, the oldest threads
 * are flushed instead.
 */
static void make_thread_room(struct join *c)
{
	uint32_t crowded = c->threads.capacity - c->threads.capacity / 4;

	if (c->threads.count < c->threads.capacity)
		return;
	forget_idle_threads(c);
	if (c->threads.count < crowded || c->threads.capacity < c->newest / 8 ||
	    c->threads.count <= 1)
		return;
	flush_old_threads(c);
	forget_idle_threads(c);
}

static struct thread *get_thread(struct join *c, uint32_t process, uint32_t tid)
{
	const struct key key = {process, tid};
	struct thread new = {.process = process, .tid = tid};
	uint32_t at = record_find(&c->threads, &key);

	if (at == RECORD_NONE) {
		make_thread_room(c);
		queue_init(&new.probes, sizeof(struct probe));
		queue_init(&new.launches, sizeof(struct launch));
		at = record_add(&c->threads, &key, &new);
	}
	return at == RECORD_NONE ? NULL : &c->threads.list[at];
}

/*
 * Drops probes of calls that CUPTI does not report. The threads with most probes lose their older
 * half. Others, which may well be traced, keep theirs.
 */
static void drop_old_probes(struct join *c)
{
	uint32_t share = c->uprobes_held / c->threads.count / 2;

	for (uint32_t i = 0; i < c->threads.count; i++) {
		struct thread *t = &c->threads.list[i];
		uint32_t n = queue_length(&t->probes);

		if (n >= share)
			drop_probes(c, t, n - n / 2);
	}
}

/* ---- operations without a launch ---- */

/* Gives up the oldest orphan. Returns false if there is none. */
static bool give_up_oldest_orphan(struct join *c)
{
	struct orphan *oldest = queue_front(&c->orphans);
	struct link *link;

	if (!oldest)
		return false;
	link = links_deref(&c->links, oldest->link);
	queue_pop(&c->orphans);
	if (c->new_orphans > queue_length(&c->orphans))
		c->new_orphans--;
	if (link && link->state == LINK_NO_LAUNCH)
		decide(c, link, ORIGIN_UNKNOWN);
	return true;
}

/* Starts the timeout of new orphans now, however long ago the last advance was. */
static void begin_waiting(struct join *c)
{
	uint32_t length = queue_length(&c->orphans);

	for (; c->new_orphans > 0; c->new_orphans--) {
		struct orphan *orphan = queue_at(&c->orphans, length - c->new_orphans);

		orphan->deadline_ns = c->probes_until_ns + JOIN_TIMEOUT_NS;
	}
}

static void give_up_orphans(struct join *c)
{
	struct orphan *oldest;

	begin_waiting(c);
	while ((oldest = queue_front(&c->orphans)) && oldest->deadline_ns <= c->probes_until_ns)
		give_up_oldest_orphan(c);
}

static void give_up_orphans_of(struct join *c, uint32_t process)
{
	struct orphan *orphan;

	for (uint32_t i = 0; (orphan = queue_at(&c->orphans, i)); i++) {
		struct link *link = links_deref(&c->links, orphan->link);

		if (link && link->state == LINK_NO_LAUNCH && link->process == process)
			decide(c, link, ORIGIN_UNKNOWN);
	}
}

static struct link *add_orphan(struct join *c, uint32_t process, uint32_t correlation_id)
{
	struct orphan orphan = {0};
	struct link *link;

	if (queue_length(&c->orphans) >= c->newest)
		give_up_oldest_orphan(c);
	link = links_add(&c->links, process, correlation_id);
	if (!link)
		return NULL;
	link->state = LINK_NO_LAUNCH;
	orphan.link = links_ref(&c->links, link);
	if (queue_push(&c->orphans, &orphan) == 0) {
		c->new_orphans++;
		return link;
	}
	links_remove(&c->links, link);
	return NULL;
}

/* Makes room for waiting operations: gives up those without a launch first, oldest first. */
static void make_waiting_room(struct join *c)
{
	while (c->links.waiting_count >= c->newest && give_up_oldest_orphan(c))
		;
	if (c->links.waiting_count >= c->newest)
		decide_all_launches(c, true);
}

/* ---- input ---- */

int join_probe(struct join *c, uint32_t process, uint32_t tid, uint64_t time_ns,
	       enum launch_family family, struct origin_id origin)
{
	struct probe probe = {time_ns, origin, family};
	struct thread *t;

	c->stats.probes++;
	if (c->uprobes_held >= c->newest)
		drop_old_probes(c);
	t = get_thread(c, process, tid);
	if (!t || queue_insert_by_time(&t->probes, &probe) != 0) {
		c->stats.probes_unused++;
		return -ENOMEM;
	}
	c->uprobes_held++;
	return 0;
}

/* Counts a launch that will get no operation but expects a record. */
static void count_missing_record(struct join *c, struct link *l)
{
	if (l->state == LINK_IDLE && l->expects == JOIN_EXPECTS_COPY)
		c->stats.copies_without_record++;
	if (l->state == LINK_IDLE && l->expects == JOIN_EXPECTS_GRAPH)
		c->stats.graphs_without_record++;
	l->expects = JOIN_EXPECTS_NOTHING;
}

static uint64_t count_expected(const struct join *c, bool kernels, uint64_t since_ns,
			       uint64_t before_ns)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < c->links.used; i++) {
		const struct link *l = &c->links.links[i];

		count += l->state == LINK_IDLE && l->expects != JOIN_EXPECTS_NOTHING &&
			 (l->expects == JOIN_EXPECTS_KERNEL) == kernels &&
			 l->launched_ns >= since_ns && l->launched_ns < before_ns;
	}
	return count;
}

bool join_may_be_running(const struct join *c, uint64_t before_ns, uint64_t graphs_since_ns)
{
	for (uint32_t i = 0; i < c->links.used; i++) {
		const struct link *l = &c->links.links[i];
		bool expects = (l->state == LINK_IDLE || l->state == LINK_UNDECIDED) &&
			       l->expects != JOIN_EXPECTS_NOTHING;

		if (l->state != LINK_FREE && l->launched_ns && l->launched_ns < before_ns &&
		    (expects || (l->is_graph && l->launched_ns >= graphs_since_ns)))
			return true;
	}
	return false;
}

uint64_t join_count_kernels_expected(const struct join *c, uint64_t since_ns)
{
	return count_expected(c, true, since_ns, UINT64_MAX);
}

uint64_t join_count_others_expected(const struct join *c, uint64_t before_ns)
{
	return count_expected(c, false, 0, before_ns);
}

/*
 * Returns the link of a new launch, added or found if operations came first. Returns NULL if memory
 * is exhausted.
 */
static struct link *launch_link(struct join *c, uint32_t process, uint64_t time_ns,
				uint32_t correlation_id, int is_graph, struct origin_id origin)
{
	struct link *l = links_find(&c->links, process, correlation_id);

	if (l && l->state != LINK_NO_LAUNCH) {
		/* operations may belong to either launch */
		c->stats.launches_confused +=
			same_id(origin, ORIGIN_UNKNOWN) || !same_id(origin, l->origin);
		if (l->state == LINK_UNDECIDED)
			decide(c, l, ORIGIN_UNKNOWN);
		count_missing_record(c, l);
		links_remove(&c->links, l);
		l = NULL;
	}
	if (!l)
		l = links_add(&c->links, process, correlation_id);
	if (l) {
		l->launched_ns = time_ns;
		l->is_graph = is_graph != 0;
	}
	return l;
}

/* Queues the launch until its probe arrives or is known not to. */
static int await_probe(struct join *c, uint32_t process, uint32_t tid, struct launch *launch,
		       struct link *link)
{
	struct thread *t = get_thread(c, process, tid);

	launch->link = links_ref(&c->links, link);
	if (!t || queue_insert_by_time(&t->launches, launch) != 0)
		return -ENOMEM;
	c->launches_held++;
	link->state = LINK_UNDECIDED;
	return 0;
}

int join_launch(struct join *c, uint32_t process, uint32_t tid, uint64_t time_ns,
		uint32_t correlation_id, enum launch_family family, int is_graph)
{
	struct launch launch = {.time_ns = time_ns, .family = family};
	struct link *l;

	c->stats.launches++;
	if (c->launches_held >= c->newest)
		decide_all_launches(c, true);
	l = launch_link(c, process, time_ns, correlation_id, is_graph, ORIGIN_UNKNOWN);
	if (l && await_probe(c, process, tid, &launch, l) == 0)
		return 0;
	c->stats.launches_unprobed++;
	if (l && l->state == LINK_FREE)
		links_remove(&c->links, l);
	return -ENOMEM;
}

int join_launch_with_stack(struct join *c, uint32_t process, uint64_t time_ns,
			   uint32_t correlation_id, int is_graph, struct origin_id origin)
{
	struct link *l = launch_link(c, process, time_ns, correlation_id, is_graph, origin);

	c->stats.launches++;
	if (!l)
		return -ENOMEM;
	decide(c, l, origin);
	return 0;
}

void join_expect_record(struct join *c, uint32_t process, uint32_t correlation_id,
			enum expected_record what)
{
	struct link *l = links_find(&c->links, process, correlation_id);

	if (l && l->state != LINK_NO_LAUNCH)
		l->expects = what;
}

bool join_knows(struct join *c, uint32_t process, uint32_t correlation_id)
{
	const struct link *l = links_find(&c->links, process, correlation_id);

	return l && l->state != LINK_NO_LAUNCH;
}

int join_operation(struct join *c, uint32_t process, const struct gpu_operation *operation)
{
	struct link *l;

	c->stats.operations += operation->work != JOIN_REMARK;
	if (c->links.waiting_count >= c->newest)
		make_waiting_room(c);
	l = links_find(&c->links, process, operation->correlation_id);
	if (l && link_is_decided(l)) {
		attribute(c, l->origin, l->launched_ns, operation);
		if (l->state == LINK_IDLE && operation->work != JOIN_REMARK)
			links_list(&c->links, l, begun(l));
		return 0;
	}
	if (!l)
		l = add_orphan(c, process, operation->correlation_id);
	/* no memory to wait: its time must not be lost */
	if (!l || !links_wait(&c->links, l, operation))
		attribute(c, ORIGIN_UNKNOWN, l ? l->launched_ns : 0, operation);
	return 0;
}

void join_advance(struct join *c, uint64_t probes_until_ns)
{
	if (probes_until_ns > c->probes_until_ns)
		c->probes_until_ns = probes_until_ns;
	decide_all_launches(c, false);
	give_up_orphans(c);
}

/* Forgets the links of ended processes, in one pass over all links. */
static void forget_ended(struct join *c)
{
	qsort(c->ended, c->ended_count, sizeof(c->ended[0]), sorted_compare_32);
	for (uint32_t i = 0; i < c->links.used; i++) {
		struct link *l = &c->links.links[i];

		if (l->state == LINK_FREE || !bsearch(&l->process, c->ended, c->ended_count,
						      sizeof(c->ended[0]), sorted_compare_32))
			continue;
		if (!link_is_decided(l))
			decide(c, l, ORIGIN_UNKNOWN);
		count_missing_record(c, l);
		links_remove(&c->links, l);
	}
	c->ended_count = 0;
}

void join_end_process(struct join *c, uint32_t process)
{
	for (uint32_t i = 0; i < c->threads.count; i++) {
		struct thread *t = &c->threads.list[i];

		if (t->process != process)
			continue;
		decide_launches(c, t, true);
		drop_probes(c, t, queue_length(&t->probes));
	}
	if (!links_may_have(&c->links, process))
		return;
	give_up_orphans_of(c, process);
	c->ended[c->ended_count++] = process;
	if (c->ended_count == JOIN_ENDED_MAX)
		forget_ended(c);
}

void join_visit(struct join *c, void (*visit)(void *context, struct origin_id *origin),
		void *context)
{
	for (uint32_t i = 0; i < c->links.used; i++)
		if (link_is_decided(&c->links.links[i]))
			visit(context, &c->links.links[i].origin);
	for (uint32_t i = 0; i < c->threads.count; i++) {
		const struct queue *probes = &c->threads.list[i].probes;

		for (uint32_t k = 0; k < queue_length(probes); k++)
			visit(context, &((struct probe *)queue_at(probes, k))->origin);
	}
}

void join_finish(struct join *c)
{
	c->probes_until_ns = UINT64_MAX - JOIN_TIMEOUT_NS;
	decide_all_launches(c, true);
	for (uint32_t i = 0; i < c->threads.count; i++)
		drop_probes(c, &c->threads.list[i], queue_length(&c->threads.list[i].probes));
	while (give_up_oldest_orphan(c))
		;
	for (uint32_t i = 0; i < c->links.used; i++)
		count_missing_record(c, &c->links.links[i]);
}

struct join_stats join_stats(const struct join *c)
{
	return c->stats;
}
