// SPDX-License-Identifier: MIT
#include "cupti_trace/launch/async_parent.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include "cupti_trace/core/hot_path.h"
#include "cupti_trace/core/clock.h"
#include "cupti_trace/core/stolen_time.h"
#include "cupti_trace/core/ticks.h"
#include "cupti_trace/core/attach_epoch.h"
#include "cupti_trace/launch/async_parent_private.h"
#include "cupti_trace/launch/launch_log.h"
#include "symbolize/util/hash.h"
#include "symbolize/util/text.h"

#define WORKERS_MAX 256
#define LIST_EVERY_NS 10000000u
#define LIST_SHARE 2  /* looking at all threads takes at most one in so many parts of the time */
#define LIST_DOUBLE 6 /* halved after each futile look, up to so often */

struct async_parent_launcher async_parent_launchers[ASYNC_PARENT_CANDIDATES];
static struct async_parent_launcher no_room;  /* shared by all threads without room */
static _Atomic uint32_t in_use;               /* number of places in use */
static _Atomic uint32_t left_out;             /* number of threads without room */
static _Atomic uint64_t workers[WORKERS_MAX]; /* pthread_self() of each; 0: free */
_Atomic uint32_t async_parent_changes HOT_PATH_DATA;

/* ---- threads ---- */

void async_parent_free_launcher(struct async_parent_launcher *launcher, uint64_t self)
{
	if (atomic_compare_exchange_strong(&launcher->self, &self, 0))
		atomic_fetch_sub(&in_use, 1);
	atomic_fetch_add(&async_parent_changes, 1);
}

void async_parent_launcher_free(struct async_parent_launcher *launcher)
{
	if (launcher == &no_room) {
		atomic_fetch_sub(&left_out, 1);
		atomic_fetch_add(&async_parent_changes, 1);
	} else if (launcher) {
		async_parent_free_launcher(launcher, (uint64_t)pthread_self());
	}
}

void async_parent_worker_free(struct async_parent_worker *worker)
{
	if (!worker)
		return;
	for (uint32_t i = 0; worker->self && i < WORKERS_MAX; i++)
		if (atomic_load(&workers[i]) == worker->self)
			atomic_store(&workers[i], 0);
	for (uint32_t i = 0; worker->self && i < ASYNC_PARENT_CANDIDATES; i++)
		thread_runs_close(&worker->sights[i].runs);
	munmap(worker, sizeof(*worker));
}

static bool take_place(uint64_t self)
{
	for (uint32_t i = 0; i < WORKERS_MAX; i++) {
		uint64_t none = 0;

		if (atomic_compare_exchange_strong(&workers[i], &none, self))
			return true;
	}
	return false;
}

struct async_parent_worker *async_parent_worker_new(void)
{
	struct async_parent_worker *worker;
	char name[ASYNC_PARENT_NAME_BYTES + 1] = "";

	if (prctl(PR_GET_NAME, name) != 0 || !starts_with(name, GPU_HANDED_TO_PREFIX))
		return NULL;
	worker = mmap(NULL, sizeof(*worker), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	if (worker == MAP_FAILED)
		return NULL;
	worker->is_wiped = madvise(worker, sizeof(*worker), MADV_WIPEONFORK) == 0;
	memcpy(worker->name, name, ASYNC_PARENT_NAME_BYTES - 1);
	worker->number = hash_bytes(name, strlen(name));
	worker->self = (uint64_t)pthread_self();
	worker->waiter = worker->holds = ASYNC_PARENT_CANDIDATES;
	worker->read = &worker->stacks[0];
	worker->again = &worker->stacks[1];
	for (uint32_t i = 0; i < ASYNC_PARENT_CANDIDATES; i++)
		worker->sights[i].runs = (struct thread_runs)THREAD_RUNS_NONE;
	if (take_place(worker->self))
		return worker;
	munmap(worker, sizeof(*worker));
	return NULL;
}

const char *async_parent_worker_name(const struct async_parent_worker *worker)
{
	return worker->self ? worker->name : NULL;
}

uint32_t async_parent_worker_number(const struct async_parent_worker *worker)
{
	return worker->number;
}

static struct async_parent_launcher *find_launcher(uint64_t self)
{
	for (uint32_t i = 0; i < ASYNC_PARENT_CANDIDATES; i++)
		if (atomic_load(&async_parent_launchers[i].self) == self)
			return &async_parent_launchers[i];
	return NULL;
}

/* Returns the place of a thread among the candidates, adding it; NULL: no room. */
static struct async_parent_launcher *add_launcher(const struct python_waiter *waiter, bool is_found)
{
	for (uint32_t i = 0; i < ASYNC_PARENT_CANDIDATES; i++) {
		struct async_parent_launcher *launcher = &async_parent_launchers[i], *first;
		uint64_t self = 0;

		if (!atomic_compare_exchange_strong(&launcher->self, &self, waiter->self))
			continue;
		atomic_fetch_add(&in_use, 1);
		atomic_store(&launcher->thread, waiter->thread);
		atomic_store(&launcher->tid, waiter->tid);
		atomic_store(&launcher->last_stack, 0);
		atomic_store(&launcher->contexts, 0);
		atomic_store(&launcher->is_found, is_found);
		atomic_fetch_add(&async_parent_changes, 1);
		/* another thread may have added it meanwhile */
		first = find_launcher(waiter->self);
		if (first && first != launcher) {
			async_parent_free_launcher(launcher, waiter->self);
			return first;
		}
		return launcher;
	}
	return NULL;
}

struct async_parent_launcher *async_parent_launcher_new(void)
{
	const struct python_waiter own = {.thread = python_stack_thread(),
					  .self = (uint64_t)pthread_self(),
					  .tid = launch_log_tid()};
	struct async_parent_launcher *launcher = find_launcher(own.self); /* added by a worker */

	if (!launcher)
		launcher = add_launcher(&own, false);
	if (launcher) {
		atomic_store(&launcher->thread, own.thread);
		atomic_store(&launcher->tid, own.tid);
		atomic_store(&launcher->is_found, false);
		atomic_fetch_add(&async_parent_changes, 1);
		return launcher;
	}
	atomic_fetch_add(&left_out, 1);
	atomic_fetch_add(&async_parent_changes, 1);
	return &no_room;
}

/* ---- looking ---- */

/* Reads a waiter's stack once. `earlier` is a stack that may be unchanged, or NULL. */
static bool read_once(struct async_parent_worker *worker, const struct python_waiter *waiter,
		      const struct async_parent_stack *earlier, struct async_parent_stack *stack)
{
	if (!(earlier && python_waiters_read_again(waiter, &worker->pieces, &earlier->python,
						   &stack->python)) &&
	    !python_waiters_read(waiter, &worker->pieces, &stack->python))
		return false;
	nvtx_read_of(waiter->self, &stack->python, &stack->ranges);
	return true;
}

static bool is_same(const struct async_parent_stack *a, const struct async_parent_stack *b)
{
	return a->python.count == b->python.count && a->python.is_whole == b->python.is_whole &&
	       a->ranges.count == b->ranges.count &&
	       python_stack_hash(0, &a->python) == python_stack_hash(0, &b->python) &&
	       nvtx_hash(0, &a->ranges) == nvtx_hash(0, &b->ranges);
}

/* Returns whether a thread has not run since its CPU clock was `cpu_ns` and its runs were noted. */
static bool has_not_run(const struct async_parent_worker *worker,
			const struct async_parent_sight *sight, const struct python_waiter *waiter,
			uint64_t cpu_ns)
{
	return worker->trusts_clocks ? cpu_ns && clock_cpu_ns_of(waiter->tid) == cpu_ns
				     : thread_runs_sleeps(&sight->runs);
}

/* Returns whether candidate `i` waits. Then its stack at one moment is in `read`. */
static bool read_waiter(struct async_parent_worker *worker, uint32_t i,
			const struct python_waiter *waiter, uint64_t cpu_ns)
{
	struct async_parent_stack *first = worker->again, *earlier = worker->read;

	if (!read_once(worker, waiter, worker->holds == i ? earlier : NULL, first))
		return false;
	worker->again = earlier;
	worker->read = first;
	worker->holds = ASYNC_PARENT_CANDIDATES;
	if (!has_not_run(worker, &worker->sights[i], waiter, cpu_ns) &&
	    !(read_once(worker, waiter, first, worker->again) && is_same(first, worker->again)))
		return false;
	worker->holds = i;
	return true;
}

/*
 * Returns whether candidate `i` waits. Forgets its earlier state if it has run since the last look.
 */
static bool see(struct async_parent_worker *worker, uint32_t i)
{
	struct async_parent_launcher *launcher = &async_parent_launchers[i];
	struct async_parent_sight *sight = &worker->sights[i];
	const struct python_waiter waiter = {.self = atomic_load(&launcher->self),
					     .thread = atomic_load(&launcher->thread),
					     .tid = atomic_load(&launcher->tid)};
	bool is_known, is_gone;
	uint64_t cpu_ns;

	if (!waiter.self || waiter.self == worker->self) {
		sight->self = 0;
		return false;
	}
	is_known = sight->self == waiter.self;
	if (is_known && thread_runs_sleeps(&sight->runs))
		return sight->waits;
	cpu_ns = clock_cpu_ns_of(waiter.tid);
	if (worker->trusts_clocks && is_known && cpu_ns && sight->cpu_ns == cpu_ns)
		return sight->waits;
	if (worker->waiter == i)
		worker->waiter = ASYNC_PARENT_CANDIDATES;
	/* the interpreter's state of a cancelled thread still says that the thread waits */
	is_gone = waiter.tid && !cpu_ns;
	sight->self = waiter.self;
	sight->cpu_ns = cpu_ns;
	thread_runs_note(&sight->runs, waiter.tid, !worker->trusts_clocks);
	sight->waits = !is_gone && read_waiter(worker, i, &waiter, cpu_ns);
	if (!sight->waits && !cpu_ns && atomic_load(&launcher->is_found))
		async_parent_free_launcher(launcher,
					   waiter.self); /* it has ended, or will be found again */
	return sight->waits;
}

static bool is_worker(uint64_t self)
{
	for (uint32_t i = 0; i < WORKERS_MAX; i++)
		if (atomic_load(&workers[i]) == self)
			return true;
	return false;
}

static bool is_known_thread(uint64_t self)
{
	return !self || is_worker(self) || find_launcher(self);
}

/*
 * Adds threads that wait and have launched nothing as candidates. Returns whether there are new
 * ones.
 */
static bool list_others(struct async_parent_worker *worker)
{
	struct python_waiter found[ASYNC_PARENT_CANDIDATES];
	uint32_t count = python_waiters_list(found, ASYNC_PARENT_CANDIDATES, is_known_thread,
					     &worker->all_pieces);
	bool has_new = false;

	for (uint32_t i = 0; i < count && i < ASYNC_PARENT_CANDIDATES; i++)
		has_new |= add_launcher(&found[i], true) != NULL;
	return has_new;
}

/*
 * Returns the number of candidates that wait and may be the parent, and one of them in *which.
 * Candidates that have launched, but in other contexts, do not count beside others.
 */
static uint32_t count_waiters(struct async_parent_worker *worker, uint32_t *which)
{
	uint32_t count = 0, here = 0, last_here = 0;

	for (uint32_t i = 0; i < ASYNC_PARENT_CANDIDATES; i++) {
		uint64_t contexts;

		if (!see(worker, i))
			continue;
		count++;
		*which = i;
		contexts = atomic_load_explicit(&async_parent_launchers[i].contexts,
						memory_order_relaxed);
		if (contexts == 0 || contexts & worker->context) {
			here++;
			last_here = i;
		}
	}
	if (count > 1 && here == 1 &&
	    atomic_load(&async_parent_launchers[last_here].contexts) != 0) {
		*which = last_here;
		return 1;
	}
	return count;
}

/* Counts candidates, and looks for others if it is time to. */
static uint32_t count_all_waiters(struct async_parent_worker *worker, uint32_t *which)
{
	uint32_t count = count_waiters(worker, which);
	uint64_t began;
	uint64_t pause = worker->list_cost_ns * LIST_SHARE << worker->fruitless;

	if (count == 1 && pause < LIST_EVERY_NS)
		pause = LIST_EVERY_NS;
	if (count > 1 || worker->last_ns - worker->list_ns < pause)
		return count;
	/* the pause depends on futile looks alone */
	began = count == 0 ? clock_own_cpu_ns() : 0;
	if (list_others(worker))
		count = count_waiters(worker, which);
	if (count > 0)
		worker->fruitless = 0;
	else if (worker->fruitless < LIST_DOUBLE)
		worker->fruitless++;
	worker->list_ns = clock_now_ns();
	if (began)
		worker->list_cost_ns = clock_own_cpu_ns() - began;
	return count;
}

/* Returns the id of the waiting thread's stack. */
static uint32_t look_again(struct async_parent_worker *worker, struct sink *sink,
			   async_parent_name name)
{
	uint32_t which = 0;

	if (atomic_load(&left_out) || count_all_waiters(worker, &which) != 1) {
		worker->waiter = ASYNC_PARENT_CANDIDATES;
		return 0;
	}
	if (worker->waiter == which)
		return worker->stack;
	if (worker->holds != which) { /* another stack was read after it */
		worker->sights[which].self = 0;
		if (!see(worker, which))
			return 0;
	}
	worker->read->last_stack = atomic_load(&async_parent_launchers[which].last_stack);
	worker->waiter = which;
	return name(sink, worker->read);
}

/* Returns whether the only candidate has slept since it was seen waiting, by its event. */
static bool still_waits(const struct async_parent_worker *worker, uint64_t now_ns)
{
	const struct async_parent_sight *sight;

	if (worker->waiter == ASYNC_PARENT_CANDIDATES || now_ns - worker->list_ns >= LIST_EVERY_NS)
		return false;
	sight = &worker->sights[worker->waiter];
	return sight->waits &&
	       sight->self == atomic_load(&async_parent_launchers[worker->waiter].self) &&
	       sight->runs.page && thread_runs_sleeps(&sight->runs);
}

/* Keeps the answer if the only candidate has slept since it was seen waiting. */
static void keep_answer(struct async_parent_worker *worker, uint32_t seen_changes, uint64_t now_ns)
{
	const struct thread_runs *runs;

	if (!worker->is_wiped || atomic_load(&in_use) > 1 || atomic_load(&left_out) ||
	    !still_waits(worker, now_ns))
		return;
	runs = &worker->sights[worker->waiter].runs;
	worker->answer = (struct async_parent_answer){.head = runs->head,
						      .changes = seen_changes,
						      .epoch = worker->epoch,
						      .stack = worker->stack,
						      .ticks = ticks_now(),
						      .page = runs->page};
}

static uint32_t find(struct async_parent_worker *worker, uint32_t context, struct sink *sink,
		     async_parent_name name, uint64_t now)
{
	if (worker->epoch != attach_epoch_now()) {
		/* the ids were sent to another profiler */
		worker->epoch = attach_epoch_now();
		worker->waiter = worker->holds = ASYNC_PARENT_CANDIDATES;
		worker->stack = 0;
		worker->last_ns = worker->list_ns = 0;
	}
	if (atomic_load(&in_use) <= 1 && !atomic_load(&left_out)) {
		if (still_waits(worker, now)) {
			worker->last_ns = now;
			return worker->stack;
		}
		if (now - worker->last_ns < ASYNC_PARENT_STILL_NS) {
			if (worker->stack) /* otherwise the time of the last look counts */
				worker->last_ns = now;
			return worker->stack;
		}
	}
	worker->trusts_clocks = !stolen_time_seen(now);
	worker->last_ns = now;
	worker->context = async_parent_context(context);
	worker->stack = look_again(worker, sink, name);
	worker->last_ns = clock_now_ns(); /* the worker did not run out of work meanwhile */
	return worker->stack;
}

static __attribute__((noinline)) uint32_t look(struct async_parent_worker *worker, uint32_t context,
					       struct sink *sink, async_parent_name name)
{
	uint32_t seen_changes = atomic_load(&async_parent_changes), stack;
	uint64_t now = clock_now_ns();
	int saved_errno = errno;

	if (!worker->self)
		return 0;
	worker->answer.page = NULL;
	stack = find(worker, context, sink, name, now);
	keep_answer(worker, seen_changes, worker->last_ns);
	errno = saved_errno;
	return stack;
}

HOT_PATH uint32_t async_parent_find(struct async_parent_worker *worker, uint32_t context,
				    struct sink *sink, async_parent_name name)
{
	const struct async_parent_answer *answer = &worker->answer;
	uint32_t stack;

	if (unlikely(worker->is_busy))
		return 0;
	/* a launch in a signal handler could unmap the page, or change the answer */
	worker->is_busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	/* a tick is a nanosecond, or less */
	if (likely(answer->page && answer->page->data_head == answer->head &&
		   answer->changes ==
			   atomic_load_explicit(&async_parent_changes, memory_order_relaxed) &&
		   answer->epoch == attach_epoch_now() &&
		   ticks_now() - answer->ticks < LIST_EVERY_NS))
		stack = answer->stack;
	else
		stack = look(worker, context, sink, name);
	atomic_signal_fence(memory_order_seq_cst);
	worker->is_busy = false;
	return stack;
}
