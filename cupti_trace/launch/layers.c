// SPDX-License-Identifier: MIT
#include "cupti_trace/launch/layers.h"

#include <pthread.h>
#include "cupti_trace/core/clock.h"
#include "cupti_trace/core/guest.h"
#include "cupti_trace/core/hot_path.h"
#include "cupti_trace/launch/nvtx_names.h"
#include "cupti_trace/python/module_tree.h"
#include "cupti_trace/python/python_stack.h"
#include "symbolize/util/hash.h"

#define CHECK_NS 1000000000u
#define TRIES_MAX 256u /* stacks that are searched for code that calls modules */

_Atomic uint64_t layers_epoch HOT_PATH_DATA;

static struct {
	pthread_mutex_t lock; /* for the tree, too */
	struct python_calls calls;
	struct layers layers;
	struct python_stack stack; /* large */
	uint64_t checked_ns;       /* the flusher's */
	uint64_t epoch;            /* last one */
	uint32_t version;          /* the tree's, in this epoch */
	_Atomic uint32_t tries;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/*
 * Names of modules that operators were called in. An entry has the name, and a hash of the module,
 * its caller and the epoch, so that it is read and written at once.
 */
#define RECENT 1024u
#define NAME_BITS 15
static _Atomic uint64_t recent[RECENT];
_Static_assert(NVTX_TOO_MANY < 1u << NAME_BITS, "each name fits");

static void in_child(void)
{
	pthread_mutex_init(&table.lock, NULL);
	module_tree_in_child();
}

static void register_fork(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

void layers_follow(bool wanted)
{
	static pthread_once_t has_fork = PTHREAD_ONCE_INIT;

	if (wanted)
		pthread_once(&has_fork, register_fork);
	pthread_mutex_lock(&table.lock);
	atomic_store(&layers_epoch, wanted ? ++table.epoch : 0);
	module_tree_clear();
	pthread_mutex_unlock(&table.lock);
}

static uint32_t name_of(const struct python_reader *r, uint32_t module)
{
	uint32_t name = module_tree_name(module);
	char path[NVTX_TEXT_MAX + 1];

	if (name)
		return name;
	if (module_tree_path(r, module, path, sizeof(path)))
		name = nvtx_name(NVTX_LAYERS, path, 0);
	if (name)
		module_tree_set_name(module, name);
	return name;
}

/* Names the calls of `table.calls`. Call locked. */
static void name_calls(const struct python_reader *r, struct layers *layers)
{
	uint32_t outer = MODULE_TREE_NONE, module, name;

	for (uint32_t i = table.calls.count; i-- > 0;) {
		module = module_tree_get(r, table.calls.list[i].object, outer);
		if (module == MODULE_TREE_NONE || module == outer)
			continue;
		outer = module;
		name = name_of(r, module);
		if (!name)
			continue;
		layers->open[layers->count].name = name;
		layers->open[layers->count++].python = table.calls.list[i].frame;
	}
}

/* Begins another epoch if known paths may have changed. Call locked. */
static void follow_version(void)
{
	uint32_t version = module_tree_version();

	if (version != table.version && layers_are_followed())
		atomic_store(&layers_epoch, ++table.epoch);
	table.version = version;
}

/* Reads the calls, locked. */
static void read_calls(struct layers *layers)
{
	struct python_reader reader;

	layers->count = 0;
	table.calls.count = python_stack_calls(table.calls.list, PYTHON_CALLS_MAX);
	if (table.calls.count == 0 || !python_stack_reader(&reader))
		return;
	name_calls(&reader, layers);
	follow_version();
}

void layers_read(struct layers *layers)
{
	struct guest guest;

	layers->count = 0;
	if (!layers_are_followed() || python_stack_methods() == 0)
		return;
	guest_enter_briefly(&guest);
	pthread_mutex_lock(&table.lock);
	read_calls(layers);
	pthread_mutex_unlock(&table.lock);
	guest_leave(&guest);
}

uint64_t layers_hash(uint64_t hash, const struct layers *layers)
{
	for (uint32_t i = 0; i < layers->count; i++)
		hash = hash_step(hash, layers->open[i].name, layers->open[i].python);
	return hash;
}

/* Looks for the code that calls modules, before a launch has shown it. */
static void find_methods(void)
{
	struct guest guest;

	if (!python_stack_is_there() ||
	    atomic_fetch_add_explicit(&table.tries, 1, memory_order_relaxed) >= TRIES_MAX)
		return;
	guest_enter_briefly(&guest);
	pthread_mutex_lock(&table.lock);
	python_stack_find_methods(&table.stack);
	pthread_mutex_unlock(&table.lock);
	guest_leave(&guest);
}

static uint32_t name_innermost(void)
{
	struct guest guest;
	uint32_t name;

	guest_enter_briefly(&guest);
	pthread_mutex_lock(&table.lock);
	read_calls(&table.layers);
	name = table.layers.count ? table.layers.open[table.layers.count - 1].name : 0;
	pthread_mutex_unlock(&table.lock);
	guest_leave(&guest);
	return name;
}

uint32_t layers_current(void)
{
	uint64_t epoch = atomic_load_explicit(&layers_epoch, memory_order_relaxed), key, value;
	struct python_call calls[2]; /* a module may be held by several */
	_Atomic uint64_t *entry;
	uint32_t count;

	if (!epoch)
		return 0;
	if (python_stack_methods() == 0)
		find_methods();
	count = python_stack_calls(calls, 2);
	if (count == 0)
		return 0;
	key = hash_step(hash_seed.first ^ epoch, calls[0].object, count > 1 ? calls[1].object : 0);
	entry = &recent[key % RECENT];
	key = key << NAME_BITS >> NAME_BITS;
	value = atomic_load_explicit(entry, memory_order_relaxed);
	if (value >> NAME_BITS != key) {
		value = key << NAME_BITS | name_innermost();
		atomic_store_explicit(entry, value, memory_order_relaxed);
	}
	return (uint32_t)(value & ((1u << NAME_BITS) - 1));
}

void layers_check(void)
{
	struct python_reader reader;
	uint64_t now = clock_now_ns();

	if (!layers_are_followed() || python_stack_methods() == 0 ||
	    now - table.checked_ns < CHECK_NS || !python_stack_reader(&reader))
		return;
	table.checked_ns = now;
	pthread_mutex_lock(&table.lock);
	module_tree_check(&reader);
	follow_version();
	pthread_mutex_unlock(&table.lock);
}
