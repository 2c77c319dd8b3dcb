/* SPDX-License-Identifier: MIT */
/*
 * Launches and their ends from many threads: none lost, none doubled, in order within a thread. The
 * correlation id of a launch carries the number of its thread (upper half) and of the launch (lower
 * half).
 */
#include "fifo_sink.h"
#include "cupti_trace/launch/launch_log.h"

enum { THREADS = 8, LAUNCHES = 3 * LAUNCH_LOG_CAPACITY + 17 };

struct heard {
	uint32_t stands_for[16], skipped, waited; /* by number, in thread 9 */
	uint32_t launches;
	uint32_t tid[64];
	uint32_t next[64];
	uint64_t last_ns[64];
	uint32_t flags;
	uint32_t ends[64];
	uint32_t wrong_ends;
};

/* No launch lasts so long: an end at a time that the test knows. */
#define END_NS(number) ((UINT64_C(1) << 58) + (number))

/* Every third launch fails. */
#define ERROR_OF(number) ((number) % 3 == 1 ? UINT32_MAX - (number) : 0)

static void hear_end(struct heard *h, const struct gpu_event_launch_end *e)
{
	uint32_t thread = e->correlation_id >> 16, number = e->correlation_id & 0xffff;

	if (thread >= 64 || number + 1 != h->next[thread] || e->tid != h->tid[thread] ||
	    e->duration_ns != END_NS(number) - h->last_ns[thread] || e->error != ERROR_OF(number))
		h->wrong_ends++;
	else
		h->ends[thread]++;
}

static void hear(void *context, const struct gpu_event *event, const char *kernel)
{
	struct heard *h = context;
	const struct gpu_event_launch *e = &event->launch;
	uint32_t thread = e->correlation_id >> 16, number = e->correlation_id & 0xffff;

	(void)kernel;
	if (event->type == GPU_EVENT_LAUNCH_END)
		hear_end(h, &event->launch_end);
	if (event->type != GPU_EVENT_LAUNCH)
		return;
	h->launches++;
	/* asserts would end the reading thread: count errors by not advancing */
	if (thread >= 64 || number != h->next[thread] || e->time_ns < h->last_ns[thread])
		return;
	if (number > 0 && h->tid[thread] != e->tid)
		return;
	h->tid[thread] = e->tid;
	h->next[thread]++;
	h->last_ns[thread] = e->time_ns;
	h->flags |= e->flags << e->family;
	if (thread == 9 && number < 16) {
		h->stands_for[number] = e->stands_for;
		h->waited |= (uint32_t)(e->flags == GPU_LAUNCH_WAITED) << number;
		h->skipped += e->flags == GPU_LAUNCH_SKIPPED && e->stack_id == 0;
	}
}

struct worker {
	pthread_t thread;
	struct sink *sink;
	uint32_t number;
	uint32_t count;
	bool ends; /* launches return, one after the other */
};

static void *launch(void *worker)
{
	struct worker *w = worker;

	/* a thread that has launched nothing ends nothing */
	launch_log_end(w->sink, w->number << 16, END_NS(0), ERROR_OF(0));
	for (uint32_t i = 0; i < w->count; i++) {
		uint32_t id = w->number << 16 | i;

		launch_log_add(launch_log_thread(), w->sink,
			       (struct launch_log_launch){.correlation_id = id,
							  .family = GPU_LAUNCH_RUNTIME,
							  .flags = 0});
		if (w->ends)
			launch_log_end(w->sink, id, END_NS(i), ERROR_OF(i));
	}
	return NULL;
}

static void start_worker(struct worker *w)
{
	assert_int_equal(pthread_create(&w->thread, NULL, launch, w), 0);
}

static void start(struct worker *w, struct sink *sink, uint32_t number, uint32_t count)
{
	*w = (struct worker){.sink = sink, .number = number, .count = count};
	start_worker(w);
}

static void join(struct worker *w)
{
	void *wrong = NULL;

	assert_int_equal(pthread_join(w->thread, &wrong), 0);
	assert_null(wrong);
}

struct bench {
	struct fifo fifo;
	struct sink sink;
	struct heard heard;
};

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	*state = b;
	fifo_open_sink(&b->fifo, &b->sink, hear, &b->heard);
	return 0;
}

/* Drains everything, and ends. */
static void finish(struct bench *b)
{
	launch_log_drain(&b->sink);
	fifo_close_sink(&b->fifo, &b->sink);
}

static int end(void **state)
{
	struct bench *b = *state;

	fifo_remove(&b->fifo);
	free(b);
	return 0;
}

/* Three times a ring's size, drained by the thread itself only. */
static void a_full_ring_is_drained_by_its_thread(void **state)
{
	struct bench *b = *state;
	struct worker w;

	start(&w, &b->sink, 3, LAUNCHES);
	join(&w);
	finish(b);
	assert_int_equal(b->heard.next[3], LAUNCHES);
	assert_int_equal(b->heard.launches, LAUNCHES);
	assert_int_equal(b->heard.ends[3] + b->heard.wrong_ends, 0);
}

static void many_threads_lose_and_double_nothing(void **state)
{
	struct bench *b = *state;
	struct worker w[THREADS];

	for (uint32_t i = 0; i < THREADS; i++)
		start(&w[i], &b->sink, i, LAUNCHES);
	for (int i = 0; i < 200; i++)
		launch_log_drain(&b->sink);
	for (uint32_t i = 0; i < THREADS; i++)
		join(&w[i]);
	finish(b);
	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(b->heard.next[i], LAUNCHES);
	assert_int_equal(b->heard.launches, THREADS * LAUNCHES);
	assert_int_equal(b->fifo.ledger->pipe.malformed, 0);
}

/* Each end directly behind its launch, through rings that fill, grow and are drained meanwhile. */
static void ends_follow_their_launches(void **state)
{
	struct bench *b = *state;
	struct worker w[THREADS];

	for (uint32_t i = 0; i < THREADS; i++) {
		w[i] = (struct worker){
			.sink = &b->sink, .number = i, .count = LAUNCHES, .ends = true};
		start_worker(&w[i]);
	}
	for (int i = 0; i < 200; i++)
		launch_log_drain(&b->sink);
	for (uint32_t i = 0; i < THREADS; i++)
		join(&w[i]);
	finish(b);
	for (uint32_t i = 0; i < THREADS; i++) {
		assert_int_equal(b->heard.next[i], LAUNCHES);
		assert_int_equal(b->heard.ends[i], LAUNCHES);
	}
	assert_int_equal(b->heard.wrong_ends, 0);
	assert_int_equal(b->heard.launches, THREADS * LAUNCHES);
	assert_int_equal(b->fifo.ledger->pipe.malformed, 0);
}

static void add(struct bench *b, uint32_t thread, uint32_t number)
{
	launch_log_add(launch_log_thread(), &b->sink,
		       (struct launch_log_launch){.correlation_id = thread << 16 | number,
						  .family = GPU_LAUNCH_RUNTIME});
}

/* Only a thread's last launch can end, and only once. */
static void only_the_last_launch_ends(void **state)
{
	struct bench *b = *state;

	add(b, 7, 0); /* left some other way: by longjmp, or with its thread */
	add(b, 7, 1);
	launch_log_end(&b->sink, 7 << 16 | 0, END_NS(0), ERROR_OF(0));
	launch_log_end(&b->sink, 7 << 16 | 1, END_NS(1), ERROR_OF(1));
	launch_log_end(&b->sink, 7 << 16 | 1, END_NS(1), ERROR_OF(1)); /* again */
	launch_log_drain(&b->sink);
	launch_log_end(&b->sink, 7 << 16 | 1, END_NS(1), ERROR_OF(1));
	add(b, 7, 2);
	launch_log_drain(&b->sink); /* during the call */
	launch_log_end(&b->sink, 7 << 16 | 2, END_NS(2), ERROR_OF(2));
	finish(b);
	assert_int_equal(b->heard.next[7], 3);
	assert_int_equal(b->heard.ends[7], 2);
	assert_int_equal(b->heard.wrong_ends, 0);
	assert_int_equal(b->heard.launches, 3);
}

static void *end_without_a_launch(void *sink)
{
	launch_log_end(sink, 0, END_NS(0), ERROR_OF(0));
	return NULL;
}

static void a_thread_that_launched_nothing_has_no_end(void **state)
{
	struct bench *b = *state;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, end_without_a_launch, &b->sink), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	finish(b);
	assert_int_equal(b->heard.ends[0] + b->heard.wrong_ends, 0);
}

/*
 * Short threads start and end while another drains: their rings are freed (leak checkers see that).
 */
static void launches_of_ended_threads_arrive(void **state)
{
	struct bench *b = *state;

	for (uint32_t round = 0; round < 8; round++) {
		struct worker w[8];

		for (uint32_t i = 0; i < 8; i++)
			start(&w[i], &b->sink, round * 8 + i, 10);
		launch_log_drain(&b->sink);
		for (uint32_t i = 0; i < 8; i++)
			join(&w[i]);
		if (round % 2)
			launch_log_drain(&b->sink);
	}
	finish(b);
	for (uint32_t i = 0; i < 64; i++)
		assert_int_equal(b->heard.next[i], 10);
	assert_int_equal(b->heard.launches, 640);
}

static pthread_key_t at_end;
static uint32_t launched_at_end;

static void launch_at_end(void *sink)
{
	for (uint32_t i = 0; i < 10; i++)
		launch_log_add(launch_log_thread(), sink,
			       (struct launch_log_launch){.correlation_id = launched_at_end++,
							  .family = GPU_LAUNCH_RUNTIME});
	if (launched_at_end < 30)
		pthread_setspecific(at_end, sink);
}

static void *launch_and_end(void *sink)
{
	pthread_setspecific(at_end, sink);
	launch_at_end(sink);
	return NULL;
}

/* A thread's ring is gone, and gone again, when a destructor launches. */
static void launches_at_a_thread_s_end_stay_in_order(void **state)
{
	struct bench *b = *state;
	pthread_t thread;

	assert_int_equal(pthread_key_create(&at_end, launch_at_end), 0);
	assert_int_equal(pthread_create(&thread, NULL, launch_and_end, &b->sink), 0);
	pthread_join(thread, NULL);
	pthread_key_delete(at_end);
	finish(b);
	assert_int_equal(b->heard.next[0], 30);
	assert_int_equal(b->heard.launches, 30);
}

static void family_and_flags_are_passed_through(void **state)
{
	struct bench *b = *state;

	launch_log_add(launch_log_thread(), &b->sink,
		       (struct launch_log_launch){.correlation_id = 5 << 16,
						  .family = GPU_LAUNCH_RUNTIME,
						  .flags = 0});
	launch_log_add(launch_log_thread(), &b->sink,
		       (struct launch_log_launch){.correlation_id = 5 << 16 | 1,
						  .family = GPU_LAUNCH_DRIVER,
						  .flags = GPU_LAUNCH_IS_GRAPH});
	launch_log_drain(&b->sink);
	launch_log_drain(&b->sink);
	finish(b);
	assert_int_equal(b->heard.next[5], 2);
	assert_int_equal(b->heard.tid[5], getpid()); /* the first thread's id is the process's */
	assert_int_equal(b->heard.flags, GPU_LAUNCH_IS_GRAPH << GPU_LAUNCH_DRIVER);
}

static void add_with_stack(struct bench *b, uint32_t number, uint32_t stack)
{
	launch_log_add(launch_log_thread(), &b->sink,
		       (struct launch_log_launch){.correlation_id = 9 << 16 | number,
						  .family = GPU_LAUNCH_RUNTIME,
						  .stack_id = stack});
}

/* A stack's weight goes with its launch, even if the ring is emptied in between. */
static void weights_go_with_their_launch(void **state)
{
	struct bench *b = *state;

	launch_log_weigh(&b->sink, 9 << 16 | 0, 7); /* the thread's first entry */
	add_with_stack(b, 0, 3);
	add_with_stack(b, 1, LAUNCH_LOG_SKIPPED);
	add_with_stack(b, 2, 3);
	launch_log_weigh(&b->sink, 9 << 16 | 3, 8);
	launch_log_drain(&b->sink);
	add_with_stack(b, 3, 3);
	launch_log_end(&b->sink, 9 << 16 | 3, END_NS(3), ERROR_OF(3));
	/* a handler of a signal launches in between */
	launch_log_weigh(&b->sink, 9 << 16 | 5, 9);
	add_with_stack(b, 4, 3);
	add_with_stack(b, 5, 3);
	/* the ring is full just then */
	for (uint32_t i = 6; i < 3 * LAUNCH_LOG_CAPACITY; i++) {
		launch_log_weigh(&b->sink, 9 << 16 | i, 2);
		add_with_stack(b, i, 3);
	}
	launch_log_drain(&b->sink);
	finish(b);
	assert_int_equal(b->heard.next[9], 3 * LAUNCH_LOG_CAPACITY);
	assert_int_equal(b->heard.stands_for[0], 7);
	assert_int_equal(b->heard.stands_for[1], 0);
	assert_int_equal(b->heard.stands_for[2], 0);
	assert_int_equal(b->heard.stands_for[3], 8);
	assert_int_equal(b->heard.stands_for[4], 0);
	assert_int_equal(b->heard.stands_for[5], 9);
	for (uint32_t i = 6; i < 16; i++)
		assert_int_equal(b->heard.stands_for[i], 2);
	assert_int_equal(b->heard.skipped, 1);
	assert_int_equal(b->heard.ends[9], 1);
	assert_int_equal(b->heard.wrong_ends, 0);
}

/* The mark goes with the launch that it is of, before or behind its end. */
static void launches_that_are_waited_for_are_marked(void **state)
{
	struct bench *b = *state;

	launch_log_waited(&b->sink, 9 << 16 | 0); /* the thread has launched nothing yet */
	add_with_stack(b, 0, 3);
	launch_log_waited(&b->sink, 9 << 16 | 0);
	add_with_stack(b, 1, 3);
	launch_log_end(&b->sink, 9 << 16 | 1, END_NS(1), ERROR_OF(1));
	launch_log_waited(&b->sink, 9 << 16 | 1);
	add_with_stack(b, 2, 3);
	add_with_stack(b, 3, 3);
	launch_log_waited(&b->sink, 9 << 16 | 2); /* is not the last any more */
	add_with_stack(b, 4, 3);
	launch_log_drain(&b->sink);
	launch_log_waited(&b->sink, 9 << 16 | 4); /* already sent */
	add_with_stack(b, 5, 3);
	launch_log_end(&b->sink, 9 << 16 | 5, END_NS(5), ERROR_OF(5));
	for (uint32_t i = 6; i < 3 * LAUNCH_LOG_CAPACITY; i++)
		add_with_stack(b, i, 3);
	launch_log_drain(&b->sink);
	finish(b);
	assert_int_equal(b->heard.next[9], 3 * LAUNCH_LOG_CAPACITY);
	assert_int_equal(b->heard.waited, 1 << 0 | 1 << 1);
	assert_int_equal(b->heard.ends[9], 2);
	assert_int_equal(b->heard.wrong_ends, 0);
}

/* A lost reader must not stop the application. */
static void without_a_reader_launches_go_nowhere(void **state)
{
	struct bench *b = *state;
	struct worker w;

	sink_abandon(&b->sink);
	start(&w, &b->sink, 3, LAUNCHES);
	join(&w);
	finish(b);
	assert_int_equal(b->heard.launches, 0);
}

static int init(void **state)
{
	(void)state;
	return launch_log_init();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_full_ring_is_drained_by_its_thread),
		TEST(many_threads_lose_and_double_nothing),
		TEST(ends_follow_their_launches),
		TEST(only_the_last_launch_ends),
		TEST(a_thread_that_launched_nothing_has_no_end),
		TEST(launches_of_ended_threads_arrive),
		TEST(launches_at_a_thread_s_end_stay_in_order),
		TEST(family_and_flags_are_passed_through),
		TEST(weights_go_with_their_launch),
		TEST(launches_that_are_waited_for_are_marked),
		TEST(without_a_reader_launches_go_nowhere),
	};

	return cmocka_run_group_tests(tests, init, NULL);
}
