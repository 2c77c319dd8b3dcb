/* SPDX-License-Identifier: MIT */
/*
 * Declares the interface between the files of collect.h.
 *
 * collect.c sets up, and takes stacks from the kernel, timed calls and time. collect_names.c has
 * names of processes and threads. collect_times.c has CPU time and time off the CPU. collect_gpu.c
 * takes events of traced programs, collect_processes.c those of processes.
 */
#ifndef PROFILER_JOIN_COLLECT_PRIVATE_H
#define PROFILER_JOIN_COLLECT_PRIVATE_H

#include "profiler/addons/addons.h"
#include "profiler/cpu/cpu_time.h"
#include "profiler/cpu/off_cpu.h"
#include "profiler/cpu/pid_namespace.h"
#include "profiler/cpu/pythons.h"
#include "profiler/cpu/stack_builder.h"
#include "profiler/cpu/thread_origins.h"
#include "profiler/join/attribution.h"
#include "profiler/join/collect.h"
#include "profiler/join/table_gc.h"
#include "profiler/join/async_samples.h"
#include "profiler/join/open_calls.h"
#include "profiler/join/open_launches.h"
#include "profiler/model/profile_sink.h"
#include "symbolize/util/queue.h"

struct collect {
	struct collect_options options;
	struct time_range time_range;
	uint64_t taken_ns;    /* --every: end of the last result */
	struct ledger *taken; /* the ledger then, owned. Its lists are not. NULL: none */
	uint64_t copied_until_ns, copied_end; /* a result that a copy completes */
	struct ledger *copied;                /* like `taken` */
	bool has_begun_cpu_time,
		has_no_cpu_time; /* collect_begin_cpu_time, collect_forget_cpu_time */
	struct ledger ledger;
	struct cut_stacks cut;
	struct intern strings;
	struct quota memory, target_bytes, passing; /* `memory` encloses the others */
	struct processes processes;
	bool knows_tree;
	bool loses_privileged; /* see collect_lose_privileged */
	const char *library;   /* injection library's file name; NULL: nothing is traced */
	bool nvtx_loads_it;
	uint64_t hidden_hellos;             /* hellos that match no known process of the tree */
	struct pid_namespace pid_namespace; /* our own */
	struct pythons pythons;
	struct python_found *found; /* interpreters not fetched yet */
	uint32_t found_count, found_capacity;
	struct symbolizer *symbolizer;
	struct stack_table *stacks;
	struct stack_builder builder;
	struct profile *profile;
	struct profile_sink sink;
	struct table_gc gc;
	struct cpu_time cpu_time;
	uint64_t waited_ns;      /* CPU time of everything waited for; 0 if unknown */
	uint32_t names_position; /* position of the next process to read thread names from */
	uint32_t clock_position; /* position of the next process to read the clock of */
	uint64_t clocks_end_ns;  /* time of the final reading of clocks; 0: not yet */
	struct places places;
	struct place_names place_names;
	struct intern name_texts; /* texts of names, charged to target_bytes */
	/* parts of target_bytes: names that replace others, interpreters' names of threads */
	struct quota rename_bytes, thread_name_bytes;
	struct devices devices;
	struct open_calls open_calls;
	struct open_launches open_launches;
	struct async_samples async_samples;
	struct queue undecided; /* with --range: samples that wait for their process's ranges */
	struct thread_origins origins;
	struct off_cpu off_cpu;
	uint64_t began_ns, last_end_ns;
	struct stack_id stack_of_profile,
		stack_of_driver; /* stacks of internal threads; STACK_EMPTY: none yet */
	struct attribution attribution;
	struct join *join;
	struct addons addons;
	struct metrics *metrics; /* NULL: not kept */
};

/* Counts an event that was lost because memory was exhausted. */
void collect_note_error(struct collect *c, int err);

/* collect_text as a callback. */
const char *collect_keep_text(void *collect, const char *text);

/* ---- processes ---- */

/* Sets up a process that has begun, and returns it. NULL counts as out of memory. */
struct process *collect_begin_process(struct collect *c, struct process *process);
void collect_end_process(struct collect *c, struct process *process, uint64_t time_ns);

/* Passes the numbers of undecided samples to the visitor (model/id_remap.h). */
void collect_visit_samples(struct collect *c, const struct id_visitor *visitor);

/* ---- places ---- */

/* A thread that spent time, and when: selects the names it had then. */
struct thread_use {
	uint32_t tid;
	uint64_t time_ns; /* renames up to this time count; 0: none */
	const char *comm; /* kernel's name at that time; NULL or "" if unknown */
};

/* Detects an interpreter in a mapping that the process sent, where the kernel reports none. */
void collect_know_python(struct collect *c, struct process *process,
			 const struct code_mapping *mapping);

/* Returns true if rows distinguish this part of places. */
static inline bool collect_distinguishes(const struct collect *c, enum place_part part)
{
	return c->options.place_mask & 1u << part;
}

/* Returns the thread and time of a record with a name. */
static inline struct thread_use collect_use_of(const struct stack_event *event)
{
	return (struct thread_use){event->tid, event->time_ns, event->comm};
}

/*
 * Names a thread that has not been noted. `comm` and `earlier` are as in proc_names.h, for the
 * thread `tid` of process `pid`.
 */
void collect_name_thread(struct collect *c, struct process *process, pid_t pid, uint32_t tid,
			 const char *comm, const char *earlier);

/* Notes the names of a process, and of one of its threads, while they are alive. */
void collect_note_process(struct collect *c, struct process *process);
void collect_note_thread(struct collect *c, struct process *process, const struct thread_use *use);

/* Writes the current name of a process, with its pid. */
void collect_put_process_name(struct collect *c, const struct process *process, char *text,
			      size_t size);

/* Frees texts of forgotten names. */
void collect_renew_name_texts(struct collect *c);

/* Returns the place of a thread, as far as rows distinguish it, and notes its names. */
struct place_id collect_place_of(struct collect *c, struct process *process,
				 const struct thread_use *use);

static inline struct place_id collect_place_at(struct collect *c, struct process *process,
					       const struct stack_event *event)
{
	const struct thread_use use = collect_use_of(event);

	return collect_place_of(c, process, &use);
}

/* ---- times ---- */

/* Ends the open calls of a process that has ended; 0 stands for all. */
void collect_end_calls(struct collect *c, uint32_t process, uint64_t now_ns);

/* Adds CPU time without samples, once the input has ended. */
void collect_finish_cpu_time(struct collect *c, uint64_t now_ns);

#endif
