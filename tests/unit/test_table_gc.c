/* SPDX-License-Identifier: MIT */
/*
 * Compares the last seconds of a run (--last) with a run of that part alone (--delay, -d). The
 * test's own sums are a third source. All agree, whatever is forgotten in the meantime, and a long
 * run does not grow. The modules are built into this test, with small limits.
 */
#define FLIGHT_RECORDER_PIECE 32u
#define FLIGHT_RECORDER_BYTES (64u * (24 + 64 * FLIGHT_RECORDER_PIECE))
#define TABLE_GC_LEAST 64u
#define TABLE_GC_MOST 256u
#define PROFILE_SINK_SLACK_NS UINT64_C(100000)
#define AHEAD_NS 1000u
#include "collect_text.h"
#include "profiler/model/flight_recorder.c"
#include "profiler/model/profile_sink.c"
#include "profiler/join/collect.c"
#include "profiler/join/collect_gpu.c"
#include "profiler/join/table_gc.c"
#include "symbolize/util/array.h"

enum {
	PROCESSES = 4,
	FIRST_PID = 50000000, /* beyond those of Linux */
	THREADS = 5,
	KERNELS = 6,
	LATE = 64,         /* operations whose record has not come */
	BEGIN_NS = 1000000 /* start of the run */
};

static const char *const kernels[KERNELS] = {"k0", "k1", "k2", "k3", "k4", "k5"};

/* ---- a run ---- */

struct operation {
	uint32_t slot; /* slot of its process */
	uint32_t kernel, correlation;
	uint64_t start_ns, ns, node;
};

struct program {
	struct process *process;
	pid_t pid;
	uint32_t correlation, stack;
};

/* State of a run besides the collected data. Equal seeds give equal states. */
struct play {
	struct prng p;
	struct collect *c;
	uint64_t now_ns;
	uint64_t pause; /* steps are so many times as far apart */
	struct program programs[PROCESSES];
	pid_t next_pid;
	struct operation late[LATE];
	uint32_t late_count;
	/* work that begins in the time range, by kernel; work before it */
	struct time_range time_range;
	uint64_t ns[KERNELS], count[KERNELS], before, after;
};

/* Begins a run. `shares`: some launches have no stack, and share those of others. */
static struct collect *begin_run(uint64_t last_ns, const struct time_range *time_range,
				 struct timeline *timeline, bool shares)
{
	struct collect *c = collect_new(&(struct collect_options){
		.sample_ns = SAMPLE_NS,
		.place_mask = PLACES_ALL,
		.measure = {.waits = true, .devices = true, .max_overhead = shares ? 1 : 0},
		.timeline = timeline,
		.last_ns = last_ns});

	assert_non_null(c);
	if (time_range)
		collect_set_time_range(c, time_range);
	collect_begin(c, BEGIN_NS);
	return c;
}

static struct collect *begin(uint64_t last_ns, const struct time_range *time_range,
			     struct timeline *timeline)
{
	return begin_run(last_ns, time_range, timeline, false);
}

static void send(struct play *y, uint32_t slot, const struct gpu_event *event)
{
	collect_gpu_event(y->c, y->programs[slot].process, event, NULL);
}

/* Sends a stack whose only frame has a text of its own. */
static uint32_t send_stack(struct play *y, uint32_t slot)
{
	struct program *program = &y->programs[slot];
	char function[32];

	/* most come again and again, others never; what a process has sent stays as long as it */
	if (program->stack > 8 && (slot == 0 || prng_chance(&y->p, 80)))
		return 1 + (uint32_t)prng_below(&y->p, 8);
	snprintf(function, sizeof(function), "call_%d_%u", (int)(program->pid % 7),
		 ++program->stack);
	send(y, slot,
	     &(struct gpu_event){
		     .type = GPU_EVENT_STACK,
		     .stack = {.id = program->stack, .is_whole = 1, .function = function}});
	return program->stack;
}

static void start(struct play *y, uint32_t slot)
{
	struct process_event event = {
		.time_ns = y->now_ns, .type = PROCESS_FORK, .parent = FIRST_PID};
	struct program *program = &y->programs[slot];

	event.pid = event.tid = y->next_pid++;
	if (event.pid == FIRST_PID)
		assert_non_null(collect_start_target(y->c, FIRST_PID));
	else
		assert_non_null(collect_process_event(y->c, &event));
	event.type = PROCESS_EXEC;
	snprintf(event.comm, sizeof(event.comm), "app");
	assert_non_null(collect_process_event(y->c, &event));
	event.type = PROCESS_MAP;
	event.mapping = (struct code_mapping){.path = "/bin/app"};
	assert_non_null(collect_process_event(y->c, &event));
	*program =
		(struct program){.process = say_hello(y->c, (uint32_t)event.pid), .pid = event.pid};
	assert_non_null(program->process);
}

static void launch(struct play *y, uint32_t slot)
{
	struct program *program = &y->programs[slot];
	bool is_skipped = y->c->options.measure.max_overhead && prng_chance(&y->p, 50);
	uint32_t stack = !is_skipped && prng_chance(&y->p, 90) ? send_stack(y, slot) : 0;
	uint32_t tid = (uint32_t)program->pid + (uint32_t)prng_below(&y->p, THREADS);
	struct operation *o;

	if (prng_chance(&y->p, 10)) /* a new thread */
		tid = (uint32_t)y->now_ns;
	if (stack && prng_chance(&y->p, 10))
		send(y, slot,
		     &(struct gpu_event){.type = GPU_EVENT_NODE,
					 .node = {.id = UINT64_C(7) << 32 | program->correlation,
						  .time_ns = y->now_ns,
						  .stack_id = stack}});
	send(y, slot,
	     &(struct gpu_event){.type = GPU_EVENT_LAUNCH,
				 .launch = {.time_ns = y->now_ns,
					    .tid = tid,
					    .correlation_id = ++program->correlation,
					    .family = GPU_LAUNCH_RUNTIME,
					    .flags = is_skipped ? GPU_LAUNCH_SKIPPED : 0,
					    .stands_for = 1 + program->correlation % 3,
					    .stack_id = stack}});
	send(y, slot,
	     &(struct gpu_event){.type = GPU_EVENT_LAUNCH_END,
				 .launch_end = {.duration_ns = prng_below(&y->p, 50),
						.tid = tid,
						.correlation_id = program->correlation}});
	if (y->late_count == LATE)
		return;
	o = &y->late[y->late_count++];
	*o = (struct operation){.slot = slot,
				.kernel = (uint32_t)prng_below(&y->p, KERNELS),
				.correlation = program->correlation,
				.start_ns = y->now_ns + prng_below(&y->p, 500),
				.ns = prng_below(&y->p, 4000)};
	if (prng_chance(&y->p, 10) && program->correlation > 1)
		o->node = UINT64_C(7) << 32 | prng_below(&y->p, program->correlation);
}

static void note(struct play *y, const struct operation *o)
{
	if (time_range_has(&y->time_range, o->start_ns)) {
		y->ns[o->kernel] += o->ns;
		y->count[o->kernel]++;
	} else if (o->start_ns < y->time_range.from_ns) {
		y->before++;
	} else {
		y->after++;
	}
}

/* Delivers one of the late records, whose operation has ended. */
static void deliver(struct play *y)
{
	uint32_t at = (uint32_t)prng_below(&y->p, y->late_count);
	struct operation o = y->late[at];

	if (o.start_ns + o.ns > y->now_ns)
		return;
	y->late[at] = y->late[--y->late_count];
	note(y, &o);
	collect_gpu_event(y->c, y->programs[o.slot].process,
			  &(struct gpu_event){.type = GPU_EVENT_KERNEL,
					      .kernel = {.start_ns = o.start_ns,
							 .duration_ns = o.ns,
							 .correlation_id = o.correlation,
							 .device_id = o.slot % 2,
							 .stream_id = o.kernel,
							 .graph_id = (uint32_t)(o.node >> 32),
							 .graph_node_id = o.node}},
			  collect_text(y->c, kernels[o.kernel]));
}

static void wait_for_gpu(struct play *y, uint32_t slot)
{
	uint64_t ns = prng_below(&y->p, 2000);

	send(y, slot,
	     &(struct gpu_event){.type = GPU_EVENT_WAIT,
				 .wait = {.start_ns = y->now_ns - ns,
					  .duration_ns = ns,
					  .tid = (uint32_t)y->programs[slot].pid,
					  .stack_id = send_stack(y, slot)}});
}

static void sample(struct play *y, uint32_t slot)
{
	const struct stack_event event = {.time_ns = y->now_ns,
					  .pid = (uint32_t)y->programs[slot].pid,
					  .tid = (uint32_t)y->programs[slot].pid,
					  .user_frames = 1};
	const __u64 address = 0x1000 + prng_below(&y->p, 4);

	collect_addresses(y->c, &event, &address, NULL);
}

static void end(struct play *y, uint32_t slot)
{
	struct program *program = &y->programs[slot];
	const struct process_event exit = {.time_ns = y->now_ns,
					   .type = PROCESS_EXIT,
					   .pid = program->pid,
					   .tid = program->pid};

	for (uint32_t i = y->late_count; i-- > 0;)
		if (y->late[i].slot == slot)
			y->late[i] = y->late[--y->late_count];
	collect_process_event(y->c, &exit);
	collect_goodbye(y->c, program->process, y->now_ns);
	start(y, slot);
}

static void step(struct play *y)
{
	uint32_t slot = (uint32_t)prng_below(&y->p, PROCESSES);
	uint64_t what = prng_below(&y->p, 100);

	y->now_ns += prng_below(&y->p, 200) * y->pause;
	if (what < 35)
		launch(y, slot);
	else if (what < 75 && y->late_count > 0)
		deliver(y);
	else if (what < 80)
		wait_for_gpu(y, slot);
	else if (what < 98)
		sample(y, slot);
	else if (slot > 0) /* the first one is the others' parent */
		end(y, slot);
	if (prng_chance(&y->p, 20)) {
		collect_advance(y->c, y->now_ns - 100);
		collect_set_time(y->c, y->now_ns);
	}
}

static void play(struct play *y, uint64_t seed, struct collect *c, uint32_t steps)
{
	struct time_range time_range = y->time_range;

	*y = (struct play){.p = {seed, seed},
			   .c = c,
			   .now_ns = BEGIN_NS,
			   .pause = 1,
			   .next_pid = FIRST_PID,
			   .time_range = time_range};
	for (uint32_t i = 0; i < PROCESSES; i++) {
		start(y, i);
		launch(y, i);
	}
	for (uint32_t i = 0; i < steps; i++)
		step(y);
}

/* ---- what was collected, as text ---- */

struct dump {
	char **lines;
	uint32_t count, capacity;
};

static void print_stack(FILE *out, const struct stack_table *stacks, uint32_t stack)
{
	for (; stack != STACK_EMPTY.number;
	     stack = stack_table_outer(stacks, STACK_ID(stack)).number) {
		const struct frame *f = stack_table_frame(stacks, STACK_ID(stack));

		if (f->kind == FRAME_CODE || f->kind == FRAME_RETURN)
			fprintf(out, ";%u@%u", f->kind, f->code.module);
		else
			fprintf(out, ";%u%s", f->kind, f->text);
	}
}

/* Prints a place with the names that outputs have. */
static void print_place(FILE *out, const struct collected *k, uint32_t number)
{
	const struct place *place = &k->places->list[number];
	const struct process_info *process =
		place_names_process(k->place_names, place->part[PLACE_PROCESS]);
	const struct thread_info *thread = place_names_thread(
		k->place_names, place->part[PLACE_PROCESS], place->part[PLACE_THREAD]);

	for (int i = 0; i < PLACE_PARTS; i++)
		fprintf(out, " %u", place->part[i]);
	fprintf(out, " %s %s", process ? process->name : "-", thread ? thread->name : "-");
}

static void add_line(struct dump *d, char *line)
{
	assert_true(array_make_room(&d->lines, d->count, &d->capacity, sizeof(line)));
	d->lines[d->count++] = line;
}

static void dump_rows(struct dump *d, const struct collected *k)
{
	uint32_t count;
	const struct profile_row *rows = profile_rows(k->profile, &count);

	for (uint32_t i = 0; i < count; i++) {
		char *line = NULL;
		size_t size;
		FILE *out;

		if (rows[i].count == 0)
			continue;
		out = open_memstream(&line, &size);
		fprintf(out, "row %u %" PRIu64 " %" PRIu64, rows[i].kind, rows[i].count,
			rows[i].ns);
		print_place(out, k, rows[i].place.number);
		print_stack(out, k->stacks, rows[i].stack.number);
		fclose(out);
		add_line(d, line);
	}
}

static void dump_records(struct dump *d, const struct collected *k)
{
	struct timeline_reader *reader;
	const struct timeline_record *r;

	assert_int_equal(timeline_finish(k->timeline), 0);
	reader = timeline_reader_new(k->timeline);
	assert_non_null(reader);
	while (timeline_reader_next(reader, &r) == 1) {
		char *line = NULL;
		size_t size;
		FILE *out = open_memstream(&line, &size);

		fprintf(out, "record %u %" PRIu64 " %" PRIu64 " %u", r->kind, r->start_ns,
			r->duration_ns, r->correlation);
		print_place(out, k, r->place.number);
		print_stack(out, k->stacks, r->stack.number);
		fclose(out);
		add_line(d, line);
	}
	timeline_reader_free(reader);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static struct dump dump(const struct collected *k)
{
	struct dump d = {0};

	dump_rows(&d, k);
	dump_records(&d, k);
	if (d.count > 0)
		qsort(d.lines, d.count, sizeof(*d.lines), by_text);
	return d;
}

static void free_dump(struct dump *d)
{
	for (uint32_t i = 0; i < d->count; i++)
		free(d->lines[i]);
	free(d->lines);
}

static void expect_equal(uint64_t seed, struct dump *a, struct dump *b)
{
	for (uint32_t i = 0; i < a->count || i < b->count; i++)
		if (i >= a->count || i >= b->count || strcmp(a->lines[i], b->lines[i]) != 0)
			fail_msg("seed %#" PRIx64 ": the last seconds have '%s', the part has '%s'",
				 seed, i < a->count ? a->lines[i] : "",
				 i < b->count ? b->lines[i] : "");
}

/* ---- tests ---- */

static void expect_sums(const struct play *y, const struct collected *k)
{
	uint64_t ns[KERNELS] = {0}, count[KERNELS] = {0}, all = 0;
	uint32_t n;
	const struct profile_row *rows = profile_rows(k->profile, &n);

	for (uint32_t i = 0; i < n; i++) {
		const char *name;

		if (rows[i].kind != ROW_GPU || rows[i].count == 0)
			continue;
		name = stack_table_frame(k->stacks, rows[i].stack)->text;
		ns[name[1] - '0'] += rows[i].ns;
		count[name[1] - '0'] += rows[i].count;
		all += rows[i].count;
	}
	for (int i = 0; i < KERNELS; i++) {
		assert_int_equal(ns[i], y->ns[i]);
		assert_int_equal(count[i], y->count[i]);
	}
	assert_int_equal(k->ledger->outside.before, y->before);
	assert_int_equal(k->ledger->outside.after, y->after);
	for (uint32_t i = 0; i < k->ledger->gpu.row_count; i++)
		all -= k->ledger->gpu.rows[i].count;
	assert_int_equal(all, 0);
}

static void expect_same_counts(const struct ledger *a, const struct ledger *b)
{
	assert_int_equal(a->cpu.samples, b->cpu.samples);
	assert_int_equal(a->launches.kernels, b->launches.kernels);
	assert_int_equal(a->calls.waits, b->calls.waits);
	assert_int_equal(a->calls.wait_ns, b->calls.wait_ns);
	assert_int_equal(a->gpu.matched, b->gpu.matched);
	assert_int_equal(a->spread.operations, b->spread.operations);
	assert_int_equal(a->spread.ns, b->spread.ns);
	assert_int_equal(a->spread.left_ns, b->spread.left_ns);
	assert_int_equal(a->gpu.unmatched, b->gpu.unmatched);
	assert_int_equal(a->gpu.unseen_nodes, b->gpu.unseen_nodes);
	assert_int_equal(a->outside.before_ns, b->outside.before_ns);
	assert_int_equal(a->outside.after_ns, b->outside.after_ns);
	assert_int_equal(a->bounds.stacks, 0);
}

static void the_last_seconds_are_those_of_the_part(void **state)
{
	uint64_t forgotten = 0, short_of_room = 0, shared = 0;

	(void)state;
	for (uint64_t round = 0; round < unit_rounds(100); round++) {
		struct prng p = prng_round(round);
		uint32_t steps = 100 + (uint32_t)prng_below(&p, 4000);
		uint64_t last_ns = 1 + prng_bits(&p, 18);
		bool shares = prng_chance(&p, 50);
		struct timeline *timelines[2] = {timeline_new("/tmp", NULL),
						 timeline_new("/tmp", NULL)};
		static struct play last, part;
		struct time_range time_range = {0};
		struct collected k;
		struct dump a, b;

		assert_true(timelines[0] && timelines[1]);
		last = part = (struct play){.time_range = {0}};
		play(&last, p.seed, begin_run(last_ns, NULL, timelines[0], shares), steps);
		/* the end of the time range is past: later work is outside */
		time_range.to_ns = last.now_ns - prng_below(&p, 2) * prng_below(&p, 20000);
		collect_set_time_range(last.c, &time_range);
		forgotten += last.c->gc.times;
		collect_finish(last.c, time_range.to_ns);
		time_range = *collect_time_range(last.c);
		short_of_room += collect_ledger(last.c)->outside.not_held_ns > 0;
		k = collect_results(last.c);
		a = dump(&k);

		part.time_range = time_range;
		play(&part, p.seed, begin_run(0, &time_range, timelines[1], shares), steps);
		assert_int_equal(part.now_ns, last.now_ns);
		collect_finish(part.c, time_range.to_ns);
		k = collect_results(part.c);
		b = dump(&k);
		if (!shares) /* with equal shares, the numbers of stacks decide the order */
			expect_equal(p.seed, &a, &b);
		expect_sums(&part, &k);
		k = collect_results(last.c);
		expect_sums(&part, &k);
		expect_same_counts(collect_ledger(last.c), collect_ledger(part.c));
		shared += collect_ledger(last.c)->spread.operations;
		assert_true(shares || collect_ledger(last.c)->spread.operations == 0);
		free_dump(&a);
		free_dump(&b);
		collect_free(last.c);
		collect_free(part.c);
		timeline_free(timelines[0]);
		timeline_free(timelines[1]);
	}
	assert_true(forgotten > 0);
	/* few rounds there */
	assert_true(getenv("UNDER_VALGRIND") || (shared > 0 && short_of_room > 0));
}

/* Tables and budgets have a size that does not depend on how long the run is. */
static void a_long_run_does_not_grow(void **state)
{
	uint64_t steps = unit_rounds(100000);
	struct timeline *timeline = timeline_new("/tmp", NULL);
	static struct play y;
	size_t most = 0, most_before = 0, texts = 0, texts_before = 0;

	(void)state;
	assert_non_null(timeline);
	y = (struct play){.time_range = {0}};
	play(&y, 0x5eed, begin(20000, NULL, timeline), (uint32_t)(steps / 10));
	join_remember(y.c->join, 100);
	y.pause = 10000; /* seconds pass, after which waits are decided and processes settled */
	for (uint64_t i = 0; i < steps; i++) {
		step(&y);
		if (entries(y.c) > most)
			most = entries(y.c);
		if (y.c->name_texts.bytes > texts)
			texts = y.c->name_texts.bytes;
		if (i == steps / 4) {
			most_before = most;
			texts_before = texts;
		}
		assert_true(flight_recorder_bytes(y.c->sink.recorder) <= FLIGHT_RECORDER_BYTES);
	}
	texts = y.c->name_texts.bytes;
	assert_true(most <= 2 * most_before);
	assert_true(texts <= 2 * texts_before);
	assert_int_equal(stack_table_refused(y.c->stacks), 0);
	assert_true(y.c->gc.times > 10);
	collect_finish(y.c, y.now_ns);
	collect_free(y.c);
	timeline_free(timeline);
}

/* An operation without usable times counts at its time of arrival. */
static void operations_without_times_count_as_of_their_arrival(void **state)
{
	struct collect *c = begin(1000, NULL, NULL);
	struct process *process = say_hello(c, (uint32_t)getpid());
	struct gpu_event kernel = {.type = GPU_EVENT_KERNEL, .kernel = {.bad_time = 1}};
	struct gpu_event launched = {
		.type = GPU_EVENT_LAUNCH,
		.launch = {.time_ns = BEGIN_NS, .tid = 1, .family = GPU_LAUNCH_RUNTIME}};

	(void)state;
	assert_non_null(process);
	send_event(c, process,
		   &(struct gpu_event){.type = GPU_EVENT_STACK,
				       .stack = {.id = 1, .is_whole = 1, .function = "f"}});
	launched.launch.stack_id = 1;
	for (uint32_t i = 1; i <= 3; i++) {
		collect_set_time(c, BEGIN_NS + (i == 1 ? 10 : 5000));
		launched.launch.correlation_id = kernel.kernel.correlation_id = i;
		send_event(c, process, &launched);
		send_event(c, process, &kernel);
	}
	collect_finish(c, BEGIN_NS + 5000);
	assert_int_equal(collect_ledger(c)->gpu.bad_times, 2);
	collect_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_seconds_are_those_of_the_part),
		cmocka_unit_test(a_long_run_does_not_grow),
		cmocka_unit_test(operations_without_times_count_as_of_their_arrival),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
