/* SPDX-License-Identifier: MIT */
/*
 * The interface between the files of collect.h: collect.c (set-up, stacks from the kernel, timed
 * calls, time), collect_processes.c, collect_names.c (of processes and threads), collect_times.c
 * (CPU time by the kernel's account, time off the CPU) and collect_gpu.c (what traced programs
 * send).
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
	bool has_begun_cpu_time, has_no_cpu_time; /* collect.h: begin, forget */
	struct ledger ledger;
	struct cut_stacks cut;
	struct intern strings;
	struct quota memory, target_bytes, passing; /* the latter two are parts of the first */
	struct processes processes;
	bool knows_tree;
	bool loses_privileged; /* see collect_lose_privileged */
	const char *library;   /* the injection library's file name; NULL: nothing is traced */
	bool nvtx_loads_it;
	uint64_t hidden_hellos;             /* of processes of the tree that cannot be told apart */
	struct pid_namespace pid_namespace; /* our own */
	struct pythons pythons;
	struct python_found *found; /* not yet fetched */
	uint32_t found_count, found_capacity;
	struct symbolizer *symbolizer;
	struct stack_table *stacks;
	struct stack_builder builder;
	struct profile *profile;
	struct profile_sink sink;
	struct table_gc gc;
	struct cpu_time cpu_time;
	uint64_t waited_ns;      /* CPU time of all that was waited for; 0: not known yet */
	uint32_t names_position; /* up to here names of threads have been read in this turn */
	uint32_t clock_position; /* up to here processes' clocks have been read in this turn */
	uint64_t clocks_end_ns;  /* when clocks were read for the last time; 0: not yet */
	struct places places;
	struct place_names place_names;
	struct intern name_texts; /* of these, from the quota for targets */
	/* parts of it: of names that replace others; of those that interpreters give to threads */
	struct quota rename_bytes, thread_name_bytes;
	struct devices devices;
	struct open_calls open_calls;
	struct open_launches open_launches;
	struct async_samples async_samples;
	struct queue undecided; /* with --range: samples of which it is not known if they count */
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

/* Counts what did not fit into memory. */
void collect_note_error(struct collect *c, int err);

/* collect_text, for those who know no `struct collect`. */
const char *collect_keep_text(void *collect, const char *text);

/* ---- processes ---- */

/* Sets up a process that has begun; NULL: out of memory, which is counted. Returns it. */
struct process *collect_begin_process(struct collect *c, struct process *process);
void collect_end_process(struct collect *c, struct process *process, uint64_t time_ns);

/* Shows the numbers of samples that are not decided yet (model/id_remap.h). */
void collect_visit_samples(struct collect *c, const struct id_visitor *visitor);

/* ---- places ---- */

/* A thread whose time was spent, for the names that it had then. */
struct thread_use {
	uint32_t tid;
	uint64_t time_ns; /* its renames until then count; 0: none */
	const char *comm; /* the kernel's name of it at that time; NULL or "": unknown */
};

/* Looks for an interpreter in what a process says it has mapped, where the kernel says nothing. */
void collect_know_python(struct collect *c, struct process *process,
			 const struct code_mapping *mapping);

/* Returns whether rows distinguish this part of places. */
static inline bool collect_distinguishes(const struct collect *c, enum place_part part)
{
	return c->options.place_mask & 1u << part;
}

/* Describes a thread at the moment of a record that has its name. */
static inline struct thread_use collect_use_of(const struct stack_event *event)
{
	return (struct thread_use){event->tid, event->time_ns, event->comm};
}

/*
 * Names a thread that is not noted yet. `comm`, `earlier`: as in proc_names.h, of the thread `tid`
 * of process `pid`.
 */
void collect_name_thread(struct collect *c, struct process *process, pid_t pid, uint32_t tid,
			 const char *comm, const char *earlier);

/* Shows the first name that the interpreter is known to have given to a thread. */
void collect_show_first_name(struct collect *c, struct process *process, uint32_t tid);

/* Notes the names of a process, and of one of its threads, while they are alive. */
void collect_note_process(struct collect *c, struct process *process);
void collect_note_thread(struct collect *c, struct process *process, const struct thread_use *use);

/* Writes the name that a process has now, with its pid. */
void collect_put_process_name(struct collect *c, const struct process *process, char *text,
			      size_t size);

/* Frees texts of names that were forgotten. */
void collect_renew_name_texts(struct collect *c);

/* The place of a thread, as far as rows distinguish it; notes its names. */
struct place_id collect_place_of(struct collect *c, struct process *process,
				 const struct thread_use *use);

static inline struct place_id collect_place_at(struct collect *c, struct process *process,
					       const struct stack_event *event)
{
	const struct thread_use use = collect_use_of(event);

	return collect_place_of(c, process, &use);
}

/* ---- times ---- */

/* Returns the stack of a mark below the name of a program, which may be NULL. */
struct stack_id collect_stack_of_program(struct collect *c, const char *name, const char *mark);

/* Ends the calls of a process that has ended (0: of all). */
void collect_end_calls(struct collect *c, uint32_t process, uint64_t now_ns);

/* Adds CPU time that no sample stands for: all is known by now. */
void collect_finish_cpu_time(struct collect *c, uint64_t now_ns);

#endif
