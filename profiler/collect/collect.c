// SPDX-License-Identifier: MIT
#include "profiler/collect/collect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/collect/stack_builder.h"
#include "profiler/profile/work_names.h"

#define PID_LIMIT (1u << 22) /* the kernel's PID_MAX_LIMIT */

/* `stack` is what the launch gave: a launch id where there is --by, else a stack's id. */
static void attribute(void *context, uint32_t stack, uint64_t launched_ns,
		      const struct gpu_operation *o)
{
	struct collect *c = context;
	struct by_place place = {.pid = o->process,
				 .device = o->device,
				 .context = o->context,
				 .stream = o->stream,
				 .device_label = devices_use(&c->devices, o->process, o->device),
				 .is_gpu = true};
	struct profile_key key = {.work = o->work, .name = o->name};

	key.capture = collect_capture(c, launched_ns, o);
	key.stack = by_launch_stack(&c->by, stack, &place.tid);
	key.group = by_group(&c->by, &place);
	collect_count_work(c, stack, o);
	collect_waited_for(c, &key, o);
	if (profile_add_work(c->profile, &key, o->duration_ns, o->bytes) != 0)
		c->stats.out_of_memory++;
}

int collect_init(struct collect *c)
{
	struct join_output output = {.attribute = attribute, .context = c};

	memset(c, 0, sizeof(*c));
	python_processes_init(&c->pythons, &c->strings);
	c->symbolizer = symbolizer_new();
	c->stacks = stack_table_new();
	by_init(&c->by, c->stacks, &c->strings);
	c->profile = profile_new();
	c->join = join_new(&output);
	c->tracked = calloc(PID_LIMIT / 8, 1);
	if (c->symbolizer && c->stacks && c->profile && c->join && c->tracked)
		return 0;
	collect_release(c);
	return -ENOMEM;
}

void collect_release(struct collect *c)
{
	symbolizer_free(c->symbolizer);
	stack_table_free(c->stacks);
	profile_free(c->profile);
	join_free(c->join);
	waits_free(c->waits);
	intern_release(&c->strings);
	target_stacks_release(&c->target_stacks);
	graph_nodes_release(&c->graph_nodes);
	open_calls_release(&c->open_calls);
	by_release(&c->by);
	devices_release(&c->devices);
	work_tally_release(&c->counted);
	work_tally_release(&c->told);
	python_processes_release(&c->pythons);
	free(c->tracked);
	memset(c, 0, sizeof(*c));
}

static bool is_tracked(const struct collect *c, uint32_t pid)
{
	return pid < PID_LIMIT && (c->tracked[pid / 8] & (1u << pid % 8));
}

static void set_tracked(struct collect *c, uint32_t pid, bool tracked)
{
	if (pid >= PID_LIMIT)
		return;
	if (tracked)
		c->tracked[pid / 8] |= (uint8_t)(1u << pid % 8);
	else
		c->tracked[pid / 8] &= (uint8_t) ~(1u << pid % 8);
}

void collect_set_root(struct collect *c, pid_t pid)
{
	c->root = (uint32_t)pid;
	c->root_runs = false;
	set_tracked(c, c->root, true);
}

/* ---- address spaces ---- */

static void on_fork(struct collect *c, const struct process_event *event)
{
	if (is_tracked(c, (uint32_t)event->parent)) {
		set_tracked(c, (uint32_t)event->pid, true);
		symbolizer_fork(c->symbolizer, event->parent, event->pid);
		if (event->parent != event->pid)
			python_processes_fork(&c->pythons, event->parent, event->pid);
	} else if (is_tracked(c, (uint32_t)event->pid)) {
		/* its number went to a process that is none of ours */
		set_tracked(c, (uint32_t)event->pid, false);
		symbolizer_exit(c->symbolizer, event->pid);
	}
}

bool collect_wants(const struct collect *c, const struct process_event *event)
{
	return is_tracked(c, (uint32_t)event->pid) ||
	       (event->type == PROCESS_FORK && is_tracked(c, (uint32_t)event->parent));
}

static void look_for_python(struct collect *c, const struct process_event *event)
{
	struct stack_python layout;
	uint32_t unknown_hex;

	if (!c->on_python)
		return;
	if (python_processes_map(&c->pythons, event->pid, &event->mapping, &layout, &unknown_hex))
		c->on_python(c->python_context, event->pid, &layout);
	else if (unknown_hex)
		c->on_unknown_python(c->python_context, event->pid, unknown_hex);
}

void collect_process_event(struct collect *c, const struct process_event *event)
{
	if (event->type == PROCESS_FORK) {
		on_fork(c, event);
		return;
	}
	if (!is_tracked(c, (uint32_t)event->pid))
		return;
	switch (event->type) {
	case PROCESS_SAMPLE:
		collect_snapshot(c, event->snapshot);
		break;
	case PROCESS_EXEC:
		if ((uint32_t)event->pid == c->root)
			c->root_runs = true;
		collect_end_calls(c, (uint32_t)event->pid, event->time_ns);
		symbolizer_exec(c->symbolizer, event->pid);
		python_processes_forget(&c->pythons, event->pid);
		break;
	case PROCESS_MAP:
		if (strstr(event->mapping.path, "/libcuda.so"))
			c->stats.driver_mapped = true;
		symbolizer_map(c->symbolizer, event->pid, &event->mapping);
		look_for_python(c, event);
		break;
	case PROCESS_EXIT:
		collect_end_calls(c, (uint32_t)event->pid, event->time_ns);
		set_tracked(c, (uint32_t)event->pid, false);
		symbolizer_exit(c->symbolizer, event->pid);
		python_processes_forget(&c->pythons, event->pid);
		break;
	case PROCESS_FORK:
		break;
	}
}

/* ---- stacks ---- */

static void add_sample(struct collect *c, const struct stack_builder *b, uint32_t pid, uint32_t tid)
{
	uint32_t stack;
	int err = stack_table_add(c->stacks, b->frames, b->count, &stack);

	if (!err)
		err = profile_add_sample(
			c->profile, stack,
			by_group(&c->by, &(struct by_place){.pid = pid, .tid = tid}));
	if (err)
		c->stats.out_of_memory++;
	else
		c->stats.cpu_samples++;
}

void collect_snapshot(struct collect *c, const struct stack_snapshot *snapshot)
{
	struct stack_builder b = {.count = 0};

	if (snapshot->event.kernel_frames > STACK_EVENT_MAX_FRAMES ||
	    snapshot->stack_bytes > STACK_SNAPSHOT_BYTES)
		return;
	if (snapshot->event.pid == c->root && !c->root_runs)
		return; /* still our own code, on its way to exec */
	c->stats.snapshots++;
	if (stack_builder_snapshot(&b, c, snapshot)) {
		c->stats.whole_snapshots++;
	} else {
		stack_builder_cut(&b, c);
	}
	add_sample(c, &b, snapshot->event.pid, snapshot->event.tid);
}

void collect_stack(struct collect *c, const struct stack_event *event, const __u64 *frames)
{
	struct stack_builder b = {.count = 0};
	bool is_launch = event->kind == STACK_EVENT_LAUNCH;
	uint32_t stack;
	int err;

	if (event->user_frames > STACK_EVENT_MAX_FRAMES + 1 ||
	    event->kernel_frames > STACK_EVENT_MAX_FRAMES)
		return;
	if (event->pid == c->root && !c->root_runs)
		return; /* still our own code, on its way to exec */
	if (is_launch)
		stack_builder_launch(&b, c, event, frames);
	else
		stack_builder_sample(&b, c, event, frames);
	if (event->flags & STACK_EVENT_TRUNCATED)
		stack_builder_cut(&b, c);
	if (!is_launch) {
		add_sample(c, &b, event->pid, event->tid);
		return;
	}
	err = stack_table_add(c->stacks, b.frames, b.count, &stack);
	if (!err) {
		bool driver = (event->launch_function & 0xff) >= LAUNCH_FIRST_DRIVER;

		stack = by_launch(&c->by, stack, event->pid, event->tid);
		err = join_probe(c->join, event->pid, event->tid, event->time_ns,
				 driver ? FAMILY_DRIVER : FAMILY_RUNTIME, stack);
	}
	if (err)
		c->stats.out_of_memory++;
}

/* ---- the GPU side ---- */

static int take_code(struct collect *c, uint32_t pid, const struct gpu_event_code *e)
{
	struct code_mapping mapping = {.start = e->start,
				       .end = e->end,
				       .file_offset = e->file_offset,
				       .dev_major = e->dev_major,
				       .dev_minor = e->dev_minor,
				       .inode = e->inode,
				       .path = e->path};

	return target_stacks_add_code(&c->target_stacks, pid, &mapping);
}

/* By what the process said of itself: right even when it is gone or another program by now. */
static struct code_ref locate_wire(struct collect *c, uint32_t pid, uint64_t address)
{
	const struct code_mapping *mapping =
		target_stacks_find_code(&c->target_stacks, pid, address);

	return mapping ? symbolizer_locate_in(c->symbolizer, (pid_t)pid, mapping, address)
		       : (struct code_ref){.module = MODULE_UNKNOWN};
}

static int take_pycode(struct collect *c, uint32_t pid, const struct gpu_event_pycode *e)
{
	const char *slash = strrchr(e->path, '/');
	struct target_python python = {
		.name = intern_string(&c->strings, e->qualname[0] ? e->qualname : e->name),
		.file = intern_string(&c->strings, slash ? slash + 1 : e->path),
	};
	int err = -ENOMEM;

	if (python.name && python.file)
		err = target_stacks_set_python(&c->target_stacks, pid, e->id, &python);
	return err == -ERANGE ? 0 : err;
}

/* "Model.forward (model.py)", "Model.forward (model.py:42)" */
static const char *python_text(struct collect *c, uint32_t pid, const struct gpu_event_frame *frame)
{
	const struct target_python *python =
		target_stacks_get_python(&c->target_stacks, pid, (uint32_t)frame->value);
	const char *interned;
	char *text = NULL;
	int n;

	if (!python)
		return PYTHON_UNKNOWN_FRAME;
	n = frame->line ? asprintf(&text, "%s (%s:%u)", python->name, python->file, frame->line)
			: asprintf(&text, "%s (%s)", python->name, python->file);
	if (n < 0)
		return NULL;
	interned = intern_string(&c->strings, text);
	free(text);
	return interned;
}

/* "nvtx:message", "nvtx:domain:message" */
static int take_nvtx(struct collect *c, uint32_t pid, const struct gpu_event_nvtx *e)
{
	const char *interned;
	char *text = NULL;
	int n = asprintf(&text, "nvtx:%s%s%s", e->domain, e->domain[0] ? ":" : "", e->name);

	if (n < 0)
		return -ENOMEM;
	interned = intern_string(&c->strings, text);
	free(text);
	return interned ? target_stacks_set_nvtx(&c->target_stacks, pid, e->id, interned) : -ENOMEM;
}

static const char *nvtx_text(const struct collect *c, uint32_t pid, uint64_t id)
{
	const char *text = target_stacks_get_nvtx(&c->target_stacks, pid, (uint32_t)id);

	return text ? text : "nvtx:[unknown]";
}

/* A stack taken in the process: the launch function, then its callers. */
static int take_wire_stack(struct collect *c, uint32_t pid, const struct gpu_event_stack *e)
{
	struct stack_builder b = {.count = 0};
	const char *function = intern_string(&c->strings, e->function);
	uint32_t stack;
	int err;

	if (!function)
		return -ENOMEM;
	if (function[0])
		stack_builder_text(&b, function);
	for (uint32_t i = 0; i < e->count; i++) {
		const struct gpu_event_frame *frame = &e->frames[i];

		if (frame->kind == GPU_FRAME_PYTHON) {
			const char *text = python_text(c, pid, frame);

			if (!text)
				return -ENOMEM;
			stack_builder_text(&b, text);
		} else if (frame->kind == GPU_FRAME_NVTX) {
			stack_builder_text(&b, nvtx_text(c, pid, frame->value));
		} else {
			stack_builder_code(&b, locate_wire(c, pid, frame->value), true);
		}
	}
	if (!e->is_whole)
		stack_builder_cut(&b, c);
	err = stack_table_add(c->stacks, b.frames, b.count, &stack);
	if (!err)
		err = target_stacks_set(&c->target_stacks, pid, e->id, stack);
	return err == -ERANGE ? 0 : err; /* nonsense; launches that name it have no stack */
}

static bool is_whole(const struct collect *c, uint32_t stack)
{
	uint32_t count;
	const struct frame *frames = stack_table_get(c->stacks, stack, &count);
	const struct frame *outermost = count ? &frames[count - 1] : NULL;

	return outermost &&
	       !(outermost->kind == FRAME_TEXT && outermost->text == stack_builder_truncated);
}

static int take_launch(struct collect *c, uint32_t pid, const struct gpu_event_launch *e)
{
	int is_graph = e->flags & GPU_LAUNCH_IS_GRAPH;
	bool is_other = e->flags & GPU_LAUNCH_IS_OTHER;
	uint32_t stack = TARGET_STACKS_NONE;

	c->stats.kernel_launches += !is_other;
	if (e->stack_id)
		stack = target_stacks_get(&c->target_stacks, pid, e->stack_id);
	if (stack != TARGET_STACKS_NONE) {
		c->stats.launches++;
		c->stats.whole_launches += is_whole(c, stack);
		return join_launch_with_stack(c->join, pid, e->time_ns, e->correlation_id, is_graph,
					      by_launch(&c->by, stack, pid, e->tid));
	}
	/* probes are on kernel launches only: nobody else's is this one's */
	if (is_other)
		return join_launch_with_stack(c->join, pid, e->time_ns, e->correlation_id, is_graph,
					      STACK_NONE);
	return join_launch(c->join, pid, e->tid, e->time_ns, e->correlation_id,
			   e->family == GPU_LAUNCH_DRIVER ? FAMILY_DRIVER : FAMILY_RUNTIME,
			   is_graph);
}

/* ---- what ran ---- */

static int take_kernel(struct collect *c, uint32_t pid, const struct gpu_event_kernel *e,
		       const char *name)
{
	return join_operation(c->join, pid,
			      &(struct gpu_operation){.correlation_id = e->correlation_id,
						      .start_ns = e->start_ns,
						      .duration_ns = e->duration_ns,
						      .name = name,
						      .work = GPU_WORK_KERNEL,
						      .process = pid,
						      .device = e->device_id,
						      .context = e->context_id,
						      .stream = e->stream_id,
						      .graph_node = e->graph_node_id,
						      .bad_time = e->bad_time,
						      .outside = (uint8_t)e->outside});
}

static int take_work(struct collect *c, uint32_t pid, const struct gpu_event_work *e)
{
	struct gpu_operation operation = {
		.correlation_id = e->correlation_id,
		.start_ns = e->start_ns,
		.duration_ns = e->duration_ns,
		.name = work_frame(e->work),
		.bytes = e->bytes,
		.work = e->work,
		.process = pid,
		.device = e->device_id,
		.context = e->context_id,
		.stream = e->stream_id,
		.graph_node = e->graph_node_id,
		.bad_time = e->bad_time,
		.staged = gpu_work_is_staged(e->work, e->source_memory, e->destination_memory),
		.outside = (uint8_t)e->outside};

	if (!gpu_work_has_no_launch(e->work))
		return join_operation(c->join, pid, &operation);
	attribute(c, PROFILE_STACK_ROOT, 0, &operation);
	return 0;
}

static int take_gpu_event(struct collect *c, uint32_t pid, const struct gpu_event *event,
			  const char *kernel)
{
	switch (event->type) {
	case GPU_EVENT_HELLO:
		join_restart_process(c->join, pid);
		target_stacks_forget(&c->target_stacks, pid);
		graph_nodes_forget(&c->graph_nodes, pid);
		devices_forget(&c->devices, pid);
		by_process(&c->by, pid);
		return 0;
	case GPU_EVENT_CODE:
		return take_code(c, pid, &event->code);
	case GPU_EVENT_PYCODE:
		return take_pycode(c, pid, &event->pycode);
	case GPU_EVENT_NVTX:
		return take_nvtx(c, pid, &event->nvtx);
	case GPU_EVENT_STACK:
		return take_wire_stack(c, pid, &event->stack);
	case GPU_EVENT_LAUNCH:
		return take_launch(c, pid, &event->launch);
	case GPU_EVENT_KERNEL:
		return take_kernel(c, pid, &event->kernel, kernel);
	case GPU_EVENT_WORK:
		return take_work(c, pid, &event->work);
	case GPU_EVENT_NODE:
		return collect_node(c, pid, &event->node);
	case GPU_EVENT_SUM:
		return collect_sum(c, pid, &event->sum);
	case GPU_EVENT_DEVICE:
		return devices_describe(&c->devices, pid, &event->device);
	case GPU_EVENT_CONTEXT:
		return devices_note_context(&c->devices, pid, &event->context);
	case GPU_EVENT_WAIT:
		return collect_wait(c, pid, &event->wait);
	default:
		return 0;
	}
}

void collect_gpu_event(struct collect *c, uint32_t pid, const struct gpu_event *event,
		       const char *kernel)
{
	if (take_gpu_event(c, pid, event, kernel) != 0)
		c->stats.out_of_memory++;
}
