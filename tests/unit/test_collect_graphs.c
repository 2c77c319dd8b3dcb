/* SPDX-License-Identifier: MIT */
/*
 * The work of graphs' nodes, from events to the profile: random lives of graphs whose numbers are
 * used again, told as processes tell them, each line late by its own delay. The model knows where
 * each node was made that ran.
 */
#include "unit.h"
#include "profiler/collect/collect.h"

enum { PROCESSES = 2, SITES = 6, GRAPHS = 12, MOST_NODES = 5, MAX_LINES = 20000 };

struct line {
	uint64_t moment; /* at which it arrives */
	uint32_t order;  /* of those that arrive at once */
	uint32_t pid;
	struct gpu_event event;
};

struct life {
	bool lives, is_executable;
	uint32_t number, count;
	uint32_t site[MOST_NODES];
};

struct process {
	uint32_t pid, next_number, next_correlation, free_count;
	uint32_t free_numbers[MAX_LINES]; /* the one that was freed last is the next */
	struct life graphs[GRAPHS];
	uint64_t last_moment;
};

struct world {
	struct prng random;
	struct collect collect;
	uint64_t now;
	bool has_stacks; /* of launches, taken in the process */
	struct process processes[PROCESSES];
	struct line lines[MAX_LINES];
	uint32_t line_count;
	uint64_t expected_ns[PROCESSES][SITES];
};

#define NODE_ID(number, index) ((uint64_t)(number) << 32 | (index))

static void tell(struct world *w, struct process *p, uint64_t moment, const struct gpu_event *event)
{
	EXPECT(&w->random, w->line_count < MAX_LINES);
	w->lines[w->line_count] = (struct line){moment, w->line_count, p->pid, *event};
	w->line_count++;
	p->last_moment = moment > p->last_moment ? moment : p->last_moment;
}

static void tell_node(struct world *w, struct process *p, const struct gpu_event_node *node)
{
	tell(w, p, w->now, &(struct gpu_event){.type = GPU_EVENT_NODE, .node = *node});
}

static void begin_process(struct world *w, struct process *p)
{
	static char names[PROCESSES][SITES][20];
	uint32_t which = (uint32_t)(p - w->processes);

	tell(w, p, w->now, &(struct gpu_event){.type = GPU_EVENT_HELLO});
	for (uint32_t i = 0; i < SITES; i++) {
		snprintf(names[which][i], sizeof(names[which][i]), "p%us%u", which, i);
		tell(w, p, w->now,
		     &(struct gpu_event){
			     .type = GPU_EVENT_STACK,
			     .stack = {.id = 1 + i, .is_whole = 1, .function = names[which][i]}});
	}
}

/* Another program in the process, once all that this one had to say has come. */
static void begin_anew(struct world *w, struct process *p)
{
	w->now = 1 + (w->now > p->last_moment ? w->now : p->last_moment);
	memset(p->graphs, 0, sizeof(p->graphs));
	p->free_count = p->next_number = p->next_correlation = 0;
	begin_process(w, p);
}

static struct life *new_life(struct process *p)
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

static struct life *any_life(struct world *w, struct process *p, bool is_executable)
{
	struct life *life = &p->graphs[prng_below(&w->random, GRAPHS)];

	return life->lives && life->is_executable == is_executable ? life : NULL;
}

static void capture(struct world *w, struct process *p)
{
	struct life *life = new_life(p);

	if (!life)
		return;
	life->count = 1 + (uint32_t)prng_below(&w->random, MOST_NODES);
	for (uint32_t i = 0; i < life->count; i++) {
		life->site[i] = (uint32_t)prng_below(&w->random, SITES);
		tell_node(w, p,
			  &(struct gpu_event_node){.id = NODE_ID(life->number, i),
						   .time_ns = ++w->now,
						   .stack_id = 1 + life->site[i]});
	}
}

static void instantiate(struct world *w, struct process *p, const struct life *from)
{
	struct life *life = new_life(p);

	if (!life)
		return;
	life->is_executable = true;
	life->count = from->count;
	for (uint32_t i = 0; i < life->count; i++) {
		struct gpu_event_node node = {.id = NODE_ID(life->number, i), .time_ns = ++w->now};

		life->site[i] = from->site[i];
		tell_node(w, p, &node);
		node.time_ns = 0;
		node.origin = NODE_ID(from->number, i);
		tell_node(w, p, &node);
	}
}

static void destroy(struct process *p, struct life *life)
{
	life->lives = false;
	p->free_numbers[p->free_count++] = life->number;
}

/* Some are lost: then what ran was at once on the GPU, which is the best that can be hoped for. */
static void launch(struct world *w, struct process *p, const struct life *life)
{
	struct prng *r = &w->random;
	uint32_t correlation = ++p->next_correlation, which = (uint32_t)(p - w->processes);
	uint64_t launched = ++w->now, told = launched + prng_bits(r, 10);
	bool is_lost = prng_chance(r, 5);

	if (!is_lost)
		tell(w, p, told,
		     &(struct gpu_event){
			     .type = GPU_EVENT_LAUNCH,
			     .launch = {.time_ns = launched,
					.tid = p->pid + (uint32_t)prng_below(r, 3),
					.correlation_id = correlation,
					.family = GPU_LAUNCH_RUNTIME,
					.flags = GPU_LAUNCH_IS_GRAPH,
					.stack_id = w->has_stacks && prng_chance(r, 90) ? 1 : 0}});
	for (uint32_t i = 0; i < life->count; i++) {
		uint64_t moment = prng_chance(r, 10) ? launched : told + prng_bits(r, 12);
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
		tell(w, p, moment, &event);
		w->expected_ns[which][life->site[i]] += ns;
	}
}

static void step(struct world *w)
{
	struct process *p = &w->processes[prng_below(&w->random, PROCESSES)];
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

static uint64_t ns_of(const struct profile *profile, uint32_t capture)
{
	uint32_t count;
	const struct profile_entry *entries = profile_entries(profile, &count);
	uint64_t ns = 0;

	for (uint32_t i = 0; i < count; i++)
		if (!entries[i].key.waiter && entries[i].key.capture == capture)
			ns += entries[i].gpu_ns;
	return ns;
}

static void check(struct world *w)
{
	struct collect *c = &w->collect;

	EXPECT(&w->random, c->stats.unseen_nodes == 0 && c->stats.out_of_memory == 0);
	EXPECT(&w->random, ns_of(c->profile, PROFILE_NO_CAPTURE) == 0);
	for (uint32_t i = 0; i < PROCESSES; i++)
		for (uint32_t site = 0; site < SITES; site++) {
			uint32_t stack =
				target_stacks_get(&c->target_stacks, w->processes[i].pid, 1 + site);

			EXPECT(&w->random, stack != TARGET_STACKS_NONE);
			EXPECT(&w->random, ns_of(c->profile, stack) == w->expected_ns[i][site]);
		}
}

static void play(struct world *w)
{
	struct collect *c = &w->collect;
	const char *kernel = intern_string(&c->strings, "k");

	qsort(w->lines, w->line_count, sizeof(*w->lines), by_moment);
	for (uint32_t i = 0; i < w->line_count; i++) {
		struct line *l = &w->lines[i];

		collect_gpu_event(c, l->pid, &l->event, kernel);
		if (prng_chance(&w->random, 2))
			collect_advance(c, l->moment);
	}
	collect_finish(c, 0);
}

static void all_is_where_its_node_was_made(void **state)
{
	uint64_t rounds = unit_number("UNIT_ROUNDS", getenv("UNDER_VALGRIND") ? 5 : 100);
	struct world *w = malloc(sizeof(*w));

	(void)state;
	assert_non_null(w);
	for (uint64_t round = 0; round < rounds; round++) {
		memset(w, 0, sizeof(*w));
		w->random = prng_round(round);
		w->has_stacks = prng_chance(&w->random, 75);
		w->now = 1;
		assert_int_equal(collect_init(&w->collect), 0);
		if (prng_chance(&w->random, 50))
			assert_int_equal(collect_follow_waits(&w->collect), 0);
		for (uint32_t i = 0; i < PROCESSES; i++) {
			w->processes[i].pid = 100 + 100 * i;
			begin_process(w, &w->processes[i]);
		}
		for (int i = 0; i < 2000; i++)
			step(w);
		play(w);
		check(w);
		collect_release(&w->collect);
	}
	free(w);
}

/* ---- one by one ---- */

enum { PID = 7 };

static void send(struct collect *c, const struct gpu_event *event)
{
	collect_gpu_event(c, PID, event, intern_string(&c->strings, "k"));
}

static void send_graph(struct collect *c, uint64_t time_ns, uint32_t stack)
{
	send(c, &(struct gpu_event){
			.type = GPU_EVENT_NODE,
			.node = {.id = NODE_ID(3, 0), .time_ns = time_ns, .stack_id = stack}});
}

static void send_kernel(struct collect *c, uint64_t start_ns, uint32_t correlation_id, uint64_t ns)
{
	send(c, &(struct gpu_event){.type = GPU_EVENT_KERNEL,
				    .kernel = {.start_ns = start_ns,
					       .duration_ns = ns,
					       .correlation_id = correlation_id,
					       .graph_node_id = NODE_ID(3, 0),
					       .bad_time = start_ns == 0}});
}

static uint64_t ns_under(struct collect *c, uint32_t stack)
{
	return ns_of(c->profile, target_stacks_get(&c->target_stacks, PID, stack));
}

/* Without a launch what ran goes by its own time, and without that by the last word. */
static void what_nobody_launched_goes_by_its_start(void **state)
{
	struct collect c;

	(void)state;
	assert_int_equal(collect_init(&c), 0);
	for (uint32_t i = 1; i <= 3; i++)
		send(&c, &(struct gpu_event){
				 .type = GPU_EVENT_STACK,
				 .stack = {.id = i, .is_whole = 1, .function = &"321"[i - 1]}});
	send_graph(&c, 100, 1);
	send_graph(&c, 200, 2);
	send_graph(&c, 300, 3);
	send_kernel(&c, 150, 1, 1);
	send_kernel(&c, 250, 2, 10);
	send_kernel(&c, 999, 3, 100);
	send_kernel(&c, 0, 4, 1000);
	send_kernel(&c, 50, 5, 10000); /* before there was such a node */
	collect_finish(&c, 0);
	assert_int_equal(ns_under(&c, 1), 1);
	assert_int_equal(ns_under(&c, 2), 10);
	assert_int_equal(ns_under(&c, 3), 1100);
	assert_int_equal(ns_of(c.profile, PROFILE_CAPTURE_UNSEEN), 10000);
	assert_int_equal(c.stats.unseen_nodes, 1);
	collect_release(&c);
}

/* As streams from before nodes had times: the last word at the time of the decision. */
static void without_times_the_last_word_counts(void **state)
{
	struct collect c;

	(void)state;
	assert_int_equal(collect_init(&c), 0);
	for (uint32_t i = 1; i <= 2; i++)
		send(&c, &(struct gpu_event){
				 .type = GPU_EVENT_STACK,
				 .stack = {.id = i, .is_whole = 1, .function = &"21"[i - 1]}});
	send(&c, &(struct gpu_event){.type = GPU_EVENT_LAUNCH,
				     .launch = {.time_ns = 50,
						.tid = PID,
						.correlation_id = 1,
						.family = GPU_LAUNCH_RUNTIME,
						.flags = GPU_LAUNCH_IS_GRAPH,
						.stack_id = 1}});
	send_graph(&c, 0, 1);
	send_kernel(&c, 60, 1, 1);
	send_graph(&c, 0, 2);
	send_kernel(&c, 60, 1, 10);
	collect_finish(&c, 0);
	assert_int_equal(ns_under(&c, 1), 1);
	assert_int_equal(ns_under(&c, 2), 10);
	collect_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_nobody_launched_goes_by_its_start),
		cmocka_unit_test(without_times_the_last_word_counts),
		cmocka_unit_test(all_is_where_its_node_was_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
