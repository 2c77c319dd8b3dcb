/* SPDX-License-Identifier: MIT */
/* Text lines as a traced process would send them, and as it never would. */
#include "unit.h"
#include "cupti_trace/gpu_wire.h"
#include "profiler/sources/gpu_pipe.h"

enum { HEARD_MAX = 100 };

struct heard {
	uint32_t pid;
	struct gpu_event event;
	char kernel[100];
	char text[200]; /* a string of the event */
};

struct bench {
	struct intern strings;
	struct gpu_pipe *source;
	struct heard heard[HEARD_MAX];
	uint32_t count;
};

static void hear(void *context, uint32_t pid, const struct gpu_event *event, const char *kernel)
{
	struct bench *b = context;
	struct heard *h = &b->heard[b->count];

	assert_true(b->count < HEARD_MAX);
	assert_true((kernel != NULL) == (event->type == GPU_EVENT_KERNEL));
	b->count++;
	h->pid = pid;
	h->event = *event;
	snprintf(h->kernel, sizeof(h->kernel), "%s", kernel ? kernel : "");
	if (event->type == GPU_EVENT_NOTICE)
		snprintf(h->text, sizeof(h->text), "%s", event->notice.detail);
	if (event->type == GPU_EVENT_HELLO)
		snprintf(h->text, sizeof(h->text), "%s", event->hello.executable);
}

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	b->source = gpu_pipe_new(&b->strings, hear, b);
	*state = b;
	return b->source ? 0 : -1;
}

static int end(void **state)
{
	struct bench *b = *state;

	gpu_pipe_free(b->source);
	intern_release(&b->strings);
	free(b);
	return 0;
}

static void feed(struct bench *b, const char *text)
{
	gpu_pipe_feed(b->source, text, strlen(text));
}

static void batch(struct bench *b, uint32_t pid, uint64_t sequence)
{
	char line[200];

	snprintf(line, sizeof(line), "\n{\"t\":\"batch\",\"pid\":%u,\"seq\":%" PRIu64 "}\n", pid,
		 sequence);
	feed(b, line);
}

static void hello_version(struct bench *b, uint32_t pid, uint32_t version, int ack)
{
	char line[400];

	snprintf(line, sizeof(line),
		 "{\"t\":\"hello\",\"version\":%u,\"pid\":%u,\"exe\":\"/bin/app\",\"cupti\":\"\","
		 "\"cupti_version\":18,\"clock_offset\":\"-5\",\"clock_error\":1,\"libs\":\"\","
		 "\"ack\":%d}\n",
		 version, pid, ack);
	feed(b, line);
}

static void hello(struct bench *b, uint32_t pid)
{
	hello_version(b, pid, GPU_WIRE_VERSION, 1);
}

static void name(struct bench *b, uint32_t id, int more, const char *text)
{
	char line[700];

	snprintf(line, sizeof(line), "{\"t\":\"name\",\"i\":%u,\"more\":%d,\"n\":\"%s\"}\n", id,
		 more, text);
	feed(b, line);
}

static void kernel(struct bench *b, uint32_t name_id, uint64_t ns)
{
	struct gpu_event e = {
		.type = GPU_EVENT_KERNEL,
		.kernel = {.name_id = name_id, .duration_ns = ns, .start_ns = 5},
	};
	char line[400];
	int n = gpu_wire_encode(&e, line, sizeof(line));

	assert_true(n > 0);
	gpu_pipe_feed(b->source, line, (size_t)n);
}

static struct gpu_pipe_stats stats(const struct bench *b)
{
	return gpu_pipe_stats(b->source);
}

static void a_process_from_hello_to_goodbye(void **state)
{
	struct bench *b = *state;

	batch(b, 7, 0);
	hello(b, 7);
	feed(b, "{\"t\":\"maps\",\"generation\":3,\"ack\":1}\n");
	feed(b, "{\"t\":\"l\",\"s\":100,\"h\":8,\"c\":1,\"f\":1}\n");
	name(b, 1, 0, "_Z1kv");
	kernel(b, 1, 30);
	kernel(b, 1, 12);
	feed(b, "{\"t\":\"notice\",\"code\":0,\"detail\":\"hi\\nyou\"}\n");
	feed(b, "{\"t\":\"bye\",\"kernels\":2,\"kernel_ns\":42,\"launches\":1}\n");
	gpu_pipe_finish(b->source);

	assert_int_equal(b->count, 7);
	for (uint32_t i = 0; i < b->count; i++)
		assert_int_equal(b->heard[i].pid, 7);
	assert_int_equal(b->heard[0].event.type, GPU_EVENT_HELLO);
	assert_string_equal(b->heard[0].text, "/bin/app");
	assert_int_equal(b->heard[1].event.type, GPU_EVENT_MAPS);
	assert_int_equal(b->heard[1].event.maps.generation, 3);
	assert_int_equal(b->heard[2].event.type, GPU_EVENT_LAUNCH);
	assert_string_equal(b->heard[3].kernel, "_Z1kv");
	assert_int_equal(b->heard[3].event.kernel.duration_ns, 30);
	assert_string_equal(b->heard[5].text, "hi\nyou");
	assert_int_equal(b->heard[6].event.type, GPU_EVENT_GOODBYE);
	assert_int_equal(stats(b).lines, 9);
	assert_int_equal(stats(b).malformed, 0);
	assert_int_equal(stats(b).kernels, 2);
	assert_int_equal(stats(b).kernel_ns, 42);
	assert_int_equal(stats(b).launches, 1);
	assert_int_equal(stats(b).processes, 1);
	assert_int_equal(stats(b).missing_kernels, 0);
	assert_int_equal(stats(b).without_goodbye, 0);
	assert_string_equal(gpu_pipe_first_malformed(b->source), "");
}

static void events_before_any_batch_are_malformed(void **state)
{
	struct bench *b = *state;

	hello(b, 7);
	kernel(b, 1, 5);
	assert_int_equal(b->count, 0);
	assert_int_equal(stats(b).malformed, 2);
	assert_int_equal(stats(b).kernels, 0);
}

/* ---- names ---- */

static void names_are_per_process(void **state)
{
	struct bench *b = *state;

	batch(b, 7, 0);
	hello(b, 7);
	name(b, 1, 0, "seven");
	batch(b, 8, 0);
	hello(b, 8);
	name(b, 1, 0, "eight");
	kernel(b, 1, 1);
	batch(b, 7, 1);
	kernel(b, 1, 1);
	assert_string_equal(b->heard[2].kernel, "eight");
	assert_string_equal(b->heard[3].kernel, "seven");
}

static void a_name_comes_in_pieces(void **state)
{
	struct bench *b = *state;

	batch(b, 7, 0);
	hello(b, 7);
	name(b, 1, 1, "one ");
	name(b, 1, 1, "two ");
	batch(b, 8, 0); /* another process's pieces are its own */
	hello(b, 8);
	name(b, 1, 1, "other");
	batch(b, 7, 1);
	name(b, 1, 0, "three");
	kernel(b, 1, 1);
	assert_string_equal(b->heard[2].kernel, "one two three");
}

static void pieces_that_do_not_fit_are_forgotten(void **state)
{
	struct bench *b = *state;

	batch(b, 7, 0);
	hello(b, 7);
	name(b, 1, 1, "half");
	name(b, 2, 0, "whole");
	name(b, 1, 0, "rest"); /* the first piece is gone: what is left is taken as it is */
	kernel(b, 2, 1);
	assert_string_equal(b->heard[1].kernel, "whole");
	name(b, 3, 1, "half");
	hello(b, 7); /* a new program */
	name(b, 3, 0, "new");
	kernel(b, 3, 1);
	assert_string_equal(b->heard[3].kernel, "new");
}

static void a_name_without_end_is_bounded(void **state)
{
	struct bench *b = *state;
	char piece[601];

	memset(piece, 'x', sizeof(piece) - 1);
	piece[600] = '\0';
	batch(b, 7, 0);
	hello(b, 7);
	for (int i = 0; i < 1000; i++)
		name(b, 1, 1, piece);
	name(b, 1, 0, "end");
	assert_true(stats(b).malformed > 0);
	name(b, 2, 0, "next");
	kernel(b, 2, 1);
	assert_string_equal(b->heard[1].kernel, "next");
}

static void ids_out_of_range(void **state)
{
	struct bench *b = *state;

	batch(b, 7, 0);
	hello(b, 7);
	name(b, 0, 0, "zero");
	name(b, 65537, 0, "above");
	name(b, UINT32_MAX, 0, "far above");
	assert_int_equal(stats(b).malformed, 3);
	name(b, 65536, 0, "last");
	kernel(b, 65536, 1);
	kernel(b, UINT32_MAX, 1);
	kernel(b, 5, 1);
	kernel(b, 0, 1);
	assert_string_equal(b->heard[1].kernel, "last");
	assert_string_equal(b->heard[2].kernel, GPU_PIPE_NAME_LOST);
	assert_string_equal(b->heard[3].kernel, GPU_PIPE_NAME_LOST);
	assert_string_equal(b->heard[4].kernel, GPU_PIPE_NAMES_FULL);
	assert_int_equal(stats(b).kernels, 4);
}

static void control_characters_in_names_are_replaced(void **state)
{
	struct bench *b = *state;

	batch(b, 7, 0);
	hello(b, 7);
	name(b, 1, 0, "a\\n\\u001b[31m;\\u007f");
	kernel(b, 1, 1);
	assert_string_equal(b->heard[1].kernel, "a??[31m;?");
}

/* ---- what a process says about itself ---- */

static void another_version_is_ignored(void **state)
{
	struct bench *b = *state;
	uint32_t before;

	batch(b, 7, 0);
	hello_version(b, 7, GPU_WIRE_VERSION + 1, 1);
	before = b->count; /* the hello itself may be shown: the process waits for an answer */
	name(b, 1, 0, "k");
	kernel(b, 1, 5);
	feed(b, "{\"t\":\"bye\",\"kernels\":9,\"kernel_ns\":42,\"launches\":1}\n");
	assert_int_equal(b->count, before);
	assert_int_equal(stats(b).foreign_versions, 1);
	assert_int_equal(stats(b).kernels, 0);
	gpu_pipe_finish(b->source);
	assert_int_equal(stats(b).without_goodbye, 0);

	hello(b, 7); /* execs a program of our version */
	kernel(b, 1, 5);
	assert_int_equal(stats(b).kernels, 1);
}

static void gaps_in_the_sequence_are_lost_batches(void **state)
{
	struct bench *b = *state;

	batch(b, 7, 0);
	batch(b, 7, 1);
	batch(b, 7, 4);
	assert_int_equal(stats(b).lost_batches, 2);
	batch(b, 8, 1);
	assert_int_equal(stats(b).lost_batches, 3);
	batch(b, 7, 5);
	assert_int_equal(stats(b).lost_batches, 3);
	batch(b, 7, 0); /* exec: it counts anew */
	hello(b, 7);
	batch(b, 7, 1);
	assert_int_equal(stats(b).lost_batches, 3);
	batch(b, 7, 3);
	assert_int_equal(stats(b).lost_batches, 4);
}

static void the_goodbye_tells_what_is_missing(void **state)
{
	struct bench *b = *state;

	batch(b, 7, 0);
	hello(b, 7);
	kernel(b, 1, 5);
	/* 3 that CUPTI did not record were never sent; 2 were, in writes that were given up */
	feed(b, "{\"t\":\"drops\",\"kernels\":3,\"launches\":2,\"batches\":1,\"unsent_kernels\":2,"
		"\"unsent_launches\":5,\"unknown\":6}\n");
	feed(b, "{\"t\":\"bye\",\"kernels\":10,\"kernel_ns\":42,\"launches\":1}\n");
	assert_int_equal(stats(b).malformed, 0);
	assert_int_equal(stats(b).dropped_kernels, 5);
	assert_int_equal(stats(b).dropped_launches, 7);
	assert_int_equal(stats(b).unknown_records, 6);
	assert_int_equal(stats(b).missing_kernels, 7);
	assert_int_equal(stats(b).wrong_totals, 0);
	/* a second goodbye says nothing new */
	feed(b, "{\"t\":\"bye\",\"kernels\":10,\"kernel_ns\":42,\"launches\":1}\n");
	assert_int_equal(stats(b).missing_kernels, 7);
}

static void sums_that_do_not_agree_are_counted(void **state)
{
	struct bench *b = *state;

	for (uint32_t pid = 1; pid < 4; pid++) {
		batch(b, pid, 0);
		hello(b, pid);
		kernel(b, 1, 40 + pid);
		feed(b, "{\"t\":\"bye\",\"kernels\":1,\"kernel_ns\":42,\"launches\":0}\n");
	}
	assert_int_equal(stats(b).wrong_totals, 2);
	assert_int_equal(stats(b).missing_kernels, 0);
}

static void count_open(void *context, uint32_t pid)
{
	*(uint64_t *)context += pid;
}

static void processes_without_a_goodbye_are_counted(void **state)
{
	struct bench *b = *state;
	uint64_t open = 0;

	batch(b, 7, 0);
	hello(b, 7);
	hello(b, 7); /* the first program in it was replaced without a word */
	batch(b, 8, 0);
	hello(b, 8);
	feed(b, "{\"t\":\"bye\",\"kernels\":0,\"kernel_ns\":0,\"launches\":0}\n");
	batch(b, 9, 0);
	hello(b, 9);
	gpu_pipe_each_open(b->source, count_open, &open);
	assert_int_equal(open, 7 + 9);
	gpu_pipe_finish(b->source);
	assert_int_equal(stats(b).without_goodbye, 3);
}

static void times_that_could_not_be_measured_are_counted(void **state)
{
	struct bench *b = *state;

	batch(b, 7, 0);
	hello(b, 7);
	feed(b, "{\"t\":\"k\",\"n\":1,\"s\":0,\"d\":0,\"c\":1,\"v\":[0,1,7],\"g\":[1,1,1],"
		"\"b\":[1,1,1],\"m\":[0,0],\"r\":32,\"bad\":1}\n");
	assert_int_equal(stats(b).bad_times, 1);
	assert_int_equal(stats(b).kernels, 1);
}

/* ---- bytes ---- */

static void malformed_lines_cost_a_count_and_nothing_else(void **state)
{
	struct bench *b = *state;

	batch(b, 7, 0);
	hello(b, 7);
	feed(b, "rubbish \x1b[31m\xff\n");
	feed(b, "{\"t\":\"k\"}\n{\n}\n\n\n\n{\"t\":\"none\"}\n");
	kernel(b, 1, 5);
	assert_int_equal(stats(b).malformed, 5);
	assert_int_equal(stats(b).kernels, 1);
	assert_int_equal(stats(b).lines, 8);
	assert_string_equal(gpu_pipe_first_malformed(b->source), "rubbish ?[31m?");
}

static void a_line_with_nul_bytes_is_malformed(void **state)
{
	struct bench *b = *state;
	static const char line[] = "a\0b\n\0\n";

	gpu_pipe_feed(b->source, line, sizeof(line) - 1);
	assert_int_equal(stats(b).malformed, 2);
	assert_string_equal(gpu_pipe_first_malformed(b->source), "a?b");
}

static void a_line_of_a_megabyte_is_skipped(void **state)
{
	struct bench *b = *state;
	const size_t size = 1u << 20;
	char *line = malloc(size + 1);

	assert_non_null(line);
	memset(line, 'x', size);
	line[size] = '\n';
	batch(b, 7, 0);
	hello(b, 7);
	gpu_pipe_feed(b->source, line, size + 1);
	kernel(b, 1, 5);
	for (size_t at = 0; at < size + 1; at += 1000)
		gpu_pipe_feed(b->source, line + at, size + 1 - at < 1000 ? size + 1 - at : 1000);
	kernel(b, 1, 5);
	assert_int_equal(stats(b).too_long, 2);
	assert_int_equal(stats(b).malformed, 2);
	assert_int_equal(stats(b).kernels, 2);
	assert_int_equal(stats(b).lines, 6);
	free(line);
}

/* The longest line that is one, and one byte more. */
static void the_limit_of_a_line_is_exact(void **state)
{
	static const char head[] = "{\"t\":\"batch\",\"pid\":7,\"seq\":0}";
	struct bench *b = *state;

	for (size_t split = 0; split < GPU_WIRE_LINE_MAX; split += 777) {
		for (size_t over = 0; over < 2; over++) {
			char line[GPU_WIRE_LINE_MAX + 2];
			size_t n = GPU_WIRE_LINE_MAX + over;
			uint64_t malformed = stats(b).malformed;

			memset(line, ' ', n);
			memcpy(line, head, sizeof(head) - 1);
			line[n] = '\n';
			gpu_pipe_feed(b->source, line, split);
			gpu_pipe_feed(b->source, line + split, n + 1 - split);
			assert_int_equal(stats(b).malformed, malformed + over);
		}
	}
}

/* ---- launches without a record ---- */

static void launches(struct bench *b, uint32_t n, uint32_t flags)
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

static void kernels(struct bench *b, uint32_t n, uint64_t node)
{
	for (uint32_t i = 0; i < n; i++) {
		struct gpu_event e = {.type = GPU_EVENT_KERNEL,
				      .kernel = {.graph_id = node != 0, .graph_node_id = node}};
		char line[400];
		int length = gpu_wire_encode(&e, line, sizeof(line));

		gpu_pipe_feed(b->source, line, (size_t)length);
	}
}

static void bye(struct bench *b, uint32_t operations)
{
	char line[100];

	snprintf(line, sizeof(line),
		 "{\"t\":\"bye\",\"kernels\":%u,\"kernel_ns\":0,\"launches\":0}\n", operations);
	feed(b, line);
}

static void a_launch_has_a_record(void **state)
{
	struct bench *b = *state;

	batch(b, 7, 0);
	hello(b, 7);
	launches(b, 5, 0);
	kernels(b, 5, 0);
	/* what may have no record, or many */
	launches(b, 3, GPU_LAUNCH_IS_GRAPH);
	kernels(b, 30, 77);
	launches(b, 3, GPU_LAUNCH_IS_OTHER);
	launches(b, 3, GPU_LAUNCH_IS_OTHER | GPU_LAUNCH_IS_GRAPH);
	/* failed, or captured */
	launches(b, 4, 0);
	feed(b, "{\"t\":\"void\",\"launches\":3}\n");
	feed(b, "{\"t\":\"void\",\"launches\":1}\n");
	bye(b, 35);
	gpu_pipe_finish(b->source);
	assert_int_equal(stats(b).unended_launches, 0);
	assert_int_equal(stats(b).malformed, 0);
}

static void launches_without_a_record_are_counted(void **state)
{
	struct bench *b = *state;

	batch(b, 7, 0);
	hello(b, 7);
	launches(b, 5, 0);
	kernels(b, 3, 0);
	kernels(b, 9, 77);                              /* a graph's are no launch's */
	assert_int_equal(stats(b).unended_launches, 0); /* they may still come */
	bye(b, 12);
	assert_int_equal(stats(b).unended_launches, 2);
	/* killed; and replaced by another program */
	batch(b, 8, 0);
	hello(b, 8);
	launches(b, 4, 0);
	hello(b, 8);
	assert_int_equal(stats(b).unended_launches, 6);
	launches(b, 2, 0);
	kernels(b, 1, 0);
	/* one process's do not make up for another's */
	batch(b, 9, 0);
	hello(b, 9);
	kernels(b, 20, 0);
	gpu_pipe_finish(b->source);
	assert_int_equal(stats(b).unended_launches, 7);
	/* one that never traced, and one that is not understood */
	batch(b, 10, 0);
	hello_version(b, 10, GPU_WIRE_VERSION, 0);
	launches(b, 4, 0);
	batch(b, 11, 0);
	hello_version(b, 11, GPU_WIRE_VERSION + 1, 1);
	launches(b, 4, 0);
	gpu_pipe_finish(b->source);
	assert_int_equal(stats(b).unended_launches, 8); /* 8's own again: still open */
}

/* What is known to be lost is said as that, and not once more. */
static void lost_records_are_no_unended_launches(void **state)
{
	struct bench *b = *state;

	batch(b, 7, 0);
	hello(b, 7);
	launches(b, 10, 0);
	kernels(b, 3, 0);
	feed(b, "{\"t\":\"drops\",\"kernels\":2,\"launches\":0,\"batches\":1,"
		"\"unsent_kernels\":1,\"unsent_launches\":0,\"unknown\":0}\n");
	bye(b, 6); /* 3 came, 1 was not sent: 2 are missing */
	assert_int_equal(stats(b).missing_kernels, 2);
	assert_int_equal(stats(b).unended_launches, 2);
}

static void half_a_line_at_the_end_is_malformed(void **state)
{
	struct bench *b = *state;

	batch(b, 7, 0);
	hello(b, 7);
	feed(b, "{\"t\":\"l\",\"s\":100,\"h\":8,\"c\":1,\"f\":1}");
	assert_int_equal(stats(b).malformed, 0);
	gpu_pipe_finish(b->source);
	assert_int_equal(stats(b).malformed, 1);
	assert_int_equal(stats(b).launches, 0);
}

static void the_newline_before_a_batch_ends_half_a_line(void **state)
{
	struct bench *b = *state;

	batch(b, 7, 0);
	hello(b, 7);
	feed(b, "{\"t\":\"k\",\"n\":1,");
	batch(b, 7, 1);
	kernel(b, 1, 5);
	assert_int_equal(stats(b).malformed, 1);
	assert_int_equal(stats(b).kernels, 1);
	assert_int_equal(stats(b).lost_batches, 0);
}

/* A stream with all kinds of lines in it. */
static char *make_stream(size_t *size)
{
	static const char *const lines[] = {
		"\n{\"t\":\"batch\",\"pid\":7,\"seq\":0}\n",
		"{\"t\":\"hello\",\"version\":1,\"pid\":7,\"exe\":\"/a\",\"cupti\":\"\","
		"\"cupti_version\":18,\"clock_offset\":\"-5\",\"clock_error\":1,\"libs\":\"\","
		"\"ack\":1}\n",
		"{\"t\":\"name\",\"i\":1,\"more\":1,\"n\":\"ab\"}\n",
		"{\"t\":\"name\",\"i\":1,\"n\":\"cd\"}\n",
		"rubbish\x01 and more rubbish, so that it is longer than what is shown of it: "
		"0123456789 0123456789 0123456789\n",
		"{\"t\":\"l\",\"s\":100,\"h\":8,\"c\":1,\"f\":1}\n",
		"{\"t\":\"k\",\"n\":1,\"s\":5,\"d\":10,\"c\":1,\"v\":[0,1,7],\"g\":[1,2,3],"
		"\"b\":[4,5,6],\"m\":[0,0],\"r\":32}\n",
		"\n{\"t\":\"batch\",\"pid\":7,\"seq\":3}\n",
		"{ \"t\":\"k\",\"n\":2,\"s\":5,\"d\":7,\"c\":1,\"v\":[0,1,7],\"g\":[1,2,3],"
		"\"b\":[4,5,6],\"m\":[0,0],\"r\":32}\n",
		"{\"t\":\"bye\",\"kernels\":3,\"kernel_ns\":17,\"launches\":1}\n",
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
			  struct bench *b)
{
	gpu_pipe_feed(b->source, stream, first);
	gpu_pipe_feed(b->source, stream + first, second - first);
	gpu_pipe_feed(b->source, stream + second, size - second);
	gpu_pipe_finish(b->source);
}

static void assert_same_outcome(const struct bench *a, const struct bench *b)
{
	struct gpu_pipe_stats x = stats(a), y = stats(b);

	assert_memory_equal(&x, &y, sizeof(x));
	assert_string_equal(gpu_pipe_first_malformed(a->source),
			    gpu_pipe_first_malformed(b->source));
	assert_int_equal(a->count, b->count);
	for (uint32_t i = 0; i < a->count; i++) {
		assert_int_equal(a->heard[i].pid, b->heard[i].pid);
		assert_int_equal(a->heard[i].event.type, b->heard[i].event.type);
		assert_string_equal(a->heard[i].kernel, b->heard[i].kernel);
		assert_string_equal(a->heard[i].text, b->heard[i].text);
	}
}

static void where_the_stream_is_cut_does_not_matter(void **state)
{
	struct bench *whole = *state;
	size_t size;
	char *stream = make_stream(&size);

	feed_in_three(stream, size, 0, size, whole);
	assert_int_equal(stats(whole).kernels, 2);
	assert_int_equal(stats(whole).too_long, 1);
	assert_int_equal(stats(whole).malformed, 3);
	assert_int_equal(stats(whole).lost_batches, 2);
	assert_int_equal(stats(whole).missing_kernels, 1);
	assert_string_equal(whole->heard[2].kernel, "abcd");
	for (size_t at = 0; at <= size; at++) {
		void *other = NULL;

		assert_int_equal(begin(&other), 0);
		feed_in_three(stream, size, at, at + (size - at) / 3, other);
		assert_same_outcome(whole, other);
		end(&other);
	}
	free(stream);
}

static void single_bytes_give_the_same(void **state)
{
	struct bench *whole = *state;
	void *other = NULL;
	size_t size;
	char *stream = make_stream(&size);

	feed_in_three(stream, size, 0, size, whole);
	assert_int_equal(begin(&other), 0);
	for (size_t at = 0; at < size; at++)
		gpu_pipe_feed(((struct bench *)other)->source, stream + at, 1);
	gpu_pipe_finish(((struct bench *)other)->source);
	assert_same_outcome(whole, other);
	end(&other);
	free(stream);
}

static void reading_a_pipe(void **state)
{
	struct bench *b = *state;
	static const char text[] = "\n{\"t\":\"batch\",\"pid\":7,\"seq\":0}\nrubbish\n";
	char big[65536];
	int ends[2];

	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	assert_int_equal(gpu_pipe_read(b->source, ends[0], 1000000), 0);
	assert_int_equal(write(ends[1], text, sizeof(text) - 1), sizeof(text) - 1);
	assert_int_equal(gpu_pipe_read(b->source, ends[0], 1000000), 0);
	assert_int_equal(stats(b).lines, 2);
	assert_int_equal(stats(b).bytes, sizeof(text) - 1);
	memset(big, '\n', sizeof(big));
	assert_true(write(ends[1], big, sizeof(big)) > 1000);
	assert_int_equal(gpu_pipe_read(b->source, ends[0], 1000), 1);
	close(ends[1]);
	assert_int_equal(gpu_pipe_read(b->source, ends[0], 1000000), -EPIPE);
	close(ends[0]);
	assert_int_equal(gpu_pipe_read(b->source, ends[0], 1000), -EBADF);
}

static void count_bytes(void *context, const void *bytes, size_t size)
{
	(void)bytes;
	*(size_t *)context += size;
}

static void a_tee_sees_what_is_read(void **state)
{
	struct bench *b = *state;
	size_t seen = 0;
	int ends[2];

	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	gpu_pipe_tee(b->source, count_bytes, &seen);
	assert_int_equal(write(ends[1], "half a line", 11), 11);
	assert_int_equal(gpu_pipe_read(b->source, ends[0], 1000), 0);
	assert_int_equal(seen, 11);
	close(ends[0]);
	close(ends[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

static void ignore_event(void *context, uint32_t pid, const struct gpu_event *event,
			 const char *kernel)
{
	(void)context;
	(void)pid;
	(void)event;
	(void)kernel;
}

/* Bytes that somebody else writes between two batches, however well they are made. */
static void lines_outside_a_batch_are_nobodys(void **state)
{
	static const char kernel[] = "{\"t\":\"k\",\"n\":1,\"s\":1,\"d\":10,\"c\":1,\"v\":[0,1,7],"
				     "\"g\":[1,1,1],\"b\":[1,1,1],\"m\":[0,0],\"r\":1}\n";
	char text[1024];
	int n = snprintf(text, sizeof(text),
			 "\n{\"t\":\"batch\",\"pid\":7,\"seq\":0,\"len\":%-4zu}\n%s%s\n%s",
			 strlen(kernel), kernel, kernel, kernel);
	struct intern strings = {0};
	struct gpu_pipe *source = gpu_pipe_new(&strings, ignore_event, NULL);

	(void)state;
	assert_non_null(source);
	gpu_pipe_feed(source, text, (size_t)n);
	gpu_pipe_finish(source);
	assert_int_equal(gpu_pipe_stats(source).kernels, 1);
	assert_int_equal(gpu_pipe_stats(source).malformed, 2);
	gpu_pipe_free(source);
	intern_release(&strings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_outside_a_batch_are_nobodys),
		TEST(a_process_from_hello_to_goodbye),
		TEST(events_before_any_batch_are_malformed),
		TEST(names_are_per_process),
		TEST(a_name_comes_in_pieces),
		TEST(pieces_that_do_not_fit_are_forgotten),
		TEST(a_name_without_end_is_bounded),
		TEST(ids_out_of_range),
		TEST(control_characters_in_names_are_replaced),
		TEST(another_version_is_ignored),
		TEST(gaps_in_the_sequence_are_lost_batches),
		TEST(the_goodbye_tells_what_is_missing),
		TEST(sums_that_do_not_agree_are_counted),
		TEST(processes_without_a_goodbye_are_counted),
		TEST(times_that_could_not_be_measured_are_counted),
		TEST(malformed_lines_cost_a_count_and_nothing_else),
		TEST(a_line_with_nul_bytes_is_malformed),
		TEST(a_line_of_a_megabyte_is_skipped),
		TEST(the_limit_of_a_line_is_exact),
		TEST(half_a_line_at_the_end_is_malformed),
		TEST(the_newline_before_a_batch_ends_half_a_line),
		TEST(where_the_stream_is_cut_does_not_matter),
		TEST(single_bytes_give_the_same),
		TEST(reading_a_pipe),
		TEST(a_launch_has_a_record),
		TEST(launches_without_a_record_are_counted),
		TEST(lost_records_are_no_unended_launches),
		TEST(a_tee_sees_what_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
