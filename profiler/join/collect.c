// SPDX-License-Identifier: MIT
#include "profiler/join/collect_private.h"

#include <errno.h>
#include <stdlib.h>
#include "profiler/base/cuda_functions.h"
#include "profiler/model/ledger_sum.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/text.h"

/* Charges memory kept from here on to the quotas. */
static void limit_memory(struct collect *c)
{
	stack_table_limit(c->stacks, &c->memory);
	profile_limit(c->profile, &c->memory);
	c->places.memory = &c->memory;
	c->place_names.memory = &c->memory;
	join_limit(c->join, &c->passing);
	attribution_limit(&c->attribution, &c->passing);
	symbolizer_share_memory(c->symbolizer, &c->memory.used, c->memory.limit);
}

static void keep_handed_sample(void *collect, const struct async_sample *sample,
			       struct owner_stack owner);

#define LONG_GRAPH_NS 1000000000u /* a graph launched so long before may still run */
#define UNDECIDED_MAX 65536u
#define UNDECIDED_NS 1000000000u /* maximum delay of a process's range events */
struct undecided {
	struct async_sample sample;
	struct stack_id stack;
	uint32_t flags;
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

/* Passes a note from the sink to its creator. */
static void take_note(void *collect, const struct profile_item *note)
{
	struct collect *c = collect;

	if (note->record.kind == NOTE_SHARE)
		attribution_note(&c->attribution, note);
	else if (note->record.kind == NOTE_CALLS)
		api_calls_note(note);
	else
		addons_note(&c->addons, note);
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
						  .gpu_stacks = &c->attribution.gpu_stacks,
						  .places = &c->places,
						  .devices = &c->devices,
						  .sink = &c->sink,
						  .time_range = &c->time_range,
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
	c->memory.limit = options->memory_bytes ? options->memory_bytes : COLLECT_MEMORY;
	c->target_bytes = (struct quota){.limit = options->target_bytes ? options->target_bytes
									: COLLECT_TARGET_BYTES,
					 .outer = &c->memory};
	c->rename_bytes = (struct quota){.limit = COLLECT_RENAME_BYTES, .outer = &c->target_bytes};
	c->thread_name_bytes =
		(struct quota){.limit = COLLECT_RENAME_BYTES, .outer = &c->target_bytes};
	c->passing = (struct quota){.limit = c->memory.limit, .outer = &c->memory};
	c->pid_namespace = pid_namespace_own();
	c->open_launches.sink = &c->sink;
	queue_init(&c->undecided, sizeof(struct undecided));
	c->async_samples.output = keep_handed_sample;
	c->async_samples.context = c;
	c->symbolizer = symbolizer_new();
	pythons_init(&c->pythons, c->symbolizer, &c->strings, &c->target_bytes);
	c->pythons.lines = options->measure.python_lines;
	c->pythons.keeps_native = options->measure.native_python;
	c->stacks = stack_table_new();
	c->origins.stacks = c->stacks;
	c->origins.quota = &c->target_bytes;
	c->off_cpu.quota = &c->target_bytes;
	c->profile = profile_new();
	c->sink = (struct profile_sink){.profile = c->profile,
					.ledger = &c->ledger,
					.timeline = options->timeline,
					.take_note = take_note,
					.context = c};
	c->sink.takes_turns = options->takes_turns;
	if (options->last_ns && !profile_sink_keep(&c->sink))
		goto failed;
	to_attribution = (struct join_output){attribution_add, &c->attribution};
	c->join = join_new(&to_attribution);
	c->builder = (struct stack_builder){.symbolizer = c->symbolizer,
					    .stacks = c->stacks,
					    .pythons = &c->pythons,
					    .strings = &c->strings,
					    .quota = &c->target_bytes,
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
							     .quota = &c->target_bytes,
							     .addons = &c->addons});
		c->attribution.begins_late = options->measure.attached;
		limit_memory(c);
		if (options->measure.max_overhead)
			attribution_limit_stacks(&c->attribution);
		if (options->measure.budget)
			attribution_in_windows(&c->attribution);
		if (options->measure.launch_shapes || options->timeline)
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
	async_samples_release(&c->async_samples);
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
	free(c->taken);
	free(c->copied);
	free(c->found);
	free(c);
}

void collect_set_time_range(struct collect *c, const struct time_range *time_range)
{
	c->time_range = *time_range;
	c->attribution.time_range = *time_range;
}

void collect_begin(struct collect *c, uint64_t now_ns)
{
	c->began_ns = c->sink.now_ns = now_ns;
}

const struct time_range *collect_time_range(const struct collect *c)
{
	return &c->time_range;
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

void collect_set_kernel_names(struct collect *c,
			      int (*find)(void *context, uint64_t address, char *name, size_t size),
			      void *context)
{
	symbolizer_set_kernel_names(c->symbolizer, find, context);
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

void collect_gpu_state(struct collect *c, const char *gpu, const struct gpu_reading *reading)
{
	addons_state(&c->addons, gpu, reading);
}

const char *collect_keep_text(void *collect, const char *text)
{
	return collect_text(collect, text);
}

const char *collect_text(struct collect *c, const char *text)
{
	return stack_builder_text(&c->builder, text);
}

struct quota *collect_target_quota(struct collect *c)
{
	return &c->target_bytes;
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

/* Adds a sample to the profile. `stack` includes the origin of its thread. */
static void add_kept_sample(struct collect *c, const struct async_sample *sample,
			    struct stack_id stack, uint32_t flags)
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

/* Decides queued samples up to `until_ns`, and the oldest beyond `most`. */
static void decide_samples(struct collect *c, uint64_t until_ns, uint32_t most)
{
	struct undecided *u;

	while ((u = queue_front(&c->undecided)) &&
	       (u->sample.time_ns <= until_ns || queue_length(&c->undecided) > most)) {
		const struct process *process = processes_get(&c->processes, u->sample.process);

		if (process &&
		    recorded_intervals_has(&process->ranges.intervals, u->sample.time_ns))
			add_kept_sample(c, &u->sample, u->stack, u->flags);
		queue_pop(&c->undecided);
	}
}

void collect_visit_samples(struct collect *c, const struct id_visitor *v)
{
	for (uint32_t i = 0; i < queue_length(&c->undecided); i++) {
		struct undecided *u = queue_at(&c->undecided, i);

		visit_stack(v, &u->stack);
		visit_place(v, &u->sample.place);
	}
}

/* Adds a sample. With --range the sample is queued until its process has reported its ranges. */
static void keep_sample(struct collect *c, const struct async_sample *sample, struct stack_id stack,
			uint32_t flags)
{
	const struct undecided undecided = {*sample, .stack = stack, .flags = flags};

	if (!c->options.measure.ranges) {
		add_kept_sample(c, sample, stack, flags);
		return;
	}
	decide_samples(c, 0, UNDECIDED_MAX);
	collect_note_error(c, queue_insert_by_time(&c->undecided, &undecided));
}

/* Receives the samples of async workers. */
static void keep_handed_sample(void *collect, const struct async_sample *sample,
			       struct owner_stack owner)
{
	struct collect *c = collect;

	if (same_id(owner, OWNER_UNKNOWN))
		keep_sample(c, sample,
			    thread_origins_below(&c->origins, sample->process, sample->tid,
						 sample->stack),
			    ITEM_NO_PARENT);
	else
		keep_sample(c, sample,
			    stack_table_append(c->stacks, (struct stack_id){owner.number},
					       sample->stack),
			    ITEM_HANDED);
}

/* Returns true for a thread that is an async worker, whose launches name the owner. */
static bool is_handed_to(const struct collect *c, const struct process *process,
			 const struct stack_event *event)
{
	return process_has_spoken(process) &&
	       (starts_with(event->comm, GPU_HANDED_TO_PREFIX) ||
		async_samples_has(&c->async_samples, process->id, event->tid));
}

static void add_sample(struct collect *c, struct process *process, const struct stack_event *event,
		       uint64_t ran_ns, struct stack_id stack, bool is_whole)
{
	const struct async_sample sample = {.time_ns = event->time_ns,
					    .ran_ns = ran_ns,
					    .process = process->id,
					    .tid = event->tid,
					    .stack = stack,
					    .place = collect_place_at(c, process, event),
					    .is_whole = is_whole};

	cpu_time_sampled(&c->cpu_time, process, ran_ns);
	if (is_handed_to(c, process, event))
		async_samples_add(&c->async_samples, &sample);
	else
		keep_sample(c, &sample,
			    thread_origins_below(&c->origins, process->id, event->tid, stack), 0);
}

/* Adds the entry of a launch function, seen by a probe. */
static void add_launch_probe(struct collect *c, struct process *process,
			     const struct stack_event *event, struct stack_id stack, bool is_whole)
{
	bool is_driver = cuda_function_is_driver(event->launch_function);
	const struct thread_use use = collect_use_of(event);

	collect_note_thread(c, process, &use);
	stack = thread_origins_below(&c->origins, process->id, event->tid, stack);
	c->ledger.launches.by_probe++;
	c->ledger.launches.whole += is_whole;
	collect_note_error(
		c, join_probe(c->join, process->id, event->tid, event->time_ns,
			      is_driver ? FAMILY_DRIVER : FAMILY_RUNTIME,
			      attribution_origin(&c->attribution, launched_at(stack), event->tid)));
}

bool collect_snapshot(struct collect *c, const struct stack_snapshot *snapshot, const char *api)
{
	const struct stack_event *event = &snapshot->event;
	struct process *process = collect_process_of(c, event);
	struct stack_id stack;
	bool is_whole;

	if (!process || (!api && !time_range_has(&c->time_range, event->time_ns)))
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
	struct stack_id stack;

	if (!process || (!api && !time_range_has(&c->time_range, event->time_ns)) ||
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

/* ---- timed calls ---- */

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

	if (!time_range_has(&c->time_range, call->start_ns)) {
		c->ledger.outside.calls += !call->taken_ns;
		return;
	}
	profile_sink_add(&c->sink, &item);
}

void collect_end_calls(struct collect *c, uint32_t process, uint64_t now_ns)
{
	struct open_call call;
	uint32_t position = 0;

	while (open_calls_take(&c->open_calls, process, now_ns, &position, &call))
		add_call_time(c, &call, now_ns, ITEM_UNFINISHED);
}

/* Locates the kernel's host function. Returns false if it is unknown. */
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
	call.place = collect_place_at(c, process, event);
	call.stack = stack_builder_snapshot(&c->builder, process, snapshot, api, &is_whole);
	call.stack = thread_origins_below(&c->origins, process->id, event->tid, call.stack);
	call.stack = gpu_stack_call(
		&c->attribution.gpu_stacks, call.stack,
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
		/* the entry was dropped: the time counts under the function alone */
		c->ledger.calls.without_stack++;
		call.place = collect_place_at(c, process, event);
		call.stack = gpu_stack_call(
			&c->attribution.gpu_stacks,
			stack_table_push_text(c->stacks, STACK_EMPTY, FRAME_API, api), NULL);
	}
	add_call_time(c, &call, event->time_ns, 0);
}

/* ---- time ---- */

/* Counts a process that used the GPU, or may have, by the cause of its missing GPU time. */
static void count_cause(struct collect *c, const struct process *process, bool has_begun)
{
	const struct untraced_use use = {.has_called = has_begun || process->lacks_gpu_time,
					 .is_exact = process->gpu.has_end_state,
					 .has_device = process->gpu.has_device,
					 .opened = process->gpu.opened,
					 .has_nvml = process->gpu.has_nvml};
	struct ledger *l = &c->ledger;

	enum untraced_verdict verdict = untraced_judge(&use, process->gpu.obstacle);

	if (verdict == UNTRACED_LACKS) {
		l->processes.causes[process->gpu.obstacle]++;
		l->calls.processes += !process->lacks_gpu_time;
	} else if (verdict == UNTRACED_MAY_LACK && process->gpu.has_driver) {
		/* without a driver of its own, a child's devices may be its parent's */
		l->processes.untraced++;
		l->processes.unsure[process->gpu.obstacle]++;
	}
}

/* Counts a process without a hello, whose GPU work should or may have been traced. */
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

/* Subtracts up to `*left` from `*count`, and the difference from `*left`. */
static void take_from(uint64_t *count, uint64_t *left)
{
	uint64_t taken = *count < *left ? *count : *left;

	*count -= taken;
	*left -= taken;
}

/* Subtracts hidden processes that did say hello: it is unknown which ones these are. */
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

/* Returns true if results identify a device by its process and number. */
static bool asks_for_devices(const struct collect *c)
{
	return collect_distinguishes(c, PLACE_DEVICE) || c->options.keeps_metrics ||
	       c->addons.needs_devices;
}

/* Finalizes and frees a process that sends nothing more. */
static void finalize(struct collect *c, struct process *process)
{
	const struct work_tally none = {0};
	const struct work_sum *sum;
	uint32_t at = 0;

	c->attribution.ending = process;
	join_end_process(c->join, process->id);
	c->attribution.ending = NULL;
	graph_nodes_forget(&c->attribution.graph_nodes, process->id);
	open_calls_forget(&c->open_calls, process->id);
	open_launches_forget(&c->open_launches, process->id);
	async_samples_forget(&c->async_samples, process->id);
	thread_origins_forget(&c->origins, process->id);
	off_cpu_forget_process(&c->off_cpu, process->id);
	addons_end_process(&c->addons, process->id);
	while ((sum = work_tally_next(&process->counted, &at)))
		devices_use(&c->devices, process->id, sum->key.device);
	if (!asks_for_devices(c))
		devices_end_process(&c->devices, process->id);
	count_untraced(c, process);
	cpu_time_end_process(&c->cpu_time, process);
	ledger_settle(&c->ledger, (uint32_t)process->pid, &process->counted,
		      process->lacks_sums ? &none : &process->reported);
	process_free(process);
}

void collect_advance(struct collect *c, uint64_t until_ns)
{
	struct process *process;

	join_advance(c->join, until_ns);
	addons_advance(&c->addons, until_ns);
	async_samples_advance(&c->async_samples, until_ns);
	if (until_ns > UNDECIDED_NS)
		decide_samples(c, until_ns - UNDECIDED_NS, UNDECIDED_MAX);
	while ((process = processes_take_expired(&c->processes, until_ns)))
		finalize(c, process);
}

bool collect_awaits_records(const struct collect *c)
{
	const uint64_t to_ns = c->time_range.to_ns;

	return join_may_be_running(c->join, to_ns,
				   to_ns > LONG_GRAPH_NS ? to_ns - LONG_GRAPH_NS : 0);
}

uint64_t collect_count_launched(const struct collect *c, uint64_t since_ns)
{
	return join_count_kernels_expected(c->join, since_ns);
}

void collect_set_time(struct collect *c, uint64_t now_ns)
{
	uint64_t kept_ns = saturated_sum(c->options.last_ns, PROFILE_SINK_SLACK_NS);
	uint64_t before_ns = now_ns > kept_ns ? now_ns - kept_ns : 0;

	if (!c->options.last_ns)
		return;
	if (c->options.takes_turns)
		before_ns = c->taken_ns > PROFILE_SINK_SLACK_NS
				    ? c->taken_ns - PROFILE_SINK_SLACK_NS
				    : 0;
	profile_sink_advance(&c->sink, now_ns, c->options.takes_turns ? 0 : before_ns);
	addons_forget(&c->addons, before_ns);
	table_gc_run(c);
}

/*
 * Fixes the last seconds (--last), now that the end is known: the end of the time range, or
 * `now_ns`.
 */
static void finish_last(struct collect *c, uint64_t now_ns)
{
	struct time_range *w = &c->time_range;
	uint64_t end_ns = w->to_ns && w->to_ns < now_ns ? w->to_ns : now_ns, wanted_ns;

	if (!c->options.last_ns)
		return;
	if (c->options.takes_turns)
		w->from_ns = c->taken_ns > w->from_ns ? c->taken_ns : w->from_ns;
	else if (end_ns > c->began_ns && end_ns - c->began_ns > c->options.last_ns &&
		 end_ns - c->options.last_ns > w->from_ns)
		w->from_ns = end_ns - c->options.last_ns;
	wanted_ns = w->from_ns > c->began_ns ? w->from_ns : c->began_ns;
	if (addons_whole_from(&c->addons) > w->from_ns)
		w->from_ns = addons_whole_from(&c->addons);
	api_calls_begin_part(&c->ledger.api);
	profile_sink_finish(&c->sink, w);
	api_calls_end_part(&c->ledger.api);
	if (w->from_ns <= wanted_ns)
		return;
	if (w->from_ns > end_ns)
		w->from_ns = end_ns;
	c->ledger.outside.not_held_ns = w->from_ns > wanted_ns ? w->from_ns - wanted_ns : 0;
}

/* Frees the data that only input needs. */
static void free_passing(struct collect *c)
{
	join_free(c->join);
	c->join = NULL;
	attribution_release(&c->attribution);
	quota_return(&c->passing, c->passing.used);
}

/*
 * Counts launches without a record, less known lost records. `unended`: with --last, launches that
 * had no record when the input ended.
 */
static void note_unanswered(struct collect *c, uint64_t now_ns, uint64_t unended)
{
	struct join_stats stats = join_stats(c->join);
	uint64_t known = c->ledger.gpu.dropped;
	uint64_t copies = stats.copies_without_record, graphs = stats.graphs_without_record;

	if (c->options.last_ns && time_range_is_over(&c->time_range, now_ns)) {
		saturated_add(&c->ledger.outside.unended, unended);
		return;
	}
	saturated_add(&known, c->ledger.gpu.missing);
	take_from(&copies, &known);
	take_from(&graphs, &known);
	if (time_range_is_over(&c->time_range, now_ns)) {
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
	collect_end_calls(c, 0, now_ns);
	unended = join_count_others_expected(c->join, c->time_range.to_ns);
	join_finish(c->join);
	c->ledger.launches.confused = join_stats(c->join).launches_confused;
	note_unanswered(c, now_ns, unended);
	/* before processes are freed with their ranges */
	async_samples_advance(&c->async_samples, UINT64_MAX);
	decide_samples(c, UINT64_MAX, 0);
	while ((process = processes_take_any(&c->processes)))
		finalize(c, process);
	discount_hidden(c);
	collect_finish_cpu_time(c, now_ns);
	devices_make_labels(&c->devices);
	addons_finish(&c->addons);
	finish_last(c, now_ns);
	attribution_finish(&c->attribution);
	addons_complete(&c->addons,
			c->options.last_ns && c->time_range.from_ns > c->began_ns
				? c->time_range.from_ns
				: c->began_ns,
			now_ns);
	c->ledger.bounds.stacks = stack_table_refused(c->stacks);
	c->ledger.bounds.refused +=
		c->target_bytes.refused + c->rename_bytes.refused + c->thread_name_bytes.refused;
	free_passing(c);
}

void collect_note_copy(struct collect *c, uint64_t until_ns, const struct ledger *ledger)
{
	c->copied_until_ns = until_ns;
	c->copied_end = profile_sink_end(&c->sink);
	if (!c->copied)
		c->copied = malloc(sizeof(*c->copied));
	if (c->copied)
		*c->copied = *ledger;
}

void collect_take(struct collect *c)
{
	struct ledger *before = c->taken;

	profile_sink_take(&c->sink, c->copied_until_ns, c->copied_end);
	c->taken_ns = c->copied_until_ns;
	c->taken = c->copied;
	c->copied = before;
}

void collect_close(struct collect *c)
{
	if (c->options.takes_turns)
		profile_sink_close(&c->sink);
}

void collect_discount_taken(struct collect *c)
{
	if (c->taken)
		ledger_subtract_losses(&c->ledger, c->taken);
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
				       .metrics = c->metrics,
				       .kept = c->sink.recorder,
				       .last_from_ns = c->sink.now_ns > c->options.last_ns
							       ? c->sink.now_ns - c->options.last_ns
							       : 0,
				       .renumbered = c->gc.times};
	addons_show(&c->addons, &collected);
	return collected;
}
