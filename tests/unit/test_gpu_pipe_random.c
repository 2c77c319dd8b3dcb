/* SPDX-License-Identifier: MIT */
/*
 * Random programs that write to one pipe, some of them not accepted, compared with a model: the
 * events and all counts after each batch.
 */
#include "pipe_bench.h"

enum { PROGRAMS = 20, NAMES = 6, STEPS = 200 };
static const uint32_t name_ids[NAMES] = {1, 2, 700, 65536, 30000, 65535};

/* A program as the model knows it. */
struct program {
	uint64_t instance;
	struct process *process; /* NULL: not believed */
	uint64_t next_sequence, operations, ns, launches;
	uint32_t names[NAMES]; /* "name N"; 0: not sent */
};

struct world {
	struct prng random;
	struct pipe_bench *b;
	struct program programs[PROGRAMS];
	uint32_t newest_name;
	struct ledger expected;
	char text[65536];
	size_t used;
	struct heard to_hear[HEARD_MAX]; /* events expected in this step */
	uint32_t count;
};

static void write_line(struct world *w, const struct gpu_event *event)
{
	int n = gpu_wire_encode(event, w->text + w->used, sizeof(w->text) - w->used);

	EXPECT(&w->random, n > 0);
	w->used += (size_t)n;
	w->expected.pipe.lines++;
}

/* Adds an expected event if its program is accepted. Otherwise counts a refusal and returns
 * false. */
static bool is_heard(struct world *w, const struct program *p, enum gpu_event_type type)
{
	if (!p->process) {
		w->expected.pipe.refused++;
		return false;
	}
	w->to_hear[w->count++] = (struct heard){.process = p->process, .event = {.type = type}};
	return true;
}

static void write_hello(struct world *w, struct program *p, uint64_t sequence)
{
	write_line(w, &(struct gpu_event){.type = GPU_EVENT_HELLO,
					  .hello = {.version = GPU_WIRE_VERSION,
						    .pid = 7,
						    .instance = p->instance,
						    .executable = "",
						    .cupti_path = "",
						    .libraries = "",
						    .wants_ack = 1}});
	if (p->process) {
		w->expected.pipe.malformed++; /* the program has reported that */
		return;
	}
	w->to_hear[w->count++] = (struct heard){.event = {.type = GPU_EVENT_HELLO}};
	if (w->b->refuses) {
		w->expected.pipe.refused++;
		return;
	}
	*p = (struct program){.instance = p->instance,
			      .process = &w->b->processes[w->b->process_count],
			      .next_sequence = sequence + 1};
	w->expected.pipe.processes++;
	w->expected.pipe.lost_batches += sequence;
}

static void write_name(struct world *w, struct program *p)
{
	uint32_t i = (uint32_t)prng_below(&w->random, NAMES), number = ++w->newest_name;
	char text[20];

	snprintf(text, sizeof(text), "name %u", number);
	write_line(w, &(struct gpu_event){.type = GPU_EVENT_NAME, .name = {name_ids[i], 0, text}});
	if (p->process)
		p->names[i] = number;
	else
		w->expected.pipe.refused++;
}

static void write_kernel(struct world *w, struct program *p)
{
	uint32_t i = (uint32_t)prng_below(&w->random, NAMES);
	uint64_t ns = prng_bits(&w->random, 40);
	struct heard *h = &w->to_hear[w->count];

	write_line(w, &(struct gpu_event){.type = GPU_EVENT_KERNEL,
					  .kernel = {.name_id = name_ids[i], .duration_ns = ns}});
	if (!is_heard(w, p, GPU_EVENT_KERNEL))
		return;
	snprintf(h->kernel, sizeof(h->kernel), p->names[i] ? "name %u" : GPU_PIPE_NAME_LOST,
		 p->names[i]);
	p->operations++;
	p->ns += ns;
	w->expected.gpu.kernels++;
	w->expected.gpu.kernel_ns += ns;
}

static void write_launch(struct world *w, struct program *p)
{
	write_line(w, &(struct gpu_event){.type = GPU_EVENT_LAUNCH,
					  .launch = {.family = GPU_LAUNCH_DRIVER}});
	if (!is_heard(w, p, GPU_EVENT_LAUNCH))
		return;
	p->launches++;
}

static void write_rubbish(struct world *w)
{
	write_line(w, &(struct gpu_event){.type = GPU_EVENT_MAPS});
	memcpy(w->text + w->used - 5, "junk", 4);
	w->expected.pipe.malformed++;
}

static void count_end(struct world *w, struct program *p, uint64_t missing)
{
	uint64_t recorded = p->operations + missing;

	w->expected.launches.unended += p->launches > recorded ? p->launches - recorded : 0;
	p->process = NULL;
}

static void write_goodbye(struct world *w, struct program *p)
{
	uint64_t missing = prng_chance(&w->random, 30) ? prng_below(&w->random, 5) : 0;
	uint64_t wrong = prng_chance(&w->random, 30);

	write_line(w, &(struct gpu_event){.type = GPU_EVENT_GOODBYE,
					  .goodbye = {.kernels = p->operations + missing,
						      .kernel_ns = p->ns + wrong}});
	if (!is_heard(w, p, GPU_EVENT_GOODBYE))
		return;
	w->expected.gpu.missing += missing;
	w->expected.pipe.wrong_totals += !missing && wrong;
	count_end(w, p, missing);
}

static void write_any(struct world *w, struct program *p, uint64_t sequence)
{
	switch (prng_below(&w->random, 10)) {
	case 0:
		write_rubbish(w);
		break;
	case 1:
		write_hello(w, p, sequence);
		break;
	case 2:
	case 3:
		write_launch(w, p);
		break;
	case 4:
	case 5:
		write_name(w, p);
		break;
	default:
		write_kernel(w, p);
		break;
	}
}

/* Writes a batch of a program, and perhaps a line after it. */
static void write_batch(struct world *w, struct program *p)
{
	struct prng *random = &w->random;
	bool is_bounded = prng_chance(random, 50);
	uint64_t gap = prng_chance(random, 10) ? prng_below(random, 4) : 0;
	uint64_t sequence = p->process ? p->next_sequence + gap : gap;
	struct gpu_event batch_event = {.type = GPU_EVENT_BATCH,
					.batch = {.instance = p->instance, .sequence = sequence}};
	char header[200];
	int n;

	if (p->process) {
		w->expected.pipe.lost_batches += gap;
		p->next_sequence = sequence + 1;
	}
	if (!p->process && prng_chance(random, 80))
		write_hello(w, p, sequence);
	for (uint64_t i = prng_below(random, 20); i > 0; i--)
		write_any(w, p, sequence);
	if (prng_chance(random, 5))
		write_goodbye(w, p);
	batch_event.batch.bytes = is_bounded ? (uint32_t)w->used : 0;
	n = gpu_wire_encode(&batch_event, header, sizeof(header));
	memmove(w->text + n, w->text, w->used);
	memcpy(w->text, header, (size_t)n);
	w->used += (size_t)n;
	w->expected.pipe.lines++;
	if (batch_event.batch.bytes && prng_chance(random, 30)) {
		write_line(w,
			   &(struct gpu_event){.type = GPU_EVENT_VOID, .voids = {.launches = 9}});
		w->expected.pipe.malformed++;
	}
}

static void check_heard(struct world *w)
{
	EXPECT(&w->random, w->b->count == w->count);
	for (uint32_t i = 0; i < w->count; i++) {
		EXPECT(&w->random, w->b->heard[i].process == w->to_hear[i].process);
		EXPECT(&w->random, w->b->heard[i].event.type == w->to_hear[i].event.type);
		EXPECT(&w->random, strcmp(w->b->heard[i].kernel, w->to_hear[i].kernel) == 0);
	}
}

static void check_ledger(struct world *w)
{
	struct ledger *got = w->b->ledger, *expected = &w->expected;

	/* the first lines of a kind are not modelled */
	memcpy(expected->pipe.first_malformed, got->pipe.first_malformed, 81);
	memcpy(expected->pipe.first_refused, got->pipe.first_refused, 81);
	EXPECT(&w->random, memcmp(&got->pipe, &expected->pipe, sizeof(got->pipe)) == 0);
	EXPECT(&w->random, memcmp(&got->launches, &expected->launches, sizeof(got->launches)) == 0);
	EXPECT(&w->random, memcmp(&got->gpu, &expected->gpu, sizeof(got->gpu)) == 0);
	EXPECT(&w->random, memcmp(&got->bounds, &expected->bounds, sizeof(got->bounds)) == 0);
}

/* Ends a program without a goodbye. */
static void kill_any(struct world *w)
{
	struct program *p = &w->programs[prng_below(&w->random, PROGRAMS)];
	struct tracee *tracee;

	EXPECT(&w->random, !gpu_pipe_find_ended(w->b->pipe, 2, &tracee));
	if (!p->process)
		return;
	p->process->ended_ns = 1;
	EXPECT(&w->random, gpu_pipe_find_ended(w->b->pipe, 2, &tracee));
	EXPECT(&w->random, tracee_process(tracee) == p->process);
	gpu_pipe_close(w->b->pipe, tracee);
	w->expected.pipe.without_goodbye++;
	count_end(w, p, 0);
}

static void step(struct world *w)
{
	struct program *p = &w->programs[prng_below(&w->random, PROGRAMS)];
	size_t cut;

	w->used = w->count = w->b->count = 0;
	w->b->refuses = p->instance % 4 == 0;
	write_batch(w, p);
	cut = prng_below(&w->random, w->used + 1);
	feed(w->b, "\n");
	feed_bytes(w->b, w->text, cut);
	feed_bytes(w->b, w->text + cut, w->used - cut);
	check_heard(w);
	if (prng_chance(&w->random, 5))
		kill_any(w);
	check_ledger(w);
}

static void random_programs(void **state)
{
	uint64_t rounds = unit_number("UNIT_ROUNDS", getenv("UNDER_VALGRIND") ? 3 : 100);
	struct world *w = malloc(sizeof(*w));
	uint32_t open;

	(void)state;
	assert_non_null(w);
	for (uint64_t round = 0; round < rounds; round++) {
		void *b = NULL;

		memset(w, 0, sizeof(*w));
		assert_int_equal(pipe_bench_begin(&b), 0);
		w->b = b;
		w->random = prng_round(round);
		for (uint32_t i = 0; i < PROGRAMS; i++)
			w->programs[i].instance = prng_u64(&w->random) << 5 | (i + 1);
		for (int i = 0; i < STEPS; i++)
			step(w);
		open = 0;
		for (uint32_t i = 0; i < PROGRAMS; i++)
			open += w->programs[i].process != NULL;
		EXPECT(&w->random, gpu_pipe_list(w->b->pipe, NULL, 0) == open);
		pipe_bench_end(&b);
	}
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
