// SPDX-License-Identifier: MIT
#include "cupti_trace/launch/launch_stack.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "cupti_trace/core/hot_path.h"
#include "cupti_trace/core/build_id.h"
#include "cupti_trace/core/clock.h"
#include "cupti_trace/core/guest.h"
#include "cupti_trace/core/loader_count.h"
#include "cupti_trace/launch/async_parent.h"
#include "cupti_trace/launch/layers.h"
#include "cupti_trace/launch/nvtx.h"
#include "cupti_trace/launch/stack_cache.h"
#include "cupti_trace/launch/torch_operators.h"
#include "cupti_trace/python/python_stack.h"
#include "cupti_trace/unwind/code_map.h"
#include "cupti_trace/unwind/code_ranges.h"
#include "cupti_trace/unwind/unwind_cache.h"
#include "cupti_trace/unwind/unwind_thread.h"
#include "symbolize/util/record_set.h"
#include "symbolize/util/text.h"

#define WATCHED_CHECKS 20 /* number of checks for unloaded code after an unload was announced */
#define WATCHED_NS 1500000000u /* limit of their duration */

/* Native frames below all Python frames of a stack. */
struct base {
	uint64_t hash;
	uint32_t first, count; /* range in base_pcs */
	bool is_whole;
};

/*
 * One instance for the process. `generation` changes whenever ids are forgotten; thread caches of
 * an older generation are void.
 */
static struct {
	pthread_mutex_t lock;
	RECORD_SET(struct known_stack) stacks; /* stacks of this generation */
	uint32_t next_id;
	struct base *bases;
	uint32_t base_count, base_capacity;
	uint64_t *base_pcs;
	uint32_t base_pc_count, base_pc_capacity;
	uint64_t loaded, unloaded; /* numbers of objects at the last check */
	uint64_t looked;           /* `loaded` at the last search for Python */
	struct code_map map;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER, .next_id = 1};
static _Atomic uint32_t generation HOT_PATH_DATA = 1;

static _Atomic uint64_t walks; /* since the process began */

/* Not 0: code is about to be unmapped, so each launch checks. Counts down with each check. */
static _Atomic uint32_t watched_checks HOT_PATH_DATA;
static _Atomic uint64_t watched_until_ns; /* deadline of the checks */
/* Number of loaded objects at the last check by a launch: new objects may replace other code. */
static _Atomic uint64_t peeked_at HOT_PATH_DATA;

/* A captured stack with everything that belongs to it. */
struct captured {
	struct unwind_stack native;
	uint64_t sps[UNWIND_MAX_FRAMES]; /* set if there are Python frames or ranges */
	struct python_stack python;
	struct nvtx_ranges ranges;
	struct layers *layers; /* NULL: there is no room for them */
	uint32_t handed_from;  /* stack id of the thread that waits for this one; 0: none */
};

static inline bool has_layers(const struct captured *stack)
{
	return stack->layers && stack->layers->count > 0;
}

#define LAYER_TABLES 16u /* tables of a thread whose stacks have layers: there are many more */

/* A thread's recent stacks, freed at its end. */
struct thread_cache {
	bool is_capturing; /* `captured` is in use; few of its pages ever are */
	struct captured captured;
	struct layers layers;
	struct stack_cache recent[]; /* a power of two; the hash tells which */
};
static __thread struct launch_stack_thread {
	struct thread_cache *cache;
	struct unwind_cache_thread *unwinding; /* NULL without a cache */
	uint32_t generation;                   /* generation of the members above */
	uint32_t mask;                         /* number of the cache's tables, less one */
	/* at most one is set; both live until the thread ends */
	struct async_parent_worker *worker;
	struct async_parent_launcher *launcher;
} own;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end;
static bool has_key;

static void at_thread_end(void *cache)
{
	own.cache = NULL;
	async_parent_worker_free(own.worker);
	own.worker = NULL;
	async_parent_launcher_free(own.launcher);
	own.launcher = NULL;
	free(cache);
}

static void make_key(void)
{
	has_key = pthread_key_create(&thread_end, at_thread_end) == 0;
}

/* Allocates the thread's cache; NULL when out of memory. */
static __attribute__((noinline)) struct thread_cache *make_cache(void)
{
	size_t tables = layers_are_followed() ? LAYER_TABLES : 1, size;
	struct thread_cache *cache = NULL;

	size = tables * sizeof(*cache->recent);
	pthread_once(&once, make_key);
	if (has_key)
		cache = aligned_alloc(64, sizeof(*cache) + size);
	if (!cache)
		return NULL;
	memset(cache->recent, 0, size);
	cache->is_capturing = false;
	cache->captured.layers = NULL;
	if (pthread_setspecific(thread_end, cache) != 0) {
		free(cache);
		return NULL;
	}
	own.cache = cache;
	own.mask = (uint32_t)tables - 1;
	own.unwinding = unwind_cache_thread();
	own.worker = async_parent_worker_new();
	return cache;
}

/* Forgets all ids, with the lock held. */
static void forget_stacks(void)
{
	record_set_clear(&table.stacks.set);
	table.base_count = table.base_pc_count = 0;
	atomic_fetch_add(&generation, 1);
}

static void note_counts(const struct loader_count *count)
{
	pthread_mutex_lock(&table.lock);
	if (count->loaded != table.loaded || count->unloaded != table.unloaded) {
		if (count->unloaded != table.unloaded) {
			/* rows and stacks may now mean other code */
			unwind_forget();
			forget_stacks();
		}
		table.loaded = count->loaded;
		table.unloaded = count->unloaded;
		code_map_expire(&table.map);
		code_ranges_expire();
	}
	pthread_mutex_unlock(&table.lock);
}

void launch_stack_check_code(struct sink *sink)
{
	uint32_t checks = atomic_load(&watched_checks);
	struct loader_count count;
	bool is_new;

	if (checks)
		atomic_compare_exchange_strong(&watched_checks, &checks, checks - 1);
	count = loader_count_read();
	pthread_mutex_lock(&table.lock);
	is_new = count.loaded != table.looked;
	table.looked = count.loaded;
	pthread_mutex_unlock(&table.lock);
	/*
	 * takes the loader's lock, which a thread that launches in a constructor holds: not under
	 * ours
	 */
	if (is_new) {
		python_stack_look(sink);
		torch_operators_look();
	}
	note_counts(&count);
}

void launch_stack_start_over(void)
{
	pthread_mutex_lock(&table.lock);
	forget_stacks();
	code_map_expire(&table.map);
	python_stack_start_over();
	nvtx_names_start_over();
	pthread_mutex_unlock(&table.lock);
}

void launch_stack_expect_unload(void)
{
	atomic_store(&watched_until_ns, clock_now_ns() + WATCHED_NS);
	atomic_store(&watched_checks, WATCHED_CHECKS);
}

/* Checks for unloaded code. Python needs no search here: new mappings are checked soon. */
static __attribute__((noinline)) void look_for_unload(void)
{
	static _Atomic uint64_t seen;
	uint64_t peeked = loader_count_peek();
	struct loader_count count;
	struct guest guest;

	/* the flusher no longer counts the checks once the program has said goodbye */
	if (peeked == atomic_load(&peeked_at) && clock_now_ns() > atomic_load(&watched_until_ns)) {
		atomic_store(&watched_checks, 0);
		return;
	}
	guest_enter_briefly(&guest);
	count = loader_count_read();
	if (atomic_load(&seen) != count.unloaded) {
		note_counts(&count);
		atomic_store(&seen, count.unloaded);
	}
	atomic_store(&peeked_at, peeked);
	guest_leave(&guest);
}

/* ---- known stacks ---- */

/* Returns the id of a new stack; 0: there are too many. */
static uint32_t add_stack(uint64_t hash)
{
	const struct known_stack stack = {.hash = hash, .id = table.next_id};

	if (table.stacks.count >= LAUNCH_STACKS_MAX ||
	    record_add_hashed(&table.stacks, hash_number(hash), &stack) == RECORD_NONE)
		return 0;
	return table.next_id++;
}

/*
 * Returns the id of a stack, under the lock; 0: it cannot be kept. A new one is the last of the
 * list.
 */
static uint32_t get_id(uint64_t hash, bool *is_new)
{
	uint32_t at = record_find_hashed(&table.stacks, hash_number(hash), &hash);

	*is_new = at == RECORD_NONE;
	return *is_new ? add_stack(hash) : table.stacks.list[at].id;
}

/* Returns the mapping of a pc, which is sent if it is new. */
static const struct code_map_entry *find_code(struct sink *sink, uint64_t pc)
{
	struct code_map_entry *entry = code_map_look(&table.map, pc);

	if (entry && !entry->sent && !(entry = code_map_resolve(&table.map, entry, pc)))
		return NULL;
	if (entry && !entry->sent) {
		struct gpu_event event = {.type = GPU_EVENT_CODE, .code = entry->code};
		char build_id[BUILD_ID_TEXT_BYTES];

		if (sink->is_file) {
			build_id_read(entry->head, entry->head_end, build_id);
			event.code.build_id = build_id;
		}
		sink_put(sink, &event);
		entry->sent = true;
	}
	return entry;
}

/* ---- what is below the Python frames ---- */

#define BASES_MAX 4096u /* limit for one generation; further stacks have none */

/*
 * Keeps the native frames outside of the outermost Python frame, for work that the thread gives to
 * workers.
 */
static uint32_t add_base(const struct gpu_event_frame *frames, uint32_t count, bool is_whole)
{
	struct base base = {.first = table.base_pc_count, .is_whole = is_whole};
	uint32_t first = count, at = 0;

	while (first > 0 && frames[first - 1].kind == GPU_FRAME_RETURN)
		first--;
	if (first == 0)
		return 0; /* no Python frame */
	base.count = count - first;
	base.hash = hash_step(hash_seed.first, base.count, is_whole);
	for (uint32_t i = first; i < count; i++)
		base.hash = hash_step(base.hash, frames[i].value, 0);
	while (at < table.base_count && table.bases[at].hash != base.hash)
		at++;
	if (at < table.base_count)
		return at + 1;
	if (at == BASES_MAX ||
	    !array_make_room(&table.bases, at, &table.base_capacity, sizeof(base)))
		return 0;
	for (uint32_t i = first; i < count; i++) {
		if (!array_make_room(&table.base_pcs, table.base_pc_count, &table.base_pc_capacity,
				     sizeof(*table.base_pcs)))
			return 0;
		table.base_pcs[table.base_pc_count++] = frames[i].value;
	}
	table.bases[table.base_count++] = base;
	return table.base_count;
}

/* Returns the base of a stack; NULL: it has none, or is of another generation. */
static const struct base *find_base(uint32_t stack)
{
	const struct known_stack *list = table.stacks.list;
	uint32_t at = table.stacks.count ? stack - list[0].id : 0;

	if (at >= table.stacks.count || list[at].id != stack || list[at].base == 0)
		return NULL;
	return &table.bases[list[at].base - 1];
}

/* ---- sending ---- */

/* Under the table's lock; not on the program's stacks, which may be small. */
static struct {
	struct gpu_event_frame frames[GPU_STACK_MAX_FRAMES];
	struct python_merged origins[GPU_STACK_MAX_FRAMES];
} sent;

/*
 * Returns the number of omitted frames: those of CUDA's libraries, except for the runtime's
 * function that called the driver.
 */
static uint32_t count_left_out(struct sink *sink, const char *function,
			       const struct unwind_stack *native)
{
	const struct code_map_entry *entry;
	bool is_runtime = false;
	uint32_t count = 0;

	while (count < native->count) {
		entry = find_code(sink, native->pcs[count] - 1);
		if (!entry || !entry->is_cuda)
			break;
		is_runtime = entry->is_runtime;
		count++;
	}
	return is_runtime && !starts_with(function, "cuda") ? count - 1 : count;
}

/* Sends a stack. Returns its base. */
static uint32_t send_stack(struct sink *sink, uint32_t id, const char *function,
			   const struct captured *stack)
{
	uint32_t base;
	const uint64_t *pcs = stack->native.pcs;
	uint32_t first = count_left_out(sink, function, &stack->native);
	uint32_t count = stack->native.count;
	struct python_stack_natives natives = {.is_whole = stack->native.is_whole};
	struct gpu_event_frame *frames = sent.frames;
	struct python_merged *origins = sent.origins;
	struct gpu_event event = {.type = GPU_EVENT_STACK};
	bool is_cut, is_ordered;

	natives.pcs = pcs + first;
	natives.sps = stack->sps + first;
	natives.count = count - first;
	event.stack.count = python_stack_merge(sink, &natives, &stack->python, frames, origins,
					       GPU_STACK_MAX_FRAMES, &is_cut, &is_ordered);
	/* without an order, the frames below the Python frames are unknown */
	base = is_ordered ? add_base(frames, event.stack.count, stack->native.is_whole && !is_cut)
			  : 0;
	if (stack->ranges.count > 0 || has_layers(stack))
		event.stack.count = nvtx_insert(sink, &stack->ranges, stack->layers, first, origins,
						frames, event.stack.count, &is_cut);
	for (uint32_t i = 0; i < event.stack.count; i++)
		if (frames[i].kind == GPU_FRAME_RETURN)
			find_code(sink, frames[i].value - 1);
	event.stack.id = id;
	event.stack.function = function;
	event.stack.is_whole = stack->native.is_whole && !is_cut;
	event.stack.is_unordered = !is_ordered;
	event.stack.frames = frames;
	event.stack.handed_from = stack->handed_from;
	if (own.worker)
		event.stack.handed_to = async_parent_worker_name(own.worker);
	sink_put(sink, &event);
	return base;
}

/* Returns the id of a stack that this thread has not seen lately. */
static uint32_t find_id(struct sink *sink, uint64_t hash, const char *function,
			const struct captured *stack)
{
	struct guest guest;
	uint32_t id;
	bool is_new;

	guest_enter(&guest);
	pthread_mutex_lock(&table.lock);
	id = get_id(hash, &is_new);
	if (is_new && id)
		table.stacks.list[table.stacks.count - 1].base =
			send_stack(sink, id, function, stack);
	pthread_mutex_unlock(&table.lock);
	guest_leave(&guest);
	return id;
}

static uint64_t hash_stack(const char *function, const struct captured *stack)
{
	uint64_t h = hash_seed.first ^ (uint64_t)(uintptr_t)function;
	const uint64_t *pcs = stack->native.pcs;
	uint32_t count = stack->native.count, i;

	/* two at a time: each step waits for the one before */
	for (i = 0; i + 1 < count; i += 2)
		h = hash_step(h, pcs[i], pcs[i + 1]);
	if (i < count)
		h = hash_step(h, pcs[i], 0);
	h = python_stack_hash(h, &stack->python);
	if (stack->ranges.count > 0)
		h = nvtx_hash(h, &stack->ranges);
	if (has_layers(stack))
		h = layers_hash(h, stack->layers);
	if (own.worker)
		h = hash_step(h, stack->handed_from, async_parent_worker_number(own.worker));
	return h ? h : 1;
}

/*
 * Hashes a stack that is recognized without a walk: its words and Python frames. The number differs
 * from that after a walk. Both are hashed independently, so that neither waits for the other.
 */
static uint64_t hash_recognized(uint64_t words, uint64_t python, const char *function,
				uint32_t handed_from)
{
	return hash_step(words ^ python, (uint64_t)(uintptr_t)function,
			 1 | (uint64_t)handed_from << 32);
}

/* Returns the number that hashes of the calling thread's Python frames begin with. */
static inline uint64_t python_seed(uint64_t ranges)
{
	return hash_seed.first ^ ranges ^
	       atomic_load_explicit(&layers_epoch, memory_order_relaxed) << 32;
}

/*
 * Hashes the Python frames that were read, as find_stack does without reading them. The seed is
 * that of the time before, so that a path which changed meanwhile is read again.
 */
static uint64_t hash_python(uint64_t seed, uint64_t ranges, const struct python_stack *stack)
{
	uint64_t innermost = layers_are_followed() ? python_stack_innermost() : 0;
	bool by_instruction = ranges & NVTX_BY_INSTRUCTION;

	return innermost ? python_stack_hash_from(innermost, seed, by_instruction)
			 : python_stack_hash_numbers(seed, stack, by_instruction);
}

/* ---- capturing ---- */

/* The launch whose stack is captured. */
struct site {
	const char *function;
	const void *frame;
	uint32_t handed_from;
};

static __attribute__((noinline)) uint32_t capture_into(struct captured *stack, struct sink *sink,
						       const struct site *site,
						       struct thread_cache *cache)
{
	uint64_t hash;
	uint32_t id;

	/* read once: another thread may find the interpreter now */
	bool has_python = python_stack_is_there();
	uint64_t ranges = nvtx_has_open() ? nvtx_recognize(site->frame) : 0;
	uint64_t seed = python_seed(ranges);

	stack->handed_from = site->handed_from;
	stack->ranges.count = 0;
	unwind_from(site->frame, &stack->native, has_python || ranges ? stack->sps : NULL);
	stack->python.count = 0;
	if (stack->layers)
		stack->layers->count = 0;
	if (has_python && python_stack_read(sink, &stack->python) && stack->layers)
		layers_read(stack->layers);
	if (ranges && stack->native.count > 0)
		nvtx_read(&stack->native, stack->sps, &stack->python, &stack->ranges);
	if (stack->native.count == 0)
		return 0;
	if (stack->python.count > 0 && !own.launcher && !own.worker && cache)
		own.launcher = async_parent_launcher_new();
	hash = hash_stack(site->function, stack);
	if (!cache)
		return find_id(sink, hash, site->function, stack);
	if (!stack_cache_find(&cache->recent[hash & own.mask], hash, &id)) {
		id = find_id(sink, hash, site->function, stack);
		stack_cache_keep(&cache->recent[hash & own.mask], hash, id);
	}
	if (stack->native.words) {
		hash = hash_python(seed, ranges, &stack->python);
		hash = hash_recognized(stack->native.words, hash, site->function,
				       stack->handed_from);
		stack_cache_keep(&cache->recent[hash & own.mask], hash, id);
	}
	return id;
}

/* Captures in a signal handler that interrupted another capture, or without memory for a cache. */
static __attribute__((noinline)) uint32_t
capture_on_stack(struct sink *sink, const struct site *site, struct thread_cache *cache)
{
	struct captured stack; /* large, so not initialised */

	stack.layers = NULL;
	return capture_into(&stack, sink, site, cache);
}

/* Captures a stack with its layers: again, if it showed the first code that calls modules. */
static __attribute__((noinline)) uint32_t capture_layers(struct thread_cache *cache,
							 struct sink *sink, const struct site *site)
{
	uint32_t methods = python_stack_methods(), id;

	cache->captured.layers = &cache->layers;
	id = capture_into(&cache->captured, sink, site, cache);
	return python_stack_methods() == methods
		       ? id
		       : capture_into(&cache->captured, sink, site, cache);
}

static __attribute__((noinline)) uint32_t
capture_by_walk(struct sink *sink, const struct site *site, struct thread_cache *cache)
{
	uint32_t id;

	atomic_fetch_add_explicit(&walks, 1, memory_order_relaxed);
	if (!cache || cache->is_capturing)
		return capture_on_stack(sink, site, cache);
	cache->is_capturing = true;
	atomic_signal_fence(memory_order_acq_rel);
	id = layers_are_followed() ? capture_layers(cache, sink, site)
				   : capture_into(&cache->captured, sink, site, cache);
	atomic_signal_fence(memory_order_acq_rel);
	cache->is_capturing = false;
	return id;
}

/*
 * Sends the stack of a thread that waits for a worker: its Python frames and ranges, below the
 * outer frames of its last launch.
 */
static void send_waiter(struct sink *sink, uint32_t id, const struct async_parent_stack *stack)
{
	const struct base *base = find_base(stack->last_stack);
	struct gpu_event_frame *frames = sent.frames;
	struct python_merged *origins = sent.origins;
	struct gpu_event event = {.type = GPU_EVENT_STACK};
	const struct python_stack_natives none = {0};
	uint32_t natives = base ? base->count : 0, count;
	bool is_cut, is_ordered; /* the Python frames are in order; the base follows */

	count = python_stack_merge(sink, &none, &stack->python, frames, origins,
				   GPU_STACK_MAX_FRAMES, &is_cut, &is_ordered);
	for (uint32_t i = 0; i < natives && count < GPU_STACK_MAX_FRAMES; i++) {
		uint64_t pc = table.base_pcs[base->first + i];

		find_code(sink, pc - 1);
		origins[count] = (struct python_merged){.index = i};
		frames[count++] = (struct gpu_event_frame){.value = pc, .kind = GPU_FRAME_RETURN};
	}
	is_cut |= count < stack->python.count + natives;
	if (stack->ranges.count > 0)
		count = nvtx_insert(sink, &stack->ranges, NULL, 0, origins, frames, count, &is_cut);
	event.stack.count = count;
	event.stack.id = id;
	event.stack.function = "";
	event.stack.is_whole = stack->python.is_whole && base && base->is_whole && !is_cut;
	event.stack.frames = frames;
	sink_put(sink, &event);
}

/* Implements async_parent_name. */
static uint32_t name_waiter(struct sink *sink, const struct async_parent_stack *stack)
{
	uint64_t hash = hash_step(hash_seed.first, 3, 0);
	const struct base *base;
	struct guest guest;
	uint32_t id;
	bool is_new;

	hash = python_stack_hash(hash, &stack->python);
	hash = nvtx_hash(hash, &stack->ranges);
	guest_enter_briefly(&guest);
	pthread_mutex_lock(&table.lock);
	base = find_base(stack->last_stack);
	hash = hash_step(hash, base ? base->hash : 0, 0);
	id = get_id(hash, &is_new);
	if (is_new && id)
		send_waiter(sink, id, stack);
	pthread_mutex_unlock(&table.lock);
	guest_leave(&guest);
	return id;
}

/* Returns the known stack of another guess; NULL: there is none. */
static __attribute__((noinline)) const struct known_stack *
recognize_again(struct launch_stack_thread *me, struct thread_cache *cache, const struct site *site,
		uint64_t python, uint32_t *id)
{
	const struct known_stack *found = NULL;
	uint64_t words, hash;

	for (uint32_t wrong = 1; !found; wrong++) {
		words = unwind_recognize(me->unwinding, site->frame, wrong);
		if (!words)
			return NULL;
		hash = hash_recognized(words, python, site->function, site->handed_from);
		found = stack_cache_find(&cache->recent[hash & me->mask], hash, id);
	}
	unwind_recognized_again(me->unwinding, site->frame);
	return found;
}

/* Returns the id of the calling thread's stack. For a worker, finds its parent first. */
static inline uint32_t find_stack(struct launch_stack_thread *me, struct sink *sink,
				  const char *function, const void *frame, uint32_t context)
{
	struct thread_cache *cache = likely(me->cache) ? me->cache : make_cache();
	uint64_t words, python, hash, innermost = 0, ranges = 0;
	uint32_t now, handed_from = 0;
	const struct known_stack *found;
	uint32_t id;

	if (unlikely(atomic_load_explicit(&watched_checks, memory_order_relaxed) ||
		     loader_count_peek() != atomic_load_explicit(&peeked_at, memory_order_relaxed)))
		look_for_unload();
	if (unlikely(!cache))
		return capture_by_walk(sink, &(struct site){function, frame, 0}, NULL);
	now = atomic_load_explicit(&generation, memory_order_relaxed);
	if (unlikely(me->generation != now)) {
		memset(cache->recent, 0, (me->mask + 1) * sizeof(*cache->recent));
		me->generation = now;
	}
	if (unlikely(me->worker))
		handed_from = async_parent_find(me->worker, context, sink, name_waiter);
	if (likely(python_stack_is_there()))
		innermost = python_stack_innermost();
	if (nvtx_has_open())
		ranges = nvtx_recognize(frame);
	python = python_seed(ranges);
	words = unwind_recognize(me->unwinding, frame, 0);
	if (likely(words) && likely(innermost))
		python = python_stack_hash_from(innermost, python, ranges & NVTX_BY_INSTRUCTION);
	if (likely(words) && likely(python)) {
		hash = hash_recognized(words, python, function, handed_from);
		found = stack_cache_find(&cache->recent[hash & me->mask], hash, &id);
		if (unlikely(!found))
			found = recognize_again(me, cache,
						&(struct site){function, frame, handed_from},
						python, &id);
		if (likely(found)) {
			unwind_recognized(me->unwinding, found);
			return id;
		}
	}
	return capture_by_walk(sink, &(struct site){function, frame, handed_from}, cache);
}

struct launch_stack_thread *launch_stack_thread(void)
{
	return &own;
}

HOT_PATH uint32_t launch_stack_capture(struct launch_stack_thread *me, struct sink *sink,
				       const char *function, const void *frame, uint32_t context)
{
	uint32_t id = find_stack(me, sink, function, frame, context);

	if (me->launcher)
		async_parent_launcher_note(me->launcher, context, id);
	return id;
}

uint64_t launch_stack_walks(void)
{
	return atomic_load_explicit(&walks, memory_order_relaxed);
}
