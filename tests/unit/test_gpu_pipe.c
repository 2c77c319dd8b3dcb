/* SPDX-License-Identifier: MIT */
/*
 * Text lines, valid and invalid, from traced programs: which programs are accepted, the events, and
 * the counts.
 */
#include "pipe_bench.h"
#include "symbolize/util/monotonic.h"

/* Ends all remaining programs, without a goodbye. */
static void close_all(struct pipe_bench *b)
{
	struct tracee *tracee;

	while (gpu_pipe_find_ended(b->pipe, UINT64_MAX, &tracee))
		gpu_pipe_close(b->pipe, tracee);
}

static void put(struct pipe_bench *b, const struct gpu_event *event)
{
	char line[GPU_WIRE_LINE_MAX];
	int n = gpu_wire_encode(event, line, sizeof(line));

	assert_true(n > 0);
	feed_bytes(b, line, (size_t)n);
}

static void batch_of(struct pipe_bench *b, uint32_t pid, uint64_t instance, uint64_t sequence)
{
	feed(b, "\n");
	put(b,
	    &(struct gpu_event){.type = GPU_EVENT_BATCH,
				.batch = {.pid = pid, .instance = instance, .sequence = sequence}});
}

static void hello_of(struct pipe_bench *b, uint32_t pid, uint64_t instance, uint32_t version,
		     bool is_traced)
{
	put(b, &(struct gpu_event){.type = GPU_EVENT_HELLO,
				   .hello = {.version = version,
					     .pid = pid,
					     .instance = instance,
					     .executable = "/bin/app",
					     .cupti_path = "",
					     .cupti_version = 18,
					     .clock_offset_ns = -5,
					     .clock_error_ns = 1,
					     .libraries = "",
					     .wants_ack = 1,
					     .is_off = !is_traced}});
}

/* Begins a batch. Most programs are alone under their pid, which is also their instance id. */
static void batch(struct pipe_bench *b, uint32_t pid, uint64_t sequence)
{
	batch_of(b, pid, pid, sequence);
}

static void hello(struct pipe_bench *b, uint32_t pid)
{
	hello_of(b, pid, pid, GPU_WIRE_VERSION, 1);
}

static void begin_program(struct pipe_bench *b, uint32_t pid)
{
	batch(b, pid, 0);
	hello(b, pid);
}

static void name(struct pipe_bench *b, uint32_t id, uint32_t more, const char *text)
{
	put(b, &(struct gpu_event){.type = GPU_EVENT_NAME, .name = {id, more, text}});
}

static void kernel(struct pipe_bench *b, uint32_t name_id, uint64_t ns)
{
	put(b, &(struct gpu_event){
		       .type = GPU_EVENT_KERNEL,
		       .kernel = {.name_id = name_id, .duration_ns = ns, .start_ns = 5},
	       });
}

static void bye(struct pipe_bench *b, uint64_t operations, uint64_t ns)
{
	put(b, &(struct gpu_event){.type = GPU_EVENT_GOODBYE,
				   .goodbye = {.kernels = operations, .kernel_ns = ns}});
}

#define LEDGER(b, part, count) ((b)->ledger->part.count)
#define assert_ledger(b, part, count, value) assert_int_equal(LEDGER(b, part, count), value)
#define assert_kernel(b, number, text) assert_string_equal((b)->heard[number].kernel, text)

static void a_program_from_hello_to_goodbye(void **state)
{
	struct pipe_bench *b = *state;

	begin_program(b, 7);
	feed(b, "{\"t\":\"maps\",\"generation\":3,\"ack\":1}\n");
	feed(b, "{\"t\":\"l\",\"s\":100,\"h\":8,\"c\":1,\"f\":1}\n");
	name(b, 1, 0, "_Z1kv");
	kernel(b, 1, 30);
	kernel(b, 1, 12);
	feed(b, "{\"t\":\"notice\",\"code\":0,\"detail\":\"hi\\nyou\"}\n");
	bye(b, 2, 42);
	gpu_pipe_finish(b->pipe);

	assert_int_equal(b->count, 7);
	for (uint32_t i = 1; i < b->count; i++)
		assert_ptr_equal(b->heard[i].process, &b->processes[0]);
	assert_int_equal(b->heard[0].event.type, GPU_EVENT_HELLO);
	assert_int_equal(b->heard[0].event.hello.pid, 7);
	assert_int_equal(b->heard[0].event.hello.instance, 7);
	assert_string_equal(b->heard[0].text, "/bin/app");
	assert_int_equal(b->heard[1].event.type, GPU_EVENT_MAPS);
	assert_int_equal(b->heard[1].event.maps.generation, 3);
	assert_int_equal(b->heard[2].event.type, GPU_EVENT_LAUNCH);
	assert_kernel(b, 3, "_Z1kv");
	assert_int_equal(b->heard[3].event.kernel.duration_ns, 30);
	assert_string_equal(b->heard[5].text, "hi\nyou");
	assert_int_equal(b->heard[6].event.type, GPU_EVENT_GOODBYE);
	assert_ledger(b, pipe, lines, 9);
	assert_ledger(b, pipe, malformed, 0);
	assert_ledger(b, pipe, refused, 0);
	assert_ledger(b, gpu, kernels, 2);
	assert_ledger(b, gpu, kernel_ns, 42);
	assert_ledger(b, launches, unended, 0);
	assert_ledger(b, pipe, processes, 1);
	assert_ledger(b, pipe, lost_batches, 0);
	assert_ledger(b, gpu, missing, 0);
	assert_ledger(b, pipe, wrong_totals, 0);
	assert_ledger(b, pipe, without_goodbye, 0);
	assert_string_equal(b->ledger->pipe.first_malformed, "");
	assert_string_equal(b->ledger->pipe.first_refused, "");
}

/* The range is there once all programs that run have said so, or goodbye. */
static void the_end_of_the_range_is_told_by_each_program(void **state)
{
	struct pipe_bench *b = *state;
	const pid_t own = getpid();

	assert_true(gpu_pipe_has_range(b->pipe)); /* there is no program */
	begin_program(b, 7);
	begin_program(b, 8);
	b->processes[0].pid = b->processes[1].pid = own;
	assert_false(gpu_pipe_has_range(b->pipe));
	feed(b, "{\"t\":\"notice\",\"code\":0,\"detail\":\"12\"}\n");
	feed(b, "{\"t\":\"notice\",\"code\":12,\"detail\":\"\"}\n");
	assert_false(gpu_pipe_has_range(b->pipe));
	batch(b, 7, 1);
	bye(b, 0, 0);
	assert_true(gpu_pipe_has_range(b->pipe));
	assert_true(gpu_pipe_has_running(b->pipe));
	begin_program(b, 9);
	b->processes[2].pid = own;
	assert_false(gpu_pipe_has_range(b->pipe));
	b->processes[2].ended_ns = 1;
	assert_true(gpu_pipe_has_range(b->pipe));
}

static void events_before_any_batch_are_malformed(void **state)
{
	struct pipe_bench *b = *state;

	hello(b, 7);
	kernel(b, 1, 5);
	assert_int_equal(b->count, 0);
	assert_ledger(b, pipe, malformed, 2);
	assert_ledger(b, gpu, kernels, 0);
}

/* ---- who is believed ---- */

static void a_hello_that_is_not_accepted_is_refused(void **state)
{
	struct pipe_bench *b = *state;

	b->refuses = true;
	batch(b, 7, 9);
	hello(b, 7);
	assert_int_equal(b->count, 1); /* read once */
	kernel(b, 1, 5);
	name(b, 1, 0, "k");
	bye(b, 1, 5);
	batch(b, 7, 12);
	kernel(b, 1, 5);
	assert_int_equal(b->count, 1);
	assert_ledger(b, pipe, refused, 5);
	assert_ledger(b, pipe, malformed, 0);
	assert_ledger(b, pipe, processes, 0);
	assert_ledger(b, gpu, kernels, 0);
	assert_ledger(b, pipe, lost_batches, 0);
	assert_string_equal(b->ledger->pipe.first_refused, "hello");

	b->refuses = false; /* the program may try again */
	hello(b, 7);
	name(b, 1, 0, "new");
	kernel(b, 1, 5);
	assert_ledger(b, pipe, processes, 1);
	assert_kernel(b, 2, "new");
	assert_ledger(b, pipe, refused, 5);
}

/* A hello without an answer at the end, when nothing is left to read, is refused. */
static void the_last_hello_is_refused_at_the_end(void **state)
{
	struct pipe_bench *b = *state;
	struct tracee *tracee;

	b->refuses = true;
	begin_program(b, 7);
	gpu_pipe_finish(b->pipe);
	gpu_pipe_finish(b->pipe);
	assert_ledger(b, pipe, refused, 1);
	assert_false(gpu_pipe_find_ended(b->pipe, UINT64_MAX, &tracee));
}

static void lines_of_an_unknown_instance_are_refused(void **state)
{
	struct pipe_bench *b = *state;

	begin_program(b, 7);
	batch(b, 8, 5); /* the number of earlier batches is unknown: no gap */
	kernel(b, 1, 5);
	feed(b, "{\"t\":\"notice\",\"code\":0,\"detail\":\"x\\u001b[31m"
		"0123456789012345678901234567890123456789\"}\n");
	feed(b, "rubbish\n");
	batch(b, 7, 1);
	kernel(b, 1, 5);
	assert_int_equal(b->count, 2);
	assert_ledger(b, pipe, refused, 2);
	assert_ledger(b, pipe, malformed, 1);
	assert_ledger(b, pipe, lost_batches, 0);
	assert_ledger(b, gpu, kernels, 1);
	/* the first one, and no more of it than fits */
	assert_int_equal(strlen(b->ledger->pipe.first_refused), 80);
	assert_memory_equal(b->ledger->pipe.first_refused, "{\"t\":\"k\",\"n\":1,", 14);
}

static void shown_refused_lines_are_printable(void **state)
{
	struct pipe_bench *b = *state;

	batch(b, 8, 0);
	feed(b, "{\"t\":\"notice\",\"code\":0,\"detail\":\"\xc3\xa4\"}\n");
	assert_ledger(b, pipe, refused, 1);
	assert_string_equal(b->ledger->pipe.first_refused,
			    "{\"t\":\"notice\",\"code\":0,\"detail\":\"??\"}");
}

/* The first one counts: the program's earlier data is not dropped for another one. */
static void a_second_hello_of_an_instance_is_malformed(void **state)
{
	struct pipe_bench *b = *state;

	begin_program(b, 7);
	name(b, 1, 0, "mine");
	name(b, 2, 1, "a ");
	kernel(b, 1, 5);
	hello(b, 7);
	hello_of(b, 9, 7, GPU_WIRE_VERSION + 1, 0);
	name(b, 2, 0, "b");
	kernel(b, 1, 5);
	kernel(b, 2, 5);
	assert_int_equal(b->count, 4);
	assert_kernel(b, 2, "mine");
	assert_kernel(b, 3, "a b");
	assert_ledger(b, pipe, malformed, 2);
	assert_ledger(b, pipe, refused, 0);
	assert_ledger(b, pipe, processes, 1);
	assert_ledger(b, pipe, foreign_versions, 0);
	bye(b, 3, 15);
	assert_ledger(b, gpu, missing, 0);
	assert_ledger(b, pipe, wrong_totals, 0);
	assert_ledger(b, pipe, without_goodbye, 0);
}

static void a_hello_belongs_to_its_batch(void **state)
{
	struct pipe_bench *b = *state;

	batch(b, 7, 0);
	hello(b, 8); /* somebody else's name */
	hello_of(b, 7, UINT64_MAX, GPU_WIRE_VERSION, 1);
	feed(b, "{\"t\":\"hello\",\"version\":2,\"pid\":7,\"id\":\"0000000000000000\","
		"\"exe\":\"\",\"cupti\":\"\",\"cupti_version\":18,\"clock_offset\":\"0\","
		"\"clock_error\":1,\"libs\":\"\",\"ack\":1}\n");
	feed(b, "\n{\"t\":\"batch\",\"pid\":7,\"id\":\"0000000000000000\",\"seq\":0}\n");
	assert_int_equal(b->count, 0);
	assert_ledger(b, pipe, malformed, 4);
	batch_of(b, 7, UINT64_MAX, 0);
	hello_of(b, 7, UINT64_MAX, GPU_WIRE_VERSION, 1);
	assert_int_equal(b->count, 1);
	assert_ledger(b, pipe, processes, 1);
}

/* Two pid namespaces, an exec, or a library that is loaded twice. */
static void programs_under_one_pid_are_apart(void **state)
{
	struct pipe_bench *b = *state;

	batch_of(b, 7, 0xa, 0);
	hello_of(b, 7, 0xa, GPU_WIRE_VERSION, 1);
	name(b, 1, 0, "first");
	name(b, 2, 1, "half ");
	kernel(b, 1, 10);
	batch_of(b, 7, 0xb, 0);
	hello_of(b, 7, 0xb, GPU_WIRE_VERSION, 1);
	kernel(b, 1, 20);
	name(b, 1, 0, "second");
	name(b, 2, 0, "whole");
	batch_of(b, 7, 0xa, 1);
	name(b, 2, 0, "done");
	kernel(b, 1, 30);
	kernel(b, 2, 30);
	batch_of(b, 7, 0xb, 1);
	kernel(b, 1, 40);
	kernel(b, 2, 40);
	assert_kernel(b, 1, "first");
	assert_kernel(b, 3, GPU_PIPE_NAME_LOST);
	assert_kernel(b, 4, "first");
	assert_kernel(b, 5, "half done");
	assert_kernel(b, 6, "second");
	assert_kernel(b, 7, "whole");
	for (uint32_t i = 1; i < 8; i++)
		if (i != 2)
			assert_ptr_equal(b->heard[i].process, &b->processes[i == 3 || i > 5]);
	assert_ledger(b, pipe, lost_batches, 0);
	/* each has its own totals */
	bye(b, 3, 100);
	assert_ledger(b, gpu, missing, 0);
	batch_of(b, 7, 0xa, 2);
	bye(b, 5, 70);
	assert_ledger(b, gpu, missing, 2);
	assert_ledger(b, pipe, wrong_totals, 0);
	assert_ledger(b, pipe, processes, 2);
	assert_ledger(b, pipe, without_goodbye, 0);
}

/* No more programs at a time than that; where one leaves, another one has room. */
static void the_number_of_programs_is_bounded(void **state)
{
	const uint32_t many = GPU_PIPE_TRACEES_MAX;
	struct pipe_bench *b = *state;
	struct process process = {.id = 1, .pid = 1};
	const struct gpu_event *event;
	struct tracee *tracee, *last = NULL;
	const char *kernel_name;
	char line[1000];

	SKIP_UNDER_VALGRIND();
	for (uint32_t i = 1; i <= many + 1; i++) {
		int n = snprintf(
			line, sizeof(line),
			"{\"t\":\"batch\",\"pid\":%u,\"id\":\"%016x\",\"seq\":0}\n"
			"{\"t\":\"hello\",\"version\":2,\"pid\":%u,\"id\":\"%016x\","
			"\"exe\":\"\",\"cupti\":\"\",\"cupti_version\":18,"
			"\"clock_offset\":\"0\",\"clock_error\":1,\"libs\":\"\",\"ack\":1}\n",
			i, i, i, i);

		gpu_pipe_feed(b->pipe, line, (size_t)n);
		event = gpu_pipe_next(b->pipe, &tracee, &kernel_name);
		assert_true((event != NULL) == (i <= many));
		if (!event)
			continue;
		gpu_pipe_accept(b->pipe, tracee, &process);
		last = i == many / 2 ? tracee : last;
	}
	assert_ledger(b, bounds, programs, 1);
	assert_ledger(b, bounds, out_of_memory, 0);
	kernel(b, 1, 5);
	assert_ledger(b, pipe, refused, 1);
	assert_ledger(b, pipe, processes, many);
	assert_int_equal(gpu_pipe_list(b->pipe, NULL, 0), many);

	gpu_pipe_close(b->pipe, last);
	begin_program(b, many + 1);
	kernel(b, 1, 5);
	for (uint32_t i = 1; i <= many; i += 1001) { /* the others are there still */
		batch(b, i, 1);
		kernel(b, 1, 5);
	}
	assert_ledger(b, gpu, kernels, 1 + (many - 1) / 1001 + 1);
	assert_ledger(b, pipe, refused, 1);
	assert_ledger(b, bounds, programs, 1);
	close_all(b);
	assert_ledger(b, pipe, without_goodbye, many + 1);
}

/* ---- names ---- */

static void names_are_per_program(void **state)
{
	struct pipe_bench *b = *state;

	begin_program(b, 7);
	name(b, 1, 0, "seven");
	begin_program(b, 8);
	name(b, 1, 0, "eight");
	kernel(b, 1, 1);
	batch(b, 7, 1);
	kernel(b, 1, 1);
	assert_kernel(b, 2, "eight");
	assert_kernel(b, 3, "seven");
}

/* Any ids in any order; the latest name of an id counts. */
static void ids_of_names_may_be_sparse(void **state)
{
	static const uint32_t ids[] = {65536, 1, 40000, 77, 65535};
	enum { IDS = sizeof(ids) / sizeof(ids[0]) };
	struct pipe_bench *b = *state;
	char text[20];

	begin_program(b, 7);
	for (uint32_t i = 0; i < IDS; i++) {
		snprintf(text, sizeof(text), "name %u", ids[i]);
		name(b, ids[i], 0, text);
	}
	for (uint32_t i = 0; i < IDS; i++) {
		kernel(b, ids[i], 1);
		kernel(b, ids[i] - 1, 1);
		snprintf(text, sizeof(text), "name %u", ids[i]);
		assert_kernel(b, 1 + 2 * i, text);
		if (ids[i] != 65536)
			assert_kernel(b, 2 + 2 * i,
				      ids[i] > 1 ? GPU_PIPE_NAME_LOST : GPU_PIPE_NAMES_FULL);
	}
	name(b, 40000, 0, "another");
	kernel(b, 40000, 1);
	assert_kernel(b, 1 + 2 * IDS, "another");
	assert_ledger(b, pipe, malformed, 0);
}

static void a_name_comes_in_pieces(void **state)
{
	struct pipe_bench *b = *state;

	begin_program(b, 7);
	name(b, 1, 1, "one ");
	name(b, 1, 1, "two ");
	begin_program(b, 8); /* another program's pieces are its own */
	name(b, 1, 1, "other");
	batch(b, 7, 1);
	name(b, 1, 0, "three");
	kernel(b, 1, 1);
	assert_kernel(b, 2, "one two three");
}

static void pieces_that_do_not_fit_are_forgotten(void **state)
{
	struct pipe_bench *b = *state;

	begin_program(b, 7);
	name(b, 1, 1, "half");
	name(b, 2, 0, "whole");
	name(b, 1, 0, "rest"); /* the first piece is missing: the rest is used as it is */
	kernel(b, 2, 1);
	assert_kernel(b, 1, "whole");
	name(b, 3, 1, "half");
	batch_of(b, 7, 17, 0);
	hello_of(b, 7, 17, GPU_WIRE_VERSION, 1); /* a new program */
	name(b, 3, 0, "new");
	kernel(b, 3, 1);
	assert_kernel(b, 3, "new");
}

static void a_name_without_end_is_bounded(void **state)
{
	struct pipe_bench *b = *state;
	char piece[601];

	memset(piece, 'x', sizeof(piece) - 1);
	piece[600] = '\0';
	begin_program(b, 7);
	for (int i = 0; i < 1000; i++)
		name(b, 1, 1, piece);
	name(b, 1, 0, "end");
	assert_ledger(b, pipe, malformed, 0);
	name(b, 2, 0, "next");
	kernel(b, 2, 1);
	assert_kernel(b, 1, "next");
	kernel(b, 1, 1);
	assert_int_equal(strncmp(b->heard[2].kernel, piece, 99), 0);
}

static void ids_out_of_range(void **state)
{
	struct pipe_bench *b = *state;

	begin_program(b, 7);
	name(b, 0, 0, "zero");
	name(b, 65537, 0, "above");
	name(b, UINT32_MAX, 0, "far above");
	assert_ledger(b, pipe, malformed, 3);
	name(b, 65536, 0, "last");
	kernel(b, 65536, 1);
	kernel(b, UINT32_MAX, 1);
	kernel(b, 5, 1);
	kernel(b, 0, 1);
	assert_kernel(b, 1, "last");
	assert_kernel(b, 2, GPU_PIPE_NAME_LOST);
	assert_kernel(b, 3, GPU_PIPE_NAME_LOST);
	assert_kernel(b, 4, GPU_PIPE_NAMES_FULL);
	assert_ledger(b, gpu, kernels, 4);
}

static void control_characters_in_names_are_replaced(void **state)
{
	struct pipe_bench *b = *state;

	begin_program(b, 7);
	name(b, 1, 0, "a\n\x1b[31m;\x7f");
	kernel(b, 1, 1);
	assert_kernel(b, 1, "a??[31m;?");
}

/* ---- what a program says about itself ---- */

/* Libraries of version 2 have a line for each operation, as later ones have for most. */
static void an_older_version_is_understood(void **state)
{
	struct pipe_bench *b = *state;

	batch(b, 7, 0);
	hello_of(b, 7, 7, GPU_WIRE_OLDEST, 1);
	name(b, 1, 0, "k");
	kernel(b, 1, 5);
	bye(b, 1, 5);
	assert_ledger(b, pipe, foreign_versions, 0);
	assert_ledger(b, gpu, kernels, 1);
	batch(b, 8, 0);
	hello_of(b, 8, 8, GPU_WIRE_OLDEST - 1, 1);
	kernel(b, 1, 5);
	assert_ledger(b, pipe, foreign_versions, 1);
	assert_ledger(b, gpu, kernels, 1);
}

/* ---- operations of graphs' nodes ---- */

static void define_work(struct pipe_bench *b, uint32_t id, uint32_t name_id)
{
	put(b, &(struct gpu_event){.type = GPU_EVENT_NODE_WORK,
				   .node_work = {id, {.stream_id = 100 + id, .name_id = name_id}}});
}

static void steps_become_events(void **state)
{
	struct pipe_bench *b = *state;
	const struct gpu_event_kernel *k = &b->heard[2].event.kernel;
	const struct gpu_event_work *w = &b->heard[3].event.work;

	begin_program(b, 7);
	name(b, 1, 0, "k");
	define_work(b, 1, 1);
	define_work(b, 2, 9);
	feed(b, "{\"t\":\"nw\",\"i\":3,\"w\":12,\"v\":[1,2,3],\"bytes\":77,\"p\":[4,5]}\n");
	feed(b, "{\"t\":\"nr\",\"c\":6,\"gr\":[8,50],\"s\":1000,\"x\":[1,0,0,10,2,1,-5,20,3,-2,"
		"30,40]}\n");
	kernel(b, 1, 1);
	name(b, 1, 0, "other"); /* no library does this */
	feed(b, "{\"t\":\"nr\",\"c\":6,\"gr\":[8,50],\"s\":1000,\"x\":[1,0,0,10,1,1,-5,20]}\n");
	bye(b, 6, 101);
	assert_int_equal(b->count, 8);
	assert_kernel(b, 1, "k");
	assert_kernel(b, 4, "k");
	assert_kernel(b, 5, "other");
	assert_kernel(b, 6, "other");
	assert_kernel(b, 2, GPU_PIPE_NAME_LOST);
	assert_true(k->start_ns == 1005 && k->duration_ns == 20 && k->stream_id == 102);
	assert_true(k->graph_id == 8 && k->graph_node_id == 51 && k->correlation_id == 6);
	assert_true(w->start_ns == 1055 && w->duration_ns == 40 && w->graph_node_id == 49);
	assert_true(w->work == GPU_WORK_MEMSET && w->bytes == 77 && w->stream_id == 3);
	assert_true(w->source_memory == 4 && w->destination_memory == 5);
	assert_int_equal(b->heard[4].event.kernel.graph_node_id, 0);
	assert_ledger(b, pipe, malformed, 0);
	assert_ledger(b, gpu, missing, 0);
	assert_ledger(b, pipe, wrong_totals, 0);
}

/* Definitions that were lost, or overwritten: the rest of a line counts, and what is missing does.
 */
static void unknown_work_is_missing(void **state)
{
	struct pipe_bench *b = *state;

	begin_program(b, 7);
	define_work(b, 1, 0);
	define_work(b, GPU_NODE_WORKS + 2, 0);
	define_work(b, UINT32_MAX, 0);
	feed(b, "{\"t\":\"nr\",\"c\":6,\"gr\":[8,50],\"s\":1000,\"x\":[2,0,0,10,1,1,10,20,9,1,0,1]}"
		"\n");
	assert_int_equal(b->count, 2);
	assert_int_equal(b->heard[1].event.kernel.start_ns, 1020);
	assert_int_equal(b->heard[1].event.kernel.graph_node_id, 51);
	assert_ledger(b, pipe, malformed, 1); /* one line */
	feed(b,
	     "{\"t\":\"nr\",\"c\":6,\"gr\":[8,50],\"s\":1,\"x\":[4098,0,0,1,4294967295,0,0,1]}\n");
	assert_int_equal(b->count, 4);
	define_work(b, GPU_NODE_WORKS + 1, 0);
	feed(b, "{\"t\":\"nr\",\"c\":6,\"gr\":[8,50],\"s\":1,\"x\":[1,0,0,1,4097,0,0,1]}\n");
	assert_int_equal(b->count, 5);
	assert_ledger(b, pipe, malformed, 2);
	/* another program has its own */
	begin_program(b, 9);
	feed(b, "{\"t\":\"nr\",\"c\":6,\"gr\":[8,50],\"s\":1,\"x\":[4097,0,0,1]}\n");
	assert_int_equal(b->count, 6);
	assert_ledger(b, pipe, malformed, 3);
	bye(b, 1, 1);
	assert_ledger(b, gpu, missing, 1);
	batch(b, 7, 1);
	bye(b, 7, 46);
	assert_ledger(b, gpu, missing, 4);
}

static void definitions_are_limited(void **state)
{
	struct pipe_bench *b = *state;
	struct quota *quota = collect_target_quota(b->collect);
	size_t before;

	begin_program(b, 7);
	before = quota->used;
	for (uint32_t id = 1; id <= 3 * GPU_NODE_WORKS; id++)
		define_work(b, id, 0);
	assert_in_range(quota->used - before, GPU_NODE_WORKS * 80, GPU_NODE_WORKS * 128);
	bye(b, 0, 0);
	assert_true(quota->used < before + 1000);
}

static void another_version_is_ignored(void **state)
{
	struct pipe_bench *b = *state;

	batch(b, 7, 0);
	hello_of(b, 7, 7, GPU_WIRE_VERSION + 1, 1);
	assert_int_equal(b->count, 1); /* shown, for the program waits for an answer */
	name(b, 1, 0, "k");
	kernel(b, 1, 5);
	feed(b, "{\"t\":\"l\",\"s\":100,\"h\":8,\"c\":1,\"f\":1}\n");
	bye(b, 9, 42);
	assert_int_equal(b->count, 1);
	assert_ledger(b, pipe, foreign_versions, 1);
	assert_ledger(b, pipe, processes, 1);
	assert_ledger(b, pipe, malformed, 0);
	assert_ledger(b, pipe, refused, 0);
	assert_ledger(b, gpu, kernels, 0);
	assert_ledger(b, gpu, missing, 0);
	assert_int_equal(gpu_pipe_list(b->pipe, NULL, 0), 0);
	close_all(b);
	assert_ledger(b, pipe, without_goodbye, 0);
	assert_ledger(b, launches, unended, 0);

	batch_of(b, 7, 17, 0);
	hello_of(b, 7, 17, GPU_WIRE_VERSION, 1); /* execs a program of our version */
	kernel(b, 1, 5);
	assert_ledger(b, gpu, kernels, 1);
}

static void untraceable_programs_are_counted(void **state)
{
	static const struct {
		uint32_t cupti_version, ack, is_off;
	} hellos[] = {{130000, 1, 0}, {130099, 1, 0}, {130100, 1, 0},
		      {129999, 0, 1}, {0, 1, 1},      {130000, 0, 1}};
	struct pipe_bench *b = *state;
	pid_t pids[10] = {0};

	for (uint32_t i = 0; i < 6; i++) {
		batch(b, i + 1, 0);
		put(b, &(struct gpu_event){.type = GPU_EVENT_HELLO,
					   .hello = {.version = GPU_WIRE_VERSION,
						     .pid = i + 1,
						     .instance = i + 1,
						     .executable = "",
						     .cupti_path = "",
						     .libraries = "",
						     .cupti_version = hellos[i].cupti_version,
						     .wants_ack = hellos[i].ack,
						     .is_off = hellos[i].is_off}});
	}
	assert_ledger(b, pipe, processes, 6);
	assert_ledger(b, pipe, without_cupti, 3);
	assert_ledger(b, pipe, graph_time_bugs, 3);
	assert_int_equal(gpu_pipe_list(b->pipe, pids, 10), 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pids[i], i + 1);
	close_all(b); /* the other three owe no goodbye */
	assert_ledger(b, pipe, without_goodbye, 3);
}

static void gaps_in_the_sequence_are_lost_batches(void **state)
{
	struct pipe_bench *b = *state;

	begin_program(b, 7);
	batch(b, 7, 1);
	batch(b, 7, 4);
	assert_ledger(b, pipe, lost_batches, 2);
	batch(b, 8, 1); /* the batch before its hello is missing too */
	hello(b, 8);
	assert_ledger(b, pipe, lost_batches, 3);
	batch(b, 7, 5);
	assert_ledger(b, pipe, lost_batches, 3);
	batch_of(b, 7, 17, 0); /* exec: another instance counts for itself */
	hello_of(b, 7, 17, GPU_WIRE_VERSION, 1);
	batch_of(b, 7, 17, 1);
	batch(b, 7, 6);
	assert_ledger(b, pipe, lost_batches, 3);
	batch_of(b, 7, 17, 3);
	assert_ledger(b, pipe, lost_batches, 4);
}

static void the_goodbye_reveals_losses(void **state)
{
	struct pipe_bench *b = *state;

	b->lingers = true;
	begin_program(b, 7);
	kernel(b, 1, 5);
	/* 3 that CUPTI did not record were never sent; 2 were, in writes that were given up */
	feed(b, "{\"t\":\"drops\",\"kernels\":3,\"launches\":2,\"batches\":1,\"unsent_kernels\":2,"
		"\"unsent_launches\":5,\"unknown\":6}\n");
	bye(b, 10, 42);
	assert_ledger(b, pipe, malformed, 0);
	assert_ledger(b, gpu, dropped, 5);
	assert_ledger(b, launches, dropped, 7);
	assert_ledger(b, gpu, unknown_kinds, 6);
	close_all(b);
	assert_ledger(b, gpu, missing, 7);
	assert_ledger(b, pipe, wrong_totals, 0);
	assert_ledger(b, pipe, without_goodbye, 0);
}

/* Exit handlers, for example, may work after a goodbye. The last goodbye has all totals. */
static void work_after_a_goodbye(void **state)
{
	struct pipe_bench *b = *state;
	struct tracee *tracee;

	b->lingers = true;
	begin_program(b, 7);
	kernel(b, 1, 5);
	bye(b, 1, 5);
	kernel(b, 1, 6);
	bye(b, 3, 13);
	assert_ledger(b, gpu, kernels, 2);
	assert_ledger(b, pipe, refused, 0);
	/* the process's end is not known */
	assert_false(gpu_pipe_find_ended(b->pipe, monotonic_ns(), &tracee));
	assert_true(gpu_pipe_find_ended(b->pipe, monotonic_ns() + 2 * GPU_PIPE_LEAVE_NS, &tracee));
	close_all(b);
	assert_ledger(b, gpu, missing, 1);
	assert_ledger(b, pipe, wrong_totals, 0);
	assert_ledger(b, pipe, without_goodbye, 0);
}

static void a_kernel_after_the_goodbye_is_no_loss(void **state)
{
	struct pipe_bench *b = *state;

	b->lingers = true;
	begin_program(b, 7);
	kernel(b, 1, 5);
	bye(b, 1, 5);
	kernel(b, 1, 6);
	close_all(b);
	assert_ledger(b, gpu, kernels, 2);
	assert_ledger(b, gpu, missing, 0);
	assert_ledger(b, pipe, without_goodbye, 0);
}

static void sums_that_do_not_agree_are_counted(void **state)
{
	struct pipe_bench *b = *state;

	for (uint32_t pid = 1; pid < 4; pid++) {
		begin_program(b, pid);
		kernel(b, 1, 40 + pid);
		bye(b, 1, 42);
	}
	assert_ledger(b, pipe, wrong_totals, 2);
	assert_ledger(b, gpu, missing, 0);
}

/* Other work counts in the goodbye as kernels do. */
static void other_operations_are_in_the_totals(void **state)
{
	struct pipe_bench *b = *state;

	begin_program(b, 7);
	kernel(b, 1, 5);
	for (uint32_t i = 0; i < 3; i++)
		put(b, &(struct gpu_event){
			       .type = GPU_EVENT_WORK,
			       .work = {.work = GPU_WORK_MEMSET, .duration_ns = 100, .bytes = 7}});
	bye(b, 4, 305);
	assert_ledger(b, gpu, kernels, 1);
	assert_ledger(b, gpu, kernel_ns, 5);
	assert_ledger(b, gpu, missing, 0);
	assert_ledger(b, pipe, wrong_totals, 0);
}

/* ---- how programs end ---- */

static void programs_without_a_goodbye_are_counted(void **state)
{
	struct pipe_bench *b = *state;
	pid_t pids[4] = {0, 0, 0, -1};

	begin_program(b, 7);
	batch_of(b, 7, 17, 0); /* replaced without a word */
	hello_of(b, 7, 17, GPU_WIRE_VERSION, 1);
	begin_program(b, 8);
	bye(b, 0, 0);
	begin_program(b, 9);
	assert_int_equal(gpu_pipe_list(b->pipe, pids, 2), 3);
	assert_int_equal(pids[2], 0);
	assert_int_equal(gpu_pipe_list(b->pipe, pids, 4), 3);
	assert_int_equal(pids[0] + pids[1] + pids[2], 7 + 7 + 9);
	assert_int_equal(pids[3], -1);
	gpu_pipe_finish(b->pipe);
	assert_ledger(b, pipe, without_goodbye, 0); /* the program may still close in order */
	close_all(b);
	assert_ledger(b, pipe, without_goodbye, 3);
	assert_int_equal(gpu_pipe_list(b->pipe, pids, 4), 0);
}

/* Lines of a program after it is closed, within its batch or later, have no sender. */
static void a_closed_program_is_forgotten(void **state)
{
	struct pipe_bench *b = *state;
	uint32_t before;

	begin_program(b, 7);
	name(b, 1, 0, "k");
	bye(b, 0, 0);
	before = b->count;
	kernel(b, 1, 5);
	bye(b, 10, 42);
	batch(b, 7, 5);
	kernel(b, 1, 5);
	bye(b, 10, 42);
	assert_int_equal(b->count, before);
	assert_int_equal(LEDGER(b, pipe, malformed) + LEDGER(b, pipe, refused), 4);
	assert_ledger(b, gpu, kernels, 0);
	assert_ledger(b, gpu, missing, 0);
	assert_ledger(b, pipe, lost_batches, 0);
}

/* One is closed while another one's batch is being read. */
static void closing_one_leaves_the_others(void **state)
{
	struct pipe_bench *b = *state;
	struct tracee *tracee;

	begin_program(b, 7);
	name(b, 1, 0, "seven");
	begin_program(b, 8);
	begin_program(b, 9);
	name(b, 1, 0, "nine");
	b->processes[0].ended_ns = 100;
	assert_false(gpu_pipe_find_ended(b->pipe, 99, &tracee));
	assert_false(gpu_pipe_find_ended(b->pipe, 100, &tracee));
	assert_true(gpu_pipe_find_ended(b->pipe, 101, &tracee));
	assert_ptr_equal(tracee_process(tracee), &b->processes[0]);
	gpu_pipe_close(b->pipe, tracee);
	assert_false(gpu_pipe_find_ended(b->pipe, UINT64_MAX - 1, &tracee));
	assert_ledger(b, pipe, without_goodbye, 1);
	kernel(b, 1, 5); /* 1 of the 9 announced */
	batch(b, 8, 1);
	kernel(b, 1, 5);
	batch(b, 9, 1);
	kernel(b, 1, 5);
	assert_kernel(b, 3, "nine");
	assert_kernel(b, 4, GPU_PIPE_NAME_LOST);
	assert_kernel(b, 5, "nine");
	assert_int_equal(b->count, 6);
	bye(b, 2, 10);
	assert_ledger(b, gpu, missing, 0);
	assert_ledger(b, pipe, refused, 0);
}

/* Handed on to the collecting side, which counts them when its books are closed. */
static void times_that_could_not_be_measured_are_counted(void **state)
{
	struct pipe_bench *b = *state;
	struct process *process = collect_find_process(b->collect, 7);

	begin_program(b, 7);
	feed(b, "{\"t\":\"k\",\"n\":1,\"s\":0,\"d\":0,\"c\":1,\"v\":[0,1,7],\"g\":[1,1,1],"
		"\"b\":[1,1,1],\"m\":[0,0],\"r\":32,\"bad\":1}\n");
	assert_int_equal(b->heard[1].event.kernel.bad_time, 1);
	assert_ledger(b, gpu, kernels, 1);
	collect_gpu_event(b->collect, process, &b->heard[1].event, "k");
	collect_finish(b->collect, 1);
	assert_ledger(b, gpu, bad_times, 1);
}

/* ---- bytes ---- */

static void malformed_lines_cost_a_count_and_nothing_else(void **state)
{
	struct pipe_bench *b = *state;

	begin_program(b, 7);
	feed(b, "rubbish \x1b[31m\xff\n");
	feed(b, "{\"t\":\"k\"}\n{\n}\n\n\n\n{\"t\":\"none\"}\n");
	kernel(b, 1, 5);
	assert_ledger(b, pipe, malformed, 5);
	assert_ledger(b, gpu, kernels, 1);
	assert_ledger(b, pipe, lines, 8);
	assert_string_equal(b->ledger->pipe.first_malformed, "rubbish ?[31m?");
}

static void a_line_with_nul_bytes_is_malformed(void **state)
{
	struct pipe_bench *b = *state;
	static const char line[] = "a\0b\n\0\n";

	feed_bytes(b, line, sizeof(line) - 1);
	assert_ledger(b, pipe, malformed, 2);
	assert_string_equal(b->ledger->pipe.first_malformed, "a?b");
}

static void a_line_of_a_megabyte_is_skipped(void **state)
{
	struct pipe_bench *b = *state;
	const size_t size = 1u << 20;
	char *line = malloc(size + 1);

	assert_non_null(line);
	memset(line, 'x', size);
	line[size] = '\n';
	begin_program(b, 7);
	feed_bytes(b, line, size + 1);
	kernel(b, 1, 5);
	for (size_t at = 0; at < size + 1; at += 1000)
		feed_bytes(b, line + at, size + 1 - at < 1000 ? size + 1 - at : 1000);
	kernel(b, 1, 5);
	assert_ledger(b, pipe, too_long, 2);
	assert_ledger(b, pipe, malformed, 2);
	assert_ledger(b, gpu, kernels, 2);
	assert_ledger(b, pipe, lines, 6);
	free(line);
}

/* The longest line that is one, and one byte more. */
static void the_limit_of_a_line_is_exact(void **state)
{
	static const char head[] =
		"{\"t\":\"batch\",\"pid\":7,\"id\":\"00000000000000a7\",\"seq\":0}";
	struct pipe_bench *b = *state;

	for (size_t split = 0; split < GPU_WIRE_LINE_MAX; split += 777) {
		for (size_t over = 0; over < 2; over++) {
			char line[GPU_WIRE_LINE_MAX + 2];
			size_t n = GPU_WIRE_LINE_MAX + over;
			uint64_t malformed = LEDGER(b, pipe, malformed);

			memset(line, ' ', n);
			memcpy(line, head, sizeof(head) - 1);
			line[n] = '\n';
			feed_bytes(b, line, split);
			feed_bytes(b, line + split, n + 1 - split);
			assert_ledger(b, pipe, malformed, malformed + over);
		}
	}
}

/* Begins a batch with a declared length of one line. More lines follow. */
static void bounded_batch(struct pipe_bench *b, uint32_t pid, uint64_t sequence, uint32_t lines)
{
	static const char line[] = "{\"t\":\"k\",\"n\":1,\"s\":1,\"d\":10,\"c\":1,\"v\":[0,1,7],"
				   "\"g\":[1,1,1],\"b\":[1,1,1],\"m\":[0,0],\"r\":1}\n";

	put(b, &(struct gpu_event){.type = GPU_EVENT_BATCH,
				   .batch = {.pid = pid,
					     .instance = pid,
					     .sequence = sequence,
					     .bytes = (uint32_t)strlen(line)}});
	feed(b, line);
	for (; lines > 1; lines--)
		feed(b, line);
}

/* Bytes that somebody else writes between two batches, however well they are made. */
static void lines_outside_a_batch_have_no_sender(void **state)
{
	struct pipe_bench *b = *state;

	begin_program(b, 7);
	bounded_batch(b, 7, 1, 3);
	assert_ledger(b, gpu, kernels, 1);
	assert_ledger(b, pipe, malformed, 2);
	/* no hello either, of another program or of the batch's */
	hello(b, 8);
	hello(b, 7);
	bounded_batch(b, 8, 0, 2);
	hello(b, 8);
	assert_int_equal(b->count, 2);
	assert_ledger(b, pipe, malformed, 6);
	assert_ledger(b, pipe, refused, 1); /* the content of the batch of 8 */
	batch(b, 7, 2);
	kernel(b, 1, 5);
	assert_ledger(b, gpu, kernels, 2);
	begin_program(b, 8);
	assert_ledger(b, pipe, processes, 2);
}

/* ---- launches without a record ---- */

static void launches(struct pipe_bench *b, uint32_t n, uint32_t flags)
{
	for (uint32_t i = 0; i < n; i++) {
		char line[100];

		snprintf(line, sizeof(line),
			 flags ? "{\"t\":\"l\",\"s\":1,\"h\":8,\"c\":%u,\"f\":1,\"x\":%u}\n"
			       : "{\"t\":\"l\",\"s\":1,\"h\":8,\"c\":%u,\"f\":1}\n",
			 i, flags);
		feed(b, line);
	}
}

static void kernels(struct pipe_bench *b, uint32_t n, uint64_t node)
{
	for (uint32_t i = 0; i < n; i++)
		put(b,
		    &(struct gpu_event){.type = GPU_EVENT_KERNEL,
					.kernel = {.graph_id = node != 0, .graph_node_id = node}});
}

static void a_launch_has_a_record(void **state)
{
	struct pipe_bench *b = *state;

	begin_program(b, 7);
	launches(b, 5, 0);
	kernels(b, 5, 0);
	/* graph launches may have no record, or many */
	launches(b, 3, GPU_LAUNCH_IS_GRAPH);
	kernels(b, 30, 77);
	launches(b, 3, GPU_LAUNCH_IS_OTHER);
	launches(b, 3, GPU_LAUNCH_IS_OTHER | GPU_LAUNCH_IS_GRAPH);
	/* failed, or captured */
	launches(b, 4, 0);
	feed(b, "{\"t\":\"void\",\"launches\":3}\n");
	feed(b, "{\"t\":\"void\",\"launches\":1}\n");
	bye(b, 35, 0);
	gpu_pipe_finish(b->pipe);
	assert_ledger(b, launches, unended, 0);
	assert_ledger(b, pipe, malformed, 0);
}

static void launches_without_a_record_are_counted(void **state)
{
	struct pipe_bench *b = *state;

	begin_program(b, 7);
	launches(b, 5, 0);
	kernels(b, 3, 0);
	kernels(b, 9, 77);                      /* a graph's are no launch's */
	assert_ledger(b, launches, unended, 0); /* records may still come */
	assert_int_equal(gpu_pipe_waiting(b->pipe), 2);
	bye(b, 12, 0);
	assert_ledger(b, launches, unended, 2);
	assert_int_equal(gpu_pipe_waiting(b->pipe), 0);
	/* killed; and replaced by another program */
	begin_program(b, 8);
	launches(b, 4, 0);
	close_all(b);
	assert_ledger(b, launches, unended, 6);
	batch_of(b, 8, 18, 0);
	hello_of(b, 8, 18, GPU_WIRE_VERSION, 1);
	launches(b, 2, 0);
	kernels(b, 1, 0);
	/* one program's do not make up for another's */
	begin_program(b, 9);
	kernels(b, 20, 0);
	gpu_pipe_finish(b->pipe);
	assert_ledger(b, launches, unended, 6);
	close_all(b);
	assert_ledger(b, launches, unended, 7);
	/* one that never traced, and one that is not understood */
	batch(b, 10, 0);
	hello_of(b, 10, 10, GPU_WIRE_VERSION, 0);
	launches(b, 4, 0);
	batch(b, 11, 0);
	hello_of(b, 11, 11, GPU_WIRE_VERSION + 1, 1);
	launches(b, 4, 0);
	close_all(b);
	assert_ledger(b, launches, unended, 7);
}

/* Known losses are reported as such, and not twice. */
static void lost_records_are_no_unended_launches(void **state)
{
	struct pipe_bench *b = *state;

	begin_program(b, 7);
	launches(b, 10, 0);
	kernels(b, 3, 0);
	feed(b, "{\"t\":\"drops\",\"kernels\":2,\"launches\":0,\"batches\":1,"
		"\"unsent_kernels\":1,\"unsent_launches\":0,\"unknown\":0}\n");
	bye(b, 6, 0); /* 3 arrived, 1 was not sent: 2 are missing */
	assert_ledger(b, gpu, missing, 2);
	assert_ledger(b, launches, unended, 2);
}

/* In a part of the run, unended launches and work outside of the part are no losses. */
static void unended_launches_of_a_part(void **state)
{
	struct pipe_bench *b = *state;

	collect_set_time_range(b->collect, &(struct time_range){.to_ns = 1}); /* range is over */
	begin_program(b, 7);
	launches(b, 10, 0);
	kernels(b, 3, 0);
	feed(b, "{\"t\":\"drops\",\"kernels\":0,\"launches\":0,\"batches\":0,"
		"\"unsent_kernels\":0,\"unsent_launches\":0,\"unknown\":0,\"early\":5,"
		"\"early_ns\":70,\"late\":6,\"late_ns\":80,\"ranges\":8,\"folded_ranges\":9}\n");
	bye(b, 3 + 6, 80);
	close_all(b);
	assert_ledger(b, launches, unended, 0);
	assert_ledger(b, gpu, dropped, 0);
	assert_ledger(b, gpu, missing, 0);
	assert_ledger(b, pipe, wrong_totals, 0);
	assert_int_equal(b->ledger->outside.before, 5);
	assert_int_equal(b->ledger->outside.before_ns, 70);
	assert_int_equal(b->ledger->outside.after, 6);
	assert_ledger(b, bounds, ranges, 8);
	assert_ledger(b, bounds, folded_ranges, 9);
	/* the collector has seen no launches of these kernels */
	assert_int_equal(b->ledger->outside.unended, 10);
}

#define HUGE_COUNT (UINT64_C(1) << 62) /* four of them would be 0 */

static void counts_do_not_wrap(void **state)
{
	struct pipe_bench *b = *state;
	const struct gpu_event drops = {.type = GPU_EVENT_DROPS,
					.drops = {.kernels = HUGE_COUNT,
						  .launches = HUGE_COUNT,
						  .unsent_kernels = HUGE_COUNT,
						  .unsent_launches = HUGE_COUNT,
						  .unknown = HUGE_COUNT}};
	const struct gpu_event voids = {.type = GPU_EVENT_VOID, .voids = {.launches = HUGE_COUNT}};

	begin_program(b, 7);
	for (int i = 0; i < 4; i++) {
		put(b, &drops);
		put(b, &voids);
		batch(b, 7, INT64_MAX - 1024); /* a gap, then the count starts again */
		batch(b, 7, 0);
	}
	kernel(b, 1, 1);
	bye(b, INT64_MAX - 1024, 1);
	assert_ledger(b, pipe, malformed, 0);
	assert_ledger(b, gpu, dropped, UINT64_MAX);
	assert_ledger(b, launches, dropped, UINT64_MAX);
	assert_ledger(b, gpu, unknown_kinds, UINT64_MAX);
	assert_ledger(b, pipe, lost_batches, UINT64_MAX);
	assert_ledger(b, launches, unended, 0);
	assert_ledger(b, gpu, missing, 0);
	/* sum over several processes */
	for (uint32_t pid = 8; pid < 12; pid++) {
		begin_program(b, pid);
		bye(b, INT64_MAX - 1024, 1);
	}
	assert_ledger(b, gpu, missing, UINT64_MAX);
}

static void work(struct pipe_bench *b, uint64_t ns, uint64_t bytes)
{
	put(b, &(struct gpu_event){
		       .type = GPU_EVENT_WORK,
		       .work = {.work = GPU_WORK_MEMSET, .duration_ns = ns, .bytes = bytes}});
}

static void wait_of(struct pipe_bench *b, uint64_t ns)
{
	put(b, &(struct gpu_event){.type = GPU_EVENT_WAIT, .wait = {.duration_ns = ns}});
}

static void sum(struct pipe_bench *b, uint64_t count, uint64_t ns, uint64_t bytes)
{
	put(b, &(struct gpu_event){.type = GPU_EVENT_SUM,
				   .sum = {.count = count, .ns = ns, .bytes = bytes}});
}

/* Kernels, other work and waits share a total, over all programs; the first that is too much is
 * shown. */
static void time_beyond_the_total_is_malformed(void **state)
{
	struct pipe_bench *b = *state;
	const uint64_t longest = GPU_EVENT_DURATION_LIMIT_NS - 1; /* four of them leave 4 ns */

	begin_program(b, 7);
	kernel(b, 1, longest);
	kernel(b, 1, longest);
	begin_program(b, 8);
	work(b, longest, 0);
	wait_of(b, longest);
	assert_ledger(b, pipe, malformed, 0);
	assert_int_equal(b->count, 6);
	kernel(b, 1, 5);
	work(b, 5, 0);
	wait_of(b, 5);
	assert_ledger(b, pipe, malformed, 3);
	assert_memory_equal(b->ledger->pipe.first_malformed, "{\"t\":\"k\"", 8);
	assert_ledger(b, gpu, kernels, 2);
	assert_ledger(b, gpu, kernel_ns, 2 * longest);
	assert_int_equal(b->count, 6); /* none is handed out */
	/* work that fits is still counted */
	kernel(b, 1, 4);
	assert_ledger(b, gpu, kernels, 3);
	bye(b, 4, longest + 4); /* the goodbye shows what was refused */
	assert_ledger(b, gpu, missing, 2);
}

static void bytes_beyond_the_total_are_malformed(void **state)
{
	struct pipe_bench *b = *state;

	begin_program(b, 7);
	work(b, 1, LEDGER_TOTAL_MAX / 2);
	work(b, 1, LEDGER_TOTAL_MAX / 2);
	work(b, 1, 1);
	work(b, 1, 0);
	assert_ledger(b, pipe, malformed, 1);
	assert_int_equal(b->count, 4); /* with the hello before */
}

/* Reported sums have a total of their own, because these sums count the work a second time. */
static void reported_sums_do_not_wrap(void **state)
{
	struct pipe_bench *b = *state;

	begin_program(b, 7);
	kernel(b, 1, 1000);
	sum(b, 1, UINT64_MAX, 0);
	sum(b, 1, 0, UINT64_MAX);
	sum(b, HUGE_COUNT, LEDGER_TOTAL_MAX, 0);
	assert_ledger(b, pipe, malformed, 2);
	sum(b, 0, 1, 0);
	sum(b, HUGE_COUNT, 0, 0);
	sum(b, 1, 0, 0);
	assert_ledger(b, pipe, malformed, 4);
	kernel(b, 1, 1000);
	assert_ledger(b, gpu, kernels, 2);
}

static void half_a_line_at_the_end_is_malformed(void **state)
{
	struct pipe_bench *b = *state;

	begin_program(b, 7);
	feed(b, "{\"t\":\"l\",\"s\":100,\"h\":8,\"c\":1,\"f\":1}");
	assert_ledger(b, pipe, malformed, 0);
	gpu_pipe_finish(b->pipe);
	assert_ledger(b, pipe, malformed, 1);
	assert_int_equal(b->count, 1); /* the hello */
}

static void the_newline_before_a_batch_ends_half_a_line(void **state)
{
	struct pipe_bench *b = *state;

	begin_program(b, 7);
	feed(b, "{\"t\":\"k\",\"n\":1,");
	batch(b, 7, 1);
	kernel(b, 1, 5);
	assert_ledger(b, pipe, malformed, 1);
	assert_ledger(b, gpu, kernels, 1);
	assert_ledger(b, pipe, lost_batches, 0);
}

/* Makes a stream with lines of all kinds. */
static char *make_stream(size_t *size)
{
	static const char *const lines[] = {
		"\n{\"t\":\"batch\",\"pid\":7,\"id\":\"00000000000000a7\",\"seq\":0}\n",
		"{\"t\":\"hello\",\"version\":2,\"pid\":7,\"id\":\"00000000000000a7\",\"exe\":\"/"
		"a\",\"cupti\":\"\","
		"\"cupti_version\":18,\"clock_offset\":\"-5\",\"clock_error\":1,\"libs\":\"\","
		"\"ack\":1}\n",
		"{\"t\":\"name\",\"i\":1,\"more\":1,\"n\":\"ab\"}\n",
		"{\"t\":\"name\",\"i\":1,\"n\":\"cd\"}\n",
		"rubbish\x01 and more rubbish, so that it is longer than what is shown of it: "
		"0123456789 0123456789 0123456789\n",
		"{\"t\":\"l\",\"s\":100,\"h\":8,\"c\":1,\"f\":1}\n",
		"{\"t\":\"k\",\"n\":1,\"s\":5,\"d\":10,\"c\":1,\"v\":[0,1,7],\"g\":[1,2,3],"
		"\"b\":[4,5,6],\"m\":[0,0],\"r\":32}\n",
		"\n{\"t\":\"batch\",\"pid\":7,\"id\":\"00000000000000a7\",\"seq\":3}\n",
		"{ \"t\":\"k\",\"n\":2,\"s\":5,\"d\":7,\"c\":1,\"v\":[0,1,7],\"g\":[1,2,3],"
		"\"b\":[4,5,6],\"m\":[0,0],\"r\":32}\n",
		"{\"t\":\"bye\",\"kernels\":3,\"kernel_ns\":17,\"launches\":1}\n",
		"\n{\"t\":\"batch\",\"pid\":9,\"id\":\"00000000000000b9\",\"seq\":3}\n",
		"{\"t\":\"maps\",\"generation\":3,\"ack\":1}\n",
		"{\"t\":\"half",
	};
	char *stream = malloc(8192);

	assert_non_null(stream);
	*size = 0;
	/* one line of the stream is too long */
	*size += (size_t)snprintf(stream, 8192, "%4500s\n", "x");
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		*size += (size_t)snprintf(stream + *size, 8192 - *size, "%s", lines[i]);
	return stream;
}

static void feed_in_three(const char *stream, size_t size, size_t first, size_t second,
			  struct pipe_bench *b)
{
	feed_bytes(b, stream, first);
	feed_bytes(b, stream + first, second - first);
	feed_bytes(b, stream + second, size - second);
	gpu_pipe_finish(b->pipe);
}

static void assert_same_outcome(const struct pipe_bench *a, const struct pipe_bench *b)
{
	const struct ledger *x = a->ledger, *y = b->ledger;

	assert_memory_equal(&x->pipe, &y->pipe, sizeof(x->pipe));
	assert_memory_equal(&x->launches, &y->launches, sizeof(x->launches));
	assert_memory_equal(&x->gpu, &y->gpu, sizeof(x->gpu));
	assert_memory_equal(&x->bounds, &y->bounds, sizeof(x->bounds));
	assert_int_equal(a->count, b->count);
	for (uint32_t i = 0; i < a->count; i++) {
		assert_int_equal(!a->heard[i].process, !b->heard[i].process);
		assert_int_equal(a->heard[i].event.type, b->heard[i].event.type);
		assert_string_equal(a->heard[i].kernel, b->heard[i].kernel);
		assert_string_equal(a->heard[i].text, b->heard[i].text);
	}
}

static void where_the_stream_is_cut_does_not_matter(void **state)
{
	struct pipe_bench *whole = *state;
	size_t size;
	char *stream = make_stream(&size);

	feed_in_three(stream, size, 0, size, whole);
	assert_ledger(whole, gpu, kernels, 2);
	assert_ledger(whole, pipe, too_long, 1);
	assert_ledger(whole, pipe, malformed, 3);
	assert_ledger(whole, pipe, lost_batches, 2);
	assert_ledger(whole, pipe, refused, 1);
	assert_ledger(whole, gpu, missing, 1);
	assert_kernel(whole, 2, "abcd");
	for (size_t at = 0; at <= size; at += unit_stride()) {
		void *other = NULL;

		assert_int_equal(pipe_bench_begin(&other), 0);
		feed_in_three(stream, size, at, at + (size - at) / 3, other);
		assert_same_outcome(whole, other);
		pipe_bench_end(&other);
	}
	free(stream);
}

static void single_bytes_give_the_same(void **state)
{
	struct pipe_bench *whole = *state;
	void *other = NULL;
	size_t size;
	char *stream = make_stream(&size);

	feed_in_three(stream, size, 0, size, whole);
	assert_int_equal(pipe_bench_begin(&other), 0);
	for (size_t at = 0; at < size; at++)
		feed_bytes(other, stream + at, 1);
	gpu_pipe_finish(((struct pipe_bench *)other)->pipe);
	assert_same_outcome(whole, other);
	pipe_bench_end(&other);
	free(stream);
}

/* Fills the pipe's buffer from `fd`. Returns the number of bytes read; the caller gets the
 * bytes, too. */
static int fill(struct pipe_bench *b, int fd, const char **bytes)
{
	int n;

	*bytes = NULL;
	n = gpu_pipe_fill(b->pipe, fd, bytes);
	assert_true((n > 0) == (*bytes != NULL));
	drain(b);
	return n;
}

static void reading_a_pipe(void **state)
{
	struct pipe_bench *b = *state;
	static const char text[] =
		"\n{\"t\":\"batch\",\"pid\":7,\"id\":\"00000000000000a7\",\"seq\":0}\nrubbish\n";
	const char *bytes;
	int ends[2];

	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	assert_int_equal(fill(b, ends[0], &bytes), 0);
	assert_int_equal(write(ends[1], text, sizeof(text) - 1), sizeof(text) - 1);
	assert_int_equal(fill(b, ends[0], &bytes), sizeof(text) - 1);
	assert_memory_equal(bytes, text, sizeof(text) - 1);
	assert_ledger(b, pipe, lines, 2);
	assert_int_equal(fill(b, ends[0], &bytes), 0);
	assert_int_equal(write(ends[1], "half a line", 11), 11);
	assert_int_equal(gpu_pipe_fill(b->pipe, ends[0], NULL), 11); /* nobody looks */
	drain(b);
	assert_ledger(b, pipe, lines, 2);
	close(ends[1]);
	assert_int_equal(fill(b, ends[0], &bytes), -EPIPE);
	close(ends[0]);
	assert_int_equal(fill(b, ends[0], &bytes), -EBADF);
	gpu_pipe_finish(b->pipe);
	assert_ledger(b, pipe, lines, 3);
	assert_ledger(b, pipe, malformed, 2);
}

/* A pipe that holds more than one read: lines are cut anywhere. */
static void reading_a_full_pipe(void **state)
{
	static const char line[] = "{\"t\":\"l\",\"s\":100,\"h\":8,\"c\":1,\"f\":1,\"k\":123}\n";
	struct pipe_bench *b = *state;
	uint64_t written = 0, got = 0, reads = 0, lines = 0, heard = 0;
	const struct gpu_event *event;
	struct tracee *tracee;
	const char *kernel_name;
	int ends[2], n;

	begin_program(b, 7);
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	if (fcntl(ends[1], F_SETPIPE_SZ, 1 << 19) < 0)
		SKIP("pipes of 512 KiB are not allowed here");
	for (; write(ends[1], line, sizeof(line) - 1) == sizeof(line) - 1; lines++)
		written += sizeof(line) - 1;
	for (; (n = gpu_pipe_fill(b->pipe, ends[0], NULL)) > 0; reads++) {
		got += (uint64_t)n;
		while ((event = gpu_pipe_next(b->pipe, &tracee, &kernel_name)))
			heard += event->type == GPU_EVENT_LAUNCH;
	}
	assert_int_equal(n, 0);
	assert_true(reads > 1);
	assert_int_equal(got, written);
	assert_int_equal(heard, lines);
	assert_ledger(b, pipe, malformed, 0);
	close(ends[0]);
	close(ends[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, pipe_bench_begin, pipe_bench_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_end_of_the_range_is_told_by_each_program),
		TEST(a_program_from_hello_to_goodbye),
		TEST(events_before_any_batch_are_malformed),
		TEST(a_hello_that_is_not_accepted_is_refused),
		TEST(the_last_hello_is_refused_at_the_end),
		TEST(lines_of_an_unknown_instance_are_refused),
		TEST(shown_refused_lines_are_printable),
		TEST(a_second_hello_of_an_instance_is_malformed),
		TEST(a_hello_belongs_to_its_batch),
		TEST(programs_under_one_pid_are_apart),
		TEST(the_number_of_programs_is_bounded),
		TEST(names_are_per_program),
		TEST(ids_of_names_may_be_sparse),
		TEST(a_name_comes_in_pieces),
		TEST(pieces_that_do_not_fit_are_forgotten),
		TEST(a_name_without_end_is_bounded),
		TEST(ids_out_of_range),
		TEST(control_characters_in_names_are_replaced),
		TEST(an_older_version_is_understood),
		TEST(steps_become_events),
		TEST(unknown_work_is_missing),
		TEST(definitions_are_limited),
		TEST(another_version_is_ignored),
		TEST(untraceable_programs_are_counted),
		TEST(gaps_in_the_sequence_are_lost_batches),
		TEST(the_goodbye_reveals_losses),
		TEST(work_after_a_goodbye),
		TEST(a_kernel_after_the_goodbye_is_no_loss),
		TEST(sums_that_do_not_agree_are_counted),
		TEST(other_operations_are_in_the_totals),
		TEST(programs_without_a_goodbye_are_counted),
		TEST(a_closed_program_is_forgotten),
		TEST(closing_one_leaves_the_others),
		TEST(times_that_could_not_be_measured_are_counted),
		TEST(malformed_lines_cost_a_count_and_nothing_else),
		TEST(a_line_with_nul_bytes_is_malformed),
		TEST(a_line_of_a_megabyte_is_skipped),
		TEST(the_limit_of_a_line_is_exact),
		TEST(lines_outside_a_batch_have_no_sender),
		TEST(a_launch_has_a_record),
		TEST(launches_without_a_record_are_counted),
		TEST(lost_records_are_no_unended_launches),
		TEST(unended_launches_of_a_part),
		TEST(counts_do_not_wrap),
		TEST(time_beyond_the_total_is_malformed),
		TEST(bytes_beyond_the_total_are_malformed),
		TEST(reported_sums_do_not_wrap),
		TEST(half_a_line_at_the_end_is_malformed),
		TEST(the_newline_before_a_batch_ends_half_a_line),
		TEST(where_the_stream_is_cut_does_not_matter),
		TEST(single_bytes_give_the_same),
		TEST(reading_a_pipe),
		TEST(reading_a_full_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
