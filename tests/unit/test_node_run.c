/* SPDX-License-Identifier: MIT */
/*
 * Operations of graphs' nodes in lines of many, compared with a line for each, as older libraries
 * write them: the same events, rows, records of the timeline and counts, to the ns and byte. Random
 * programs have all that ends a line, and all that must have a line of its own.
 */
#include "collect_text.h"
#include "fifo_sink.h"
#include "profiler/model/profile.h"
#include "profiler/model/timeline.h"

enum { EVENTS_MAX = 12000, HEARD_MAX = 20000, GRAPHS = 5, NODES = 40, NAMES = 9, PID = 1 };
#define BEGAN_NS UINT64_C(1000000000)

/* ---- a random program ---- */

struct program {
	struct prng random;
	struct gpu_event events[EVENTS_MAX];
	uint32_t count;
	uint32_t launches;
	uint64_t now_ns, end_ns;
	struct gpu_event nodes[GRAPHS][NODES]; /* their operations, but for times and launches */
};

static uint32_t below(struct program *p, uint32_t limit)
{
	return (uint32_t)prng_below(&p->random, limit);
}

static bool chance(struct program *p, uint32_t percent)
{
	return prng_chance(&p->random, percent);
}

static void put(struct program *p, const struct gpu_event *event)
{
	assert_true(p->count < EVENTS_MAX);
	p->events[p->count++] = *event;
}

static struct gpu_event random_kernel(struct program *p)
{
	struct gpu_event e = {.type = GPU_EVENT_KERNEL};

	e.kernel = (struct gpu_event_kernel){.name_id = below(p, NAMES + 2),
					     .device_id = below(p, 2),
					     .context_id = 1 + below(p, 2),
					     .stream_id = 7 + below(p, 3),
					     .grid = {1 + below(p, 3), 1, 1},
					     .block = {32, 1 + below(p, 2), 1},
					     .static_shared = below(p, 2) * 100,
					     .dynamic_shared = below(p, 2) * 200,
					     .registers = 16 + below(p, 2)};
	if (chance(p, 3))
		e.kernel.grid[2] = UINT32_MAX - below(p, 2);
	return e;
}

static struct gpu_event random_work(struct program *p)
{
	struct gpu_event e = {.type = GPU_EVENT_WORK};

	e.work = (struct gpu_event_work){.work = 1 + below(p, GPU_WORK_MEMSET),
					 .device_id = below(p, 2),
					 .context_id = 1,
					 .stream_id = 7 + below(p, 3),
					 .bytes = below(p, 3) * 4096,
					 .source_memory = below(p, 3),
					 .destination_memory = below(p, 3)};
	return e;
}

/* Makes a graph's nodes, or other ones under the same ids. */
static void make_graph(struct program *p, uint32_t graph)
{
	for (uint32_t i = 0; i < NODES; i++)
		p->nodes[graph][i] = chance(p, 80) ? random_kernel(p) : random_work(p);
}

static void send_nodes(struct program *p, uint32_t graph)
{
	for (uint32_t i = 0; i < NODES; i++)
		put(p, &(struct gpu_event){.type = GPU_EVENT_NODE,
					   .node = {.id = (uint64_t)(graph + 1) << 32 | i,
						    .time_ns = p->now_ns,
						    .stack_id = 1 + below(p, 3)}});
}

static void launch(struct program *p, uint32_t flags)
{
	p->now_ns += 1 + below(p, 5000);
	put(p, &(struct gpu_event){.type = GPU_EVENT_LAUNCH,
				   .launch = {.time_ns = p->now_ns,
					      .tid = PID,
					      .correlation_id = ++p->launches,
					      .family = GPU_LAUNCH_RUNTIME,
					      .flags = flags,
					      .stack_id = 1 + below(p, 3)}});
}

/* Says where and when an operation ran. */
struct run_of {
	uint32_t correlation_id, graph_id;
	uint64_t node_id, start_ns, duration_ns;
	uint32_t bad_time, outside;
};

static void put_operation(struct program *p, struct gpu_event e, const struct run_of *o)
{
	if (e.type == GPU_EVENT_KERNEL) {
		e.kernel.correlation_id = o->correlation_id;
		e.kernel.graph_id = o->graph_id;
		e.kernel.graph_node_id = o->node_id;
		e.kernel.start_ns = o->start_ns;
		e.kernel.duration_ns = o->duration_ns;
		e.kernel.bad_time = o->bad_time;
		e.kernel.outside = o->outside;
	} else {
		e.work.correlation_id = o->correlation_id;
		e.work.graph_id = o->graph_id;
		e.work.graph_node_id = o->node_id;
		e.work.start_ns = o->start_ns;
		e.work.duration_ns = o->duration_ns;
		e.work.bad_time = o->bad_time;
		e.work.outside = o->outside;
	}
	put(p, &e);
}

/* Sends a node's operation: behind the last one, beside it, or at a time that is no difference. */
static void run_node(struct program *p, uint32_t graph, uint32_t node, uint32_t correlation_id)
{
	struct run_of o = {.correlation_id = correlation_id,
			   .graph_id = graph + 1,
			   .node_id = (uint64_t)(graph + 1) << 32 | node};

	o.start_ns = p->end_ns + below(p, 1000);
	if (chance(p, 10))
		o.start_ns = p->now_ns + below(p, 10000);
	o.duration_ns = chance(p, 5) ? prng_bits(&p->random, 40) : below(p, 3000);
	if (chance(p, 1))
		o.start_ns = chance(p, 50) ? INT64_MAX : 0;
	if (chance(p, 1))
		o.node_id = chance(p, 50) ? INT64_MAX - node : 1 + node;
	if (chance(p, 1))
		o.graph_id = below(p, 2) ? UINT32_MAX : 0;
	o.outside = chance(p, 1) ? GPU_BEFORE_TRACING : 0;
	if (chance(p, 1)) {
		o.bad_time = 1;
		o.start_ns = o.duration_ns = 0;
	}
	put_operation(p, p->nodes[graph][node], &o);
	if (!o.bad_time && o.start_ns < INT64_MAX && o.duration_ns < 1u << 20)
		p->end_ns = o.start_ns + o.duration_ns;
}

/* Launches a graph once or twice. Records of two launches may mix, as may those of branches. */
static void run_graph(struct program *p)
{
	uint32_t graph = below(p, GRAPHS), beside = below(p, GRAPHS);
	uint32_t first, last = 0;
	bool mixes = chance(p, 15);

	launch(p, GPU_LAUNCH_IS_GRAPH);
	first = p->launches;
	if (mixes) {
		launch(p, GPU_LAUNCH_IS_GRAPH);
		last = p->launches;
	}
	p->end_ns = p->now_ns + 4000;
	for (uint32_t i = 0; i < NODES; i++) {
		uint32_t node = chance(p, 10) ? below(p, NODES) : i;

		run_node(p, graph, node, chance(p, 99) ? first : 0);
		if (mixes && chance(p, 50))
			run_node(p, beside, i, last);
		if (chance(p, 1))
			launch(p, 0);
	}
	p->now_ns = p->now_ns > p->end_ns ? p->now_ns : p->end_ns;
}

static void run_kernel(struct program *p)
{
	launch(p, 0);
	put_operation(p, random_kernel(p),
		      &(struct run_of){.correlation_id = p->launches,
				       .start_ns = p->now_ns + 10,
				       .duration_ns = below(p, 1000)});
}

static void introduce(struct program *p)
{
	static const char *const names[NAMES] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};

	put(p, &(struct gpu_event){.type = GPU_EVENT_HELLO,
				   .hello = {.version = GPU_WIRE_VERSION,
					     .pid = PID,
					     .instance = 1,
					     .executable = "x",
					     .cupti_path = "",
					     .libraries = ""}});
	for (uint32_t i = 0; i < NAMES; i++)
		put(p, &(struct gpu_event){.type = GPU_EVENT_NAME, .name = {1 + i, 0, names[i]}});
	for (uint32_t i = 0; i < 3; i++)
		put(p, &(struct gpu_event){
			       .type = GPU_EVENT_STACK,
			       .stack = {.id = 1 + i, .is_whole = 1, .function = names[i]}});
	for (uint32_t i = 0; i < GRAPHS; i++) {
		make_graph(p, i);
		send_nodes(p, i);
	}
}

static void make_program(struct program *p, uint64_t round)
{
	p->random = prng_round(round);
	p->count = p->launches = 0;
	p->now_ns = BEGAN_NS;
	introduce(p);
	while (p->count < EVENTS_MAX - 300) {
		if (chance(p, 10))
			run_kernel(p);
		else if (chance(p, 5))
			make_graph(p, below(p, GRAPHS));
		else
			run_graph(p);
		if (chance(p, 1))
			send_nodes(p, below(p, GRAPHS));
	}
}

/* ---- the two ways to write it ---- */

struct text {
	char *bytes;
	size_t used;
};

static void append(struct text *text, const struct gpu_event *event)
{
	int n = gpu_wire_encode(event, text->bytes + text->used, GPU_WIRE_LINE_MAX);

	assert_true(n > 0);
	text->used += (size_t)n;
}

static struct gpu_event goodbye_of(const struct program *p)
{
	struct gpu_event bye = {.type = GPU_EVENT_GOODBYE};

	for (uint32_t i = 0; i < p->count; i++) {
		const struct gpu_event *e = &p->events[i];

		if (e->type == GPU_EVENT_KERNEL || e->type == GPU_EVENT_WORK)
			bye.goodbye.kernels++;
		if (e->type == GPU_EVENT_KERNEL)
			bye.goodbye.kernel_ns += e->kernel.duration_ns;
		if (e->type == GPU_EVENT_WORK)
			bye.goodbye.kernel_ns += e->work.duration_ns;
		bye.goodbye.launches += e->type == GPU_EVENT_LAUNCH;
	}
	return bye;
}

/* As libraries of version 2 wrote it. */
static struct text write_each(const struct program *p)
{
	struct text text = {.bytes = malloc((size_t)(EVENTS_MAX + 3) * GPU_WIRE_LINE_MAX / 8)};
	const struct gpu_event bye = goodbye_of(p);
	struct gpu_event first = p->events[0];

	assert_non_null(text.bytes);
	append(&text,
	       &(struct gpu_event){.type = GPU_EVENT_BATCH, .batch = {.pid = PID, .instance = 1}});
	first.hello.version = 2;
	append(&text, &first);
	for (uint32_t i = 1; i < p->count; i++)
		append(&text, &p->events[i]);
	append(&text, &bye);
	return text;
}

/* Through a pipe, as the library writes it. */
static struct text write_runs(const struct program *p)
{
	struct sink *sink = calloc(1, sizeof(*sink));
	struct text text;
	struct fifo f;

	assert_non_null(sink);
	fifo_make(&f, NULL, NULL);
	f.keep_raw = true;
	fifo_start_reader(&f);
	assert_int_equal(sink_open(sink, f.path, PID, 1), 0);
	for (uint32_t i = 0; i < p->count; i++)
		sink_put(sink, &p->events[i]);
	fifo_close_sink(&f, sink);
	assert_int_equal(f.ledger->pipe.malformed, 0);
	assert_int_equal(f.ledger->pipe.lost_batches, 0);
	text = (struct text){f.raw, f.raw_size};
	f.raw = NULL;
	fifo_remove(&f);
	sink_start_over(sink);
	free(sink);
	return text;
}

/* ---- what becomes of it ---- */

struct heard {
	struct gpu_event event;
	char kernel[32];
};

struct outcome {
	struct collect *collect;
	struct heard *heard;
	uint32_t count;
	struct timeline_record *records;
	uint64_t *launched_ns;
	uint32_t record_count;
};

static void hear_record(void *context, const struct timeline_record *record, uint64_t launched_ns)
{
	struct outcome *o = context;

	assert_true(o->record_count < HEARD_MAX);
	o->records[o->record_count] = *record;
	o->launched_ns[o->record_count++] = launched_ns;
}

/* Notes kernels and other work, which have no pointers. */
static void hear(struct outcome *o, const struct gpu_event *event, const char *kernel)
{
	struct heard *h = &o->heard[o->count];

	if (event->type != GPU_EVENT_KERNEL && event->type != GPU_EVENT_WORK)
		return;
	assert_true(o->count++ < HEARD_MAX);
	h->event.type = event->type;
	if (event->type == GPU_EVENT_KERNEL)
		h->event.kernel = event->kernel;
	else
		h->event.work = event->work;
	snprintf(h->kernel, sizeof(h->kernel), "%s", kernel ? kernel : "");
}

static void take(struct outcome *o, struct gpu_pipe *pipe)
{
	const struct gpu_event *event;
	struct process *process;
	struct tracee *tracee;
	const char *kernel;

	while ((event = gpu_pipe_next(pipe, &tracee, &kernel))) {
		if (event->type == GPU_EVENT_HELLO) {
			process = collect_hello(o->collect, &event->hello);
			assert_non_null(process);
			gpu_pipe_accept(pipe, tracee, process);
			continue;
		}
		hear(o, event, kernel);
		collect_gpu_event(o->collect, tracee_process(tracee), event, kernel);
	}
}

static struct outcome collect_text_of(struct text *text, struct timeline *timeline)
{
	struct outcome o = {.heard = calloc(HEARD_MAX, sizeof(*o.heard)),
			    .records = calloc(HEARD_MAX, sizeof(*o.records)),
			    .launched_ns = calloc(HEARD_MAX, sizeof(*o.launched_ns))};
	struct gpu_pipe *pipe;
	struct tracee *tracee;

	timeline_listen(timeline, hear_record, &o);
	o.collect = collect_new(&(struct collect_options){.place_mask = PLACES_ALL,
							  .measure = {.traces_gpu = true},
							  .timeline = timeline,
							  .is_over = true});
	pipe = gpu_pipe_new(o.collect);
	assert_true(o.heard && o.records && o.launched_ns && pipe);
	for (size_t at = 0; at < text->used;) {
		size_t n = text->used - at < 5000 ? text->used - at : 5000;

		gpu_pipe_feed(pipe, text->bytes + at, n);
		take(&o, pipe);
		collect_advance(o.collect, UINT64_MAX);
		at += n;
	}
	gpu_pipe_finish(pipe);
	while (gpu_pipe_find_ended(pipe, UINT64_MAX, &tracee))
		gpu_pipe_close(pipe, tracee);
	collect_finish(o.collect, UINT64_C(1) << 62);
	gpu_pipe_free(pipe);
	timeline_listen(timeline, NULL, NULL);
	free(text->bytes);
	return o;
}

static void release(struct outcome *o)
{
	collect_free(o->collect);
	free(o->heard);
	free(o->records);
	free(o->launched_ns);
}

static void expect_same_rows(const struct outcome *a, const struct outcome *b)
{
	uint32_t m, n;
	const struct profile_row *x = profile_rows(collect_results(a->collect).profile, &m);
	const struct profile_row *y = profile_rows(collect_results(b->collect).profile, &n);

	assert_int_equal(m, n);
	assert_true(m > 20);
	for (uint32_t i = 0; i < n; i++) {
		assert_true(x[i].kind == y[i].kind && same_id(x[i].stack, y[i].stack) &&
			    same_id(x[i].place, y[i].place));
		assert_true(x[i].count == y[i].count && x[i].ns == y[i].ns &&
			    x[i].bytes == y[i].bytes);
	}
}

/* Compares the counts of what was recorded, and what was lost: nothing. */
static void expect_same_ledger(const struct ledger *a, const struct ledger *b)
{
	struct ledger_gpu x = a->gpu, y = b->gpu;

	assert_int_equal(x.row_count, y.row_count);
	for (uint32_t i = 0; i < x.row_count; i++)
		assert_memory_equal(&x.rows[i], &y.rows[i], sizeof(x.rows[i]));
	x.rows = y.rows = NULL;
	x.row_index = y.row_index = (struct hash_index){0};
	assert_memory_equal(&x, &y, sizeof(x));
	assert_memory_equal(&a->measured, &b->measured, sizeof(a->measured));
	assert_memory_equal(&a->launches, &b->launches, sizeof(a->launches));
	assert_memory_equal(&a->outside, &b->outside, sizeof(a->outside));
	assert_memory_equal(&a->bounds, &b->bounds, sizeof(a->bounds));
	assert_true(a->pipe.malformed == 0 && b->pipe.malformed == 0);
	assert_true(a->pipe.wrong_totals == 0 && b->pipe.wrong_totals == 0);
	assert_true(b->gpu.missing == 0 && b->pipe.lines * 2 < a->pipe.lines);
}

static void expect_same(const struct program *p, const struct outcome *a, const struct outcome *b)
{
	uint32_t at = 0;

	assert_int_equal(a->count, b->count);
	for (uint32_t i = 0; i < a->count; i++) {
		assert_string_equal(a->heard[i].kernel, b->heard[i].kernel);
		assert_memory_equal(&a->heard[i].event, &b->heard[i].event,
				    sizeof(a->heard[i].event));
	}
	/* and as it was sent */
	for (uint32_t i = 0; i < p->count; i++) {
		const struct gpu_event *e = &p->events[i];

		if (e->type == GPU_EVENT_KERNEL)
			assert_memory_equal(&e->kernel, &b->heard[at++].event.kernel,
					    sizeof(e->kernel));
		else if (e->type == GPU_EVENT_WORK)
			assert_memory_equal(&e->work, &b->heard[at++].event.work, sizeof(e->work));
	}
	assert_int_equal(at, b->count);
	assert_int_equal(a->record_count, b->record_count);
	assert_memory_equal(a->records, b->records, a->record_count * sizeof(*a->records));
	assert_memory_equal(a->launched_ns, b->launched_ns,
			    a->record_count * sizeof(*a->launched_ns));
	expect_same_rows(a, b);
	expect_same_ledger(collect_ledger(a->collect), collect_ledger(b->collect));
}

static void both_ways_give_one_profile(void **state)
{
	struct program *p = calloc(1, sizeof(*p));
	uint64_t rounds = unit_rounds(30);

	(void)state;
	assert_non_null(p);
	for (uint64_t round = 0; round < rounds; round++) {
		struct timeline *first = timeline_new(NULL, NULL),
				*second = timeline_new(NULL, NULL);
		struct outcome each, runs;
		struct text text;

		assert_true(first && second);
		make_program(p, round);
		text = write_each(p);
		each = collect_text_of(&text, first);
		text = write_runs(p);
		runs = collect_text_of(&text, second);
		expect_same(p, &each, &runs);
		release(&each);
		release(&runs);
		timeline_free(first);
		timeline_free(second);
	}
	free(p);
}

/* ---- definitions ---- */

static struct gpu_event kernel_of_grid(uint32_t grid, uint32_t node)
{
	return (struct gpu_event){.type = GPU_EVENT_KERNEL,
				  .kernel = {.start_ns = BEGAN_NS + node,
					     .duration_ns = 1,
					     .correlation_id = 1,
					     .graph_id = 1,
					     .graph_node_id = 1 + node,
					     .grid = {grid, 1, 1}}};
}

/* A definition is found again, under its id, by any node; beyond the limit all come again. */
static void definitions_come_once_or_again(void **state)
{
	struct node_runs *runs = calloc(1, sizeof(*runs));
	struct gpu_event e;
	bool is_new;

	(void)state;
	assert_non_null(runs);
	for (uint32_t i = 0; i < GPU_NODE_WORKS; i++) {
		e = kernel_of_grid(i, i);
		assert_int_equal(node_runs_define(runs, &e, &is_new), i + 1);
		assert_true(is_new);
	}
	for (uint32_t i = 0; i < GPU_NODE_WORKS; i++) {
		e = kernel_of_grid(i, i / 2);
		assert_int_equal(node_runs_define(runs, &e, &is_new), i + 1);
		assert_false(is_new);
	}
	e = kernel_of_grid(GPU_NODE_WORKS, 0);
	assert_int_equal(node_runs_define(runs, &e, &is_new), GPU_NODE_WORKS + 1);
	assert_true(is_new);
	e = kernel_of_grid(5, 5);
	assert_int_equal(node_runs_define(runs, &e, &is_new), GPU_NODE_WORKS + 2);
	assert_true(is_new);
	node_runs_release(runs);
	free(runs);
}

/* Each operation has its own work: definitions come without end, and both sides keep the last. */
static void no_program_has_too_many_works(void **state)
{
	enum { MANY = 3 * GPU_NODE_WORKS + 100 };
	struct sink *sink = calloc(1, sizeof(*sink));
	struct fifo f;

	(void)state;
	assert_non_null(sink);
	fifo_open_sink(&f, sink, NULL, NULL);
	for (uint32_t i = 0; i < MANY; i++) {
		struct gpu_event e = kernel_of_grid(i, i % 100);

		sink_put(sink, &e);
		e = kernel_of_grid(i / 2, i % 7);
		sink_put(sink, &e);
	}
	fifo_close_sink(&f, sink);
	assert_int_equal(f.ledger->gpu.kernels, 2 * MANY);
	assert_int_equal(f.ledger->gpu.missing, 0);
	assert_int_equal(f.ledger->pipe.malformed, 0);
	fifo_remove(&f);
	sink_start_over(sink);
	free(sink);
}

/* ---- losses ---- */

static void put_run(struct sink *sink, uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++) {
		struct gpu_event e = kernel_of_grid(i / 10, i);

		sink_put(sink, &e);
	}
}

/* Nobody reads for a while: what is given up is counted, each operation of a line. */
static void lost_lines_are_counted_by_their_operations(void **state)
{
	struct sink *sink = calloc(1, sizeof(*sink));
	struct gpu_event hello = {.type = GPU_EVENT_HELLO,
				  .hello = {.version = GPU_WIRE_VERSION, .pid = 9, .instance = 1}};
	const struct ledger *l;
	struct fifo f;

	(void)state;
	assert_non_null(sink);
	fifo_make(&f, NULL, NULL);
	assert_true(fcntl(f.reader, F_SETPIPE_SZ, 4096) >= 4096);
	assert_int_equal(sink_open(sink, f.path, 9, 1), 0);
	sink_put(sink, &hello);
	put_run(sink, 0, 180);
	sink_flush(sink); /* leaves no room for anything else */
	put_run(sink, 0, 20000);
	assert_true(sink_is_stalled(sink));
	fifo_drain(&f);
	fifo_start_reader(&f);
	sink_flush(sink);
	put_run(sink, 0, 20000); /* by definitions that were given up, too */
	fifo_close_sink(&f, sink);
	l = f.ledger;
	assert_int_equal(l->pipe.malformed, 0);
	assert_true(l->gpu.dropped > 10000);
	assert_int_equal(l->gpu.kernels + l->gpu.dropped, 40180);
	assert_int_equal(l->gpu.missing, 0);
	assert_int_equal(l->pipe.without_goodbye, 0);
	fifo_remove(&f);
	sink_start_over(sink);
	free(sink);
}

static void close_in_the_middle(struct sink *sink, struct fifo *f)
{
	put_run(sink, 0, 100);
	assert_true(sink->runs.steps > 0);
	sink_beat(sink); /* there is something to send, but not now */
	assert_true(sink->runs.steps > 0);
	sink_flush(sink);
	assert_int_equal(sink->runs.steps, 0);
	sink_flush(sink);
	fifo_drain(f);
}

/* A line is whole whenever its batch is sent, and the next operation begins another one. */
static void a_flush_ends_a_line(void **state)
{
	struct sink *sink = calloc(1, sizeof(*sink));
	struct gpu_event hello = {.type = GPU_EVENT_HELLO,
				  .hello = {.version = GPU_WIRE_VERSION, .pid = 9, .instance = 1}};
	struct fifo f;

	(void)state;
	assert_non_null(sink);
	fifo_make(&f, NULL, NULL);
	assert_int_equal(sink_open(sink, f.path, 9, 1), 0);
	sink_put(sink, &hello);
	close_in_the_middle(sink, &f);
	assert_int_equal(f.ledger->gpu.kernels, 100);
	close_in_the_middle(sink, &f);
	put_run(sink, 0, 50); /* not sent: the process ends */
	sink_abandon(sink);
	fifo_drain(&f);
	fifo_finish(&f);
	assert_int_equal(f.ledger->gpu.kernels, 200);
	assert_int_equal(f.ledger->pipe.malformed, 0);
	assert_int_equal(f.ledger->pipe.without_goodbye, 1);
	fifo_remove(&f);
	sink_start_over(sink);
	free(sink);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ways_give_one_profile),
		cmocka_unit_test(definitions_come_once_or_again),
		cmocka_unit_test(no_program_has_too_many_works),
		cmocka_unit_test(lost_lines_are_counted_by_their_operations),
		cmocka_unit_test(a_flush_ends_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
