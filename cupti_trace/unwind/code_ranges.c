// SPDX-License-Identifier: MIT
#include "cupti_trace/unwind/code_ranges.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include "cupti_trace/core/clock.h"
#include "cupti_trace/core/guest.h"
#include "cupti_trace/unwind/code_map.h"

#define READ_TRIES 1000

/* One for the process. Only atomic members are used without the lock. */
static struct {
	pthread_mutex_t lock;
	struct code_map map;
	_Atomic uint64_t next_read_ns; /* copy of the map's */
	_Atomic uint32_t version;      /* odd: ranges are being written */
	_Atomic uint32_t count;
	_Atomic uint64_t uprobes; /* start of the mapping "[uprobes]"; 0: there is none */
	/* this process cannot read its mappings: anything may be code */
	_Atomic bool is_unreadable;
	struct {
		_Atomic uint64_t start, end;
	} ranges[CODE_MAP_MAX]; /* sorted; none are adjacent */
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Detects a launch from a signal handler that interrupted this thread with the lock held. */
static __thread bool is_reading;

static uint64_t get(_Atomic uint64_t *value)
{
	return atomic_load_explicit(value, memory_order_relaxed);
}

static bool search(uint64_t pc)
{
	uint32_t low = 0, high = atomic_load_explicit(&known.count, memory_order_relaxed);
	uint32_t count = high;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (get(&known.ranges[middle].end) <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && get(&known.ranges[low].start) <= pc;
}

static bool is_known(uint64_t pc)
{
	for (int i = 0; i < READ_TRIES; i++) {
		uint32_t before = atomic_load_explicit(&known.version, memory_order_acquire);
		bool holds = search(pc);

		atomic_thread_fence(memory_order_acquire);
		if (before % 2 == 0 &&
		    atomic_load_explicit(&known.version, memory_order_relaxed) == before)
			return holds;
	}
	return false;
}

static void publish(void)
{
	uint32_t count = 0;

	atomic_fetch_add_explicit(&known.version, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	for (uint32_t i = 0; i < known.map.count; i++) {
		const struct gpu_event_code *code = &known.map.entries[i].code;

		if (code->path && strcmp(code->path, "[uprobes]") == 0)
			atomic_store_explicit(&known.uprobes, code->start, memory_order_relaxed);
		if (count == 0 || get(&known.ranges[count - 1].end) != code->start)
			atomic_store_explicit(&known.ranges[count++].start, code->start,
					      memory_order_relaxed);
		atomic_store_explicit(&known.ranges[count - 1].end, code->end,
				      memory_order_relaxed);
	}
	atomic_store_explicit(&known.count, count, memory_order_relaxed);
	atomic_fetch_add_explicit(&known.version, 1, memory_order_release);
}

static bool read_again(uint64_t pc)
{
	struct guest guest;
	bool holds;

	guest_enter(&guest);
	pthread_mutex_lock(&known.lock);
	is_reading = true;
	holds = is_known(pc); /* another thread may have read them meanwhile */
	if (!holds) {
		if (get(&known.next_read_ns) == 0)
			code_map_expire(&known.map);
		holds = code_map_look(&known.map, pc) != NULL;
		atomic_store(&known.next_read_ns, known.map.next_read_ns);
		atomic_store(&known.is_unreadable, known.map.count == 0);
		publish();
	}
	is_reading = false;
	pthread_mutex_unlock(&known.lock);
	guest_leave(&guest);
	return holds;
}

bool code_ranges_hold(uint64_t pc)
{
	if (is_known(pc))
		return true;
	if (!is_reading && clock_now_ns() >= get(&known.next_read_ns) && read_again(pc))
		return true;
	return atomic_load(&known.is_unreadable);
}

bool code_ranges_have(uint64_t pc)
{
	return is_known(pc);
}

bool code_ranges_begin_uprobes(uint64_t pc)
{
	return code_ranges_hold(pc) && get(&known.uprobes) == pc;
}

void code_ranges_expire(void)
{
	atomic_store(&known.next_read_ns, 0);
}
