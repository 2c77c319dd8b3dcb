// SPDX-License-Identifier: MIT
#include "profiler/cpu/processes.h"

#include <stdlib.h>
#include "symbolize/symbolizer.h"

static struct process *pointer(const uint64_t *value)
{
	return value ? (struct process *)(uintptr_t)*value : NULL;
}

struct process *processes_find(const struct processes *p, pid_t pid)
{
	return pointer(id_map_find(&p->by_pid, (uint32_t)pid));
}

struct process *processes_find_at(const struct processes *p, pid_t pid, uint64_t time_ns)
{
	struct process *now = processes_find(p, pid), *then;

	if (now && now->began_ns <= time_ns)
		return now;
	then = pointer(id_map_find(&p->ended, (uint32_t)pid));
	while (then && then->began_ns > time_ns)
		then = then->before;
	return then ? then : now;
}

struct process *processes_find_last(const struct processes *p, pid_t pid)
{
	struct process *last = processes_find(p, pid);

	return last ? last : pointer(id_map_find(&p->ended, (uint32_t)pid));
}

struct process *processes_get(const struct processes *p, uint32_t id)
{
	return pointer(id_map_find(&p->by_id, id));
}

struct process *processes_again(struct processes *p, uint32_t id)
{
	if (!p->last || p->last->id != id)
		p->last = processes_get(p, id);
	return p->last;
}

#define SUM_BYTES 128u /* bytes of a sum, including the index */

void process_count(struct process *process, struct work_tally *tally, struct quota *quota,
		   const struct work_sum *sum)
{
	struct work_sum *total = work_tally_again(tally, &sum->key);

	if (!total) {
		if (tally->overflowed || !quota_take(quota, SUM_BYTES)) {
			tally->overflowed = true;
			return;
		}
		process->tally_bytes += SUM_BYTES;
		total = work_tally_get(tally, &sum->key);
	}
	if (total)
		work_sum_add(total, sum);
}

void process_free(struct process *process)
{
	if (!process)
		return;
	if (process->sent.quota)
		quota_return(process->sent.quota, process->tally_bytes);
	renames_release(&process->renames, process->sent.quota);
	thread_names_release(&process->thread_names);
	free(process->places_of_threads);
	address_space_free(process->space);
	recorded_intervals_release(&process->ranges.intervals);
	recording_windows_release(&process->windows);
	target_stacks_release(&process->sent);
	work_tally_release(&process->counted);
	work_tally_release(&process->reported);
	free(process);
}

/*
 * Adds a process to the ended ones. If memory is exhausted, later events cannot find the process.
 */
static void note_ended(struct processes *p, struct process *process)
{
	uint64_t *last = id_map_get(&p->ended, (uint32_t)process->pid);

	if (!last)
		return;
	process->before = pointer(last);
	*last = (uint64_t)(uintptr_t)process;
}

static void forget_ended(struct processes *p, const struct process *process)
{
	uint64_t *last = id_map_find(&p->ended, (uint32_t)process->pid);
	struct process *at = pointer(last);

	if (at == process) {
		*last = (uint64_t)(uintptr_t)process->before;
		if (!process->before)
			id_map_remove(&p->ended, (uint32_t)process->pid);
		return;
	}
	while (at && at->before != process)
		at = at->before;
	if (at)
		at->before = process->before;
}

void processes_end(struct processes *p, struct process *process, uint64_t time_ns)
{
	if (process->ended_ns)
		return;
	process->ended_ns = time_ns ? time_ns : 1;
	if (process->source == PROCESS_PIPE_ONLY) {
		process->ended_ns = 1;
		process->next = p->first_ended;
		p->first_ended = process;
		if (!p->last_ended)
			p->last_ended = process;
		return;
	}
	id_map_remove(&p->by_pid, (uint32_t)process->pid);
	note_ended(p, process);
	if (p->last_ended)
		p->last_ended->next = process;
	else
		p->first_ended = process;
	p->last_ended = process;
}

/*
 * Creates a process with the next id, and a copy of `parent`'s address space. Returns NULL if
 * memory is exhausted.
 */
static struct process *make(const struct processes *p, pid_t pid, pid_t visible_pid,
			    const struct process *parent, bool knows_maps)
{
	struct process *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	*process = (struct process){
		.id = p->newest_id + 1, .pid = pid, .visible_pid = visible_pid, .threads = 1};
	process->space = parent ? address_space_fork(parent->space, process->id, visible_pid)
				: address_space_new(process->id, visible_pid, knows_maps);
	if (process->space)
		return process;
	process_free(process);
	return NULL;
}

/* Sets a map's value. Returns false if memory is exhausted. */
static bool add_to_map(struct id_map *map, uint32_t number, struct process *process)
{
	uint64_t *value = id_map_get(map, number);

	if (value)
		*value = (uint64_t)(uintptr_t)process;
	return value != NULL;
}

/* Adds a new process to the tables, replacing one with its pid. Frees the process on failure. */
static struct process *enter(struct processes *p, struct process *process, uint64_t time_ns)
{
	struct process *old;

	if (!process)
		return NULL;
	process->began_ns = process->clock.read_ns = time_ns;
	old = process->source == PROCESS_PIPE_ONLY ? NULL : processes_find(p, process->pid);
	if (old)
		processes_end(p, old, time_ns);
	if (add_to_map(&p->by_id, process->id, process) &&
	    (process->source == PROCESS_PIPE_ONLY ||
	     add_to_map(&p->by_pid, (uint32_t)process->pid, process))) {
		p->newest_id++;
		return process;
	}
	id_map_remove(&p->by_id, process->id);
	if (p->last == process)
		p->last = NULL;
	process_free(process);
	return NULL;
}

struct process *processes_start(struct processes *p, pid_t pid, uint64_t time_ns, bool knows_maps)
{
	return enter(p, make(p, pid, pid, NULL, knows_maps), time_ns);
}

struct process *processes_start_pipe_only(struct processes *p, pid_t pid, pid_t visible_pid)
{
	struct process *process = make(p, pid, visible_pid, NULL, false);

	if (process)
		process->source = PROCESS_PIPE_ONLY;
	return enter(p, process, 0);
}

struct process *processes_fork(struct processes *p, const struct process *parent, pid_t pid,
			       uint64_t time_ns)
{
	struct process *process = make(p, pid, pid, parent, false);

	if (!process)
		return NULL;
	process->source = parent->source == PROCESS_OURS ? PROCESS_OURS : PROCESS_STARTED;
	process->comm = parent->comm;
	process->is_loaded = parent->is_loaded;
	process->gpu.libc = parent->gpu.libc;
	process->gpu.inherits_nvml = parent->gpu.has_nvml || parent->gpu.inherits_nvml;
	process->gpu.inherits_driver = parent->gpu.has_driver || parent->gpu.inherits_driver;
	process->gpu.obstacle = parent->gpu.obstacle;
	memcpy(process->renamed, parent->renamed, sizeof(process->renamed));
	process->python = parent->python;
	return enter(p, process, time_ns);
}

/* Removes an ended process from the list: the one after `before`, or the first. */
static struct process *take_ended(struct processes *p, struct process *before)
{
	struct process *taken = before ? before->next : p->first_ended;

	if (!taken)
		return NULL;
	if (before)
		before->next = taken->next;
	else
		p->first_ended = taken->next;
	if (p->last_ended == taken)
		p->last_ended = before;
	taken->next = NULL;
	forget_ended(p, taken);
	taken->before = NULL;
	id_map_remove(&p->by_id, taken->id);
	if (p->last == taken)
		p->last = NULL;
	return taken;
}

struct process *processes_take_expired(struct processes *p, uint64_t now_ns)
{
	struct process *before = NULL;

	for (struct process *at = p->first_ended; at; before = at, at = at->next) {
		if (at->ended_ns + PROCESSES_LINGER_NS > now_ns)
			return NULL; /* later ones have not settled either */
		if (!process_is_speaking(at))
			return take_ended(p, before);
	}
	return NULL;
}

struct process *processes_take_any(struct processes *p)
{
	struct process *process;

	if (p->first_ended)
		return take_ended(p, NULL);
	while (p->taken_id < p->newest_id) {
		process = processes_get(p, ++p->taken_id);
		if (process) {
			processes_end(p, process, 1);
			return take_ended(p, NULL);
		}
	}
	return NULL;
}

void processes_release(struct processes *p)
{
	struct process *process;

	while ((process = processes_take_any(p)))
		process_free(process);
	id_map_release(&p->by_pid);
	id_map_release(&p->by_id);
	id_map_release(&p->ended);
	*p = (struct processes){0};
}
