/* SPDX-License-Identifier: MIT */
#include "symbolize/processes.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define FIRST_WAIT_NS 10000000u
#define LAST_WAIT_NS 4000000000u
#define SWEEP_WAIT_NS 1000000000u

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint32_t hash_pid(pid_t pid)
{
	return hash_bytes(&pid, sizeof(pid));
}

static bool has_pid(const void *records, uint32_t position, const void *key)
{
	const struct process *list = records;

	return list[position].pid == *(const pid_t *)key;
}

static uint32_t position_of(const struct process_table *table, pid_t pid)
{
	return hash_index_find(&table->index, hash_pid(pid), has_pid, table->list, &pid);
}

struct process *process_table_find(const struct process_table *table, pid_t pid)
{
	uint32_t position = position_of(table, pid);

	return position == HASH_INDEX_NONE ? NULL : &table->list[position];
}

void process_table_remove(struct process_table *table, pid_t pid)
{
	uint32_t position = position_of(table, pid);
	uint32_t last = table->count - 1;

	if (position == HASH_INDEX_NONE)
		return;
	map_table_drop(table->list[position].maps);
	hash_index_remove(&table->index, hash_pid(pid), position);
	if (position != last) {
		/* The last one fills the hole; the index has a free slot for it by now. */
		hash_index_remove(&table->index, hash_pid(table->list[last].pid), last);
		table->list[position] = table->list[last];
		hash_index_add(&table->index, hash_pid(table->list[last].pid), position);
	}
	table->count--;
}

static void forget_the_dead(struct process_table *table)
{
	uint64_t now = now_ns();

	if (now < table->next_sweep_ns)
		return;
	table->next_sweep_ns = now + SWEEP_WAIT_NS;
	for (uint32_t i = table->count; i-- > 0;)
		if (kill(table->list[i].pid, 0) != 0 && errno == ESRCH)
			process_table_remove(table, table->list[i].pid);
}

static int make_room(struct process_table *table)
{
	uint32_t capacity = table->capacity ? table->capacity * 2 : 64;
	struct process *bigger;

	if (table->count >= PROCESSES_MAX)
		forget_the_dead(table);
	if (table->count >= PROCESSES_MAX)
		return -ENOSPC;
	if (table->count < table->capacity)
		return 0;
	bigger = realloc(table->list, capacity * sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	table->list = bigger;
	table->capacity = capacity;
	return 0;
}

int process_table_add(struct process_table *table, pid_t pid, struct process **process)
{
	struct process fresh = {.pid = pid, .snapshot_wait_ns = FIRST_WAIT_NS};
	int err;

	*process = process_table_find(table, pid);
	if (*process)
		return 0;
	err = make_room(table);
	if (err)
		return err;
	fresh.maps = map_table_new();
	if (!fresh.maps)
		return -ENOMEM;
	err = hash_index_add(&table->index, hash_pid(pid), table->count);
	if (err) {
		map_table_drop(fresh.maps);
		return err;
	}
	*process = &table->list[table->count++];
	**process = fresh;
	return 0;
}

void process_table_release(struct process_table *table)
{
	for (uint32_t i = 0; i < table->count; i++)
		map_table_drop(table->list[i].maps);
	free(table->list);
	hash_index_release(&table->index);
	*table = (struct process_table){0};
}

bool process_may_snapshot(struct process *process)
{
	return now_ns() >= process->next_snapshot_ns;
}

void process_snapshot_done(struct process *process, bool found)
{
	if (found)
		process->snapshot_wait_ns = FIRST_WAIT_NS;
	else if (process->snapshot_wait_ns < LAST_WAIT_NS)
		process->snapshot_wait_ns *= 2;
	process->next_snapshot_ns = now_ns() + process->snapshot_wait_ns;
}
