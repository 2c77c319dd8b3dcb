// SPDX-License-Identifier: MIT
#include "profiler/join/collect_private.h"

#include <string.h>
#include "profiler/model/pseudo_frames.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/text.h"

#define CLOCKS_AT_ONCE 256u /* clocks of processes read at once, in some 100 us */

/* ---- CPU time by the kernel's account ---- */

void collect_cpu_used(struct collect *c, pid_t pid, uint64_t time_ns, uint64_t total_ns,
		      bool is_before)
{
	struct process *process = processes_find_at(&c->processes, pid, time_ns);

	/* also charged after the final reading, which missed the process's end */
	if (process && (is_before || process->source != PROCESS_OURS) &&
	    !time_range_is_over(&c->time_range, process->began_ns))
		cpu_time_charge(&c->cpu_time, process, is_before ? time_ns : CPU_TIME_END, total_ns,
				is_before);
	/* the end of some threads may be missed while attaching, so end the process here */
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
	process->gpu.has_end_state = true;
	process->gpu.has_device = has_device;
	if (opened >
	    process->gpu
		    .opened) /* the process may have closed devices that an earlier look found */
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

/* Returns the stack of a mark below a program's name, which may be NULL. */
static struct stack_id stack_of_program(struct collect *c, const char *name, const char *mark)
{
	struct stack_id stack = stack_table_push_text(c->stacks, STACK_EMPTY, FRAME_MARK,
						      name ? name : PSEUDO_NO_PROGRAM);

	return stack_table_push_text(c->stacks, stack, FRAME_MARK, mark);
}

/* Adds CPU time without samples, under its program's name. */
static void add_rest(struct collect *c, const struct program_time *program)
{
	struct place place = place_unknown();
	struct stack_id stack = stack_of_program(c, program->name, PSEUDO_NOT_SAMPLED);

	if (program->process)
		place.part[PLACE_PROCESS] = program->process;
	profile_add_time(c->profile, ROW_CPU, stack, places_add(&c->places, &place),
			 program->rest_ns);
}

void collect_finish_cpu_time(struct collect *c, uint64_t now_ns)
{
	struct ledger_cpu *cpu = &c->ledger.cpu;
	bool is_part = c->time_range.from_ns || time_range_is_over(&c->time_range, now_ns);

	/* unknown for time ranges that are fixed afterwards */
	if (!c->options.measure.samples_cpu || c->has_no_cpu_time || c->options.last_ns ||
	    c->options.measure.ranges || (c->time_range.from_ns && !c->has_begun_cpu_time))
		return;
	cpu->not_sampled_ns +=
		cpu_time_finish(&c->cpu_time, is_part ? 0 : c->waited_ns,
				cpu->in_calls * c->options.sample_ns, c->options.sample_ns);
	cpu->used_ns = c->cpu_time.charged_ns;
	for (uint32_t i = 0; i < c->cpu_time.programs.count; i++)
		if (c->cpu_time.programs.list[i].rest_ns)
			add_rest(c, &c->cpu_time.programs.list[i]);
}

/* ---- time off the CPU ---- */

/*
 * Returns the stack of a thread that the profiler or the driver started. Returns NULL for the
 * program's threads.
 */
static struct stack_id *find_internal_stack(struct collect *c)
{
	static const char *const drivers[] = {"libcuda.so", "libcupti.so", "libnvidia-",
					      "libnvperf_"};
	const char *path = stack_builder_start_module(&c->builder);
	const char *name = path ? base_name(path) : "";

	if (stack_builder_is_library(&c->builder, name))
		return &c->stack_of_profile;
	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (starts_with(name, drivers[i]))
			return &c->stack_of_driver;
	return NULL;
}

static void count_internal(struct collect *c, struct stack_id stack, uint64_t ns)
{
	if (same_id(stack, STACK_EMPTY))
		return;
	if (same_id(stack, c->stack_of_profile))
		saturated_add(&c->ledger.wall.of_profile_ns, ns);
	else if (same_id(stack, c->stack_of_driver))
		saturated_add(&c->ledger.wall.of_driver_ns, ns);
}

/* Return the stack of a blocked or runnable thread, below the one that it left the CPU with. */
static struct stack_id stack_blocked(struct collect *c, struct stack_id stack, uint32_t kind,
				     uint32_t file_type)
{
	char text[OFF_CPU_FRAME_BYTES];
	const char *kept;

	off_cpu_frame(kind, file_type, text);
	kept = collect_text(c, text);
	return stack_table_push_text(c->stacks, stack, FRAME_WAIT,
				     kept ? kept : PSEUDO_BLOCKED "other]");
}

static struct stack_id stack_runnable(struct collect *c, struct stack_id stack)
{
	return stack_table_push_text(c->stacks, stack, FRAME_WAIT, PSEUDO_RUNNABLE);
}

/* Receiver of a thread's time off the CPU. */
struct off_cpu_target {
	struct collect *collect;
	const struct process *process;
	uint32_t tid;
	struct place_id place;
	uint64_t left_ns;     /* start of the time; 0 for sums */
	struct stack_id most; /* stack that got most of the distributed time; STACK_EMPTY: none */
	uint64_t most_ns;
};

static void add_off_cpu_row(const struct off_cpu_target *t, struct stack_id stack, uint64_t from_ns,
			    uint64_t ns)
{
	profile_add(t->collect->profile, ROW_WAIT, stack, t->place, ns, 0);
	if (process_has_spoken(t->process)) /* otherwise it does not report its waits for a GPU */
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

/* Adds time off the CPU below the stack that the thread left the CPU with. */
static void add_off_cpu(const struct off_cpu_target *t, struct stack_id stack,
			const struct off_cpu_times *times)
{
	struct collect *c = t->collect;
	/* otherwise they are for idle times alone */
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
	count_internal(c, stack, saturated_sum(times->blocked_ns, times->runnable_ns));
}

void collect_off_cpu(struct collect *c, const struct stack_snapshot *snapshot)
{
	const struct stack_event *event = &snapshot->event;
	struct process *process = collect_process_of(c, event);
	const struct thread_use use = collect_use_of(event);
	struct off_cpu_departure departure;
	struct stack_id stack, *internal;
	bool is_whole;

	if (!process)
		return;
	stack = stack_builder_snapshot(&c->builder, process, snapshot, NULL, &is_whole);
	internal = find_internal_stack(c);
	if (internal)
		*internal = stack = stack_table_push_text(c->stacks, STACK_EMPTY, FRAME_MARK,
							  internal == &c->stack_of_profile
								  ? PSEUDO_THREADS_OF_PROFILE
								  : PSEUDO_THREADS_OF_DRIVER);
	else
		stack = thread_origins_below(&c->origins, process->id, event->tid, stack);
	collect_note_thread(c, process, &use);
	c->ledger.wall.stacks++;
	departure = (struct off_cpu_departure){
		.left_ns = event->time_ns,
		.stack = stack,
		.file_type = event->flags & STACK_EVENT_FILE_TYPE,
		.is_internal = internal != NULL,
		.is_at_gil = pythons_has_in_runtime(&c->pythons, process->python,
						    snapshot->registers[CFI_RDI])};
	collect_note_error(c, off_cpu_leave(&c->off_cpu,
					    (struct off_cpu_thread){process->id, event->tid},
					    &departure));
}

static void add_part(void *context, struct stack_id stack, const struct off_cpu_times *part)
{
	struct off_cpu_target *t = context;
	uint64_t ns = saturated_sum(part->blocked_ns, part->runnable_ns);

	add_off_cpu(t, stack, part);
	if (ns >= t->most_ns) {
		t->most_ns = ns;
		t->most = stack;
	}
}

/* Distributes time off the CPU whose stack was not taken. */
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
	add_off_cpu(t, stack_of_program(c, t->process->comm, PSEUDO_NO_STACK), sum);
}

/* Passes a time off the CPU to the timeline and the add-ons, with the stack of the wait. */
static void show_off_cpu(struct collect *c, const struct off_cpu_target *target,
			 struct stack_id stack, uint64_t from_ns, uint64_t ns)
{
	if (ns && c->options.draws_off_cpu)
		profile_sink_add(&c->sink,
				 &(struct profile_item){.record = {.kind = TIMELINE_OFF_CPU,
								   .start_ns = from_ns,
								   .duration_ns = ns,
								   .stack = stack,
								   .place = target->place},
							.flags = ITEM_DRAWN});
	addons_off_cpu(&c->addons, &(struct thread_time){.start_ns = from_ns,
							 .end_ns = saturated_sum(from_ns, ns),
							 .process = target->process->id,
							 .tid = target->tid,
							 .kind = ROW_WAIT,
							 .stack = stack});
}

/* Shows a whole time off the CPU, with a known start. */
static void add_interval(struct collect *c, const struct off_cpu_target *target,
			 struct stack_id stack, const struct stack_on_cpu *record,
			 const struct off_cpu_times *times)
{
	if (!c->addons.takes_off_cpu && !c->options.draws_off_cpu)
		return;
	if (same_id(stack, STACK_EMPTY))
		stack = stack_of_program(c, target->process->comm, PSEUDO_NO_STACK);
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
	struct stack_id stack;

	if (!process)
		return;
	target.place = collect_place_at(c, process, event);
	if (off_cpu_return(&c->off_cpu, (struct off_cpu_thread){process->id, event->tid},
			   record->left_ns, &times, &stack)) {
		add_off_cpu(&target, stack, &times);
	} else {
		target.left_ns = 0; /* several stacks share the time */
		spread_off_cpu(&target, &times);
		stack = target.most;
	}
	add_interval(c, &target, stack, record, &times);
}

/* Adds the time that a thread ran since its last sample. */
static void add_unsampled(struct collect *c, struct process *process, struct place_id place,
			  uint64_t ns)
{
	if (ns == 0)
		return;
	profile_add_time(c->profile, ROW_CPU,
			 stack_of_program(c, process->comm, PSEUDO_NOT_SAMPLED), place, ns);
	cpu_time_sampled(&c->cpu_time, process, ns);
	saturated_add(&c->ledger.cpu.not_sampled_ns, ns);
}

/* Returns the process that spent these times: its previous program if it has begun a new one. */
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
	/* a name set after all work counts only if there is no other */
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
