/* SPDX-License-Identifier: MIT */
/*
 * Any bytes from the pipe through the whole collecting side: the profile's GPU work and waits, and
 * their comparison with the sums that CUPTI reported, match a model of each process.
 *
 * The first byte chooses which parts of places are distinguished, whether the kernel reports the
 * tree, whether launch stacks also come from probes, and whether waits are followed; with a tree
 * and without probes launches may have no stack of their own. (Recorded pipes begin with a
 * newline.) The generation of a request for mappings determines how much later it is; such a
 * request may also be the end of the process.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/cuda_functions.h"
#include "profiler/join/collect.h"
#include "profiler/sources/gpu_pipe.h"
#include "symbolize/util/array.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(int so)
{
	if (!so)
		abort();
}

/* Wrap alike, whatever is summed. */
struct sums {
	uint64_t count, ns, bytes;
};

/* A process as the model knows it. */
struct books {
	uint32_t process;
	struct work_tally counted, reported;
	bool lacks_sums; /* it ended before it had reported them all */
};

struct world {
	struct collect *collect;
	struct gpu_pipe *pipe;
	bool knows_tree, has_probes, follows_waits;
	bool in_windows; /* --budget: sums are estimates, which the model does not have */
	uint32_t place_mask;
	uint64_t now;
	struct books *books;
	uint32_t book_count, book_capacity;
	struct ledger model; /* in which every operation is matched */
	struct sums spans;   /* operations that have a time */
	struct sums waits;
};

/* ---- the model ---- */

static struct books *books_of(struct world *w, const struct process *process)
{
	for (uint32_t i = w->book_count; i-- > 0;)
		if (w->books[i].process == process->id)
			return &w->books[i];
	expect(array_make_room(&w->books, w->book_count, &w->book_capacity, sizeof(*w->books)));
	w->books[w->book_count] = (struct books){.process = process->id};
	return &w->books[w->book_count++];
}

static void add_sum(struct sums *sums, uint64_t count, uint64_t ns, uint64_t bytes)
{
	sums->count += count;
	sums->ns += ns;
	sums->bytes += bytes;
}

static void add_to_tally(struct work_tally *tally, const struct work_sum *sum)
{
	struct work_sum *total = work_tally_get(tally, &sum->key);

	expect(total != NULL);
	work_sum_add(total, sum);
}

static void note_operation(struct world *w, const struct process *process,
			   const struct work_sum *sum, uint32_t bad_time)
{
	add_to_tally(&books_of(w, process)->counted, sum);
	ledger_add_work(&w->model, &(struct gpu_row){.device = sum->key.device,
						     .work = sum->key.work,
						     .count = sum->count,
						     .ns = sum->ns,
						     .bytes = sum->bytes,
						     .bad_times = bad_time});
	if (!gpu_work_is_instant(sum->key.work) && !gpu_work_is_stall(sum->key.work))
		add_sum(&w->spans, sum->count, sum->ns, sum->bytes);
}

static void note_kernel(struct world *w, const struct process *process,
			const struct gpu_event_kernel *e)
{
	note_operation(w, process,
		       &(struct work_sum){
			       .key = {e->device_id, e->context_id, e->stream_id, GPU_WORK_KERNEL},
			       .count = 1,
			       .ns = e->duration_ns},
		       e->bad_time);
}

/* One that ends before it began has no parts. */
static void note_interval(struct world *w, uint64_t start_ns, uint64_t duration_ns)
{
	if (w->follows_waits && start_ns + duration_ns >= start_ns)
		add_sum(&w->waits, 0, duration_ns, 0);
}

static void note_work(struct world *w, const struct process *process,
		      const struct gpu_event_work *e)
{
	if (gpu_work_is_stall(e->work) && !e->bad_time)
		note_interval(w, e->start_ns, e->duration_ns);
	note_operation(
		w, process,
		&(struct work_sum){.key = {e->device_id, e->context_id, e->stream_id, e->work},
				   .count = 1,
				   .ns = e->duration_ns,
				   .bytes = e->bytes},
		e->bad_time);
}

static void note_sum(struct world *w, const struct process *process, const struct gpu_event_sum *e)
{
	add_to_tally(&books_of(w, process)->reported,
		     &(struct work_sum){.key = {e->device_id, e->context_id, e->stream_id, e->work},
					.count = e->count,
					.ns = e->ns,
					.bytes = e->bytes});
}

static void note_event(struct world *w, const struct process *process,
		       const struct gpu_event *event)
{
	if (event->type == GPU_EVENT_KERNEL)
		note_kernel(w, process, &event->kernel);
	else if (event->type == GPU_EVENT_WORK)
		note_work(w, process, &event->work);
	else if (event->type == GPU_EVENT_SUM)
		note_sum(w, process, &event->sum);
	else if (event->type == GPU_EVENT_WAIT)
		note_interval(w, event->wait.start_ns, event->wait.duration_ns);
}

/* ---- a session ---- */

static void close_tracee(struct world *w, struct tracee *tracee)
{
	struct process *process = tracee_process(tracee);

	gpu_pipe_close(w->pipe, tracee);
	books_of(w, process)->lacks_sums = process->lacks_sums;
	collect_goodbye(w->collect, process, w->now);
}

static void say_hello(struct world *w, struct tracee *tracee, const struct gpu_event_hello *hello)
{
	struct process *process;

	/* one of each pair belongs to the target */
	if (w->knows_tree && hello->pid % 2)
		expect(collect_find_process(w->collect, (pid_t)hello->pid) != NULL);
	process = collect_hello(w->collect, hello);
	if (process)
		gpu_pipe_accept(w->pipe, tracee, process);
}

static void pass_time(struct world *w, const struct process *process,
		      const struct gpu_event_maps *maps)
{
	struct process_event exit_event = {
		.type = PROCESS_EXIT, .pid = process->pid, .tid = process->pid, .time_ns = w->now};
	struct tracee *tracee;

	if (maps->wants_ack)
		collect_process_event(w->collect, &exit_event);
	w->now += maps->generation % 4000000000u;
	collect_advance(w->collect, w->now);
	while (gpu_pipe_find_ended(w->pipe, w->now - 1, &tracee))
		close_tracee(w, tracee);
}

/* The launch's entry, as a probe saw it. */
static void add_probe(struct world *w, const struct process *process,
		      const struct gpu_event_launch *launch)
{
	const char *api =
		launch->family == GPU_LAUNCH_DRIVER ? "cuLaunchKernel" : "cudaLaunchKernel";
	__u64 frames[2] = {launch->correlation_id, launch->stack_id};
	struct stack_event event = {
		.time_ns = launch->time_ns,
		.pid = (__u32)process->pid,
		.tid = launch->tid,
		.kind = STACK_EVENT_LAUNCH,
		.launch_function = cuda_launch_function_of(api),
		.user_frames = 2,
	};

	collect_addresses(w->collect, &event, frames, api);
}

static void take_event(struct world *w, struct tracee *tracee, const struct gpu_event *event,
		       const char *kernel)
{
	struct process *process = tracee_process(tracee);

	note_event(w, process, event);
	if (w->has_probes && event->type == GPU_EVENT_LAUNCH)
		add_probe(w, process, &event->launch);
	collect_gpu_event(w->collect, process, event, kernel);
	if (event->type == GPU_EVENT_GOODBYE)
		close_tracee(w, tracee);
	else if (event->type == GPU_EVENT_MAPS)
		pass_time(w, process, &event->maps);
}

static void run(struct world *w, const char *bytes, size_t size)
{
	const struct gpu_event *event;
	struct tracee *tracee;
	const char *kernel;

	gpu_pipe_feed(w->pipe, bytes, size);
	while ((event = gpu_pipe_next(w->pipe, &tracee, &kernel))) {
		if (event->type == GPU_EVENT_HELLO)
			say_hello(w, tracee, &event->hello);
		else
			take_event(w, tracee, event, kernel);
	}
	gpu_pipe_finish(w->pipe);
	while (gpu_pipe_find_ended(w->pipe, UINT64_MAX, &tracee))
		close_tracee(w, tracee);
	collect_finish(w->collect, w->now);
}

/* ---- comparing ---- */

static void check_place(const struct world *w, const struct collected *c,
			const struct profile_row *row)
{
	expect(row->place.number < c->places->count);
	for (int i = 0; i < PLACE_PARTS; i++)
		expect(w->place_mask & 1u << i ||
		       c->places->list[row->place.number].part[i] == PLACE_UNKNOWN);
}

static void check_rows(const struct world *w, const struct collected *c)
{
	struct sums sums[ROW_KINDS] = {0};
	uint32_t count;
	const struct profile_row *rows = profile_rows(c->profile, &count);

	for (uint32_t i = 0; i < count; i++) {
		const struct profile_row *row = &rows[i];

		expect(row->stack.number < stack_table_count(c->stacks));
		check_place(w, c, row);
		add_sum(&sums[row->kind], row->count, row->ns, row->bytes);
	}
	expect(memcmp(&sums[ROW_GPU], &w->spans, sizeof(w->spans)) == 0);
	expect(sums[ROW_WAIT].ns == w->waits.ns && sums[ROW_WAIT].bytes == 0);
	expect(sums[ROW_CPU].count == 0 && sums[ROW_CALL].count == 0);
}

/* Adds up the work of a kind on all devices: processes number devices, and may claim to share one.
 */
static struct gpu_row sum_of_kind(const struct ledger_gpu *gpu, uint32_t work)
{
	struct gpu_row sum = {.work = work};

	for (uint32_t i = 0; i < gpu->row_count; i++) {
		expect(gpu->rows[i].unmatched <= gpu->rows[i].count);
		expect(gpu->rows[i].unmatched_ns <= gpu->rows[i].ns);
		if (gpu->rows[i].work == work)
			gpu_row_add(&sum, &gpu->rows[i]);
	}
	return sum;
}

static void check_work(const struct ledger_gpu *got, const struct ledger_gpu *expected)
{
	for (uint32_t work = 0; work < GPU_WORKS; work++) {
		struct gpu_row row = sum_of_kind(got, work), other = sum_of_kind(expected, work);

		expect(other.count == row.count && other.ns == row.ns && other.bytes == row.bytes &&
		       other.bad_times == row.bad_times);
	}
}

static void check_books(struct world *w)
{
	const struct ledger_gpu *got = &collect_ledger(w->collect)->gpu;
	struct ledger_gpu *model = &w->model.gpu;
	const struct work_tally none = {0};

	for (uint32_t i = 0; i < w->book_count; i++)
		ledger_settle(&w->model, 0, &w->books[i].counted,
			      w->books[i].lacks_sums ? &none : &w->books[i].reported);
	check_work(got, model);
	expect(got->sums == model->sums && got->equal == model->equal);
	expect(got->unreported == model->unreported);
	expect(got->uncompared == model->uncompared);
	expect(got->bad_times == model->bad_times);
	expect(got->matched + got->unmatched == model->matched);
}

static void release_books(struct world *w)
{
	for (uint32_t i = 0; i < w->book_count; i++) {
		work_tally_release(&w->books[i].counted);
		work_tally_release(&w->books[i].reported);
	}
	free(w->books);
	ledger_release(&w->model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = {.now = 1};
	struct collected collected;
	uint32_t limit;

	if (size < 1)
		return 0;
	w.place_mask = data[0] % (1u << PLACE_PARTS);
	w.knows_tree = data[0] & 0x20;
	w.has_probes = data[0] & 0x40;
	w.follows_waits = data[0] & 0x80;
	limit = w.knows_tree && !w.has_probes ? 1000 : 0;
	w.in_windows = !limit && data[0] % 3 == 0;
	w.collect = collect_new(&(struct collect_options){.place_mask = w.place_mask,
							  .measure.waits = w.follows_waits,
							  .measure.max_overhead = limit,
							  .measure.budget = w.in_windows ? 1000 : 0,
							  .measure.devices = true});
	expect(w.collect != NULL);
	if (w.knows_tree)
		collect_know_tree(w.collect);
	w.pipe = gpu_pipe_new(w.collect);
	expect(w.pipe != NULL);
	run(&w, (const char *)data + 1, size - 1);
	collected = collect_results(w.collect);
	expect(collected.ledger->bounds.out_of_memory == 0);
	if (!w.in_windows) {
		check_rows(&w, &collected);
		check_books(&w);
	}
	gpu_pipe_free(w.pipe);
	collect_free(w.collect);
	release_books(&w);
	return 0;
}
