// SPDX-License-Identifier: MIT
#include "profiler/collect/collect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "profiler/base/cuda_functions.h"
#include "profiler/base/saturate.h"
#include "profiler/collect/attribution.h"
#include "profiler/collect/cpu_time.h"
#include "profiler/collect/handovers.h"
#include "profiler/collect/open_calls.h"
#include "profiler/collect/open_launches.h"
#include "profiler/collect/pid_namespace.h"
#include "profiler/collect/proc_names.h"
#include "profiler/collect/stack_builder.h"
#include "profiler/collect/thread_origins.h"
#include "profiler/profile/marks.h"
#include "symbolize/array.h"
#include "symbolize/text.h"

#define CLOCKS_AT_ONCE 256u /* of processes: some 100 us */

struct collect {
	struct collect_options options;
	struct ledger ledger;
	struct cut_stacks cut;
	struct intern strings;
	struct allowance memory, target_bytes, passing; /* the latter two are parts of the first */
	struct processes processes;
	bool knows_tree;
	const char *library; /* the injection library's file name; NULL: nothing is traced */
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
	struct cpu_time cpu_time;
	uint64_t waited_ns;      /* CPU time of all that was waited for; 0: not known yet */
	uint32_t clock_position; /* up to here processes' clocks have been read in this turn */
	struct places places;
	struct place_names place_names;
	struct devices devices;
	struct open_calls open_calls;
	struct open_launches open_launches;
	struct handovers handovers;
	struct thread_origins origins;
	struct attribution attribution;
	struct join *join;
	struct gpu_load load; /* if watched */
};

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

struct collect *collect_new(const struct collect_options *options)
{
	struct collect *c = calloc(1, sizeof(*c));
	struct join_output to_attribution;

	if (!c)
		return NULL;
	c->options = *options;
	c->memory.limit = COLLECT_MEMORY;
	c->target_bytes = (struct allowance){.limit = COLLECT_TARGET_BYTES, .outer = &c->memory};
	c->passing = (struct allowance){.limit = COLLECT_MEMORY, .outer = &c->memory};
	c->pid_namespace = pid_namespace_own();
	c->open_launches.timeline = options->timeline;
	c->handovers.output = keep_handed_sample;
	c->handovers.context = c;
	c->symbolizer = symbolizer_new();
	pythons_init(&c->pythons, c->symbolizer, &c->strings, &c->target_bytes);
	c->pythons.lines = options->measure.python_lines;
	c->pythons.keeps_native = options->measure.native_python;
	c->stacks = stack_table_new();
	c->origins.stacks = c->stacks;
	c->origins.allowance = &c->target_bytes;
	c->profile = profile_new();
	to_attribution = (struct join_output){attribution_add, &c->attribution};
	c->join = join_new(&to_attribution);
	c->builder = (struct stack_builder){.symbolizer = c->symbolizer,
					    .stacks = c->stacks,
					    .pythons = &c->pythons,
					    .strings = &c->strings,
					    .allowance = &c->target_bytes,
					    .ledger = &c->ledger,
					    .cut = &c->cut};
	if (c->symbolizer && c->stacks && c->profile && c->join &&
	    places_init(&c->places, options->place_mask) == 0 &&
	    attribution_init(&c->attribution,
			     &(struct attribution_parts){&c->processes, c->stacks, c->profile,
							 &c->places, &c->ledger, &c->target_bytes,
							 options->timeline,
							 options->watches_load ? &c->load : NULL},
			     options->measure.waits) == 0) {
		limit_memory(c);
		if (options->measure.max_overhead)
			attribution_limit_stacks(&c->attribution);
		return c;
	}
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
	cpu_time_release(&c->cpu_time);
	join_free(c->join);
	attribution_release(&c->attribution);
	open_calls_release(&c->open_calls);
	open_launches_release(&c->open_launches);
	handovers_release(&c->handovers);
	thread_origins_release(&c->origins);
	places_release(&c->places);
	place_names_release(&c->place_names);
	devices_release(&c->devices);
	gpu_load_release(&c->load);
	pythons_release(&c->pythons);
	intern_release(&c->strings);
	ledger_release(&c->ledger);
	cut_stacks_release(&c->cut);
	free(c->found);
	free(c);
}

struct ledger *collect_ledger(struct collect *c)
{
	return &c->ledger;
}

void collect_set_kallsyms(struct collect *c, int fd)
{
	symbolizer_set_kallsyms(c->symbolizer, fd);
}

struct bounded_caller *collect_calls(struct collect *c)
{
	return symbolizer_calls(c->symbolizer);
}

static void note_error(struct collect *c, int err)
{
	c->ledger.bounds.out_of_memory += err == -ENOMEM;
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

/* Notes the names of processes and threads while they are alive. */
static void note_process(struct collect *c, const struct process *process)
{
	struct process_info info = {.id = process->id, .pid = process->pid};
	char text[256];

	if (!distinguishes(c, PLACE_PROCESS) || place_names_process(&c->place_names, process->id))
		return;
	if (process->visible_pid)
		proc_names_process(collect_calls(c), process->pid, process->comm, text,
				   sizeof(text));
	else
		snprintf(text, sizeof(text), "%s %d", process->comm, (int)process->pid);
	info.name = collect_text(c, text);
	if (info.name)
		place_names_add_process(&c->place_names, &info);
}

/* `comm`: as in proc_names.h, of the thread `tid` of process `pid`. */
static void name_thread(struct collect *c, const struct process *process, pid_t pid, uint32_t tid,
			const char *comm)
{
	struct thread_info info = {.process = process->id, .tid = tid};
	char text[256];

	if (!distinguishes(c, PLACE_THREAD) ||
	    place_names_thread(&c->place_names, process->id, tid))
		return;
	proc_names_thread(pid, (pid_t)tid, comm, text, sizeof(text));
	info.name = collect_text(c, text);
	if (info.name)
		place_names_add_thread(&c->place_names, &info);
}

static void note_thread(struct collect *c, const struct process *process, uint32_t tid)
{
	note_process(c, process);
	name_thread(c, process, process->visible_pid, tid, NULL);
}

static uint32_t place_of(struct collect *c, const struct process *process, uint32_t tid)
{
	struct place place = place_unknown();

	if (!distinguishes(c, PLACE_PROCESS) && !distinguishes(c, PLACE_THREAD))
		return PLACE_NOWHERE;
	note_thread(c, process, tid);
	place.part[PLACE_PROCESS] = process->id;
	place.part[PLACE_THREAD] = tid;
	return places_add(&c->places, &place);
}

/* Records a thread's activity in the timeline, if there is one. */
static void record(struct collect *c, enum timeline_kind kind, uint64_t start_ns,
		   uint64_t duration_ns, uint32_t stack, uint32_t place)
{
	if (c->options.timeline)
		timeline_add(c->options.timeline,
			     &(struct timeline_record){.kind = (uint8_t)kind,
						       .start_ns = start_ns,
						       .duration_ns = duration_ns,
						       .stack = stack,
						       .place = place});
}

/* ---- processes ---- */

void collect_know_tree(struct collect *c)
{
	c->knows_tree = true;
}

void collect_expect_hellos(struct collect *c, const char *library, bool nvtx)
{
	c->library = base_name(library);
	c->nvtx_loads_it = nvtx;
}

static struct process *begin_process(struct collect *c, struct process *process)
{
	if (process)
		process->sent.allowance = &c->target_bytes;
	else
		c->ledger.bounds.out_of_memory++;
	return process;
}

struct process *collect_start_target(struct collect *c, pid_t pid)
{
	struct process *process = begin_process(c, processes_start(&c->processes, pid, 0, false));

	if (process)
		process->is_ours = true;
	return process;
}

struct process *collect_find_process(struct collect *c, pid_t pid)
{
	struct process *process = processes_find(&c->processes, pid);

	return process ? process : begin_process(c, processes_start(&c->processes, pid, 0, false));
}

static void add_call_time(struct collect *c, const struct open_call *call, uint64_t end_ns)
{
	uint64_t ns = end_ns > call->start_ns ? end_ns - call->start_ns : 0;

	c->ledger.calls.timed += !call->taken_ns; /* a call taken out before has been counted */
	c->ledger.calls.timed_ns += ns;
	profile_add(c->profile, ROW_CALL, call->stack, call->place, ns, 0);
	record(c, TIMELINE_CALL, call->start_ns, ns, call->stack, call->place);
}

/* Ends the calls of a process that has ended (0: of all). */
static void end_calls(struct collect *c, uint32_t process, uint64_t now_ns)
{
	struct open_call call;
	uint32_t position = 0;

	while (open_calls_take(&c->open_calls, process, now_ns, &position, &call)) {
		c->ledger.calls.unfinished++;
		add_call_time(c, &call, now_ns);
	}
}

static void end_process(struct collect *c, struct process *process, uint64_t time_ns)
{
	end_calls(c, process->id, time_ns);
	processes_end(&c->processes, process, time_ns);
}

static struct process *on_fork(struct collect *c, const struct process_event *event)
{
	struct process *parent = processes_find(&c->processes, event->parent);
	struct process *old;

	if (parent && event->pid == event->parent) {
		parent->threads++;
		return parent;
	}
	/* a previous process may have had the pid, and its exit may have been lost */
	old = processes_find(&c->processes, event->pid);
	if (old)
		end_process(c, old, event->time_ns);
	if (!parent)
		return NULL;
	return begin_process(c, processes_fork(&c->processes, parent, event->pid, event->time_ns));
}

static struct process *on_exec(struct collect *c, struct process *old,
			       const struct process_event *event)
{
	struct process *process;

	end_process(c, old, event->time_ns);
	process =
		begin_process(c, processes_start(&c->processes, event->pid, event->time_ns, true));
	if (!process)
		return NULL;
	if (event->comm[0])
		process->comm = collect_text(c, event->comm);
	cpu_time_exec(&c->cpu_time, old, process);
	return process;
}

static void on_exit_thread(struct collect *c, struct process *process,
			   const struct process_event *event)
{
	if (process->threads > 0)
		process->threads--;
	if (process->threads == 0)
		end_process(c, process, event->time_ns);
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
	if (array_make_room(&c->found, c->found_count, &c->found_capacity, sizeof(found)))
		c->found[c->found_count++] = found;
}

static void on_map(struct collect *c, struct process *process, const struct code_mapping *mapping)
{
	const char *name = base_name(mapping->path);

	process->has_driver |= starts_with(name, "libcuda.so");
	process->has_injection |= c->library && strcmp(name, c->library) == 0;
	note_error(c, symbolizer_map(c->symbolizer, process->space, mapping));
	look_for_python(c, process, mapping);
}

bool collect_next_python(struct collect *c, struct python_found *found)
{
	if (c->found_count == 0)
		return false;
	*found = c->found[--c->found_count];
	return true;
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
	if (!process)
		return NULL;
	switch (event->type) {
	case PROCESS_EXEC:
		return on_exec(c, process, event);
	case PROCESS_COMM:
		name_thread(c, process, process->pid, (uint32_t)event->tid, event->comm);
		break;
	case PROCESS_MAP:
		on_map(c, process, &event->mapping);
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

/* The process of a stack; NULL: still our own code, before its exec. */
static struct process *process_of(struct collect *c, const struct stack_event *event)
{
	struct process *process =
		processes_find_at(&c->processes, (pid_t)event->pid, event->time_ns);

	if (!process)
		process = collect_find_process(c, (pid_t)event->pid);
	return process && !process->is_ours ? process : NULL;
}

static void keep_sample(struct collect *c, uint64_t time_ns, uint32_t stack, uint32_t place)
{
	profile_add(c->profile, ROW_CPU, stack, place, c->options.sample_ns, 0);
	record(c, TIMELINE_CPU_SAMPLE, time_ns, c->options.sample_ns, stack, place);
}

/* Gets the samples of threads that work for others. */
static void keep_handed_sample(void *collect, const struct handovers_sample *sample, uint32_t below)
{
	struct collect *c = collect;
	uint32_t stack = sample->stack;

	if (below == HANDOVERS_UNKNOWN) {
		c->ledger.cpu.apart++;
		stack = thread_origins_below(&c->origins, sample->process, sample->tid, stack);
	} else {
		c->ledger.cpu.handed++;
		stack = stack_table_append(c->stacks, below, stack);
	}
	keep_sample(c, sample->time_ns, stack, sample->place);
}

/* A thread that works for others; its launches say for whom. */
static bool is_handed_to(const struct collect *c, const struct process *process,
			 const struct stack_event *event)
{
	return process->has_spoken && (starts_with(event->comm, GPU_HANDED_TO_PREFIX) ||
				       handovers_has(&c->handovers, process->id, event->tid));
}

static void add_sample(struct collect *c, struct process *process, const struct stack_event *event,
		       uint32_t stack, bool is_whole)
{
	uint32_t place = place_of(c, process, event->tid);

	c->ledger.cpu.samples++;
	c->ledger.cpu.whole += is_whole;
	cpu_time_sampled(&c->cpu_time, process, c->options.sample_ns);
	if (is_handed_to(c, process, event))
		handovers_add(&c->handovers, &(struct handovers_sample){.time_ns = event->time_ns,
									.process = process->id,
									.tid = event->tid,
									.stack = stack,
									.place = place});
	else
		keep_sample(c, event->time_ns,
			    thread_origins_below(&c->origins, process->id, event->tid, stack),
			    place);
}

/* A probe saw the entry of a launch function. */
static void add_launch_probe(struct collect *c, const struct process *process,
			     const struct stack_event *event, uint32_t stack, bool is_whole)
{
	bool is_driver = cuda_function_is_driver(event->launch_function);

	note_thread(c, process, event->tid);
	stack = thread_origins_below(&c->origins, process->id, event->tid, stack);
	c->ledger.launches.by_probe++;
	c->ledger.launches.whole += is_whole;
	note_error(c, join_probe(c->join, process->id, event->tid, event->time_ns,
				 is_driver ? FAMILY_DRIVER : FAMILY_RUNTIME,
				 attribution_origin(&c->attribution, stack, event->tid)));
}

bool collect_snapshot(struct collect *c, const struct stack_snapshot *snapshot, const char *api)
{
	const struct stack_event *event = &snapshot->event;
	struct process *process = process_of(c, event);
	uint32_t stack;
	bool is_whole;

	if (!process)
		return false;
	stack = stack_builder_snapshot(&c->builder, process, snapshot, api, &is_whole);
	if (api)
		add_launch_probe(c, process, event, stack, is_whole);
	else
		add_sample(c, process, event, stack, is_whole);
	return true;
}

void collect_thread(struct collect *c, const struct stack_snapshot *snapshot)
{
	const struct stack_event *event = &snapshot->event;
	struct process *process = process_of(c, event);

	if (process)
		note_error(c, thread_origins_add(
				      &c->origins, process->id, event->tid, event->flags,
				      stack_builder_creator(&c->builder, process, snapshot)));
}

void collect_python_code(struct collect *c, const struct stack_python_code *code)
{
	note_error(c, pythons_learn(&c->pythons, code));
}

void collect_addresses(struct collect *c, const struct stack_event *event, const __u64 *frames,
		       const char *api)
{
	struct process *process = process_of(c, event);
	bool is_whole = !(event->flags & STACK_EVENT_TRUNCATED);
	uint32_t stack;

	if (!process || event->kernel_frames > STACK_EVENT_MAX_FRAMES ||
	    event->user_frames > STACK_BUILDER_UNWOUND)
		return;
	stack = stack_builder_addresses(&c->builder, process, event, frames, api);
	if (api)
		add_launch_probe(c, process, event, stack, is_whole);
	else
		add_sample(c, process, event, stack, is_whole);
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

	if (process && (is_before || !process->is_ours))
		cpu_time_charge(&c->cpu_time, process, is_before ? time_ns : CPU_TIME_END, total_ns,
				is_before);
}

void collect_read_clocks(struct collect *c, uint64_t now_ns, bool is_last)
{
	uint32_t pid, left = is_last ? UINT32_MAX : CLOCKS_AT_ONCE;
	uint64_t value;

	if (is_last)
		c->clock_position = 0;
	while (left-- > 0) {
		if (!id_map_next(&c->processes.by_pid, &c->clock_position, &pid, &value)) {
			c->clock_position = 0;
			return;
		}
		cpu_time_read(&c->cpu_time, (struct process *)(uintptr_t)value, now_ns, is_last);
	}
}

void collect_waited_for(struct collect *c, uint64_t used_ns)
{
	c->waited_ns = used_ns;
}

/* What no sample stands for, under its program's name. */
static void add_rest(struct collect *c, const struct program_time *program)
{
	struct place place = place_unknown();
	uint32_t stack = stack_table_push_text(c->stacks, STACK_EMPTY, FRAME_MARK,
					       program->name ? program->name : MARK_NO_PROGRAM);

	stack = stack_table_push_text(c->stacks, stack, FRAME_MARK, MARK_NOT_SAMPLED);
	if (program->process)
		place.part[PLACE_PROCESS] = program->process;
	profile_add_several(c->profile, ROW_CPU, stack, places_add(&c->places, &place),
			    (program->rest_ns + c->options.sample_ns / 2) / c->options.sample_ns,
			    program->rest_ns);
}

static void finish_cpu_time(struct collect *c)
{
	struct ledger_cpu *cpu = &c->ledger.cpu;

	if (!c->options.measure.samples_cpu)
		return;
	cpu->not_sampled_ns =
		cpu_time_finish(&c->cpu_time, c->waited_ns, cpu->in_calls * c->options.sample_ns,
				c->options.sample_ns);
	cpu->used_ns = c->cpu_time.charged_ns;
	for (uint32_t i = 0; i < c->cpu_time.count; i++)
		if (c->cpu_time.programs[i].rest_ns)
			add_rest(c, &c->cpu_time.programs[i]);
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
	struct process *process = process_of(c, event);
	struct open_call call = {.start_ns = event->time_ns, .tid = event->tid};
	bool is_whole;
	struct code_ref kernel;

	if (!process)
		return;
	c->builder.has_breakpoints = true;
	call.process = process->id;
	call.place = place_of(c, process, event->tid);
	call.stack = stack_builder_snapshot(&c->builder, process, snapshot, api, &is_whole);
	call.stack = thread_origins_below(&c->origins, process->id, event->tid, call.stack);
	call.stack = compose_call(
		&c->attribution.compose, call.stack,
		locate_kernel(c, process, snapshot, kernel_register, &kernel) ? &kernel : NULL);
	note_error(c, open_calls_enter(&c->open_calls, &call));
}

void collect_call_end(struct collect *c, const struct stack_event *event, uint64_t start_ns,
		      const char *api)
{
	struct process *process = process_of(c, event);
	struct open_call call = {.start_ns = start_ns};

	if (!process)
		return;
	if (!open_calls_leave(&c->open_calls, event->tid, start_ns, &call)) {
		/* its entry was dropped: its time counts under the function alone */
		c->ledger.calls.without_stack++;
		call.place = place_of(c, process, event->tid);
		call.stack = compose_call(
			&c->attribution.compose,
			stack_table_push_text(c->stacks, STACK_EMPTY, FRAME_API, api), NULL);
	}
	add_call_time(c, &call, event->time_ns);
}

/* ---- hello ---- */

static bool is_of_our_user(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return geteuid() == 0 || stat(path, &st) != 0 || st.st_uid == geteuid();
}

/* It is in another pid namespace than we. */
static bool is_foreign(const struct collect *c, const struct gpu_event_hello *hello)
{
	return hello->pid_namespace && hello->pid_namespace != c->pid_namespace.id;
}

static bool is_in(struct process *process, const struct gpu_event_hello *hello)
{
	if (!process->pid_namespace.id)
		process->pid_namespace = pid_namespace_of(process->pid);
	return process->pid_namespace.id == hello->pid_namespace &&
	       process->pid_namespace.inner == (pid_t)hello->pid;
}

/*
 * The process of the tree that says hello. NULL: none, or, if `*is_hidden`, it may be one in a pid
 * namespace that we may not read.
 */
static struct process *find_hello_process(const struct collect *c,
					  const struct gpu_event_hello *hello, bool *is_hidden)
{
	struct process *newest = NULL;
	uint32_t position = 0, pid;
	uint64_t value;

	if (!is_foreign(c, hello))
		return processes_find_last(&c->processes, (pid_t)hello->pid);
	while (id_map_next(&c->processes.by_pid, &position, &pid, &value)) {
		struct process *process = (struct process *)(uintptr_t)value;

		/* if an exit was lost, the newer one has the pid now */
		if (is_in(process, hello) && (!newest || newest->id < process->id))
			newest = process;
		*is_hidden |= process->pid_namespace.id == PID_NAMESPACE_HIDDEN;
	}
	return newest;
}

/* Where the kernel reports no tree: whether to accept a program as this process. */
static bool may_be(const struct collect *c, const struct gpu_event_hello *hello)
{
	if (is_foreign(c, hello))
		return true;
	return (pid_t)hello->pid > 0 && is_of_our_user((pid_t)hello->pid);
}

/* Known only from the pipe. Its pid may be another process's here, if its pid namespace is not
 * ours. */
static struct process *start_apart(struct collect *c, const struct gpu_event_hello *hello)
{
	pid_t pid = (pid_t)hello->pid;
	struct process *process = begin_process(
		c, processes_start_apart(&c->processes, pid, is_foreign(c, hello) ? 0 : pid));

	if (!process || process->visible_pid)
		return process;
	process->comm = collect_text(c, base_name(hello->executable));
	if (!process->comm)
		process->comm = "";
	return process;
}

struct process *collect_hello(struct collect *c, const struct gpu_event_hello *hello)
{
	struct process *process = NULL;
	bool is_hidden = false;

	if (c->knows_tree)
		process = find_hello_process(c, hello, &is_hidden);
	else
		is_hidden = may_be(c, hello);
	if (!process && !is_hidden)
		return NULL;
	c->hidden_hellos += !process;
	/* each program numbers its own things, so two programs in one process are kept apart */
	if (!process || process->has_spoken)
		process = start_apart(c, hello);
	if (!process)
		return NULL;
	process->has_spoken = true;
	process->tracers++;
	process->is_traced = hello->wants_ack && !hello->is_off;
	note_process(c, process);
	return process;
}

void collect_goodbye(struct collect *c, struct process *process, uint64_t now_ns)
{
	process->tracers--;
	process->is_traced = false;
	if (process->is_apart)
		end_process(c, process, now_ns);
}

/* ---- what the target sends ---- */

static int take_code(struct process *process, const struct gpu_event_code *e)
{
	struct code_mapping mapping = {.start = e->start,
				       .end = e->end,
				       .file_offset = e->file_offset,
				       .dev_major = e->dev_major,
				       .dev_minor = e->dev_minor,
				       .inode = e->inode,
				       .path = e->path};

	return target_stacks_add_code(&process->sent, &mapping);
}

static int take_pycode(struct collect *c, struct process *process, const struct gpu_event_pycode *e)
{
	struct target_python python = {
		.name = collect_text(c, e->qualname[0] ? e->qualname : e->name),
		.file = collect_text(c, e->path),
	};

	if (!python.name || !python.file)
		return -ENOSPC;
	return target_stacks_set_python(&process->sent, e->id, &python);
}

/* "nvtx:message", "nvtx:domain:message" */
static int take_nvtx(struct collect *c, struct process *process, const struct gpu_event_nvtx *e)
{
	const char *interned;
	char *text = NULL;

	if (asprintf(&text, "nvtx:%s%s%s", e->domain, e->domain[0] ? ":" : "", e->name) < 0)
		return -ENOMEM;
	interned = collect_text(c, text);
	free(text);
	return interned ? target_stacks_set_nvtx(&process->sent, e->id, interned) : -ENOSPC;
}

/* Ids lead to the stack and to a flag: whether it is whole. */
#define WHOLE_STACK (UINT32_C(1) << 31)
_Static_assert(STACK_TABLE_MAX < WHOLE_STACK, "a bit is free");

/* False: the process sent no such stack. */
static bool find_stack(const struct process *process, uint32_t id, uint32_t *stack, bool *is_whole)
{
	if (!id || !target_stacks_get(&process->sent, id, stack))
		return false;
	*is_whole = *stack & WHOLE_STACK;
	*stack &= ~WHOLE_STACK;
	return true;
}

static int take_stack(struct collect *c, struct process *process, const struct gpu_event_stack *e)
{
	bool is_worker = e->handed_to && e->handed_to[0], is_whole = true;
	uint32_t outer = STACK_EMPTY, below = HANDOVERS_UNKNOWN, stack;

	if (is_worker && find_stack(process, e->handed_from, &outer, &is_whole))
		below = outer = stack_builder_handed(&c->builder, outer, e->handed_to);
	if (is_worker)
		note_error(c, target_stacks_set_handed(&process->sent, e->id, below));
	stack = stack_builder_captured(&c->builder, process, outer, e);
	is_whole &= e->is_whole && !e->is_unordered;
	return target_stacks_set(&process->sent, e->id, stack | (is_whole ? WHOLE_STACK : 0));
}

/* The launch shows whose work its thread does, if it works for others. */
static void note_handover(struct collect *c, const struct process *process,
			  const struct gpu_event_launch *e)
{
	uint32_t below;

	if (!target_stacks_get_handed(&process->sent, e->stack_id, &below))
		return;
	handovers_launch(&c->handovers, process->id, e->tid, e->time_ns, below);
	if (below == HANDOVERS_UNKNOWN)
		c->ledger.launches.apart++;
	else
		c->ledger.launches.handed++;
}

/* A stack that a thread sent, below the one that created the thread, if it is not handed over. */
static uint32_t below_origin(struct collect *c, const struct process *process, uint32_t tid,
			     uint32_t id, uint32_t stack)
{
	uint32_t below;

	if (target_stacks_get_handed(&process->sent, id, &below) && below != HANDOVERS_UNKNOWN)
		return stack;
	return thread_origins_below(&c->origins, process->id, tid, stack);
}

bool collect_wants_thread(struct collect *c, const struct process *process,
			  const struct gpu_event *event)
{
	uint32_t tid = event->type == GPU_EVENT_LAUNCH ? event->launch.tid
		       : event->type == GPU_EVENT_WAIT ? event->wait.tid
						       : 0;

	return c->options.measure.thread_origin && tid &&
	       thread_origins_ask(&c->origins, process->id, tid);
}

/* For the timeline: a launch call begins. */
static void begin_launch(struct collect *c, const struct process *process,
			 const struct gpu_event_launch *e, uint32_t stack)
{
	struct timeline_record launch = {.kind = TIMELINE_LAUNCH,
					 .start_ns = e->time_ns,
					 .stack = stack == LAUNCH_UNKNOWN ? STACK_EMPTY : stack,
					 .correlation = e->correlation_id};

	if (!c->options.timeline)
		return;
	if (stack == LAUNCH_SKIPPED)
		launch.stack =
			stack_table_push_text(c->stacks, STACK_EMPTY, FRAME_MARK, MARK_SKIPPED);
	launch.place = place_of(c, process, e->tid);
	note_error(c, open_launches_begin(&c->open_launches, process->id, &launch));
}

static void take_launch_end(struct collect *c, const struct process *process,
			    const struct gpu_event_launch_end *e)
{
	saturated_add(&c->load.launch_ns, e->duration_ns);
	if (c->options.timeline)
		open_launches_end(&c->open_launches, place_of(c, process, e->tid),
				  e->correlation_id, e->duration_ns);
}

/*
 * Kernel launches are checked by number, in gpu_pipe. A graph with conditional nodes may have
 * nothing to do, and it is not known of each of its nodes which launch it is of.
 */
static void note_debt(struct collect *c, const struct process *process,
		      const struct gpu_event_launch *e)
{
	bool is_other = e->flags & GPU_LAUNCH_IS_OTHER;

	if (is_other && (e->flags & GPU_LAUNCH_OWES))
		join_owe(c->join, process->id, e->correlation_id, JOIN_OWES_COPY);
	else if (!is_other && (e->flags & GPU_LAUNCH_IS_GRAPH) &&
		 !graph_nodes_has_bodies(&c->attribution.graph_nodes))
		join_owe(c->join, process->id, e->correlation_id, JOIN_OWES_GRAPH);
}

/* The stack of a launch; LAUNCH_UNKNOWN: there is none here. */
static uint32_t stack_of(struct collect *c, const struct process *process,
			 const struct gpu_event_launch *e)
{
	uint32_t stack;
	bool is_whole;

	if (e->flags & GPU_LAUNCH_SKIPPED && c->options.measure.max_overhead) {
		c->ledger.launches.skipped++;
		return LAUNCH_SKIPPED;
	}
	if (!find_stack(process, e->stack_id, &stack, &is_whole))
		return LAUNCH_UNKNOWN;
	c->ledger.launches.with_stack++;
	c->ledger.launches.whole += is_whole;
	note_handover(c, process, e);
	return below_origin(c, process, e->tid, e->stack_id, stack);
}

static int take_launch(struct collect *c, struct process *process, const struct gpu_event_launch *e)
{
	int is_graph = e->flags & GPU_LAUNCH_IS_GRAPH;
	bool is_other = e->flags & GPU_LAUNCH_IS_OTHER;
	uint32_t stack;
	int err;

	note_thread(c, process, e->tid);
	c->ledger.launches.kernels += !is_other;
	stack = stack_of(c, process, e);
	begin_launch(c, process, e, stack);
	if (stack == LAUNCH_UNKNOWN && !is_other) {
		/* its probe may provide a stack */
		err = join_launch(c->join, process->id, e->tid, e->time_ns, e->correlation_id,
				  e->family == GPU_LAUNCH_DRIVER ? FAMILY_DRIVER : FAMILY_RUNTIME,
				  is_graph);
	} else {
		uint32_t origin = attribution_origin_of_many(&c->attribution, stack, e->tid,
							     e->stands_for ? e->stands_for : 1);

		err = join_launch_with_stack(c->join, process->id, e->time_ns, e->correlation_id,
					     is_graph, origin);
	}
	note_debt(c, process, e);
	return err;
}

/* The timeline's number for the kernel's launch shape. */
static uint32_t shape_of(const struct collect *c, const struct gpu_event_kernel *e)
{
	struct timeline_shape shape = {.static_shared = e->static_shared,
				       .dynamic_shared = e->dynamic_shared,
				       .registers = e->registers};

	if (!c->options.timeline)
		return 0;
	memcpy(shape.grid, e->grid, sizeof(shape.grid));
	memcpy(shape.block, e->block, sizeof(shape.block));
	return timeline_number_shape(c->options.timeline, &shape);
}

/*
 * The launch of a graph's node, by correlation id. CUPTI gives work in the body of a conditional
 * node an id of no launch, or none: it is of the launch of the graph around it.
 */
static uint32_t launch_of_node(struct collect *c, const struct gpu_operation *o)
{
	struct graph_nodes *nodes = &c->attribution.graph_nodes;
	uint32_t launch;

	if (o->correlation_id && join_knows(c->join, o->process, o->correlation_id)) {
		graph_nodes_launched(nodes, o->process, (uint32_t)(o->graph_node >> 32),
				     o->start_ns, o->correlation_id);
		return o->correlation_id;
	}
	launch = graph_nodes_launch(nodes, o->process, o->graph_node,
				    o->bad_time ? GRAPH_NODES_NEWEST : o->start_ns);
	return launch ? launch : o->correlation_id;
}

/*
 * CUPTI gives each launch a correlation id from 1 on: another node without one was launched by a
 * kernel, which no thread of the program did.
 */
static int take_operation(struct collect *c, struct gpu_operation *o)
{
	if (o->graph_node == 0)
		return join_operation(c->join, o->process, o);
	if (graph_nodes_has_bodies(&c->attribution.graph_nodes))
		o->correlation_id = launch_of_node(c, o);
	if (o->correlation_id)
		return join_operation(c->join, o->process, o);
	/* in a conditional body it may be of a launch that was lost */
	attribution_add(&c->attribution,
			graph_nodes_has_bodies(&c->attribution.graph_nodes) ? LAUNCH_UNKNOWN
									    : LAUNCH_BY_KERNEL,
			0, o);
	return 0;
}

static int take_kernel(struct collect *c, const struct process *process,
		       const struct gpu_event_kernel *e, const char *name)
{
	return take_operation(c, &(struct gpu_operation){.correlation_id = e->correlation_id,
							 .start_ns = e->start_ns,
							 .duration_ns = e->duration_ns,
							 .name = name,
							 .work = GPU_WORK_KERNEL,
							 .process = process->id,
							 .device = e->device_id,
							 .context = e->context_id,
							 .stream = e->stream_id,
							 .graph_node = e->graph_node_id,
							 .bad_time = e->bad_time,
							 .outside = (uint8_t)e->outside,
							 .shape = shape_of(c, e)});
}

/* A device's own memory; the work itself takes the way of all operations. */
static void watch_memory(struct collect *c, const struct process *process,
			 const struct gpu_event_work *e)
{
	int64_t bytes = e->bytes > INT64_MAX ? INT64_MAX : (int64_t)e->bytes;

	if (!c->options.watches_load || !gpu_memory_is_device(e->destination_memory) ||
	    (e->work != GPU_WORK_ALLOC && e->work != GPU_WORK_FREE))
		return;
	gpu_load_allocate(&c->load, process->id, e->device_id,
			  e->work == GPU_WORK_ALLOC ? bytes : -bytes);
}

static int take_work(struct collect *c, const struct process *process,
		     const struct gpu_event_work *e)
{
	struct gpu_operation operation = {
		.correlation_id = e->correlation_id,
		.start_ns = e->start_ns,
		.duration_ns = e->duration_ns,
		.bytes = e->bytes,
		.work = e->work,
		.process = process->id,
		.device = e->device_id,
		.context = e->context_id,
		.stream = e->stream_id,
		.graph_node = e->graph_node_id,
		.bad_time = e->bad_time,
		.staged = gpu_work_is_staged(e->work, e->source_memory, e->destination_memory),
		.outside = (uint8_t)e->outside};

	watch_memory(c, process, e);
	if (e->work == GPU_WORK_ALLOC && gpu_memory_is_unified(e->destination_memory) &&
	    !c->options.measure.unified_memory)
		c->ledger.gpu.unwatched++;
	if (!gpu_work_has_no_launch(e->work))
		return take_operation(c, &operation);
	attribution_add(&c->attribution, LAUNCH_NONE_NEEDED, 0, &operation);
	return 0;
}

static int take_node(struct collect *c, const struct process *process,
		     const struct gpu_event_node *e)
{
	struct graph_nodes *nodes = &c->attribution.graph_nodes;
	uint32_t stack;
	bool is_whole;

	if (e->origin && e->is_moved)
		return graph_nodes_moved(nodes, process->id, e->id, e->origin);
	if (e->origin)
		return graph_nodes_cloned(nodes, process->id, e->tid, e->id, e->origin);
	if (!find_stack(process, e->stack_id, &stack, &is_whole))
		stack = GRAPH_NODES_UNKNOWN;
	return graph_nodes_made(nodes, process->id, e->tid, e->id, e->time_ns, stack);
}

static int take_graph(struct collect *c, const struct process *process,
		      const struct gpu_event_graph *e)
{
	struct graph_nodes *nodes = &c->attribution.graph_nodes;

	if (e->holder)
		return graph_nodes_body(nodes, process->id, e->number, e->holder, e->time_ns);
	graph_nodes_launched(nodes, process->id, e->number, e->time_ns, e->correlation_id);
	return 0;
}

static void take_sum(struct collect *c, struct process *process, const struct gpu_event_sum *e)
{
	const struct work_sum sum = {.key = {.device = e->device_id,
					     .context = e->context_id,
					     .stream = e->stream_id,
					     .work = e->work},
				     .count = e->count,
				     .ns = e->ns,
				     .bytes = e->bytes};

	process_count(process, &process->reported, &c->target_bytes, &sum);
}

static void take_wait(struct collect *c, struct process *process, const struct gpu_event_wait *e)
{
	uint32_t stack = STACK_EMPTY;
	bool is_whole;

	if (find_stack(process, e->stack_id, &stack, &is_whole))
		stack = below_origin(c, process, e->tid, e->stack_id, stack);
	note_thread(c, process, e->tid); /* its name is readable only while it lives */
	attribution_add_wait(&c->attribution, process, stack, e);
}

static int take_gpu_event(struct collect *c, struct process *process, const struct gpu_event *event,
			  const char *kernel)
{
	switch (event->type) {
	case GPU_EVENT_CODE:
		return take_code(process, &event->code);
	case GPU_EVENT_PYCODE:
		return take_pycode(c, process, &event->pycode);
	case GPU_EVENT_NVTX:
		return take_nvtx(c, process, &event->nvtx);
	case GPU_EVENT_STACK:
		return take_stack(c, process, &event->stack);
	case GPU_EVENT_LAUNCH:
		return take_launch(c, process, &event->launch);
	case GPU_EVENT_LAUNCH_END:
		take_launch_end(c, process, &event->launch_end);
		return 0;
	case GPU_EVENT_KERNEL:
		return take_kernel(c, process, &event->kernel, kernel);
	case GPU_EVENT_WORK:
		return take_work(c, process, &event->work);
	case GPU_EVENT_NODE:
		return take_node(c, process, &event->node);
	case GPU_EVENT_VOID:
		if (event->voids.correlation_id)
			join_owe(c->join, process->id, event->voids.correlation_id,
				 JOIN_OWES_NOTHING);
		return 0;
	case GPU_EVENT_GRAPH:
		return take_graph(c, process, &event->graph);
	case GPU_EVENT_SUM:
		take_sum(c, process, &event->sum);
		return 0;
	case GPU_EVENT_DEVICE:
		return devices_describe(&c->devices, process->id, &event->device);
	case GPU_EVENT_CONTEXT:
		return devices_note_context(&c->devices, process->id, &event->context);
	case GPU_EVENT_WAIT:
		take_wait(c, process, &event->wait);
		return 0;
	default:
		return 0;
	}
}

void collect_gpu_event(struct collect *c, struct process *process, const struct gpu_event *event,
		       const char *kernel)
{
	note_error(c, take_gpu_event(c, process, event, kernel));
}

/* ---- time ---- */

/* Where GPU work should have been traced, or may have been, and no hello came. */
static void count_untraced(struct collect *c, const struct process *process)
{
	struct ledger_processes *l = &c->ledger.processes;

	if (!c->library || process->has_spoken || process->lacks_gpu_time)
		return;
	if (process->has_injection && !c->nvtx_loads_it)
		l->never_started++;
	else if (process->has_driver)
		l->untraced++;
}

/* Some of these did say hello; which ones is not known. */
static void discount_hidden(struct collect *c)
{
	struct ledger_processes *l = &c->ledger.processes;
	uint64_t *count = c->nvtx_loads_it ? &l->untraced : &l->never_started;

	*count -= *count < c->hidden_hellos ? *count : c->hidden_hellos;
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
	gpu_load_forget(&c->load, process->id);
	while (c->options.measure.devices && (sum = work_tally_next(&process->counted, &at)))
		devices_use(&c->devices, process->id, sum->key.device);
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
	attribution_advance(&c->attribution, until_ns);
	handovers_advance(&c->handovers, until_ns);
	while ((process = processes_take_settled(&c->processes, until_ns)))
		settle(c, process);
}

/* What only events need. */
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

/* Launches without a record, apart from records that are known to be lost. */
static void note_unanswered(struct collect *c)
{
	struct join_stats stats = join_stats(c->join);
	uint64_t known = c->ledger.gpu.dropped;

	saturated_add(&known, c->ledger.gpu.missing);
	c->ledger.launches.copies_unended = less(stats.copies_without_record, &known);
	c->ledger.launches.graphs_unended = less(stats.graphs_without_record, &known);
}

void collect_finish(struct collect *c, uint64_t now_ns)
{
	struct process *process;

	if (!c->join)
		return;
	end_calls(c, 0, now_ns);
	join_finish(c->join);
	note_unanswered(c);
	attribution_finish(&c->attribution);
	while ((process = processes_take_any(&c->processes)))
		settle(c, process);
	discount_hidden(c);
	finish_cpu_time(c);
	c->ledger.bounds.stacks = stack_table_refused(c->stacks);
	c->ledger.bounds.refused = c->target_bytes.refused;
	free_passing(c);
}

struct collected collect_results(struct collect *c)
{
	return (struct collected){.stacks = c->stacks,
				  .profile = c->profile,
				  .places = &c->places,
				  .place_names = &c->place_names,
				  .devices = &c->devices,
				  .symbolizer = c->symbolizer,
				  .timeline = c->options.timeline,
				  .memory = &c->memory,
				  .ledger = &c->ledger,
				  .cut = &c->cut,
				  .load = c->options.watches_load ? &c->load : NULL};
}
