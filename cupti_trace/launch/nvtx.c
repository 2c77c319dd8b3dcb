// SPDX-License-Identifier: MIT
#include "cupti_trace/launch/nvtx.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "cupti_trace/core/guest.h"
#include "cupti_trace/core/hot_path.h"
#include "cupti_trace/launch/nccl_calls.h"
#include "cupti_trace/launch/nvtx_abi.h"
#include "cupti_trace/launch/nvtx_payload.h"
#include "cupti_trace/launch/nvtx_place.h"
#include "cupti_trace/launch/recorded_range.h"
#include "symbolize/util/hash.h"

/* Number of a started range: serial number, thread, place in the thread's `started`. */
#define SLOT_BITS 6
#define THREAD_BITS 12
_Static_assert(NVTX_DEPTH_MAX == 1 << SLOT_BITS, "a slot for each range of a thread");
_Static_assert(NVTX_THREADS_MAX == 1 << THREAD_BITS, "a number for each thread");

#define OTHERS_MAX 9 /* one more than the summary lists */

struct range {
	uint32_t name;
	uint32_t domain;
	uint64_t started; /* its number; 0: it was not started */
	uint64_t address; /* the object that it stands for; 0: there is none */
	bool is_foreign;  /* its object is on another stack than the thread's, as a coroutine's */
	uint64_t place_hash;
	bool is_chosen; /* its name selects what is recorded */
	struct nvtx_place place;
};

struct thread {
	uint32_t number;
	_Atomic uint64_t self; /* its pthread_self(); 0: it has ended */
	uint32_t count;
	uint32_t started_count; /* number of started ranges */
	uint64_t serial;
	/* numbers of started ranges; 0: free, or ended by some thread */
	_Atomic uint64_t started[NVTX_DEPTH_MAX];
	_Atomic uint64_t chosen;            /* bit set of started ranges that select */
	uint32_t depth[NVTX_DOMAINS_MAX];   /* pushed and not popped */
	uint32_t ignored[NVTX_DOMAINS_MAX]; /* innermost ones that are not in the list */
	struct range ranges[NVTX_DEPTH_MAX];
	bool is_changing; /* its list is in use: for a signal handler it has no ranges */
	struct nvtx_place_room room;
};

/* Threads by number. Freed ones are reused but never released: late ends may read them. */
static struct {
	pthread_mutex_t lock;
	struct thread *_Atomic threads[NVTX_THREADS_MAX];
	uint32_t count;
	uint32_t free[NVTX_THREADS_MAX]; /* numbers of threads that have ended */
	uint32_t free_count;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end;
static bool has_key;
_Atomic bool nvtx_in_use HOT_PATH_DATA;
static atomic_bool in_stacks = true, as_choice;
static _Atomic uint64_t past_limit, folded; /* ranges since nvtx_count_missing */
static _Atomic uint32_t others[OTHERS_MAX]; /* names of ranges that select nothing; 0: free */
static _Atomic uint32_t others_told;
static __thread struct thread *own;

/* Makes locks usable in a child of fork, which has no threads that could release them. */
static void in_child(void)
{
	pthread_mutex_init(&table.lock, NULL);
	nvtx_names_in_child();
	nvtx_payload_in_child();
	nccl_calls_in_child();
}

static void register_fork(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

void nvtx_follow(bool stacks, bool choice)
{
	static pthread_once_t has_fork = PTHREAD_ONCE_INIT;

	pthread_once(&has_fork, register_fork);
	in_stacks = stacks;
	as_choice = choice;
}

/* ---- threads ---- */

/*
 * Returns whether a started range selects. The thread that ends the range must call this before it
 * takes the range's number out of `started`: afterwards its place may be another range's.
 */
static bool is_chosen(struct thread *thread, uint32_t slot)
{
	return atomic_load(&thread->chosen) & UINT64_C(1) << slot;
}

static void at_thread_end(void *data)
{
	struct thread *thread = data;
	struct guest guest;

	own = NULL;
	atomic_store(&thread->self, 0);
	for (uint32_t i = 0; i < thread->count; i++)
		if (thread->ranges[i].is_chosen && !thread->ranges[i].started)
			recorded_range_leave();
	/*
	 * started ranges that select belong to the process, and stay open until some thread ends
	 * them
	 */
	for (uint32_t i = 0; i < NVTX_DEPTH_MAX; i++)
		if (!is_chosen(thread, i))
			atomic_store(&thread->started[i], 0);
	guest_enter_briefly(&guest);
	pthread_mutex_lock(&table.lock);
	table.free[table.free_count++] = thread->number;
	pthread_mutex_unlock(&table.lock);
	guest_leave(&guest);
}

static void make_key(void)
{
	has_key = pthread_key_create(&thread_end, at_thread_end) == 0;
}

/* Reuses the record of a thread that has ended, except for the serial numbers of ranges. */
static struct thread *reuse_thread(void)
{
	struct thread *thread = table.threads[table.free[--table.free_count]];

	thread->count = 0;
	thread->started_count = 0;
	thread->is_changing = false; /* a handler may have left by a long jump */
	memset(thread->depth, 0, sizeof(thread->depth));
	memset(thread->ignored, 0, sizeof(thread->ignored));
	return thread;
}

static struct thread *new_thread(void)
{
	struct thread *thread = NULL;
	struct guest guest;

	guest_enter_briefly(&guest);
	pthread_mutex_lock(&table.lock);
	if (table.free_count > 0) {
		thread = reuse_thread();
	} else if (table.count < NVTX_THREADS_MAX) {
		thread = calloc(1, sizeof(*thread));
		if (thread) {
			thread->number = table.count;
			atomic_store(&table.threads[table.count++], thread);
		}
	}
	pthread_mutex_unlock(&table.lock);
	guest_leave(&guest);
	return thread;
}

/* Returns the calling thread's record; NULL if there is no room for one more. */
static struct thread *own_thread(void)
{
	struct thread *thread = own;

	if (thread)
		return thread;
	pthread_once(&once, make_key);
	thread = has_key ? new_thread() : NULL;
	if (!thread)
		return NULL;
	if (pthread_setspecific(thread_end, thread) != 0) {
		at_thread_end(thread);
		return NULL;
	}
	own = thread;
	atomic_store(&thread->self, (uint64_t)pthread_self());
	atomic_store(&nvtx_in_use, in_stacks);
	return thread;
}

/* ---- the list ---- */

/*
 * Begins using a thread's list. Returns false in a signal handler that interrupted another use: it
 * leaves the list alone, from a range's begin to its end.
 */
static bool begin_use(struct thread *thread)
{
	if (!thread || thread->is_changing)
		return false;
	thread->is_changing = true;
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

static void end_use(struct thread *thread)
{
	atomic_signal_fence(memory_order_seq_cst);
	thread->is_changing = false;
}

static void drop(struct thread *thread, uint32_t at)
{
	struct range *range = &thread->ranges[at];

	thread->started_count -= range->started != 0;
	thread->count--;
	memmove(range, range + 1, (thread->count - at) * sizeof(*range));
}

static void end_range(struct thread *thread, uint32_t at)
{
	if (thread->ranges[at].is_chosen)
		recorded_range_leave();
	drop(thread, at);
}

/* Drops ranges that some thread has ended. */
static void sweep(struct thread *thread)
{
	for (uint32_t i = thread->count; i-- > 0 && thread->started_count > 0;) {
		uint64_t started = thread->ranges[i].started;

		if (started && atomic_load(&thread->started[started % NVTX_DEPTH_MAX]) != started)
			drop(thread, i);
	}
}

/* Counts a range that stacks do not show by its full name. `is_open`: they show it folded. */
static void count_missing(uint32_t domain, uint32_t name, bool is_open)
{
	if (!in_stacks)
		return;
	if (!is_open || name == NVTX_TOO_MANY || domain == NVTX_DOMAINS_MAX - 1)
		atomic_fetch_add_explicit(&past_limit, 1, memory_order_relaxed);
	else if (nvtx_name_is_folded(name))
		atomic_fetch_add_explicit(&folded, 1, memory_order_relaxed);
}

/* Notes the name of a range that selects nothing, while there is room for one more. */
static void note_other(uint32_t name)
{
	for (uint32_t i = 0; i < OTHERS_MAX; i++) {
		uint32_t noted = atomic_load_explicit(&others[i], memory_order_relaxed);

		if (noted == name ||
		    (!noted &&
		     (atomic_compare_exchange_strong(&others[i], &noted, name) || noted == name)))
			return;
	}
}

/* Opens a range; `address` is that of its object, or 0. */
static struct range *open_range(struct thread *thread, uint32_t domain, uint32_t name, uint64_t sp,
				uint64_t address)
{
	struct range *range = &thread->ranges[thread->count];

	count_missing(domain, name, true);
	range->name = name;
	range->domain = domain;
	range->started = 0;
	range->address = address;
	range->is_foreign = address && !unwind_is_on_stack(address);
	range->is_chosen = as_choice && recorded_range_match(name);
	if (as_choice && !range->is_chosen)
		note_other(nvtx_name_plain(name));
	if (in_stacks && !address) {
		nvtx_place_take(&range->place, sp, &thread->room);
		range->place_hash = nvtx_place_hash(&range->place);
	}
	thread->count++;
	return range;
}

/* Opens a pushed range. */
static int push(struct thread *thread, uint32_t domain, uint32_t name, uint64_t sp)
{
	if (thread->started_count > 0)
		sweep(thread);
	/*
	 * a range that is not in the list is always the last of its domain: pop could not know
	 * otherwise
	 */
	if (thread->ignored[domain] > 0 || thread->count == NVTX_DEPTH_MAX) {
		thread->ignored[domain]++;
		count_missing(domain, name, false);
	} else if (open_range(thread, domain, name, sp, 0)->is_chosen) {
		recorded_range_enter();
	}
	return (int)thread->depth[domain]++;
}

int nvtx_push(uint32_t domain, uint32_t name, uint64_t sp)
{
	struct thread *thread = own_thread();
	int depth;

	if (!begin_use(thread)) {
		count_missing(domain, name, false);
		return NVTX_ABI_NO_PUSH_POP_TRACKING;
	}
	depth = push(thread, domain, name, sp);
	end_use(thread);
	return depth;
}

/* Closes the last pushed range of a domain that has one. */
static int pop(struct thread *thread, uint32_t domain)
{
	if (thread->ignored[domain] > 0) {
		thread->ignored[domain]--;
		return (int)--thread->depth[domain];
	}
	for (uint32_t i = thread->count; i-- > 0;) {
		const struct range *range = &thread->ranges[i];

		if (range->domain == domain && !range->started && !range->address) {
			end_range(thread, i);
			break;
		}
	}
	return (int)--thread->depth[domain];
}

int nvtx_pop(uint32_t domain)
{
	struct thread *thread = own;
	int depth = NVTX_ABI_NO_PUSH_POP_TRACKING;

	if (!begin_use(thread))
		return depth;
	if (thread->depth[domain] > 0)
		depth = pop(thread, domain);
	end_use(thread);
	return depth;
}

/* ---- ranges of objects ---- */

/*
 * Closes the ranges of an object, and those of objects of the thread's stack below `sp`, where no
 * function runs any more: they ended without a word.
 */
static void close_objects(struct thread *thread, uint64_t address, uint64_t sp)
{
	if (!unwind_is_on_stack(sp))
		sp = 0;
	for (uint32_t i = thread->count; i-- > 0;) {
		const struct range *range = &thread->ranges[i];

		if (range->address &&
		    (range->address == address || (range->address < sp && !range->is_foreign)))
			end_range(thread, i);
	}
}

/* Makes room by dropping the oldest range of another stack: its coroutine may never go on. */
static void drop_foreign(struct thread *thread)
{
	uint32_t i = 0;

	while (i < thread->count && !thread->ranges[i].is_foreign)
		i++;
	if (i < thread->count)
		end_range(thread, i);
}

void nvtx_open_at(uint32_t domain, uint32_t name, uint64_t address)
{
	struct thread *thread = own_thread();

	if (!begin_use(thread)) {
		count_missing(domain, name, false);
		return;
	}
	if (thread->count == NVTX_DEPTH_MAX)
		drop_foreign(thread);
	if (thread->count == NVTX_DEPTH_MAX)
		count_missing(domain, name, false);
	else if (open_range(thread, domain, name, 0, address)->is_chosen)
		recorded_range_enter();
	end_use(thread);
}

void nvtx_close_at(uint64_t address)
{
	if (!begin_use(own))
		return;
	close_objects(own, address, (uint64_t)(uintptr_t)__builtin_frame_address(0));
	end_use(own);
}

/* ---- started ranges ---- */

/* Returns a free place. NVTX_DEPTH_MAX: all are taken, by former threads of this number, too. */
static uint32_t free_slot(const struct thread *thread)
{
	uint32_t slot = 0;

	while (slot < NVTX_DEPTH_MAX && atomic_load(&thread->started[slot]))
		slot++;
	return slot;
}

/* Opens a range that any thread may end. Returns its number; 0: there is no room. */
static uint64_t start(struct thread *thread, uint32_t domain, uint32_t name, uint64_t sp)
{
	struct range *range;
	uint32_t slot;

	sweep(thread);
	slot = free_slot(thread);
	if (slot == NVTX_DEPTH_MAX || thread->count == NVTX_DEPTH_MAX) {
		count_missing(domain, name, false);
		return 0;
	}
	range = open_range(thread, domain, name, sp, 0);
	range->started = ++thread->serial << (THREAD_BITS + SLOT_BITS) |
			 (uint64_t)thread->number << SLOT_BITS | slot;
	thread->started_count++;
	if (range->is_chosen) {
		atomic_fetch_or(&thread->chosen, UINT64_C(1) << slot);
		recorded_range_enter();
	} else {
		atomic_fetch_and(&thread->chosen, ~(UINT64_C(1) << slot));
	}
	atomic_store(&thread->started[slot], range->started);
	return range->started;
}

uint64_t nvtx_start(uint32_t domain, uint32_t name, uint64_t sp)
{
	struct thread *thread = own_thread();
	uint64_t number;

	if (!begin_use(thread)) {
		count_missing(domain, name, false);
		return 0;
	}
	number = start(thread, domain, name, sp);
	end_use(thread);
	return number;
}

void nvtx_end(uint64_t range)
{
	struct thread *thread =
		atomic_load(&table.threads[range >> SLOT_BITS & (NVTX_THREADS_MAX - 1)]);

	uint32_t slot = range % NVTX_DEPTH_MAX;
	bool chosen;

	if (!thread || !range)
		return;
	chosen = is_chosen(thread, slot);
	if (atomic_compare_exchange_strong(&thread->started[slot], &range, 0) && chosen)
		recorded_range_leave();
}

void nvtx_count_missing(struct sink *sink)
{
	struct gpu_event_drops drops = {.ranges = atomic_exchange(&past_limit, 0),
					.folded_ranges = atomic_exchange(&folded, 0)};

	if (drops.ranges || drops.folded_ranges)
		sink_count_drops(sink, &drops);
}

void nvtx_send_others(struct sink *sink)
{
	uint32_t at = atomic_load(&others_told), name;

	while (at < OTHERS_MAX && (name = atomic_load(&others[at])))
		if (atomic_compare_exchange_strong(&others_told, &at, at + 1)) {
			nvtx_name_resend(sink, name);
			at++;
		}
}

/* ---- launches ---- */

#define OUTERMOST_BYTES 4096 /* limit of the outermost function's variables */

/*
 * Returns the frame of the function that has an object among its variables; UINT32_MAX: none of
 * this stack, as while another coroutine runs. Beyond a stack that is cut anything may be.
 */
static uint32_t frame_of(uint64_t address, const struct unwind_stack *native, const uint64_t *sps)
{
	for (uint32_t i = 0; i < native->count; i++) {
		bool is_last = i + 1 == native->count;
		uint64_t size = is_last ? native->is_whole ? OUTERMOST_BYTES : UINT64_MAX / 2
					: sps[i + 1] - sps[i];

		if (address >= sps[i] && (is_last || sps[i + 1] > sps[i]) &&
		    address - sps[i] < size)
			return i;
	}
	return UINT32_MAX;
}

HOT_PATH bool nvtx_thread_has_open(void)
{
	return own && own->count > 0 && !own->is_changing;
}

uint64_t nvtx_recognize(const void *frame)
{
	struct thread *thread = own;
	uint64_t at = (uint64_t)(uintptr_t)frame, hash = hash_seed.first;
	bool by_instruction = false;

	if (!begin_use(thread))
		return 0;
	sweep(thread);
	close_objects(thread, 0, at);
	for (uint32_t i = 0; i < thread->count; i++) {
		const struct range *range = &thread->ranges[i];

		by_instruction |= !range->address && range->place.python_count > 0;
		/* places have stack pointers, which are compared with those of the stack */
		hash = range->address ? hash_step(hash, range->name, range->address - at)
				      : hash_step(hash ^ range->name, range->place_hash, at);
	}
	hash = by_instruction ? hash | NVTX_BY_INSTRUCTION : hash & ~NVTX_BY_INSTRUCTION;
	hash = thread->count ? hash | 1 : 0;
	end_use(thread);
	return hash;
}

void nvtx_read(const struct unwind_stack *native, const uint64_t *sps,
	       const struct python_stack *python, struct nvtx_ranges *out)
{
	struct thread *thread = own;

	out->count = 0;
	if (!begin_use(thread))
		return;
	for (uint32_t i = 0; i < thread->count; i++) {
		const struct range *range = &thread->ranges[i];
		uint32_t n = out->count;
		bool is_unchanged;

		out->open[n].name = range->name;
		if (range->address) {
			/* a native function, which is inside of the right Python frames */
			out->open[n].python = UINT32_MAX;
			out->open[n].native = frame_of(range->address, native, sps);
			out->count += out->open[n].native != UINT32_MAX;
			continue;
		}
		out->open[n].python = nvtx_place_python(&range->place, python, &is_unchanged);
		out->open[n].native =
			is_unchanged ? nvtx_place_native(&range->place, native, sps) : UINT32_MAX;
		out->count++;
	}
	end_use(thread);
}

static const struct thread *find_thread(uint64_t self)
{
	for (uint32_t i = 0; i < NVTX_THREADS_MAX; i++) {
		const struct thread *thread = atomic_load(&table.threads[i]);

		if (!thread)
			return NULL;
		if (atomic_load(&thread->self) == self)
			return thread;
	}
	return NULL;
}

void nvtx_read_of(uint64_t self, const struct python_stack *python, struct nvtx_ranges *out)
{
	const struct thread *thread =
		atomic_load_explicit(&nvtx_in_use, memory_order_relaxed) ? find_thread(self) : NULL;
	uint32_t count = thread ? thread->count : 0;

	out->count = 0;
	for (uint32_t i = 0; i < count && i < NVTX_DEPTH_MAX; i++) {
		const struct range *range = &thread->ranges[i];
		uint64_t started = range->started;
		bool is_unchanged;

		if (!range->name || range->address ||
		    (started && atomic_load(&thread->started[started % NVTX_DEPTH_MAX]) != started))
			continue;
		out->open[out->count].name = range->name;
		out->open[out->count].native = UINT32_MAX;
		out->open[out->count++].python =
			nvtx_place_python(&range->place, python, &is_unchanged);
	}
}

uint64_t nvtx_hash(uint64_t hash, const struct nvtx_ranges *ranges)
{
	for (uint32_t i = 0; i < ranges->count; i++) {
		uint64_t place = (uint64_t)ranges->open[i].native << 32 | ranges->open[i].python;

		hash = hash_step(hash, ranges->open[i].name, place);
	}
	return hash;
}

/*
 * Returns the frame before which a range goes: inside both its native and its Python frame. Python
 * frames may have replaced the interpreter's own: then the next frame outwards counts.
 */
static uint32_t find_position(const struct python_merged *origins, uint32_t count, uint32_t native,
			      uint32_t python)
{
	uint32_t i = 0;

	while (i < count && origins[i].index < (origins[i].is_python ? python : native))
		i++;
	return i;
}

/* Names to insert, the outermost first, each before a frame. */
struct insertions {
	uint32_t count;
	struct {
		uint32_t name, position;
	} list[NVTX_DEPTH_MAX + PYTHON_CALLS_MAX];
};

static void insert_name(struct insertions *in, uint32_t name, uint32_t position)
{
	in->list[in->count].name = name;
	in->list[in->count++].position = position;
}

/*
 * Adds the calls of modules down to a position. A call is outside of ranges at its position.
 * Returns the number of calls that were added so far.
 */
static uint32_t insert_layers(struct insertions *in, const struct layers *layers, uint32_t next,
			      uint32_t down_to, const struct python_merged *origins, uint32_t count)
{
	for (; layers && next < layers->count; next++) {
		uint32_t at = find_position(origins, count, UINT32_MAX, layers->open[next].python);

		if (at < down_to)
			break;
		insert_name(in, layers->open[next].name, at);
	}
	return next;
}

uint32_t nvtx_insert(struct sink *sink, const struct nvtx_ranges *ranges,
		     const struct layers *layers, uint32_t first,
		     const struct python_merged *origins, struct gpu_event_frame *frames,
		     uint32_t count, bool *is_cut)
{
	/* not on the program's stacks, which may be small */
	static struct gpu_event_frame out[GPU_STACK_MAX_FRAMES + NVTX_DEPTH_MAX + PYTHON_CALLS_MAX];
	static struct insertions in;
	uint32_t position = count, n = 0, next_layer = 0;

	in.count = 0;
	for (uint32_t i = 0; i < ranges->count; i++) {
		uint32_t native = ranges->open[i].native;
		uint32_t at = find_position(origins, count, native > first ? native - first : 0,
					    ranges->open[i].python);

		/* never outside of a range that was opened before */
		position = at < position ? at : position;
		next_layer = insert_layers(&in, layers, next_layer, position, origins, count);
		insert_name(&in, ranges->open[i].name, position);
	}
	insert_layers(&in, layers, next_layer, 0, origins, count);
	for (uint32_t i = 0; i <= count; i++) {
		for (; in.count > 0 && in.list[in.count - 1].position == i; in.count--) {
			uint32_t name = in.list[in.count - 1].name;

			nvtx_name_send(sink, name);
			out[n++] = (struct gpu_event_frame){.kind = GPU_FRAME_NVTX, .value = name};
		}
		if (i < count)
			out[n++] = frames[i];
	}
	*is_cut |= n > GPU_STACK_MAX_FRAMES;
	n = n < GPU_STACK_MAX_FRAMES ? n : GPU_STACK_MAX_FRAMES;
	memcpy(frames, out, n * sizeof(*out));
	return n;
}
