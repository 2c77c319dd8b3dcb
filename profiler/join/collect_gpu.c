// SPDX-License-Identifier: MIT
/* Processes the events of traced programs: hello, GPU work, goodbye. */
#include "profiler/cpu/ranges_seen.h"
#include "profiler/join/collect_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "profiler/model/pseudo_frames.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/text.h"

/* ---- hello ---- */

static bool is_of_our_user(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return geteuid() == 0 || stat(path, &st) != 0 || st.st_uid == geteuid();
}

/* Returns true if the program is in another pid namespace than we. */
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
 * Returns the process of the tree that says hello, or NULL. Sets `*is_hidden` if it may be a
 * process in a pid namespace that we may not read.
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

		/* if an exit was lost, the newer process has the pid now */
		if (is_in(process, hello) && (!newest || newest->id < process->id))
			newest = process;
		*is_hidden |= process->pid_namespace.id == PID_NAMESPACE_HIDDEN;
	}
	return newest;
}

/* Returns true if a program may be this process, where the kernel reports no tree. */
static bool may_be(const struct collect *c, const struct gpu_event_hello *hello)
{
	if (c->options.is_over || is_foreign(c, hello))
		return true;
	return (pid_t)hello->pid > 0 && is_of_our_user((pid_t)hello->pid);
}

/*
 * Starts a process known only from the pipe. In another pid namespace, its pid may be another
 * process's here.
 */
static struct process *start_pipe_only(struct collect *c, const struct gpu_event_hello *hello)
{
	pid_t pid = (pid_t)hello->pid;
	bool is_visible = !c->options.is_over && !is_foreign(c, hello);
	struct process *process = collect_begin_process(
		c, processes_start_pipe_only(&c->processes, pid, is_visible ? pid : 0));

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
	/* each program has its own ids, so two programs in one process get two structs */
	if (!process || process_has_spoken(process))
		process = start_pipe_only(c, hello);
	if (!process)
		return NULL;
	process->speech = hello->is_off ? PROCESS_SPEAKS : PROCESS_TRACED;
	if (c->metrics)
		metrics_process(c->metrics, process->id, process->pid, hello->executable);
	collect_note_process(c, process);
	return process;
}

void collect_goodbye(struct collect *c, struct process *process, uint64_t now_ns)
{
	process->speech = PROCESS_SPOKE;
	if (process->source == PROCESS_PIPE_ONLY)
		collect_end_process(c, process, now_ns);
}

/* ---- stacks, and what they consist of ---- */

static int take_code(struct collect *c, struct process *process, const struct gpu_event_code *e)
{
	struct code_mapping mapping = {.start = e->start,
				       .end = e->end,
				       .file_offset = e->file_offset,
				       .dev_major = e->dev_major,
				       .dev_minor = e->dev_minor,
				       .inode = e->inode,
				       .path = e->path};

	/* the kernel knows the files of a running process */
	if (c->options.is_over && e->build_id && e->build_id[0])
		mapping.build_id = e->build_id;
	if (e->text_hash &&
	    !symbolizer_has_text(c->symbolizer, process->space, &mapping, e->text_hash))
		mapping = (struct code_mapping){.start = e->start, .end = e->end, .path = ""};
	collect_know_python(c, process, &mapping);
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

/* Adds a frame "nvtx:message", "nvtx:domain:message", "op:operator" or "[layer]". */
static int take_nvtx(struct collect *c, struct process *process, const struct gpu_event_nvtx *e)
{
	static const struct {
		const char *begin, *end;
	} marks[] = {[GPU_NVTX_RANGE] = {PSEUDO_RANGE, ""},
		     [GPU_NVTX_OPERATOR] = {PSEUDO_OPERATOR, ""},
		     [GPU_NVTX_LAYER] = {PSEUDO_LAYER, PSEUDO_LAYER_END}};
	const char *interned;
	char *text = NULL;

	if (c->options.measure.ranges && e->kind == GPU_NVTX_RANGE)
		ranges_seen_other(&c->ledger.outside, e->domain, e->name);
	if (asprintf(&text, "%s%s%s%s%s", marks[e->kind].begin, e->domain, e->domain[0] ? ":" : "",
		     e->name, marks[e->kind].end) < 0)
		return -ENOMEM;
	interned = collect_text(c, text);
	free(text);
	return interned ? target_stacks_set_nvtx(&process->sent, e->id, interned) : -ENOSPC;
}

/* Finds a sent stack. Returns false if the process sent no such stack. */
static bool find_stack(const struct process *process, uint32_t id, struct sent_stack *stack)
{
	return id && target_stacks_get(&process->sent, id, stack);
}

/*
 * Finds the stack of the thread that an async worker works for. Returns false if unknown or too
 * deep.
 */
static bool find_waiter(struct collect *c, const struct process *process,
			const struct gpu_event_stack *e, struct sent_stack *waiter)
{
	return find_stack(process, e->handed_from, waiter) &&
	       !stack_table_is_deeper(c->stacks, waiter->stack, COLLECT_HANDED_FRAMES);
}

static int take_stack(struct collect *c, struct process *process, const struct gpu_event_stack *e)
{
	struct sent_stack stack = {STACK_EMPTY, .is_whole = true}, waiter;
	bool is_worker = e->handed_to && e->handed_to[0];
	struct owner_stack owner = OWNER_UNKNOWN;

	if (is_worker && find_waiter(c, process, e, &waiter)) {
		stack = waiter;
		stack.stack = stack_builder_handed(&c->builder, stack.stack, e->handed_to);
		owner.number = stack.stack.number;
	}
	if (is_worker)
		collect_note_error(c, target_stacks_set_handed(&process->sent, e->id, owner));
	stack.stack = stack_builder_captured(&c->builder, process, stack.stack, e);
	stack.is_whole &= e->is_whole && !e->is_unordered;
	return target_stacks_set(&process->sent, e->id, stack);
}

/* Notes the owner of an async worker's launch. Returns flags of profile_sink.h. */
static uint32_t note_async_parent(struct collect *c, const struct process *process,
				  const struct gpu_event_launch *e)
{
	struct owner_stack owner;

	if (!target_stacks_get_handed(&process->sent, e->stack_id, &owner))
		return 0;
	async_samples_launch(&c->async_samples, process->id, e->tid, e->time_ns, owner);
	return same_id(owner, OWNER_UNKNOWN) ? ITEM_NO_PARENT : ITEM_HANDED;
}

/* Puts a sent stack below the one that created its thread, unless it is below its owner's. */
static struct stack_id below_origin(struct collect *c, const struct process *process, uint32_t tid,
				    uint32_t id, struct stack_id stack)
{
	struct owner_stack owner;

	if (target_stacks_get_handed(&process->sent, id, &owner) && !same_id(owner, OWNER_UNKNOWN))
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

/* ---- launches ---- */

/* Notes the names of a thread that called CUDA at this time. */
static void note_caller(struct collect *c, struct process *process, uint32_t tid, uint64_t time_ns)
{
	collect_note_thread(c, process, &(struct thread_use){tid, time_ns, NULL});
}

static struct place_id place_of_call(struct collect *c, struct process *process, uint32_t tid,
				     uint64_t time_ns)
{
	return collect_place_of(c, process, &(struct thread_use){tid, time_ns, NULL});
}

/* Begins a launch call, which lasts in the timeline. `flags` are profile_sink.h's. */
static void begin_launch(struct collect *c, struct process *process,
			 const struct gpu_event_launch *e, struct launch_stack stack,
			 uint32_t flags)
{
	bool is_inside = time_range_has(&c->time_range, e->time_ns);
	struct profile_item launch = {.record = {.kind = TIMELINE_LAUNCH,
						 .start_ns = e->time_ns,
						 .correlation = e->correlation_id},
				      .flags = flags | ITEM_COUNTS};

	if (c->options.measure.budget) {
		launch.record.represents =
			(uint16_t)recording_windows_represents(&process->windows, e->time_ns);
		launch.flags |= ITEM_REPRESENTS;
	}
	if (is_inside && !(e->flags & GPU_LAUNCH_IS_OTHER))
		launch.flags |= ITEM_KERNEL;
	if (c->sink.recorder && is_inside) /* keeps the thread's name as long as the record */
		launch.record.place = place_of_call(c, process, e->tid, e->time_ns);
	if (!c->options.timeline || !is_inside) {
		profile_sink_add(&c->sink, &launch);
		return;
	}
	launch.flags |= ITEM_DRAWN;
	if (same_id(stack, LAUNCH_SKIPPED))
		launch.record.stack =
			stack_table_push_text(c->stacks, STACK_EMPTY, FRAME_MARK, PSEUDO_SKIPPED);
	else if (!same_id(stack, LAUNCH_UNKNOWN))
		launch.record.stack.number = stack.number;
	launch.record.place = place_of_call(c, process, e->tid, e->time_ns);
	collect_note_error(c, open_launches_begin(&c->open_launches, process->id, &launch));
}

static void take_launch_end(struct collect *c, struct process *process,
			    const struct gpu_event_launch_end *e)
{
	if (c->options.timeline)
		open_launches_end(&c->open_launches, place_of_call(c, process, e->tid, 0), e);
}

/*
 * Notes the record that a launch must have. gpu_pipe counts kernels without records, but --last
 * needs them by time. A graph with conditional nodes may do nothing, and its nodes cannot always be
 * attributed to a launch. So such graphs expect nothing.
 */
static void note_expected_record(struct collect *c, const struct process *process,
				 const struct gpu_event_launch *e)
{
	bool is_other = e->flags & GPU_LAUNCH_IS_OTHER;

	if (is_other && (e->flags & GPU_LAUNCH_HAS_RECORD))
		join_expect_record(c->join, process->id, e->correlation_id, JOIN_EXPECTS_COPY);
	else if (!is_other && (e->flags & GPU_LAUNCH_IS_GRAPH) &&
		 !graph_nodes_has_bodies(&c->attribution.graph_nodes))
		join_expect_record(c->join, process->id, e->correlation_id, JOIN_EXPECTS_GRAPH);
	else if (!is_other && !(e->flags & GPU_LAUNCH_IS_GRAPH) && c->options.last_ns)
		join_expect_record(c->join, process->id, e->correlation_id, JOIN_EXPECTS_KERNEL);
}

/* Returns the stack of a launch, or LAUNCH_UNKNOWN. Sets `*flags` of profile_sink.h. */
static struct launch_stack stack_of(struct collect *c, const struct process *process,
				    const struct gpu_event_launch *e, uint32_t *flags)
{
	struct sent_stack sent;

	*flags = 0;
	if (e->flags & GPU_LAUNCH_SKIPPED && c->options.measure.max_overhead) {
		*flags = ITEM_SKIPPED;
		return LAUNCH_SKIPPED;
	}
	if (!find_stack(process, e->stack_id, &sent))
		return LAUNCH_UNKNOWN;
	*flags = ITEM_STACK | (sent.is_whole ? ITEM_WHOLE : 0) | note_async_parent(c, process, e);
	return launched_at(below_origin(c, process, e->tid, e->stack_id, sent.stack));
}

static int take_launch(struct collect *c, struct process *process, const struct gpu_event_launch *e)
{
	int is_graph = e->flags & GPU_LAUNCH_IS_GRAPH;
	bool is_other = e->flags & GPU_LAUNCH_IS_OTHER;
	struct launch_stack stack;
	uint32_t flags;
	int err;

	if (!process->first_launch || e->correlation_id < process->first_launch)
		process->first_launch = e->correlation_id;
	note_caller(c, process, e->tid, e->time_ns);
	stack = stack_of(c, process, e, &flags);
	begin_launch(c, process, e, stack, flags);
	if (same_id(stack, LAUNCH_UNKNOWN) && !is_other && !c->options.measure.budget) {
		/* its probe may provide a stack */
		err = join_launch(c->join, process->id, e->tid, e->time_ns, e->correlation_id,
				  e->family == GPU_LAUNCH_DRIVER ? FAMILY_DRIVER : FAMILY_RUNTIME,
				  is_graph);
	} else {
		struct origin_id origin = attribution_origin_of_many(
			&c->attribution, stack, e->tid,
			c->options.measure.budget
				? recording_windows_represents(&process->windows, e->time_ns)
			: e->stands_for ? e->stands_for
					: 1,
			e->flags & GPU_LAUNCH_WAITED);

		err = join_launch_with_stack(c->join, process->id, e->time_ns, e->correlation_id,
					     is_graph, origin);
	}
	note_expected_record(c, process, e);
	return err;
}

bool collect_knows_launch(const struct collect *c, const struct process *process,
			  uint32_t correlation_id)
{
	return (!time_range_is_part(&c->time_range) &&
		!measure_selects_launches(&c->options.measure)) ||
	       join_knows(c->join, process->id, correlation_id);
}

/* ---- operations, graphs, waits ---- */

/* Returns the timeline's number of the kernel's launch shape. */
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
 * Returns the correlation id of the launch of a graph's node. CUPTI gives work in the body of a
 * conditional node an id of no launch, or none. Such work belongs to the launch of the enclosing
 * graph.
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
 * Returns true if the operation is in a range that its program chose, or its launch in a window
 * (--budget). Only such launches are sent, each before its work. Work without a launch is decided
 * by its own time, and is in no window.
 */
static bool is_chosen(const struct collect *c, const struct gpu_operation *o)
{
	const struct process *process;

	if (!measure_selects_launches(&c->options.measure))
		return true;
	if (o->correlation_id)
		return join_knows(c->join, o->process, o->correlation_id);
	process = processes_get(&c->processes, o->process);
	return process && recorded_intervals_has(&process->ranges.intervals, o->start_ns);
}

/* Counts an operation outside the ranges that its program chose. Returns false for others. */
static bool leave_out(struct collect *c, const struct gpu_operation *o)
{
	struct process *process;
	uint64_t before = c->ledger.outside.unchosen;

	if (is_chosen(c, o))
		return false;
	process = processes_get(&c->processes, o->process);
	attribution_leave_out(&c->attribution, o);
	if (process && c->options.measure.ranges && c->ledger.outside.unchosen > before)
		ranges_seen_leave_out(&c->ledger.outside, process);
	return true;
}

/*
 * Takes an operation. CUPTI numbers launches from 1. A graph node without a correlation id was
 * launched by a kernel, and by no thread of the program.
 */
static int take_operation(struct collect *c, struct gpu_operation *o)
{
	if (o->graph_node && graph_nodes_has_bodies(&c->attribution.graph_nodes))
		o->correlation_id = launch_of_node(c, o);
	if (leave_out(c, o))
		return 0;
	if (o->graph_node == 0 || o->correlation_id)
		return join_operation(c->join, o->process, o);
	/* work in a conditional body may be of a launch that was lost */
	attribution_add(&c->attribution,
			origin_of_mark(graph_nodes_has_bodies(&c->attribution.graph_nodes)
					       ? LAUNCH_UNKNOWN
					       : LAUNCH_BY_KERNEL),
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

/* Returns the kind of the memory that is allocated, or that is the host's side of a copy. */
static uint32_t memory_of(const struct gpu_event_work *e)
{
	if (gpu_work_is_from_host(e->work))
		return e->source_memory;
	return gpu_work_is_to_host(e->work) || gpu_work_is_memory_call(e->work)
		       ? e->destination_memory
		       : 0;
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
		.address = e->address,
		.shape = memory_of(e),
		.outside = (uint8_t)e->outside};

	if (e->work == GPU_WORK_ALLOC && gpu_memory_is_unified(e->destination_memory) &&
	    !c->options.measure.unified_memory)
		c->ledger.gpu.unwatched++;
	if (!gpu_work_has_no_launch(e->work))
		return take_operation(c, &operation);
	operation.correlation_id = 0;
	if (!leave_out(c, &operation))
		attribution_add(&c->attribution, origin_of_mark(LAUNCH_NONE_NEEDED), 0, &operation);
	return 0;
}

static int take_node(struct collect *c, const struct process *process,
		     const struct gpu_event_node *e)
{
	struct graph_nodes *nodes = &c->attribution.graph_nodes;
	struct sent_stack sent;

	if (e->origin && e->is_moved)
		return graph_nodes_moved(nodes, process->id, e->id, e->origin);
	if (e->origin)
		return graph_nodes_cloned(nodes, process->id, e->tid, e->id, e->origin);
	return graph_nodes_made(nodes, process->id, e->tid, e->id, e->time_ns,
				find_stack(process, e->stack_id, &sent) ? captured_at(sent.stack)
									: CAPTURE_UNSEEN);
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
	struct stack_id stack = STACK_EMPTY;
	struct sent_stack sent;

	if (find_stack(process, e->stack_id, &sent))
		stack = below_origin(c, process, e->tid, e->stack_id, sent.stack);
	note_caller(c, process, e->tid,
		    e->start_ns); /* the name is readable only while the thread lives */
	addons_wait(&c->addons, process->id, stack, e);
}

static int take_window(struct collect *c, struct process *process, const struct gpu_event_window *e)
{
	struct ledger_windows *l = &c->ledger.windows;

	if (!c->options.measure.budget)
		return 0;
	l->count++;
	saturated_add(&l->ns, e->to_ns - e->from_ns);
	return recording_windows_add(&process->windows, e);
}

static int take_range(struct collect *c, struct process *process, const struct gpu_event_range *e)
{
	int begins = recorded_intervals_note(&process->ranges.intervals, e->time_ns, e->is_open);
	char name[256];

	c->ledger.outside.ranges += begins > 0;
	if (begins > 0 && ranges_seen_enter(&c->ledger.outside, process)) {
		collect_put_process_name(c, process, name, sizeof(name));
		ranges_seen_name(&c->ledger.outside, name);
	}
	return begins < 0 ? begins : 0;
}

static void take_calls(struct collect *c, const struct gpu_event_calls *e)
{
	struct api_call *call;

	if (!c->options.measure.api)
		return;
	call = api_calls_get(&c->ledger.api, e, &c->target_bytes, collect_keep_text, c);
	if (!call)
		c->target_bytes.refused++;
	else if (c->sink.recorder)
		api_call_keep(call, e, &c->sink);
	else
		api_call_add(call, e);
}

static int take_gpu_event(struct collect *c, struct process *process, const struct gpu_event *event,
			  const char *kernel)
{
	switch (event->type) {
	case GPU_EVENT_CODE:
		return take_code(c, process, &event->code);
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
			join_expect_record(c->join, process->id, event->voids.correlation_id,
					   JOIN_EXPECTS_NOTHING);
		return 0;
	case GPU_EVENT_GRAPH:
		return take_graph(c, process, &event->graph);
	case GPU_EVENT_SUM:
		take_sum(c, process, &event->sum);
		return 0;
	case GPU_EVENT_DEVICE:
		return devices_describe(&c->devices, process->id, &event->device);
	case GPU_EVENT_CONTEXT:
		if (!event->context.is_mps)
			return 0;
		return devices_note_context(&c->devices, process->id, &event->context);
	case GPU_EVENT_RANGE:
		return take_range(c, process, &event->range);
	case GPU_EVENT_WINDOW:
		return take_window(c, process, &event->window);
	case GPU_EVENT_CALLS:
		take_calls(c, &event->calls);
		return 0;
	case GPU_EVENT_WAIT:
		take_wait(c, process, &event->wait);
		return 0;
	default:
		return 0;
	}
}

/* Returns true if the event began in the recorded time range. */
static bool is_inside(const struct collect *c, const struct process *process,
		      const struct gpu_event *event)
{
	switch (event->type) {
	case GPU_EVENT_LAUNCH:
		return time_range_has(&c->time_range, event->launch.time_ns);
	case GPU_EVENT_KERNEL:
		return collect_is_recorded(c, process, &event->kernel);
	case GPU_EVENT_WORK:
		return event->work.bad_time || time_range_has(&c->time_range, event->work.start_ns);
	default:
		return true;
	}
}

bool collect_is_recorded(const struct collect *c, const struct process *process,
			 const struct gpu_event_kernel *e)
{
	if (measure_selects_launches(&c->options.measure) &&
	    !join_knows(c->join, process->id, e->correlation_id))
		return false;
	return e->bad_time || time_range_has(&c->time_range, e->start_ns);
}

static void count_event(struct metrics *m, const struct process *process,
			const struct gpu_event *event, const char *kernel)
{
	switch (event->type) {
	case GPU_EVENT_LAUNCH:
		metrics_launch(m, process->id);
		break;
	case GPU_EVENT_KERNEL:
		metrics_kernel(m, process->id, &event->kernel, kernel);
		break;
	case GPU_EVENT_WORK:
		metrics_work(m, process->id, &event->work);
		break;
	case GPU_EVENT_ERROR:
		metrics_error(m, process->id, &event->error);
		break;
	default:
		break;
	}
}

void collect_gpu_event(struct collect *c, struct process *process, const struct gpu_event *event,
		       const char *kernel)
{
	if (c->metrics && is_inside(c, process, event))
		count_event(c->metrics, process, event, kernel);
	collect_note_error(c, take_gpu_event(c, process, event, kernel));
	collect_note_error(c, addons_event(&c->addons, process->id, event, kernel));
}
