// SPDX-License-Identifier: MIT
#include "profiler/join/collect_private.h"

#include <string.h>
#include <errno.h>
#include "profiler/cpu/proc_names.h"
#include "symbolize/util/array.h"
#include "symbolize/util/text.h"

/* ---- processes ---- */

void collect_lose_privileged(struct collect *c)
{
	c->loses_privileged = true;
	c->builder.reads_no_python = true;
}

void collect_know_tree(struct collect *c)
{
	c->knows_tree = true;
}

void collect_expect_hellos(struct collect *c, const char *library, bool nvtx)
{
	c->library = c->builder.library = base_name(library);
	c->nvtx_loads_it = nvtx;
}

/*
 * Reads a process's clock if the final reading is over. Processes that begin after it have no CPU
 * time that counts. A process that began before, but was unknown, is read now unless it has ended.
 */
static void read_final_clock(struct collect *c, struct process *process)
{
	if (!c->clocks_end_ns || !process)
		return;
	if (process->began_ns >= c->clocks_end_ns)
		process->clock.runs_on = true;
	else
		cpu_time_read(&c->cpu_time, process, c->clocks_end_ns, true);
}

struct process *collect_begin_process(struct collect *c, struct process *process)
{
	if (process)
		process->sent.quota = &c->target_bytes;
	if (process)
		process->thread_names.quota = &c->thread_name_bytes;
	else
		c->ledger.bounds.out_of_memory++;
	return process;
}

struct process *collect_start_target(struct collect *c, pid_t pid)
{
	struct process *process =
		collect_begin_process(c, processes_start(&c->processes, pid, 0, false));

	if (process)
		process->source = PROCESS_OURS;
	return process;
}

struct process *collect_find_process(struct collect *c, pid_t pid)
{
	struct process *process = processes_find(&c->processes, pid);

	if (process)
		return process;
	process = collect_begin_process(c, processes_start(&c->processes, pid, 0, false));
	if (process)
		process->source = PROCESS_GUESSED;
	read_final_clock(c, process);
	return process;
}

/* Notes the kernel's name of the program that a process runs. */
static void set_program(struct collect *c, struct process *process, const char *comm)
{
	char loaded[PROCESS_COMM_BYTES];

	process->is_loaded = process->visible_pid &&
			     proc_names_loaded(collect_calls(c), process->pid, comm, loaded);
	process->comm = collect_text(c, process->is_loaded ? loaded : comm);
}

struct process *collect_attach(struct collect *c, pid_t pid, const char *comm, uint32_t threads,
			       uint64_t time_ns, uint64_t used_ns)
{
	struct process *process = collect_find_process(c, pid);

	if (!process)
		return NULL;
	process->source = PROCESS_ATTACHED;
	process->began_ns = process->clock.read_ns = time_ns;
	process->threads = threads ? threads : 1;
	process->clock.charged_ns = used_ns;
	set_program(c, process, comm);
	return process;
}

bool collect_knows_process(const struct collect *c, pid_t pid)
{
	const struct process *process = processes_find(&c->processes, pid);

	return process && process->source != PROCESS_GUESSED;
}

void collect_end_process(struct collect *c, struct process *process, uint64_t time_ns)
{
	collect_end_calls(c, process->id, time_ns);
	if (time_ns > c->last_end_ns)
		c->last_end_ns = time_ns;
	processes_end(&c->processes, process, time_ns);
}

static void note_thread_begins(struct collect *c, const struct process *process, pid_t tid,
			       uint64_t time_ns)
{
	if (process)
		addons_begin_thread(&c->addons, process->id, (uint32_t)tid, time_ns);
}

/* Returns true for an event before we attached to its process: /proc has told its effect. */
static bool is_of_before(const struct process *process, const struct process_event *event)
{
	return process->source == PROCESS_ATTACHED && event->time_ns < process->began_ns;
}

static struct process *on_fork(struct collect *c, const struct process_event *event)
{
	struct process *parent = processes_find(&c->processes, event->parent);
	struct process *child, *old;

	if (parent)
		parent->just_began = false;
	if (parent && event->pid == event->parent) {
		if (is_of_before(parent, event))
			return parent;
		parent->threads++;
		thread_names_forget(&parent->thread_names, (uint32_t)event->tid);
		parent->has_spent = true;
		note_thread_begins(c, parent, event->tid, event->time_ns);
		return parent;
	}
	/* a previous process may have had the pid, and its exit may have been lost */
	old = processes_find(&c->processes, event->pid);
	if (old && is_of_before(old, event))
		return NULL;
	if (old)
		collect_end_process(c, old, event->time_ns);
	if (!parent)
		return NULL;
	child = collect_begin_process(
		c, processes_fork(&c->processes, parent, event->pid, event->time_ns));
	read_final_clock(c, child);
	note_thread_begins(c, child, event->pid, event->time_ns);
	return child;
}

static struct process *on_exec(struct collect *c, struct process *old,
			       const struct process_event *event)
{
	struct process *process;

	old->end = PROCESS_REPLACED;
	collect_end_process(c, old, event->time_ns);
	process = collect_begin_process(
		c, processes_start(&c->processes, event->pid, event->time_ns, true));
	if (!process)
		return NULL;
	process->just_began = !c->loses_privileged;
	if (event->comm[0])
		set_program(c, process, event->comm);
	cpu_time_exec(&c->cpu_time, old, process);
	process->clock.runs_on =
		old->clock.runs_on || (c->clocks_end_ns && event->time_ns >= c->clocks_end_ns);
	note_thread_begins(c, process, event->pid, event->time_ns);
	return process;
}

/*
 * Processes the end of a thread. When a program that its user may not inspect (setuid, unreadable)
 * is executed, the kernel closes other users' perf events. It then reports the end of a thread that
 * goes on and has done nothing yet. A thread that really ends there, for lack of memory, counts as
 * running.
 */
static void on_exit_thread(struct collect *c, struct process *process,
			   const struct process_event *event)
{
	if (process->just_began) {
		process->just_began = false;
		return;
	}
	renames_forget(&process->renames, &c->target_bytes, (uint32_t)event->tid);
	thread_names_end(&process->thread_names, (uint32_t)event->tid);
	if (process->threads > 0)
		process->threads--;
	if (process->threads == 0)
		collect_end_process(c, process, event->time_ns);
}

/* ---- what they do ---- */

/* Keeps a rename for the time that its thread spends from then on. */
static void on_comm(struct collect *c, struct process *process, const struct process_event *event)
{
	uint32_t tid = (uint32_t)event->tid;

	if (collect_distinguishes(c, PLACE_PROCESS) && event->tid == event->pid)
		collect_note_error(c, renames_add(&process->renames, &c->target_bytes,
						  RENAMES_OF_PROCESS, event->time_ns, event->comm));
	if (!collect_distinguishes(c, PLACE_THREAD))
		return;
	if (process->python)
		collect_note_error(c,
				   thread_names_set_comm(&process->thread_names, tid, event->comm));
	if (place_names_thread(&c->place_names, process->id, tid))
		collect_note_error(c, renames_add(&process->renames, &c->target_bytes, tid,
						  event->time_ns, event->comm));
	else
		collect_name_thread(c, process, process->pid, tid, event->comm, NULL);
}

static void detect_python(struct collect *c, struct process *process,
			  const struct code_mapping *mapping)
{
	struct python_found found = {.pid = process->pid};
	bool is_executable = !process->has_code && mapping->inode != 0;

	process->has_code |= is_executable;
	if (!pythons_map(&c->pythons, process->pid, &process->python, mapping, is_executable,
			 &found.layout, &found.unknown_hex) &&
	    !found.unknown_hex)
		return;
	pythons_place_trampolines(&c->pythons, process->python, process->space);
	/* BPF saw the process before we did */
	found.layout.began_ns = process->source == PROCESS_ATTACHED ? 1 : process->began_ns;
	if (array_make_room(&c->found, c->found_count, &c->found_capacity, sizeof(found)))
		c->found[c->found_count++] = found;
}

void collect_know_python(struct collect *c, struct process *process,
			 const struct code_mapping *mapping)
{
	struct stack_python layout;
	uint32_t unknown_hex;

	if (!process->python && process->visible_pid && !c->options.is_over)
		pythons_map(&c->pythons, process->visible_pid, &process->python, mapping, false,
			    &layout, &unknown_hex);
}

static void on_map(struct collect *c, struct process *process, const struct process_event *event)
{
	const struct code_mapping *mapping = &event->mapping;
	const char *name = base_name(mapping->path);
	int err;

	process->just_began = false;
	untraced_note_file(&process->gpu.libc, name);
	/* when recording is over, the library says no hello */
	if (!time_range_is_over(&c->time_range, event->time_ns)) {
		process->gpu.has_driver |= starts_with(name, "libcuda.so");
		process->gpu.has_injection |= c->library && strcmp(name, c->library) == 0;
	}
	process->gpu.has_nvml |= starts_with(name, "libnvidia-ml.so");
	err = symbolizer_map(c->symbolizer, process->space, mapping);
	c->target_bytes.refused += err == -ENOSPC;
	collect_note_error(c, err);
	detect_python(c, process, mapping);
}

bool collect_next_python(struct collect *c, struct python_found *found)
{
	if (c->found_count == 0)
		return false;
	*found = c->found[--c->found_count];
	return true;
}

uint64_t collect_last_end(const struct collect *c)
{
	return c->last_end_ns;
}

uint32_t collect_count_running(const struct collect *c)
{
	return c->processes.by_pid.count;
}

const char *collect_module_path(struct collect *c, struct process *process, uint64_t address)
{
	struct code_ref code = symbolizer_locate(c->symbolizer, process->space, address);

	return symbolizer_module_path(c->symbolizer, code.module);
}

struct process *collect_process_event(struct collect *c, const struct process_event *event)
{
	struct process *process;

	if (event->type == PROCESS_FORK)
		return on_fork(c, event);
	process = processes_find(&c->processes, event->pid);
	if (!process || (is_of_before(process, event) && event->type != PROCESS_MAP))
		return NULL;
	switch (event->type) {
	case PROCESS_EXEC:
		return on_exec(c, process, event);
	case PROCESS_COMM:
		on_comm(c, process, event);
		break;
	case PROCESS_MAP:
		on_map(c, process, event);
		break;
	case PROCESS_EXIT:
		on_exit_thread(c, process, event);
		break;
	case PROCESS_FORK:
	case PROCESS_SAMPLE: /* see collect_snapshot */
		break;
	}
	return process;
}
