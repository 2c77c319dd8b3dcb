// SPDX-License-Identifier: MIT
#include "profiler/correlate.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/queue.h"
#include "symbolize/hash_index.h"

/* Finished launches kept for operations that come late. */
#define FINISHED_MAX (1u << 20)
#define NO_LINK UINT32_MAX

/* Bounds against a target that sends nonsense: far above what real programs have in flight. */
#define THREADS_MAX (1u << 18)
#define IN_FLIGHT_MAX (1u << 21) /* probes or launches of one thread */

struct probe {
	uint64_t time_ns;
	uint32_t stack;
	uint32_t family;
};

struct launch {
	uint64_t time_ns;
	uint32_t link; /* position, and age: the id may be used again before this is decided */
	uint32_t link_age;
	uint32_t family;
};

struct thread {
	uint32_t pid;
	uint32_t tid;
	struct queue probes;   /* struct probe, by time */
	struct queue launches; /* struct launch, by time, undecided */
};

enum link_state {
	LINK_FREE,
	LINK_NO_LAUNCH, /* operations came before their launch */
	LINK_UNDECIDED, /* the launch waits for its probe */
	LINK_DECIDED,
};

/* One correlation id of one process: what joins a launch to its operations. */
struct link {
	uint32_t pid;
	uint32_t correlation_id;
	uint32_t stack;
	uint32_t first_waiting; /* operations, in a list through the pool; NO_LINK: none */
	uint32_t last_waiting;
	uint8_t state; /* enum link_state */
	bool is_graph;
	bool finished; /* in the queue of finished links */
	uint32_t age;  /* tells a reused slot from what a queue entry meant */
};

struct waiting_operation {
	struct gpu_operation operation;
	uint32_t next;
};

/* A queue entry that refers to a link. */
struct link_ref {
	uint32_t position;
	uint32_t age;
	uint64_t deadline_ns;
};

struct correlate {
	struct correlate_output output;
	struct correlate_stats stats;
	uint64_t probes_until_ns;

	struct thread *threads;
	uint32_t thread_count, thread_capacity;
	struct hash_index thread_index;

	struct link *links;
	uint32_t link_capacity, link_free; /* free list through first_waiting */
	struct hash_index link_index;

	struct waiting_operation *waiting;
	uint32_t waiting_capacity, waiting_free;

	struct queue orphans;  /* struct link_ref: links without a launch, by deadline */
	struct queue finished; /* struct link_ref: oldest first */
};

struct key {
	uint32_t pid;
	uint32_t id;
};

static uint32_t hash_key(uint32_t pid, uint32_t id)
{
	uint64_t h = ((uint64_t)pid << 32 | id) * 0x9e3779b97f4a7c15u;

	return (uint32_t)(h >> 32);
}

/* ---- growing pools ---- */

struct correlate *correlate_new(const struct correlate_output *output)
{
	struct correlate *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->output = *output;
	c->link_free = NO_LINK;
	c->waiting_free = NO_LINK;
	queue_init(&c->orphans, sizeof(struct link_ref));
	queue_init(&c->finished, sizeof(struct link_ref));
	return c;
}

void correlate_free(struct correlate *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->thread_count; i++) {
		queue_release(&c->threads[i].probes);
		queue_release(&c->threads[i].launches);
	}
	free(c->threads);
	free(c->links);
	free(c->waiting);
	hash_index_release(&c->thread_index);
	hash_index_release(&c->link_index);
	queue_release(&c->orphans);
	queue_release(&c->finished);
	free(c);
}

static bool thread_equal(const void *records, uint32_t position, const void *key)
{
	const struct thread *t = (const struct thread *)records + position;
	const struct key *k = key;

	return t->pid == k->pid && t->tid == k->id;
}

static struct thread *get_thread(struct correlate *c, uint32_t pid, uint32_t tid)
{
	struct key key = {pid, tid};
	uint32_t hash = hash_key(pid, tid);
	uint32_t at = hash_index_find(&c->thread_index, hash, thread_equal, c->threads, &key);
	struct thread *t;

	if (at != HASH_INDEX_NONE)
		return &c->threads[at];
	if (c->thread_count == THREADS_MAX)
		return NULL;
	if (c->thread_count == c->thread_capacity) {
		uint32_t capacity = c->thread_capacity ? c->thread_capacity * 2 : 64;

		t = realloc(c->threads, capacity * sizeof(*t));
		if (!t)
			return NULL;
		c->threads = t;
		c->thread_capacity = capacity;
	}
	if (hash_index_add(&c->thread_index, hash, c->thread_count) != 0)
		return NULL;
	t = &c->threads[c->thread_count++];
	memset(t, 0, sizeof(*t));
	t->pid = pid;
	t->tid = tid;
	queue_init(&t->probes, sizeof(struct probe));
	queue_init(&t->launches, sizeof(struct launch));
	return t;
}

static bool link_equal(const void *records, uint32_t position, const void *key)
{
	const struct link *l = (const struct link *)records + position;
	const struct key *k = key;

	return l->pid == k->pid && l->correlation_id == k->id;
}

static bool grow_links(struct correlate *c)
{
	uint32_t capacity = c->link_capacity ? c->link_capacity * 2 : 1024;
	struct link *links = realloc(c->links, capacity * sizeof(*links));

	if (!links)
		return false;
	memset(links + c->link_capacity, 0, (capacity - c->link_capacity) * sizeof(*links));
	for (uint32_t i = capacity; i-- > c->link_capacity;) {
		links[i].first_waiting = c->link_free;
		c->link_free = i;
	}
	c->links = links;
	c->link_capacity = capacity;
	return true;
}

static struct link *find_link(struct correlate *c, uint32_t pid, uint32_t correlation_id)
{
	struct key key = {pid, correlation_id};
	uint32_t at = hash_index_find(&c->link_index, hash_key(pid, correlation_id), link_equal,
				      c->links, &key);

	return at == HASH_INDEX_NONE ? NULL : &c->links[at];
}

static struct link *add_link(struct correlate *c, uint32_t pid, uint32_t correlation_id)
{
	struct link *l;
	uint32_t at, age;

	if (c->link_free == NO_LINK && !grow_links(c))
		return NULL;
	at = c->link_free;
	if (hash_index_add(&c->link_index, hash_key(pid, correlation_id), at) != 0)
		return NULL;
	l = &c->links[at];
	c->link_free = l->first_waiting;
	age = l->age;
	*l = (struct link){.pid = pid,
			   .correlation_id = correlation_id,
			   .stack = STACK_NONE,
			   .first_waiting = NO_LINK,
			   .last_waiting = NO_LINK,
			   .age = age};
	return l;
}

static void remove_link(struct correlate *c, struct link *l)
{
	uint32_t at = (uint32_t)(l - c->links);

	hash_index_remove(&c->link_index, hash_key(l->pid, l->correlation_id), at);
	l->state = LINK_FREE;
	l->age++;
	l->first_waiting = c->link_free;
	c->link_free = at;
}

static struct link *link_at(struct correlate *c, uint32_t position, uint32_t age)
{
	struct link *l = &c->links[position];

	return l->state != LINK_FREE && l->age == age ? l : NULL;
}

static struct link *link_of(struct correlate *c, const struct link_ref *ref)
{
	return link_at(c, ref->position, ref->age);
}

static struct link_ref ref_of(const struct correlate *c, const struct link *l, uint64_t deadline)
{
	return (struct link_ref){(uint32_t)(l - c->links), l->age, deadline};
}

static int wait_for_launch(struct correlate *c, struct link *l, const struct gpu_operation *op)
{
	uint32_t at;

	if (c->waiting_free == NO_LINK) {
		uint32_t capacity = c->waiting_capacity ? c->waiting_capacity * 2 : 1024;
		struct waiting_operation *w = realloc(c->waiting, capacity * sizeof(*w));

		if (!w)
			return -ENOMEM;
		for (uint32_t i = capacity; i-- > c->waiting_capacity;) {
			w[i].next = c->waiting_free;
			c->waiting_free = i;
		}
		c->waiting = w;
		c->waiting_capacity = capacity;
	}
	at = c->waiting_free;
	c->waiting_free = c->waiting[at].next;
	c->waiting[at].operation = *op;
	c->waiting[at].next = NO_LINK;
	if (l->last_waiting == NO_LINK)
		l->first_waiting = at;
	else
		c->waiting[l->last_waiting].next = at;
	l->last_waiting = at;
	return 0;
}

/* ---- attribution ---- */

static void attribute(struct correlate *c, uint32_t stack, const struct gpu_operation *op)
{
	if (stack == STACK_NONE) {
		c->stats.unmatched++;
		c->stats.unmatched_ns += op->duration_ns;
	} else {
		c->stats.matched++;
	}
	c->output.attribute(c->output.context, stack, op);
}

/* A launch of one kernel is done with its first operation; keep the newest FINISHED_MAX of them. */
static void finish_link(struct correlate *c, struct link *l)
{
	struct link_ref ref = ref_of(c, l, 0);

	if (l->is_graph || l->finished)
		return;
	l->finished = true;
	if (queue_push(&c->finished, &ref) != 0 || queue_length(&c->finished) > FINISHED_MAX) {
		struct link_ref *oldest = queue_front(&c->finished);
		struct link *old = oldest ? link_of(c, oldest) : NULL;

		if (old)
			remove_link(c, old);
		if (oldest)
			queue_pop(&c->finished);
	}
}

/* The stack of `l` is known now, or known to be missing: whatever waited for it is attributed. */
static void decide(struct correlate *c, struct link *l, uint32_t stack)
{
	uint32_t at = l->first_waiting;
	bool had_operations = at != NO_LINK;

	l->state = LINK_DECIDED;
	l->stack = stack;
	l->first_waiting = NO_LINK;
	l->last_waiting = NO_LINK;
	while (at != NO_LINK) {
		uint32_t next = c->waiting[at].next;

		attribute(c, stack, &c->waiting[at].operation);
		c->waiting[at].next = c->waiting_free;
		c->waiting_free = at;
		at = next;
	}
	if (had_operations)
		finish_link(c, l);
}

/* ---- matching launches with probes ---- */

/*
 * The latest probe of the launch's family up to its time; all probes up to there are used up. A
 * driver launch without a probe of its own takes a runtime probe: the runtime's function was
 * entered before CUPTI was there to see it (the program's first CUDA call), only the nested call
 * was seen.
 */
static uint32_t take_probe_before(struct correlate *c, struct thread *t,
				  const struct launch *launch)
{
	uint32_t own = STACK_NONE, outer = STACK_NONE;
	struct probe *p;

	while ((p = queue_front(&t->probes)) && p->time_ns <= launch->time_ns) {
		if (p->family == launch->family)
			own = p->stack;
		else if (launch->family == FAMILY_DRIVER)
			outer = p->stack;
		c->stats.probes_unused++;
		queue_pop(&t->probes);
	}
	if (own == STACK_NONE)
		own = outer;
	if (own != STACK_NONE)
		c->stats.probes_unused--;
	return own;
}

/* The driver call nested in a runtime launch: the first driver probe before `until_ns`. */
static uint32_t take_nested_probe(struct thread *t, uint64_t until_ns)
{
	struct probe *p = queue_front(&t->probes);
	uint32_t stack;

	/* a runtime probe is the next launch's own */
	if (!p || p->time_ns >= until_ns || p->family != FAMILY_DRIVER)
		return STACK_NONE;
	stack = p->stack;
	queue_pop(&t->probes);
	return stack;
}

/*
 * Decides the thread's first undecided launch if what has arrived allows it. `final`: nothing more
 * will come.
 */
static bool decide_first_launch(struct correlate *c, struct thread *t, bool final)
{
	struct launch *first = queue_front(&t->launches), launch;
	struct launch *next;
	uint32_t stack;
	struct link *l;

	if (!first || (!final && first->time_ns > c->probes_until_ns))
		return false;
	launch = *first;
	stack = take_probe_before(c, t, &launch);
	if (stack == STACK_NONE && launch.family == FAMILY_RUNTIME) {
		uint64_t until = launch.time_ns + CORRELATE_NESTED_NS;

		next = queue_at(&t->launches, 1);
		if (next && next->time_ns < until)
			until = next->time_ns;
		else
			next = NULL; /* too far away to matter */
		if (!final && c->probes_until_ns < until)
			return false;
		/* a driver launch that follows has its own probe just before it: leave that one */
		if (!next || next->family != FAMILY_DRIVER ||
		    queue_count_before(&t->probes, until) > 1)
			stack = take_nested_probe(t, until);
	}
	if (stack == STACK_NONE)
		c->stats.launches_unprobed++;
	queue_pop(&t->launches);
	l = link_at(c, launch.link, launch.link_age);
	if (l && l->state == LINK_UNDECIDED)
		decide(c, l, stack);
	return true;
}

/* ---- input ---- */

int correlate_probe(struct correlate *c, uint32_t pid, uint32_t tid, uint64_t time_ns,
		    enum launch_family family, uint32_t stack)
{
	struct probe probe = {time_ns, stack, family};
	struct thread *t = get_thread(c, pid, tid);

	c->stats.probes++;
	if (!t || queue_length(&t->probes) >= IN_FLIGHT_MAX)
		return -ENOMEM;
	return queue_insert_by_time(&t->probes, &probe);
}

/* The link of a new launch: made, or found where operations came first. NULL: out of memory. */
static struct link *launch_link(struct correlate *c, uint32_t pid, uint32_t correlation_id,
				int is_graph)
{
	struct link *l = find_link(c, pid, correlation_id);

	if (l && l->state != LINK_NO_LAUNCH) {
		/* the id is used again; the old launch keeps what it has */
		if (l->state == LINK_UNDECIDED)
			decide(c, l, STACK_NONE);
		remove_link(c, l);
		l = NULL;
	}
	if (!l)
		l = add_link(c, pid, correlation_id);
	if (l)
		l->is_graph = is_graph != 0;
	return l;
}

int correlate_launch(struct correlate *c, uint32_t pid, uint32_t tid, uint64_t time_ns,
		     uint32_t correlation_id, enum launch_family family, int is_graph)
{
	struct launch launch = {.time_ns = time_ns, .family = family};
	struct thread *t = get_thread(c, pid, tid);
	struct link *l;

	c->stats.launches++;
	if (!t || queue_length(&t->launches) >= IN_FLIGHT_MAX)
		return -ENOMEM;
	l = launch_link(c, pid, correlation_id, is_graph);
	if (l) {
		launch.link = (uint32_t)(l - c->links);
		launch.link_age = l->age;
	}
	if (!l || queue_insert_by_time(&t->launches, &launch) != 0) {
		if (l && l->state == LINK_FREE)
			remove_link(c, l);
		return -ENOMEM;
	}
	l->state = LINK_UNDECIDED;
	return 0;
}

int correlate_launch_with_stack(struct correlate *c, uint32_t pid, uint32_t correlation_id,
				int is_graph, uint32_t stack)
{
	struct link *l = launch_link(c, pid, correlation_id, is_graph);

	c->stats.launches++;
	if (!l)
		return -ENOMEM;
	decide(c, l, stack);
	return 0;
}

int correlate_operation(struct correlate *c, uint32_t pid, const struct gpu_operation *operation)
{
	struct link *l = find_link(c, pid, operation->correlation_id);

	c->stats.operations++;
	if (l && l->state == LINK_DECIDED) {
		attribute(c, l->stack, operation);
		finish_link(c, l);
		return 0;
	}
	if (!l) {
		struct link_ref ref;

		l = add_link(c, pid, operation->correlation_id);
		if (l) {
			l->state = LINK_NO_LAUNCH;
			ref = ref_of(c, l, c->probes_until_ns + CORRELATE_PATIENCE_NS);
			if (queue_push(&c->orphans, &ref) != 0) {
				remove_link(c, l);
				l = NULL;
			}
		}
	}
	if (!l || wait_for_launch(c, l, operation) != 0) {
		/* no memory to wait: its time must not be lost */
		attribute(c, STACK_NONE, operation);
		return -ENOMEM;
	}
	return 0;
}

static void give_up_orphans(struct correlate *c, bool all)
{
	struct link_ref *ref;

	while ((ref = queue_front(&c->orphans)) &&
	       (all || ref->deadline_ns <= c->probes_until_ns)) {
		struct link *l = link_of(c, ref);

		queue_pop(&c->orphans);
		if (l && l->state == LINK_NO_LAUNCH) {
			decide(c, l, STACK_NONE);
			if (l->state != LINK_FREE && !l->finished)
				remove_link(c, l);
		}
	}
}

void correlate_advance(struct correlate *c, uint64_t probes_until_ns)
{
	if (probes_until_ns > c->probes_until_ns)
		c->probes_until_ns = probes_until_ns;
	for (uint32_t i = 0; i < c->thread_count; i++)
		while (decide_first_launch(c, &c->threads[i], false))
			;
	give_up_orphans(c, false);
}

void correlate_restart_process(struct correlate *c, uint32_t pid)
{
	/* probes stay: the new program's first launch function may have been entered already */
	for (uint32_t i = 0; i < c->thread_count; i++)
		while (c->threads[i].pid == pid && decide_first_launch(c, &c->threads[i], true))
			;
	for (uint32_t i = 0; i < c->link_capacity; i++) {
		struct link *l = &c->links[i];

		if (l->state == LINK_FREE || l->pid != pid)
			continue;
		if (l->state != LINK_DECIDED)
			decide(c, l, STACK_NONE);
		if (l->state != LINK_FREE)
			remove_link(c, l);
	}
}

void correlate_finish(struct correlate *c)
{
	c->probes_until_ns = UINT64_MAX - CORRELATE_PATIENCE_NS;
	for (uint32_t i = 0; i < c->thread_count; i++) {
		struct thread *t = &c->threads[i];

		while (decide_first_launch(c, t, true))
			;
		while (queue_front(&t->probes)) {
			c->stats.probes_unused++;
			queue_pop(&t->probes);
		}
	}
	give_up_orphans(c, true);
	for (uint32_t i = 0; i < c->link_capacity; i++)
		if (c->links[i].state == LINK_UNDECIDED || c->links[i].state == LINK_NO_LAUNCH)
			decide(c, &c->links[i], STACK_NONE);
}

struct correlate_stats correlate_stats(const struct correlate *c)
{
	return c->stats;
}
