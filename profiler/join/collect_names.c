// SPDX-License-Identifier: MIT
#include "profiler/join/collect_private.h"

#include <stdlib.h>
#include <string.h>
#include "profiler/base/process_names.h"
#include "profiler/cpu/proc_names.h"
#include "symbolize/util/monotonic.h"
#include "symbolize/util/proc_file.h"

/* ---- places ---- */

/* Keeps a name. Names contain numbers, so their number is unbounded. */
static const char *keep_name(struct collect *c, const char *text)
{
	return quota_intern(&c->target_bytes, &c->name_texts, text);
}

void collect_renew_name_texts(struct collect *c)
{
	struct place_names *names = &c->place_names;
	uint32_t processes = names->process_count, threads = names->thread_count;
	const char **texts = malloc((processes + threads + 1) * sizeof(*texts));
	struct intern left = {0}, old = c->name_texts;
	size_t freed, of_renames;
	bool has_all = texts != NULL;

	for (uint32_t i = 0; has_all && i < processes + threads; i++) {
		texts[i] = intern_string(&left, i < processes ? names->processes[i].name
							      : names->threads[i - processes].name);
		has_all = texts[i] != NULL;
	}
	if (!has_all) { /* out of memory: all names stay */
		intern_release(&left);
		free(texts);
		return;
	}
	for (uint32_t i = 0; i < processes; i++)
		names->processes[i].name = texts[i];
	for (uint32_t i = 0; i < threads; i++)
		names->threads[i].name = texts[processes + i];
	free(texts);
	freed = old.bytes - left.bytes;
	of_renames = freed < c->rename_bytes.used ? freed : c->rename_bytes.used;
	quota_return(&c->rename_bytes, of_renames);
	quota_return(&c->target_bytes, freed - of_renames);
	c->name_texts = left;
	intern_release(&old);
}

static const char *keep_new_name(struct collect *c, const char *text)
{
	return quota_intern(&c->rename_bytes, &c->name_texts, text);
}

void collect_put_process_name(struct collect *c, const struct process *process, char *text,
			      size_t size)
{
	if (process->visible_pid)
		proc_names_process(collect_calls(c), process->pid,
				   process->renamed[0] ? process->renamed : process->comm,
				   process->comm, text, size);
	else
		snprintf(text, size, "%s %d", process->comm, (int)process->pid);
}

void collect_note_process(struct collect *c, struct process *process)
{
	struct process_info info = {.id = process->id, .pid = process->pid};
	char text[256];

	if (!collect_distinguishes(c, PLACE_PROCESS) ||
	    place_names_process(&c->place_names, process->id))
		return;
	collect_put_process_name(c, process, text, sizeof(text));
	info.name = keep_name(c, text);
	if (info.name)
		place_names_add_process(&c->place_names, &info);
}

/* Updates the name of a process that has been noted. */
static void rename_noted(struct collect *c, const struct process *process)
{
	char text[256];
	const char *name;

	if (!place_names_process(&c->place_names, process->id))
		return;
	collect_put_process_name(c, process, text, sizeof(text));
	name = keep_new_name(c, text);
	if (name)
		place_names_rename_process(&c->place_names, process->id, name);
}

void collect_name_program(struct collect *c, struct process *process, const char *program)
{
	const char *kept = process->visible_pid ? NULL : collect_text(c, program);

	if (!kept)
		return;
	process->comm = kept;
	rename_noted(c, process);
}

/* Renames a process after its first thread. */
static void rename_process(struct collect *c, struct process *process, const char *comm)
{
	const char *before = process->renamed[0] ? process->renamed : process->comm;

	if (!comm[0] || (before && strcmp(before, comm) == 0) ||
	    (process->is_loaded && process_names_is_loader(comm)))
		return;
	snprintf(process->renamed, sizeof(process->renamed), "%s", comm);
	rename_noted(c, process);
}

/*
 * Returns the interpreter's name of a thread if it is to be shown, or NULL. `time_ns` 0 means now.
 * `comm` is the kernel's name at that time, or NULL.
 */
static const char *interpreters_name(struct process *process, uint32_t tid, uint64_t time_ns,
				     const char *comm)
{
	bool inherited = process->source != PROCESS_ATTACHED;
	char read[PROCESS_COMM_BYTES];

	if (!process->thread_names.by_thread.count)
		return NULL;
	if (!inherited && !comm && process->visible_pid) {
		proc_names_comm(process->visible_pid, (pid_t)tid, read);
		comm = read[0] ? read : NULL;
	}
	/* renames before we attached are unknown */
	if (!inherited && comm)
		inherited = (process->comm && strcmp(comm, process->comm) == 0) ||
			    strcmp(comm, process->renamed) == 0 || process_names_is_loader(comm);
	return thread_names_choose(&process->thread_names, tid, time_ns, comm, inherited);
}

void collect_name_thread(struct collect *c, struct process *process, pid_t pid, uint32_t tid,
			 const char *comm, const char *earlier)
{
	struct thread_info info = {.process = process->id, .tid = tid};
	const char *own;
	char text[256];

	if (!collect_distinguishes(c, PLACE_THREAD) ||
	    place_names_thread(&c->place_names, process->id, tid))
		return;
	own = interpreters_name(process, tid, 0, comm);
	proc_names_thread(pid, (pid_t)tid, own ? own : comm, earlier, text, sizeof(text));
	info.name = keep_name(c, text);
	if (info.name)
		place_names_add_thread(&c->place_names, &info);
}

/* Replaces the name of a thread that has been noted. */
static void show_thread_name(struct collect *c, const struct process *process,
			     const struct thread_info *info, const char *name)
{
	const uint32_t tid = info->tid;
	char text[256];
	const char *kept;

	proc_names_thread(process->visible_pid, (pid_t)tid, name, NULL, text, sizeof(text));
	if (strcmp(text, info->name) == 0)
		return;
	kept = keep_new_name(c, text);
	if (kept)
		place_names_rename_thread(&c->place_names, process->id, tid, kept);
}

/*
 * Renames a thread that has been noted. `comm` is the kernel's name at this time. NULL: only the
 * interpreter's name counts.
 */
static void rename_thread(struct collect *c, struct process *process, uint32_t tid,
			  uint64_t time_ns, const char *comm)
{
	const struct thread_info *info = place_names_thread(&c->place_names, process->id, tid);
	const char *name;

	if (!info || (!comm && !thread_names_waits(&process->thread_names, tid, time_ns)))
		return;
	name = interpreters_name(process, tid, time_ns, comm);
	if (!name)
		name = comm;
	if (name && name[0])
		show_thread_name(c, process, info, name);
}

/* Shows the first known name that the interpreter gave to a thread. */
static void show_first_name(struct collect *c, struct process *process, uint32_t tid)
{
	const struct thread_info *info = place_names_thread(&c->place_names, process->id, tid);
	const char *name = info ? interpreters_name(process, tid, 0, NULL) : NULL;

	if (name)
		show_thread_name(c, process, info, name);
}

/* Notes the id of a Python process's thread in the process's own pid namespace. */
static void note_inner_id(struct collect *c, struct process *process, uint32_t tid)
{
	pid_t inner;

	if (!process->python || !process->visible_pid || !process->pid_namespace.id ||
	    process->pid_namespace.id == c->pid_namespace.id ||
	    !collect_distinguishes(c, PLACE_THREAD) ||
	    thread_names_has_inner(&process->thread_names, tid))
		return;
	inner = proc_tid_inside(process->visible_pid, (pid_t)tid);
	if (inner)
		collect_note_error(
			c, thread_names_set_inner(&process->thread_names, tid, (uint32_t)inner));
}

void collect_note_thread(struct collect *c, struct process *process, const struct thread_use *use)
{
	bool knows_comm = use->comm && use->comm[0];
	char comm[PROCESS_COMM_BYTES];

	if (renames_take(&process->renames, &c->target_bytes, RENAMES_OF_PROCESS, use->time_ns,
			 comm))
		rename_process(c, process, comm);
	if (knows_comm && (pid_t)use->tid == process->visible_pid)
		rename_process(c, process, use->comm);
	collect_note_process(c, process);
	process->has_spent = true;
	note_inner_id(c, process, use->tid);
	collect_name_thread(c, process, process->visible_pid, use->tid,
			    knows_comm ? use->comm : NULL, NULL);
	if (renames_take(&process->renames, &c->target_bytes, use->tid, use->time_ns, comm))
		rename_thread(c, process, use->tid, use->time_ns, comm);
	rename_thread(c, process, use->tid, use->time_ns, knows_comm ? use->comm : NULL);
}

struct place_id collect_place_of(struct collect *c, struct process *process,
				 const struct thread_use *use)
{
	struct place place = place_unknown();

	if (!collect_distinguishes(c, PLACE_PROCESS) && !collect_distinguishes(c, PLACE_THREAD))
		return PLACE_NOWHERE;
	collect_note_thread(c, process, use);
	place.part[PLACE_PROCESS] = process->id;
	place.part[PLACE_THREAD] = use->tid;
	return places_add(&c->places, &place);
}

/* ---- what Python calls its threads ---- */

#define NAMES_AT_ONCE_NS 1000000u /* time of reading in one turn */
#define NAMES_SHARE 64u /* the interval between readings is so many times their duration */

struct named_threads {
	struct collect *c;
	struct process *process;
	uint64_t time_ns;
	struct id_map by_inner; /* threads by their ids in another pid namespace */
	bool has_other_ids;
};

static void learn_thread_name(void *context, const struct python_thread_name *name)
{
	struct named_threads *n = context;
	uint32_t tid = name->tid;
	int err;

	if (n->has_other_ids) {
		const uint64_t *outer = id_map_find(&n->by_inner, tid);

		if (!outer)
			return;
		tid = (uint32_t)*outer;
	}
	err = thread_names_learn(&n->process->thread_names, tid, n->time_ns, name->text);
	if (err == 1)
		show_first_name(n->c, n->process, tid);
	else
		collect_note_error(n->c, err);
}

/* Sets by_inner. Returns false if thread ids of this process cannot be mapped. */
static bool map_thread_ids(struct named_threads *n)
{
	struct pid_namespace *own = &n->c->pid_namespace, *its = &n->process->pid_namespace;

	if (n->process->source ==
	    PROCESS_PIPE_ONLY) /* the process is known only from its own events */
		return true;
	if (!its->id)
		*its = pid_namespace_of(n->process->pid);
	n->has_other_ids = its->id != own->id;
	if (!its->id || its->id == PID_NAMESPACE_HIDDEN)
		return false;
	if (n->has_other_ids)
		collect_note_error(n->c,
				   thread_names_by_inner(&n->process->thread_names, &n->by_inner));
	return true;
}

static void read_thread_names(struct collect *c, struct process *process)
{
	struct named_threads names = {.c = c, .process = process, .time_ns = monotonic_ns()};
	uint64_t used_ns = 0;

	if (!process->places_of_threads)
		process->places_of_threads = calloc(1, sizeof(*process->places_of_threads));
	process->has_spent = false;
	if (process->places_of_threads && map_thread_ids(&names) &&
	    pythons_read_threads(&c->pythons, process->visible_pid, process->python,
				 process->places_of_threads, &used_ns, learn_thread_name,
				 &names) != 0)
		used_ns = monotonic_ns() - names.time_ns; /* reading may have timed out */
	id_map_release(&names.by_inner);
	process->reads_names_ns = names.time_ns + NAMES_SHARE * used_ns;
}

void collect_read_thread_names(struct collect *c)
{
	const uint64_t now_ns = monotonic_ns();
	uint64_t value;
	uint32_t id;

	if (!collect_distinguishes(c, PLACE_THREAD) || c->options.is_over)
		return;
	while (monotonic_ns() - now_ns < NAMES_AT_ONCE_NS) {
		struct process *process;

		if (!id_map_next(&c->processes.by_id, &c->names_position, &id, &value)) {
			c->names_position = 0;
			return;
		}
		process = (struct process *)(uintptr_t)value;
		if (process->python && process->has_spent && process->visible_pid &&
		    !process->ended_ns && process->reads_names_ns <= now_ns)
			read_thread_names(c, process);
	}
}
