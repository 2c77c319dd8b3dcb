/* SPDX-License-Identifier: MIT */
/*
 * The work of graph nodes, from events to the profile. Random lives of graphs with reused numbers;
 * events come in the order in which processes send them, each late by its own delay. The model
 * knows the creation site of each node that ran.
 */
#include "collect_text.h"
#include "profiler/model/pseudo_frames.h"

enum { PROCESSES = 2, SITES = 6, GRAPHS = 12, MOST_NODES = 5, MAX_LINES = 20000 };

struct line {
	uint64_t moment;  /* time of arrival */
	uint32_t order;   /* order among lines that arrive at once */
	uint32_t program; /* whose it is */
	struct gpu_event event;
};

struct life {
	bool lives, is_executable;
	uint32_t number, count;
	uint32_t site[MOST_NODES];
};

struct program {
	uint32_t next_number, next_correlation, free_count;
	uint32_t free_numbers[MAX_LINES]; /* the one that was freed last is the next */
	struct life graphs[GRAPHS];
	uint64_t last_moment;
};

struct world {
	struct prng random;
	struct collect *collect;
	struct process *processes[PROCESSES];
	uint64_t now;
	bool has_stacks; /* launches have stacks, taken in the process */
	bool knows_tree;
	struct program programs[PROCESSES];
	struct line lines[MAX_LINES];
	uint32_t line_count;
	uint64_t expected_ns[PROCESSES][SITES];
};

#define PID_OF(program) (100 + 100 * (program))
#define NODE_ID(number, index) ((uint64_t)(number) << 32 | (index))

static void queue_event(struct world *w, struct program *p, uint64_t moment,
			const struct gpu_event *event)
{
	EXPECT(&w->random, w->line_count < MAX_LINES);
	w->lines[w->line_count] =
		(struct line){moment, w->line_count, (uint32_t)(p - w->programs), *event};
	w->line_count++;
	p->last_moment = moment > p->last_moment ? moment : p->last_moment;
}

static void queue_node(struct world *w, struct program *p, const struct gpu_event_node *node)
{
	queue_event(w, p, w->now, &(struct gpu_event){.type = GPU_EVENT_NODE, .node = *node});
}

static void begin_program(struct world *w, struct program *p)
{
	static char names[PROCESSES][SITES][20];
	uint32_t which = (uint32_t)(p - w->programs);

	queue_event(w, p, w->now, &(struct gpu_event){.type = GPU_EVENT_HELLO});
	for (uint32_t i = 0; i < SITES; i++) {
		snprintf(names[which][i], sizeof(names[which][i]), "p%us%u", which, i);
		queue_event(w, p, w->now,
			    &(struct gpu_event){.type = GPU_EVENT_STACK,
						.stack = {.id = 1 + i,
							  .is_whole = 1,
							  .function = names[which][i]}});
	}
}

/* Begins another program in the process, after all data of the last one. */
static void begin_anew(struct world *w, struct program *p)
{
	w->now = 1 + (w->now > p->last_moment ? w->now : p->last_moment);
	if (prng_chance(&w->random, 50))
		w->now += 2 * (uint64_t)PROCESSES_LINGER_NS; /* long after it has ended */
	memset(p->graphs, 0, sizeof(p->graphs));
	p->free_count = p->next_number = p->next_correlation = 0;
	begin_program(w, p);
}

static struct life *new_life(struct program *p)
{
	for (uint32_t i = 0; i < GRAPHS; i++) {
		struct life *life = &p->graphs[i];

		if (life->lives)
			continue;
		*life = (struct life){.lives = true};
		life->number = p->free_count ? p->free_numbers[--p->free_count] : ++p->next_number;
		return life;
	}
	return NULL;
}

static struct life *any_life(struct world *w, struct program *p, bool is_executable)
{
	struct life *life = &p->graphs[prng_below(&w->random, GRAPHS)];

	return life->lives && life->is_executable == is_executable ? life : NULL;
}

static void capture(struct world *w, struct program *p)
{
	struct life *life = new_life(p);

	if (!life)
		return;
	life->count = 1 + (uint32_t)prng_below(&w->random, MOST_NODES);
	for (uint32_t i = 0; i < life->count; i++) {
		life->site[i] = (uint32_t)prng_below(&w->random, SITES);
		queue_node(w, p,
			   &(struct gpu_event_node){.id = NODE_ID(life->number, i),
						    .time_ns = ++w->now,
						    .stack_id = 1 + life->site[i]});
	}
}

static void instantiate(struct world *w, struct program *p, const struct life *from)
{
	struct life *life = new_life(p);

	if (!life)
		return;
	life->is_executable = true;
	life->count = from->count;
	for (uint32_t i = 0; i < life->count; i++) {
		struct gpu_event_node node = {.id = NODE_ID(life->number, i), .time_ns = ++w->now};

		life->site[i] = from->site[i];
		queue_node(w, p, &node);
		node.time_ns = 0;
		node.origin = NODE_ID(from->number, i);
		queue_node(w, p, &node);
	}
}

static void destroy(struct program *p, struct life *life)
{
	life->lives = false;
	p->free_numbers[p->free_count++] = life->number;
}

/* Launches a graph. Some launches are lost. The work then starts at once on the GPU, so that its
 * time suffices. */
static void launch(struct world *w, struct program *p, const struct life *life)
{
	struct prng *r = &w->random;
	uint32_t correlation = ++p->next_correlation, which = (uint32_t)(p - w->programs);
	uint64_t launched = ++w->now, sent = launched + prng_bits(r, 10);
	bool is_lost = prng_chance(r, 5);

	if (!is_lost)
		queue_event(
			w, p, sent,
			&(struct gpu_event){
				.type = GPU_EVENT_LAUNCH,
				.launch = {.time_ns = launched,
					   .tid = PID_OF(which) + (uint32_t)prng_below(r, 3),
					   .correlation_id = correlation,
					   .family = GPU_LAUNCH_RUNTIME,
					   .flags = GPU_LAUNCH_IS_GRAPH,
					   .stack_id =
						   w->has_stacks && prng_chance(r, 90) ? 1 : 0}});
	for (uint32_t i = 0; i < life->count; i++) {
		uint64_t moment = prng_chance(r, 10) ? launched : sent + prng_bits(r, 12);
		uint64_t start = is_lost ? launched : launched + prng_bits(r, 30);
		uint64_t ns = 1 + prng_bits(r, 30), node = NODE_ID(life->number, i);
		struct gpu_event event = {.type = GPU_EVENT_KERNEL,
					  .kernel = {.start_ns = start,
						     .duration_ns = ns,
						     .correlation_id = correlation,
						     .graph_node_id = node}};

		if (prng_chance(r, 30))
			event = (struct gpu_event){.type = GPU_EVENT_WORK,
						   .work = {.work = GPU_WORK_MEMSET,
							    .start_ns = start,
							    .duration_ns = ns,
							    .correlation_id = correlation,
							    .graph_node_id = node}};
		queue_event(w, p, moment, &event);
		w->expected_ns[which][life->site[i]] += ns;
	}
}

static void step(struct world *w)
{
	struct program *p = &w->programs[prng_below(&w->random, PROCESSES)];
	struct life *life;

	w->now++;
	switch (prng_below(&w->random, 10)) {
	case 0:
		capture(w, p);
		break;
	case 1:
	case 2:
		life = any_life(w, p, false);
		if (life)
			instantiate(w, p, life);
		break;
	case 3:
	case 4:
	case 5:
		life = any_life(w, p, true);
		if (life)
			launch(w, p, life);
		break;
	default:
		life = any_life(w, p, prng_chance(&w->random, 70));
		if (life)
			destroy(p, life);
		else if (prng_chance(&w->random, 1))
			begin_anew(w, p);
	}
}

static int by_moment(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->moment != y->moment)
		return x->moment < y->moment ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* Returns the node's site in a row's stack: the creation site, "-" for none, or the mark. */
static const char *site_of(const struct stack_table *t, const struct profile_row *row)
{
	struct stack_id made = stack_table_outer(t, row->stack),
			captured = stack_table_outer(t, made);
	const struct frame *frame = stack_table_frame(t, made);
	const struct frame *mark = stack_table_frame(t, captured);

	if (frame && frame->kind == FRAME_MARK && !strcmp(frame->text, PSEUDO_CAPTURE_UNSEEN))
		return frame->text;
	if (frame && mark && mark->kind == FRAME_MARK && !strcmp(mark->text, PSEUDO_CAPTURED))
		return frame->text;
	return "-";
}

static uint64_t ns_of(struct collect *c, const char *site)
{
	struct collected collected = collect_results(c);
	uint32_t count;
	const struct profile_row *rows = profile_rows(collected.profile, &count);
	uint64_t ns = 0;

	for (uint32_t i = 0; i < count; i++)
		if (rows[i].kind == ROW_GPU && rows[i].count &&
		    strcmp(site_of(collected.stacks, &rows[i]), site) == 0)
			ns += rows[i].ns;
	return ns;
}

static void check(struct world *w)
{
	const struct ledger *ledger = collect_ledger(w->collect);
	char name[20];

	EXPECT(&w->random, ledger->gpu.unseen_nodes == 0);
	EXPECT(&w->random, ledger->bounds.out_of_memory == 0 && ledger->bounds.refused == 0);
	EXPECT(&w->random, ns_of(w->collect, "-") == 0);
	for (uint32_t i = 0; i < PROCESSES; i++)
		for (uint32_t site = 0; site < SITES; site++) {
			snprintf(name, sizeof(name), "p%us%u", i, site);
			EXPECT(&w->random, ns_of(w->collect, name) == w->expected_ns[i][site]);
		}
}

/* Begins a program in a process that may have had another program. */
static void begin_in_process(struct world *w, uint32_t program, uint64_t moment)
{
	const struct process_event exec = {
		.time_ns = moment, .type = PROCESS_EXEC, .pid = (pid_t)PID_OF(program)};
	struct process *old = w->processes[program];

	if (w->knows_tree)
		collect_process_event(w->collect, &exec);
	if (old)
		collect_goodbye(w->collect, old, moment);
	w->processes[program] = say_hello(w->collect, PID_OF(program));
	assert_non_null(w->processes[program]);
}

static void play(struct world *w)
{
	qsort(w->lines, w->line_count, sizeof(*w->lines), by_moment);
	for (uint32_t i = 0; i < w->line_count; i++) {
		struct line *l = &w->lines[i];

		/* time does not pass unnoticed */
		if (i > 0 && l->moment > w->lines[i - 1].moment + 1000000000)
			collect_advance(w->collect, l->moment);
		if (l->event.type == GPU_EVENT_HELLO)
			begin_in_process(w, l->program, l->moment);
		else
			send_event(w->collect, w->processes[l->program], &l->event);
		if (prng_chance(&w->random, 2))
			collect_advance(w->collect, l->moment);
	}
	collect_finish(w->collect, w->now);
}

static void begin_world(struct world *w, uint64_t round)
{
	memset(w, 0, sizeof(*w));
	w->random = prng_round(round);
	w->has_stacks = prng_chance(&w->random, 75);
	w->now = 1;
	w->collect = collect_new(
		&(struct collect_options){.measure.waits = prng_chance(&w->random, 50)});
	assert_non_null(w->collect);
	w->knows_tree = prng_chance(&w->random, 50);
	for (uint32_t i = 0; i < PROCESSES && w->knows_tree; i++)
		assert_non_null(collect_find_process(w->collect, (pid_t)PID_OF(i)));
	if (w->knows_tree)
		collect_know_tree(w->collect);
	for (uint32_t i = 0; i < PROCESSES; i++)
		begin_program(w, &w->programs[i]);
}

static void work_is_below_its_nodes_stack(void **state)
{
	uint64_t rounds = unit_number("UNIT_ROUNDS", getenv("UNDER_VALGRIND") ? 5 : 100);
	struct world *w = malloc(sizeof(*w));

	(void)state;
	assert_non_null(w);
	for (uint64_t round = 0; round < rounds; round++) {
		begin_world(w, round);
		for (int i = 0; i < 2000; i++)
			step(w);
		play(w);
		check(w);
		collect_free(w->collect);
	}
	free(w);
}

/* ---- one by one ---- */

enum { PID = 7 };

struct single {
	struct collect *collect;
	struct process *process;
};

static int begin(void **state)
{
	struct single *s = calloc(1, sizeof(*s));

	if (!s)
		return -1;
	*state = s;
	s->collect = new_collect();
	s->process = say_hello(s->collect, PID);
	return s->process ? 0 : -1;
}

static int end(void **state)
{
	struct single *s = *state;

	collect_free(s->collect);
	free(s);
	return 0;
}

static void send_stack(struct single *s, uint32_t id, const char *function)
{
	send_event(s->collect, s->process,
		   &(struct gpu_event){.type = GPU_EVENT_STACK,
				       .stack = {.id = id, .is_whole = 1, .function = function}});
}

static void send_graph(struct single *s, uint64_t time_ns, struct stack_id stack)
{
	send_event(s->collect, s->process,
		   &(struct gpu_event){.type = GPU_EVENT_NODE,
				       .node = {.id = NODE_ID(3, 0),
						.time_ns = time_ns,
						.stack_id = stack.number}});
}

static void send_kernel(struct single *s, uint64_t start_ns, uint32_t correlation_id, uint64_t ns)
{
	send_event(s->collect, s->process,
		   &(struct gpu_event){.type = GPU_EVENT_KERNEL,
				       .kernel = {.start_ns = start_ns,
						  .duration_ns = ns,
						  .correlation_id = correlation_id,
						  .graph_node_id = NODE_ID(3, 0),
						  .bad_time = start_ns == 0}});
}

/* Without a launch the operation's own time counts, and without that the latest announcement. */
static void work_without_a_launch_uses_its_start(void **state)
{
	struct single *s = *state;

	send_stack(s, 1, "one");
	send_stack(s, 2, "two");
	send_stack(s, 3, "three");
	send_graph(s, 100, STACK_ID(1));
	send_graph(s, 200, STACK_ID(2));
	send_graph(s, 300, STACK_ID(3));
	send_kernel(s, 150, 1, 1);
	send_kernel(s, 250, 2, 10);
	send_kernel(s, 999, 3, 100);
	send_kernel(s, 0, 4, 1000);
	send_kernel(s, 50, 5, 10000); /* before the node was made */
	collect_finish(s->collect, 0);
	assert_int_equal(ns_of(s->collect, "one"), 1);
	assert_int_equal(ns_of(s->collect, "two"), 10);
	assert_int_equal(ns_of(s->collect, "three"), 1100);
	assert_int_equal(ns_of(s->collect, PSEUDO_CAPTURE_UNSEEN), 10000);
	assert_int_equal(collect_ledger(s->collect)->gpu.unseen_nodes, 1);
}

/*
 * Streams from before nodes had times: the latest announcement at the time of the decision counts.
 */
static void without_times_the_latest_announcement_counts(void **state)
{
	struct single *s = *state;

	send_stack(s, 1, "one");
	send_stack(s, 2, "two");
	send_event(s->collect, s->process,
		   &(struct gpu_event){.type = GPU_EVENT_LAUNCH,
				       .launch = {.time_ns = 50,
						  .tid = PID,
						  .correlation_id = 1,
						  .family = GPU_LAUNCH_RUNTIME,
						  .flags = GPU_LAUNCH_IS_GRAPH,
						  .stack_id = 1}});
	send_graph(s, 0, STACK_ID(1));
	send_kernel(s, 60, 1, 1);
	send_graph(s, 0, STACK_ID(2));
	send_kernel(s, 60, 1, 10);
	collect_finish(s->collect, 0);
	assert_int_equal(ns_of(s->collect, "one"), 1);
	assert_int_equal(ns_of(s->collect, "two"), 10);
}

/* A node whose stack was not sent is as good as one that was not seen. */
static void a_node_without_a_stack_is_unseen(void **state)
{
	struct single *s = *state;

	send_graph(s, 100, STACK_ID(55));
	send_kernel(s, 150, 1, 7);
	collect_finish(s->collect, 0);
	assert_int_equal(ns_of(s->collect, PSEUDO_CAPTURE_UNSEEN), 7);
	assert_int_equal(collect_ledger(s->collect)->gpu.unseen_nodes, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(work_without_a_launch_uses_its_start),
		TEST(without_times_the_latest_announcement_counts),
		TEST(a_node_without_a_stack_is_unseen),
		cmocka_unit_test(work_is_below_its_nodes_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
