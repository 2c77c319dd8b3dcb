// SPDX-License-Identifier: MIT
#include "profiler/join/collect_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cupti_trace/wire/gpu_wire.h"
#include "profiler/base/cuda_functions.h"
#include "profiler/base/process_names.h"
#include "profiler/cpu/proc_names.h"
#include "profiler/model/marks.h"
#include "symbolize/util/array.h"
#include "symbolize/util/monotonic.h"
#include "symbolize/util/proc_file.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/text.h"

#define CLOCKS_AT_ONCE 256u /* of processes: some 100 us */

/* From here on what is kept counts. */
static void limit_memory(struct collect *c)
{
	stack_table_limit(c->stacks, &c->memory);
	profile_limit(c->profile, &c->memory);
	c->places.memory = &c->memory;
	c->place_names.memory = &c->memory;
	join_limit(c->join, &c->passing);
	attribution_limit(&c->attribution, &c->passing);
	symbolizer_share_memory(c->symbolizer, &c->memory.used, COLLECT_MEMORY);
}

static void keep_handed_sample(void *collect, const struct handovers_sample *sample,
			       uint32_t below);

#define UNDECIDED_MAX 65536u
#define UNDECIDED_NS 1000000000u /* what a process says comes within this time */
struct undecided {
	struct handovers_sample sample;
	uint32_t stack, flags;
};

static bool keeps_records(const struct collect *c)
{
	return c->options.timeline && timeline_keeps(c->options.timeline);
}

static int find_launch(void *collect, uint32_t process, uint32_t correlation_id, uint64_t remark)
{
	struct collect *c = collect;

	return join_operation(c->join, process,
			      &(struct gpu_operation){.correlation_id = correlation_id,
						      .work = JOIN_REMARK,
						      .remark = remark,
						      .process = process});
}

static int begin_addons(struct collect *c)
{
	return addons_begin(&c->addons,
			    &(struct addon_parts){.measure = &c->options.measure,
						  .sample_ns = c->options.sample_ns,
						  .keeps_last = c->options.last_ns,
						  .keeps_records = keeps_records(c),
						  .watches_load = c->options.watches_load,
						  .idle_store = c->options.idle_store,
						  .stacks = c->stacks,
						  .compose = &c->attribution.compose,
						  .places = &c->places,
						  .devices = &c->devices,
						  .sink = &c->sink,
						  .window = &c->window,
						  .memory = &c->memory,
						  .from_target = &c->target_bytes,
						  .passing = &c->passing,
						  .find_launch = find_launch,
						  .keep = collect_keep_text,
						  .context = c});
}

struct collect *collect_new(const struct collect_options *options)
{
	struct collect *c = calloc(1, sizeof(*c));
	struct join_output to_attribution;

	if (!c)
		return NULL;
	c->options = *options;
	c->memory.limit = COLLECT_MEMORY;
	c->target_bytes = (struct allowance){.limit = COLLECT_TARGET_BYTES, .outer = &c->memory};
	c->rename_bytes =
		(struct allowance){.limit = COLLECT_RENAME_BYTES, .outer = &c->target_bytes};
	c->thread_name_bytes =
		(struct allowance){.limit = COLLECT_RENAME_BYTES, .outer = &c->target_bytes};
	c->passing = (struct allowance){.limit = COLLECT_MEMORY, .outer = &c->memory};
	c->pid_namespace = pid_namespace_own();
	c->open_launches.sink = &c->sink;
	queue_init(&c->undecided, sizeof(struct undecided));
	c->handovers.output = keep_handed_sample;
	c->handovers.context = c;
	c->symbolizer = symbolizer_new();
	pythons_init(&c->pythons, c->symbolizer, &c->strings, &c->target_bytes);
	c->pythons.lines = options->measure.python_lines;
	c->pythons.keeps_native = options->measure.native_python;
	c->stacks = stack_table_new();
	c->origins.stacks = c->stacks;
	c->origins.allowance = &c->target_bytes;
	c->off_cpu.allowance = &c->target_bytes;
	c->profile = profile_new();
	c->sink = (struct profile_sink){
		.profile = c->profile, .ledger = &c->ledger, .timeline = options->timeline};
	if (options->last_ns && !profile_sink_keep(&c->sink))
		goto failed;
	to_attribution = (struct join_output){attribution_add, &c->attribution};
	c->join = join_new(&to_attribution);
	c->builder = (struct stack_builder){.symbolizer = c->symbolizer,
					    .stacks = c->stacks,
					    .pythons = &c->pythons,
					    .strings = &c->strings,
					    .allowance = &c->target_bytes,
					    .ledger = &c->ledger,
					    .cut = &c->cut};
	if (options->keeps_metrics)
		c->metrics = metrics_new();
	if (c->symbolizer && c->stacks && c->profile && c->join &&
	    (c->metrics || !options->keeps_metrics) &&
	    places_init(&c->places, options->place_mask) == 0 && begin_addons(c) == 0) {
		attribution_init(&c->attribution,
				 &(struct attribution_parts){.processes = &c->processes,
							     .stacks = c->stacks,
							     .sink = &c->sink,
							     .places = &c->places,
							     .ledger = &c->ledger,
							     .devices = &c->devices,
							     .allowance = &c->target_bytes,
							     .addons = &c->addons});
		c->attribution.begins_late = options->measure.attached;
		limit_memory(c);
		if (options->measure.max_overhead)
			attribution_limit_stacks(&c->attribution);
		if (options->measure.launch_shapes)
			attribution_note_waited(&c->attribution);
		return c;
	}
failed:
	collect_free(c);
	return NULL;
}

void collect_free(struct collect *c)
{
	if (!c)
		return;
	processes_release(&c->processes);
	symbolizer_free(c->symbolizer);
	stack_table_free(c->stacks);
	profile_free(c->profile);
	profile_sink_release(&c->sink);
	cpu_time_release(&c->cpu_time);
	join_free(c->join);
	attribution_release(&c->attribution);
	open_calls_release(&c->open_calls);
	open_launches_release(&c->open_launches);
	handovers_release(&c->handovers);
	queue_release(&c->undecided);
	thread_origins_release(&c->origins);
	off_cpu_release(&c->off_cpu);
	addons_release(&c->addons);
	places_release(&c->places);
	place_names_release(&c->place_names);
	devices_release(&c->devices);
	metrics_free(c->metrics);
	pythons_release(&c->pythons);
	intern_release(&c->strings);
	intern_release(&c->name_texts);
	ledger_release(&c->ledger);
	cut_stacks_release(&c->cut);
	free(c->found);
	free(c);
}

void collect_set_window(struct collect *c, const struct window *window)
{
	c->window = *window;
	c->attribution.window = *window;
}

void collect_begin(struct collect *c, uint64_t now_ns)
{
	c->began_ns = c->sink.now_ns = now_ns;
}

const struct window *collect_window(const struct collect *c)
{
	return &c->window;
}

struct ledger *collect_ledger(struct collect *c)
{
	return &c->ledger;
}

void collect_set_memory_opener(struct collect *c, int (*open)(void *context, pid_t pid),
			       void *context)
{
	symbolizer_set_memory_opener(c->symbolizer, open, context);
}

void collect_set_kallsyms(struct collect *c, int fd)
{
	symbolizer_set_kallsyms(c->symbolizer, fd);
}

struct bounded_caller *collect_calls(struct collect *c)
{
	return symbolizer_calls(c->symbolizer);
}

void collect_note_error(struct collect *c, int err)
{
	c->ledger.bounds.out_of_memory += err == -ENOMEM;
}

const char *collect_keep_text(void *collect, const char *text)
{
	return collect_text(collect, text);
}

const char *collect_text(struct collect *c, const char *text)
{
	return stack_builder_text(&c->builder, text);
}

bool collect_keep_bytes(struct collect *c, size_t bytes)
{
	return allowance_take(&c->target_bytes, bytes);
}

void collect_free_bytes(struct collect *c, size_t bytes)
{
	allowance_return(&c->target_bytes, bytes);
}

/* ---- places ---- */

static bool distinguishes(const struct collect *c, enum place_part part)
{
	return c->options.place_mask & 1u << part;
}

/* They have numbers in them, and so there is no end of different ones. */
static const char *keep_name(struct collect *c, const char *text)
{
	return allowance_intern(&c->target_bytes, &c->name_texts, text);
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
	if (!has_all) { /* out of memory: they stay */
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
	allowance_return(&c->rename_bytes, of_renames);
	allowance_return(&c->target_bytes, freed - of_renames);
	c->name_texts = left;
	intern_release(&old);
}

static const char *keep_new_name(struct collect *c, const char *text)
{
	return allowance_intern(&c->rename_bytes, &c->name_texts, text);
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

	if (!distinguishes(c, PLACE_PROCESS) || place_names_process(&c->place_names, process->id))
		return;
	collect_put_process_name(c, process, text, sizeof(text));
	info.name = keep_name(c, text);
	if (info.name)
		place_names_add_process(&c->place_names, &info);
}

void collect_name_program(struct collect *c, struct process *process, const char *program)
{
	const char *kept = process->visible_pid ? NULL : collect_text(c, program), *name;
	char text[256];

	if (!kept)
		return;
	process->comm = kept;
	if (!place_names_process(&c->place_names, process->id))
		return;
	collect_put_process_name(c, process, text, sizeof(text));
	name = keep_new_name(c, text);
	if (name)
		place_names_rename_process(&c->place_names, process->id, name);
}

/* Renames a process whose first thread has this name. */
static void rename_process(struct collect *c, struct process *process, const char *comm)
{
	const char *before = process->renamed[0] ? process->renamed : process->comm;
	char text[256];
	const char *name;

	if (!comm[0] || (before && strcmp(before, comm) == 0) ||
	    (process->is_loaded && process_names_is_loader(comm)))
		return;
	snprintf(process->renamed, sizeof(process->renamed), "%s", comm);
	if (!place_names_process(&c->place_names, process->id))
		return;
	collect_put_process_name(c, process, text, sizeof(text));
	name = keep_new_name(c, text);
	if (name)
		place_names_rename_process(&c->place_names, process->id, name);
}

/*
 * Returns the interpreter's name of a thread, if that is to be shown at this time (0: now), or
 * NULL. `comm`: the kernel's at that time; NULL: unknown.
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
	/* threads that began before us have told nothing of their renames */
	if (!inherited && comm)
		inherited = (process->comm && strcmp(comm, process->comm) == 0) ||
			    strcmp(comm, process->renamed) == 0 || process_names_is_loader(comm);
	return thread_names_choose(&process->thread_names, tid, time_ns, comm, inherited);
}

/* `comm`, `earlier`: as in proc_names.h, of the thread `tid` of process `pid`. */
static void name_thread(struct collect *c, struct process *process, pid_t pid, uint32_t tid,
			const char *comm, const char *earlier)
{
	struct thread_info info = {.process = process->id, .tid = tid};
	const char *own;
	char text[256];

	if (!distinguishes(c, PLACE_THREAD) ||
	    place_names_thread(&c->place_names, process->id, tid))
		return;
	own = interpreters_name(process, tid, 0, comm);
	proc_names_thread(pid, (pid_t)tid, own ? own : comm, earlier, text, sizeof(text));
	info.name = keep_name(c, text);
	if (info.name)
		place_names_add_thread(&c->place_names, &info);
}

/* Replaces the name of a thread that is noted. */
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
 * Renames a thread that is noted. `comm`: the kernel's name of it at this time; NULL: unknown, then
 * only the interpreter's counts.
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

/* Shows the first name that the interpreter is known to have given to a thread. */
static void show_first_name(struct collect *c, struct process *process, uint32_t tid)
{
	const struct thread_info *info = place_names_thread(&c->place_names, process->id, tid);
	const char *name = info ? interpreters_name(process, tid, 0, NULL) : NULL;

	if (name)
		show_thread_name(c, process, info, name);
}

/* Keeps a rename for the time that its thread spends from then on. */
static void on_comm(struct collect *c, struct process *process, const struct process_event *event)
{
	uint32_t tid = (uint32_t)event->tid;

	if (distinguishes(c, PLACE_PROCESS) && event->tid == event->pid)
		collect_note_error(c, renames_add(&process->renames, &c->target_bytes,
						  RENAMES_OF_PROCESS, event->time_ns, event->comm));
	if (!distinguishes(c, PLACE_THREAD))
		return;
	if (process->python)
		collect_note_error(c,
				   thread_names_set_comm(&process->thread_names, tid, event->comm));
	if (place_names_thread(&c->place_names, process->id, tid))
		collect_note_error(c, renames_add(&process->renames, &c->target_bytes, tid,
						  event->time_ns, event->comm));
	else
		name_thread(c, process, process->pid, tid, event->comm, NULL);
}

/* Notes by which id a thread of a Python process in another pid namespace knows itself. */
static void note_inner_id(struct collect *c, struct process *process, uint32_t tid)
{
	pid_t inner;

	if (!process->python || !process->visible_pid || !process->pid_namespace.id ||
	    process->pid_namespace.id == c->pid_namespace.id || !distinguishes(c, PLACE_THREAD) ||
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
	name_thread(c, process, process->visible_pid, use->tid, knows_comm ? use->comm : NULL,
		    NULL);
	if (renames_take(&process->renames, &c->target_bytes, use->tid, use->time_ns, comm))
		rename_thread(c, process, use->tid, use->time_ns, comm);
	rename_thread(c, process, use->tid, use->time_ns, knows_comm ? use->comm : NULL);
}

uint32_t collect_place_of(struct collect *c, struct process *process, const struct thread_use *use)
{
	struct place place = place_unknown();

	if (!distinguishes(c, PLACE_PROCESS) && !distinguishes(c, PLACE_THREAD))
		return PLACE_NOWHERE;
	collect_note_thread(c, process, use);
	place.part[PLACE_PROCESS] = process->id;
	place.part[PLACE_THREAD] = use->tid;
	return places_add(&c->places, &place);
}

/* Describes a thread at the moment of a record that has its name. */
static struct thread_use use_of(const struct stack_event *event)
{
	return (struct thread_use){event->tid, event->time_ns, event->comm};
}

static uint32_t place_at(struct collect *c, struct process *process,
			 const struct stack_event *event)
{
	const struct thread_use use = use_of(event);

	return collect_place_of(c, process, &use);
}

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
 * Reads a process's clock if need be. What begins after the clocks were read for the last time has
 * no CPU time that counts. One that began before, and was not known by then, is read now, if it has
 * not ended.
 */
static void settle_clock(struct collect *c, struct process *process)
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
		process->sent.allowance = &c->target_bytes;
	if (process)
		process->thread_names.allowance = &c->thread_name_bytes;
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
	settle_clock(c, process);
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

static void add_call_time(struct collect *c, const struct open_call *call, uint64_t end_ns,
			  uint32_t flags)
{
	uint64_t ns = end_ns > call->start_ns ? end_ns - call->start_ns : 0;
	/* a call taken out before has been counted */
	struct profile_item item = {.record = {.kind = TIMELINE_CALL,
					       .start_ns = call->start_ns,
					       .duration_ns = ns,
					       .stack = call->stack,
					       .place = call->place},
				    .flags = flags | ITEM_ROW | ITEM_DRAWN |
					     (call->taken_ns ? 0 : ITEM_COUNTS)};

	if (!window_has(&c->window, call->start_ns)) {
		c->ledger.outside.calls += !call->taken_ns;
		return;
	}
	profile_sink_add(&c->sink, &item);
}

/* Ends the calls of a process that has ended (0: of all). */
static void end_calls(struct collect *c, uint32_t process, uint64_t now_ns)
{
	struct open_call call;
	uint32_t position = 0;

	while (open_calls_take(&c->open_calls, process, now_ns, &position, &call))
		add_call_time(c, &call, now_ns, ITEM_UNFINISHED);
}

void collect_end_process(struct collect *c, struct process *process, uint64_t time_ns)
{
	end_calls(c, process->id, time_ns);
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

/* Returns whether a process did that before we attached to it: it is known from /proc by then. */
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
	settle_clock(c, child);
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
 * Of a program that its user may not look into (setuid, unreadable) the kernel closes what others
 * measure, when it is executed, and reports the end of a thread that goes on. It has done nothing
 * by then. One that ends there indeed, for lack of memory, counts as running.
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

/* ---- what Python calls its threads ---- */

#define NAMES_AT_ONCE_NS 1000000u /* of reading, then other processes wait for the next turn */
#define NAMES_SHARE 64u           /* reading a process again waits for so many times as long */

struct named_threads {
	struct collect *c;
	struct process *process;
	uint64_t time_ns;
	struct id_map by_inner; /* threads in another pid namespace */
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

/* Sets by_inner. False: threads of this process cannot be told apart. */
static bool know_ids(struct named_threads *n)
{
	struct pid_namespace *own = &n->c->pid_namespace, *its = &n->process->pid_namespace;

	if (n->process->source == PROCESS_APART) /* it is known only by what it says itself */
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
	if (process->places_of_threads && know_ids(&names) &&
	    pythons_read_threads(&c->pythons, process->visible_pid, process->python,
				 process->places_of_threads, &used_ns, learn_thread_name,
				 &names) != 0)
		used_ns = monotonic_ns() - names.time_ns; /* it may not have ended in time */
	id_map_release(&names.by_inner);
	process->reads_names_ns = names.time_ns + NAMES_SHARE * used_ns;
}

void collect_read_thread_names(struct collect *c)
{
	const uint64_t now_ns = monotonic_ns();
	uint64_t value;
	uint32_t id;

	if (!distinguishes(c, PLACE_THREAD) || c->options.is_over)
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

static void look_for_python(struct collect *c, struct process *process,
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
	/* BPF saw it before we did */
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
	/* when recording is over, the library says no hello any more */
	if (!window_is_over(&c->window, event->time_ns)) {
		process->gpu.has_driver |= starts_with(name, "libcuda.so");
		process->gpu.has_injection |= c->library && strcmp(name, c->library) == 0;
	}
	process->gpu.has_nvml |= starts_with(name, "libnvidia-ml.so");
	err = symbolizer_map(c->symbolizer, process->space, mapping);
	c->target_bytes.refused += err == -ENOSPC;
	collect_note_error(c, err);
	look_for_python(c, process, mapping);
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

/* ---- stacks from the kernel ---- */

struct process *collect_process_of(struct collect *c, const struct stack_event *event)
{
	struct process *process =
		processes_find_at(&c->processes, (pid_t)event->pid, event->time_ns);

	if (!process)
		process = collect_find_process(c, (pid_t)event->pid);
	return process && process->source != PROCESS_OURS ? process : NULL;
}

/* `stack`: with what its thread's own is below. */
static void add_kept_sample(struct collect *c, const struct handovers_sample *sample,
			    uint32_t stack, uint32_t flags)
{
	const struct thread_time time = {.start_ns = sample->time_ns,
					 .end_ns = sample->time_ns,
					 .ns = sample->ran_ns,
					 .process = sample->process,
					 .tid = sample->tid,
					 .kind = ROW_CPU,
					 .stack = stack,
					 .place = sample->place};

	flags |= ITEM_COUNTS | ITEM_ROW | ITEM_DRAWN;
	profile_sink_add(&c->sink, &(struct profile_item){
					   .record = {.kind = TIMELINE_CPU_SAMPLE,
						      .start_ns = sample->time_ns,
						      .duration_ns = sample->ran_ns,
						      .stack = stack,
						      .place = sample->place},
					   .flags = flags | (sample->is_whole ? ITEM_WHOLE : 0)});
	addons_time(&c->addons, &time);
}

/* Decides samples of which it is known by then what their process has said. */
static void decide_samples(struct collect *c, uint64_t until_ns, uint32_t most)
{
	struct undecided *u;

	while ((u = queue_front(&c->undecided)) &&
	       (u->sample.time_ns <= until_ns || queue_length(&c->undecided) > most)) {
		const struct process *process = processes_get(&c->processes, u->sample.process);

		if (process && chosen_has(&process->ranges.chosen, u->sample.time_ns))
			add_kept_sample(c, &u->sample, u->stack, u->flags);
		queue_pop(&c->undecided);
	}
}

void collect_visit_samples(struct collect *c, const struct number_visitor *v)
{
	for (uint32_t i = 0; i < queue_length(&c->undecided); i++) {
		struct undecided *u = queue_at(&c->undecided, i);

		visit_stack(v, &u->stack);
		visit_place(v, &u->sample.place);
	}
}

/* With --range it waits until it is known whether its process was recorded. */
static void keep_sample(struct collect *c, const struct handovers_sample *sample, uint32_t stack,
			uint32_t flags)
{
	const struct undecided undecided = {*sample, stack, flags};

	if (!c->options.measure.ranges) {
		add_kept_sample(c, sample, stack, flags);
		return;
	}
	decide_samples(c, 0, UNDECIDED_MAX);
	collect_note_error(c, queue_insert_by_time(&c->undecided, &undecided));
}

/* Gets the samples of threads that work for others. */
static void keep_handed_sample(void *collect, const struct handovers_sample *sample, uint32_t below)
{
	struct collect *c = collect;

	if (below == HANDOVERS_UNKNOWN)
		keep_sample(c, sample,
			    thread_origins_below(&c->origins, sample->process, sample->tid,
						 sample->stack),
			    ITEM_APART);
	else
		keep_sample(c, sample, stack_table_append(c->stacks, below, sample->stack),
			    ITEM_HANDED);
}

/* A thread that works for others; its launches say for whom. */
static bool is_handed_to(const struct collect *c, const struct process *process,
			 const struct stack_event *event)
{
	return process_has_spoken(process) &&
	       (starts_with(event->comm, GPU_HANDED_TO_PREFIX) ||
		handovers_has(&c->handovers, process->id, event->tid));
}

static void add_sample(struct collect *c, struct process *process, const struct stack_event *event,
		       uint64_t ran_ns, uint32_t stack, bool is_whole)
{
	const struct handovers_sample sample = {.time_ns = event->time_ns,
						.ran_ns = ran_ns,
						.process = process->id,
						.tid = event->tid,
						.stack = stack,
						.place = place_at(c, process, event),
						.is_whole = is_whole};

	cpu_time_sampled(&c->cpu_time, process, ran_ns);
	if (is_handed_to(c, process, event))
		handovers_add(&c->handovers, &sample);
	else
		keep_sample(c, &sample,
			    thread_origins_below(&c->origins, process->id, event->tid, stack), 0);
}

/* A probe saw the entry of a launch function. */
static void add_launch_probe(struct collect *c, struct process *process,
			     const struct stack_event *event, uint32_t stack, bool is_whole)
{
	bool is_driver = cuda_function_is_driver(event->launch_function);
	const struct thread_use use = use_of(event);

	collect_note_thread(c, process, &use);
	stack = thread_origins_below(&c->origins, process->id, event->tid, stack);
	c->ledger.launches.by_probe++;
	c->ledger.launches.whole += is_whole;
	collect_note_error(c, join_probe(c->join, process->id, event->tid, event->time_ns,
					 is_driver ? FAMILY_DRIVER : FAMILY_RUNTIME,
					 attribution_origin(&c->attribution, stack, event->tid)));
}

bool collect_snapshot(struct collect *c, const struct stack_snapshot *snapshot, const char *api)
{
	const struct stack_event *event = &snapshot->event;
	struct process *process = collect_process_of(c, event);
	uint32_t stack;
	bool is_whole;

	if (!process || (!api && !window_has(&c->window, event->time_ns)))
		return false;
	stack = stack_builder_snapshot(&c->builder, process, snapshot, api, &is_whole);
	if (api)
		add_launch_probe(c, process, event, stack, is_whole);
	else
		add_sample(c, process, event,
			   snapshot->ran_ns ? snapshot->ran_ns : c->options.sample_ns, stack,
			   is_whole);
	return true;
}

void collect_thread(struct collect *c, const struct stack_snapshot *snapshot)
{
	const struct stack_event *event = &snapshot->event;
	struct process *process = collect_process_of(c, event);

	if (process)
		collect_note_error(
			c,
			thread_origins_add(&c->origins, process->id, event->tid, event->flags,
					   stack_builder_creator(&c->builder, process, snapshot)));
}

void collect_python_code(struct collect *c, const struct stack_python_code *code)
{
	collect_note_error(c, pythons_learn(&c->pythons, code));
}

void collect_addresses(struct collect *c, const struct stack_event *event, const __u64 *frames,
		       const char *api)
{
	struct process *process = collect_process_of(c, event);
	bool is_whole = !(event->flags & STACK_EVENT_TRUNCATED);
	uint32_t stack;

	if (!process || (!api && !window_has(&c->window, event->time_ns)) ||
	    event->kernel_frames > STACK_EVENT_MAX_FRAMES ||
	    event->user_frames > STACK_BUILDER_UNWOUND)
		return;
	stack = stack_builder_addresses(&c->builder, process, event, frames, api);
	if (api)
		add_launch_probe(c, process, event, stack, is_whole);
	else
		add_sample(c, process, event, c->options.sample_ns, stack, is_whole);
}

const struct unwind_frame *collect_last_frames(const struct collect *c, uint32_t *count,
					       bool *is_whole)
{
	*count = c->builder.unwound_count;
	*is_whole = c->builder.unwound_end == UNWIND_WHOLE;
	return c->builder.unwound;
}

/* ---- CPU time by the kernel's account ---- */

void collect_cpu_used(struct collect *c, pid_t pid, uint64_t time_ns, uint64_t total_ns,
		      bool is_before)
{
	struct process *process = processes_find_at(&c->processes, pid, time_ns);

	/* one that ended before clocks were read for the last time, or not, for it is known then */
	if (process && (is_before || process->source != PROCESS_OURS) &&
	    !window_is_over(&c->window, process->began_ns))
		cpu_time_charge(&c->cpu_time, process, is_before ? time_ns : CPU_TIME_END, total_ns,
				is_before);
	/* its threads that ended as we counted them may have been counted */
	if (process && process->source == PROCESS_ATTACHED && !is_before)
		collect_end_process(c, process, time_ns);
}

void collect_wait_status(struct collect *c, pid_t pid, uint64_t time_ns, int status)
{
	struct process *process = processes_find_at(&c->processes, pid, time_ns);

	if (!process)
		return;
	process->end = PROCESS_EXITED;
	process->wait_status = status;
}

void collect_open_devices(struct collect *c, pid_t pid, uint64_t time_ns, bool has_device,
			  uint32_t opened)
{
	struct process *process = processes_find_at(&c->processes, pid, time_ns);

	if (!process)
		return;
	process->gpu.looked_at_end = true;
	process->gpu.has_device = has_device;
	if (opened > process->gpu.opened) /* it may have closed what a look has seen */
		process->gpu.opened = opened;
}

void collect_read_clocks(struct collect *c, uint64_t now_ns, bool is_last)
{
	uint32_t pid, left = is_last ? UINT32_MAX : CLOCKS_AT_ONCE;
	uint64_t value;

	if (is_last) {
		c->clock_position = 0;
		c->clocks_end_ns = now_ns;
	}
	while (left-- > 0) {
		if (!id_map_next(&c->processes.by_pid, &c->clock_position, &pid, &value)) {
			c->clock_position = 0;
			return;
		}
		cpu_time_read(&c->cpu_time, (struct process *)(uintptr_t)value, now_ns, is_last);
	}
}

void collect_begin_cpu_time(struct collect *c, uint64_t now_ns)
{
	uint32_t position = 0, pid;
	uint64_t value;

	while (id_map_next(&c->processes.by_pid, &position, &pid, &value))
		cpu_time_read(&c->cpu_time, (struct process *)(uintptr_t)value, now_ns, false);
	cpu_time_restart(&c->cpu_time);
	c->has_begun_cpu_time = true;
}

void collect_forget_cpu_time(struct collect *c)
{
	c->has_no_cpu_time = true;
}

void collect_waited_for(struct collect *c, uint64_t used_ns)
{
	c->waited_ns = used_ns;
}

/* A mark below the name of a program, which may be NULL. */
static uint32_t stack_of_program(struct collect *c, const char *name, const char *mark)
{
	uint32_t stack = stack_table_push_text(c->stacks, STACK_EMPTY, FRAME_MARK,
					       name ? name : MARK_NO_PROGRAM);

	return stack_table_push_text(c->stacks, stack, FRAME_MARK, mark);
}

/* Adds what no sample stands for, under its program's name. */
static void add_rest(struct collect *c, const struct program_time *program)
{
	struct place place = place_unknown();
	uint32_t stack = stack_of_program(c, program->name, MARK_NOT_SAMPLED);

	if (program->process)
		place.part[PLACE_PROCESS] = program->process;
	profile_add_time(c->profile, ROW_CPU, stack, places_add(&c->places, &place),
			 program->rest_ns);
}

static void finish_cpu_time(struct collect *c, uint64_t now_ns)
{
	struct ledger_cpu *cpu = &c->ledger.cpu;
	bool is_part = c->window.from_ns || window_is_over(&c->window, now_ns);

	/* of parts that are known afterwards it is not known how much CPU time was used */
	if (!c->options.measure.samples_cpu || c->has_no_cpu_time || c->options.last_ns ||
	    c->options.measure.ranges || (c->window.from_ns && !c->has_begun_cpu_time))
		return;
	cpu->not_sampled_ns +=
		cpu_time_finish(&c->cpu_time, is_part ? 0 : c->waited_ns,
				cpu->in_calls * c->options.sample_ns, c->options.sample_ns);
	cpu->used_ns = c->cpu_time.charged_ns;
	for (uint32_t i = 0; i < c->cpu_time.count; i++)
		if (c->cpu_time.programs[i].rest_ns)
			add_rest(c, &c->cpu_time.programs[i]);
}

/* ---- time off the CPU ---- */

/* The one frame for threads that the program has not started; NULL: it has. */
static const char *find_mark_apart(const struct collect *c)
{
	static const char *const drivers[] = {"libcuda.so", "libcupti.so", "libnvidia-",
					      "libnvperf_"};
	const char *path = stack_builder_start_module(&c->builder);
	const char *name = path ? base_name(path) : "";

	if (stack_builder_is_library(&c->builder, name))
		return MARK_THREADS_OF_PROFILE;
	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (starts_with(name, drivers[i]))
			return MARK_THREADS_OF_DRIVER;
	return NULL;
}

static void count_apart(struct collect *c, uint32_t stack, uint64_t ns)
{
	if (stack == STACK_EMPTY)
		return;
	if (stack == c->stack_of_profile)
		saturated_add(&c->ledger.wall.of_profile_ns, ns);
	else if (stack == c->stack_of_driver)
		saturated_add(&c->ledger.wall.of_driver_ns, ns);
}

/* The stack of a thread that is blocked, or runnable, below the one that it left the CPU with. */
static uint32_t stack_blocked(struct collect *c, uint32_t stack, uint32_t kind, uint32_t file_type)
{
	char text[OFF_CPU_FRAME_BYTES];
	const char *kept;

	off_cpu_frame(kind, file_type, text);
	kept = collect_text(c, text);
	return stack_table_push_text(c->stacks, stack, FRAME_MARK,
				     kept ? kept : MARK_BLOCKED "other]");
}

static uint32_t stack_runnable(struct collect *c, uint32_t stack)
{
	return stack_table_push_text(c->stacks, stack, FRAME_MARK, MARK_RUNNABLE);
}

/* Off the CPU: what of a thread's time, and where it goes. */
struct off_cpu_target {
	struct collect *collect;
	const struct process *process;
	uint32_t tid, place;
	uint64_t left_ns; /* when that began; 0: there is no one moment */
	uint32_t most;    /* which stack had the most of what was spread: STACK_EMPTY: none */
	uint64_t most_ns;
};

static void add_off_cpu_row(const struct off_cpu_target *t, uint32_t stack, uint64_t from_ns,
			    uint64_t ns)
{
	profile_add(t->collect->profile, ROW_WAIT, stack, t->place, ns, 0);
	if (process_has_spoken(t->process)) /* else it does not say when it waits for a GPU */
		addons_time(&t->collect->addons,
			    &(struct thread_time){.start_ns = from_ns,
						  .end_ns = saturated_sum(from_ns, ns),
						  .ns = ns,
						  .process = t->process->id,
						  .tid = t->tid,
						  .kind = ROW_WAIT,
						  .stack = stack,
						  .place = t->place,
						  .is_spread = t->left_ns == 0});
}

/* Adds time off the CPU below the stack that it was with. */
static void add_off_cpu(const struct off_cpu_target *t, uint32_t stack,
			const struct off_cpu_times *times)
{
	struct collect *c = t->collect;
	/* else they are for idle times alone */
	bool has_rows = c->options.measure.wall || !c->options.idle_store;

	if (times->blocked_ns && has_rows)
		add_off_cpu_row(t, stack_blocked(c, stack, times->kind, times->file_type),
				t->left_ns, times->blocked_ns);
	if (times->runnable_ns && has_rows)
		add_off_cpu_row(t, stack_runnable(c, stack),
				saturated_sum(t->left_ns, times->blocked_ns), times->runnable_ns);
	saturated_add(&c->ledger.wall.off_ns[off_cpu_kind_of(times->kind, times->file_type)],
		      times->blocked_ns);
	saturated_add(&c->ledger.wall.off_ns[OFF_CPU_RUNNABLE], times->runnable_ns);
	count_apart(c, stack, saturated_sum(times->blocked_ns, times->runnable_ns));
}

static uint32_t keep_apart(struct collect *c, const char *mark)
{
	uint32_t stack = stack_table_push_text(c->stacks, STACK_EMPTY, FRAME_MARK, mark);

	if (strcmp(mark, MARK_THREADS_OF_PROFILE) == 0)
		c->stack_of_profile = stack;
	else
		c->stack_of_driver = stack;
	return stack;
}

void collect_off_cpu(struct collect *c, const struct stack_snapshot *snapshot)
{
	const struct stack_event *event = &snapshot->event;
	struct process *process = collect_process_of(c, event);
	const struct thread_use use = use_of(event);
	struct off_cpu_departure departure;
	const char *apart;
	uint32_t stack;
	bool is_whole;

	if (!process)
		return;
	stack = stack_builder_snapshot(&c->builder, process, snapshot, NULL, &is_whole);
	apart = find_mark_apart(c);
	if (apart)
		stack = keep_apart(c, apart);
	else
		stack = thread_origins_below(&c->origins, process->id, event->tid, stack);
	collect_note_thread(c, process, &use);
	c->ledger.wall.stacks++;
	departure = (struct off_cpu_departure){
		.left_ns = event->time_ns,
		.stack = stack,
		.file_type = event->flags & STACK_EVENT_FILE_TYPE,
		.is_apart = apart != NULL,
		.is_at_gil = pythons_has_in_runtime(&c->pythons, process->python,
						    snapshot->registers[CFI_RDI])};
	collect_note_error(c, off_cpu_leave(&c->off_cpu,
					    (struct off_cpu_thread){process->id, event->tid},
					    &departure));
}

static void add_part(void *context, uint32_t stack, const struct off_cpu_times *part)
{
	struct off_cpu_target *t = context;
	uint64_t ns = saturated_sum(part->blocked_ns, part->runnable_ns);

	add_off_cpu(t, stack, part);
	if (ns >= t->most_ns) {
		t->most_ns = ns;
		t->most = stack;
	}
}

/* Time off the CPU whose stack was not taken. */
static void spread_off_cpu(struct off_cpu_target *t, const struct off_cpu_times *sum)
{
	struct collect *c = t->collect;
	uint64_t ns = saturated_sum(sum->blocked_ns, sum->runnable_ns);

	if (ns == 0)
		return;
	if (off_cpu_spread(&c->off_cpu, (struct off_cpu_thread){t->process->id, t->tid}, sum,
			   add_part, t)) {
		saturated_add(&c->ledger.wall.spread_ns, ns);
		return;
	}
	saturated_add(&c->ledger.wall.left_ns, ns);
	add_off_cpu(t, stack_of_program(c, t->process->comm, MARK_NO_STACK), sum);
}

/* Shows add-ons a time off the CPU, with the stack of what the thread waited for. */
static void show_off_cpu(struct collect *c, const struct off_cpu_target *target, uint32_t stack,
			 uint64_t from_ns, uint64_t ns)
{
	addons_off_cpu(&c->addons, &(struct thread_time){.start_ns = from_ns,
							 .end_ns = saturated_sum(from_ns, ns),
							 .process = target->process->id,
							 .tid = target->tid,
							 .kind = ROW_WAIT,
							 .stack = stack});
}

/* A whole time off the CPU, whose moment is known. */
static void add_interval(struct collect *c, const struct off_cpu_target *target, uint32_t stack,
			 const struct stack_on_cpu *record, const struct off_cpu_times *times)
{
	if (!c->options.idle_store)
		return;
	if (stack == STACK_EMPTY)
		stack = stack_of_program(c, target->process->comm, MARK_NO_STACK);
	show_off_cpu(c, target, stack_blocked(c, stack, times->kind, times->file_type),
		     record->left_ns, record->blocked_ns);
	show_off_cpu(c, target, stack_runnable(c, stack),
		     saturated_sum(record->left_ns, record->blocked_ns), record->runnable_ns);
}

void collect_on_cpu(struct collect *c, const struct stack_on_cpu *record)
{
	const struct stack_event *event = &record->event;
	struct process *process = collect_process_of(c, event);
	struct off_cpu_times times = {record->kind, record->site, record->blocked_ns,
				      record->runnable_ns, 0};
	struct off_cpu_target target = {
		.collect = c, .process = process, .tid = event->tid, .left_ns = record->left_ns};
	uint32_t stack;

	if (!process)
		return;
	target.place = place_at(c, process, event);
	if (off_cpu_return(&c->off_cpu, (struct off_cpu_thread){process->id, event->tid},
			   record->left_ns, &times, &stack)) {
		add_off_cpu(&target, stack, &times);
	} else {
		target.left_ns = 0; /* several stacks share it */
		spread_off_cpu(&target, &times);
		stack = target.most;
	}
	add_interval(c, &target, stack, record, &times);
}

/* Adds what a thread ran since its last sample. */
static void add_unsampled(struct collect *c, struct process *process, uint32_t place, uint64_t ns)
{
	if (ns == 0)
		return;
	profile_add_time(c->profile, ROW_CPU, stack_of_program(c, process->comm, MARK_NOT_SAMPLED),
			 place, ns);
	cpu_time_sampled(&c->cpu_time, process, ns);
	saturated_add(&c->ledger.cpu.not_sampled_ns, ns);
}

/* The process whose times these are: of its previous program, where it has begun a new one. */
static struct process *process_of_times(struct collect *c, const struct stack_event *event)
{
	struct process *process = collect_process_of(c, event), *previous;

	if (!process || !(event->flags & STACK_EVENT_EXEC) || process->began_ns == 0)
		return process;
	previous = processes_find_at(&c->processes, process->pid, process->began_ns - 1);
	return previous && previous->source != PROCESS_OURS ? previous : process;
}

void collect_thread_times(struct collect *c, const struct stack_thread_times *record)
{
	const struct stack_times *t = &record->times;
	struct process *process = process_of_times(c, &record->event);
	struct off_cpu_target target = {.collect = c, .process = process, .tid = record->event.tid};
	struct thread_use use = {.tid = record->event.tid};
	struct ledger_wall *wall = &c->ledger.wall;

	if (!process)
		return;
	/* a name that it got when all was done counts only where there is no other */
	use.comm = place_names_thread(&c->place_names, process->id, use.tid) ? NULL
									     : record->event.comm;
	target.place = collect_place_of(c, process, &use);
	wall->threads += !(record->event.flags & STACK_EVENT_EXEC);
	saturated_add(&wall->switches, t->switches);
	saturated_add(&wall->ran_ns, t->ran_ns);
	saturated_add(&wall->in_calls_ns, t->in_calls_ns);
	if (t->ran_ns > t->sampled_ns)
		add_unsampled(c, process, target.place, t->ran_ns - t->sampled_ns);
	for (uint32_t i = 0; i < STACK_OFF_CPU_SUMS; i++)
		spread_off_cpu(&target, &(struct off_cpu_times){t->sums[i].kind, t->sums[i].site,
								t->sums[i].blocked_ns,
								t->sums[i].runnable_ns, 0});
	off_cpu_forget(&c->off_cpu, (struct off_cpu_thread){process->id, record->event.tid});
	addons_end_thread(&c->addons, process->id, record->event.tid, record->event.time_ns);
}

/* ---- timed calls ---- */

/* Locates the host function of the kernel; false: none known. */
static bool locate_kernel(struct collect *c, struct process *process,
			  const struct stack_snapshot *snapshot, int reg, struct code_ref *code)
{
	if (reg < 0)
		return false;
	*code = symbolizer_locate(c->symbolizer, process->space, snapshot->registers[reg]);
	return code->module > MODULE_JIT;
}

void collect_call(struct collect *c, const struct stack_snapshot *snapshot, const char *api,
		  int kernel_register)
{
	const struct stack_event *event = &snapshot->event;
	struct process *process = collect_process_of(c, event);
	struct open_call call = {.start_ns = event->time_ns, .tid = event->tid};
	bool is_whole;
	struct code_ref kernel;

	if (!process)
		return;
	c->builder.has_breakpoints = true;
	call.process = process->id;
	call.place = place_at(c, process, event);
	call.stack = stack_builder_snapshot(&c->builder, process, snapshot, api, &is_whole);
	call.stack = thread_origins_below(&c->origins, process->id, event->tid, call.stack);
	call.stack = compose_call(
		&c->attribution.compose, call.stack,
		locate_kernel(c, process, snapshot, kernel_register, &kernel) ? &kernel : NULL);
	collect_note_error(c, open_calls_enter(&c->open_calls, &call));
}

void collect_call_end(struct collect *c, const struct stack_event *event, uint64_t start_ns,
		      const char *api)
{
	struct process *process = collect_process_of(c, event);
	struct open_call call = {.start_ns = start_ns};

	if (!process)
		return;
	if (!open_calls_leave(&c->open_calls, event->tid, start_ns, &call)) {
		/* its entry was dropped: its time counts under the function alone */
		c->ledger.calls.without_stack++;
		call.place = place_at(c, process, event);
		call.stack = compose_call(
			&c->attribution.compose,
			stack_table_push_text(c->stacks, STACK_EMPTY, FRAME_API, api), NULL);
	}
	add_call_time(c, &call, event->time_ns, 0);
}

/* ---- time ---- */

/* Counts a process that used the GPU by its cause, or one that may have. */
static void count_cause(struct collect *c, const struct process *process, bool has_begun)
{
	const struct untraced_use use = {.has_called = has_begun || process->lacks_gpu_time,
					 .is_exact = process->gpu.looked_at_end,
					 .has_device = process->gpu.has_device,
					 .opened = process->gpu.opened,
					 .has_nvml = process->gpu.has_nvml};
	struct ledger *l = &c->ledger;

	switch (untraced_judge(&use, process->gpu.obstacle)) {
	case UNTRACED_LACKS:
		l->processes.causes[process->gpu.obstacle]++;
		l->calls.processes += !process->lacks_gpu_time;
		break;
	case UNTRACED_MAY_LACK:
		/* a child's devices are its parent's, as far as is known */
		l->processes.untraced += process->gpu.has_driver;
		l->processes.unsure[process->gpu.obstacle] += process->gpu.has_driver;
		break;
	case UNTRACED_IS_IDLE:
		break;
	}
}

/* Judges a process whose GPU work should or may have been traced, and that said no hello. */
static void count_untraced(struct collect *c, const struct process *process)
{
	bool has_begun = process->gpu.has_injection && !c->nvtx_loads_it;

	if (!c->library || process_has_spoken(process))
		return;
	if (has_begun && process->gpu.obstacle <= UNTRACED_NOT_FOUND)
		c->ledger.processes.never_started += !process->lacks_gpu_time;
	else if (has_begun || process->gpu.has_driver || process->gpu.inherits_driver)
		count_cause(c, process, has_begun);
}

/* Moves as much as there is of `*left` out of `*count`. */
static void take_from(uint64_t *count, uint64_t *left)
{
	uint64_t taken = *count < *left ? *count : *left;

	*count -= taken;
	*left -= taken;
}

/* Some of these did say hello; which ones is not known. */
static void discount_hidden(struct collect *c)
{
	struct ledger_processes *l = &c->ledger.processes;
	uint64_t left = c->hidden_hellos, lacking;

	if (!c->nvtx_loads_it) {
		take_from(&l->never_started, &left);
		return;
	}
	take_from(&l->untraced, &left);
	lacking = left;
	take_from(&l->causes[UNTRACED_NOT_FOUND], &left);
	take_from(&l->causes[UNTRACED_NOT_KNOWN], &left);
	c->ledger.calls.processes -= (uint32_t)(lacking - left);
}

/* Returns true if results ask for a device by its process and number. */
static bool asks_for_devices(const struct collect *c)
{
	return distinguishes(c, PLACE_DEVICE) || c->options.keeps_metrics ||
	       addons_need_devices(&c->addons);
}

/* Settles and frees a process that sends nothing more. */
static void settle(struct collect *c, struct process *process)
{
	const struct work_tally none = {0};
	const struct work_sum *sum;
	uint32_t at = 0;

	c->attribution.settling = process;
	join_end_process(c->join, process->id);
	c->attribution.settling = NULL;
	graph_nodes_forget(&c->attribution.graph_nodes, process->id);
	open_calls_forget(&c->open_calls, process->id);
	open_launches_forget(&c->open_launches, process->id);
	handovers_forget(&c->handovers, process->id);
	thread_origins_forget(&c->origins, process->id);
	off_cpu_forget_process(&c->off_cpu, process->id);
	addons_end_process(&c->addons, process->id);
	while ((sum = work_tally_next(&process->counted, &at)))
		devices_use(&c->devices, process->id, sum->key.device);
	if (!asks_for_devices(c))
		devices_end_process(&c->devices, process->id);
	count_untraced(c, process);
	cpu_time_settle(&c->cpu_time, process);
	ledger_settle(&c->ledger, (uint32_t)process->pid, &process->counted,
		      process->lacks_sums ? &none : &process->reported);
	process_free(process);
}

void collect_advance(struct collect *c, uint64_t until_ns)
{
	struct process *process;

	join_advance(c->join, until_ns);
	addons_advance(&c->addons, until_ns);
	handovers_advance(&c->handovers, until_ns);
	if (until_ns > UNDECIDED_NS)
		decide_samples(c, until_ns - UNDECIDED_NS, UNDECIDED_MAX);
	while ((process = processes_take_settled(&c->processes, until_ns)))
		settle(c, process);
}

uint64_t collect_count_launched(const struct collect *c, uint64_t since_ns)
{
	return join_count_kernels_due(c->join, since_ns);
}

void collect_set_time(struct collect *c, uint64_t now_ns)
{
	uint64_t kept_ns = saturated_sum(c->options.last_ns, PROFILE_SINK_SLACK_NS);

	if (!c->options.last_ns)
		return;
	profile_sink_advance(&c->sink, now_ns, now_ns > kept_ns ? now_ns - kept_ns : 0);
	forget_unused(c);
}

/* It is known now which seconds are the last ones: before the end of the window, or `now_ns`. */
static void finish_last(struct collect *c, uint64_t now_ns)
{
	struct window *w = &c->window;
	uint64_t end_ns = w->to_ns && w->to_ns < now_ns ? w->to_ns : now_ns, wanted_ns;

	if (!c->options.last_ns)
		return;
	if (end_ns > c->began_ns && end_ns - c->began_ns > c->options.last_ns &&
	    end_ns - c->options.last_ns > w->from_ns)
		w->from_ns = end_ns - c->options.last_ns;
	wanted_ns = w->from_ns > c->began_ns ? w->from_ns : c->began_ns;
	profile_sink_finish(&c->sink, w);
	if (w->from_ns <= wanted_ns)
		return;
	if (w->from_ns > end_ns)
		w->from_ns = end_ns;
	c->ledger.outside.not_held_ns = w->from_ns > wanted_ns ? w->from_ns - wanted_ns : 0;
}

/* Frees what only events need. */
static void free_passing(struct collect *c)
{
	join_free(c->join);
	c->join = NULL;
	attribution_release(&c->attribution);
	allowance_return(&c->passing, c->passing.used);
}

static uint64_t less(uint64_t count, uint64_t *known)
{
	uint64_t n = count < *known ? count : *known;

	*known -= n;
	return count - n;
}

/*
 * Launches without a record, apart from records that are known to be lost. `unended`: of the last
 * seconds, those that had none when the input ended.
 */
static void note_unanswered(struct collect *c, uint64_t now_ns, uint64_t unended)
{
	struct join_stats stats = join_stats(c->join);
	uint64_t known = c->ledger.gpu.dropped, copies, graphs;

	if (c->options.last_ns && window_is_over(&c->window, now_ns)) {
		saturated_add(&c->ledger.outside.unended, unended);
		return;
	}
	saturated_add(&known, c->ledger.gpu.missing);
	copies = less(stats.copies_without_record, &known);
	graphs = less(stats.graphs_without_record, &known);
	if (window_is_over(&c->window, now_ns)) {
		saturated_add(&c->ledger.outside.unended, saturated_sum(copies, graphs));
		return;
	}
	c->ledger.launches.copies_unended = copies;
	c->ledger.launches.graphs_unended = graphs;
}

void collect_finish(struct collect *c, uint64_t now_ns)
{
	struct process *process;
	uint64_t unended;

	if (!c->join)
		return;
	end_calls(c, 0, now_ns);
	unended = join_count_others_due(c->join, c->window.to_ns);
	join_finish(c->join);
	c->ledger.launches.confused = join_stats(c->join).launches_confused;
	note_unanswered(c, now_ns, unended);
	/* before processes are settled, and with them goes what they have said */
	handovers_advance(&c->handovers, UINT64_MAX);
	decide_samples(c, UINT64_MAX, 0);
	attribution_finish(&c->attribution);
	while ((process = processes_take_any(&c->processes)))
		settle(c, process);
	discount_hidden(c);
	finish_cpu_time(c, now_ns);
	devices_make_labels(&c->devices);
	addons_finish(&c->addons, c->began_ns, now_ns);
	finish_last(c, now_ns);
	c->ledger.bounds.stacks = stack_table_refused(c->stacks);
	c->ledger.bounds.refused =
		c->target_bytes.refused + c->rename_bytes.refused + c->thread_name_bytes.refused;
	free_passing(c);
}

struct collected collect_results(struct collect *c)
{
	struct collected collected;

	devices_make_labels(&c->devices);
	collected = (struct collected){.stacks = c->stacks,
				       .profile = c->profile,
				       .places = &c->places,
				       .place_names = &c->place_names,
				       .devices = &c->devices,
				       .symbolizer = c->symbolizer,
				       .timeline = keeps_records(c) ? c->options.timeline : NULL,
				       .memory = &c->memory,
				       .ledger = &c->ledger,
				       .cut = &c->cut,
				       .metrics = c->metrics};
	addons_show(&c->addons, &collected);
	return collected;
}
